"""Rounding against trying all designs, where there are few enough to try."""

import itertools

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import DesignError
from airflow_provider_ernest.model.candidates import enumerate_candidates
from airflow_provider_ernest.model.costs import relative_time
from airflow_provider_ernest.model.design import optimal_weights
from airflow_provider_ernest.model.information import a_criterion, information_matrix, normalised
from airflow_provider_ernest.model.limits import Limits
from airflow_provider_ernest.model.rounding import round_design
from airflow_provider_ernest.model.terms import basis

TERMS = ("1", "scale/machines", "machines")


def small_problem(*, max_machines, steps, budget_runs, max_runs, repetitions=1, observed=None):
    candidates = enumerate_candidates(
        max_machines=max_machines, min_scale=0.02, max_scale=0.1, partitions=500, scale_steps=steps
    )
    design_rows = basis(TERMS, machines=candidates.machines, scale=candidates.scale)
    rows, observed_rows = normalised(design_rows, observed)
    costs = relative_time(candidates)
    limits = Limits(
        budget=budget_runs * float(costs.mean()), min_runs=4, max_runs=max_runs, max_repetitions=repetitions
    )
    weights = optimal_weights(
        design_rows,
        costs,
        budget=limits.budget,
        max_runs=limits.max_runs,
        max_repetitions=repetitions,
        observed_rows=observed,
    )
    return rows, costs, weights, limits, observed_rows


def best_by_trying_all(rows, costs, limits, observed_rows):
    pool = np.repeat(np.arange(len(rows)), limits.max_repetitions)
    best = np.inf
    for runs in range(limits.min_runs, limits.max_runs + 1):
        for chosen in itertools.combinations(pool, runs):
            counts = np.bincount(chosen, minlength=len(rows))
            if counts @ costs <= limits.highest_cost:
                best = min(best, a_criterion(information_matrix(rows, counts, observed_rows)))
    return best


@pytest.mark.parametrize("budget_runs", [2.0, 3.0, 4.0, 6.0])
@pytest.mark.parametrize("repetitions", [1, 2])
def test_nearly_as_good_as_the_best_of_all_designs(budget_runs, repetitions):
    rows, costs, weights, limits, observed_rows = small_problem(
        max_machines=4, steps=3, budget_runs=budget_runs, max_runs=5, repetitions=repetitions
    )

    counts = round_design(rows, costs, weights, limits=limits, observed_rows=observed_rows)

    assert limits.min_runs <= counts.sum() <= limits.max_runs
    assert counts.max() <= repetitions
    assert counts @ costs <= limits.budget
    found = a_criterion(information_matrix(rows, counts, observed_rows))
    assert found == pytest.approx(best_by_trying_all(rows, costs, limits, observed_rows), rel=0.05)


def test_observed_runs_count_in_the_choice():
    observed = basis(TERMS, machines=[1, 1, 4], scale=[0.02, 0.1, 0.1])
    rows, costs, weights, limits, observed_rows = small_problem(
        max_machines=4, steps=3, budget_runs=3.0, max_runs=4, observed=observed
    )

    counts = round_design(rows, costs, weights, limits=limits, observed_rows=observed_rows)

    found = a_criterion(information_matrix(rows, counts, observed_rows))
    assert found == pytest.approx(best_by_trying_all(rows, costs, limits, observed_rows), rel=0.05)


def test_no_whole_design_falls_below_the_relaxed_optimum():
    for budget_runs in (2.0, 5.0, 20.0):
        rows, costs, weights, limits, observed_rows = small_problem(
            max_machines=12, steps=10, budget_runs=budget_runs, max_runs=7
        )
        counts = round_design(rows, costs, weights, limits=limits, observed_rows=observed_rows)
        relaxed = a_criterion(information_matrix(rows, weights, observed_rows))

        assert relaxed <= a_criterion(information_matrix(rows, counts, observed_rows)) * (1 + 1e-6)


def test_limits_that_nothing_fits():
    rows, costs, weights, _, observed_rows = small_problem(
        max_machines=4, steps=3, budget_runs=4.0, max_runs=5
    )
    too_tight = Limits(budget=float(costs.min()), min_runs=4, max_runs=5)

    with pytest.raises(DesignError, match="Raise the budget"):
        round_design(rows, costs, weights, limits=too_tight, observed_rows=observed_rows)
