"""Runs replayed as they were, with other seconds of their tasks, and on other numbers of machines."""

from __future__ import annotations

import numpy as np
import pytest

from airflow_provider_ernest.clarity.replay import replay, replay_sizes, warm_up_of
from airflow_provider_ernest.clarity.replay_plan import plan_of, releases
from tests.unit.eventlog.logs import SimulatedJob, SimulatedStage, event_log, executor, job, run, stage, task


def two_slots(*, lost: float | None = None):
    return [executor(0), executor(1, removed=lost)]


def jobs_of_a_stage(rows, *spans, **parts):
    """A log of jobs of one stage each that took from the one second to the other."""
    places = list(enumerate(spans))
    stages = [stage(at, submitted=began, completed=ended, job_id=at) for at, (began, ended) in places]
    jobs = [job(at, submitted=began, completed=ended, stages=[at]) for at, (began, ended) in places]
    return event_log(rows, stages=stages, jobs=jobs, **parts)


def one_stage(**parts):
    """Tasks of 3, 1, 2 and 2 seconds on two slots: the last begins at 3 and ends at 5."""
    rows = [
        task(0, 0.0, 3.0, executor=0),
        task(0, 0.0, 1.0, executor=1),
        task(0, 1.0, 2.0, executor=1),
        task(0, 3.0, 2.0, executor=0),
    ]
    return event_log(rows, executors=two_slots(), **parts)


def test_other_seconds_of_tasks_change_when_the_next_begin():
    as_it_was = replay(one_stage())
    assert as_it_was.seconds == pytest.approx(5.0)
    # 1 | 1, then 4 from 1 and 1 from 1: ends at 5.
    replayed = replay(one_stage(), task_seconds=np.array([1.0, 1.0, 4.0, 1.0]))
    assert replayed.seconds == pytest.approx(5.0)
    # Without any work nothing is left but what the driver took.
    assert replay(one_stage(ended=7.0), task_seconds=np.zeros(4)).seconds == pytest.approx(2.0)


def test_a_stage_waits_for_its_parents_and_for_what_the_driver_did_after_them():
    rows = [task(0, 0.0, 4.0, executor=0), task(1, 0.0, 1.0, executor=1), task(2, 4.5, 1.0, executor=1)]
    stages = [
        stage(0, submitted=0.0, completed=4.0),
        stage(1, submitted=0.0, completed=1.0),
        stage(2, submitted=4.5, completed=5.5, parents=[0, 1]),
    ]
    log = event_log(rows, executors=two_slots(), stages=stages)
    # With the first stage in no time, the second is what the third waits for.
    assert replay(log, task_seconds=np.array([0.0, 1.0, 1.0])).seconds == pytest.approx(2.5)


def test_a_skipped_stage_holds_nothing_up():
    rows = [task(0, 0.0, 1.0), task(3, 2.0, 1.0)]
    stages = [
        stage(0, submitted=0.0, completed=1.0, job_id=0),
        stage(2, submitted=None, completed=None, job_id=1),
        stage(3, submitted=2.0, completed=3.0, job_id=1, parents=[2]),
    ]
    jobs = [job(0, submitted=0, completed=1, stages=[0]), job(1, submitted=2, completed=3, stages=[2, 3])]
    log = event_log(rows, stages=stages, jobs=jobs)
    assert replay(log, task_seconds=np.array([5.0, 1.0])).seconds == pytest.approx(7.0)


def test_a_failed_attempt_takes_its_slot():
    rows = [
        task(0, 0.0, 2.0, executor=0, succeeded=False),
        task(0, 0.0, 1.0, executor=1),
        task(0, 2.0, 3.0, executor=1, attempt=1),
    ]
    log = event_log([*rows, task(0, 2.0, 3.0, executor=0)], executors=two_slots())
    assert replay(log).seconds == pytest.approx(5.0)
    assert replay(log, task_seconds=np.array([4.0, 1.0, 3.0, 3.0])).seconds == pytest.approx(7.0)


def test_a_killed_copy_holds_nothing_up():
    rows = [
        task(0, 0.0, 4.0, executor=0),
        task(0, 0.0, 1.0, executor=1),
        task(0, 2.0, 2.5, executor=1, speculative=True, succeeded=False),
        task(1, 4.0, 1.0, executor=0),
    ]
    stages = [stage(0, submitted=0, completed=4.0), stage(1, submitted=4.0, completed=5.0, parents=[0])]
    log = event_log(rows, executors=two_slots(), stages=stages)
    assert replay(log).seconds == pytest.approx(5.0)


def test_a_copy_that_won_begins_when_the_first_is_late():
    """The copy of a task that hangs comes after three medians, and the stage ends with it."""
    rows = [
        task(0, 0.0, 5.0, executor=0, succeeded=False),
        task(0, 0.0, 1.0, executor=1),
        task(0, 1.0, 1.0, executor=1),
        task(0, 3.0, 2.0, executor=1, speculative=True, run_seconds=1.0),
    ]
    log = event_log(rows, executors=two_slots())
    assert replay(log).seconds == pytest.approx(5.0)
    # All tasks in half the time: so it shows in half the time that one hangs.
    assert replay(log, task_seconds=log.task_columns.seconds / 2).seconds == pytest.approx(2.5)


def test_a_stage_that_failed_is_followed_by_its_next_attempt():
    rows = [
        task(0, 0.0, 1.0),
        task(1, 1.0, 1.0, succeeded=False),
        task(0, 2.5, 1.0, stage_attempt=1),
        task(1, 3.5, 2.0, stage_attempt=1),
    ]
    stages = [
        stage(0, submitted=0.0, completed=1.0),
        stage(1, submitted=1.0, completed=2.0, parents=[0], failure="FetchFailed"),
        stage(0, attempt=1, submitted=2.5, completed=3.5),
        stage(1, attempt=1, submitted=3.5, completed=5.5, parents=[0]),
    ]
    log = event_log(rows, stages=stages)
    assert replay(log).seconds == pytest.approx(5.5)
    assert replay(log, task_seconds=np.array([0.5, 0.5, 0.5, 1.0])).seconds == pytest.approx(3.0)


def test_what_passes_from_a_submission_to_its_first_task_is_kept_where_slots_were_free():
    rows = [task(0, 0.4, 1.0), task(1, 1.4, 1.0)]
    log = jobs_of_a_stage(rows, (0.0, 1.4), (0.0, 2.4))
    assert replay(log).seconds == pytest.approx(2.4)
    # The second waited for the first one's slot: that is no time of the driver's.
    assert replay(log, task_seconds=np.array([0.1, 1.0])).seconds == pytest.approx(1.5)


def test_a_log_that_was_cut_off_is_replayed_as_far_as_it_goes():
    rows = [task(0, 0.0, 1.0), task(1, 1.5, 1.0)]
    stages = [
        stage(0, submitted=0.0, completed=1.0),
        stage(1, submitted=1.5, completed=None, parents=[0]),
    ]
    log = event_log(rows, stages=stages, jobs=[job(0, stages=[0, 1])], ended=3.0, is_complete=False)
    assert replay(log).seconds == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("spans", "waited_for"),
    [
        pytest.param([(0, 1), (2, 3), (3, 4)], [(), (0,), (1,)], id="one after another"),
        pytest.param([(0, 5), (0, 3), (1, 4)], [(), (), ()], id="side by side"),
        pytest.param([(0, 5), (0, 3), (6, 7)], [(), (), (0, 1)], id="when no job runs, all before"),
        # Two threads of two jobs each: 0 then 2, 1 then 3.
        pytest.param([(0, 5), (0, 8), (5.01, 9), (8.01, 10)], [(), (), (0,), (1,)], id="two threads"),
        pytest.param([(5, 5), (5, 5)], [(), (0,)], id="of one moment, in no time"),
    ],
)
def test_which_jobs_a_job_waited_for(spans, waited_for):
    assert releases(spans) == waited_for


def test_the_excess_of_first_tasks_is_told_apart_from_what_is_their_own():
    # Two slots on one executor: the first two tasks take 3 and 3.5 s, the others 1 s.
    rows = [task(0, 0.0, 3.0), task(0, 0.0, 3.5), task(0, 3.0, 1.0), task(0, 3.5, 1.0), task(0, 4.0, 1.0)]
    log = event_log(rows, executors=[executor(0, cores=2)])
    found = warm_up_of(log, plan_of(log))
    assert found.is_first.tolist() == [True, True, False, False, False]
    assert found.excess_seconds == pytest.approx((2.25,))
    # None is taken to be shorter than the shortest of the others.
    assert found.own_seconds.tolist() == pytest.approx([1.0, 1.25, 1.0, 1.0, 1.0])


def a_job(warm_up: float = 0.0):
    generator = np.random.default_rng(7)
    maps, reduces = generator.lognormal(0.0, 0.3, size=61), generator.lognormal(-1.0, 0.3, size=24)
    return [
        SimulatedJob(1.5, [SimulatedStage(maps, warm_up), SimulatedStage(reduces, warm_up / 2, parents=[0])]),
        SimulatedJob(0.7, [SimulatedStage(reduces, warm_up / 4)]),
    ]


@pytest.mark.parametrize(
    ("cores", "warm_up", "within"),
    # Some of what differs by chance is taken for warm-up; with one, other sizes have other first tasks.
    [(1, 0.0, 0.01), (2, 0.0, 0.01), (1, 2.0, 0.05)],
)
def test_other_sizes_take_what_they_truly_take(cores: int, warm_up: float, within: float):
    log = run(a_job(warm_up), executors=3, cores=cores)
    for size in replay_sizes(log, range(1, 9)):
        truth = run(a_job(warm_up), executors=size.executors, cores=cores).clean_seconds
        assert size.seconds == pytest.approx(truth, rel=within), size.executors


def test_executors_that_share_a_machine_are_counted_each():
    """As on YARN: two executors of one core on a machine took eight tasks of a second; three take 3 s."""
    rows = [task(0, float(wave), executor=number) for wave in range(4) for number in (0, 1)]
    shared = event_log(rows, executors=[executor(number, host="10.0.0.1") for number in (0, 1)])

    assert [size.seconds for size in replay_sizes(shared, [1, 2, 3])] == pytest.approx([8.0, 4.0, 3.0])
