"""Profiles of OptEx from runs, recovered from runs that follow one."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from airflow_provider_ernest.exceptions import FitError, TooFewObservationsError
from airflow_provider_ernest.prediction.optex import (
    JobProfile,
    phases,
    predict,
    profile_from_phases,
    profile_from_runs,
    regressors,
)
from tests.examples import observation, run_profile

TRUE = JobProfile(
    initialisation_seconds=20.0,
    preparation_seconds=13.0,
    baseline_variable_sharing_seconds=0.1,
    baseline_communication_seconds=360.0,
    unit_task_seconds=(40.0,),
)

RUNS = {
    "machines": [1, 2, 4, 8, 16, 4, 8, 2],
    "scale": [0.1, 0.1, 0.2, 0.2, 0.4, 0.4, 0.1, 0.3],
    "iterations": [1, 2, 1, 5, 5, 3, 1, 4],
}


def observed(seconds, **columns):
    """Runs of so many seconds, with the other columns by name."""
    rows = zip(*columns.values(), strict=True)
    return [
        observation(seconds=float(of_run), **dict(zip(columns, row, strict=True)))
        for of_run, row in zip(seconds, rows, strict=True)
    ]


def measured(*, machines, scale=1.0, iterations=None, profile=TRUE):
    of_run = phases(profile, machines=machines, scale=scale, iterations=iterations or 1)
    return run_profile(machines=machines, scale=scale, iterations=iterations, phases=of_run)


def test_exact_runs_give_the_profile_back():
    profile = profile_from_runs(observed(predict(TRUE, **RUNS), **RUNS))

    np.testing.assert_allclose(profile.coefficients, TRUE.coefficients, rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_noisy_runs_give_the_coefficients_of_scikit_learn(seed):
    generator = np.random.default_rng(seed)
    seconds = predict(TRUE, **RUNS) * generator.lognormal(0, 0.2, size=8)
    oracle = LinearRegression(positive=True, fit_intercept=False).fit(
        regressors(**RUNS), seconds, sample_weight=seconds**-2.0
    )

    profile = profile_from_runs(observed(seconds, **RUNS))

    np.testing.assert_allclose(profile.coefficients, oracle.coef_, rtol=1e-6, atol=1e-9)
    assert profile.coefficients.min() >= 0


def test_one_run_with_measured_phases_is_enough():
    profile = profile_from_phases([measured(machines=4, scale=0.5, iterations=3)])

    asked = {"machines": [1, 16, 64], "scale": 1.0, "iterations": 10}
    np.testing.assert_allclose(predict(profile, **asked), predict(TRUE, **asked), rtol=1e-12)
    assert profile.initialisation_seconds == 20.0
    assert profile.preparation_seconds == 13.0
    assert profile.baseline_scale == 0.5


def test_one_disturbed_run_among_seven_does_no_harm():
    slow = JobProfile.from_dict(
        {**TRUE.to_dict(), "initialisation_seconds": 500.0, "unit_task_seconds": [4000.0]}
    )
    runs = [
        measured(machines=m, scale=s) for m, s in [(1, 0.1), (2, 0.1), (4, 0.2), (8, 0.2), (8, 0.4), (2, 0.4)]
    ]

    profile = profile_from_phases([*runs, measured(machines=4, profile=slow)])

    np.testing.assert_allclose(profile.coefficients, TRUE.coefficients, rtol=1e-9)


def test_too_few_runs_name_both_numbers_and_the_other_way():
    runs = observed([3.0, 2.0, 1.0], machines=[1, 2, 4], scale=[0.1] * 3)

    with pytest.raises(TooFewObservationsError, match="3 observations cannot determine the 4") as caught:
        profile_from_runs(runs)

    assert "profile_from_phases" in caught.value.remedy


def test_computation_and_communication_cannot_be_told_apart_on_one_scale():
    runs = observed([9.0, 5.0, 3.0, 2.0, 2.0], machines=[1, 2, 4, 8, 16], scale=[0.1] * 5)

    with pytest.raises(FitError, match=r'"iterations/machines", "scale/machines".*apart') as caught:
        profile_from_runs(runs)

    assert "scale (1 different)" in caught.value.remedy
