"""`example_ernest_yarn` in a real Airflow on a real YARN, with production in client and in cluster mode."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_ernest.command_line import main
from airflow_provider_ernest.documents.decisions import Decision, ProductionRun
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.eventlog.run_facts import read_run
from airflow_provider_ernest.history.observations import past_run
from airflow_provider_ernest.store.store import ModelStore
from benchmarks.demo.airflow_server import AirflowServer
from benchmarks.demo.api import AirflowApi
from tests.integration.conftest import (
    AIRFLOW_FOR_TESTS,
    WHOLE_DAG_RUNS,
    few_flights,
    follow,
    processes_mentioning,
)
from tests.yarn_testbed import YarnTestbed

pytestmark = WHOLE_DAG_RUNS

EXAMPLE = Path(__file__).parents[2] / "dags" / "example_ernest_yarn.py"
CLIENT, CLUSTER = "example_ernest_yarn", "production_on_the_cluster"
JOB, TYPE = "enrich_flights", "yarn-1-core"
DEADLINE_SECONDS = 900
FEWEST = 3
"""In cluster mode. Spark's own default on YARN is 2."""

FOR_THE_TESTS = {
    # The test bed has twelve cores, and 6 GB on each of three nodes.
    "executors=16": "executors=6",
    "executor_cores=4": "executor_cores=1",
    "executor_memory_megabytes=10 * 1024": "executor_memory_megabytes=512",
    'instance_type="yarn-4-cores"': f'instance_type="{TYPE}"',
    # Half of the sample runs that the example makes: starting each takes longer here than its work.
    "DesignBounds(max_executors=4)": "DesignBounds(max_executors=4, max_runs=4)",
    # So few and so short ones, on cores that other tests share, make no good model.
    "goal=SizingGoal(": "goal=SizingGoal(max_error_percent=1000,",
}
ON_THE_CLUSTER = {
    # The cheapest is often one: the other run's.
    "max_executors=queue.executors,": f"max_executors=queue.executors, min_executors={FEWEST},",
    f'    "{CLIENT}",\n': f'    "{CLUSTER}",\n',
    'task_id="enrich_all_flights",\n        conn_id="spark_yarn",\n': (
        'task_id="enrich_all_flights",\n        conn_id="spark_yarn_cluster",\n'
        "        yarn_track_via_rm_api=True,\n"
        # The driver starts it, there from a folder of its container.
        '        files=str(JOBS / "weather_service.py"),\n'
    ),
}


def changed(text: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def connection(deploy_mode: str, **extra: str) -> str:
    fields = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": deploy_mode, **extra}}
    return json.dumps(fields)


@pytest.fixture(scope="module")
def server(yarn: YarnTestbed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowServer]:
    home = tmp_path_factory.mktemp("ernest-yarn-dags")
    dags = home / "dags"
    shutil.copytree(EXAMPLE.parent / "jobs", dags / "jobs")
    example = changed(EXAMPLE.read_text(), FOR_THE_TESTS)
    (dags / EXAMPLE.name).write_text(example)
    (dags / f"{CLUSTER}.py").write_text(changed(example, ON_THE_CLUSTER))
    few_flights(home / "data")
    for file in sorted((home / "data" / "flights").iterdir())[::2]:
        file.unlink()
    environment = {
        **AIRFLOW_FOR_TESTS,
        **yarn.environment(),
        "AIRFLOW_CONN_SPARK_YARN": connection("client"),
        "AIRFLOW_CONN_SPARK_YARN_CLUSTER": connection(
            "cluster", yarn_resourcemanager_webapp_address=yarn.web_url
        ),
        "ERNEST_EXAMPLE_DATA": str(home / "data"),
        "SPARK_EVENT_LOGS": str(yarn.event_logs),
    }
    with AirflowServer(home / "airflow", dags, environment=environment) as running:
        yield running
    assert not processes_mentioning(str(home)), "nothing is left running"
    assert not yarn.get("apps?states=NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING")["apps"], "nor on YARN"


class DagRun:
    """A DAG run that has ended."""

    def __init__(self, api: AirflowApi, dag_id: str) -> None:
        api.wait_for_dag(dag_id)
        api.unpause(dag_id)
        self._api, self._dag_id = api, dag_id
        self._run_id = api.trigger(dag_id, conf={"deadline_seconds": DEADLINE_SECONDS})
        self.states = {task.task_id: task.state for task in follow(api, dag_id, self._run_id)}

    def xcom(self, task_id: str, key: str = "return_value"):
        return self._api.xcom(self._dag_id, self._run_id, task_id, key=key)

    @property
    def decision(self) -> Decision:
        return Decision.from_dict(self.xcom("ernest.choose_config"))

    @property
    def production(self) -> ProductionRun:
        return ProductionRun.from_dict(self.xcom("record_run", "production_run"))


@pytest.fixture(scope="module")
def api(server: AirflowServer) -> Iterator[AirflowApi]:
    with server.api() as client:
        yield client


@pytest.fixture(scope="module")
def in_client_mode(api: AirflowApi) -> DagRun:
    return DagRun(api, CLIENT)


@pytest.fixture(scope="module")
def in_cluster_mode(api: AirflowApi, in_client_mode: DagRun) -> DagRun:
    """Its group finds the model of the run before."""
    return DagRun(api, CLUSTER)


def ran_as_decided(run: DagRun, yarn: YarnTestbed, *, deploy_mode: str) -> None:
    """Whether production had the executors that were chosen, and its record says so."""
    chosen = run.xcom("ernest.choose_config", "executors")
    assert 1 <= chosen == run.decision.config.executors <= 6
    production = run.production
    assert Path(production.event_log).parent == yarn.event_logs
    log = read_run(production.event_log)
    past = past_run(log, event_log=production.event_log)
    assert not past.failure
    assert (past.executors, past.executor_cores) == (chosen, 1)
    # The heap, and the least that Spark adds to it.
    assert past.executor_memory_megabytes == 512 + 384
    assert log.properties["spark.submit.deployMode"] == deploy_mode
    assert yarn.get(f"apps/{production.application_id}")["app"]["finalStatus"] == "SUCCEEDED"

    assert production.executors == chosen
    assert production.predicted_seconds == run.decision.predicted_seconds
    assert production.run_seconds == pytest.approx(past.seconds)


def test_the_example_trains_on_yarn_and_runs_production_there_as_decided(in_client_mode, yarn, server):
    assert set(in_client_mode.states.values()) == {"success"}
    model = Model.from_dict(in_client_mode.xcom("ernest.fit_model"))
    assert model.cluster.executor_cores == 1
    for run in model.observations:
        assert len(run.hosts) == run.executors
        assert yarn.get(f"apps/{run.application_id}")["app"]["finalStatus"] == "SUCCEEDED"

    ran_as_decided(in_client_mode, yarn, deploy_mode="client")


def test_production_on_the_cluster_runs_as_decided_by_the_same_model(in_cluster_mode, yarn, server):
    skipped = {task_id for task_id, state in in_cluster_mode.states.items() if state == "skipped"}
    assert {"ernest.design", "ernest.sample_run", "ernest.fit_model"} <= skipped
    assert set(in_cluster_mode.states.values()) == {"success", "skipped"}

    assert in_cluster_mode.decision.config.executors >= FEWEST
    ran_as_decided(in_cluster_mode, yarn, deploy_mode="cluster")


def test_the_history_of_their_event_logs_has_all_runs(
    in_client_mode, in_cluster_mode, server, yarn, tmp_path, capsys
):
    store = ModelStore(server.home / "ernest" / "store")
    model = Model.from_dict(in_client_mode.xcom("ernest.fit_model"))
    runs = [*model.observations, *store.newest(ProductionRun, JOB, TYPE)]
    assert len(runs) == len(model.observations) + 2
    for run in runs:
        (tmp_path / Path(run.event_log).name).symlink_to(run.event_log)

    assert main(["history", "--no-cache", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    sizes = {run.executors for run in runs}
    row = rf"^enrich-flights +{len(runs)} +0 +{min(sizes)} to {max(sizes)} \({len(sizes)} sizes\) "
    assert re.search(row, said, re.MULTILINE), said
