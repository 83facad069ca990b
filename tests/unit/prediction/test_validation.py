"""Leave-one-out cross-validation against doing it by hand."""

from dataclasses import replace

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import TooFewObservationsError
from airflow_provider_ernest.prediction.regression import ErnestRegression
from airflow_provider_ernest.prediction.terms import ERNEST
from airflow_provider_ernest.prediction.training import leave_one_out, undetermined_folds
from benchmarks.table1 import seconds_of
from tests import examples
from tests.examples import observe

MACHINES = [1, 2, 4, 8, 16, 1, 4, 16]
SCALE = [0.1, 0.1, 0.1, 0.1, 0.1, 0.02, 0.02, 0.05]
NOISE = np.array([1.05, 0.97, 1.02, 0.99, 1.04, 0.96, 1.01, 0.98])


def noisy_observations():
    seconds = seconds_of("regression", machines=MACHINES, scale=SCALE) * NOISE
    return observe(machines=MACHINES, scale=SCALE, seconds=seconds)


@pytest.mark.parametrize("weighting", ["relative", "absolute"])
def test_each_observation_is_predicted_from_all_the_others(weighting):
    observations = noisy_observations()

    validation = leave_one_out(lambda: ErnestRegression(weighting=weighting), observations)

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
    validation = leave_one_out(ErnestRegression, noisy_observations())

    errors = [abs(fold.error_percent) for fold in validation.folds]
    assert validation.median_error_percent == pytest.approx(np.median(errors))
    assert validation.max_error_percent == pytest.approx(max(errors))
    residuals = [fold.predicted_seconds - fold.seconds for fold in validation.folds]
    assert validation.residual_sum_of_squares == pytest.approx(sum(residual**2 for residual in residuals))


def test_repetitions_are_left_out_together_and_do_not_predict_each_other():
    once = noisy_observations()
    repeated = [*once, replace(once[2], index=8, seconds=3.0 * once[2].seconds)]

    with_repetition = leave_one_out(ErnestRegression, repeated).folds

    without_it = leave_one_out(ErnestRegression, once).folds[2].predicted_seconds
    assert [fold.index for fold in with_repetition] == list(range(9))
    assert with_repetition[2].predicted_seconds == pytest.approx(without_it)
    assert with_repetition[8].predicted_seconds == pytest.approx(without_it)
    assert with_repetition[8].seconds == 3.0 * once[2].seconds


def test_machines_without_tasks_do_not_count_in_the_folds_either():
    """16 tasks on 4 slots a machine: beyond 4 machines nothing becomes faster, and that is known."""
    metrics = examples.metrics(
        dominant_stage_tasks=16,
    )
    machines, scale = [1, 2, 4, 8, 16, 8], [0.1, 0.1, 0.1, 0.1, 0.1, 0.05]
    seconds = [5.0 + 300.0 * share / min(count, 4) for count, share in zip(machines, scale, strict=True)]
    blind = observe(machines=machines, scale=scale, seconds=seconds)
    seeing = [replace(run, metrics=replace(metrics, slots=4 * run.machines)) for run in blind]

    def errors(runs):
        return leave_one_out(lambda: ErnestRegression(terms=("1", "scale/machines")), runs)

    assert errors(seeing).max_error_percent < 1e-6
    assert errors(blind).max_error_percent > 10


def test_with_as_many_runs_as_terms_no_fold_is_determined_and_the_error_is_rather_too_large():
    machines, scale = [1, 4, 16, 1], [0.1, 0.1, 0.1, 0.02]
    observations = observe(
        machines=machines, scale=scale, seconds=seconds_of("kmeans", machines=machines, scale=scale)
    )

    validation = leave_one_out(ErnestRegression, observations)

    assert len(undetermined_folds(ERNEST, observations)) == 4
    # All four runs give the true model, without noise: its real error is 0.
    assert validation.median_error_percent > 4
    assert validation.max_error_percent > 10


@pytest.mark.parametrize("count", [0, 1])
def test_a_single_run_cannot_be_cross_validated(count):
    with pytest.raises(TooFewObservationsError, match=f"{count} configurations"):
        leave_one_out(ErnestRegression, noisy_observations()[:count])
