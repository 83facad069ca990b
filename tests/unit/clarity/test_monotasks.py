"""What tasks did with their time, what stages need at least of each resource, and what a machine can do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from airflow_provider_ernest.clarity.blocked_time import blocked_seconds
from airflow_provider_ernest.clarity.monotasks import (
    achieved_capacity,
    ideal_times,
    resource_use,
)
from airflow_provider_ernest.documents.profiles import (
    CPU,
    DISK,
    GARBAGE_COLLECTION,
    NETWORK,
    PYTHON_WORKER,
    SCHEDULER,
    UNMEASURED,
    Capacity,
)
from tests.unit.eventlog.logs import event_log, executor, random_log, stage, task


@pytest.mark.parametrize(
    ("columns", "scopes", "parts"),
    [
        pytest.param(
            {
                "run_seconds": 8.0,
                "cpu_seconds": 3.0,
                "fetch_wait_seconds": 2.0,
                "shuffle_write_seconds": 1.0,
                "garbage_collection_seconds": 0.5,
                "deserialise_seconds": 0.75,
                "result_serialisation_seconds": 0.25,
            },
            (),
            {
                CPU: 3.0 + 0.75 + 0.25,
                NETWORK: 2.0,
                DISK: 1.0,
                GARBAGE_COLLECTION: 0.5,
                SCHEDULER: 10.0 - 8.0 - 0.75 - 0.25,
                UNMEASURED: 8.0 - 3.0 - 2.0 - 1.0 - 0.5,
            },
            id="what it did",
        ),
        # Spark's CPU time leaves Python out: without this, a job whose work is there would look idle.
        pytest.param(
            {"cpu_seconds": 1.0, "fetch_wait_seconds": 2.0},
            ("map", "PythonRDD"),
            {CPU: 1.0, NETWORK: 2.0, PYTHON_WORKER: 7.0},
            id="Python workers get what the JVM did not do",
        ),
        pytest.param(
            {"cpu_seconds": 4.0},
            ("WholeStageCodegen (1)", "Exchange"),
            {CPU: 4.0, UNMEASURED: 6.0},
            id="a line of Python alone hands no rows to workers",
        ),
        pytest.param(
            {"cpu_seconds": 1.0, "python_seconds": 4.0},
            ("ArrowEvalPython",),
            {CPU: 1.0, PYTHON_WORKER: 4.0, UNMEASURED: 5.0},
            id="Python gets no more than the log tells",
        ),
    ],
)
def test_a_task_s_time_is_split_by_what_it_did(columns, scopes, parts):
    named = stage(0, completed=10.0, name="count at python_job.py:12", scopes=scopes)
    found = resource_use(event_log([task(seconds=10.0, **columns)], stages=[named])).parts

    assert {part: float(each[0]) for part, each in found.items() if each[0] > 1e-9} == pytest.approx(parts)


GIGABYTE = 10**9


def network_of(gigabytes_per_second):
    return Capacity(cores=2, network_gigabytes_per_second=gigabytes_per_second, source="measured")


def two_machines(rows, **parts):
    return event_log(rows, executors=[executor(0, cores=2), executor(1, cores=2)], **parts)


def shuffle(fetched=0, *, cpu=1.0, waited=0.0, seconds=8.0, tasks=4, **columns):
    return [
        task(
            0,
            0.0,
            seconds,
            executor=number % 2,
            cpu_seconds=cpu,
            fetch_wait_seconds=waited,
            shuffle_remote_bytes=int(fetched * GIGABYTE / tasks),
            **columns,
        )
        for number in range(tasks)
    ]


def test_the_ideal_time_is_the_total_use_over_the_cluster_s_capacity():
    """4 tasks of 2 CPU seconds on 4 cores; 12 GB over 2 machines of 1 GB/s."""
    ideal = ideal_times(two_machines(shuffle(12.0, cpu=2.0, waited=6.0)), network_of(1.0))

    assert ideal.seconds()[0, 0] == pytest.approx({CPU: 2.0, NETWORK: 6.0})
    assert ideal.bottlenecks() == {(0, 0): NETWORK}


TINY = task(0, 0.0, 0.05, run_seconds=0.01, cpu_seconds=0.01, executor=0)


@pytest.mark.parametrize(
    ("rows", "rate", "bound_by", "unknown"),
    [
        # It moved a gigabyte; how fast it could have is not known, and nobody waited for it.
        pytest.param(
            shuffle(1.0, cpu=6.0, waited=0.5), None, CPU, NETWORK, id="a network that was never full"
        ),
        # 10 GB in 8 s by two machines of 0.1 GB/s: 50 s would have been needed.
        pytest.param(shuffle(10.0, cpu=6.0), 0.1, CPU, NETWORK, id="more than the network gives"),
        pytest.param(shuffle(cpu=0.5), 1.0, UNMEASURED, None, id="tasks that only wait"),
        # Twice as many tasks as cores wait as long as they compute.
        pytest.param(shuffle(cpu=4.0), None, CPU, NETWORK, id="cores that others use as well"),
        pytest.param([TINY], None, SCHEDULER, NETWORK, id="tiny tasks"),
    ],
)
def test_what_a_stage_is_bound_by(rows, rate, bound_by, unknown):
    log = two_machines(rows)
    ideal = ideal_times(log, achieved_capacity(log) if rate is None else network_of(rate))

    assert ideal.bottlenecks()[0, 0] == bound_by
    assert unknown not in ideal.seconds()[0, 0]


def test_a_run_is_bound_by_what_binds_its_longest_stages():
    rows = [
        *shuffle(cpu=7.0),
        *(task(1, 8.0, 20.0, executor=0, fetch_wait_seconds=19.0, cpu_seconds=1.0) for _ in range(2)),
    ]
    log = two_machines(rows)

    assert next(ideal_times(log, network_of(None)).bottlenecks_of_run()) == NETWORK
    assert ideal_times(log, network_of(None)).seconds_of_run() == pytest.approx({CPU: 7.0 + 1.0})


@pytest.mark.parametrize("seed", range(10))
def test_what_holds_of_whatever_tasks_did(seed):
    """A stage's slots can do no more than compute from its beginning to its end."""
    log = random_log(seed)
    parts = resource_use(log).parts
    assert min(float(seconds.min()) for seconds in parts.values()) >= 0.0
    np.testing.assert_allclose(sum(parts.values()), log.task_columns.seconds, atol=1e-9)
    waited = np.stack(list(blocked_seconds(log.task_columns).values()))
    assert (waited >= 0.0).all()
    assert (waited.sum(axis=0) <= log.task_columns.seconds + 1e-6).all()
    capacity = network_of(0.1)
    tasks = log.task_columns

    for (stage_id, _), ideal in ideal_times(log, capacity).seconds().items():
        own = tasks.stage_id == stage_id
        took = float(tasks.finished_at[own].max() - tasks.launched_at[own].min())
        assert ideal[CPU] <= took + 1e-6
        assert all(math.isfinite(seconds) and seconds >= 0 for seconds in ideal.values())
        # What moves bytes faster than its capacity did not use it.
        assert all(seconds <= 1.25 * max(took, 1e-3) for seconds in ideal.values())


MEGABYTES = 1_000_000


def a_fetch(launched=0.0, seconds=4.0, *, megabytes=100, waited=3.0, **columns):
    return task(
        0,
        launched,
        seconds,
        shuffle_remote_bytes=megabytes * MEGABYTES,
        fetch_wait_seconds=waited,
        **columns,
    )


@pytest.mark.parametrize(
    ("rows", "executors", "rate"),
    [
        # Two tasks at once, 100 MB in 4 s each.
        pytest.param(
            [a_fetch(), a_fetch(), a_fetch(4.0), a_fetch(4.0)],
            *([executor(0, cores=2)], 0.050),
            id="tasks that wait for it show what it gives",
        ),
        # What passed through it says only how little was asked of it.
        pytest.param([a_fetch(waited=0.5)], [executor(0)], None, id="nobody waited"),
        pytest.param(
            [a_fetch(executor=0), a_fetch(executor=1)],
            *([executor(number, host="10.0.0.9") for number in (0, 1)], 0.050),
            id="two executors of one machine share it",
        ),
        # Its times are rounded to milliseconds.
        pytest.param(
            [a_fetch(seconds=10.0, waited=9.0), a_fetch(20.0, seconds=0.001, waited=0.001)],
            *([executor(0)], 0.010),
            id="a task of no time does not make it fast",
        ),
    ],
)
def test_the_rate_that_tasks_achieved(rows, executors, rate):
    capacity = achieved_capacity(event_log(rows, executors=executors))

    assert capacity.network_gigabytes_per_second == (None if rate is None else pytest.approx(rate))
    assert (capacity.source, capacity.cores) == ("achieved", sum(each.cores for each in executors))
