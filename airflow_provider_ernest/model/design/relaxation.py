"""The relaxed design problem: weights between 0 and 1 in the place of whole runs (Ernest, section 3.2).

Each candidate gets a weight lambda, and the criterion of ``sum lambda_i a_i a_i^T`` is minimised under
linear bounds, a convex problem. Its optimum is a bound on what whole runs can reach, and `rounding`
makes whole runs of its weights.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from airflow_provider_ernest.exceptions import DesignError
from airflow_provider_ernest.model.design.information import a_criterion
from airflow_provider_ernest.model.design.limits import Limits
from airflow_provider_ernest.model.design.problem import DesignProblem
from airflow_provider_ernest.model.parameters import FloatArray

SOLVER_TOLERANCE = 1e-6
"""Weights below it are what the solver leaves of a zero."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Linear bounds on the weights.

    Attributes:
        shares: each row bounds the weights by ``row @ weights <= 1``, shape (k, n).
        most: bound on each weight, shape (n,); 0 leaves a candidate out.
    """

    shares: FloatArray
    most: FloatArray


def plain_bounds(
    costs: FloatArray, *, budget: float, max_runs: float | None = None, max_repetitions: int = 1
) -> Bounds:
    """The bounds of the paper: a budget, and no weight above the allowed repetitions.

    Args:
        costs: the candidates' costs, shape (n,).
        budget: bound on the sum of weight times cost.
        max_runs: bound on the sum of the weights; none by default, as in the original.
        max_repetitions: bound on each weight.
    """
    shares = [costs / budget] + ([] if max_runs is None else [np.full(len(costs), 1 / max_runs)])
    return Bounds(shares=np.vstack(shares), most=np.full(len(costs), float(max_repetitions)))


def whole_run_bounds(costs: FloatArray, limits: Limits) -> Bounds:
    """Tighter bounds that every allowed set of whole runs keeps, but fractions of dear runs do not.

    A relaxed optimum likes a tenth of a run that costs five times the budget. For k = 0, 1, 2, ...: k + 1
    runs that each cost more than a (k+1)-th of what the budget leaves beside the cheapest other runs,
    as many as `min_runs` asks for, do not fit; so at most k runs cost more than that.

    Args:
        costs: the candidates' costs, shape (n,).
        limits: what whole runs must respect.
    """
    plain = plain_bounds(
        costs, budget=limits.budget, max_runs=limits.max_runs, max_repetitions=limits.max_repetitions
    )
    cheapest = np.repeat(np.sort(costs)[: limits.min_runs], limits.max_repetitions)
    shares, most = [plain.shares], plain.most
    for dear_runs in range(limits.max_runs):
        others = max(0, limits.min_runs - dear_runs - 1)
        left = limits.highest_cost - float(cheapest[:others].sum())
        dear = costs > left / (dear_runs + 1)
        if dear_runs == 0:
            most = np.where(dear, 0.0, most)
        elif dear.any():
            shares.append(dear[None, :] / dear_runs)
    return Bounds(shares=np.vstack(shares), most=most)


def optimal_weights(problem: DesignProblem, bounds: Bounds) -> FloatArray:
    """The weights of the relaxed optimum.

    The objective is one expression over all candidates, where the original adds up one for each
    candidate and term. It is solved in coordinates in which the candidates spread evenly in all
    directions: the solver needs a quarter fewer steps.

    Args:
        problem: the candidates and the criterion.
        bounds: on the weights.

    Returns:
        The weights lambda, shape (n,).

    Raises:
        DesignError: the candidates cannot determine all terms, or the solver found no optimum.
    """
    usable = np.flatnonzero(bounds.most > 0)
    weights = np.zeros(len(bounds.most))
    if usable.size:
        weights[usable] = _solved(
            problem.of(usable), Bounds(shares=bounds.shares[:, usable], most=bounds.most[usable])
        )
    weights = np.clip(weights, 0.0, bounds.most)
    return np.where(weights > SOLVER_TOLERANCE, weights, 0.0)


def _solved(problem: DesignProblem, bounds: Bounds) -> FloatArray:
    rows, known = problem.rows, problem.known_rows
    everything = problem.information(np.ones(len(rows)))
    if not np.isfinite(a_criterion(everything)):
        raise DesignError(
            "All affordable candidates together do not determine the terms: the information matrix is "
            "singular.",
            remedy="Widen the bounds of machines and scale, or name fewer terms.",
        )
    terms = rows.shape[1]
    to_whitened = np.linalg.inv(np.linalg.cholesky(everything / len(rows))).T
    whitened, known = rows @ to_whitened, known @ to_whitened
    outer_products = np.einsum("ni,nj->nij", whitened, whitened).reshape(len(rows), terms * terms)
    weights = cp.Variable(len(rows), nonneg=True)
    gained = (cp.Constant(outer_products.T) @ weights).reshape((terms, terms), order="C")
    objective, constraints = problem.criterion.relaxed(gained + known.T @ known, to_whitened)
    within = [weights <= bounds.most, cp.Constant(bounds.shares) @ weights <= 1]
    _solve(cp.Problem(cp.Minimize(objective), within + constraints))
    return np.asarray(weights.value, dtype=np.float64)


def _solve(problem: cp.Problem) -> None:
    remedy = "Raise the budget, or widen the bounds of machines and scale."
    try:
        with warnings.catch_warnings():
            # Reduced accuracy is no harm: what the weights are worth is computed from themselves.
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            warnings.filterwarnings("ignore", message="geo_mean is being approximated")  # by 0
            problem.solve(solver=cp.CLARABEL)  # type: ignore[no-untyped-call]
    except cp.error.SolverError as error:
        raise DesignError(f"The solver failed: {error}", remedy=remedy) from error
    if problem.status not in {cp.OPTIMAL, cp.OPTIMAL_INACCURATE}:
        raise DesignError(f"The solver found no optimum: {problem.status}.", remedy=remedy)
