"""The relaxed problem against other formulations of it, and its bounds against all whole designs."""

import cvxpy as cp
import numpy as np
import pytest

from airflow_provider_ernest.design.costs import relative_time
from airflow_provider_ernest.design.plan import optimal_weights, plain_bounds, whole_run_bounds
from airflow_provider_ernest.design.problem import design_problem
from airflow_provider_ernest.exceptions import DesignError
from airflow_provider_ernest.prediction.terms import ERNEST, basis
from airflow_provider_ernest.settings.bounds import CRITERIA
from benchmarks.design.solve_time import candidates_of

from .problems import all_designs, limits_of, small_problem

GRID = candidates_of(executors=8, scales=6)
ROWS = basis(ERNEST, executors=GRID.executors, scale=GRID.scale)
COSTS = relative_time(GRID)
PAPERS = design_problem(candidates=GRID, costs=COSTS, terms=ERNEST, criterion="A")


def textbook_objective(name, problem, information):
    """The criterion as cvxpy's manual would have it, and what makes a value comparable with ours."""
    if name.endswith("D"):
        return -cp.log_det(information), lambda value: np.exp(value / problem.rows.shape[1])
    loadings = problem.criterion.loadings
    terms = [cp.matrix_frac(column, information) for column in loadings.T]
    return cp.sum(terms), lambda value: value


@pytest.mark.parametrize("name", CRITERIA)
def test_the_same_optimum_as_the_textbook_formulation(name):
    problem = small_problem(name, max_executors=6, steps=5)
    bounds = plain_bounds(problem.costs, budget=40.0, max_runs=5)
    weights = cp.Variable(len(problem.costs))
    information = problem.rows.T @ cp.diag(weights) @ problem.rows + problem.known_rows.T @ problem.known_rows
    objective, comparable = textbook_objective(name, problem, information)
    within = [weights >= 0, weights <= 1, problem.costs @ weights <= 40, cp.sum(weights) <= 5]
    textbook = cp.Problem(cp.Minimize(objective), within)
    textbook.solve(solver=cp.CLARABEL)

    ours = optimal_weights(problem, bounds)

    assert problem.value(ours) == pytest.approx(comparable(textbook.value), rel=1e-4)
    assert problem.costs @ ours <= 40 * (1 + 1e-6)
    assert ours.sum() <= 5 * (1 + 1e-6)


def test_candidates_that_determine_nothing_are_refused_before_solving():
    few = PAPERS.of(np.flatnonzero(GRID.executors <= 2))

    with pytest.raises(DesignError, match="singular"):
        optimal_weights(few, plain_bounds(few.costs, budget=4))


@pytest.mark.parametrize("budget_runs", [1.0, 1.5, 2.5, 4.0])
def test_every_allowed_whole_design_keeps_the_tighter_bounds(budget_runs):
    problem = small_problem()
    limits = limits_of(problem, budget_runs=budget_runs, max_runs=5)
    bounds, affordable = whole_run_bounds(problem.costs, limits)

    for counts in all_designs(problem, limits):
        assert np.all(counts <= affordable)
        assert np.all(bounds @ counts <= 1 + 1e-6)


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (cp.error.SolverError("out of memory"), "The solver failed: out of memory"),
        ("infeasible", "infeasible"),
    ],
)
def test_a_solver_that_gives_up_is_an_error_of_the_design(monkeypatch, outcome, told):
    def solve(problem, **_):
        if isinstance(outcome, Exception):
            raise outcome
        problem._status = outcome

    monkeypatch.setattr(cp.Problem, "solve", solve)
    problem, budget = small_problem(), 20.0

    with pytest.raises(DesignError, match=f"{told}.*Raise the budget, or widen the bounds"):
        optimal_weights(problem, plain_bounds(problem.costs, budget=budget))
