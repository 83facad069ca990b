"""What a run would take on other machines; the real re-runs are in `benchmarks.clarity`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from airflow_provider_ernest.clarity.monotasks import achieved_capacity, stated_capacity
from airflow_provider_ernest.clarity.what_if import (
    Change,
    changed_task_seconds,
    what_if,
    what_ifs,
)
from airflow_provider_ernest.exceptions import InvalidParameterError
from tests.unit.eventlog.logs import event_log, executor, random_log, stage, task


@pytest.mark.parametrize(
    "fields",
    [
        {"network": 0},
        {"disk": -1.0},
        {"cpu": float("nan")},
        {"cpu": float("inf")},
        {"cores": 0},
        {"machines": 1.5},
        {"machines": float("nan")},
    ],
)
def test_no_machine_is_like_that(fields):
    with pytest.raises(InvalidParameterError, match=next(iter(fields))):
        Change(**fields)


GIGABYTE = 10**9


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


def seconds_of(log, capacity, **change):
    return what_if(log, capacity, Change(**change)).seconds


def test_the_time_of_a_full_network_follows_its_rate():
    """10 GB at 1 GB/s: 10 s, in which the task computed for 2 s while bytes came."""
    log = fetching(waited=8.0, cpu=2.0, gigabytes=10.0)
    capacity = stated_capacity(log, network=1.0)

    assert seconds_of(log, capacity, network=2.0) == pytest.approx(5.0)
    assert seconds_of(log, capacity, network=0.5) == pytest.approx(20.0)
    # Then computing is what remains.
    assert seconds_of(log, capacity, network=1000.0) == pytest.approx(2.0, rel=0.01)


def test_a_network_hidden_behind_computing_shows_when_it_is_slower():
    """4 GB at 1 GB/s come while the task computes for 8 s; at a quarter of the rate they need 16 s."""
    log = fetching(waited=0.0, cpu=8.0, gigabytes=4.0)
    capacity = stated_capacity(log, network=1.0)

    assert seconds_of(log, capacity, network=2.0) == pytest.approx(8.0)
    assert seconds_of(log, capacity, network=0.5) == pytest.approx(8.0)
    assert seconds_of(log, capacity, network=0.25) == pytest.approx(16.0)


def test_it_is_never_longer_than_one_after_the_other():
    """Most of the time is neither: the thesis' ratio would make 40 s of it."""
    log = event_log(
        [
            task(
                0,
                0.0,
                10.0,
                cpu_seconds=1.0,
                fetch_wait_seconds=1.0,
                shuffle_remote_bytes=2 * GIGABYTE,
            )
        ],
        executors=[executor(0)],
    )

    assert seconds_of(log, stated_capacity(log, network=1.0), network=0.25) <= 9.0 + 8.0 + 1e-6


def test_what_python_workers_may_wait_for_is_told_where_cores_are_others():
    log = event_log(
        [task(0, 0.0, 10.0, cpu_seconds=2.0)], stages=[stage(0, completed=10.0, scopes=("PythonRDD",))]
    )
    told = [
        what_if(log, achieved_capacity(log), Change(**change)).change
        for change in ({"cpu": 2.0}, {"cpu": 0.5}, {"disk": 2.0})
    ]
    assert told == [
        "twice the speed of a core (at best: Python workers may wait rather than compute)",
        "half the speed of a core (at worst: Python workers may wait rather than compute)",
        "twice the disks",
    ]


def test_the_driver_s_time_is_no_faster_on_other_machines():
    log = fetching(waited=8.0, cpu=2.0, gigabytes=10.0, ended=14.0)

    imagined = what_if(log, stated_capacity(log, network=1.0), Change(network=2.0))

    assert imagined.seconds == pytest.approx(5.0 + 4.0)
    assert imagined.change_percent == pytest.approx(100 * (9.0 - 14.0) / 14.0)


def test_more_cores_run_more_tasks_at_once():
    rows = [task(0, 2.0 * (number // 2), 2.0, executor=number % 2) for number in range(8)]
    log = event_log(rows, executors=[executor(0), executor(1)])

    assert seconds_of(log, achieved_capacity(log), cores=2) == pytest.approx(4.0)
    assert seconds_of(log, achieved_capacity(log), machines=4) == pytest.approx(4.0)


def test_executors_that_share_a_machine_share_its_new_cores():
    """Twice the cores of a machine of two executors: two tasks more on each of them, not four."""
    rows = [task(0, float(wave), executor=number) for wave in range(4) for number in (0, 0, 1, 1)]
    shared = event_log(rows, executors=[executor(number, cores=2, host="10.0.0.1") for number in (0, 1)])

    assert what_if(shared, stated_capacity(shared), Change(cores=8)).seconds == pytest.approx(2.0)


def test_more_cores_do_not_fill_a_full_network_faster():
    """Each task fetches 4 GB at 1 GB/s; two at once share that."""
    rows = [
        task(
            0,
            5.0 * (number // 2),
            5.0,
            executor=number % 2,
            cpu_seconds=1.0,
            fetch_wait_seconds=4.0,
            shuffle_remote_bytes=4 * GIGABYTE,
        )
        for number in range(4)
    ]
    log = event_log(rows, executors=[executor(0), executor(1)])

    assert seconds_of(log, stated_capacity(log, network=1.0), cores=2) == pytest.approx(8.0)


def test_disks_that_are_waited_for_are_full():
    rows = [
        task(0, 5.0 * (number // 2), 5.0, executor=number % 2, cpu_seconds=1.0, shuffle_write_seconds=4.0)
        for number in range(4)
    ]
    log = event_log(rows, executors=[executor(0), executor(1)])

    assert seconds_of(log, achieved_capacity(log), disk=2.0) == pytest.approx(2 * (1.0 + 2.0))
    # 8 s of writing on each machine, and no less with more cores.
    assert seconds_of(log, achieved_capacity(log), cores=2) == pytest.approx(1.0 + 8.0)


def test_input_that_the_disk_needs_the_time_for_comes_sooner_from_a_faster_one():
    """Spark does not measure reading; 8 GB at 1 GB/s explain 8 of the 9 s that are not computing."""
    log = event_log([task(0, 0.0, 10.0, cpu_seconds=1.0, input_bytes=8 * GIGABYTE)])

    assert seconds_of(log, stated_capacity(log, disk=1.0), disk=1000.0) == pytest.approx(2.0, rel=0.01)
    assert seconds_of(log, achieved_capacity(log), disk=1000.0) == pytest.approx(10.0)


def test_tasks_that_fetch_more_wait_more_for_a_slower_network():
    rows = [
        task(0, 0.0, 4.0, executor=number, cpu_seconds=4.0, shuffle_remote_bytes=gigabytes * GIGABYTE)
        for number, gigabytes in enumerate((3, 1))
    ]
    log = event_log(rows, executors=[executor(0), executor(1)])
    capacity = stated_capacity(log, network=1.0)

    more = changed_task_seconds(log, capacity, Change(network=0.25)) - log.task_columns.seconds

    # 16 GB-seconds of each machine instead of the 8 that computing hides.
    assert more.tolist() == pytest.approx([6.0, 2.0])


def test_what_is_asked_of_a_run_by_default():
    log = fetching(waited=8.0, cpu=2.0, gigabytes=10.0)
    here = stated_capacity(log, network=1.0)

    told = {each.change: each.seconds for each in what_ifs(log, here)}

    assert told["twice the network"] == pytest.approx(5.0)
    assert told["half the network"] == pytest.approx(20.0)
    assert {"twice the disks", "twice the cores a machine", "twice the speed of a core"} < set(told)


def test_a_run_that_moves_nothing_is_not_asked_about_it():
    log = event_log([task()])
    told = [each.change for each in what_ifs(log, achieved_capacity(log))]

    assert told == ["twice the speed of a core", "twice the cores a machine"]


def test_a_slower_network_of_unknown_rate_is_told_as_a_lower_bound():
    log = fetching(waited=0.1, cpu=8.0, gigabytes=4.0)

    imagined = what_if(log, achieved_capacity(log), Change(network=0.5))

    assert imagined.change == "half the network (at least: the network's rate is not known)"


@pytest.mark.parametrize("seed", range(10))
def test_nothing_changed_takes_as_long(seed):
    log = random_log(seed)
    for capacity in (achieved_capacity(log), stated_capacity(log, network=0.05, disk=0.05)):
        np.testing.assert_allclose(
            changed_task_seconds(log, capacity, Change()),
            np.maximum(0.0, log.task_columns.seconds),
            atol=1e-9,
        )
        assert what_if(log, capacity, Change()).change_percent == pytest.approx(0.0)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("resource", ["network", "disk", "cpu"])
def test_tasks_take_no_longer_on_faster_machines(seed, resource):
    log = random_log(seed)
    for capacity in (achieved_capacity(log), stated_capacity(log, network=0.05, disk=0.05)):
        ladder = [
            changed_task_seconds(log, capacity, Change(**{resource: factor}))
            for factor in (0.1, 0.5, 1.0, 2.0, 100.0)
        ]
        for slower, faster in pairwise(ladder):
            assert faster.sum() <= slower.sum() + 1e-6
        assert min(float(seconds.min()) for seconds in ladder) >= -1e-9
