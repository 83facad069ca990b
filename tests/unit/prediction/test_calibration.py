"""Intervals become as wide as a deployment's own production runs say."""

from dataclasses import replace

import numpy as np
import pytest

from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.prediction.calibration import LIKELY, calibration_of, spread_factor
from airflow_provider_ernest.prediction.predict import (
    ModelForecast,
    predict_interval,
    predict_seconds,
    standardised_errors,
)
from airflow_provider_ernest.prediction.training import train

TRAINED_ON = [(1, 0.05), (1, 0.1), (2, 0.05), (2, 0.1), (4, 0.05), (4, 0.1), (3, 0.08)]


def normal(count, *, spread=1.0, seed=0):
    return tuple((spread * np.random.default_rng(seed).standard_normal(count)).tolist())


@pytest.fixture(scope="module")
def model():
    runs = [
        Observation(index=index, executors=executors, scale=scale, seconds=10.0 + 400.0 * scale / executors)
        for index, (executors, scale) in enumerate(TRAINED_ON)
    ]
    return train(runs, job="pca")


def with_errors(model, errors, *, executors=8):
    """The model as if it had learned from so many production runs, without what they took."""
    runs = tuple(
        Observation(index=100 + number, executors=executors, scale=1.0, seconds=60.0)
        for number in range(len(errors))
    )
    return replace(
        model,
        observations=(*model.observations, *runs),
        learned_from=tuple(str(run.index) for run in runs),
        standardised_errors=tuple(errors),
    )


def width(of, *, executors=8, level=0.8):
    low, high = predict_interval(of, executors=executors, level=level)
    return float(np.log(high / low)[0])


@pytest.mark.parametrize("spread", [1.0, 1.5, 2.5])
def test_the_more_runs_the_nearer_it_comes_to_how_they_scatter(spread):
    few, many = (
        np.median([spread_factor(normal(count, spread=spread, seed=seed)) for seed in range(50)])
        for count in (4, 50)
    )

    assert many == pytest.approx(spread, rel=0.15)
    assert 1.0 - 0.05 <= few <= many + 0.1


@pytest.mark.parametrize("error", [3.0, -8.0, 1e6])
def test_one_odd_run_does_not_make_all_intervals_wide(error):
    assert spread_factor((*normal(10), error)) < 1.2


def test_to_become_narrower_takes_more_runs_than_to_become_wider():
    wider, narrower = spread_factor(normal(8, spread=2.0)), spread_factor(normal(8, spread=0.5))

    assert 1.0 / narrower < wider
    assert 0.9 < narrower < 1.0
    assert spread_factor(normal(50, spread=0.5)) < 0.8


def test_intervals_and_probabilities_become_wider_and_predictions_stay(model):
    """Learned from the same runs: only what was said of them before differs."""
    errors = normal(20, spread=2.0)
    wrong = with_errors(model, errors)
    right, factor = replace(wrong, standardised_errors=()), spread_factor(errors)

    assert factor > 1.3
    for executors in (8, 32):
        assert width(wrong, executors=executors) == pytest.approx(factor * width(right, executors=executors))
        same = (predict_seconds(each, executors=executors)[0] for each in (right, wrong))
        assert next(same) == next(same)
    _, high = predict_interval(wrong, executors=8, level=0.8)
    assert ModelForecast(wrong, executors=8).probability_within(high)[0] == pytest.approx(0.9, abs=0.01)


def test_only_where_production_ran_intervals_become_narrower(model):
    known = with_errors(model, normal(50, spread=0.3))
    before = replace(known, standardised_errors=())

    assert width(known) < 0.8 * width(before)
    assert width(known, executors=9) == pytest.approx(width(before, executors=9))


def test_a_run_at_a_bound_is_as_far_as_that_bound(model):
    low, high = predict_interval(model, executors=8, level=0.8)

    (middle,) = predict_seconds(model, executors=8)
    errors = standardised_errors(model, executors=[8, 8, 8], seconds=[low[0], middle, high[0]])
    assert errors.tolist() == pytest.approx([-LIKELY, 0.0, LIKELY])


def test_errors_are_told_of_intervals_as_they_were_without_calibration(model):
    wider = with_errors(model, normal(20, spread=2.0))
    as_before = replace(wider, standardised_errors=())

    told, expected = (standardised_errors(each, executors=8, seconds=70.0) for each in (wider, as_before))
    assert told == pytest.approx(expected)


def test_what_production_says_of_intervals_is_told_in_a_sentence(model):
    told = calibration_of(with_errors(model, [2.0, -2.0, 0.1, 3.0, -2.5, 0.2, 2.2, 0.4]))

    assert told.sentence == (
        f"Intervals are {told.factor:.1f} times as wide as the model alone says: of the last 8 production "
        "runs 3 lay within its 80 % range."
    )
    assert calibration_of(model).sentence == ""
    assert calibration_of(with_errors(model, [0.5, -0.9])).sentence == ""
