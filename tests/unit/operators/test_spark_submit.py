from __future__ import annotations

import inspect
import json
import os
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ernest.clusters.base import ClusterHandle, Machine
from airflow_provider_ernest.operators import aws
from airflow_provider_ernest.operators.spark_submit import ErnestSparkSubmitOperator

SECRET = "0f" * 32

PROGRAM = """\
#!{python}
import json, os, sys, time
folder = {folder!r}
properties = {{}}
if "--properties-file" in sys.argv:
    path = sys.argv[sys.argv.index("--properties-file") + 1]
    properties = dict(line.split("=", 1) for line in open(path).read().split())
with open(folder + "/submitted.json", "w") as file:
    json.dump({{"argv": sys.argv[1:], "properties": properties, "process": os.getpid()}}, file)
while os.path.exists(folder + "/wait"):
    time.sleep(0.02)
sys.exit(int(open(folder + "/exit_code").read()))
"""


class Submissions:
    """A spark-submit that notes how it was called."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.exit_code = 0
        self._program = folder / "bin" / "spark-submit"
        self._program.parent.mkdir()
        self._program.write_text(
            textwrap.dedent(PROGRAM).format(python=sys.executable, folder=str(folder)), encoding="utf-8"
        )
        self._program.chmod(0o755)
        self.fails_with(0)

    def fails_with(self, exit_code: int) -> None:
        (self._folder / "exit_code").write_text(str(exit_code))

    def hold(self) -> None:
        (self._folder / "wait").touch()

    @property
    def last(self) -> dict[str, Any] | None:
        try:
            return json.loads((self._folder / "submitted.json").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def conf(self) -> dict[str, str]:
        argv = (self.last or {})["argv"]
        pairs = [argv[at + 1] for at, word in enumerate(argv) if word == "--conf"]
        return dict(pair.split("=", 1) for pair in pairs)


@pytest.fixture
def submissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Submissions:
    made = Submissions(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(aws, "cluster_secret", lambda handle: SECRET if handle.authenticates else None)
    return made


def handle(*, kind: str = "ec2", machines: int = 4, **changes: Any) -> dict[str, Any]:
    fields = {
        "kind": kind,
        "name": "ernest-1",
        "master_url": "spark://127.0.0.1:7077",
        "cores_per_machine": 2,
        "authenticates": kind == "ec2",
        "python": "python3.11",
        "machines": tuple(
            Machine(worker_id=f"w{i}", host=f"10.0.0.{i}", cores=2, memory_megabytes=3000)
            for i in range(machines)
        ),
    }
    return ClusterHandle(**{**fields, **changes}).to_dict()


def production(**changes: Any) -> ErnestSparkSubmitOperator:
    return ErnestSparkSubmitOperator(task_id="production", application="job.py", **changes)


def test_runs_on_the_cluster_with_what_it_needs_there(submissions, context):
    production(
        cluster=handle(),
        conf={"spark.cores.max": 8, "spark.executor.memory": "2g"},
        application_args=["in", 7],
        py_files="lib.zip",
        executor_cores=2,
        name="enrich",
    ).execute(context)

    argv, conf = submissions.last["argv"], submissions.conf()
    assert argv[argv.index("--master") + 1] == "spark://127.0.0.1:7077"
    assert argv[argv.index("--py-files") + 1] == "lib.zip"
    assert argv[argv.index("--executor-cores") + 1] == "2"
    assert argv[argv.index("--name") + 1] == "enrich"
    assert argv[-3:] == ["job.py", "in", "7"]
    assert conf["spark.pyspark.python"] == "python3.11"
    assert conf["spark.pyspark.driver.python"] == sys.executable
    assert conf["spark.driver.host"] == "127.0.0.1"
    assert conf["spark.executor.memory"] == "2g", "the user's own properties win"
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
def test_what_cannot_run_there_is_refused_before_it_is_submitted(submissions, context, changes, named):
    with pytest.raises(AirflowFailException, match=named):
        production(**{"cluster": handle(), **changes}).execute(context)
    assert submissions.last is None


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
