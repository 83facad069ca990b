"""Two runs side by side: parts that add up, and why they differ."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from airflow_provider_ernest.clarity.comparison import A_QUERY, compare_runs
from airflow_provider_ernest.clarity.profile import MOST_STAGES, profile_run
from airflow_provider_ernest.documents.profiles import STAGE, ComparedPart, RunComparison, RunProfile
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.eventlog.tables import EventLog
from airflow_provider_ernest.exceptions import InvalidDocumentError
from tests.unit.eventlog import event_log_texts
from tests.unit.eventlog.logs import START, event_log, executor, random_log, stage, task

LOGS = sorted(path for path in event_log_texts.REAL.iterdir() if path.suffix != ".md")
MEGABYTE = 10**6

SCAN, JOIN = "scan at enrich.py:12", "join at enrich.py:40"


def a_run(
    *,
    scan: list[float] | None = None,
    join: list[float] | None = None,
    names: tuple[str, str] = (SCAN, JOIN),
    of_scan: dict[str, Any] | None = None,
    of_join: dict[str, Any] | None = None,
    slots: int = 4,
    **parts: Any,
) -> EventLog:
    """A job of two stages on machines of one slot, by the seconds of their tasks."""
    scan, join = scan or [5.0] * 8, join or [5.0] * 8
    told = {"input_bytes": MEGABYTE, "input_records": 1000, **(of_scan or {})}
    rows, free = [], [0.0] * slots
    for number, (seconds, figures) in enumerate(
        ((scan, told), (join, {"shuffle_remote_bytes": 10 * MEGABYTE, **(of_join or {})}))
    ):
        free = [max(free)] * slots
        for each in seconds:
            slot = free.index(min(free))
            rows.append(task(number, free[slot], each, executor=slot, **figures))
            free[slot] += each
    ends = [max(row["finished_at"] for row in rows if row["stage_id"] == number) for number in (0, 1)]
    stages = [
        stage(0, completed=ends[0] - START, tasks=len(scan), name=names[0]),
        stage(
            1,
            submitted=ends[0] - START,
            completed=ends[1] - START,
            tasks=len(join),
            name=names[1],
            parents=[0],
        ),
    ]
    machines = [executor(number) for number in range(slots)]
    return event_log(rows, executors=machines, stages=stages, ended=ends[1] - START + 2.0, **parts)


def compared(before: EventLog, after: EventLog) -> RunComparison:
    return compare_runs(profile_run(before), profile_run(after))


def part_of(comparison: RunComparison, name: str) -> ComparedPart:
    return next(part for part in comparison.parts if part.name == name)


def assert_adds_up(before: RunProfile, after: RunProfile) -> None:
    told = compare_runs(before, after)
    for run, seconds in ((before, "earlier_seconds"), (after, "later_seconds")):
        parts = [getattr(part, seconds) for part in told.parts]
        assert sum(parts) == pytest.approx(run.startup_seconds + run.seconds)
        assert min(parts) > -0.01
    differences = sum(part.difference_seconds for part in told.parts)
    assert differences == pytest.approx(told.later_seconds - told.earlier_seconds, abs=1e-6)


def test_the_parts_of_real_runs_add_up():
    runs = [profile_run(read_event_log(path)) for path in LOGS]
    for before, after in pairwise(runs):
        assert_adds_up(before, after)


@pytest.mark.parametrize("seed", range(8))
def test_parts_add_up_whatever_runs_beside_what(seed):
    before, after = (profile_run(random_log(number)) for number in (seed, seed + 100))
    assert_adds_up(before, after)


def test_parts_add_up_where_stages_are_too_many_to_be_told():
    rows = [task(number, float(number), 1.0) for number in range(MOST_STAGES + 30)]
    many = profile_run(event_log(rows))
    assert_adds_up(profile_run(a_run()), many)
    assert part_of(compare_runs(profile_run(a_run()), many), "shorter stages").later_seconds == pytest.approx(
        30.0
    )


def test_a_moment_is_shared_by_the_stages_that_run_then():
    rows = [task(0, 0.0, 10.0), task(1, 4.0, 2.0, executor=1), task(1, 8.0, 4.0, executor=1)]
    one, other = profile_run(event_log(rows)).stages
    assert one.own_seconds == pytest.approx(4 + 1 + 2 + 1)
    assert other.own_seconds == pytest.approx(1 + 1 + 2)


def test_twice_the_input_is_the_cause_and_leads_the_sentence():
    more = {"input_bytes": 2 * MEGABYTE, "input_records": 2000}
    told = compared(a_run(), a_run(scan=[10.0] * 8, of_scan=more, application_id="app-2"))
    assert told.headline == (
        "app-2 took 10 s longer than app-1, 37 s instead of 27 s: 10 s in stage 0, scan at enrich.py:12 (it "
        "read 2 times as much, 16,000 records instead of 8,000)."
    )
    assert part_of(told, JOIN).causes == ()
    assert told.changes == ("of its input it read 2 times as much, 16,000 records instead of 8,000",)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        (
            {"join": [5.0] * 7 + [20.0]},
            "its longest task took 20 s instead of 5 s, the median 5 s instead of 5 s",
        ),
        (
            {"join": [10.0] * 8, "of_join": {"disk_spilled_bytes": 40 * MEGABYTE}},
            "its tasks took 2 times as long for as much data: 320 MB spilled to disk instead of 0 bytes",
        ),
        (
            {"join": [10.0] * 8, "of_join": {"garbage_collection_seconds": 5.0}},
            "its tasks took 2 times as long for as much data: 40 s of garbage collection instead of 0 s",
        ),
        ({"join": [40.0], "of_join": {"shuffle_remote_bytes": 80 * MEGABYTE}}, "it had 1 task instead of 8"),
        ({"slots": 2}, "2 tasks could run at once instead of 4"),
    ],
)
def test_why_a_stage_took_longer(changes, cause):
    told = part_of(compared(a_run(), a_run(**changes)), JOIN)
    assert told.difference_seconds > 4.0
    assert told.causes[0] == cause
    shorter = part_of(compared(a_run(**changes), a_run()), JOIN)
    assert shorter.difference_seconds == -told.difference_seconds
    assert shorter.causes, "the same the other way round"


def test_executors_that_came_late_are_the_cause_though_as_many_came():
    late = replace(profile_run(a_run(slots=2)), executors=4, slots=4, steps=((0.0, 2), (100.0, 4)))
    told = compare_runs(profile_run(a_run()), late)
    assert part_of(told, JOIN).causes == ("2 tasks could run at once instead of 4",)
    assert told.changes == ()


def test_a_stage_that_moved_in_its_file_is_the_same_and_a_renamed_one_gone_and_new():
    moved, renamed = "scan at enrich.py:99", "merge at enrich.py:40"
    told = compared(a_run(), a_run(names=(moved, renamed), application_id="app-2"))
    assert (part_of(told, moved).earlier_stage, part_of(told, moved).later_stage) == (0, 0)
    gone, new = part_of(told, JOIN), part_of(told, renamed)
    assert (gone.later_stage, gone.causes) == (None, ("only app-1 has it",))
    assert (new.earlier_stage, new.causes) == (None, ("only app-2 has it",))
    assert not told.cautions


def test_stages_of_a_query_that_begin_in_another_order_are_the_same():
    in_spark = ("$anonfun$run$1 at CompletableFuture.java:1768",) * 2
    figures = {"input_bytes": 50 * MEGABYTE, "input_records": 50_000, "shuffle_remote_bytes": 0}
    before = profile_run(a_run(names=in_spark, of_join=figures))
    after = profile_run(
        a_run(
            names=in_spark,
            of_scan=figures,
            of_join={**figures, "input_bytes": MEGABYTE, "input_records": 1000},
        )
    )
    told = [part for part in compare_runs(before, after).parts if part.kind == STAGE]
    assert {(part.name, part.earlier_stage, part.later_stage) for part in told} == {
        (A_QUERY, 0, 1),
        (A_QUERY, 1, 0),
    }


def test_runs_of_different_jobs_are_compared_with_a_caution():
    told = compared(a_run(), a_run(names=("map at load.py:1", "sum at load.py:2")))
    assert "runs of different jobs" in told.cautions[0]


def test_what_else_changed_names_settings_and_no_secret():
    before = {
        "spark.sql.shuffle.partitions": "200",
        "spark.executor.memory": "8g",
        "spark.sql.extensions": "com.example.A",
        "spark.sql.api.token": "planted-1",
        "spark.sql.example.pin": "4711",
        "spark.executor.instances": "4",
    }
    after = {
        "spark.sql.shuffle.partitions": "2000",
        "spark.sql.extensions": "com.example.planted.B",
        "spark.sql.api.token": "planted-2",
        "spark.executor.instances": "2",
        "spark.app.id": "other",
    }
    was = profile_run(a_run(properties=before, spark="3.5.5"))
    now = profile_run(a_run(properties=after, spark="4.0.1", slots=2))
    assert compare_runs(was, now).changes == (
        "Spark is 4.0.1 and was 3.5.5",
        "it ran on 2 executors instead of 4",
        "spark.executor.memory is no longer set (was 8g)",
        "spark.sql.example.pin is no longer set",
        "spark.sql.extensions has changed",
        "spark.sql.shuffle.partitions is 2000 and was 200",
    )
    assert not {"planted", "4711"} & set(re.findall(r"\w+", str([was.to_dict(), now.to_dict()])))


def test_profiles_of_earlier_versions_are_refused_with_what_to_do():
    run = profile_run(a_run())
    old = replace(run, stages=tuple(replace(each, own_seconds=None) for each in run.stages))
    with pytest.raises(InvalidDocumentError, match="app-1 does not tell") as refused:
        compare_runs(old, run)
    assert "analyze the event log again" in str(refused.value)
