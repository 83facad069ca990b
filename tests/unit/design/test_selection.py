"""The greedy selection is the cheapest that determines all terms, as trying all of them shows."""

import itertools

import numpy as np
import pytest

from airflow_provider_ernest.design.problem import (
    Criterion,
    DesignProblem,
    a_criterion,
    information_matrix,
)


def cheapest_selection(rows, costs, runs, observed):
    problem = DesignProblem(
        rows=rows,
        known_rows=observed,
        costs=costs,
        criterion=Criterion(loadings=None),
        required_rows=rows,
        required_known_rows=observed,
    )
    return problem.selection(np.argsort(costs, kind="stable"), runs=runs)


def cheapest_by_trying_all(rows, costs, runs, observed):
    best = np.inf
    for chosen in itertools.combinations(range(len(rows)), runs):
        counts = np.bincount(chosen, minlength=len(rows))
        if np.isfinite(a_criterion(information_matrix(rows, counts, observed))):
            best = min(best, counts @ costs)
    return best


@pytest.mark.parametrize("observed_runs", [0, 1, 2])
def test_no_cheaper_selection_exists(observed_runs):
    generator = np.random.default_rng(observed_runs)
    for _ in range(15):
        # Few distinct values, so that many subsets are singular and the cheapest runs often will not do.
        rows = generator.integers(0, 3, size=(7, 3)).astype(float) + np.array([1e-3, 0, 0])
        costs = generator.integers(1, 20, size=7).astype(float)
        observed = rows[:observed_runs]
        counts = cheapest_selection(rows, costs, 4, observed)
        expected = cheapest_by_trying_all(rows, costs, 4, observed)
        if counts is None:
            assert expected == np.inf
        else:
            assert counts.sum() == 4
            assert counts.max() <= 1
            assert counts @ costs == pytest.approx(expected)
