from __future__ import annotations

import json
import os
import runpy
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.local import LocalCluster
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from benchmarks.demo.api import AirflowApi, TaskInstance
from benchmarks.demo.progress import follow_run
from tests.java_testbed import JavaTestbed
from tests.yarn_testbed import YarnTestbed

Testbed = TypeVar("Testbed", bound=JavaTestbed)

ROOT = Path(__file__).parents[2]
FLIGHTS = 336_776


# The limits of these tests are what a machine takes that does little else. Where it is shared, all takes
# several times as long, and a limit that is not reached costs nothing.
PATIENCE = 4
LONGEST_DAG_RUN_SECONDS = 1_600
"""Of several sample runs on two cores that other tests share; on quiet ones it takes four minutes."""
WHOLE_DAG_RUNS = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.timeout(LONGEST_DAG_RUN_SECONDS + 300)]
"""Marks of tests that follow some to their ends."""


def follow(api: AirflowApi, dag_id: str, run_id: str) -> list[TaskInstance]:
    """Print what a DAG run does until it ends; see `follow_run`."""
    return follow_run(api, dag_id, run_id, timeout_seconds=LONGEST_DAG_RUN_SECONDS)


def wait_until(condition: Callable[[], Any], *, seconds: float, what: str) -> Any:
    """Wait for a condition, PATIENCE times as long as it should take at most; returns what it returned."""
    seconds *= PATIENCE
    deadline = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        assert time.monotonic() < deadline, f"{what} did not come about within {seconds:.0f} s"
        time.sleep(0.1)


def processes_mentioning(text: str) -> list[psutil.Process]:
    """Live processes that have a text in their command line."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and any(text in word for word in process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


# DAG files that do not change need not be read again, a task that can go on should, and on a busy machine
# answers may take longer than 5 s.
AIRFLOW_FOR_TESTS = {
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
    "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.5",
    "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
}


def few_flights(data: Path) -> None:
    """Put a fifth of the flights there for all that the example DAGs would: they make nothing anew."""
    prepare = runpy.run_path(str(ROOT / "dags" / "jobs" / "prepare_flights.py"))["prepare"]
    prepare(data, rows=FLIGHTS // 5)
    marker = data / "flights.json"
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "rows": None}))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterHandle]:
    """A real Spark cluster of three one-core workers, shared by the tests that leave it so."""
    directory = tmp_path_factory.mktemp("cluster") / "shared"
    spec = LocalClusterSpec(machines=3, memory_megabytes_per_machine=512, idle_limit_seconds=3600)
    local = LocalCluster(spec, name="shared", directory=directory)
    handle = local.start()
    try:
        yield handle
    finally:
        local.terminate()
        assert not processes_mentioning(str(directory)), "nothing of the cluster is left"


def shared_testbed(kind: type[Testbed], directory: Path) -> Iterator[Testbed]:
    """A test bed for a session, which leaves nothing; skipped where it cannot be built, but never in CI."""
    if missing := kind.missing():
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    with kind(directory) as testbed:
        yield testbed
    assert not processes_mentioning(str(directory)), "nothing of it and what it has started is left"


@pytest.fixture(scope="session")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[YarnTestbed]:
    """A real YARN of three NodeManagers with four cores each, shared by the tests that leave it so."""
    yield from shared_testbed(YarnTestbed, tmp_path_factory.mktemp("yarn") / "shared")


def secret_of(handle: ClusterHandle) -> str:
    """The secret of a local cluster, as it is kept in its directory."""
    assert handle.directory is not None
    return LocalCluster.from_handle(handle, below=Path(handle.directory).parent).secret()


@pytest.fixture
def input_files(tmp_path: Path) -> Path:
    """An input of 24 files of 100 lines."""
    folder = tmp_path / "input"
    folder.mkdir()
    for number in range(24):
        (folder / f"part-{number:05d}.txt").write_text(
            "".join(f"{number:02d} {line:02d}\n" for line in range(100))
        )
    return folder


_mishaps: list[str] = []
"""Lines of the leak table, from all processes that shared the tests."""


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand what was tried to leave machines running to the process that writes the summary."""
    from tests.integration import leak_table

    if (answer := getattr(session.config, "workeroutput", None)) is not None:
        answer["mishaps"] = leak_table.lines()
    else:
        _mishaps.extend(leak_table.lines())


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take it from a process that has ended."""
    _mishaps.extend(getattr(node, "workeroutput", {}).get("mishaps", ()))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show what was tried to leave machines running, and what ended them."""
    from tests.integration import leak_table

    if _mishaps:
        terminalreporter.section("executors after mishaps")
        for line in [leak_table.HEADING, *_mishaps]:
            terminalreporter.write_line(line)
