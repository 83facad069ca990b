"""A change of the code starts the retraining, in a real Airflow; and then its triggerer is killed, twice."""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from airflow_provider_ernest.documents.models import CODE, Model, ModelMark
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.learning.freshness import STALE, Lineage
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.processes import descendants, end_processes
from airflow_provider_ernest.spark.artifact import sha256_of
from airflow_provider_ernest.store.store import ModelStore
from benchmarks.demo.airflow_server import AirflowServer
from benchmarks.demo.api import AirflowApi
from tests.integration.conftest import (
    AIRFLOW_FOR_TESTS,
    WHOLE_DAG_RUNS,
    few_flights,
    follow,
    processes_mentioning,
    wait_until,
)

pytestmark = WHOLE_DAG_RUNS

ROOT = Path(__file__).parents[2]
DAG_ID, JOB = "example_ernest_retrain", "enrich_flights"


@dataclass
class Deployment:
    """An Airflow with the example DAG, whose application can be replaced."""

    server: AirflowServer
    application: Path

    @property
    def store(self) -> ModelStore:
        return ModelStore(self.server.home / "ernest" / "store")

    def deploy(self, addition: str) -> str:
        """Replace the application at one moment; returns its hash."""
        new = self.application.with_name("new.py")
        new.write_text(self.application.read_text() + addition)
        new.replace(self.application)
        return sha256_of(str(self.application))

    def triggerers(self) -> list[psutil.Process]:
        """The processes of the triggerer: one talks to the database, the other runs the triggers."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                is_ours = process.environ().get("AIRFLOW_HOME") == str(self.server.home)
                if is_ours and process.cmdline()[-1:] == ["triggerer"]:
                    found.append(process)
        return found

    def kill_triggerer(self) -> None:
        killed = self.triggerers()
        assert killed
        for process in killed:
            process.kill()
        psutil.wait_procs(killed, timeout=30)

    @contextmanager
    def another_triggerer(self) -> Iterator[None]:
        """Run a triggerer until the end of the block."""
        airflow = Path(sys.executable).with_name("airflow")
        with (self.server.home / "triggerer.log").open("ab") as log:
            process = subprocess.Popen(
                [airflow, "triggerer"], env=self.server.variables, stdout=log, stderr=subprocess.STDOUT
            )
        try:
            yield
        finally:
            started = descendants(process.pid)
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=30)
            process.kill()
            process.wait()
            end_processes(started, grace_seconds=5.0)


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    home = tmp_path_factory.mktemp("ernest-retraining")
    dags = home / "dags"
    dags.mkdir()
    shutil.copytree(ROOT / "dags" / "jobs", dags / "jobs")
    shutil.copy(ROOT / "dags" / f"{DAG_ID}.py", dags)
    for file in (ROOT / "tests" / "integration" / "retrain_dags").glob("*.py"):
        shutil.copy(file, dags)
    few_flights(home / "data")
    application = dags / "jobs" / "enrich_flights.py"
    environment = {
        **AIRFLOW_FOR_TESTS,
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
        # What a DAG waits for is watched from the first reading of its file after it was unpaused.
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "5",
        # So that another triggerer soon takes over what one that was killed watched.
        "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "1",
        "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "5",
        "ERNEST_EXAMPLE_DATA": str(home / "data"),
        "ERNEST_TEST_APPLICATION": str(application),
    }
    server = AirflowServer(home / "airflow", dags, environment=environment)
    deployed = Deployment(server, application)
    deployed.store.save(earlier_model(application))
    with server:
        yield deployed
    assert not processes_mentioning(str(home)), "nothing is left running"


def earlier_model(application: Path) -> Model:
    """A model of the application as it is, made of runs that nobody has made."""
    observations = [
        Observation(
            index=index,
            executors=executors,
            scale=scale,
            seconds=8 + 300 * scale / executors + math.log(executors) + 0.01 * index,
            startup_seconds=2.0,
        )
        for index, (executors, scale) in enumerate([(1, 0.05), (2, 0.05), (4, 0.1), (2, 0.1), (1, 0.1)])
    ]
    return train(
        observations,
        job=JOB,
        instance_type="local",
        artifact=str(application),
        artifact_sha256=sha256_of(str(application)),
    )


@pytest.fixture
def api(deployment: Deployment) -> Iterator[AirflowApi]:
    with deployment.server.api() as client:
        yield client


def payloads(api: AirflowApi) -> list[dict[str, Any]]:
    """Of all asset events so far, oldest first."""
    events = api.get("assets/events", limit=100, order_by="timestamp")["asset_events"]
    return [event["extra"]["payload"] for event in events]


def runs(api: AirflowApi, dag_id: str) -> list[str]:
    return [run["dag_run_id"] for run in api.get(f"dags/{dag_id}/dagRuns")["dag_runs"]]


def task_states(api: AirflowApi, dag_id: str, run_id: str) -> dict[str, str | None]:
    return {task.task_id: task.state for task in api.task_instances(dag_id, run_id)}


def test_a_change_of_the_code_starts_the_retraining(api: AirflowApi, deployment: Deployment):
    (old,) = deployment.store.newest(Model, JOB, "local")
    for dag_id in (DAG_ID, "wait_for_code", "listen"):
        api.wait_for_dag(dag_id)
        api.unpause(dag_id)
    waiting = api.trigger("wait_for_code")
    wait_until(
        lambda: set(task_states(api, "wait_for_code", waiting).values()) == {"running", "up_for_reschedule"},
        seconds=120,
        what="the sensors' waiting",
    )
    assert payloads(api) == [], "the model is of this application"

    second = deployment.deploy("\n# another version\n")
    told = wait_until(lambda: payloads(api), seconds=120, what="the event")
    assert [(each["previous_sha256"], each["sha256"]) for each in told] == [(old.artifact_sha256, second)]
    (run_id,) = wait_until(lambda: runs(api, DAG_ID), seconds=60, what="the retraining")
    tasks = follow(api, DAG_ID, run_id)
    assert {task.state for task in tasks} == {"success"}
    (last,) = (task for task in tasks if task.task_id == "tell")
    assert f"{old.artifact_sha256} -> {second}" in "\n".join(api.task_log(DAG_ID, run_id, last))

    retrained = deployment.store.newest(Model, JOB, "local", limit=1)[0]
    assert retrained is not None
    assert (retrained.artifact_sha256, retrained.origin.run_id) == (second, run_id)
    (mark,) = deployment.store.newest(ModelMark, JOB, "local")
    assert (mark.model_id, mark.cause, mark.artifact_sha256) == (old.id, CODE, second)
    entries = deployment.store.catalogue.entries()
    (of_old,) = (entry for entry in entries if entry.kind == "model" and entry.id == old.id)
    assert Lineage(of_old, entries).state().name == STALE

    assert task_states(api, "wait_for_code", waiting) == {"poking": "success", "rescheduled": "success"}
    for sensor in ("poking", "rescheduled"):
        result = api.xcom("wait_for_code", waiting, sensor)
        assert (result["sha256"], result["model_id"]) == (second, old.id)


def test_a_triggerer_that_is_killed_misses_no_change(api: AirflowApi, deployment: Deployment):
    # One training is enough: from here on the other DAG alone listens, and the newest model stays.
    airflow = Path(sys.executable).with_name("airflow")
    subprocess.run([airflow, "dags", "pause", DAG_ID], env=deployment.server.variables, check=True)
    before = [each["sha256"] for each in payloads(api)]

    def told() -> list[str]:
        return [each["sha256"] for each in payloads(api)][len(before) :]

    deployment.kill_triggerer()
    third = deployment.deploy("\n# and another\n")
    with deployment.another_triggerer():
        wait_until(lambda: told() == [third], seconds=180, what="the next event")
        deployment.kill_triggerer()
    os.utime(deployment.application)
    with deployment.another_triggerer():
        # There is no model of it: the triggerer that starts cannot know that it was told.
        wait_until(lambda: told() == [third, third], seconds=240, what="the same event again")
        fourth = deployment.deploy("\n# the last\n")
        wait_until(lambda: told() == [third, third, fourth], seconds=120, what="the last event")
    events = len(before) + 3
    wait_until(lambda: len(runs(api, "listen")) >= events, seconds=60, what="a run for each event")
    assert len(runs(api, "listen")) == events
    assert len(runs(api, DAG_ID)) == len(before), "it was paused"
