"""The estimator against scikit-learn's non-negative least squares, and what it refuses."""

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.stats import t as student
from sklearn.linear_model import LinearRegression

from airflow_provider_ernest.exceptions import FitError
from airflow_provider_ernest.prediction.regression import (
    ErnestRegression,
    non_negative_least_squares,
    undetermined_terms,
)
from airflow_provider_ernest.prediction.terms import ERNEST, basis

RUNS = {
    "executors": [1, 2, 4, 8, 16, 1, 4, 16],
    "scale": [0.1, 0.1, 0.1, 0.1, 0.1, 0.02, 0.02, 0.05],
    "seconds": [61.0, 33.5, 20.2, 13.9, 12.2, 14.1, 7.9, 9.8],
}


def runs_with(**changes):
    return {**RUNS, **changes}


def noisy_runs(seed):
    generator = np.random.default_rng(seed)
    executors = generator.integers(1, 33, size=14)
    scale = generator.uniform(0.01, 0.5, size=14)
    true = generator.uniform(0, 50, size=4) * (generator.random(4) < 0.6) + np.array([1.0, 0, 0, 0])
    seconds = basis(ERNEST, executors=executors, scale=scale) @ true * generator.lognormal(0, 0.1, size=14)
    return {"executors": executors, "scale": scale, "seconds": seconds}


@pytest.mark.parametrize("weighting", ["relative", "absolute"])
@pytest.mark.parametrize("seed", range(10))
def test_the_coefficients_of_scikit_learn(weighting, seed):
    runs = noisy_runs(seed)
    rows = basis(ERNEST, executors=runs["executors"], scale=runs["scale"])
    weights = runs["seconds"] ** -2.0 if weighting == "relative" else None
    oracle = LinearRegression(positive=True, fit_intercept=False).fit(
        rows, runs["seconds"], sample_weight=weights
    )

    regression = ErnestRegression(weighting=weighting).fit(**runs)

    np.testing.assert_allclose(regression.coefficients_, oracle.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("weighting", ["relative", "absolute"])
def test_the_interval_is_that_of_least_squares(weighting):
    """On the logarithm: Student's t with the standard error of the prediction and a single run's noise."""
    terms = ("1", "scale/executors")
    rows = basis(terms, executors=RUNS["executors"], scale=RUNS["scale"])
    seconds = np.array(RUNS["seconds"])
    regression = ErnestRegression(terms=terms, weighting=weighting).fit(**RUNS)
    (low,), (high,) = regression.interval(executors=4, scale=0.5, level=0.9)

    weights = 1.0 / seconds if weighting == "relative" else np.ones(8)
    weighted = rows * weights[:, None]
    coefficients = np.linalg.lstsq(weighted, seconds * weights, rcond=None)[0]
    noise = np.sqrt(np.sum((seconds * weights - weighted @ coefficients) ** 2) / 6)
    row = np.array([1.0, 0.5 / 4])
    predicted = row @ coefficients
    of_a_run = predicted if weighting == "relative" else 1.0
    error = noise * np.sqrt(of_a_run**2 + row @ np.linalg.inv(weighted.T @ weighted) @ row)
    distance = student.ppf(0.95, 6) * error / predicted
    assert (low, high) == pytest.approx((predicted * np.exp(-distance), predicted * np.exp(distance)))


def test_runs_that_the_terms_go_through_still_leave_some_noise():
    seconds = basis(ERNEST, executors=RUNS["executors"], scale=RUNS["scale"]) @ np.array(
        [5.0, 100.0, 1.0, 0.1]
    )

    (low,), (high,) = (
        ErnestRegression().fit(**runs_with(seconds=seconds)).interval(executors=4, scale=0.1, level=0.8)
    )

    assert 1.01 < high / low < 1.2


def test_least_squares_by_which_one_machine_takes_no_time_are_refused_with_the_run():
    regression = ErnestRegression(terms=("scale", "log(executors)"), weighting="absolute")

    with pytest.raises(FitError, match=r"of size 1 takes no time.* the run of size 2 at scale 0\.1"):
        regression.fit(executors=[2, 4, 8, 16], scale=[0.1, 0.2, 0.1, 0.2], seconds=[1.0, 13.0, 20.0, 28.0])


# Where scipy's active set goes in circles.


def test_a_column_of_zeros_and_columns_that_are_the_same():
    rows = np.array([[1.0, 0.0, 2.0, 2.0], [1.0, 0.0, 3.0, 3.0], [1.0, 0.0, 7.0, 7.0]])

    found = non_negative_least_squares(rows, rows @ np.array([2.0, 0.0, 1.0, 0.0]))

    assert np.all(np.isfinite(found))
    assert found.min() >= 0
    np.testing.assert_allclose(rows @ found, [4.0, 5.0, 9.0], rtol=1e-9)


@pytest.fixture
def cycling_nnls(monkeypatch):
    """An active set method that always gives up."""

    def give_up(*_, **__):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr("airflow_provider_ernest.prediction.regression.nnls", give_up)


@pytest.mark.usefixtures("cycling_nnls")
@pytest.mark.parametrize("seed", range(5))
def test_where_the_active_set_method_gives_up_another_finds_the_same(seed):
    generator = np.random.default_rng(seed)
    rows = generator.uniform(0, 1, size=(12, 5))
    values = rows @ generator.normal(0.5, 1.0, size=5) + generator.normal(0, 0.3, size=12)

    expected, _ = nnls(rows, values)
    found = non_negative_least_squares(rows, values)

    np.testing.assert_allclose(found, expected, atol=1e-6 * expected.max())
    assert found.min() >= 0


# Runs that cannot tell terms apart are recognised, and the advice given makes them do so.


def undetermined(executors, scale, terms=ERNEST):
    return undetermined_terms(basis(terms, executors=executors, scale=scale), terms)


@pytest.mark.parametrize("counts", [[1, 2], [3], [2, 40]])
def test_following_the_advice_helps(counts):
    executors, scale = (grid.ravel() for grid in np.meshgrid(np.array(counts, float), [0.01, 0.05, 0.1]))
    with pytest.raises(FitError, match=r'"1", "log\(executors\)", "executors" apart.*at least 3'):
        ErnestRegression().fit(
            executors=[*executors, *executors], scale=[*scale, *scale * 0.5], seconds=[5.0] * 2 * len(scale)
        )
    assert undetermined(executors, scale) == ("1", "log(executors)", "executors")

    more = [count + 5 for count in range(3 - len(counts))]
    assert undetermined([*executors, *more], [*scale, *([0.1] * len(more))]) == ()


# Quantiles of mixtures against their exact distribution, and intervals that are widened.
