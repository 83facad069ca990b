"""Predictions across the edge at which cached data finds no room, against a simulated Spark."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.prediction.predict import (
    UNCACHED,
    ModelForecast,
    predict_interval,
    predict_seconds,
)
from airflow_provider_ernest.prediction.training import train
from tests import examples

ROOM, WANTED = 1_000_000_000, 2_500_000_000
"""Bytes of each machine, and of the whole input as it is cached: three machines hold it."""
READS, MAKING, READING = 8, 60.0, 6.0
"""Passes over the cached data, and run seconds of making the whole and of one pass over it."""

AMPLE = ((1, 0.1), (2, 0.1), (1, 0.2), (2, 0.4), (4, 0.4), (1, 0.35), (3, 0.8), (4, 1.0))
SHORT = ((1, 0.6), (1, 0.8), (2, 1.0), (1, 1.0), (2, 1.2), (3, 1.8))


def run(executors: int, scale: float, *, missed: float | None = None, **told: float) -> Observation:
    """What finds no room (or what tasks missed) is made again in each pass, by all machines."""
    wanted, room = WANTED * scale, ROOM * executors
    missing = max(0.0, 1.0 - room / wanted) if missed is None else missed
    reading = READS * scale * (READING + missing * MAKING)
    filling = scale * (MAKING + READING)
    metrics = examples.metrics(
        slots=executors,
        storage_memory_bytes=room,
        cache_wanted_bytes=round(wanted),
        cached_bytes=round(min(wanted, room)),
        cache_reads=float(READS),
        cache_filling_seconds=filling,
        cache_reading_seconds=reading,
        cache_falls_to_disk=False,
        cache_missed_share=missed,
        **told,
    )
    seconds = 10.0 + (filling + reading) / executors
    return Observation(index=0, executors=executors, scale=scale, seconds=seconds, metrics=metrics)


def counted(executors: int, scale: float, *, execution: int = 0) -> Observation:
    """The same where tasks tell what they missed: all that is not in whole partitions beside what else is."""
    wanted, partition = WANTED * scale, 100_000_000
    each, room = wanted / executors, ROOM - execution - partition
    missed = 0.0 if each <= room else 1.0 - room // partition * partition / each
    return run(
        executors,
        scale,
        missed=missed,
        peak_execution_memory_bytes=execution,
        cache_partitions=max(1, round(wanted / partition)),
        cache_missed_seconds=READS * scale * missed * (READING + MAKING),
    )


def runs(sizes: Sequence[tuple[int, float]]) -> list[Observation]:
    return [dataclasses.replace(run(*size), index=index) for index, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("known", "asked"), [(AMPLE, SHORT), (SHORT, AMPLE), ((*AMPLE, SHORT[0]), SHORT[1:])]
)
def test_what_is_made_again_is_foreseen_on_either_side(known, asked):
    model = train(runs(known), job="job")

    errors = []
    for executors, scale in asked:
        truth = run(executors, scale).seconds
        (seconds,) = predict_seconds(model, executors=executors, scale=scale)
        low, high = predict_interval(model, executors=executors, scale=scale, level=0.8)
        errors.append(abs(seconds / truth - 1))
        assert low[0] <= truth <= high[0]
    assert np.mean(errors) < 0.15


@pytest.mark.parametrize(("known", "asked"), [(AMPLE, SHORT), (SHORT, AMPLE)])
def test_what_tasks_missed_is_counted_and_foreseen_on_either_side(known, asked):
    """Of the room of a machine a partition stays free, for what a task makes again and cannot keep."""
    model = train([counted(*size) for size in known], job="job")

    errors = [
        predict_seconds(model, executors=executors, scale=scale)[0] / counted(executors, scale).seconds - 1
        for executors, scale in asked
    ]
    assert np.mean(np.abs(errors)) < 0.1


def test_data_that_nearly_fills_the_memory_is_partly_made_again():
    """960 MB in 1 GB, of which execution takes 200: the cache was full, and then lost what was displaced."""
    samples = ((1, 0.1), (2, 0.1), (1, 0.2), (2, 0.4), (4, 0.4))
    model = train([counted(*size, execution=200_000_000) for size in samples], job="job")
    tight = counted(2, 0.768, execution=200_000_000)

    (seconds,) = predict_seconds(model, executors=2, scale=0.768)
    assert seconds == pytest.approx(tight.seconds, rel=0.15)
    assert ModelForecast(model, executors=2, scale=0.768).contributions()[0][UNCACHED] > 5.0
    assert UNCACHED not in ModelForecast(model, executors=4, scale=0.768).contributions()[0]


def test_a_slow_run_is_slow_in_what_it_makes_again_too():
    """So the interval of a run that makes much again is in relation as wide as that of one that does not."""
    noise = dict(zip(AMPLE, (1.15, 0.87, 0.9, 1.1, 1.12, 0.9, 0.88, 1.1), strict=True))
    runs = [dataclasses.replace(run(*size), seconds=run(*size).seconds * noise[size]) for size in AMPLE]
    model = train(runs, job="job")

    def width(executors: int, scale: float) -> float:
        low, high = predict_interval(model, executors=executors, scale=scale, level=0.8)
        return float(high[0] / low[0])

    assert width(1, 1.0) >= width(1, 0.35)


def test_without_the_passes_figures_only_the_interval_says_it():
    bare = [
        dataclasses.replace(each, metrics=dataclasses.replace(each.metrics, cache_reads=None))
        for each in runs(AMPLE)
    ]
    (seconds,) = predict_seconds(train(bare, job="job"), executors=1, scale=1.0)
    assert seconds < 0.5 * run(1, 1.0).seconds


def test_what_falls_to_disk_costs_reading_it_back_and_not_making_it():
    on_disk = [
        dataclasses.replace(each, metrics=dataclasses.replace(each.metrics, cache_falls_to_disk=True))
        for each in runs(AMPLE)
    ]
    asked = {"executors": 1, "scale": 1.0}
    (dropped,) = predict_seconds(train(runs(AMPLE), job="job"), **asked)
    (kept,) = predict_seconds(train(on_disk, job="job"), **asked)
    (ample,) = predict_seconds(
        train([dataclasses.replace(r, metrics=None) for r in runs(AMPLE)], job="job"), **asked
    )
    # 1.5 GB missing, read 8 times.
    assert ample + 60 < kept < dropped


def test_contributions_and_probabilities_count_it_too():
    model = train(runs(AMPLE), job="job")
    asked = {"executors": 1, "scale": 1.0}

    (seconds,) = predict_seconds(model, **asked)
    assert sum(ModelForecast(model, **asked).contributions()[0].values()) == pytest.approx(seconds)
    _, high = predict_interval(model, **asked, level=0.8)
    assert ModelForecast(model, **asked).probability_within(high)[0] == pytest.approx(0.9, abs=0.02)
    assert ModelForecast(model, **asked).probability_within(seconds)[0] == pytest.approx(0.5, abs=0.03)
