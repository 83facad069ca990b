"""Which jobs a job waited for."""

from __future__ import annotations

from airflow_provider_ernest.clarity.replay_plan import releases


def test_one_after_another_each_waits_for_the_one_before():
    assert releases([(0, 1), (2, 3), (3, 4)]) == [(), (0,), (1,)]


def test_side_by_side_none_waits_for_the_other():
    assert releases([(0, 5), (0, 3), (1, 4)]) == [(), (), ()]


def test_when_no_job_runs_all_those_before_were_waited_for():
    assert releases([(0, 5), (0, 3), (6, 7)]) == [(), (), (0, 1)]


def test_a_thread_goes_on_when_its_own_job_has_ended():
    # Two threads of two jobs each: 0 then 2, 1 then 3.
    assert releases([(0, 5), (0, 8), (5.01, 9), (8.01, 10)]) == [(), (), (0,), (1,)]


def test_jobs_of_one_moment_wait_for_none_of_each_other():
    assert releases([(5, 5), (5, 5)]) == [(), (0,)]
    assert releases([(5, 6), (5, 6)]) == [(), ()]


def test_no_jobs_wait_for_nothing():
    assert releases([]) == []
