"""The estimator against scikit-learn's non-negative least squares, and what it refuses."""

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.linear_model import LinearRegression

from airflow_provider_ernest.exceptions import FitError, TooFewObservationsError
from airflow_provider_ernest.prediction.regression import ErnestRegression
from airflow_provider_ernest.prediction.terms import ERNEST, TERMS, basis

RUNS = {
    "machines": [1, 2, 4, 8, 16, 1, 4, 16],
    "scale": [0.1, 0.1, 0.1, 0.1, 0.1, 0.02, 0.02, 0.05],
    "seconds": [61.0, 33.5, 20.2, 13.9, 12.2, 14.1, 7.9, 9.8],
}


def runs_with(**changes):
    return {**RUNS, **changes}


def noisy_runs(seed):
    generator = np.random.default_rng(seed)
    machines = generator.integers(1, 33, size=14)
    scale = generator.uniform(0.01, 0.5, size=14)
    true = generator.uniform(0, 50, size=4) * (generator.random(4) < 0.6) + np.array([1.0, 0, 0, 0])
    seconds = basis(ERNEST, machines=machines, scale=scale) @ true * generator.lognormal(0, 0.1, size=14)
    return {"machines": machines, "scale": scale, "seconds": seconds}


@pytest.mark.parametrize("weighting", ["relative", "absolute"])
@pytest.mark.parametrize("seed", range(10))
def test_the_coefficients_of_scikit_learn(weighting, seed):
    runs = noisy_runs(seed)
    rows = basis(ERNEST, machines=runs["machines"], scale=runs["scale"])
    weights = runs["seconds"] ** -2.0 if weighting == "relative" else None
    oracle = LinearRegression(positive=True, fit_intercept=False).fit(
        rows, runs["seconds"], sample_weight=weights
    )

    regression = ErnestRegression(weighting=weighting).fit(**runs)

    np.testing.assert_allclose(regression.coefficients_, oracle.coef_, rtol=1e-6, atol=1e-9)


def test_long_runs_do_not_drown_short_ones():
    # A disturbance of one percent of the long run is half of the short one.
    machines, scale = [1, 2, 4, 8, 16, 16], [1.0, 1.0, 1.0, 1.0, 1.0, 0.01]
    true = basis(ERNEST, machines=machines, scale=scale) @ np.array([5.0, 1000.0, 0.0, 0.0])
    disturbed = true * np.array([1.01, 0.99, 1.01, 0.99, 1.01, 1.0])

    errors = {}
    for weighting in ("relative", "absolute"):
        regression = ErnestRegression(weighting=weighting).fit(
            machines=machines, scale=scale, seconds=disturbed
        )
        errors[weighting] = abs(float(regression.predict(machines=16, scale=0.01)[0]) / true[-1] - 1)
    assert errors["relative"] < errors["absolute"]
    assert errors["relative"] < 0.03


def test_all_known_terms_are_recovered_from_exact_runs():
    terms = tuple(TERMS)
    true = np.arange(1.0, len(terms) + 1)
    machines, scale = (grid.ravel() for grid in np.meshgrid([1, 2, 3, 5, 8, 13, 21], [0.05, 0.2, 0.6, 1.0]))
    seconds = basis(terms, machines=machines, scale=scale) @ true

    regression = ErnestRegression(terms=terms).fit(machines=machines, scale=scale, seconds=seconds)

    np.testing.assert_allclose(regression.coefficients_, true, rtol=1e-6)


def test_runs_on_one_machine_count_name_the_terms_and_the_remedy():
    with pytest.raises(FitError, match=r'"1", "log\(machines\)", "machines" apart.*at least 3') as caught:
        ErnestRegression().fit(machines=[4] * 6, scale=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], seconds=[5.0] * 6)

    assert not isinstance(caught.value, TooFewObservationsError)


@pytest.mark.parametrize("weighting", ["relative", "absolute"])
def test_intervals_of_its_own_kind_of_job_contain_new_runs_as_often_as_they_say(weighting):
    """300 jobs of fixed and spreading work, ten runs each: the share has a standard deviation of 2 %.

    Errors are of the kind that the weighting assumes: a share of the time, or seconds.
    """
    machines, scale = np.array([1, 2, 4, 8, 16, 1, 4, 8, 16, 2]), np.array([0.1] * 5 + [0.03] * 5)
    terms, job = ("1", "scale/machines"), np.array([10.0, 400.0])
    runs, target = {"machines": machines, "scale": scale}, {"machines": 8, "scale": 1.0}
    inside = {0.8: [], 0.95: []}
    for seed in range(300):
        generator = np.random.default_rng(seed)
        *seconds, new_run = [
            true + (0.05 * true if weighting == "relative" else 0.5) * generator.standard_normal()
            for each in (runs, target)
            for true in basis(terms, **each) @ job
        ]
        regression = ErnestRegression(terms=terms, weighting=weighting).fit(**runs, seconds=seconds)
        for level, counted in inside.items():
            (low,), (high,) = regression.interval(**target, level=level)
            counted.append(low < new_run < high)

    assert np.mean(inside[0.8]) == pytest.approx(0.8, abs=0.06)
    assert np.mean(inside[0.95]) == pytest.approx(0.95, abs=0.035)


def test_the_interval_is_that_of_least_squares():
    """On the logarithm: Student's t with the standard error of the prediction and a single run's noise."""
    terms = ("1", "scale/machines")
    rows = basis(terms, machines=RUNS["machines"], scale=RUNS["scale"])
    seconds = np.array(RUNS["seconds"])
    regression = ErnestRegression(terms=terms).fit(**RUNS)
    (low,), (high,) = regression.interval(machines=4, scale=0.5, level=0.9)

    shares = rows / seconds[:, None]
    coefficients = np.linalg.lstsq(shares, np.ones(8), rcond=None)[0]
    noise = np.sqrt(np.sum((1 - shares @ coefficients) ** 2) / 6)
    row = np.array([1.0, 0.5 / 4])
    predicted = row @ coefficients
    variance = 1 + row @ np.linalg.inv(shares.T @ shares) @ row / predicted**2
    distance = student.ppf(0.95, 6) * noise * np.sqrt(variance)
    assert (low, high) == pytest.approx((predicted * np.exp(-distance), predicted * np.exp(distance)))


def test_runs_that_the_terms_go_through_still_leave_some_noise():
    seconds = basis(ERNEST, machines=RUNS["machines"], scale=RUNS["scale"]) @ np.array([5.0, 100.0, 1.0, 0.1])

    (low,), (high,) = (
        ErnestRegression().fit(**runs_with(seconds=seconds)).interval(machines=4, scale=0.1, level=0.8)
    )

    assert 1.01 < high / low < 1.2


@pytest.mark.parametrize("block", range(2))
def test_classic_says_something_finite_of_random_jobs_or_names_the_run(block):
    refused = 0
    for seed in range(250 * block, 250 * (block + 1)):
        generator = np.random.default_rng([seed, 77])
        count = generator.integers(5, 9)
        machines = generator.choice([1, 2, 3, 4, 6, 8, 12, 16, 24, 32], count)
        scale = generator.uniform(0.005, 0.2, count)
        work, fixed = 10 ** generator.uniform(0, 5), 10 ** generator.uniform(-2, 2)
        seconds = work * scale / machines + fixed * (generator.random() < 0.5)
        seconds += generator.choice([0, 1, 5]) * np.log(machines) + generator.choice([0, 0.1, 1]) * machines
        seconds *= np.exp(generator.choice([0.03, 0.1, 0.3]) * generator.standard_normal(count))
        regression = ErnestRegression(weighting="absolute")
        try:
            regression.fit(machines=machines, scale=scale, seconds=seconds)
        except FitError as error:
            refused += "machines at scale" in error.message
            continue
        targets = {"machines": np.tile([1, 4, 16, 64], 3), "scale": np.repeat([0.01, 0.1, 1.0], 4)}
        predicted = regression.predict(**targets)
        low, high = regression.interval(**targets, level=0.95)
        within = regression.probability_within(**targets, limits=high)
        assert np.all((low > 0) & (low < predicted) & (predicted < high) & (high < 1e9)), seed
        assert within == pytest.approx(0.975), seed
    assert refused < 10


def test_least_squares_by_which_one_machine_takes_no_time_are_refused_with_the_run():
    regression = ErnestRegression(terms=("scale", "log(machines)"), weighting="absolute")

    with pytest.raises(FitError, match=r"one machine takes no time.* the run on 2 machines at scale 0\.1"):
        regression.fit(machines=[2, 4, 8, 16], scale=[0.1, 0.2, 0.1, 0.2], seconds=[1.0, 13.0, 20.0, 28.0])
