"""Sample runs on a real Spark cluster, through the operator that Airflow runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.local import DIRECTORY_VARIABLE, LocalCluster
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.documents.runs import Experiment, Observation
from airflow_provider_ernest.eventlog.run_facts import read_run, registered_at
from airflow_provider_ernest.exceptions import ClusterLostError, SampleRunError
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.processes import find_by_environment
from airflow_provider_ernest.spark import runs
from airflow_provider_ernest.spark.machines import read_state
from tests.integration.conftest import PATIENCE, processes_mentioning, wait_until

pytestmark = pytest.mark.spark

APPLICATION = Path(__file__).parent / "jobs" / "count_lines.py"
CONF = {
    "spark.ui.enabled": "false",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


class TaskInstance:
    """What an operator sees of its task instance."""

    dag_id = "nightly"
    run_id = "manual__2026-01-01T00:00:00+00:00"
    task_id = "ernest.sample_run"
    try_number = 1

    def __init__(self, map_index: int) -> None:
        self.map_index = map_index
        self.pushed: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value


@pytest.fixture(autouse=True)
def airflow_home(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    # Tasks believe the handle of a cluster that lies there.
    monkeypatch.setenv("AIRFLOW__ERNEST__CLUSTERS", str(tmp_path_factory.getbasetemp()))
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    return tmp_path / "airflow"


def sample_run(
    cluster: ClusterHandle,
    input_path: Path,
    /,
    *arguments: str,
    index: int = 0,
    executors: int = 2,
    scale: float = 0.25,
    **changes: Any,
) -> SampleRunOperator:
    experiment = Experiment(index=index, executors=executors, scale=scale, partitions=round(24 * scale))
    job = {
        "name": "count",
        "application": str(APPLICATION),
        "application_args": ["{{ sample.input }}", *arguments],
        "conf": CONF,
    }
    job |= {name: changes.pop(name) for name in ("application", "conf", "submit_options") if name in changes}
    fields = {"input": {"path": str(input_path)}, "cluster": cluster.to_dict(), **changes}
    return SampleRunOperator(task_id="sample_run", experiment=experiment.to_dict(), job=job, **fields)


def observe(operator: SampleRunOperator, map_index: int = 0) -> Observation:
    return Observation.from_dict(operator.execute({"ti": TaskInstance(map_index)}))


def test_runs_the_sample_on_exactly_so_many_machines(cluster, input_files, airflow_home):
    arguments = [
        "--cache",
        "--expect={{ sample.scale }}=0.25",
        "--expect={{ sample.machines }}=2",
        "--expect={{ sample.partitions }}=6",
        "--expect={{ ti.task_id }}=ernest.sample_run",
    ]
    observation = observe(sample_run(cluster, input_files, *arguments))

    assert len(set(observation.hosts)) == 2
    assert observation.executors == 2
    assert observation.scale == pytest.approx(0.25, abs=0.01)
    assert observation.metrics.slots == 2
    assert observation.metrics.tasks == 12, "it counts what it has cached once more"
    assert observation.metrics.dominant_stage_tasks == 6
    assert observation.metrics.cached_bytes > 0
    assert observation.metrics.cache_share == 1.0
    assert observation.metrics.cached_on_disk_bytes == 0
    assert observation.metrics.storage_memory_bytes > observation.metrics.cache_wanted_bytes
    assert observation.metrics.spilled_bytes == 0
    assert observation.waited_seconds == 0
    assert Path(observation.event_log).is_file()
    assert observation.application_id in observation.event_log
    assert not list((airflow_home / "ernest" / "staging").rglob("part-*")), "the staged sample is removed"
    assert len(list(input_files.iterdir())) == 24, "the input is untouched"


def test_waiting_for_another_runs_machines_is_not_counted(cluster, input_files):
    """Two runs of two machines on a cluster of three: one must wait, and neither is measured longer."""
    observations: dict[int, Observation] = {}

    def run(index: int) -> None:
        operator = sample_run(cluster, input_files, "--hold-task-seconds=2", index=index)
        observations[index] = observe(operator, map_index=index)

    # Processes die with the thread that started them, so each thread lives until its run has ended.
    threads = [threading.Thread(target=run, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=180 * PATIENCE)

    first, second = sorted(observations.values(), key=lambda observation: observation.waited_seconds)
    first_run, second_run = (read_run(Path(each.event_log)) for each in (first, second))
    assert first.waited_seconds == 0
    assert second.waited_seconds > 0
    assert registered_at(second_run, 2) > first_run.ended_at, "it waited for the first run's end"
    assert second_run.started_at < first_run.ended_at, "and had been waiting for it"
    assert second.seconds == pytest.approx(second_run.ended_at - registered_at(second_run, 2))


def test_a_failing_application_is_told_by_its_exit_code(cluster, input_files, airflow_home):
    with pytest.raises(SampleRunError, match=r"count_lines\.py failed: RuntimeError: failing as asked"):
        observe(sample_run(cluster, input_files, "--fail"))
    assert not list((airflow_home / "ernest" / "staging").rglob("part-*"))


def test_an_application_that_chooses_its_own_master_is_told(cluster, input_files):
    with pytest.raises(SampleRunError, match=r"local\[2\].*Remove \.master"):
        observe(sample_run(cluster, input_files, "--master=local[2]"))


def test_a_run_that_takes_too_long_is_ended(cluster, input_files):
    operator = sample_run(cluster, input_files, "--hold-driver-seconds=600", run_timeout_seconds=4)
    with pytest.raises(SampleRunError, match="longer than run_timeout_seconds=4"):
        observe(operator)
    assert not processes_mentioning(str(input_files.parent)), "neither driver nor executors are left"


def test_executors_that_cannot_start_end_the_run(cluster, input_files, monkeypatch, airflow_home):
    """Spark itself would start them again and again, and the run would never end."""
    monkeypatch.setattr(runs, "REGISTER_SECONDS", 8.0)
    conf = {**CONF, "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:+UseG1GC"}
    with pytest.raises(SampleRunError, match="0 of its 2 machines registered within 8 s"):
        observe(sample_run(cluster, input_files, conf=conf))
    assert not processes_mentioning(str(airflow_home))


def test_more_machines_than_the_cluster_has_fail_without_retry(cluster, input_files):
    with pytest.raises(AirflowFailException, match=r"executors=4 is more than cluster shared has \(3\)"):
        observe(sample_run(cluster, input_files, executors=4))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"application": "/no/such/job.jar"}, "/no/such/job.jar"),
        ({"input": {"path": "/no/such/input"}}, "/no/such/input"),
        ({"submit_options": {"num_executor": 2}}, "num_executor"),
        ({"cluster": None}, "cluster=None"),
    ],
)
def test_what_does_not_exist_is_named_before_anything_is_submitted(cluster, input_files, changes, named):
    with pytest.raises(AirflowFailException, match=named):
        observe(sample_run(cluster, input_files, **changes))


RUN_IN_A_PROCESS = """
import json, sys
sys.path.insert(0, sys.argv[2])
from tests.integration.test_sample_run import TaskInstance
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
SampleRunOperator(task_id="sample_run", **json.loads(sys.argv[1])).execute({"ti": TaskInstance(0)})
"""


@pytest.mark.parametrize("held_up", ["--hold-task-seconds=600", "--hold-driver-seconds=600"])
def test_a_sigkilled_task_takes_its_spark_application_with_it(cluster, input_files, held_up, airflow_home):
    operator = sample_run(cluster, input_files, held_up)
    fields = {name: getattr(operator, name) for name in ("experiment", "input", "cluster")}
    unrendered = {"application_args": operator.application_args, "conf": operator.conf}
    fields["job"] = {**operator.job, **unrendered}
    root = Path(__file__).parents[2]
    task = subprocess.Popen([sys.executable, "-c", RUN_IN_A_PROCESS, json.dumps(fields), str(root)])
    try:
        wait_until(
            lambda: read_state(cluster.web_url, timeout_seconds=5).applications,
            seconds=90,
            what="the application on the cluster",
        )
    finally:
        os.kill(task.pid, signal.SIGKILL)
        task.wait()

    wait_until(
        lambda: not read_state(cluster.web_url, timeout_seconds=5).applications,
        seconds=30,
        what="the end of the application",
    )
    wait_until(lambda: not processes_mentioning(str(airflow_home)), seconds=30, what="the end of the driver")


def test_a_killed_task_takes_its_spark_application_with_it(cluster, input_files, airflow_home):
    operator = sample_run(cluster, input_files, "--hold-task-seconds=600")

    def kill_when_running() -> None:
        wait_until(
            lambda: read_state(cluster.web_url, timeout_seconds=5).applications,
            seconds=90,
            what="the application on the cluster",
        )
        operator.on_kill()

    killer = threading.Thread(target=kill_when_running)
    killer.start()
    with pytest.raises(SampleRunError):
        observe(operator)
    killer.join()
    assert not processes_mentioning(str(airflow_home))
    wait_until(
        lambda: not read_state(cluster.web_url, timeout_seconds=5).applications,
        seconds=30,
        what="the end of the application",
    )


def test_a_run_whose_cluster_dies_ends_too(input_files, tmp_path, airflow_home):
    local = LocalCluster(
        LocalClusterSpec(machines=1, memory_megabytes_per_machine=512),
        name="doomed",
        directory=tmp_path / "doomed",
    )
    handle = local.start()

    def end_cluster_when_running() -> None:
        try:
            wait_until(
                lambda: read_state(handle.web_url, timeout_seconds=5).applications,
                seconds=90,
                what="the application on the cluster",
            )
        finally:
            local.terminate()

    ender = threading.Thread(target=end_cluster_when_running)
    ender.start()
    with pytest.raises(SampleRunError):
        observe(sample_run(handle, input_files, "--hold-driver-seconds=600", executors=1))
    ender.join()
    assert not processes_mentioning(str(airflow_home))


def processes_of(handle: ClusterHandle, word: str) -> list[psutil.Process]:
    """Processes of a local cluster that have a word in their command line."""
    ours = [psutil.Process(one.pid) for one in find_by_environment(DIRECTORY_VARIABLE, handle.directory)]
    return [process for process in ours if any(word in part for part in process.cmdline())]


def test_a_run_that_loses_a_machine_is_no_measurement(input_files, tmp_path, airflow_home):
    local = LocalCluster(
        LocalClusterSpec(machines=2, memory_megabytes_per_machine=512),
        name="loses one",
        directory=tmp_path / "loses-one",
    )
    handle = local.start()
    # It would end the whole cluster when one of its daemons dies; no cloud does that.
    (keeper,) = processes_of(handle, "clusters.keeper")
    keeper.suspend()
    lost: list[str] = []

    def all_executors_came() -> bool:
        logs = [path for path in (airflow_home / "ernest" / "event_logs").rglob("app-*") if path.is_file()]
        return any(log.read_text().count("SparkListenerExecutorAdded") == 2 for log in logs)

    def lose_a_machine() -> None:
        wait_until(all_executors_came, seconds=120, what="the executors")
        worker = processes_of(handle, "org.apache.spark.deploy.worker.Worker")[0]
        lost.extend(machine.host for machine in handle.machines if machine.host in worker.cmdline())
        worker.kill()

    try:
        loser = threading.Thread(target=lose_a_machine)
        loser.start()
        with pytest.raises(
            SampleRunError, match=r"The run was ended: it lost executor \d on machine"
        ) as told:
            observe(sample_run(handle, input_files, "--hold-task-seconds=600"))
        loser.join()
        assert f"on machine {lost[0]}:" in str(told.value)
        assert not processes_mentioning(str(airflow_home))

        wait_until(
            lambda: len(read_state(handle.web_url, timeout_seconds=5).machines) == 1,
            seconds=30,
            what="the master's notice of the loss",
        )
        with pytest.raises(ClusterLostError, match=rf"needs 2 machines.* 1 are alive \(lost: {lost[0]}\)"):
            observe(sample_run(handle, input_files), map_index=1)
        assert not list((airflow_home / "ernest" / "event_logs").rglob("*-1-try1/*")), "nothing was submitted"
    finally:
        keeper.resume()
        local.terminate()
