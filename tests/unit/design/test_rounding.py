"""Rounding against trying all designs, where there are few enough to try."""

import numpy as np
import pytest

from airflow_provider_ernest.design.plan import optimal_weights, round_design, whole_run_bounds
from airflow_provider_ernest.design.problem import Limits, missing_directions
from airflow_provider_ernest.exceptions import DesignError
from airflow_provider_ernest.settings.bounds import CRITERIA

from .problems import all_designs, limits_of, small_problem


def rounded(problem, limits):
    weights = optimal_weights(problem, *whole_run_bounds(problem.costs, limits))
    return round_design(problem, weights, limits=limits)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("budget_runs", [2.0, 3.0, 6.0])
def test_nearly_as_good_as_the_best_of_all_designs(criterion, budget_runs):
    problem = small_problem(criterion)
    limits = limits_of(problem, budget_runs=budget_runs, max_runs=5)

    counts = rounded(problem, limits)

    assert limits.min_runs <= counts.sum() <= limits.max_runs
    assert counts.max() <= 1
    assert counts @ problem.costs <= limits.budget
    best = min(problem.value(each) for each in all_designs(problem, limits))
    # Where four runs must tell four terms for the price of two, few exchanges are possible.
    scarce = criterion.startswith("bayesian") and budget_runs == 2.0
    assert problem.value(counts) == pytest.approx(best, rel=0.12 if scarce else 0.05)


@pytest.mark.parametrize("criterion", ["bayesian A", "bayesian D", "bayesian I"])
@pytest.mark.parametrize(
    ("size", "budget_runs", "min_runs"),
    [
        ({"max_executors": 12, "steps": 10}, 2.0, 3),
        ({"max_executors": 4, "steps": 3}, 2.0, 4),
    ],
)
def test_belief_never_stands_in_for_runs_that_vary(criterion, size, budget_runs, min_runs):
    """Also where another run instead of one would better the criterion."""
    problem = small_problem(criterion, **size)

    counts = rounded(problem, limits_of(problem, budget_runs=budget_runs, min_runs=min_runs, max_runs=4))

    assert missing_directions(problem.required_rows[counts > 0]) == 0


def test_limits_that_nothing_fits():
    problem = small_problem()
    too_tight = Limits(budget=float(problem.costs.min()), min_runs=4, max_runs=5)

    with pytest.raises(DesignError, match="Raise the budget"):
        round_design(problem, np.zeros(len(problem.costs)), limits=too_tight)
