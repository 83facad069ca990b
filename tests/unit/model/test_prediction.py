"""Predictions, what they are made of, and when they are beyond the observations."""

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.prediction import contributions, extrapolation, predict_seconds
from airflow_provider_ernest.model.training import train

from .paper import observe, seconds_of

MACHINES = [2, 4, 8, 16, 2, 16]
SCALE = [0.1, 0.1, 0.1, 0.1, 0.02, 0.05]


def model_of(job, **fields):
    seconds = seconds_of(job, machines=MACHINES, scale=SCALE)
    return train(observe(machines=MACHINES, scale=SCALE, seconds=seconds, **fields), job=job)


def test_seconds_for_many_configurations_at_once():
    model = model_of("regression", startup_seconds=40.0)

    seconds = predict_seconds(model, machines=[4, 45, 64], scale=1.0)

    np.testing.assert_allclose(seconds, seconds_of("regression", machines=[4, 45, 64], scale=1.0), rtol=1e-6)


def test_one_configuration_at_many_scales():
    model = model_of("pca")

    seconds = predict_seconds(model, machines=8, scale=[0.5, 1.0, 2.0])

    np.testing.assert_allclose(seconds, 6.86 + 0.02 * 8 + 208.44 / 8 * np.array([0.5, 1, 2]), rtol=1e-6)


def test_the_contributions_add_up_to_the_prediction():
    model = model_of("regression", iterations=2)

    for iterations in (None, 2, 40):
        parts = contributions(model, machines=32, scale=1.0, iterations=iterations)
        assert set(parts) == {term.name for term in model.terms}
        assert min(parts.values()) >= 0
        (total,) = predict_seconds(model, machines=32, scale=1.0, iterations=iterations)
        assert sum(parts.values()) == pytest.approx(total)


def test_all_but_the_fixed_work_iterates():
    model = model_of("regression", iterations=2)
    few = contributions(model, machines=32)
    many = contributions(model, machines=32, iterations=40)

    assert many.pop("1") == pytest.approx(few.pop("1"))
    assert many == pytest.approx({name: 20 * seconds for name, seconds in few.items()})


def test_without_a_number_of_iterations_it_is_the_trained_one():
    model = model_of("regression", iterations=2)

    assert predict_seconds(model, machines=32) == pytest.approx(
        predict_seconds(model, machines=32, iterations=2)
    )


def test_iterations_asked_of_a_model_that_knows_none():
    with pytest.raises(InvalidParameterError, match=r"iterations=40 .* trained without"):
        predict_seconds(model_of("pca"), machines=8, iterations=40)


@pytest.mark.parametrize(
    ("run", "named"),
    [
        ({"machines": 0}, r"machines\[0\]"),
        ({"machines": [1, float("nan")]}, r"machines\[1\]"),
        ({"machines": 1, "scale": 0.0}, r"scale\[0\]"),
        ({"machines": 1, "iterations": 0}, "iterations=0"),
    ],
)
def test_configurations_that_cannot_be(run, named):
    with pytest.raises(InvalidParameterError, match=named):
        predict_seconds(model_of("regression", iterations=2), **run)


@pytest.mark.parametrize(
    ("machines", "scale", "reason"),
    [
        (2, 1.0, ""),
        (16, 0.01, ""),
        (8, 2.0, ""),
        (45, 1.0, "45 machines: at most 16 were observed"),
        (1, 1.0, "1 machine: at least 2 were observed"),
        (8, 3.0, "scale 3: 30 times the largest observed, 0.1"),
        (64, 5.0, "64 machines: at most 16 were observed; scale 5: 50 times the largest observed, 0.1"),
    ],
)
def test_what_the_observations_do_not_support_is_told(machines, scale, reason):
    assert extrapolation(model_of("pca"), machines=machines, scale=scale) == reason
