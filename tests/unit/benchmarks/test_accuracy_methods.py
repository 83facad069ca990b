"""The methods that the accuracy benchmark compares: each finds what it can describe."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from airflow_provider_ernest.exceptions import FitError
from airflow_provider_ernest.prediction.terms import ERNEST, OPTEX
from benchmarks.accuracy.amdahl import BatchAmdahl, OnlineAmdahl
from benchmarks.accuracy.combination import Bell
from benchmarks.accuracy.evaluation import pool
from benchmarks.accuracy.forms import LeastSquares
from benchmarks.accuracy.methods import all_methods
from benchmarks.accuracy.runs import Runs

MACHINES = np.tile([1.0, 2.0, 4.0, 8.0], 3)
SCALE = np.repeat([0.1, 0.2, 0.4], 4)
TARGET = {"machines": np.array([16.0, 64.0]), "scale": np.array([1.0, 0.5])}


def ernest(weighting: str) -> LeastSquares:
    return LeastSquares("Ernest", terms=ERNEST, weighting=weighting)


@pytest.mark.parametrize(
    ("method", "law"),
    [
        (ernest("absolute"), lambda m, s: 5 + 300 * s / m + 2 * np.log(m) + 0.1 * m),
        (ernest("relative"), lambda m, s: 5 + 300 * s / m + 2 * np.log(m) + 0.1 * m),
        (LeastSquares("OptEx", terms=OPTEX), lambda m, s: 5 + 0.3 * m + 20 / m + 300 * s / m),
        (BatchAmdahl(), lambda m, s: (5 + 300 * s) * (0.2 + 0.8 / m)),
        (BatchAmdahl(), lambda m, s: (5 + 300 * s) / m),
        (OnlineAmdahl(), lambda m, s: (5 + 300 * s) * (0.2 + 0.8 / m)),
        (Bell(), lambda m, s: 5 + 300 * s / m + 2 * np.log(m) + 0.1 * m),
    ],
)
def test_a_law_of_the_form_is_found_exactly(method, law) -> None:
    forecast = method.fit(machines=MACHINES, scale=SCALE, seconds=law(MACHINES, SCALE))
    expected = law(TARGET["machines"], TARGET["scale"])
    np.testing.assert_allclose(forecast.predict(**TARGET), expected, rtol=1e-3)


def test_runs_that_determine_little_are_predicted_from_or_refused() -> None:
    alike = {"machines": np.array([2.0, 2.0, 2.0]), "scale": np.array([0.1, 0.2, 0.4])}
    seconds = np.array([10.0, 15.0, 24.0])
    for method in all_methods():
        fitting = pool(method, [Runs(**alike, seconds=seconds)])
        try:
            predicted = fitting.fit(**alike, seconds=seconds).predict(**TARGET)
        except FitError:
            continue
        assert (predicted > 0).all(), method.name


def test_relative_weights_are_those_of_weighted_least_squares() -> None:
    generator = np.random.default_rng(2)
    seconds = (20 + 300 * SCALE / MACHINES) * (1 + 0.1 * generator.standard_normal(12))
    columns = np.column_stack([np.ones(12), SCALE / MACHINES])
    oracle = LinearRegression(positive=True, fit_intercept=False).fit(columns, seconds, 1 / seconds**2)
    form = LeastSquares("f", terms=("1", "scale/machines"))
    fitted = form.fit(machines=MACHINES, scale=SCALE, seconds=seconds)
    np.testing.assert_allclose(fitted.coefficients_, oracle.coef_, rtol=1e-6)
