"""Production on a cluster, with a spark-submit that starts no Spark."""

from __future__ import annotations

import inspect
import json
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.sdk import DAG

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.spark.submit import ErnestSubmitHook, SubmittedRun
from tests.unit.operators.submissions import SECRET, handle, production


def test_runs_on_the_cluster_with_what_it_needs_there(submissions, context):
    production(
        cluster=handle(),
        conf={"spark.cores.max": 8, "spark.executor.memory": "2g"},
        application_args=["in", 7],
        py_files="lib.zip",
        name="enrich",
    ).execute(context)

    argv, conf = submissions.last["argv"], submissions.conf()
    assert argv[argv.index("--master") + 1] == "spark://127.0.0.1:7077"
    assert argv[argv.index("--py-files") + 1] == "lib.zip"
    assert argv[argv.index("--name") + 1] == "enrich"
    assert argv[-3:] == ["job.py", "in", "7"]
    assert conf["spark.pyspark.python"] == "python3.11"
    assert conf["spark.pyspark.driver.python"] == sys.executable
    assert conf["spark.driver.host"] == "127.0.0.1"
    assert conf["spark.executor.memory"] == "2g", "the user's own properties win"
    assert conf["spark.ui.killEnabled"] == "false"
    assert Path(conf["spark.eventLog.dir"]).is_dir()


def test_the_secret_is_in_a_private_file_only(submissions, context, capsys):
    operator = production(cluster=json.dumps(handle()), conf={})
    operator.execute(context)

    told = submissions.last
    assert told["properties"]["spark.authenticate.secret"] == SECRET
    assert SECRET not in str(told["argv"])
    assert not Path(told["argv"][told["argv"].index("--properties-file") + 1]).exists()
    assert SECRET not in capsys.readouterr().out
    assert SECRET not in str({name: getattr(operator, name) for name in operator.template_fields})


def test_a_failed_application_fails_as_the_stock_operators_does(submissions, context):
    submissions.fails_with(3)
    with pytest.raises(AirflowException, match="exit code 3") as caught:
        production(cluster=handle()).execute(context)
    assert not isinstance(caught.value, AirflowFailException), "another attempt may succeed"


def test_a_killed_task_ends_its_driver(submissions, context):
    operator = production(cluster=handle())
    submissions.hold()
    done = threading.Event()

    def kill() -> None:
        while not done.is_set() and submissions.last is None:
            done.wait(0.02)
        operator.on_kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with pytest.raises(AirflowException):
            operator.execute(context)
    finally:
        done.set()
        killer.join()
    assert not psutil.pid_exists(submissions.last["process"])


def test_killed_before_it_submits_nothing_is_submitted(submissions, context):
    operator = production(cluster=handle())
    operator.on_kill()
    with pytest.raises(AirflowException, match="before it was submitted"):
        operator.execute(context)
    assert submissions.last is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"conf": {"spark.cores.max": "10"}}, r"spark\.cores\.max=10 is more than the 8 cores.*[Rr]esize"),
        ({"deploy_mode": "cluster"}, "deploy_mode='cluster' is impossible"),
        ({"cluster": handle(kind="emr", master_url="yarn")}, "job flow of EMR"),
    ],
)
def test_what_cannot_run_there_is_refused_before_it_is_submitted(
    submissions, context, monkeypatch, changes, named
):
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", '{"conn_type": "spark", "host": "yarn"}')
    with pytest.raises(AirflowFailException, match=named):
        production(**{"cluster": handle(), **changes}).execute(context)
    assert submissions.last is None


SIZES = {
    "num_executors": 10,
    "executor_cores": 2,
    "executor_memory": "9g",
    "total_executor_cores": 40,
}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("is_default", [False, True])
def test_what_would_win_over_the_decision_is_refused_when_the_dag_is_parsed(name, is_default):
    said = {name: SIZES[name]}
    with (
        DAG("nightly", schedule=None, default_args=said if is_default else {}),
        pytest.raises(InvalidParameterError, match=rf"{name}={SIZES[name]!r} would override"),
    ):
        production(**({} if is_default else said))


def test_a_sample_run_keeps_no_size_of_its_own_either():
    with pytest.raises(InvalidParameterError, match=r"submit_options\['num_executors'\]=10 would override"):
        ErnestSubmitHook(
            master_url="spark://lake:7077",
            conf={},
            application_args=[],
            name="sample",
            options={"num_executors": 10},
        )


def test_a_cluster_that_is_known_by_a_connection_is_reached_by_it(submissions, context, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", '{"conn_type": "spark", "host": "yarn"}')
    existing = handle(kind="existing", master_url="yarn", spark_conn_id="lake")
    production(cluster=existing, yarn_queue="etl").execute(context)

    argv = submissions.last["argv"]
    assert argv[argv.index("--master") + 1] == "yarn"
    assert argv[argv.index("--queue") + 1] == "etl"
    assert "spark.driver.host" not in submissions.conf()


def test_without_a_cluster_it_is_the_stock_operator(submissions, context, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", '{"conn_type": "spark", "host": "spark://lake:7077"}')
    production(conn_id="lake", conf={"spark.a": "b"}).execute(context)

    argv = submissions.last["argv"]
    assert argv[argv.index("--master") + 1] == "spark://lake:7077"
    assert submissions.conf() == {"spark.a": "b"}


def test_all_of_the_stock_operators_parameters_reach_the_hook():
    ours = {"self", "conf", "conn_id", "application_args", "name"}
    known = set(inspect.signature(SparkSubmitHook.__init__).parameters) - ours
    assert set(production()._submit_options()) == known


def submitted(folder):
    hook = SimpleNamespace(_conf={"spark.eventLog.dir": str(folder)}, _yarn_application_id="application_1_2")
    return SubmittedRun(hook, finds_event_log=True)


def test_a_log_that_is_rolled_over_is_its_own_too(tmp_path):
    (tmp_path / "eventlog_v2_app-6").mkdir()
    run = submitted(tmp_path)
    (tmp_path / "eventlog_v2_app-7").mkdir()

    assert run.event_log == tmp_path / "eventlog_v2_app-7"
    assert run.application_id == "app-7"


@pytest.mark.parametrize("folder", ["/logs\0here", "/nowhere/at/all", "hdfs://logs", ""])
def test_a_folder_that_cannot_be_listed_holds_no_log(folder):
    run = submitted(folder)

    assert run.event_log is None
    assert run.application_id == "application_1_2"
