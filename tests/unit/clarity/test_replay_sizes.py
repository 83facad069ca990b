"""Runs replayed on other numbers of machines, against what a simple Spark takes on them."""

from __future__ import annotations

import numpy as np
import pytest

from airflow_provider_ernest.clarity.replay import replay, replay_sizes
from tests.unit.eventlog.logs import event_log, executor, task
from tests.unit.eventlog.simulated_run import SimulatedJob, SimulatedStage, run


def a_job(warm_up: float = 0.0):
    generator = np.random.default_rng(7)
    maps, reduces = generator.lognormal(0.0, 0.3, size=61), generator.lognormal(-1.0, 0.3, size=24)
    return [
        SimulatedJob(1.5, [SimulatedStage(maps, warm_up), SimulatedStage(reduces, warm_up / 2, parents=[0])]),
        SimulatedJob(0.7, [SimulatedStage(reduces, warm_up / 4)]),
    ]


def clean_seconds(log):
    return log.ended_at - log.ready_at


@pytest.mark.parametrize("cores", [1, 2])
def test_other_sizes_take_what_they_truly_take(cores):
    log = run(a_job(), machines=3, cores=cores)
    for size in replay_sizes(log, range(1, 9)):
        truth = clean_seconds(run(a_job(), machines=size.machines, cores=cores))
        # Some of what differs by chance is taken for warm-up.
        assert size.seconds == pytest.approx(truth, rel=0.01), size.machines


def test_other_sizes_have_other_numbers_of_first_tasks():
    log = run(a_job(warm_up=2.0), machines=3)
    for size in replay_sizes(log, range(1, 9)):
        truth = clean_seconds(run(a_job(warm_up=2.0), machines=size.machines))
        assert size.seconds == pytest.approx(truth, rel=0.05), size.machines


def test_the_own_size_is_the_run_as_it_was():
    log = run(a_job(warm_up=2.0), machines=3)
    (own,) = replay_sizes(log, [3])
    assert own.seconds == replay(log).seconds == pytest.approx(clean_seconds(log), rel=1e-4)


def test_each_number_is_told_once_by_ascending_number():
    sizes = replay_sizes(run(a_job(), machines=2), [4, 1, 4, 2])
    assert [size.machines for size in sizes] == [1, 2, 4]


def test_more_machines_than_tasks_need_help_no_more():
    log = run(a_job(), machines=3)
    few, many = replay_sizes(log, [61, 200])
    assert few.seconds == pytest.approx(many.seconds)


def test_on_one_machine_nothing_is_fetched_from_another():
    rows = [
        task(0, 2.0 * (place // 2), 2.0, executor=place % 2, fetch_wait_seconds=1.0) for place in range(8)
    ]
    log = event_log(rows)
    one, two, four = replay_sizes(log, [1, 2, 4])
    assert two.seconds == pytest.approx(8.0)
    assert one.seconds == pytest.approx(8 * 1.0)
    # Of four machines three quarters of the data lie elsewhere, of two one half.
    assert four.seconds == pytest.approx(2 * 2.5)


def test_on_another_size_no_machine_is_lost_or_late():
    rows = [task(0, 0.0, 1.0, executor=0), task(0, 0.0, 1.0, executor=1), task(0, 1.0, 1.0, executor=0)]
    log = event_log(rows, executors=[executor(0, added=-5.0), executor(1, added=0.0, removed=1.0)])
    assert replay(log, machines=3).seconds == pytest.approx(1.0)


def test_machines_are_as_large_as_those_in_the_middle():
    rows = [task(0, 0.0, 1.0, executor=0) for _ in range(8)]
    executors = [executor(0, cores=4), executor(1, cores=4), executor(2, cores=1)]
    assert replay(event_log(rows, executors=executors), machines=1).seconds == pytest.approx(2.0)


def test_executors_that_share_a_machine_come_with_it():
    """As on YARN: two executors of one core on the machine; two machines halve eight tasks of a second."""
    rows = [task(0, float(wave), executor=number) for wave in range(4) for number in (0, 1)]
    shared = event_log(rows, executors=[executor(number, host="10.0.0.1") for number in (0, 1)])

    assert [size.seconds for size in replay_sizes(shared, [1, 2])] == pytest.approx([4.0, 2.0])
