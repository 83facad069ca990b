"""What first tasks take longer."""

from __future__ import annotations

import pytest

from airflow_provider_ernest.clarity.replay import warm_up_of
from airflow_provider_ernest.clarity.replay_plan import plan_of
from tests.unit.eventlog.logs import event_log, executor, task


def test_the_excess_of_first_tasks_is_told_apart_from_what_is_their_own():
    # Two slots on one executor: the first two tasks take 3 and 3.5 s, the others 1 s.
    rows = [task(0, 0.0, 3.0), task(0, 0.0, 3.5), task(0, 3.0, 1.0), task(0, 3.5, 1.0), task(0, 4.0, 1.0)]
    log = event_log(rows, executors=[executor(0, cores=2)])
    found = warm_up_of(log, plan_of(log))
    assert found.is_first.tolist() == [True, True, False, False, False]
    assert found.excess_seconds == pytest.approx((2.25,))
    # None is taken to be shorter than the shortest of the others.
    assert found.own_seconds.tolist() == pytest.approx([1.0, 1.25, 1.0, 1.0, 1.0])


def test_first_tasks_that_are_no_slower_have_no_excess():
    rows = [task(0, 0.0, 1.0), task(0, 1.0, 1.5), task(0, 2.5, 1.0)]
    found = warm_up_of(log := event_log(rows), plan_of(log))
    assert found.excess_seconds == (0.0,)
    assert found.own_seconds.tolist() == pytest.approx([1.0, 1.5, 1.0])


def test_where_all_are_first_only_the_closure_s_time_is_known():
    rows = [
        task(0, 0.0, 2.0, executor=0, deserialise_seconds=0.5),
        task(0, 0.0, 2.0, executor=1, deserialise_seconds=0.5),
        task(1, 2.0, 1.0, executor=0),
        task(1, 3.0, 1.0, executor=0, deserialise_seconds=0.1),
    ]
    found = warm_up_of(log := event_log(rows), plan_of(log))
    assert found.excess_seconds == pytest.approx((0.4, 0.0))


def test_a_task_that_is_launched_a_moment_before_the_first_has_ended_is_no_first():
    rows = [task(0, 0.0, 3.0), task(0, 2.999, 1.0), task(0, 3.998, 1.0)]
    found = warm_up_of(log := event_log(rows), plan_of(log))
    assert found.is_first.tolist() == [True, False, False]
