"""The benchmark of regimes: what is planned, which side a run is on, and what is said across the change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from airflow_provider_ernest.documents.runs import Observation, RunMetrics
from benchmarks.regimes.corpus import RecordedRun, is_short
from benchmarks.regimes.evaluation import (
    INTO_SHORTAGE,
    OUT_OF_SHORTAGE,
    SAME_SIDE,
    SEEN_ONCE,
    Said,
    evaluate,
)
from benchmarks.regimes.report import report_lines
from benchmarks.regimes.schedule import MOST_MACHINES, SETTINGS, planned_runs

ROOM = 100


def _metrics(machines: int, scale: float) -> RunMetrics:
    """Of a job that caches 250 bytes of its whole input, on machines with room for `ROOM`."""
    wanted, room = 250 * scale, ROOM * machines
    return RunMetrics(
        tasks=16,
        slots=machines,
        executor_run_seconds=1.0,
        garbage_collection_seconds=0.0,
        input_bytes=round(1000 * scale),
        shuffle_read_bytes=0,
        spilled_bytes=0,
        storage_memory_bytes=room,
        cache_wanted_bytes=round(wanted),
        cached_bytes=round(min(wanted, room)),
        dominant_stage_tasks=16,
    )


def _run(index: int, machines: int, scale: float, *, setting: str = "caching") -> RecordedRun:
    metrics = _metrics(machines, scale)
    again = 1.0 - (metrics.cache_share or 0.0)
    observation = Observation(
        index=index,
        machines=machines,
        scale=scale,
        seconds=10.0 + 100.0 * scale / machines * (1.0 + 4.0 * again),
        metrics=metrics,
    )
    return RecordedRun(setting=setting, observation=observation, is_short=is_short(observation))


SIZES = ((1, 0.1), (1, 0.3), (2, 0.2), (2, 0.5), (3, 1.0), (4, 1.0), (1, 0.6), (1, 1.0), (2, 1.0), (2, 1.5))


@pytest.fixture(scope="module")
def runs() -> Sequence[RecordedRun]:
    return [_run(index, machines, scale) for index, (machines, scale) in enumerate(SIZES)]


@pytest.fixture(scope="module")
def said(runs: Sequence[RecordedRun]) -> Sequence[Said]:
    return evaluate(runs)


def test_at_least_eight_settings_of_ten_configurations_each_are_planned() -> None:
    runs = planned_runs()
    assert len(SETTINGS) >= 8
    assert len({run.id for run in runs}) == len(runs)
    for setting in SETTINGS:
        sizes = {(run.machines, run.files) for run in runs if run.setting == setting}
        assert len(sizes) >= 10
        assert max(machines for machines, _ in sizes) <= MOST_MACHINES
    assert planned_runs() == runs


def test_a_run_is_short_where_its_cache_is_not_all_in_memory_or_its_tasks_spill(
    runs: Sequence[RecordedRun],
) -> None:
    assert [run.is_short for run in runs] == [False] * 6 + [True] * 4
    whole = runs[0].observation
    assert whole.metrics
    assert is_short(replace(whole, metrics=replace(whole.metrics, spilled_bytes=1)))
    assert not is_short(replace(whole, metrics=None))


def test_each_run_is_said_of_from_the_other_side_alone(said: Sequence[Said]) -> None:
    sizes = {
        case: [(each.machines, each.scale) for each in said if each.case == case]
        for case in (INTO_SHORTAGE, OUT_OF_SHORTAGE, SEEN_ONCE, SAME_SIDE)
    }
    assert sizes[INTO_SHORTAGE] == list(SIZES[6:])
    assert sizes[OUT_OF_SHORTAGE] == list(SIZES[:6])
    assert len(sizes[SEEN_ONCE]) == 3
    assert sizes[SAME_SIDE] == list(SIZES)
    assert {each.runs for each in said if each.case == INTO_SHORTAGE} == {6}
    assert {each.runs for each in said if each.case == SEEN_ONCE} == {7}


def test_what_the_figures_announce_is_told_apart(said: Sequence[Said], runs: Sequence[RecordedRun]) -> None:
    assert all(each.announced for each in said if each.case == INTO_SHORTAGE)
    silent = [
        replace(run, observation=replace(run.observation, metrics=None), setting="silent") for run in runs
    ]
    untold = [each for each in evaluate(silent) if each.case == INTO_SHORTAGE]
    assert untold
    assert not any(each.announced for each in untold)


def test_a_change_that_the_figures_never_show_is_not_announced(runs: Sequence[RecordedRun]) -> None:
    """As of a join that takes another course from some input on, with memory enough on either side."""
    ample = [run for run in runs if not run.is_short]
    changing = [replace(run, is_short=run.observation.scale >= 0.5) for run in ample]
    across = [each for each in evaluate(changing) if each.case in (INTO_SHORTAGE, OUT_OF_SHORTAGE)]
    assert {each.case for each in across} == {INTO_SHORTAGE, OUT_OF_SHORTAGE}
    assert not any(each.announced for each in across)


def test_the_scatter_of_the_recordings_is_told_where_the_same_work_was_recorded_twice(
    runs: Sequence[RecordedRun], said: Sequence[Said]
) -> None:
    one = [replace(run, setting="gradient-memory") for run in runs]
    other = [
        replace(run, setting="gradient-disk", observation=replace(run.observation, seconds=seconds))
        for run in runs
        for seconds in [1.5 * run.observation.seconds]
    ]
    ample = sum(not run.is_short for run in runs)

    (told,) = [line for line in report_lines([*one, *other], said) if "recorded twice" in line]
    assert f"{ample} pairs, the longer run by 50.0% (mean), 50% (most)" in told
    assert not any("recorded twice" in line for line in report_lines(one, said))


def test_what_cannot_be_fitted_is_silent_and_counts(runs: Sequence[RecordedRun]) -> None:
    said = evaluate([runs[0], runs[7]])
    [into] = [each for each in said if each.case == INTO_SHORTAGE]
    assert into.predicted is None
    assert into.silent_because
    lines = "\n".join(report_lines(runs[:1], said))
    assert "caching" in lines


def test_the_report_names_what_lies_outside_the_intervals(
    runs: Sequence[RecordedRun], said: Sequence[Said]
) -> None:
    missed = replace(said[0], seconds=1e6)
    lines = list(report_lines(runs, [missed, *said[1:]]))
    assert any("took 1000000.0 s" in line for line in lines)
    assert any("Target where announced: mean error" in line for line in lines)
    assert any(line.startswith("caching") and "40%" in line for line in lines)
