"""What a design is computed from: relative rows, belief, targets, and what must be told apart."""

import numpy as np
import pytest

from airflow_provider_ernest.design.candidates import enumerate_candidates
from airflow_provider_ernest.design.problem import Targets, design_problem
from airflow_provider_ernest.exceptions import DesignError
from airflow_provider_ernest.prediction.terms import basis
from tests.examples import observe

CANDIDATES = enumerate_candidates(
    max_executors=6, min_scale=0.02, max_scale=0.1, partitions=100, scale_steps=5
)
TERMS = ("1", "scale", "scale/executors", "executors")
TARGETS = Targets(executors=(8, 12))


def expected_seconds(*, executors, scale):
    return 3.0 + 40 * scale / executors


def problem(criterion, **other):
    defaults = {
        "candidates": CANDIDATES,
        "costs": np.ones(len(CANDIDATES)),
        "terms": TERMS,
        "targets": TARGETS,
        "expected_seconds": expected_seconds,
    }
    return design_problem(criterion=criterion, **{**defaults, **other})


def relative_rows(executors, scale):
    executors, scale = np.asarray(executors, dtype=float), np.asarray(scale, dtype=float)
    rows = basis(TERMS, executors=executors, scale=scale)
    return rows / expected_seconds(executors=executors, scale=scale)[:, None]


def test_belief_counts_like_a_run_for_each_term():
    """Of ridge regression: noise sigma, coefficients of size tau, precision (sigma/tau)^2."""
    counts = np.zeros(len(CANDIDATES), dtype=int)
    counts[[0, 11]] = 1
    candidate_rows = relative_rows(CANDIDATES.executors, CANDIDATES.scale)
    rows, targets = candidate_rows[counts > 0], relative_rows([8, 12], [1.0, 1.0])
    size = 1 / np.maximum(candidate_rows.mean(axis=0), targets.mean(axis=0))
    covariance = np.linalg.inv(rows.T @ rows + 0.01 * np.diag(1 / size**2))

    value = problem("bayesian I").value(counts)

    assert value == pytest.approx(np.mean(np.sum((targets @ covariance) * targets, axis=1)))


def test_what_an_observed_run_varies_need_not_vary_again():
    one = enumerate_candidates(
        min_executors=4, max_executors=4, min_scale=0.02, max_scale=0.1, partitions=100
    )
    costs = np.ones(len(one))
    elsewhere = observe(executors=[2], scale=0.1, seconds=[3.0])

    assert problem("bayesian I", candidates=one, costs=costs, observed=elsewhere).known_rows.shape[0] == 5
    with pytest.raises(DesignError, match="one number of executors, 4"):
        problem("bayesian I", candidates=one, costs=costs)
