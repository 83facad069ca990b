"""The closed form of OptEx: its phases, their sum, and what they grow with."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from airflow_provider_ernest.documents.profiles import PhaseSeconds
from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.prediction.optex import (
    JobProfile,
    job_profile,
    phases,
    predict,
    regressors,
)
from benchmarks.accuracy.optex import profile_from_runs
from tests.examples import observation, run_profile

# Tinit and Tprep are those of the paper's Table II; the other numbers are round ones of our own.
PROFILE = JobProfile(
    initialisation_seconds=20.0,
    preparation_seconds=13.0,
    baseline_variable_sharing_seconds=0.5,
    variable_sharing_coefficient=0.2,
    baseline_communication_seconds=60.0,
    communication_coefficient=1.5,
    unit_task_seconds=(4.0, 30.0, 6.0),
    baseline_scale=0.25,
)


def profile_with(**changes):
    fields = {name: getattr(PROFILE, name) for name in PROFILE.__dataclass_fields__}
    return JobProfile(**{**fields, **changes})


def test_the_phases_by_hand():
    # C = 0.1 s, B = 40 s, A = 360 s for the whole input.
    of_run = phases(PROFILE, executors=8, iterations=5, scale=1.0)

    assert of_run.initialisation_seconds == 20.0
    assert of_run.preparation_seconds == 13.0
    assert of_run.variable_sharing_seconds == pytest.approx(8 * 5 * 0.1)
    assert of_run.computation_seconds == pytest.approx(5 * 40 / 8)
    assert of_run.communication_seconds == pytest.approx(360 / 8)
    assert of_run.total_seconds == pytest.approx(20 + 13 + 4 + 25 + 45)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"initialisation_seconds": -1.0}, r"initialisation_seconds=-1\.0"),
        ({"variable_sharing_coefficient": math.inf}, "variable_sharing_coefficient=inf"),
        ({"unit_task_seconds": (1.0, -2.0, 3.0)}, r"unit_task_seconds\[1\]=-2\.0"),
    ],
)
def test_profiles_that_cannot_be(changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        profile_with(**changes)


# Profiles from runs.

TRUE = JobProfile(
    initialisation_seconds=20.0,
    preparation_seconds=13.0,
    baseline_variable_sharing_seconds=0.1,
    baseline_communication_seconds=360.0,
    unit_task_seconds=(40.0,),
)

RUNS = {
    "executors": [1, 2, 4, 8, 16, 4, 8, 2],
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


def measured(*, executors, scale=1.0, iterations=None, profile=TRUE):
    of_run = phases(profile, executors=executors, scale=scale, iterations=iterations or 1)
    return run_profile(executors=executors, scale=scale, iterations=iterations, phases=of_run)


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
    profile = job_profile([measured(executors=4, scale=0.5, iterations=3)])

    asked = {"executors": [1, 16, 64], "scale": 1.0, "iterations": 10}
    np.testing.assert_allclose(predict(profile, **asked), predict(TRUE, **asked), rtol=1e-12)
    assert profile.initialisation_seconds == 20.0
    assert profile.preparation_seconds == 13.0
    assert profile.baseline_scale == 0.5


def test_one_disturbed_run_among_seven_does_no_harm():
    slow = JobProfile.from_dict(
        {**TRUE.to_dict(), "initialisation_seconds": 500.0, "unit_task_seconds": [4000.0]}
    )
    runs = [measured(executors=m, scale=0.4) for m in (1, 2, 4, 8, 8, 2)]

    profile = job_profile([*runs, measured(executors=4, scale=0.4, profile=slow)])

    np.testing.assert_allclose(profile.coefficients, TRUE.coefficients, rtol=1e-9)


@pytest.mark.parametrize(
    ("executors", "error", "problem", "remedy"),
    [
        ([1, 2, 4], TooFewObservationsError, "3 observations cannot determine the 4", "job_profile"),
        (
            [1, 2, 4, 8, 16],
            FitError,
            r'"iterations/executors", "scale/executors".*apart',
            r"scale \(1 different\)",
        ),
    ],
)
def test_runs_that_do_not_determine_the_closed_form(executors, error, problem, remedy):
    runs = observed(
        [9.0, 5.0, 3.0, 2.0, 2.0][: len(executors)], executors=executors, scale=[0.1] * len(executors)
    )

    with pytest.raises(error, match=f"{problem}.*{remedy}"):
        profile_from_runs(runs)


def seconds(initialisation, preparation, sharing, computation, communication):
    return PhaseSeconds(
        initialisation_seconds=initialisation,
        preparation_seconds=preparation,
        variable_sharing_seconds=sharing,
        computation_seconds=computation,
        communication_seconds=communication,
    )


def test_samples_of_several_sizes_agree_on_the_unit_tasks():
    """Twice the input is twice the tasks: 80 s on 2 machines at 10 %, 80 s on 4 at 20 %."""
    runs = [
        run_profile(executors=2, scale=0.1, phases=seconds(5, 5, 0, 80, 10)),
        run_profile(executors=4, scale=0.2, phases=seconds(5, 5, 0, 80, 10)),
    ]

    profile = job_profile(runs)

    assert profile.baseline_scale == 0.2
    assert profile.unit_task_seconds == pytest.approx((320.0,))
