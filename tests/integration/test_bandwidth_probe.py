"""The bandwidth probe on a real Spark cluster."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.probe import APPLICATION, probe_bandwidth
from airflow_provider_ernest.exceptions import ClusterStartError
from airflow_provider_ernest.spark.machines import Bandwidth, Machine, read_state
from tests.ec2_testbed.bed_limits import CpuLimit
from tests.integration.conftest import processes_mentioning, secret_of, wait_until

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def airflow_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    home = str(tmp_path / "airflow")
    monkeypatch.setenv("AIRFLOW_HOME", home)
    return home


def probe(cluster: ClusterHandle, **changes: Any) -> dict[str, Bandwidth]:
    fields = {
        "secret": secret_of(cluster),
        "rounds": 1,
        "interval_seconds": 0.0,
        "timeout_seconds": 240.0,
        **changes,
    }
    return probe_bandwidth(cluster, **fields)


def drivers(airflow_home: str) -> list[psutil.Process]:
    """Of the probes of a test, and not of one that runs beside it."""
    found = []
    for process in processes_mentioning(str(APPLICATION)):
        with contextlib.suppress(psutil.Error):
            if process.environ().get("AIRFLOW_HOME") == airflow_home:
                found.append(process)
    return found


def require_nothing_left(cluster: ClusterHandle, airflow_home: str) -> None:
    assert not drivers(airflow_home)
    wait_until(
        lambda: not read_state(cluster.web_url, timeout_seconds=5).applications,
        seconds=30,
        what="the end of the application",
    )


def executor_on(machine: Machine) -> psutil.Process | None:
    """The executor on a machine."""
    # By its worker's port: another cluster on this computer may have a machine of the same address.
    port = machine.worker_id.rpartition("-")[2]
    for process in processes_mentioning(f"spark://Worker@{machine.host}:{port}"):
        with contextlib.suppress(psutil.Error):
            if "--executor-id" in process.cmdline():
                return process
    return None


def executor_at_work(machine: Machine) -> psutil.Process | None:
    """The executor on a machine, once it has started the Python processes that measure."""
    executor = executor_on(machine)
    with contextlib.suppress(psutil.Error):
        # A JVM has children of another kind while it starts: killed then, Spark begins it anew in time.
        if executor and any("pyspark.daemon" in child.cmdline() for child in executor.children()):
            return executor
    return None


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Do something in a thread of its own; what goes wrong there fails the test."""
    problems: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:
            problems.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join(120)
    assert not problems, problems


def test_measures_all_machines_under_the_names_the_master_has_for_them(cluster, airflow_home):
    bandwidth = probe(cluster, rounds=2, interval_seconds=0.5)

    registered = read_state(cluster.web_url, timeout_seconds=5).machines
    assert (
        set(bandwidth) == {machine.host for machine in registered} == {each.host for each in cluster.machines}
    )
    for measured in bandwidth.values():
        assert measured.memory_gigabytes_per_second > 0
        assert measured.network_gigabytes_per_second > 0
        assert 0 < measured.score < 2
    require_nothing_left(cluster, airflow_home)


# Others on this machine would slow down the others of the cluster, too.
@pytest.mark.alone
def test_a_machine_with_little_cpu_ranks_last_in_memory(cluster):
    try:
        limited = CpuLimit(f"ernest-probe-test-{os.getpid()}")
    except OSError as error:
        pytest.skip(f"control groups cannot be made here: {error}")
    limited.set(0.25)
    slow_machine = cluster.machines[1]
    slow = slow_machine.host

    def slow_down() -> None:
        # Before it measures: the best of its windows counts.
        executor = wait_until(lambda: executor_on(slow_machine), seconds=120, what="the executor")
        for process in [executor, *executor.children(recursive=True)]:
            limited.process_file.write_text(str(process.pid))

    try:
        with meanwhile(slow_down):
            bandwidth = probe(cluster)
    finally:
        limited.remove()

    ranked = sorted(bandwidth, key=lambda host: bandwidth[host].memory_gigabytes_per_second)
    assert ranked[0] == slow
    assert bandwidth[slow].score == min(each.score for each in bandwidth.values())
    assert bandwidth[slow].score < 0.85


def test_a_machine_that_dies_meanwhile_fails_the_probe_in_time(cluster, airflow_home):
    def kill_executor() -> None:
        machine = cluster.machines[2]
        wait_until(lambda: executor_at_work(machine), seconds=120, what="the executor").send_signal(
            signal.SIGKILL
        )

    with (
        meanwhile(kill_executor),
        pytest.raises(ClusterStartError, match="The bandwidth probe failed") as failure,
    ):
        probe(cluster)

    assert "timeout_seconds" not in str(failure.value), "it failed by itself, before it was ended"
    assert failure.value.retryable
    require_nothing_left(cluster, airflow_home)


def test_a_killed_probe_leaves_no_process(cluster, airflow_home):
    hooks: list[Any] = []

    def kill_when_running() -> None:
        wait_until(
            lambda: read_state(cluster.web_url, timeout_seconds=5).applications,
            seconds=90,
            what="the application on the cluster",
        )
        hooks[0].end()

    with meanwhile(kill_when_running), pytest.raises(ClusterStartError):
        probe(cluster, on_submit=hooks.append)
    require_nothing_left(cluster, airflow_home)


def test_a_probe_that_is_killed_before_it_is_submitted_never_starts(cluster, airflow_home):
    with pytest.raises(ClusterStartError, match="ended before it was submitted"):
        probe(cluster, on_submit=lambda hook: hook.end())
    assert not drivers(airflow_home)


def test_waiting_for_a_machine_that_never_comes_is_bounded(cluster):
    with pytest.raises(ClusterStartError, match=r"longer than timeout_seconds=10 and was ended"):
        probe(replace(cluster, machines=(*cluster.machines, cluster.machines[0])), timeout_seconds=10.0)
    require_nothing_left(cluster, airflow_home)
