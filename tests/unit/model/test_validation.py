"""Leave-one-out cross-validation against doing it by hand."""

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import TooFewObservationsError
from airflow_provider_ernest.model.regression import ErnestRegression
from airflow_provider_ernest.model.terms import ERNEST
from airflow_provider_ernest.model.validation import leave_one_out, undetermined_folds

from .paper import observe, seconds_of

MACHINES = [1, 2, 4, 8, 16, 1, 4, 16]
SCALE = [0.1, 0.1, 0.1, 0.1, 0.1, 0.02, 0.02, 0.05]
NOISE = np.array([1.05, 0.97, 1.02, 0.99, 1.04, 0.96, 1.01, 0.98])


def noisy_observations():
    seconds = seconds_of("regression", machines=MACHINES, scale=SCALE) * NOISE
    return observe(machines=MACHINES, scale=SCALE, seconds=seconds)


@pytest.mark.parametrize("weighting", ["relative", "absolute"])
def test_each_observation_is_predicted_from_all_the_others(weighting):
    observations = noisy_observations()

    validation = leave_one_out(ErnestRegression(weighting=weighting), observations)

    for position, (observation, fold) in enumerate(zip(observations, validation.folds, strict=True)):
        rest = [*observations[:position], *observations[position + 1 :]]
        by_hand = ErnestRegression(weighting=weighting).fit(
            machines=[run.machines for run in rest],
            scale=[run.scale for run in rest],
            seconds=[run.seconds for run in rest],
        )
        expected = by_hand.predict(machines=observation.machines, scale=observation.scale)[0]
        assert fold.predicted_seconds == pytest.approx(expected)
        assert (fold.index, fold.machines, fold.scale) == (
            observation.index,
            observation.machines,
            observation.scale,
        )
        assert fold.seconds == observation.seconds


def test_the_summary_is_that_of_the_folds():
    validation = leave_one_out(ErnestRegression(), noisy_observations())

    errors = [abs(fold.error_percent) for fold in validation.folds]
    assert validation.median_error_percent == pytest.approx(np.median(errors))
    assert validation.max_error_percent == pytest.approx(max(errors))
    residuals = [fold.predicted_seconds - fold.seconds for fold in validation.folds]
    assert validation.residual_sum_of_squares == pytest.approx(sum(residual**2 for residual in residuals))


def test_exact_runs_are_predicted_exactly():
    observations = observe(
        machines=MACHINES, scale=SCALE, seconds=seconds_of("pca", machines=MACHINES, scale=SCALE)
    )

    assert leave_one_out(ErnestRegression(), observations).max_error_percent < 1e-6


def test_the_regression_itself_is_not_changed():
    regression = ErnestRegression()
    leave_one_out(regression, noisy_observations())

    assert not hasattr(regression, "coefficients_")


def test_one_disturbed_run_shows():
    observations = noisy_observations()
    disturbed = observe(
        machines=MACHINES,
        scale=SCALE,
        seconds=[run.seconds * (3 if run.index == 4 else 1) for run in observations],
    )

    before = leave_one_out(ErnestRegression(), observations)
    after = leave_one_out(ErnestRegression(), disturbed)

    assert after.max_error_percent > 3 * before.max_error_percent


def test_with_as_many_runs_as_terms_no_fold_is_determined_and_the_error_is_rather_too_large():
    machines, scale = [1, 4, 16, 1], [0.1, 0.1, 0.1, 0.02]
    observations = observe(
        machines=machines, scale=scale, seconds=seconds_of("kmeans", machines=machines, scale=scale)
    )

    validation = leave_one_out(ErnestRegression(), observations)

    assert len(undetermined_folds(ERNEST, observations)) == 4
    # All four runs give the true model, without noise: its real error is 0.
    assert validation.median_error_percent > 10


def test_only_the_folds_that_miss_a_machine_count_are_undetermined():
    observations = observe(
        machines=[1, 1, 4, 4, 16, 1], scale=[0.1, 0.05, 0.1, 0.05, 0.1, 0.02], seconds=[9.0] * 6
    )

    assert [run.machines for run in undetermined_folds(ERNEST, observations)] == [16]


@pytest.mark.parametrize("count", [0, 1])
def test_a_single_run_cannot_be_cross_validated(count):
    with pytest.raises(TooFewObservationsError, match=f"{count} observations"):
        leave_one_out(ErnestRegression(terms=("1",)), noisy_observations()[:count])
