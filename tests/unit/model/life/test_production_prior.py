"""Production tells how much runs scatter, and is not explained away."""

import math

import numpy as np
import pytest

from airflow_provider_ernest.documents import AveragingPrior, Observation
from airflow_provider_ernest.learning.update import with_production, without_production
from airflow_provider_ernest.prediction.averaging import TermAveraging


def runs_of(seconds, machines=8):
    return [
        Observation(index=index, machines=machines, scale=1.0, seconds=each)
        for index, each in enumerate(seconds)
    ]


@pytest.mark.parametrize("scatter", [0.001, 0.02, 0.1, 0.5])
def test_what_scatter_did_to_a_prior_can_be_taken_back(scatter):
    generator = np.random.default_rng(0)
    runs = runs_of(60.0 * np.exp(scatter * generator.standard_normal(50)))
    prior = AveragingPrior()
    changed = with_production(prior, runs)

    back = without_production(changed, runs)
    assert back.noise == prior.noise
    assert back.disturbed_run == pytest.approx(prior.disturbed_run)
    assert back.noise_weights == pytest.approx(prior.noise_weights)
    most = max(zip(changed.noise_weights, changed.noise, strict=True))[1]
    assert most == min(changed.noise, key=lambda level: abs(math.log(level / scatter)))


@pytest.mark.parametrize("factor", [0.7, 1.5, 3.0])
def test_production_that_contradicts_all_samples_is_believed_when_it_comes_again(factor):
    """Full inputs may be another regime: that is no reason to go on predicting as if they were samples."""
    grid = [(1, 0.05), (1, 0.1), (2, 0.05), (2, 0.1), (4, 0.05), (4, 0.1), (3, 0.08)]
    generator = np.random.default_rng(1)

    def noisy(seconds):
        return seconds * math.exp(0.03 * generator.standard_normal())

    sampled = [
        Observation(index=index, machines=machines, scale=scale, seconds=noisy(10 + 400 * scale / machines))
        for index, (machines, scale) in enumerate(grid)
    ]
    repeated = runs_of([noisy(60.0 * factor) for _ in range(3)])

    def predicted(prior):
        every = [*sampled, *repeated]
        predictor = TermAveraging(prior=prior).fit(
            machines=[run.machines for run in every],
            scale=[run.scale for run in every],
            seconds=[run.seconds for run in every],
        )
        return float(predictor.predict(machines=8, scale=1.0)[0])

    assert predicted(with_production(AveragingPrior(), repeated)) == pytest.approx(60.0 * factor, rel=0.1)


def test_samples_of_another_shape_do_not_hold_back_what_production_tells():
    """All of it takes 0.65 of what the samples say, on any number of machines: one run shows it."""
    grid = [(2, 0.3), (4, 0.3), (6, 0.3), (2, 0.5), (4, 0.5), (6, 0.5)]
    sampled = [
        Observation(index=index, machines=machines, scale=scale, seconds=10 + 1200 * scale / machines)
        for index, (machines, scale) in enumerate(grid)
    ]
    known = runs_of([0.65 * 160.0], machines=8)
    every = [*sampled, *known]
    predictor = TermAveraging(prior=with_production(AveragingPrior(), known)).fit(
        machines=[run.machines for run in every],
        scale=[run.scale for run in every],
        seconds=[run.seconds for run in every],
    )

    assert predictor.predict(machines=8, scale=1.0) == pytest.approx(0.65 * 160.0, rel=0.1)
    assert predictor.predict(machines=12, scale=1.0) == pytest.approx(0.65 * 110.0, rel=0.15)
