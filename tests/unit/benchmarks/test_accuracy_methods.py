"""The methods that the accuracy benchmark compares: each finds what it can describe."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from airflow_provider_ernest.exceptions import FitError
from airflow_provider_ernest.prediction.terms import ERNEST, OPTEX
from benchmarks.accuracy.amdahl import BatchAmdahl, OnlineAmdahl
from benchmarks.accuracy.combination import Bell, LocalForecast
from benchmarks.accuracy.evaluation import pool
from benchmarks.accuracy.forms import LeastSquares
from benchmarks.accuracy.methods import all_methods
from benchmarks.accuracy.runs import Runs
from benchmarks.accuracy.timing import measure

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


def test_the_online_law_is_of_degree_0_where_there_is_one_scale() -> None:
    machines = np.array([4.0, 8.0, 16.0])
    forecast = OnlineAmdahl().fit(machines=machines, scale=np.ones(3), seconds=100 * (0.2 + 0.8 / machines))
    predicted = forecast.predict(machines=np.array([32.0]), scale=np.ones(1))
    assert predicted == pytest.approx([100 * (0.2 + 0.8 / 32)])


def test_bell_takes_the_line_where_ernest_does_not_fit() -> None:
    machines = np.arange(4.0, 44.0, 4.0)
    seconds = 100 - machines  # no sum of Ernest's terms falls in a line
    forecast = Bell().fit(machines=machines, scale=np.ones(10), seconds=seconds)
    assert isinstance(forecast, LocalForecast)
    inside = forecast.predict(machines=np.array([10.0, 30.0]), scale=np.ones(2))
    np.testing.assert_allclose(inside, [90, 70], rtol=0.01)


def test_local_lines_never_fall_to_zero() -> None:
    forecast = LocalForecast((np.array([1.0, 2.0]), np.ones(2), np.array([100.0, 10.0])), bandwidth=1.0)
    assert forecast.predict(machines=np.array([50.0]), scale=np.ones(1))[0] > 0


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_an_interval_is_that_of_the_regression(level: float) -> None:
    # Where no coefficient is held at 0, the interval is the textbook's: checked by its coverage.
    generator = np.random.default_rng(1)
    law = 20 + 300 * SCALE / MACHINES
    within = []
    for _ in range(400):
        seconds = law + generator.normal(0, 2, len(law))
        method = LeastSquares("m", terms=("1", "scale/machines"), weighting="absolute")
        forecast = method.fit(machines=MACHINES, scale=SCALE, seconds=seconds)
        low, high = forecast.interval(**TARGET, level=level)
        truth = 20 + 300 * TARGET["scale"] / TARGET["machines"] + generator.normal(0, 2, 2)
        within.append((low <= truth) & (truth <= high))
    assert np.mean(within) == pytest.approx(level, abs=0.03)


def test_relative_weights_are_those_of_weighted_least_squares() -> None:
    generator = np.random.default_rng(2)
    seconds = (20 + 300 * SCALE / MACHINES) * (1 + 0.1 * generator.standard_normal(12))
    columns = np.column_stack([np.ones(12), SCALE / MACHINES])
    oracle = LinearRegression(positive=True, fit_intercept=False).fit(columns, seconds, 1 / seconds**2)
    form = LeastSquares("f", terms=("1", "scale/machines"))
    fitted = form.fit(machines=MACHINES, scale=SCALE, seconds=seconds)
    np.testing.assert_allclose(fitted.coefficients_, oracle.coef_, rtol=1e-6)


def test_every_method_has_a_name_of_its_own_and_can_be_timed() -> None:
    methods = all_methods()
    assert len({method.name for method in methods}) == len(methods)
    times = measure(methods[0], repetitions=2)
    assert 0 <= times.fit <= times.answer
