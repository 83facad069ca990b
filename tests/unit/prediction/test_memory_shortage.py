"""Predictions across the edge at which cached data finds no room, against a simulated Spark."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from airflow_provider_ernest.documents import Observation
from airflow_provider_ernest.prediction.predict import (
    UNCACHED,
    contributions,
    contributions_of_runs,
    predict_interval,
    predict_seconds,
    probability_within,
)
from airflow_provider_ernest.prediction.training import train
from tests import examples

ROOM, WANTED = 1_000_000_000, 2_500_000_000
"""Bytes of each machine, and of the whole input as it is cached: three machines hold it."""
READS, MAKING, READING = 8, 60.0, 6.0
"""Passes over the cached data, and run seconds of making the whole and of one pass over it."""

AMPLE = ((1, 0.1), (2, 0.1), (1, 0.2), (2, 0.4), (4, 0.4), (1, 0.35), (3, 0.8), (4, 1.0))
SHORT = ((1, 0.6), (1, 0.8), (2, 1.0), (1, 1.0), (2, 1.2), (3, 1.8))


def run(machines: int, scale: float, *, warm_up: float = 0.0) -> Observation:
    """What finds no room is made again in each pass, by all machines; the first pass warms each up."""
    wanted, room = WANTED * scale, ROOM * machines
    missing = max(0.0, 1.0 - room / wanted)
    reading = READS * scale * (READING + missing * MAKING)
    filling = scale * (MAKING + READING) + warm_up * machines
    metrics = examples.metrics(
        slots=machines,
        storage_memory_bytes=room,
        cache_wanted_bytes=round(wanted),
        cached_bytes=round(min(wanted, room)),
        cache_reads=float(READS),
        cache_filling_seconds=filling,
        cache_reading_seconds=reading,
        cache_falls_to_disk=False,
    )
    seconds = 10.0 + (filling + reading) / machines
    return Observation(index=0, machines=machines, scale=scale, seconds=seconds, metrics=metrics)


def runs(sizes: Sequence[tuple[int, float]]) -> list[Observation]:
    return [dataclasses.replace(run(*size), index=index) for index, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("known", "asked"), [(AMPLE, SHORT), (SHORT, AMPLE), ((*AMPLE, SHORT[0]), SHORT[1:])]
)
def test_what_is_made_again_is_foreseen_on_either_side(known, asked):
    model = train(runs(known), job="job")

    errors = []
    for machines, scale in asked:
        truth = run(machines, scale).seconds
        (seconds,) = predict_seconds(model, machines=machines, scale=scale)
        low, high = predict_interval(model, machines=machines, scale=scale, level=0.8)
        errors.append(abs(seconds / truth - 1))
        assert low[0] <= truth <= high[0]
    assert np.mean(errors) < 0.15


def test_what_each_machine_takes_to_warm_up_is_not_made_again():
    known = [run(*size, warm_up=12.0) for size in AMPLE]
    errors = [
        predict_seconds(train(known, job="job"), machines=machines, scale=scale)[0]
        / run(machines, scale, warm_up=12.0).seconds
        - 1
        for machines, scale in SHORT
    ]
    assert np.mean(np.abs(errors)) < 0.15


def test_without_the_passes_figures_only_the_interval_says_it():
    bare = [
        dataclasses.replace(each, metrics=dataclasses.replace(each.metrics, cache_reads=None))
        for each in runs(AMPLE)
    ]
    (seconds,) = predict_seconds(train(bare, job="job"), machines=1, scale=1.0)
    assert seconds < 0.5 * run(1, 1.0).seconds


def test_what_falls_to_disk_costs_reading_it_back_and_not_making_it():
    on_disk = [
        dataclasses.replace(each, metrics=dataclasses.replace(each.metrics, cache_falls_to_disk=True))
        for each in runs(AMPLE)
    ]
    asked = {"machines": 1, "scale": 1.0}
    (dropped,) = predict_seconds(train(runs(AMPLE), job="job"), **asked)
    (kept,) = predict_seconds(train(on_disk, job="job"), **asked)
    (ample,) = predict_seconds(
        train([dataclasses.replace(r, metrics=None) for r in runs(AMPLE)], job="job"), **asked
    )
    # 1.5 GB missing, read 8 times.
    assert ample + 60 < kept < dropped


def test_contributions_and_probabilities_count_it_too():
    model = train(runs(AMPLE), job="job")
    asked = {"machines": 1, "scale": 1.0}

    (seconds,) = predict_seconds(model, **asked)
    assert sum(contributions(model, **asked).values()) == pytest.approx(seconds)
    _, high = predict_interval(model, **asked, level=0.8)
    assert probability_within(model, **asked, seconds=high)[0] == pytest.approx(0.9, abs=0.02)
    assert probability_within(model, **asked, seconds=seconds)[0] == pytest.approx(0.5, abs=0.03)


def test_the_parts_of_all_runs_of_a_curve_are_the_same():
    model = train(runs(AMPLE), job="job")
    few, many = contributions_of_runs(model, machines=[1, 4], scale=1.0)
    assert few.keys() == many.keys()
    assert few[UNCACHED] > 0 == many[UNCACHED]


def test_leaving_one_out_counts_it_too():
    model = train(runs((*AMPLE, *SHORT[:3])), job="job")
    assert model.validation.max_error_percent < 15
