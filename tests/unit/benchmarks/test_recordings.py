"""What is told of recorded runs: from which runs each is predicted, and how errors are summed up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from airflow_provider_ernest.documents.runs import Observation, PastRun, RunMetrics
from benchmarks.history import evaluation as history
from benchmarks.regimes.evaluation import (
    INTO_SHORTAGE,
    OUT_OF_SHORTAGE,
    SAME_SIDE,
    SEEN_ONCE,
    RecordedRun,
    evaluate,
    is_short,
)


def _past_run(number: int, machines: int) -> history.RecordedRun:
    """Of a job of 10 seconds, and 20 more for the first input on one machine."""
    grown = 1 + number / 10
    past = PastRun(
        job="report",
        application_id=f"app-{number}",
        event_log=f"report-{number}",
        started_at=f"2026-03-{number + 1:02}T02:00:00+00:00",
        machines=machines,
        cores_per_machine=1,
        seconds=10 + 20 * grown / machines,
        input_bytes=round(1e9 * grown),
    )
    return history.RecordedRun(job="report", number=number, past=past, profile=None, failed=False)


def test_a_run_is_predicted_from_those_before_it_and_on_other_machines_from_none_like_it():
    runs = [_past_run(number, machines) for number, machines in enumerate((2, 2, 4, 2, 4, 2, 2))]
    said = pd.DataFrame(history.said_of("report", runs)).set_index(["method", "run", "known"])
    of_all, model = said.loc[history.MODEL_OF_ALL], said.loc[history.MODEL]

    assert of_all.loc[(1, 1), "case"] == history.USUAL
    assert of_all.loc[(2, 2), "case"] == history.OTHER
    assert (4, 5) not in of_all.index
    assert (6, 5) in of_all.index
    # Of the usual machines alone, a model of the terms' own says nothing, and with both it is right.
    assert np.isnan(model.loc[(2, 2), "error"])
    assert model.loc[(6, 5), "error"] == pytest.approx(0.0, abs=0.03)


def _metrics(machines: int, scale: float) -> RunMetrics:
    """Of a job that caches 250 bytes of its whole input, on machines with room for 100."""
    wanted, room = 250 * scale, 100 * machines
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


def _run(index: int, machines: int, scale: float) -> RecordedRun:
    metrics = _metrics(machines, scale)
    again = 1.0 - (metrics.cache_share or 0.0)
    observation = Observation(
        index=index,
        machines=machines,
        scale=scale,
        seconds=10.0 + 100.0 * scale / machines * (1.0 + 4.0 * again),
        metrics=metrics,
    )
    return RecordedRun(setting="caching", observation=observation, is_short=is_short(observation))


SIZES = ((1, 0.1), (1, 0.3), (2, 0.2), (2, 0.5), (3, 1.0), (4, 1.0), (1, 0.6), (1, 1.0), (2, 1.0), (2, 1.5))
"""Machines and scale; the last four have too little memory."""


@pytest.fixture(scope="module")
def runs() -> Sequence[RecordedRun]:
    return [_run(index, machines, scale) for index, (machines, scale) in enumerate(SIZES)]


def test_a_run_is_predicted_from_the_other_side_alone_and_the_figures_announce_it(
    runs: Sequence[RecordedRun],
):
    assert [run.is_short for run in runs] == [False] * 6 + [True] * 4
    said = pd.DataFrame(evaluate(runs)).groupby("case")

    into, same = said.get_group(INTO_SHORTAGE), said.get_group(SAME_SIDE)
    assert list(zip(into["machines"], into["scale"], strict=True)) == list(SIZES[6:])
    assert list(zip(same["machines"], same["scale"], strict=True)) == list(SIZES)
    assert len(said.get_group(OUT_OF_SHORTAGE)) == 6
    assert set(into["known"]) == {6}
    assert set(said.get_group(SEEN_ONCE)["known"]) == {7}
    assert into["announced"].all()
