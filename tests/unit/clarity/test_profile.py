"""All analyses of a run together; the seconds of its phases, and what kind of job it was."""

from __future__ import annotations

import math
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.clarity import profile as profile_module
from airflow_provider_ernest.clarity.monotasks import Change
from airflow_provider_ernest.clarity.profile import MOST_STAGES, category_of, optex_phases, profile_run
from airflow_provider_ernest.documents import profiles
from airflow_provider_ernest.documents.profiles import Capacity, RunProfile
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.eventlog.tables import EventLog, SqlExecutionRow
from airflow_provider_ernest.exceptions import EventLogError
from tests.unit.eventlog import event_log_texts
from tests.unit.eventlog.logs import (
    START,
    SimulatedJob,
    SimulatedStage,
    event_log,
    executor,
    job,
    random_log,
    run,
    stage,
    task,
)

LOGS = sorted(path for path in event_log_texts.REAL.iterdir() if path.suffix != ".md")


def shuffle(*, waited: float = 3.0, **parts: Any) -> EventLog:
    """Two machines: a stage that computes, and one that mostly waits for what the other machine has."""
    rows = [task(0, 1.0, 2.0, executor=number, input_bytes=500) for number in (0, 1)]
    rows += [
        task(
            1,
            4.0,
            4.0,
            executor=number,
            fetch_wait_seconds=waited,
            shuffle_remote_bytes=30_000_000,
            shuffle_local_bytes=30_000_000,
        )
        for number in (0, 1)
    ]
    stages = [
        stage(0, submitted=0.5, completed=3.0, tasks=2, name="collect at /home/me/etl.py:12"),
        stage(1, submitted=3.5, completed=8.0, tasks=2, parents=[0]),
    ]
    jobs = [job(0, submitted=0.4, completed=8.1, stages=[0, 1])]
    return event_log(rows, stages=stages, jobs=jobs, ended=9.0, **parts)


def iterations(count: int) -> EventLog:
    stages = [SimulatedStage([0.5, 0.5] if number % 2 else [0.1, 0.1]) for number in range(count)]
    return run([SimulatedJob(0.1, [each]) for each in stages], executors=2)


def test_what_a_network_bound_run_tells():
    profile = profile_run(
        shuffle(name="etl", spark="4.0.1"), scale=0.1, iterations=5, event_log="/logs/app-1"
    )
    assert (profile.application_id, profile.name, profile.spark) == ("app-1", "etl", "4.0.1")
    assert (profile.executors, profile.slots, profile.tasks, profile.failed_tasks) == (2, 2, 4, 0)
    assert (profile.scale, profile.iterations, profile.event_log) == (0.1, 5, "/logs/app-1")
    assert (profile.seconds, profile.startup_seconds) == (9.0, 5.0)
    assert profile.driver_seconds == pytest.approx(9.0 - 2.0 - 4.0)
    assert profile.replayed_seconds == pytest.approx(9.0)
    assert profile.bottleneck == profiles.NETWORK
    assert profile.headline == (
        "Network-bound: up to 33 % (3 s of 9 s) from an infinitely fast network; no task ran for 3 s of 9 s"
    )
    assert profile.limits[0].resource == profiles.NETWORK
    assert profile.limits[0].seconds_without == pytest.approx(6.0)
    assert profile.phases.total_seconds == pytest.approx(14.0)
    assert profile.warnings == ()
    computing, fetching = profile.stages
    assert computing.name == "collect at etl.py:12", "the folders are nobody's business"
    assert (computing.reads_input, fetching.reads_input, fetching.parents) == (True, False, (0,))


def test_the_capacity_is_what_was_given_or_what_the_tasks_got():
    given = Capacity(cores=1, network_gigabytes_per_second=0.01, source="stated")
    profile = profile_run(shuffle(), capacity=given)
    assert profile.capacity == given
    # 30 MB into each machine at 10 MB/s.
    assert profile.stages[1].ideal_seconds[profiles.NETWORK] == pytest.approx(3.0)
    assert profile.ideal_seconds[profiles.NETWORK] == pytest.approx(3.0)
    achieved = profile_run(shuffle()).capacity
    assert achieved is not None
    assert achieved.source == "achieved"
    assert achieved.network_gigabytes_per_second == pytest.approx(0.0075)


def test_of_many_stages_the_longest_are_kept_and_the_others_counted():
    profile = profile_run(iterations(240))
    assert len(profile.stages) == MOST_STAGES
    assert profile.stages_left_out == 180
    assert all(stage.seconds == pytest.approx(0.5) for stage in profile.stages)
    began = [stage.began_seconds for stage in profile.stages]
    assert began == sorted(began)
    # 60 longer and 120 shorter ones of two tasks each.
    assert profile.left_out_seconds == pytest.approx(2 * (60 * 0.5 + 120 * 0.1), abs=0.01)


def test_without_a_task_there_is_nothing_to_analyse():
    with pytest.raises(EventLogError, match="no task that ended"):
        profile_run(event_log(executors=[executor()], ended=5.0))


def test_tasks_that_no_known_machine_can_have_run_do_not_count():
    """The beginning of such a log is missing."""
    executors = [executor(0, added=4.0), executor(1, added=9.0)]
    assert profile_run(event_log([task(0, 0.0)], executors=executors, ended=12.0)).seconds == 12.0 - 4.0


def test_nothing_after_the_machines_had_come_is_refused():
    late = event_log([task(0, 0.0, 1.0)], executors=[executor(added=7.0)], ended=7.0)
    with pytest.raises(EventLogError, match="nothing after its machines"):
        profile_run(late)


def test_work_before_the_last_machine_came_counts_and_is_told():
    rows = [task(0, 0.0, 8.0), task(0, 10.0, 2.0, executor=1)]
    grown = profile_run(event_log(rows, executors=[executor(), executor(1, added=9.0)], ended=13.0))
    assert (grown.seconds, grown.executors) == (13.0, 2)
    assert grown.stages[0].task_seconds == 10.0
    assert any("1 of the 2 machines joined when work was under way" in each for each in grown.warnings)
    a_moment_late = [task(0, 0.0, 8.0), task(0, 0.1, 8.0, executor=1)]
    assert not profile_run(event_log(a_moment_late, executors=[executor(), executor(1, added=0.1)])).warnings


def test_a_log_without_machines_counts_as_one():
    profile = profile_run(event_log([task(0, 0.0, 1.0), task(0, 0.5, 1.0)], executors=[], ended=3.0))
    assert (profile.executors, profile.slots, profile.seconds) == (1, 2, 8.0)
    assert any("has no executors" in warning for warning in profile.warnings)


def test_numbers_without_bounds_cost_neither_time_nor_memory():
    rows = [task(0, 0.0, 1.0, attempt=10**12), task(0, 0.5, 1.0, succeeded=False)]
    odd = event_log(rows, executors=[executor(0, cores=10**15), executor(1, cores=-4)], ended=2.0)
    profile = profile_run(odd, executor_counts=[10**12], changes=[Change(cores=10**12, executors=10**12)])
    assert profile.sizes[0].seconds == pytest.approx(2.0)
    assert profile.seconds == 2.0


def test_a_replay_that_is_off_is_not_to_be_trusted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(profile_module, "TRUSTED_ERROR_PERCENT", -1.0)
    (warning,) = profile_run(shuffle()).warnings
    assert warning == (
        "The replay of the run as it was is 0 % off: do not trust what could be won, nor the predictions for "
        "other machines."
    )


def test_credentials_in_the_logs_address_are_left_out():
    profile = profile_run(shuffle(), event_log="s3://key:secret@bucket/app-1")
    assert profile.event_log == "s3://bucket/app-1"


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_logs_of_real_runs(path: Path):
    log = read_event_log(path)
    profile = profile_run(log)
    assert profile.replayed_seconds == pytest.approx(log.clean_seconds, rel=0.01)
    for limit in profile.limits:
        assert 0.0 <= limit.improvement_percent <= 100.0
        assert limit.seconds_without <= profile.replayed_seconds
    one, two, four, *_ = (size.seconds for size in profile.sizes)
    assert one >= two * 0.99 >= four * 0.98
    assert profile.phases.total_seconds == pytest.approx(profile.seconds + profile.startup_seconds, rel=0.01)
    assert not [warning for warning in profile.warnings if "not known" in warning]
    assert RunProfile.from_dict(profile.to_dict()) == profile
    assert replace(profile, name="") == profile_run(replace(log, name=""))


def query(started=0.0, ended=None, broadcast=0.0, number=0):
    return SqlExecutionRow(
        execution_id=number,
        started_at=START + started,
        ended_at=None if ended is None else START + ended,
        broadcast_seconds=broadcast,
    )


@pytest.mark.parametrize(
    ("rows", "parts", "phases"),
    [
        pytest.param(
            # -5..0 start, 0..2 driver, 2..12 tasks, 12..15 driver.
            [task(0, 2.0, 10.0, fetch_wait_seconds=3.0, shuffle_write_seconds=1.0)],
            {"ended": 15.0},
            (5.0, 2.0 + 3.0, 0.0, 10.0 - 4.0, 4.0),
            id="each moment belongs to a phase",
        ),
        pytest.param(
            # For 6 s both run, one of them fetching half of its time; for 4 s the other alone.
            [task(0, 0.0, 6.0, executor=0, fetch_wait_seconds=3.0), task(0, 0.0, 10.0, executor=1)],
            {},
            (5.0, 0.0, 0.0, 10.0 - 6.0 * 0.25, 6.0 * 0.25),
            id="what tasks do side by side is shared out evenly",
        ),
        pytest.param(
            [task(0, 0.0, 10.0, result_serialisation_seconds=1.0, getting_result_seconds=2.0)],
            {},
            (5.0, 0.0, 0.0, 7.0, 3.0),
            id="handing results over is communication",
        ),
        pytest.param(
            [task(0, 0.0, 6.0)],
            {"sql_executions": [query(0.0, 6.0, broadcast=1.5)]},
            (5.0, 0.0, 0.0, 6.0, 0.0),
            id="a broadcast behind tasks costs nothing",
        ),
        pytest.param(
            [task(0, 2.0, 4.0)],
            {"sql_executions": [query(0.0, 6.0, broadcast=1.5, number=number) for number in (0, 1)]},
            (5.0, 0.5, 1.5, 4.0, 0.0),
            id="a moment is shared by one query only",
        ),
        pytest.param(
            # As under dynamic allocation.
            [task(0, 1.0, 4.0)],
            {
                "executors": [executor(0), executor(1, added=3.0)],
                "jobs": [job(0, submitted=0.5, completed=5.0, stages=[0])],
            },
            (5.0, 1.0, 0.0, 4.0, 0.0),
            id="a machine that joins work under way does not prolong the initialisation",
        ),
    ],
)
def test_the_phases_of_a_run(rows, parts, phases):
    """Initialisation, preparation, sharing, computation, communication; the application starts at -5 s."""
    assert astuple(optex_phases(event_log(rows, **parts))) == pytest.approx(phases, abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_phases_add_up_to_the_application_s_time(seed):
    log = random_log(seed)

    phases = optex_phases(log)

    assert isinstance(phases, profiles.PhaseSeconds)
    assert math.isclose(phases.total_seconds, log.ended_at - log.started_at, abs_tol=1e-6)


QUERY = SqlExecutionRow(execution_id=0, started_at=START)


def a_run(*stages, queried=(), **parts):
    """A run of a stage for each (library, seconds); `queried` are places of those that a query asked for."""
    return event_log(
        [task(number, seconds=seconds) for number, (_, seconds) in enumerate(stages)],
        stages=[
            stage(number, completed=seconds, library=library, job_id=number)
            for number, (library, seconds) in enumerate(stages)
        ],
        jobs=[
            job(number, stages=[number], sql_execution_id=0 if number in queried else None)
            for number in range(len(stages))
        ],
        sql_executions=[QUERY] if queried else [],
        **parts,
    )


@pytest.mark.parametrize(
    ("stages", "queried", "expected"),
    [
        ([("ml", 1.0)], [], profiles.MLLIB),
        ([("streaming", 1.0)], [], profiles.STREAMING),
        ([("", 1.0)], [], profiles.CORE),
        # RDDs with a small query; learning, though a query reads its data; a little scaling of columns.
        ([("", 1.0), ("", 9.0)], [0], profiles.CORE),
        ([("", 7.0), ("ml", 3.0)], [0], profiles.MLLIB),
        ([("", 9.5), ("ml", 0.5)], [0], profiles.SQL),
    ],
)
def test_the_library_that_asked_for_the_stages_tells(stages, queried, expected):
    assert category_of(a_run(*stages, queried=queried)) == expected


@pytest.mark.parametrize(
    ("call_site", "library"),
    [
        (
            "org.apache.spark.rdd.RDD.treeAggregate(RDD.scala:1280)\n"
            "org.apache.spark.ml.optim.loss.RDDLossFunction.calculate(RDDLossFunction.scala:61)\n"
            "org.apache.spark.ml.classification.LogisticRegression.train(LogisticRegression.scala:522)",
            "ml",
        ),
        (
            "org.apache.spark.sql.execution.SQLExecution$.run(SQLExecution.scala:401)\nme.ml.Job.main(J.scala:1)",
            "",
        ),
    ],
)
def test_the_stack_trace_of_a_stage_tells_its_library(tmp_path, call_site, library):
    data_sets = [{"RDD ID": 1, "Name": "PythonRDD"}, {"RDD ID": 0, "Scope": '{"name":"map"}'}]
    told = event_log_texts.stage(0, completed=107_000, **{"Details": call_site, "RDD Info": data_sets})
    path = event_log_texts.write(tmp_path / "app-1", event_log_texts.started(), told)

    read = read_event_log(path).stages[0]

    assert read.library == library
    assert set(read.scopes) == {"PythonRDD", "map"}
