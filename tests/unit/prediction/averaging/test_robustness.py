"""Runs that do not belong to the others: disturbed, or short of memory."""

import numpy as np
import pytest

from airflow_provider_ernest.prediction.regression import ErnestRegression

from .jobs import PLAIN, fitted, runs_of, seconds_of


@pytest.mark.parametrize("position", range(7))
def test_one_bad_run_among_seven_is_named_and_does_little_harm(position):
    runs = runs_of(PLAIN, noise=0.02, seed=1)
    runs["seconds"][position] *= 1.7
    target = {"machines": 32, "scale": 1.0}
    truth = seconds_of(PLAIN, **target)

    averaging = fitted(runs)
    classic = ErnestRegression(weighting="absolute").fit_undetermined(**runs)

    error, of_classic = (abs(float((each.predict(**target) / truth)[0]) - 1) for each in (averaging, classic))
    assert error < 0.08
    assert error < max(0.5 * of_classic, 0.05)
    assert int(np.argmax(averaging.disturbed_)) == position
    assert averaging.disturbed_[position] > 0.5
    assert np.delete(averaging.disturbed_, position).max() < 0.3


@pytest.mark.parametrize("seed", range(4))
def test_good_runs_are_not_accused(seed):
    assert fitted(runs_of(PLAIN, noise=0.03, seed=seed)).disturbed_.max() < 0.3


@pytest.mark.parametrize("times", [3.0, 5.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_runs_short_of_memory_do_not_spoil_predictions_for_more_machines(seed, times):
    """The two runs with the most data for each machine spill and take many times as long."""
    machines, scale = np.array([2, 4, 8, 16, 2, 4, 8, 16]), np.array([0.1] * 4 + [0.02] * 3 + [0.05])
    job = {"1": 10.0, "scale/machines": 400.0}
    runs = runs_of(job, machines=machines, scale=scale, noise=0.01, seed=seed)
    spilling = np.argsort(-scale / machines)[:2]
    runs["seconds"][spilling] *= times
    target = {"machines": [32, 64], "scale": 1.0}
    truth = seconds_of(job, **target)

    averaging = fitted(runs)

    np.testing.assert_allclose(averaging.predict(**target), truth, rtol=0.12)
    assert averaging.disturbed_[spilling].min() > 0.9
    assert np.delete(averaging.disturbed_, spilling).max() < 0.1
    spoilt = ErnestRegression(weighting="absolute").fit(**runs).predict(**target)
    assert np.all(np.abs(spoilt / truth - 1) > 0.5)
