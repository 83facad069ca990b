from __future__ import annotations

import math
from dataclasses import astuple

import pytest

from airflow_provider_ernest import run_profile
from airflow_provider_ernest.clarity.profile import optex_phases
from airflow_provider_ernest.eventlog.tables import SqlExecutionRow
from tests.unit.eventlog.logs import START, event_log, executor, job, task
from tests.unit.eventlog.random_logs import random_log


def query(started=0.0, ended=None, broadcast=0.0, number=0):
    return SqlExecutionRow(
        execution_id=number,
        started_at=START + started,
        ended_at=None if ended is None else START + ended,
        broadcast_seconds=broadcast,
    )


def phases_of(rows, **parts):
    """Initialisation, preparation, sharing, computation, communication; the application starts at -5 s."""
    return pytest.approx(astuple(optex_phases(event_log(rows, **parts))), abs=1e-6)


def test_each_moment_belongs_to_a_phase():
    """-5..0 start, 0..2 driver, 2..12 tasks, 12..15 driver."""
    rows = [task(0, 2.0, 10.0, fetch_wait_seconds=3.0, shuffle_write_seconds=1.0)]

    assert phases_of(rows, ended=15.0) == (5.0, 2.0 + 3.0, 0.0, 10.0 - 4.0, 4.0)


def test_what_tasks_do_side_by_side_is_shared_out_evenly():
    """For 6 s both run, one of them fetching half of its time; for 4 s the other alone."""
    rows = [
        task(0, 0.0, 6.0, executor=0, fetch_wait_seconds=3.0),
        task(0, 0.0, 10.0, executor=1),
    ]

    assert phases_of(rows) == (5.0, 0.0, 0.0, 10.0 - 6.0 * 0.25, 6.0 * 0.25)


def test_handing_results_over_is_communication():
    rows = [task(0, 0.0, 10.0, result_serialisation_seconds=1.0, getting_result_seconds=2.0)]

    assert phases_of(rows) == (5.0, 0.0, 0.0, 7.0, 3.0)


def test_broadcasts_are_time_of_the_driver():
    """2 s from 0 to 2 without tasks, in a query whose broadcast took 1.5 s to build and send."""
    rows = [task(0, 2.0, 4.0)]

    assert phases_of(rows, sql_executions=[query(0.0, 6.0, broadcast=1.5)]) == (5.0, 0.5, 1.5, 4.0, 0.0)


def test_a_broadcast_behind_tasks_costs_nothing():
    rows = [task(0, 0.0, 6.0)]

    assert phases_of(rows, sql_executions=[query(0.0, 6.0, broadcast=1.5)]) == (5.0, 0.0, 0.0, 6.0, 0.0)


def test_a_moment_is_shared_by_one_query_only():
    rows = [task(0, 2.0, 4.0)]
    queries = [query(0.0, 6.0, broadcast=1.5), query(0.0, 6.0, broadcast=1.5, number=1)]

    assert phases_of(rows, sql_executions=queries) == (5.0, 0.5, 1.5, 4.0, 0.0)


def test_a_query_that_the_log_does_not_end_lasts_until_its_end():
    rows = [task(0, 2.0, 4.0)]

    assert phases_of(rows, sql_executions=[query(broadcast=9.0)]) == (5.0, 0.0, 2.0, 4.0, 0.0)


def test_a_machine_that_joins_work_under_way_does_not_prolong_the_initialisation():
    """As under dynamic allocation."""
    rows = [task(0, 1.0, 4.0)]
    executors = [executor(0), executor(1, added=3.0)]
    parts = {"executors": executors, "jobs": [job(0, submitted=0.5, completed=5.0, stages=[0])]}

    assert phases_of(rows, **parts) == (5.0, 1.0, 0.0, 4.0, 0.0)


def test_an_application_that_ran_nothing():
    assert phases_of([], executors=[executor(0)], jobs=[], ended=3.0) == (5.0, 3.0, 0.0, 0.0, 0.0)


def test_a_local_application_without_executors():
    assert phases_of([], executors=[], jobs=[], ended=3.0) == (0.0, 8.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("seed", range(20))
def test_phases_add_up_to_the_application_s_time(seed):
    log = random_log(seed)

    phases = optex_phases(log)

    assert isinstance(phases, run_profile.PhaseSeconds)
    assert math.isclose(phases.total_seconds, log.ended_at - log.started_at, abs_tol=1e-6)
