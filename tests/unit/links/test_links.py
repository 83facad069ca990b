"""The links of tasks: where they lead, and that Airflow shows them on the operators that bear them."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, urljoin

import pytest
from airflow.sdk import DAG
from airflow.serialization import serialized_objects

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.links.spark_history import history_url, task_tab
from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator
from airflow_provider_ernest.operators.fit_model import FitModelOperator
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.operators.spark_submit import ErnestSparkSubmitOperator
from airflow_provider_ernest.settings import SampledInput, SizingGoal, SparkJob

TI = SimpleNamespace(dag_id="nightly", run_id="run 1", task_id="run", map_index=2)
TAB = "dags/nightly/runs/run%201/tasks/run/mapped/2/plugin/ernest-task"
SERVER = "https://spark.example.com"


class TestOnTasks:
    @pytest.fixture
    def dag(self, monkeypatch: pytest.MonkeyPatch) -> DAG:
        monkeypatch.setenv("AIRFLOW__API__BASE_URL", "")
        with DAG("nightly", schedule=None) as dag:
            stated = {"job": SparkJob(name="job", application="job.py"), "input": SampledInput(path="/in")}
            run = SampleRunOperator.partial(task_id="sample", **stated).expand(experiment=[{}])
            goal = SizingGoal(max_executors=2, objective="cheapest")
            fit = FitModelOperator(task_id="fit", observations=run.output, goal=goal, **stated)
            ChooseConfigOperator(task_id="choose", model=fit.output, goal=goal)
            ErnestSparkSubmitOperator(task_id="production", application="job.py")
        return dag

    def link(self, dag: DAG, task_id: str, name: str, operator: Any = None) -> str:
        task = dag.get_task(task_id)
        (found,) = (one for one in task.operator_extra_links if one.name == name)
        return found.get_link(operator or task, ti_key=TI)

    def test_airflow_shows_them_mapped_ones_included(self, dag: DAG, monkeypatch: pytest.MonkeyPatch):
        # Airflow 3.2 renamed it.
        known = getattr(serialized_objects, "DagSerialization", None) or serialized_objects.SerializedDAG
        # Airflow keeps on the class whether who last read a DAG, maybe in another test, wanted links.
        monkeypatch.setattr(known, "_load_operator_extra_links", True)
        serialized = known.from_dict(known.to_dict(dag))
        shown = {task_id: set(serialized.get_task(task_id).extra_links) for task_id in dag.task_ids}
        assert shown == {
            "sample": {"Model fit", "Spark history"},
            "fit": {"Model fit"},
            "choose": {"Model fit"},
            "production": {"Spark history"},
        }

    @pytest.mark.parametrize("task_id", ["sample", "fit", "choose"])
    def test_model_fit_leads_to_the_tab(self, dag: DAG, task_id: str):
        assert self.link(dag, task_id, "Model fit") == TAB

    @pytest.mark.parametrize("task_id", ["sample", "production"])
    def test_spark_history_leads_to_the_application(self, dag: DAG, task_id: str, monkeypatch: Any):
        monkeypatch.setenv("AIRFLOW__ERNEST__HISTORY_SERVER", SERVER)
        url = self.link(dag, task_id, "Spark history", SimpleNamespace(application_id="app-1"))
        assert url == f"{SERVER}/history/app-1/jobs/"

    @pytest.mark.parametrize(
        ("server", "operator"),
        [
            ("", SimpleNamespace(application_id="app-1")),
            (SERVER, SimpleNamespace(application_id=None)),
            (SERVER, None),
            ("javascript:alert(1)", SimpleNamespace(application_id="app-1")),
        ],
        ids=["no server", "no application", "never ran", "no address"],
    )
    def test_without_server_or_application_it_leads_to_the_tab(
        self, dag: DAG, server: str, operator: Any, monkeypatch: pytest.MonkeyPatch
    ):
        """Whose page names the event log; what is no address is no link."""
        monkeypatch.setenv("AIRFLOW__ERNEST__HISTORY_SERVER", server)
        assert self.link(dag, "production", "Spark history", operator) == TAB


class TestHistory:
    @pytest.mark.parametrize(
        ("server", "application_id", "expected"),
        [
            ("http://history:18080", "app-1", "http://history:18080/history/app-1/jobs/"),
            ("https://example.com/spark/?a=b#c", "app-1", "https://example.com/spark/history/app-1/jobs/"),
            ("HTTP://[::1]:18080", "app-1", "http://[::1]:18080/history/app-1/jobs/"),
            ("http://history", "../../x?y#z", "http://history/history/..%2F..%2Fx%3Fy%23z/jobs/"),
            ("", "app-1", None),
            ("http://history", None, None),
        ],
    )
    def test_the_page_of_an_application(self, server: str, application_id: str | None, expected: str | None):
        assert history_url(server, application_id) == expected

    @pytest.mark.parametrize(
        "server",
        [
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "history:18080",
            "//history:18080",
            "http://",
            "http://[history",
            "http://history:port",
        ],
    )
    def test_what_is_no_address_of_the_web_is_refused(self, server: str):
        with pytest.raises(InvalidParameterError, match=r"\[ernest\] history_server=.* is not a valid"):
            history_url(server, "app-1")

    def test_a_password_is_refused_and_not_repeated(self):
        with pytest.raises(InvalidParameterError, match="holds a name or a password") as refused:
            history_url("https://admin:geheim@history", "app-1")
        assert "geheim" not in str(refused.value)


class TestTab:
    # The routes of task instances in Airflow's UI (3.1 to 3.3); each segment is decoded once.
    ROUTE = re.compile(
        r"dags/(?P<dag_id>[^/?#]+)/runs/(?P<run_id>[^/?#]+)/tasks/(?P<task_id>[^/?#]+)"
        r"(/mapped/(?P<map_index>\d+))?/plugin/ernest-task"
    )

    @pytest.mark.parametrize("map_index", [-1, None, 0, 12])
    @pytest.mark.parametrize("dag_id", ["nightly", "a/b?c#d", "../..", "100 %", "Zürich"])
    def test_is_of_the_task_instance_whatever_its_names(
        self, monkeypatch: pytest.MonkeyPatch, dag_id: str, map_index: int | None
    ):
        monkeypatch.setenv("AIRFLOW__API__BASE_URL", "")
        run_id = "manual__2026-01-01T00:00:00+00:00"
        named = {"dag_id": dag_id, "run_id": run_id, "task_id": "ernest.fit_model", "map_index": map_index}
        segments = self.ROUTE.fullmatch(task_tab(SimpleNamespace(**named))).groupdict()
        assert (unquote(segments["dag_id"]), unquote(segments["run_id"])) == (dag_id, run_id)
        assert "+" not in segments["run_id"], "which some servers read as a space"
        assert segments["task_id"] == "ernest.fit_model"
        assert segments["map_index"] == (str(map_index) if map_index in (0, 12) else None)

    @pytest.mark.parametrize(
        ("base_url", "expected"),
        [
            ("https://airflow.example.com", "https://airflow.example.com/dags/nightly/"),
            ("https://example.com/airflow/", "https://example.com/airflow/dags/nightly/"),
            ("/airflow", "https://example.com/airflow/dags/nightly/"),
            ("/", "https://example.com/dags/nightly/"),
            # Relative to the base of Airflow's pages.
            ("", "https://example.com/airflow/dags/nightly/"),
        ],
    )
    def test_begins_with_airflows_own_address(
        self, monkeypatch: pytest.MonkeyPatch, base_url: str, expected: str
    ):
        monkeypatch.setenv("AIRFLOW__API__BASE_URL", base_url)
        assert urljoin("https://example.com/airflow/", task_tab(TI)).startswith(expected)
