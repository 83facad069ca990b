"""Profiles of OptEx from runs, recovered from runs that follow one."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from airflow_provider_ernest.documents import Observation
from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.prediction.optex import (
    JobProfile,
    MeasuredRun,
    OptexRegression,
    phases,
    predict,
    profile_from_phases,
    profile_from_runs,
    regressors,
)

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


def measured(*, machines, scale=1.0, iterations=1, profile=TRUE):
    return MeasuredRun(
        machines=machines,
        scale=scale,
        iterations=iterations,
        phases=phases(profile, machines=machines, scale=scale, iterations=iterations),
    )


def test_exact_runs_give_the_profile_back():
    regression = OptexRegression().fit(**RUNS, seconds=predict(TRUE, **RUNS))

    np.testing.assert_allclose(regression.profile_.coefficients, TRUE.coefficients, rtol=1e-6)
    asked = {"machines": [32, 64], "scale": 1.0, "iterations": 40}
    np.testing.assert_allclose(regression.predict(**asked), predict(TRUE, **asked), rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_noisy_runs_give_the_coefficients_of_scikit_learn(seed):
    generator = np.random.default_rng(seed)
    seconds = predict(TRUE, **RUNS) * generator.lognormal(0, 0.2, size=8)
    rows = regressors(**RUNS)
    oracle = LinearRegression(positive=True, fit_intercept=False).fit(
        rows, seconds, sample_weight=seconds**-2.0
    )

    regression = OptexRegression().fit(**RUNS, seconds=seconds)

    np.testing.assert_allclose(regression.profile_.coefficients, oracle.coef_, rtol=1e-6, atol=1e-9)
    assert regression.profile_.coefficients.min() >= 0


def test_observations_give_a_profile():
    seconds = predict(TRUE, **RUNS)
    observations = [
        Observation(index=index, machines=m, scale=s, iterations=i, seconds=float(t))
        for index, (m, s, i, t) in enumerate(
            zip(RUNS["machines"], RUNS["scale"], RUNS["iterations"], seconds, strict=True)
        )
    ]

    np.testing.assert_allclose(profile_from_runs(observations).coefficients, TRUE.coefficients, rtol=1e-6)


def test_jobs_that_do_not_iterate_need_no_iterations():
    runs = {"machines": [1, 2, 4, 8, 8, 2], "scale": [0.1, 0.1, 0.1, 0.1, 0.3, 0.3]}

    regression = OptexRegression().fit(**runs, seconds=predict(TRUE, **runs))

    np.testing.assert_allclose(
        regression.predict(machines=32, scale=1.0), predict(TRUE, machines=32), rtol=1e-6
    )


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


def test_a_measured_run_survives_storage():
    run = measured(machines=4, scale=0.5, iterations=3)

    assert MeasuredRun.from_dict(run.to_dict()) == run


def test_no_measured_run():
    with pytest.raises(TooFewObservationsError, match="at least one run"):
        profile_from_phases([])


def test_too_few_runs_name_both_numbers_and_the_other_way():
    with pytest.raises(TooFewObservationsError, match="3 observations cannot determine the 4") as caught:
        OptexRegression().fit(machines=[1, 2, 4], scale=0.1, seconds=[3.0, 2.0, 1.0])

    assert "profile_from_phases" in caught.value.remedy


def test_computation_and_communication_cannot_be_told_apart_on_one_scale():
    with pytest.raises(FitError, match=r'"iterations/machines", "scale/machines".*apart') as caught:
        OptexRegression().fit(machines=[1, 2, 4, 8, 16], scale=0.1, seconds=[9.0, 5.0, 3.0, 2.0, 2.0])

    assert "scale (1 different)" in caught.value.remedy


def test_what_is_not_determined_can_be_fitted_all_the_same():
    """As a method among others, which are given whatever runs there are."""
    machines = np.array([1, 2, 4, 8, 16])

    regression = OptexRegression().fit_undetermined(machines=machines, scale=0.1, seconds=5 + 40 / machines)

    assert regression.predict(machines=32, scale=0.1) == pytest.approx([5 + 40 / 32])


def test_fitting_without_runs():
    with pytest.raises(TooFewObservationsError, match="There is no run"):
        OptexRegression().fit_undetermined(machines=[], scale=[], seconds=[])


def test_seconds_of_another_length():
    with pytest.raises(InvalidParameterError, match="has 2 values for 8 runs"):
        OptexRegression().fit(**RUNS, seconds=[1.0, 2.0])


def test_seconds_that_are_none():
    with pytest.raises(InvalidParameterError, match=r"seconds\[3\]=nan"):
        OptexRegression().fit(**RUNS, seconds=[1.0, 2.0, 3.0, float("nan"), 5.0, 6.0, 7.0, 8.0])


def test_predicting_before_fitting():
    with pytest.raises(FitError, match="Call fit first"):
        OptexRegression().predict(machines=1, scale=1.0)
