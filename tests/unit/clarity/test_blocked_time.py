"""What tasks waited for, and what a run could win without it."""

from __future__ import annotations

import pytest

from airflow_provider_ernest.clarity.blocked_time import blocked_seconds, blocked_time
from airflow_provider_ernest.clarity.replay import replay
from airflow_provider_ernest.documents.profiles import (
    BLOCKING,
    DISK,
    GARBAGE_COLLECTION,
    NETWORK,
    PYTHON_WORKER,
    SCHEDULER,
    SERIALISATION,
)
from tests.unit.eventlog.logs import event_log, executor, job, stage, task, task_table


@pytest.mark.parametrize(
    ("columns", "waited"),
    [
        ({}, {}),
        ({"fetch_wait_seconds": 2.0}, {NETWORK: 2.0}),
        ({"shuffle_write_seconds": 3.0}, {DISK: 3.0}),
        ({"garbage_collection_seconds": 1.0}, {GARBAGE_COLLECTION: 1.0}),
        ({"python_seconds": 4.0, "cpu_seconds": 6.0}, {PYTHON_WORKER: 4.0}),
        # The rest of the ten seconds passed between scheduler and executor.
        ({"run_seconds": 9.5}, {SCHEDULER: 0.5}),
        ({"deserialise_seconds": 1.0, "result_serialisation_seconds": 0.5}, {SERIALISATION: 1.5}),
        ({"getting_result_seconds": 0.25}, {SERIALISATION: 0.25}),
        # Writing to the page cache counts as shuffle write time, and takes the CPU: no disk makes it faster.
        ({"shuffle_write_seconds": 4.0, "cpu_seconds": 9.0}, {DISK: 1.0}),
        ({"garbage_collection_seconds": 4.0, "cpu_seconds": 10.0}, {}),
        # Time that two metrics tell counts once.
        (
            {"fetch_wait_seconds": 8.0, "garbage_collection_seconds": 5.0},
            {NETWORK: 8.0, GARBAGE_COLLECTION: 2.0},
        ),
    ],
)
def test_what_a_task_of_ten_seconds_waited_for(columns, waited):
    found = blocked_seconds(task_table([task(0, 0.0, 10.0, **columns)]))
    assert set(found) == set(BLOCKING)
    assert {name: seconds[0] for name, seconds in found.items() if seconds[0]} == waited


def shuffling(fetch: float):
    """Two stages of four tasks on two slots: 2 s each, then 3 s each, of which they wait for data."""
    rows = [task(0, 2.0 * (place // 2), 2.0, executor=place % 2) for place in range(4)]
    rows += [
        task(1, 4.0 + 3.0 * (place // 2), 3.0, executor=place % 2, fetch_wait_seconds=fetch)
        for place in range(4)
    ]
    stages = [
        stage(0, submitted=0.0, completed=4.0, tasks=4),
        stage(1, submitted=4.0, completed=10.0, tasks=4, parents=[0]),
    ]
    return event_log(rows, stages=stages, ended=11.0)


def test_an_infinitely_fast_network_takes_the_waiting_off_the_stage():
    analysis = blocked_time(shuffling(fetch=2.0))
    network = analysis.limits[0]
    assert network.resource == NETWORK
    assert network.blocked_seconds == pytest.approx(8.0)
    assert network.share_percent == pytest.approx(40.0)
    assert network.seconds_without == pytest.approx(7.0)
    assert network.improvement_percent == pytest.approx(100 * 4 / 11)


def test_an_anomaly_of_scheduling_is_no_loss():
    """Graham's: the first stage done sooner, the second takes both slots before the long task comes."""
    rows = [
        task(0, 0.0, 3.0, executor=0, fetch_wait_seconds=2.0),
        task(2, 2.0, 10.0, executor=1),
        task(1, 3.0, 4.0, executor=0),
        task(1, 7.0, 4.0, executor=0),
    ]
    stages = [
        stage(0, submitted=0.0, completed=3.0, job_id=0),
        stage(1, submitted=3.0, completed=11.0, parents=[0], job_id=0),
        stage(2, submitted=2.0, completed=12.0, job_id=1),
    ]
    jobs = [
        job(0, submitted=0.0, completed=11.0, stages=[0, 1]),
        job(1, submitted=2.0, completed=12.0, stages=[2]),
    ]
    log = event_log(rows, executors=[executor(0), executor(1)], stages=stages, jobs=jobs)
    sooner = replay(log, task_seconds=log.task_columns.seconds - log.task_columns.fetch_wait_seconds)
    assert sooner.seconds == pytest.approx(15.0)
    network = next(limit for limit in blocked_time(log).limits if limit.resource == NETWORK)
    assert network.seconds_without == pytest.approx(12.0)
    assert network.improvement_percent == 0.0
