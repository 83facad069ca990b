from __future__ import annotations

import math

import pytest

from airflow_provider_ernest import run_profile
from airflow_provider_ernest.clarity.monotasks import (
    achieved_capacity,
    ideal_times,
    resource_use,
    stated_capacity,
)
from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.run_profile import CPU, DISK, NETWORK, PYTHON_WORKER, SCHEDULER, UNMEASURED
from tests.unit.eventlog.logs import event_log, executor, stage, task
from tests.unit.eventlog.random_logs import random_log

GIGABYTE = 10**9


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
    """4 tasks of 2 CPU seconds on 4 cores; 12 GB over 2 machines of 1 GB/s; 8 GB written to disks of 0.8."""
    log = two_machines(shuffle(12.0, cpu=2.0, waited=6.0, shuffle_written_bytes=2 * GIGABYTE, input_bytes=0))

    ideal = ideal_times(log, stated_capacity(log, network=1.0, disk=1.6)).seconds()

    assert ideal[0, 0] == pytest.approx({CPU: 2.0, NETWORK: 6.0, DISK: (12.0 + 8.0) / (2 * 1.6)})
    assert ideal_times(log, stated_capacity(log, network=1.0, disk=1.6)).bottlenecks() == {(0, 0): DISK}
    assert ideal_times(log, stated_capacity(log, network=1.0, disk=10.0)).bottlenecks() == {(0, 0): NETWORK}


def test_few_tasks_cannot_use_all_cores():
    log = two_machines(shuffle(cpu=8.0, tasks=1))

    assert ideal_times(log, stated_capacity(log)).seconds()[0, 0] == {CPU: 8.0}


def test_a_network_that_was_never_full_binds_nothing():
    """It moved a gigabyte; how fast it could have is not known, and nobody waited for it."""
    log = two_machines(shuffle(1.0, cpu=6.0, waited=0.5))
    capacity = achieved_capacity(log)

    assert NETWORK not in ideal_times(log, capacity).seconds()[0, 0]
    assert ideal_times(log, capacity).bottlenecks()[0, 0] == CPU


def test_waiting_for_a_network_of_unknown_rate_tells_enough():
    """A second of waiting in all is too little to know the rate by."""
    log = two_machines(shuffle(0.01, cpu=0.05, waited=0.2, seconds=0.25))

    assert ideal_times(log, achieved_capacity(log)).bottlenecks()[0, 0] == NETWORK


def test_bytes_that_came_faster_than_the_disk_gives_came_from_memory():
    """10 GB in 8 s by two disks of 0.1 GB/s: 50 s would have been needed."""
    log = two_machines(shuffle(cpu=6.0, input_bytes=int(2.5 * GIGABYTE)))
    capacity = stated_capacity(log, disk=0.1)

    assert DISK not in ideal_times(log, capacity).seconds()[0, 0]
    assert ideal_times(log, capacity).bottlenecks()[0, 0] == CPU


def test_tasks_that_only_wait_are_bound_by_no_resource():
    log = two_machines(shuffle(cpu=0.5))

    assert ideal_times(log, stated_capacity(log, network=1.0, disk=1.0)).bottlenecks()[0, 0] == UNMEASURED
    assert UNMEASURED == run_profile.UNMEASURED


def test_what_is_not_measured_is_told():
    log = two_machines(shuffle(cpu=0.5, waited=1.5))

    assert resource_use(log).seconds([UNMEASURED]) == pytest.approx([4 * 6.0])
    profile = profile_run(log)
    assert profile.unmeasured_seconds == pytest.approx(24.0)
    assert [stage.unmeasured_seconds for stage in profile.stages] == [pytest.approx(24.0)]


def test_cores_that_others_use_as_well_leave_a_job_computing():
    """Twice as many tasks as cores wait as long as they compute."""
    log = two_machines(shuffle(cpu=4.0))

    assert ideal_times(log, achieved_capacity(log)).bottlenecks()[0, 0] == CPU


def test_work_in_python_takes_cores_and_is_named():
    log = two_machines(shuffle(cpu=0.5), stages=[stage(0, completed=8.0, scopes=("PythonRDD",))])

    assert ideal_times(log, achieved_capacity(log)).seconds()[0, 0] == {CPU: 8.0}
    assert ideal_times(log, achieved_capacity(log)).bottlenecks()[0, 0] == PYTHON_WORKER


def test_tiny_tasks_are_bound_by_their_scheduling():
    log = two_machines([task(0, 0.0, 0.05, run_seconds=0.01, cpu_seconds=0.01, executor=0)])

    assert ideal_times(log, achieved_capacity(log)).bottlenecks()[0, 0] == SCHEDULER


def test_a_run_is_bound_by_what_binds_its_longest_stages():
    rows = [
        *shuffle(cpu=7.0),
        *(task(1, 8.0, 20.0, executor=0, fetch_wait_seconds=19.0, cpu_seconds=1.0) for _ in range(2)),
    ]
    log = two_machines(rows)

    assert next(ideal_times(log, stated_capacity(log)).bottlenecks_of_run()) == NETWORK
    assert ideal_times(log, stated_capacity(log)).seconds_of_run() == pytest.approx({CPU: 7.0 + 1.0})


def test_a_run_without_tasks():
    log = event_log([], executors=[executor(0)])

    assert ideal_times(log, stated_capacity(log)).seconds() == {}
    assert ideal_times(log, stated_capacity(log)).seconds_of_run() == {}
    assert list(ideal_times(log, stated_capacity(log)).bottlenecks_of_run()) == []


@pytest.mark.parametrize("seed", range(10))
def test_no_stage_needs_more_cpu_than_it_took(seed):
    """Its slots can do no more than compute from its beginning to its end."""
    log = random_log(seed)
    capacity = stated_capacity(log, network=0.1, disk=0.1)
    tasks = log.task_columns

    for (stage_id, _), ideal in ideal_times(log, capacity).seconds().items():
        own = tasks.stage_id == stage_id
        took = float(tasks.finished_at[own].max() - tasks.launched_at[own].min())
        assert ideal[CPU] <= took + 1e-6
        assert all(math.isfinite(seconds) and seconds >= 0 for seconds in ideal.values())
        # What moves bytes faster than its capacity did not use it.
        assert all(seconds <= 1.25 * max(took, 1e-3) for seconds in ideal.values())


@pytest.mark.parametrize("seed", range(10))
def test_a_faster_network_needs_less(seed):
    log = random_log(seed)
    slow = ideal_times(log, stated_capacity(log, network=0.5)).seconds_of_run()
    fast = ideal_times(log, stated_capacity(log, network=1.0)).seconds_of_run()

    assert fast.get(NETWORK, 0.0) >= 0.0
    for key, ideal in ideal_times(log, stated_capacity(log, network=0.5)).seconds().items():
        if NETWORK in ideal:
            twice = ideal_times(log, stated_capacity(log, network=1.0)).seconds()[key]
            assert twice[NETWORK] == pytest.approx(ideal[NETWORK] / 2)
    assert fast[CPU] == slow[CPU]
