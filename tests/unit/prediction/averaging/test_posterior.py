"""Closed forms and draws against sums over a fine grid of two terms: no linearisation, no draws there.

They must agree up to their approximations. Drivers and deviations from the terms are left out: what these do
is in test_predictor and test_prior.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.terms import basis

from .jobs import runs_of

MACHINES = np.array([2.0, 3.0, 4.0, 8.0, 2.0])
SCALE = np.array([0.1, 0.1, 0.1, 0.1, 0.02])

SIMPLE = AveragingPrior(
    driver_share=0.0,
    noise=(0.08,),
    noise_weights=(1.0,),
    discrepancy=(0.0,),
    discrepancy_weights=(1.0,),
    memory_cut=(),
    plateau=0.0,
    plateau_observed=0.0,
    other_shape=0.0,
)
QUIET = replace(SIMPLE, noise=(0.04,))

CASES = {
    "both terms clear": (SIMPLE, {"1": 2.0, "scale/executors": 100.0}),
    "one term in doubt": (SIMPLE, {"scale/executors": 100.0, "log(executors)": 0.15}),
    "one term small": (QUIET, {"scale/executors": 100.0, "log(executors)": 0.3}),
    "two ways to be constant": (SIMPLE, {"1": 5.0, "scale": 3.0}),
}

CELLS = 400
FURTHEST = 1.8
"""No coefficient is looked for where its term alone takes so many times the time of any run."""


def grid_posterior(
    terms: tuple[str, str], prior: AveragingPrior, runs: dict[str, FloatArray], target: tuple[float, float]
) -> SimpleNamespace:
    """The posterior over the cells of the grid of each set of terms, and the target's log seconds there."""
    seconds = runs["seconds"]
    columns = basis(terms, executors=runs["executors"], scale=runs["scale"])
    (row,) = basis(terms, executors=target[0], scale=target[1])
    widths = prior.largest_share / np.sqrt(((columns / seconds[:, None]) ** 2).mean(axis=0))
    widths = np.minimum(widths, [prior.belief_in(name).largest_seconds or np.inf for name in terms])
    furthest = FURTHEST * np.min(seconds[:, None] / np.maximum(columns, 1e-300), axis=0)
    believed = np.array([prior.belief_in(name).probability for name in terms])
    parts = []
    for subset in ((0,), (1,), (0, 1)):
        included = np.isin([0, 1], subset)
        axes = [(np.arange(CELLS) + 0.5) / CELLS * furthest[term] for term in subset]
        coefficients = np.zeros((CELLS ** len(subset), 2))
        coefficients[:, subset] = np.column_stack([axis.ravel() for axis in np.meshgrid(*axes)])
        half_normal = np.log(2 / np.sqrt(2 * np.pi) / widths) - 0.5 * (coefficients / widths) ** 2
        errors = (np.log(seconds) - np.log(coefficients @ columns.T)) / prior.noise[0]
        log_weights = np.log(np.prod(furthest[included] / CELLS))
        log_weights += np.log(np.where(included, believed, 1 - believed)).sum()
        log_weights = log_weights + half_normal[:, included].sum(axis=1) - 0.5 * (errors**2).sum(axis=1)
        parts.append((log_weights, coefficients, np.tile(included, (len(coefficients), 1))))
    logs, coefficients, included = (np.concatenate(part) for part in zip(*parts, strict=True))
    weights = np.exp(logs - logs.max())
    return SimpleNamespace(
        probabilities=weights / weights.sum(),
        coefficients=coefficients,
        included=included,
        log_means=np.log(coefficients @ row),
    )


@pytest.mark.parametrize("target", [(16.0, 1.0), (4.0, 0.05)], ids=["beyond", "within"])
@pytest.mark.parametrize("case", CASES)
def test_the_averaging_agrees_with_a_sum_over_a_grid(case, target):
    prior, job = CASES[case]
    runs = runs_of(job, executors=MACHINES, scale=SCALE, noise=prior.noise[0], seed=0)
    oracle = grid_posterior(tuple(job), prior, runs, target)

    averaging = TermAveraging(terms=tuple(job), prior=prior).fit(**runs)

    def probability_below(seconds: float) -> float:
        return float(oracle.probabilities @ ndtr((np.log(seconds) - oracle.log_means) / prior.noise[0]))

    np.testing.assert_allclose(averaging.probabilities_, oracle.probabilities @ oracle.included, atol=0.06)
    expected = oracle.probabilities @ oracle.coefficients
    spread = np.sqrt(oracle.probabilities @ (oracle.coefficients - expected) ** 2)
    np.testing.assert_allclose((averaging.coefficients_ - expected) / spread, 0.0, atol=0.3)
    executors, scale = target
    (predicted,) = averaging.predict(executors=executors, scale=scale)
    assert probability_below(predicted) == pytest.approx(0.5, abs=0.06)
    for level in (0.5, 0.8, 0.95):
        (low,), (high,) = averaging.interval(executors=executors, scale=scale, level=level)
        assert probability_below(low) == pytest.approx(0.5 - level / 2, abs=0.06)
        assert probability_below(high) == pytest.approx(0.5 + level / 2, abs=0.06)
