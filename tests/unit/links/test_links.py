"""The links as Airflow asks for them: by the operators that bear them, at the end of their tasks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from airflow.sdk import DAG
from airflow.serialization import serialized_objects

from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator
from airflow_provider_ernest.operators.fit_model import FitModelOperator
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.operators.spark_submit import ErnestSparkSubmitOperator
from airflow_provider_ernest.settings import SampledInput, SizingGoal, SparkJob

TI = SimpleNamespace(dag_id="nightly", run_id="run 1", task_id="run", map_index=2)
TAB = "dags/nightly/runs/run%201/tasks/run/mapped/2/plugin/ernest-task"


@pytest.fixture
def dag(monkeypatch: pytest.MonkeyPatch) -> DAG:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "")
    with DAG("nightly", schedule=None) as dag:
        stated = {"job": SparkJob(name="job", application="job.py"), "input": SampledInput(path="/in")}
        run = SampleRunOperator.partial(task_id="sample", **stated).expand(experiment=[{}])
        fit = FitModelOperator(task_id="fit", observations=run.output, **stated)
        ChooseConfigOperator(
            task_id="choose", model=fit.output, goal=SizingGoal(max_machines=2, objective="cheapest")
        )
        ErnestSparkSubmitOperator(task_id="production", application="job.py")
    return dag


def link(dag: DAG, task_id: str, name: str):
    (found,) = (one for one in dag.get_task(task_id).operator_extra_links if one.name == name)
    return found


def test_airflow_shows_them_on_tasks_mapped_ones_included(dag, monkeypatch):
    # Airflow 3.2 renamed it.
    serialization = getattr(serialized_objects, "DagSerialization", None) or serialized_objects.SerializedDAG
    # Airflow keeps on the class whether who last read a DAG, maybe in another test, wanted links.
    monkeypatch.setattr(serialization, "_load_operator_extra_links", True)
    serialized = serialization.from_dict(serialization.to_dict(dag))

    shown = {task_id: set(serialized.get_task(task_id).extra_links) for task_id in dag.task_ids}
    assert shown == {
        "sample": {"Model fit", "Spark history"},
        "fit": {"Model fit"},
        "choose": {"Model fit"},
        "production": {"Spark history"},
    }


@pytest.mark.parametrize("task_id", ["sample", "fit", "choose"])
def test_model_fit_leads_to_the_tab(dag, task_id):
    assert link(dag, task_id, "Model fit").get_link(dag.get_task(task_id), ti_key=TI) == TAB


@pytest.mark.parametrize("task_id", ["sample", "production"])
def test_spark_history_leads_to_the_application(dag, task_id, monkeypatch):
    monkeypatch.setenv("AIRFLOW__ERNEST__HISTORY_SERVER", "https://spark.example.com")
    operator = SimpleNamespace(application_id="app-1")
    url = link(dag, task_id, "Spark history").get_link(operator, ti_key=TI)
    assert url == "https://spark.example.com/history/app-1/jobs/"


@pytest.mark.parametrize("server", ["", "https://spark.example.com", "javascript:alert(1)"])
def test_without_server_or_application_spark_history_leads_to_the_tab(dag, monkeypatch, server):
    """Whose page names the event log; what is no address is no link."""
    monkeypatch.setenv("AIRFLOW__ERNEST__HISTORY_SERVER", server)
    application_id = "app-1" if server.startswith("javascript") else None
    operator = SimpleNamespace(application_id=application_id)
    assert link(dag, "production", "Spark history").get_link(operator, ti_key=TI) == TAB


def test_an_operator_that_never_ran_has_a_link_too(dag):
    production = dag.get_task("production")
    assert link(dag, "production", "Spark history").get_link(production, ti_key=TI) == TAB
