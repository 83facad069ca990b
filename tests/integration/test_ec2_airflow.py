"""Whatever happens to a DAG run in a real Airflow, no machine is left running and none is launched twice.

Machines are hosts of the test bed, whose shutdown timers run for real, a minute of theirs lasting a second.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import pytest
from airflow.triggers.base import BaseTrigger

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.ec2.cluster import cluster_secret
from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
from airflow_provider_ernest.documents.decisions import DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.store.store import ModelStore
from benchmarks.demo.airflow_server import AirflowServer
from benchmarks.demo.api import FINISHED_RUN_STATES, AirflowApi, TaskInstance
from benchmarks.demo.progress import follow_run
from tests.ec2_testbed import Testbed
from tests.integration.conftest import AIRFLOW_FOR_TESTS, PATIENCE, processes_mentioning, wait_until
from tests.integration.leak_table import LeakCase

DEPLOYMENT = "tests"

pytestmark = [
    pytest.mark.skipif(Testbed.missing() is not None, reason=Testbed.missing() or ""),
    pytest.mark.airflow,
    pytest.mark.spark,
]

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests" / "integration"
WORKERS = 2
MACHINES = 1 + WORKERS
# See the DAGs: of a second each; and until the host has shut down, on a busy machine.
SHORT_LIFE_MINUTES, LONGER_LIFE_MINUTES, SHUTDOWN_SECONDS = 30, 210, 30
# Of what a task or a trigger does without waiting for anything, on a busy machine.
AT_ONCE_SECONDS = 20
SOON_MISSED = {
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "20",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
    "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "1",
    "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "10",
}


# --- a cloud and an Airflow -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("ec2-airflow")
    for folder in ("input", "gates", "staging"):
        (home / folder).mkdir(parents=True)
    for number in range(8):
        (home / "input" / f"part-{number:05d}.txt").write_text("a line of some length\n" * 100)
    return home


@pytest.fixture(scope="module")
def bed(home: Path) -> Iterator[Testbed]:
    shared = [home / folder for folder in ("input", "gates", "staging")]
    with Testbed(home / "bed", shared=shared, seconds_per_minute=1) as running:
        yield running
    assert not processes_mentioning(str(home / "bed")), "nothing of the bed is left"


@pytest.fixture(scope="module")
def server(home: Path, bed: Testbed) -> Iterator[AirflowServer]:
    environment = {
        **AIRFLOW_FOR_TESTS,
        **SOON_MISSED,
        "AIRFLOW__ERNEST__STAGING": str(home / "staging"),
        "AIRFLOW__ERNEST__DEPLOYMENT": DEPLOYMENT,
        "AIRFLOW_CONN_AWS_DEFAULT": bed.airflow_connection(),
        "ERNEST_TEST_APPLICATION": str(TESTS / "jobs" / "count_lines.py"),
        "ERNEST_TEST_EC2_CLUSTER": json.dumps(cluster_arguments(bed)),
        "ERNEST_TEST_GATES": str(home / "gates"),
        "ERNEST_TEST_INPUT": str(home / "input"),
    }
    with AirflowServer(home / "airflow", TESTS / "ec2_dags", environment=environment) as running:
        yield running
    assert not processes_mentioning(str(home / "airflow")), "nothing of Airflow is left"


def cluster_arguments(bed: Testbed) -> dict[str, Any]:
    return {
        "machines": WORKERS,
        "instance_type": "m5.large",
        "image": bed.image_id,
        "subnets": list(bed.subnet_ids),
        "security_groups": [bed.security_group_id],
        "spark_distribution": bed.spark_home,
        "java_home": bed.java_home,
        "python": bed.python,
        "cores_per_machine": 1,
        "memory_megabytes_per_machine": 512,
        "time_to_live_seconds": 60 * 300 * PATIENCE,
        "start_timeout_seconds": 240 * PATIENCE,
        "probe_rounds": 0,
        "probe_interval_seconds": 0,
        "driver_host": bed.gateway_address,
    }


@pytest.fixture
def start(bed: Testbed, server: AirflowServer, home: Path) -> Iterator[Callable[[str], Run]]:
    """Starts runs of DAGs; what they have left at the end of the test is ended."""
    bed.forget_faults()
    bed.forget_calls()
    runs = []
    with server.api() as api:

        def start(dag_id: str) -> Run:
            runs.append(Run(bed, server, api, home / "gates", dag_id))
            return runs[-1]

        yield start
        bed.forget_faults()
        for run in runs:
            run.give_up()
    ids = [machine.instance_id for machine in bed.live_instances()]
    if ids:
        bed.client("ec2").terminate_instances(InstanceIds=ids)
        wait_until(lambda: not bed.live_instances(), seconds=60, what="the bed is empty again")


@pytest.fixture(scope="module")
def start_triggerer(server: AirflowServer) -> Iterator[Callable[[], None]]:
    """Starts a triggerer, for the one of `airflow standalone`, which does not start it anew."""
    command = [sys.executable, "-m", "benchmarks.demo.keeper", str(server.home), "airflow", "triggerer"]
    of_the_server = next(one for one in psutil.Process().children() if str(server.home) in command_line(one))
    environment = of_the_server.environ()
    keepers: list[subprocess.Popen[bytes]] = []

    def start_one() -> None:
        with (server.home / "triggerer.log").open("ab") as log:
            keepers.append(
                subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment, cwd=ROOT
                )
            )

    yield start_one
    for keeper in keepers:
        assert keeper.stdin is not None
        keeper.stdin.close()
        try:
            keeper.wait(60)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait()


class Run:
    """A run of a DAG, and the bed as far as the run's cluster is concerned (for `LeakCase`)."""

    def __init__(
        self, bed: Testbed, server: AirflowServer, api: AirflowApi, gates: Path, dag_id: str
    ) -> None:
        self.bed = bed
        self.server = server
        self.api = api
        self.dag_id = dag_id
        self._gate = gates / dag_id
        self._gate.unlink(missing_ok=True)
        api.wait_for_dag(dag_id)
        api.unpause(dag_id)
        self.run_id = api.trigger(dag_id)
        self.path = f"dags/{dag_id}/dagRuns/{quote(self.run_id, safe='')}"
        self.cluster = ClusterIdentity(
            deployment=DEPLOYMENT, dag_id=dag_id, run_id=self.run_id, task_id="create"
        ).cluster_name

    def instances(self) -> list[Any]:
        return self.bed.instances(cluster=self.cluster)

    def live_instances(self) -> list[Any]:
        return self.bed.live_instances(cluster=self.cluster)

    def hosts(self) -> list[Any]:
        own = {machine.instance_id for machine in self.instances()}
        return [host for host in self.bed.hosts() if host.instance_id in own]

    def open_gate(self) -> None:
        """Let the machines boot to the end."""
        self._gate.touch()

    def task(self, task_id: str) -> TaskInstance:
        tasks = self.api.task_instances(self.dag_id, self.run_id)
        return next(task for task in tasks if task.task_id == task_id)

    def wait_for_state(self, task_id: str, state: str, *, try_number: int = 1, seconds: float = 120) -> None:
        def is_there() -> bool:
            found = self.task(task_id)
            return found.state == state and found.try_number == try_number

        wait_until(is_there, seconds=seconds, what=f"{task_id} is {state}, try {try_number}")

    def wait_for_trigger(self) -> None:
        """Until the trigger of the deferred setup waits for the machines."""
        logs = self.server.home / "logs" / f"dag_id={self.dag_id}" / f"run_id={self.run_id}"
        wait_until(
            lambda: any("workers launched" in file.read_text() for file in logs.rglob("*.trigger.*")),
            seconds=60,
            what="the trigger's first look",
        )

    def finish(self, watch: Callable[[], object], *, seconds: float = 300) -> dict[str, TaskInstance]:
        """Wait for the run's end, looking at it all the time; returns its tasks."""

        def write(text: str) -> None:
            watch()
            if " s  ... " not in text:
                sys.stdout.write(f"{text}\n")

        tasks = follow_run(
            self.api,
            self.dag_id,
            self.run_id,
            timeout_seconds=seconds * PATIENCE,
            heartbeat_seconds=1,
            log_lines=60,
            write=write,
        )
        return {task.task_id: task for task in tasks}

    def log(self, task_id: str, *, try_number: int) -> str:
        task = replace(self.task(task_id), try_number=try_number)
        return "\n".join(self.api.task_log(self.dag_id, self.run_id, task))

    def handle(self) -> ClusterHandle:
        return ClusterHandle.from_dict(self.api.xcom(self.dag_id, self.run_id, "create"))

    def mark_failed(self) -> None:
        self.api.mark_failed(self.dag_id, self.run_id)

    def clear(self, task_id: str) -> None:
        self.api.clear(self.dag_id, self.run_id, task_id)

    def task_processes(self, task_id: str) -> list[psutil.Process]:
        """The process that executes a task, and the worker that watches over it."""
        title = f"airflow worker -- {self.api.get(f'{self.path}/taskInstances/{task_id}')['id']}"

        def executing() -> list[psutil.Process]:
            return [one for one in self.server_processes() if command_line(one) == title]

        (process,) = wait_until(executing, seconds=60, what=f"the process of {task_id}")
        worker = process.parent()
        assert worker is not None
        assert "LocalExecutor" in command_line(worker)
        return [process, worker]

    def server_processes(self) -> list[psutil.Process]:
        return [one for one in psutil.Process().children(recursive=True) if command_line(one)]

    def give_up(self) -> None:
        if self.api.run_state(self.dag_id, self.run_id) not in FINISHED_RUN_STATES:
            self.mark_failed()


def command_line(process: psutil.Process) -> str:
    """Its title or its command; "" when it has ended."""
    try:
        ended = process.status() == psutil.STATUS_ZOMBIE
        return "" if ended else " ".join(process.cmdline()).strip()
    except psutil.Error:
        return ""


def kill(processes: list[psutil.Process]) -> None:
    """As the kernel does it that runs out of memory."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    wait_until(lambda: not any(map(command_line, processes)), seconds=20, what="the end of the killed")


def ended_by_themselves(run: Run) -> bool:
    reasons = {machine.reason for machine in run.instances()}
    return any("InstanceInitiatedShutdown" in reason for reason in reasons)


def wait_for_launch(run: Run, count: int = 1) -> None:
    wait_until(
        lambda: len(run.bed.calls("RunInstances")) >= count,
        seconds=90,
        what=f"RunInstances is called for the {count}. time",
    )


# --- all goes well --------------------------------------------------------------------------------------


def test_the_whole_loop(bed: Testbed, start: Callable[[str], Run], server: AirflowServer):
    run = start("ec2_whole_loop")
    case = LeakCase("nothing, the run succeeds", "teardown", run, most=MACHINES + 1)
    case.wait_for_machines(MACHINES + 1, seconds=120)
    secret = cluster_secret(bed.client("ec2"), run.cluster)
    run.wait_for_state("create", "deferred")
    told = [shown_by_the_api(run), database(server.home)]
    assert f'{{"cluster_name": "{run.cluster}"' in told[-1], "the trigger's arguments can be read"
    run.open_gate()

    def watch() -> None:
        case.alive()
        assert not processes_mentioning(secret), "the secret is in no command line"

    tasks = run.finish(watch)

    case.none_within(AT_ONCE_SECONDS)
    assert {task.state for task in tasks.values()} == {"success"}
    handle = run.handle()
    assert len(handle.machines) == WORKERS
    assert len(handle.culled) == 1
    assert handle.culled[0].reason
    launched = {machine.instance_id for machine in run.instances()}
    assert handle.master is not None
    every = [*handle.machines, handle.master, handle.culled[0].machine]
    assert {machine.instance_id for machine in every} == launched
    assert all(machine.bandwidth and machine.bandwidth.score > 0 for machine in handle.machines)
    observation = Observation.from_dict(run.api.xcom(run.dag_id, run.run_id, "sample_run"))
    assert len(observation.hosts) == WORKERS
    assert observation.seconds > 0
    store = ModelStore(server.home / "ernest" / "store")
    (recorded,) = store.newest(ProductionRun, "count_lines", handle.instance_type)
    assert recorded.origin is not None
    assert (recorded.origin.run_id, recorded.origin.task_id) == (run.run_id, "production")
    assert recorded.executors == WORKERS
    assert recorded.run_seconds is not None
    assert 0 < recorded.run_seconds < recorded.seconds
    assert (recorded.application_id or "").startswith("app-")
    (decided,) = store.newest(DecisionRecord, "count_lines", handle.instance_type)
    assert decided.id == recorded.decision_id
    told += [run.log(task.task_id, try_number=1) for task in tasks.values()]
    told += [shown_by_the_api(run), database(server.home)]
    assert run.cluster in told[-1], "it would be found"
    assert not [text for text in told if secret in text]
    assert not files_with(secret, server.home), "logs, database, event logs, private files"


def shown_by_the_api(run: Run) -> str:
    """Task instances with their rendered fields, and XComs."""
    answers = [run.api.get(f"{run.path}/taskInstances")]
    for task in answers[0]["task_instances"]:
        path = f"{run.path}/taskInstances/{task['task_id']}/xcomEntries"
        keys = [entry["key"] for entry in run.api.get(path)["xcom_entries"]]
        answers += [run.api.get(f"{path}/{quote(key)}") for key in keys]
    return json.dumps(answers)


def database(home: Path) -> str:
    with contextlib.closing(sqlite3.connect(f"file:{home / 'airflow.db'}?mode=ro", uri=True)) as connection:
        return "\n".join(connection.iterdump())


def files_with(text: str, folder: Path) -> list[Path]:
    found = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return [file for file in found if text.encode() in file.read_bytes()]


# --- the worker dies ------------------------------------------------------------------------------------


def test_worker_killed_during_the_launch(bed: Testbed, start: Callable[[str], Run]):
    bed.fail("RunInstances", when="hang", seconds=15, skip=1)
    run = start("ec2_in_a_worker")
    case = LeakCase("Airflow worker killed in RunInstances, 1 retry", "teardown", run, most=MACHINES)
    run.open_gate()
    wait_for_launch(run, 2)
    kill(run.task_processes("create"))
    bed.forget_faults()

    tasks = run.finish(case.alive)

    case.none_within(AT_ONCE_SECONDS)
    assert (tasks["create"].state, tasks["create"].try_number) == ("success", 2)
    assert len(run.handle().machines) == WORKERS
    assert case.launched == MACHINES


def test_worker_killed_while_it_waits(start: Callable[[str], Run]):
    run = start("ec2_in_a_worker")
    case = LeakCase("Airflow task killed while it waits, 1 retry", "teardown", run, most=MACHINES)
    case.wait_for_machines(MACHINES, seconds=120)
    kill(run.task_processes("create")[:1])
    run.open_gate()

    tasks = run.finish(case.alive)

    case.none_within(AT_ONCE_SECONDS)
    assert (tasks["create"].state, tasks["create"].try_number) == ("success", 2)
    assert case.launched == MACHINES


def test_worker_killed_and_no_retry(bed: Testbed, start: Callable[[str], Run]):
    bed.fail("RunInstances", when="hang", seconds=15, skip=1)
    run = start("ec2_no_retry")
    case = LeakCase("Airflow worker killed in RunInstances, no retry", "time to live", run, most=MACHINES)
    wait_for_launch(run, 2)
    case.wait_for_machines(MACHINES)
    kill(run.task_processes("create"))

    case.none_within(SHORT_LIFE_MINUTES + SHUTDOWN_SECONDS)
    assert case.launched == MACHINES
    assert ended_by_themselves(run)


def test_an_answer_is_lost_and_the_task_tried_again(bed: Testbed, start: Callable[[str], Run]):
    # More of them than boto3 asks again.
    bed.fail("RunInstances", when="drop", times=20)
    run = start("ec2_in_a_worker")
    case = LeakCase("answer of RunInstances lost, task killed, 1 retry", "teardown", run, most=MACHINES)
    wait_for_launch(run)
    # It cannot learn what it has launched before it dies.
    bed.fail("*", when="drop", times=1000)
    kill(run.task_processes("create")[:1])
    bed.forget_faults()
    run.open_gate()

    tasks = run.finish(case.alive)

    case.none_within(AT_ONCE_SECONDS)
    assert (tasks["create"].state, tasks["create"].try_number) == ("success", 2)
    assert len(run.handle().machines) == WORKERS
    assert case.launched == MACHINES


# --- while the setup is deferred ------------------------------------------------------------------------


def test_triggerer_killed_and_started_again(start: Callable[[str], Run], start_triggerer: Callable[[], None]):
    run = start("ec2_deferred")
    case = LeakCase("triggerer killed while deferred, and started again", "teardown", run, most=MACHINES)
    run.wait_for_state("create", "deferred")
    triggerer = [one for one in run.server_processes() if "airflow triggerer" in command_line(one)]
    assert triggerer
    kill([*{one for first in triggerer for one in (first, *first.children(recursive=True))}])
    start_triggerer()
    run.open_gate()

    tasks = run.finish(case.alive)

    case.none_within(AT_ONCE_SECONDS)
    assert (tasks["create"].state, tasks["create"].try_number) == ("success", 1)
    assert case.launched == MACHINES


def test_run_marked_failed(start: Callable[[str], Run]):
    run = start("ec2_no_retry")
    case = LeakCase("DAG run marked failed while deferred", "", run, most=MACHINES)
    run.wait_for_state("create", "deferred")
    run.wait_for_trigger()
    assert case.alive() == MACHINES
    run.mark_failed()

    case.none_within(SHORT_LIFE_MINUTES + SHUTDOWN_SECONDS)
    case.ended_by = "time to live" if ended_by_themselves(run) else "trigger's on_kill"
    assert case.launched == MACHINES
    if hasattr(BaseTrigger, "on_kill"):  # Airflow 3.3
        assert case.ended_by == "trigger's on_kill"


def test_task_cleared(start: Callable[[str], Run]):
    run = start("ec2_deferred")
    case = LeakCase("setup cleared while deferred", "teardown", run, most=MACHINES)
    run.wait_for_state("create", "deferred")
    run.wait_for_trigger()
    run.clear("create")
    run.wait_for_state("create", "deferred", try_number=2)
    run.open_gate()

    tasks = run.finish(case.alive)

    case.none_within(AT_ONCE_SECONDS)
    assert {task.state for task in tasks.values()} == {"success"}


# --- while the cluster runs -----------------------------------------------------------------------------


def test_runs_time_out(bed: Testbed, start: Callable[[str], Run]):
    runs = [start("ec2_times_out"), start("ec2_times_out")]
    left = LeakCase("dagrun_timeout while the cluster runs", "time to live", runs[0], most=2)
    reaped = LeakCase("dagrun_timeout, and the expiry is past", "reaper", runs[1], most=2)
    runs[0].open_gate()
    for run in runs:
        run.finish(lambda: (left.alive(), reaped.alive()))
        assert run.task("create").state == "success"
        assert run.task("terminate").state != "success", "Airflow has ended the cluster: no leak to see"
    assert (left.alive(), reaped.alive()) == (2, 2)
    bed.expire(*(machine.instance_id for machine in runs[1].live_instances()))
    reaper = start("ec2_reaper")

    reaped.none_within(60)
    assert left.alive() == 2, "what may still live is spared"
    assert not ended_by_themselves(runs[1])
    left.none_within(LONGER_LIFE_MINUTES + SHUTDOWN_SECONDS)
    assert ended_by_themselves(runs[0])
    reaper.finish(lambda: None)
    assert reaper.api.xcom(reaper.dag_id, reaper.run_id, "reap")["machines"] == 2


def test_spot_interruption(bed: Testbed, start: Callable[[str], Run], server: AirflowServer):
    run = start("ec2_interrupted")
    case = LeakCase("spot interruption during a sample run", "teardown", run, most=MACHINES)
    run.open_gate()
    host = wait_until(
        lambda: executor_host(server.home / "ernest" / "event_logs" / run.dag_id),
        seconds=180,
        what="the sample run has its machine",
    )
    (instance_id,) = (one.instance_id for one in run.live_instances() if one.private_address == host)
    bed.interrupt_spot(instance_id)

    tasks = run.finish(case.alive)

    case.none_within(AT_ONCE_SECONDS)
    assert (tasks["on_one_machine"].state, tasks["on_one_machine"].try_number) == ("success", 2)
    assert "its time would be no measurement" in run.log("on_one_machine", try_number=1)
    observation = Observation.from_dict(run.api.xcom(run.dag_id, run.run_id, "on_one_machine"))
    assert observation.hosts
    assert not any(host in other for other in observation.hosts), "it was made on the other machine"
    assert tasks["on_two_machines"].state == "failed"
    refusal = run.log("on_two_machines", try_number=1)
    assert "ClusterLostError" in refusal
    assert "of the cluster" in refusal
    assert tasks["terminate"].state == "success"
    assert case.launched == MACHINES


def executor_host(event_logs: Path) -> str | None:
    """The machine of the first executor, as soon as Spark's event log tells of it."""
    for file in event_logs.rglob("*"):
        for line in file.read_text().splitlines() if file.is_file() else ():
            if line.startswith('{"Event":"SparkListenerExecutorAdded"') and line.endswith("}"):
                return str(json.loads(line)["Executor Info"]["Host"])
    return None
