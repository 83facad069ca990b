from __future__ import annotations

import pytest

from airflow_provider_ernest.clarity.monotasks import achieved_capacity, cores_per_machine, stated_capacity
from airflow_provider_ernest.exceptions import InvalidParameterError
from tests.unit.eventlog.logs import event_log, executor, task

MEGABYTES = 1_000_000


def fetching(launched=0.0, seconds=4.0, *, megabytes=100, waited=3.0, **columns):
    return task(
        0,
        launched,
        seconds,
        shuffle_remote_bytes=megabytes * MEGABYTES,
        fetch_wait_seconds=waited,
        **columns,
    )


def test_tasks_that_wait_for_the_network_show_what_it_gives():
    """Two tasks at once, 100 MB in 4 s each: 50 MB in a second."""
    log = event_log([fetching(), fetching(), fetching(4.0), fetching(4.0)], executors=[executor(0, cores=2)])

    capacity = achieved_capacity(log)

    assert capacity.network_gigabytes_per_second == pytest.approx(0.050)
    assert capacity.source == "achieved"
    assert capacity.cores == 2


def test_a_network_that_nobody_waited_for_stays_unknown():
    """What passed through it says only how little was asked of it."""
    log = event_log([fetching(waited=0.5)], executors=[executor(0)])

    assert achieved_capacity(log).network_gigabytes_per_second is None


def test_each_machine_is_seen_by_itself():
    log = event_log(
        [fetching(executor=0, megabytes=40), fetching(executor=1, megabytes=80)],
        executors=[executor(0), executor(1)],
    )

    assert achieved_capacity(log).network_gigabytes_per_second == pytest.approx(0.020)


def test_two_executors_of_one_machine_share_its_network():
    log = event_log(
        [fetching(executor=0), fetching(executor=1)],
        executors=[executor(0, host="10.0.0.9"), executor(1, host="10.0.0.9")],
    )

    assert achieved_capacity(log).network_gigabytes_per_second == pytest.approx(0.050)


def test_a_task_of_no_time_does_not_make_the_network_fast():
    """Its times are rounded to milliseconds."""
    log = event_log(
        [fetching(seconds=10.0, waited=9.0), fetching(20.0, seconds=0.001, waited=0.001)],
        executors=[executor(0)],
    )

    assert achieved_capacity(log).network_gigabytes_per_second == pytest.approx(0.010)


def test_less_than_a_second_of_waiting_shows_nothing():
    log = event_log([fetching(seconds=0.9, waited=0.8)], executors=[executor(0)])

    assert achieved_capacity(log).network_gigabytes_per_second is None


def test_of_disks_nothing_is_found():
    """What tasks write goes to the page cache first."""
    written = task(seconds=10.0, shuffle_write_seconds=9.0, shuffle_written_bytes=10**9)

    assert achieved_capacity(event_log([written])).disk_gigabytes_per_second is None


def test_a_run_without_tasks_shows_nothing():
    assert achieved_capacity(event_log([])).network_gigabytes_per_second is None


def test_what_is_stated_is_kept():
    capacity = stated_capacity(event_log([task()]), network=1.25)

    assert capacity.network_gigabytes_per_second == 1.25
    assert capacity.disk_gigabytes_per_second is None
    assert capacity.source == "stated"


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_stated_rate_must_be_one(rate):
    with pytest.raises(InvalidParameterError, match="disk"):
        stated_capacity(event_log([task()]), disk=rate)


def test_tasks_of_several_cores_leave_fewer_slots():
    log = event_log([task()], executors=[executor(0, cores=8)], properties={"spark.task.cpus": "2"})

    assert cores_per_machine(log) == 4


def test_executors_that_share_a_machine_share_its_cores():
    """As on YARN, and where an executor takes a part of a worker."""
    shared = [executor(number, cores=2, host="10.0.0.1") for number in range(3)]

    assert cores_per_machine(event_log([task()], executors=shared)) == 6
