"""Which sample runs to make: optimal experiment design (Ernest, section 3.2).

The paper minimises the summed variance of the coefficients (A-optimality) of its four terms. What a
user wants is a good prediction for production, from a model whose terms are not known beforehand. So
the default, by measurement (docs/evidence/benchmarks.md), is the Bayesian form over all terms that a
model may have, of I where it is known which predictions will be asked for, otherwise of D.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.design.candidates import Candidates
from airflow_provider_ernest.design.costs import Cost, expectation, relative_time
from airflow_provider_ernest.design.problem import (
    Criterion,
    DesignProblem,
    Limits,
    Targets,
    cheapest_regular,
    completing,
    design_problem,
    is_bayesian,
    missing_directions,
    resolve_limits,
)
from airflow_provider_ernest.documents.runs import Design, Experiment, Observation
from airflow_provider_ernest.exceptions import DesignError, InvalidParameterError
from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray, whole_number
from airflow_provider_ernest.prediction.regression import WEIGHTINGS
from airflow_provider_ernest.prediction.terms import DICTIONARY, ERNEST, check_terms
from airflow_provider_ernest.settings.bounds import BAYESIAN, CRITERIA
from airflow_provider_ernest.settings.values import read_name


def plan_design(
    *,
    candidates: Candidates,
    terms: Sequence[str] | None = None,
    criterion: str | None = None,
    targets: Targets | None = None,
    weighting: str | None = None,
    budget: float | None = None,
    cost: Cost = relative_time,
    min_runs: int | None = None,
    max_runs: int | None = None,
    observed: Sequence[Observation] = (),
    iterations: int | None = None,
) -> Design:
    """Choose the sample runs that tell most within the budget.

    Args:
        candidates: the runs to choose from.
        terms: that the model may have; by default `terms.DICTIONARY` for Bayesian criteria and Ernest's four
            for the others, which must determine all of them.
        criterion: one of `CRITERIA`; by default "bayesian I" with targets, which it and "I" need, else
            "bayesian D". "A" with its defaults is the paper's design.
        targets: the configurations that predictions will be asked for.
        weighting: "relative" where the model is fitted to errors as a share of the run's time, "absolute"
            where in seconds; by default "absolute" for "A", as in the paper, else "relative".
        budget: bound on the summed `cost`. By default that of `max_runs` runs of mean cost, or, if that is
            more, the least budget that can work.
        cost: of a run.
        min_runs: by default two more than the terms to be told apart, less the observed runs, so that
            leave-one-out cross-validation still tells them. These are all terms; for Bayesian criteria
            four: a constant, change with executors, its curve, and change with scale.
        max_runs: by default two more than that.
        observed: runs already made: they count as information, at no cost.
        iterations: to train with, for iterative jobs.

    Returns:
        The design; its runs come longest first (largest executors times scale).

    Raises:
        InvalidParameterError: a parameter is invalid, or `observed` ran other iterations.
        DesignError: the candidates cannot determine the terms within the limits.
    """
    criterion = read_name(CRITERIA, "criterion", criterion or f"{BAYESIAN}{'D' if targets is None else 'I'}")
    terms = check_terms(terms or (DICTIONARY if is_bayesian(criterion) else ERNEST))
    usual = "absolute" if criterion == "A" else "relative"
    weighting = read_name(WEIGHTINGS, "weighting", weighting or usual)
    _check_iterations(observed, iterations)
    costs = cost(candidates)
    guess = expectation(candidates=candidates, cost=cost, observed=observed)
    problem = design_problem(
        candidates=candidates,
        costs=costs,
        terms=terms,
        criterion=criterion,
        observed=observed,
        targets=targets,
        expected_seconds=guess if weighting == "relative" else None,
    )
    limits = resolve_limits(problem, budget=budget, unit=cost.unit, min_runs=min_runs, max_runs=max_runs)
    weights = optimal_weights(problem, *whole_run_bounds(costs, limits))
    counts = round_design(problem, weights, limits=limits)
    return Design(
        experiments=_experiments(candidates, counts, weights, costs, iterations),
        terms=terms,
        criterion=criterion,
        weighting=weighting,
        efficiency=min(1.0, problem.value(weights) / problem.value(counts)),
        cost=float(counts @ costs),
        budget=limits.budget,
        cost_unit=cost.unit,
        candidates=len(candidates),
        candidate_ranges=candidates.ranges(),
    )


def _check_iterations(observed: Sequence[Observation], iterations: int | None) -> None:
    """Refuse to count runs of an iterative job that ran other iterations than the new ones will."""
    if iterations is not None:
        whole_number("iterations", iterations)
    for position, observation in enumerate(observed):
        if observation.iterations != iterations:
            raise InvalidParameterError(
                f"observed[{position}].iterations",
                observation.iterations,
                f"differs from iterations={iterations!r}",
                remedy="Count only runs with the iterations that the new ones will have.",
            )


def _experiments(
    candidates: Candidates, counts: IntArray, weights: FloatArray, costs: FloatArray, iterations: int | None
) -> tuple[Experiment, ...]:
    """The runs, longest first: while one of them runs long, executors are free for several short ones."""
    chosen = np.repeat(np.arange(len(candidates)), counts)
    size = candidates.executors[chosen] * candidates.scale[chosen]
    chosen = chosen[np.lexsort((-candidates.executors[chosen], -size))]
    return tuple(
        candidates.experiment(int(at), index=index, cost=costs[at], iterations=iterations, weight=weights[at])
        for index, at in enumerate(chosen)
    )


# The relaxed design problem: weights between 0 and 1 instead of whole runs (Ernest, section 3.2). Each
# candidate gets a weight lambda, and the criterion of ``sum lambda_i a_i a_i^T`` is minimised under linear
# bounds, a convex problem. Its optimum is a bound on what whole runs can reach.

SOLVER_TOLERANCE = 1e-6  # weights below it are what the solver leaves of a zero


def plain_bounds(costs: FloatArray, *, budget: float, max_runs: float | None = None) -> FloatArray:
    """The paper's bounds, (k, n), as ``bounds @ weights <= 1``: a budget, here also a number of runs."""
    shares = [costs / budget] + ([] if max_runs is None else [np.full(len(costs), 1 / max_runs)])
    return np.vstack(shares)


def whole_run_bounds(costs: FloatArray, limits: Limits) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Tighter bounds, (k, n), that every allowed set of whole runs keeps, but fractions of dear runs do not.

    A relaxed optimum likes a tenth of a run that costs five times the budget. For k = 0, 1, 2, ...: k + 1
    runs that each cost more than a (k+1)-th of what the budget leaves beside the cheapest other runs,
    as many as `min_runs` asks for, do not fit; so at most k runs cost more than that. Also returns which runs
    leave a budget for the others, (n,).
    """
    cheapest = np.sort(costs)[: limits.min_runs]
    bounds = [plain_bounds(costs, budget=limits.budget, max_runs=limits.max_runs)]
    affordable = np.ones(len(costs), dtype=np.bool_)
    for dear_runs in range(limits.max_runs):
        others = max(0, limits.min_runs - dear_runs - 1)
        left = limits.highest_cost - float(cheapest[:others].sum())
        dear = costs > left / (dear_runs + 1)
        if dear_runs == 0:
            affordable = ~dear
        elif dear.any():
            bounds.append(dear[None, :] / dear_runs)
    return np.vstack(bounds), affordable


def optimal_weights(
    problem: DesignProblem, bounds: FloatArray, affordable: NDArray[np.bool_] | None = None
) -> FloatArray:
    """The weights lambda of the relaxed optimum, 0 to 1 and 0 where not affordable, shape (n,).

    Solved in coordinates in which the candidates spread evenly in all directions: the solver needs a quarter
    fewer steps. A DesignError says that they cannot determine all terms, or that it found no optimum.
    """
    weights = np.zeros(len(problem.costs))
    usable = np.flatnonzero(np.ones_like(weights) if affordable is None else affordable)
    if usable.size:
        weights[usable] = _solved(problem.of(usable), bounds[:, usable])
    weights = np.clip(weights, 0.0, 1.0)
    return np.where(weights > SOLVER_TOLERANCE, weights, 0.0)


def _solved(problem: DesignProblem, bounds: FloatArray) -> FloatArray:
    rows, known = problem.rows, problem.known_rows
    everything = problem.information(np.ones(len(rows)))
    if not np.isfinite(Criterion(loadings=None).value(everything)):
        raise DesignError(
            "All affordable candidates together do not determine the terms: the information matrix is "
            "singular.",
            remedy="Widen the bounds of executors and scale, or name fewer terms.",
        )
    terms = rows.shape[1]
    to_whitened = np.linalg.inv(np.linalg.cholesky(everything / len(rows))).T
    whitened, known = rows @ to_whitened, known @ to_whitened
    outer_products = np.einsum("ni,nj->nij", whitened, whitened).reshape(len(rows), terms * terms)
    weights = cp.Variable(len(rows), nonneg=True)
    gained = (cp.Constant(outer_products.T) @ weights).reshape((terms, terms), order="C")
    objective, constraints = problem.criterion.relaxed(gained + known.T @ known, to_whitened)
    within = [weights <= np.ones(len(rows)), cp.Constant(bounds) @ weights <= 1]
    relaxed = cp.Problem(cp.Minimize(objective), within + constraints)
    remedy = "Raise the budget, or widen the bounds of executors and scale."
    try:
        with warnings.catch_warnings():
            # Reduced accuracy is no harm: what the weights are worth is computed from themselves.
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            warnings.filterwarnings("ignore", message="geo_mean is being approximated")  # by 0
            relaxed.solve(solver=cp.CLARABEL)  # type: ignore[no-untyped-call]
    except cp.error.SolverError as error:
        raise DesignError(f"The solver failed: {error}", remedy=remedy) from error
    if relaxed.status not in {cp.OPTIMAL, cp.OPTIMAL_INACCURATE}:
        raise DesignError(f"The solver found no optimum: {relaxed.status}.", remedy=remedy)
    return np.asarray(weights.value, dtype=np.float64)


# Whole runs from a relaxed optimal design, by exchange. The relaxed optimum weighs each candidate with a real
# number; what can be run is whole. The exchange starts from the candidates with the largest weights and adds
# and swaps runs while that betters the criterion (Fedorov's exchange, for several limits at once). Starting
# from the weights matters: from random runs it gets stuck at half the efficiency.

IMPROVEMENT = 1e-9  # the least relative gain that counts: below it, exchanges would only shuffle equal runs


def round_design(problem: DesignProblem, weights: FloatArray, *, limits: Limits) -> IntArray:
    """Which runs to make, 1 for each, by the weights of the relaxed optimum, shape (n,).

    They respect the limits and, with the runs already made, determine all terms that they must; a DesignError
    says that none do.
    """
    exchange = _Exchange(problem, limits)
    starts = [
        _heaviest_that_fit(problem, weights, limits=limits),
        cheapest_regular(problem, runs=limits.min_runs),
    ]
    affordable = [
        start for start in starts if start is not None and start @ problem.costs <= limits.highest_cost
    ]
    if not affordable:
        raise DesignError(
            f"No {limits.min_runs} to {limits.max_runs} runs determine all terms within a budget of "
            f"{limits.budget:g}.",
            remedy="Raise the budget or widen the bounds of executors and scale.",
        )
    return min((exchange.improve(start) for start in affordable), key=problem.value)


def _heaviest_that_fit(problem: DesignProblem, weights: FloatArray, *, limits: Limits) -> IntArray | None:
    """Runs in the order of their weights, each taken if the budget also pays for the fewest runs then."""
    costs = problem.costs
    cheapest = np.sort(costs)[: limits.min_runs]
    by_weight = np.lexsort((costs, -weights))[: np.count_nonzero(weights)]
    preference = np.concatenate([by_weight, np.argsort(costs)])
    counts = np.zeros(len(costs), dtype=np.int64)
    runs, left = 0, limits.highest_cost
    for position in preference.tolist():
        reserve = float(cheapest[: max(0, limits.min_runs - runs - 1)].sum())
        fits = not counts[position] and costs[position] + reserve <= left
        if fits and runs < limits.max_runs:
            counts[position] = 1
            runs += 1
            left -= float(costs[position])
    told = not missing_directions(problem.required(counts)) and np.isfinite(problem.value(counts))
    return counts if told and runs >= limits.min_runs else None


class _Exchange:
    """The neighbourhood of a design: one run more, or one run instead of another."""

    def __init__(self, problem: DesignProblem, limits: Limits) -> None:
        self._problem = problem
        self._limits = limits

    def improve(self, counts: IntArray) -> IntArray:
        """Descend; then, as long as it helps, take one run out and descend again.

        Taking a run out frees budget: one long run may give way to two short ones, or the reverse.
        """
        counts = self._descend(counts)
        improved = True
        while improved:
            improved = False
            for position in np.flatnonzero(counts):
                fewer = counts.copy()
                fewer[position] -= 1
                is_told = not missing_directions(self._problem.required(fewer))
                if not is_told or not np.isfinite(self._problem.value(fewer)):
                    continue
                other = self._descend(fewer)
                if other.sum() >= self._limits.min_runs and self._better(other, counts):
                    counts, improved = other, True
                    break
        return counts

    def _better(self, counts: IntArray, than: IntArray) -> bool:
        return self._problem.value(counts) < self._problem.value(than) * (1 - IMPROVEMENT)

    def _descend(self, counts: IntArray) -> IntArray:
        """The best allowed addition (a swap with nothing) or swap, again and again until none helps."""
        rows = self._problem.rows
        while True:
            inverse = np.asarray(np.linalg.inv(self._problem.information(counts)), dtype=np.float64)
            present = np.flatnonzero(counts)
            leaving_rows = np.vstack([np.zeros_like(rows[:1]), rows[present]])
            gains = self._problem.criterion.gains_of_swapping(inverse, rows, leaving_rows)
            gains = np.where(self._allowed(counts, present), gains, 0.0)
            entering, leaving = np.unravel_index(int(np.argmax(gains)), gains.shape)
            neighbour = counts.copy()
            neighbour[entering] += 1
            if leaving > 0:
                neighbour[present[leaving - 1]] -= 1
            if gains[entering, leaving] <= 0 or not self._better(neighbour, counts):
                return counts
            counts = neighbour

    def _allowed(self, counts: IntArray, present: IntArray) -> NDArray[np.bool_]:
        """Which candidate may enter instead of nothing (column 0) and of each run that is present."""
        costs, limits = self._problem.costs, self._limits
        new_costs = float(counts @ costs) + costs[:, None] - np.concatenate([[0.0], costs[present]])
        is_new = (counts == 0)[:, None]
        allowed = np.asarray((new_costs <= limits.highest_cost) & is_new, dtype=np.bool_)
        allowed[:, 0] &= counts.sum() < limits.max_runs
        for column, position in enumerate(present, start=1):
            fewer = counts.copy()
            fewer[position] -= 1
            allowed[:, column] &= completing(self._problem.required_rows, self._problem.required(fewer))
        return allowed
