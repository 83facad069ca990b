"""What event logs of a real YARN tell of runs: on how many executors they were, and what went wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from airflow_provider_ernest.command_line import main
from airflow_provider_ernest.documents.profiles import NODE_LOST
from airflow_provider_ernest.documents.runs import PastRun
from airflow_provider_ernest.eventlog.run_facts import losses_of, read_run
from airflow_provider_ernest.eventlog.tables import EventLog
from airflow_provider_ernest.history.observations import past_run
from tests.integration.conftest import processes_mentioning, wait_until
from tests.integration.yarn_runs import YarnRun
from tests.yarn_testbed import SMALL_QUEUE, YarnTestbed

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

LONG = (40, 1.0)
DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.timeout": "2s",
    "spark.dynamicAllocation.executorIdleTimeout": "2s",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.maxExecutors": "3",
}


def executor_of(run: YarnRun, executor_id: int) -> psutil.Process:
    """The Java process of an executor."""
    words = ["--executor-id", str(executor_id)]

    def found() -> Any:
        for process in processes_mentioning(run.application):
            line = process.cmdline()
            if line[0].endswith("java") and words in [line[at : at + 2] for at in range(len(line))]:
                return process
        return None

    process = wait_until(found, seconds=30, what=f"executor {executor_id}")
    assert isinstance(process, psutil.Process)
    return process


@pytest.fixture(scope="module")
def runs(yarn: YarnTestbed) -> Iterator[dict[str, YarnRun]]:
    """Runs that go wrong, each in its way, at the same time: none is about how long it takes."""
    full = {"spark.yarn.queue": SMALL_QUEUE, "spark.scheduler.maxRegisteredResourcesWaitingTime": "5s"}
    started = {
        "full queue": YarnRun(yarn, executors=6, conf=full, arguments=(12, 0.5)),
        "executor killed": YarnRun(yarn, executors=2, arguments=LONG),
        "application killed": YarnRun(yarn, executors=1, arguments=LONG),
        "dynamic": YarnRun(yarn, executors=None, conf=DYNAMIC, arguments=(12, 1.0, 12.0)),
    }
    victim = started["executor killed"]
    victim.wait_for_task()
    executor_of(victim, 1).kill()
    started["application killed"].wait_for_task()
    yarn.kill(started["application killed"].application)
    yield started
    for run in started.values():
        run.process.kill()


def read(run: YarnRun) -> tuple[EventLog, PastRun]:
    run.wait()
    log = read_run(run.log)
    return log, past_run(log, event_log=str(run.log))


def test_a_full_queue_gives_fewer_executors_than_were_asked_for(runs):
    run = runs["full queue"]
    log, past = read(run)

    assert run.process.returncode == 0, run.output
    assert log.properties["spark.executor.instances"] == "6"
    # A quarter of twelve cores, less the application master's.
    assert past.executors == 2
    assert not past.failure


def test_an_executor_that_is_killed_is_lost(runs):
    run = runs["executor killed"]
    log, past = read(run)

    assert run.process.returncode == 0, run.output
    assert past.executors == 2, "its replacement is not another one"
    # Who sent the signal is not known: the kernel sends it where memory is short.
    assert past.failure == "it lost executors, probably killed for their memory"
    (loss,) = losses_of(log)
    assert "Exit status: 137" in loss.because
    assert loss.executors[0].startswith("1 on 127.0.0.")


def test_an_application_that_is_killed_has_not_ended_well(runs):
    run = runs["application killed"]
    _, past = read(run)

    assert run.process.returncode != 0
    # The log has an end, and exit code 0: Spark stops the driver in an orderly way.
    assert past.has_end
    assert past.failure == "its last job failed"


def test_executors_that_dynamic_allocation_lets_go_are_not_lost(runs):
    run = runs["dynamic"]
    log, past = read(run)

    assert run.process.returncode == 0, run.output
    assert losses_of(log) == ()
    assert any("killed by driver" in executor.removed_because for executor in log.executors)
    assert past.executors == 3
    assert not past.failure
    assert past.replayed, "it counts by its replay on fixed numbers of executors"


def test_a_stopped_node_takes_its_executors(yarn):
    # One more than there is room for beside the application master.
    run = YarnRun(yarn, executors=4, arguments=LONG)
    run.wait_for_executors(4)
    run.wait_for_task()
    with_executors = set(re.findall(r"BlockManagerId\(\d+, ([\d.]+)", run.output))
    host = min(with_executors - {run.state["amHostHttpAddress"].partition(":")[0]})
    number = yarn.hosts.index(host) + 1
    yarn.stop_node(number)
    try:
        log, past = read(run)
    finally:
        yarn.start_node(number)

    assert run.process.returncode == 0, run.output
    assert past.failure == "it lost executors"
    (loss,) = losses_of(log)
    assert loss.cause == NODE_LOST
    assert all(f" on {host}:" in executor for executor in loss.executors)


def test_five_runs_on_two_to_six_executors_are_five_observations(yarn, tmp_path, capsys):
    # By default, Spark begins when four fifths of the executors are there, or after 30 s.
    all_there = {
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "600s",
    }
    # Two at a time find room for all their executors and application masters.
    for together in ((2, 6), (3, 5), (4,)):
        started = [YarnRun(yarn, executors=size, conf=all_there, arguments=(12, 0.5)) for size in together]
        for run in started:
            assert run.wait() == 0, run.output
            (tmp_path / run.log.name).symlink_to(run.log)

    assert main(["history", "--no-cache", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^ask_storage +5 +0 +2 to 6 \(5 sizes\) ", said, re.MULTILINE), said
