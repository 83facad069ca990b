"""Whatever dies on the way, no machine is left running and none is launched twice.

Attempts of tasks run as processes of their own, which are killed for real; the machines are hosts of the test
bed, whose shutdown timers run for real, a minute of theirs lasting a second.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from airflow_provider_ernest.spark.machines import read_state
from tests.ec2_testbed import Testbed
from tests.integration import ec2_attempt
from tests.integration.conftest import PATIENCE, processes_mentioning, wait_until
from tests.integration.leak_table import LeakCase

pytestmark = [
    pytest.mark.skipif(Testbed.missing() is not None, reason=Testbed.missing() or ""),
]

WORKERS = 2
MACHINES = 1 + WORKERS + 1  # the master, the workers, and one to cull
# Long enough to be killed in the middle.
LONG_PROBE = {"probe_rounds": 2, "probe_interval_seconds": 5}
TIME_TO_LIVE_MINUTES = 20  # of a second each
# From the last second of the time to live until the host has shut down, on a busy machine.
TIME_TO_LIVE_BOUND_SECONDS = TIME_TO_LIVE_MINUTES + 30.0


@pytest.fixture(scope="module")
def spark_stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Spark whose daemons do nothing: for cases that are over before a cluster forms."""
    home = tmp_path_factory.mktemp("spark-stub")
    (home / "bin").mkdir()
    daemon = home / "bin" / "spark-class"
    daemon.write_text("#!/bin/bash\nexec sleep infinity\n")
    daemon.chmod(0o755)
    return home


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory, spark_stub: Path) -> Iterator[Testbed]:
    folder = tmp_path_factory.mktemp("bed")
    with Testbed(folder, shared=[spark_stub], seconds_per_minute=1) as running:
        yield running
    assert not processes_mentioning(str(folder)), "nothing of the bed is left"


@pytest.fixture(autouse=True)
def quiet_bed(bed: Testbed) -> Iterator[None]:
    bed.forget_faults()
    bed.forget_calls()
    yield
    bed.forget_faults()


@pytest.fixture
def task(bed: Testbed, spark_stub: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Task]:
    """The task that launches a cluster; its attempts that still run are killed at the end."""
    arguments = {
        "machines": WORKERS,
        "instance_type": "m5.large",
        "image": bed.image_id,
        "subnets": list(bed.subnet_ids),
        "security_groups": [bed.security_group_id],
        "spark_distribution": str(spark_stub),
        "java_home": bed.java_home,
        "python": bed.python,
        "cores_per_machine": 1,
        "memory_megabytes_per_machine": 512,
        "time_to_live_seconds": 60 * TIME_TO_LIVE_MINUTES,
        "start_timeout_seconds": 240 * PATIENCE,
        "probe_rounds": 1,
        "probe_interval_seconds": 0,
        "driver_host": bed.gateway_address,
    }
    made = Task(bed, tmp_path, request.node.name, arguments)
    yield made
    made.kill_all()


class Task:
    """A task whose attempts are processes."""

    def __init__(self, bed: Testbed, home: Path, run_id: str, arguments: dict[str, Any]) -> None:
        self.bed = bed
        self.home = home
        self.run_id = run_id
        self.arguments = arguments
        self._attempts: list[Attempt] = []

    def attempt(self, try_number: int = 1, **changes: Any) -> Attempt:
        """Start an attempt of the task that launches the cluster."""
        options = {name: changes.pop(name) for name in ("deferrable", "cluster", "size") if name in changes}
        arguments = {"spec": {**self.arguments, **changes}, **options}
        return self._start("ec2_cluster", "EC2ClusterOperator", arguments, "create", try_number)

    def teardown(self, handle: dict[str, Any]) -> None:
        """Run the teardown task to its end."""
        ending = self._start("cluster", "TerminateClusterOperator", {"cluster": handle}, "end", 1)
        ending.finish()

    def reaper(self) -> None:
        """Run the task that ends what is overdue."""
        self._start("cluster", "ReapClustersOperator", {"grace_seconds": 0}, "reap", 1).finish()

    def drivers(self) -> list[psutil.Process]:
        """Of the probes that the attempts have started, and not of another test's."""
        return [one for one in processes_mentioning("bandwidth_probe.py") if self._has_started(one)]

    def _has_started(self, process: psutil.Process) -> bool:
        with suppress(psutil.Error):
            return process.environ().get("AIRFLOW_HOME") == str(self.home / "airflow")
        return False

    def kill_all(self) -> None:
        """Kill the attempts that still run, and end what they have left."""
        for attempt in self._attempts:
            attempt.kill()
        ids = [machine.instance_id for machine in self.bed.live_instances()]
        if ids:
            self.bed.client("ec2").terminate_instances(InstanceIds=ids)
            wait_until(lambda: not self.bed.live_instances(), seconds=60, what="the bed is empty again")

    def _start(
        self, module: str, operator: str, arguments: dict[str, Any], task_id: str, try_number: int
    ) -> Attempt:
        order = {
            "module": module,
            "operator": operator,
            "arguments": arguments,
            "run_id": self.run_id,
            "task_id": task_id,
            "try_number": try_number,
        }
        environment = {
            **os.environ,
            "AIRFLOW_HOME": str(self.home / "airflow"),
            "AIRFLOW_CONN_AWS_DEFAULT": self.bed.airflow_connection(),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        }
        output = self.home / f"attempt-{len(self._attempts)}.log"
        attempt = Attempt(order, environment, output)
        self._attempts.append(attempt)
        return attempt


class Attempt:
    """A running attempt."""

    def __init__(self, order: dict[str, Any], environment: dict[str, str], output: Path) -> None:
        self._output = output
        output.touch()
        self._process = ec2_attempt.start(order, environment, output)

    @property
    def log(self) -> str:
        return self._output.read_text()

    def kill(self) -> None:
        """As a worker dies that runs out of memory."""
        self._process.kill()
        self._process.join()

    def end_as_airflow_does(self) -> None:
        """SIGTERM, and SIGKILL five seconds later."""
        self._process.terminate()
        self._process.join(5)
        self.kill()

    def wait(self, seconds: float = 200) -> int:
        self._process.join(seconds * PATIENCE)
        assert self._process.exitcode is not None, f"it has not ended in time:\n{self.log}"
        return self._process.exitcode

    def finish(self, seconds: float = 200) -> Any:
        """What it returned (or the trigger that it waits in); it must have succeeded."""
        assert self.wait(seconds) == 0, self.log
        last = self.log.strip().splitlines()[-1]
        return json.loads(last.partition(" ")[2])

    def wait_for_log(self, text: str, *, seconds: float = 120) -> None:
        def is_there() -> bool:
            assert self._process.is_alive() or text in self.log, self.log
            return text in self.log

        wait_until(is_there, seconds=seconds, what=repr(text))


def wait_for_call(bed: Testbed, action: str, count: int = 1) -> None:
    wait_until(
        lambda: len(bed.calls(action)) >= count, seconds=60, what=f"{action} is called for the {count}. time"
    )


# --- the process dies while machines are launched -------------------------------------------------------


def test_killed_before_the_launch(bed: Testbed, task: Task):
    case = LeakCase("worker killed before RunInstances", "nothing launched", bed, most=0)
    bed.fail("DescribeImages", when="hang", seconds=30)
    attempt = task.attempt()
    wait_for_call(bed, "DescribeImages")
    case.strikes()
    attempt.kill()

    case.none_within(5)
    assert not bed.calls("RunInstances")


@pytest.mark.parametrize(
    ("skip", "what", "launched"), [(0, "the master's", 1), (1, "the workers'", MACHINES)]
)
def test_killed_during_the_launch(bed: Testbed, task: Task, skip: int, what: str, launched: int):
    case = LeakCase(f"worker killed during {what} RunInstances", "time to live", bed, most=MACHINES)
    bed.fail("RunInstances", when="hang", seconds=30, skip=skip)
    attempt = task.attempt()
    wait_for_call(bed, "RunInstances", 1 + skip)
    case.strikes()
    attempt.kill()

    case.wait_for_machines(launched)
    case.none_within(TIME_TO_LIVE_BOUND_SECONDS)
    assert case.launched == launched


def test_killed_after_the_launch(bed: Testbed, task: Task):
    case = LeakCase("worker killed while machines boot", "time to live", bed, most=MACHINES)
    attempt = task.attempt()
    case.wait_for_machines(MACHINES)
    case.strikes()
    attempt.kill()

    case.none_within(TIME_TO_LIVE_BOUND_SECONDS)
    reasons = {machine.reason for machine in bed.instances() if machine.reason}
    assert any("shutdown" in reason.lower() for reason in reasons), reasons


@pytest.mark.parametrize(("skip", "what", "before"), [(0, "the master's", 1), (1, "the workers'", MACHINES)])
def test_ended_by_airflow_during_the_launch(bed: Testbed, task: Task, skip: int, what: str, before: int):
    case = LeakCase(f"task ended during {what} RunInstances", "on_kill", bed, most=MACHINES)
    bed.fail("RunInstances", when="hang", seconds=3, skip=skip)
    attempt = task.attempt()
    wait_for_call(bed, "RunInstances", 1 + skip)
    case.wait_for_machines(before)
    case.strikes()
    attempt.end_as_airflow_does()

    case.none_within(20)
    assert case.launched == before


def test_ended_by_airflow_while_machines_boot(bed: Testbed, task: Task):
    case = LeakCase("task ended while machines boot", "on_kill", bed, most=MACHINES)
    attempt = task.attempt()
    case.wait_for_machines(MACHINES)
    attempt.wait_for_log("workers")
    case.strikes()
    attempt.end_as_airflow_does()

    case.none_within(20)


# --- another attempt follows ----------------------------------------------------------------------------


@pytest.mark.parametrize(("skip", "what"), [(0, "the master's"), (1, "the workers'")])
def test_the_next_attempt_takes_over(bed: Testbed, task: Task, skip: int, what: str):
    case = LeakCase(f"retry after a kill during {what} RunInstances", "teardown", bed, most=MACHINES)
    bed.fail("RunInstances", when="hang", seconds=5, skip=skip)
    # Longer than the retry waits for AWS to show what the killed attempt has launched.
    task.arguments["time_to_live_seconds"] = 60 * 240
    killed = task.attempt(deferrable=True)
    wait_for_call(bed, "RunInstances", 1 + skip)
    killed.kill()
    bed.forget_faults()

    trigger = task.attempt(2, deferrable=True).finish()

    assert case.alive() == MACHINES
    assert len(bed.live_instances(role="master")) == 1
    case.strikes()
    task.teardown(handle_of(trigger["cluster_name"]))
    case.none_within(20)
    assert case.launched == MACHINES


def test_deferred_and_never_resumed(bed: Testbed, task: Task):
    case = LeakCase("triggerer lost for good while deferred", "time to live", bed, most=MACHINES)
    task.attempt(deferrable=True).finish()
    case.strikes()
    case.wait_for_machines(MACHINES)

    case.none_within(TIME_TO_LIVE_BOUND_SECONDS)


# --- AWS misbehaves -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "fault"),
    [
        ("answers lost, connection broken", {"when": "drop", "times": 2}),
        # More of them than boto3 asks again.
        ("all answers lost", {"when": "drop", "times": 20}),
        ("answers lost, error 500 after the effect", {"when": "after", "code": "InternalError", "times": 2}),
        (
            "API throttled",
            {"when": "before", "code": "RequestLimitExceeded", "status": 503, "times": 3},
        ),
    ],
)
def test_answers_of_a_launch_are_lost(bed: Testbed, task: Task, what: str, fault: dict[str, Any]):
    case = LeakCase(f"RunInstances: {what}", "teardown", bed, most=MACHINES)
    bed.fail("RunInstances", **fault)

    trigger = task.attempt(deferrable=True).finish()

    assert case.alive() == MACHINES
    bed.fail("TerminateInstances", code="RequestLimitExceeded", status=503, times=3)
    case.strikes()
    task.teardown(handle_of(trigger["cluster_name"]))
    case.none_within(20)
    assert case.launched == MACHINES


def test_no_capacity_for_the_workers(bed: Testbed, task: Task):
    case = LeakCase("no capacity for the workers anywhere", "the failing task itself", bed, most=2)
    bed.set_capacity("m5.large", 2)
    try:
        attempt = task.attempt(master_instance_type="m5.large")
        assert attempt.wait() != 0
    finally:
        bed.set_capacity("m5.large", None)

    assert "InsufficientInstanceCapacity" in attempt.log
    case.none_within(20)


def test_a_machine_that_does_not_boot(bed: Testbed, task: Task):
    case = LeakCase("the setup script fails on all machines", "the failing task itself", bed, most=MACHINES)
    attempt = task.attempt(setup_script="echo cannot reach the mirror >&2; exit 3")
    assert attempt.wait() != 0

    assert "cannot reach the mirror" in attempt.log
    assert "the setup script failed with exit code 3" in attempt.log
    case.none_within(20)


# --- the last resort ------------------------------------------------------------------------------------


def test_the_reaper_ends_what_nothing_else_has_ended(bed: Testbed, task: Task):
    case = LeakCase("worker killed, machines forget their time to live", "reaper", bed, most=MACHINES)
    task.attempt(deferrable=True, setup_script="shutdown -c").finish()
    case.wait_for_machines(MACHINES)
    bed.expire(*(machine.instance_id for machine in bed.live_instances()))

    case.strikes()
    task.reaper()

    case.none_within(20)


# --- with a real Spark ----------------------------------------------------------------------------------


@pytest.fixture
def spark_task(bed: Testbed, task: Task) -> Task:
    task.arguments |= {"spark_distribution": bed.spark_home, "time_to_live_seconds": 60 * 240 * PATIENCE}
    return task


def master_url(bed: Testbed) -> str:
    (master,) = bed.live_instances(role="master")
    return f"http://{master.private_address}:8080"


def test_ended_by_airflow_during_the_probe(bed: Testbed, spark_task: Task):
    case = LeakCase("task ended during the probe", "on_kill", bed, most=MACHINES)
    attempt = spark_task.attempt(**LONG_PROBE)
    case.wait_for_machines(MACHINES)
    wait_for_probe(bed)
    assert spark_task.drivers()
    case.strikes()
    attempt.end_as_airflow_does()

    case.none_within(20)
    assert not spark_task.drivers(), "the probe's driver has ended with its task"


def test_killed_during_the_probe_and_tried_again(bed: Testbed, spark_task: Task):
    case = LeakCase("retry after a kill during the probe", "teardown", bed, most=MACHINES)
    killed = spark_task.attempt(**LONG_PROBE)
    case.wait_for_machines(MACHINES)
    wait_for_probe(bed)
    killed.kill()
    wait_until(lambda: not spark_task.drivers(), seconds=15, what="the end of the probe")

    # Of the same specification, else the machines are of no use to it.
    handle = spark_task.attempt(2, **LONG_PROBE).finish(240)

    assert len(handle["machines"]) == WORKERS
    assert case.alive() == 1 + WORKERS
    case.strikes()
    spark_task.teardown(handle)
    case.none_within(20)
    assert case.launched == MACHINES


def test_killed_during_the_cull_and_tried_again(bed: Testbed, spark_task: Task):
    case = LeakCase("retry after a kill during the cull", "teardown", bed, most=MACHINES)
    bed.fail("TerminateInstances", when="hang", seconds=30)
    killed = spark_task.attempt()
    case.wait_for_machines(MACHINES)
    wait_until(lambda: bed.calls("TerminateInstances"), seconds=120, what="the cull")
    killed.kill()
    bed.forget_faults()

    handle = spark_task.attempt(2).finish(240)

    assert len(handle["machines"]) == WORKERS
    assert case.alive() == 1 + WORKERS
    case.strikes()
    spark_task.teardown(handle)
    case.none_within(20)


def wait_for_probe(bed: Testbed) -> None:
    """Until the probe's application holds cores of the machines."""

    def runs() -> bool:
        try:
            return any(app.cores for app in read_state(master_url(bed), timeout_seconds=2).applications)
        except Exception:
            return False

    wait_until(runs, seconds=150, what="the probe")


def handle_of(name: str) -> dict[str, Any]:
    """What the teardown needs to know of a cluster that has not formed yet."""
    from airflow_provider_ernest.clusters.base import ClusterHandle

    handle = ClusterHandle(
        kind="ec2", name=name, master_url="spark://none:7077", machines=(), aws_conn_id="aws_default"
    )
    return handle.to_dict()
