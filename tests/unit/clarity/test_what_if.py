"""What a run would take on other machines; the real re-runs are in `benchmarks.clarity`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from airflow_provider_ernest.clarity.monotasks import (
    Change,
    achieved_capacity,
    changed_task_seconds,
    what_ifs,
)
from airflow_provider_ernest.documents.profiles import Capacity
from tests.unit.eventlog.logs import event_log, executor, random_log, stage, task

GIGABYTE = 10**9


def network_of(gigabytes_per_second):
    return Capacity(cores=1, network_gigabytes_per_second=gigabytes_per_second, source="measured")


def what_if(log, capacity, change):
    (answer,) = what_ifs(log, capacity, [change])
    return answer


def fetching(*, waited, cpu, gigabytes, tasks=2, ended=None):
    """As many tasks at once on two machines of one core; the driver has the rest of the time."""
    return event_log(
        [
            task(
                0,
                0.0,
                waited + cpu,
                executor=number,
                cpu_seconds=cpu,
                fetch_wait_seconds=waited,
                shuffle_remote_bytes=int(gigabytes * GIGABYTE),
            )
            for number in range(tasks)
        ],
        executors=[executor(number) for number in range(tasks)],
        ended=ended,
    )


def in_waves(seconds: float, *, tasks: int = 4, **columns):
    """Tasks of so many seconds, two at once, on two machines of one core."""
    rows = [task(0, seconds * (at // 2), seconds, executor=at % 2, **columns) for at in range(tasks)]
    return event_log(rows, executors=[executor(0), executor(1)])


# 10 GB at 1 GB/s: 10 s, in which the task computed for 2 s while bytes came.
FULL = fetching(waited=8.0, cpu=2.0, gigabytes=10.0)
# 4 GB at 1 GB/s come while the task computes for 8 s; at a quarter of the rate they need 16 s.
HIDDEN = fetching(waited=0.0, cpu=8.0, gigabytes=4.0)
# Each task fetches 4 GB at 1 GB/s; two at once share that.
SHARED = in_waves(5.0, cpu_seconds=1.0, fetch_wait_seconds=4.0, shuffle_remote_bytes=4 * GIGABYTE)
WRITING = in_waves(5.0, cpu_seconds=1.0, shuffle_write_seconds=4.0)
COMPUTING = in_waves(2.0, tasks=8)
# Twice the cores of a machine of two executors: two tasks more on each of them, not four.
ON_ONE_HOST = event_log(
    [task(0, float(wave), executor=number) for wave in range(4) for number in (0, 0, 1, 1)],
    executors=[executor(number, cores=2, host="10.0.0.1") for number in (0, 1)],
)
# Most of the time is neither: the thesis' ratio would make 40 s of it.
MOSTLY_NEITHER = event_log(
    [task(0, 0.0, 10.0, cpu_seconds=1.0, fetch_wait_seconds=1.0, shuffle_remote_bytes=2 * GIGABYTE)]
)
# Spark does not measure reading.
READING = event_log([task(0, 0.0, 10.0, cpu_seconds=1.0, input_bytes=8 * GIGABYTE)])


@pytest.mark.parametrize(
    ("log", "rate", "change", "seconds"),
    [
        pytest.param(FULL, 1.0, {"network": 1000.0}, 2.0, id="computing is what remains"),
        pytest.param(HIDDEN, 1.0, {"network": 2.0}, 8.0, id="a hidden network wins nothing"),
        pytest.param(HIDDEN, 1.0, {"network": 0.25}, 16.0, id="a hidden network that shows"),
        pytest.param(MOSTLY_NEITHER, 1.0, {"network": 0.25}, 10.0, id="what is mostly neither"),
        pytest.param(
            fetching(waited=8.0, cpu=2.0, gigabytes=10.0, ended=14.0),
            *(1.0, {"network": 2.0}, 5.0 + 4.0),
            id="the driver's time is no faster",
        ),
        pytest.param(COMPUTING, None, {"cores": 2}, 4.0, id="more cores run more tasks at once"),
        pytest.param(COMPUTING, None, {"executors": 4}, 4.0, id="more machines run more tasks at once"),
        pytest.param(ON_ONE_HOST, None, {"cores": 8}, 2.0, id="executors of one machine share its cores"),
        pytest.param(SHARED, 1.0, {"cores": 2}, 8.0, id="cores do not fill a full network faster"),
        pytest.param(WRITING, None, {"disk": 2.0}, 2 * (1.0 + 2.0), id="disks that are waited for are full"),
        # 8 s of writing on each machine, and no less with more cores.
        pytest.param(WRITING, None, {"cores": 2}, 1.0 + 8.0, id="more cores on full disks"),
        pytest.param(READING, None, {"disk": 1000.0}, 10.0, id="input from a disk of unknown rate"),
    ],
)
def test_the_run_on_other_machines_takes(log, rate, change, seconds):
    capacity = network_of(rate) if rate else achieved_capacity(log)
    # A thousand times as fast still takes a little.
    within = 0.01 if 1000.0 in change.values() else None
    assert what_if(log, capacity, Change(**change)).seconds == pytest.approx(seconds, rel=within)


def test_what_is_not_known_of_other_machines_is_told():
    log = event_log(
        [task(0, 0.0, 10.0, cpu_seconds=2.0)], stages=[stage(0, completed=10.0, scopes=("PythonRDD",))]
    )
    told = [
        what_if(log, achieved_capacity(log), Change(**change)).change
        for change in ({"cpu": 2.0}, {"cpu": 0.5}, {"disk": 2.0}, {"disk": 0.5})
    ]
    assert told == [
        "twice the speed of a core (at best: Python workers may wait rather than compute)",
        "half the speed of a core (at worst: Python workers may wait rather than compute)",
        "twice the disks",
        "half the disks (at least: the disks' rate is not known)",
    ]
    log = fetching(waited=0.1, cpu=8.0, gigabytes=4.0)
    slower = what_if(log, achieved_capacity(log), Change(network=0.5)).change
    assert slower == "half the network (at least: the network's rate is not known)"


def test_tasks_that_fetch_more_wait_more_for_a_slower_network():
    rows = [
        task(0, 0.0, 4.0, executor=number, cpu_seconds=4.0, shuffle_remote_bytes=gigabytes * GIGABYTE)
        for number, gigabytes in enumerate((3, 1))
    ]
    log = event_log(rows, executors=[executor(0), executor(1)])
    capacity = network_of(1.0)

    more = changed_task_seconds(log, capacity, Change(network=0.25)) - log.task_columns.seconds

    # 16 GB-seconds of each machine instead of the 8 that computing hides.
    assert more.tolist() == pytest.approx([6.0, 2.0])


def test_what_is_asked_of_a_run_by_default():
    log = fetching(waited=8.0, cpu=2.0, gigabytes=10.0)
    told = {each.change: each.seconds for each in what_ifs(log, network_of(1.0))}

    assert told["twice the network"] == pytest.approx(5.0)
    assert told["half the network"] == pytest.approx(20.0)
    computing = {"twice the cores a machine", "twice the speed of a core"}
    assert computing < set(told)
    assert "twice the disks" in {each.change for each in what_ifs(WRITING, achieved_capacity(WRITING))}
    moves_nothing = event_log([task()])
    assert {each.change for each in what_ifs(moves_nothing, achieved_capacity(moves_nothing))} == computing


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("resource", ["network", "disk", "cpu"])
def test_tasks_take_no_longer_on_faster_machines(seed, resource):
    log = random_log(seed)
    for capacity in (achieved_capacity(log), network_of(0.05)):
        ladder = [
            changed_task_seconds(log, capacity, Change(**{resource: factor}))
            for factor in (0.1, 0.5, 1.0, 2.0, 100.0)
        ]
        for slower, faster in pairwise(ladder):
            assert faster.sum() <= slower.sum() + 1e-6
        assert min(float(seconds.min()) for seconds in ladder) >= -1e-9
        unchanged = np.maximum(0.0, log.task_columns.seconds)
        np.testing.assert_allclose(ladder[2], unchanged, atol=1e-9)
