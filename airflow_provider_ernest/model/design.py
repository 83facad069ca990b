"""Which sample runs to make: A-optimal experiment design (Ernest, section 3.2).

The relaxed problem gives each candidate a weight lambda between 0 and the allowed repetitions and
minimises the summed variance of the model's coefficients, ``trace((sum lambda_i a_i a_i^T)^-1)``,
under a budget and a bound on the number of runs. `rounding` makes whole runs of the weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import cvxpy as cp
import numpy as np
from cvxpy.atoms.matrix_frac import matrix_frac

from airflow_provider_ernest.exceptions import DesignError, InvalidParameterError
from airflow_provider_ernest.model.candidates import Candidates
from airflow_provider_ernest.model.costs import Cost, resolve_cost
from airflow_provider_ernest.model.documents import Design, Experiment, Observation
from airflow_provider_ernest.model.identifiability import runs_to_add, undetermined_terms
from airflow_provider_ernest.model.information import a_criterion, information_matrix, normalised
from airflow_provider_ernest.model.limits import resolve_limits
from airflow_provider_ernest.model.parameters import FloatArray, IntArray, whole_number
from airflow_provider_ernest.model.rounding import round_design
from airflow_provider_ernest.model.terms import ERNEST, basis, check_terms, quoted

SOLVER_TOLERANCE = 1e-6
"""Weights below it are what the solver leaves of a zero."""


def optimal_weights(
    design_rows: FloatArray,
    costs: FloatArray,
    *,
    budget: float,
    max_runs: float | None = None,
    max_repetitions: int = 1,
    observed_rows: FloatArray | None = None,
) -> FloatArray:
    """The relaxed A-optimal design.

    The objective is one expression over all candidates, where the original adds up one for each
    candidate and term. It is solved in coordinates in which the candidates spread evenly in all
    directions: with R such that ``rows = whitened @ R``, the trace of the inverse is
    ``matrix_frac(inv(R).T, information of the whitened rows)``. The solver needs a quarter fewer steps.

    Args:
        design_rows: the candidates' term values, shape (n, p); normalised here by their means.
        costs: the candidates' costs, shape (n,).
        budget: bound on the sum of weight times cost.
        max_runs: bound on the sum of the weights; none by default, as in the original.
        max_repetitions: bound on each weight.
        observed_rows: term values of runs already made, shape (m, p), whose information counts.

    Returns:
        The weights lambda, shape (n,).

    Raises:
        DesignError: the rows cannot determine all terms, or the solver found no optimum.
    """
    rows, observed = normalised(design_rows, observed_rows)
    everything = information_matrix(rows, np.ones(len(rows)), observed)
    if not np.isfinite(a_criterion(everything)):
        raise DesignError(
            "All candidates together do not determine the terms: the information matrix is singular.",
            remedy="Widen the bounds of machines and scale, or name fewer terms.",
        )
    terms = rows.shape[1]
    to_whitened = np.linalg.inv(np.linalg.cholesky(everything / len(rows))).T
    whitened, observed = rows @ to_whitened, observed @ to_whitened
    outer_products = np.einsum("ni,nj->nij", whitened, whitened).reshape(len(rows), terms * terms)
    shares = [costs / budget] + ([] if max_runs is None else [np.full(len(rows), 1 / max_runs)])
    weights = cp.Variable(len(rows), nonneg=True)
    gained = (cp.Constant(outer_products.T) @ weights).reshape((terms, terms), order="C")
    problem = cp.Problem(
        cp.Minimize(matrix_frac(to_whitened.T, gained + observed.T @ observed)),
        [weights <= max_repetitions, cp.Constant(np.vstack(shares)) @ weights <= 1],
    )
    _solve(problem, budget)
    solution = np.clip(np.asarray(weights.value, dtype=np.float64), 0.0, max_repetitions)
    return np.where(solution > SOLVER_TOLERANCE, solution, 0.0)


def _solve(problem: cp.Problem, budget: float) -> None:
    remedy = "Raise the budget, or widen the bounds of machines and scale."
    try:
        with warnings.catch_warnings():
            # Reduced accuracy is no harm: what the weights are worth is computed from themselves.
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            problem.solve(solver=cp.CLARABEL)  # type: ignore[no-untyped-call]
    except cp.error.SolverError as error:
        raise DesignError(f"The solver failed: {error}", remedy=remedy) from error
    if problem.status not in {cp.OPTIMAL, cp.OPTIMAL_INACCURATE}:
        raise DesignError(
            f"The solver found no optimum for a budget of {budget:g}: {problem.status}.", remedy=remedy
        )


def plan_design(
    *,
    candidates: Candidates,
    terms: Sequence[str] = ERNEST,
    budget: float | None = None,
    cost: str | Cost = "relative_time",
    cost_unit: str | None = None,
    min_runs: int | None = None,
    max_runs: int | None = None,
    max_repetitions: int = 1,
    observed: Sequence[Observation] = (),
    iterations: int | None = None,
) -> Design:
    """Choose the sample runs that determine the terms best within the budget.

    Args:
        candidates: the runs to choose from.
        terms: names of the p terms of the model to be trained.
        budget: bound on the summed cost of the runs, in the unit of `cost`. By default the cost of
            `max_runs` runs of mean cost, or, if that is more, the least budget that can work.
        cost: "relative_time", or what `costs.resolve_cost` makes of a name and its numbers, or any
            function of the candidates.
        cost_unit: the unit of such a function, for messages and the design.
        min_runs: the fewest runs to make; by default p + 2 less the observed ones, so that
            leave-one-out cross-validation still determines the terms.
        max_runs: the most runs to make; by default p + 4 less the observed ones.
        max_repetitions: how often the same run may be made.
        observed: runs already made: they count as information, at no cost.
        iterations: iterations to train with, for iterative jobs.

    Returns:
        The design; its runs come longest first (largest machines times scale).

    Raises:
        InvalidParameterError: a parameter cannot be, or `observed` ran other iterations.
        DesignError: the candidates cannot determine the terms within the limits; the message names
            the least budget that works.
    """
    terms = check_terms(terms)
    _check_iterations(observed, iterations)
    cost_of, unit = resolve_cost(cost)
    unit = cost_unit or unit
    costs = cost_of(candidates)
    design_rows = basis(terms, machines=candidates.machines, scale=candidates.scale)
    observed_rows = _observed_rows(terms, observed)
    _check_candidates(terms, candidates, observed, np.vstack([design_rows, observed_rows]))
    rows, observed_normalised = normalised(design_rows, observed_rows)
    limits = resolve_limits(
        rows,
        costs,
        observed_rows=observed_normalised,
        budget=budget,
        unit=unit,
        min_runs=min_runs,
        max_runs=max_runs,
        max_repetitions=max_repetitions,
    )
    weights = optimal_weights(
        design_rows,
        costs,
        budget=limits.budget,
        max_runs=limits.max_runs,
        max_repetitions=limits.max_repetitions,
        observed_rows=observed_rows,
    )
    counts = round_design(rows, costs, weights, limits=limits, observed_rows=observed_normalised)
    relaxed, rounded = (
        a_criterion(information_matrix(rows, each, observed_normalised)) for each in (weights, counts)
    )
    return Design(
        experiments=_experiments(candidates, counts, weights, costs, iterations),
        terms=terms,
        criterion="A",
        efficiency=min(1.0, relaxed / rounded),
        cost=float(counts @ costs),
        budget=limits.budget,
        cost_unit=unit,
        candidates=len(candidates),
    )


def _check_iterations(observed: Sequence[Observation], iterations: int | None) -> None:
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


def _observed_rows(terms: Sequence[str], observed: Sequence[Observation]) -> FloatArray:
    if not observed:
        return np.empty((0, len(terms)))
    return basis(terms, machines=[run.machines for run in observed], scale=[run.scale for run in observed])


def _check_candidates(
    terms: Sequence[str], candidates: Candidates, observed: Sequence[Observation], all_rows: FloatArray
) -> None:
    """Refuse candidates that, even if all were run, would leave terms undetermined."""
    undetermined = undetermined_terms(all_rows, terms)
    if undetermined:
        machines = np.concatenate([candidates.machines, [run.machines for run in observed]])
        scale = np.concatenate([candidates.scale, [run.scale for run in observed]])
        raise DesignError(
            f"The candidates cannot tell the terms {quoted(undetermined)} apart.",
            remedy=f"Widen the bounds: {runs_to_add(undetermined, machines=machines, scale=scale)}",
        )


def _experiments(
    candidates: Candidates,
    counts: IntArray,
    weights: FloatArray,
    costs: FloatArray,
    iterations: int | None,
) -> tuple[Experiment, ...]:
    """The runs, longest first: while one of them runs long, machines are free for several short ones."""
    chosen = np.repeat(np.arange(len(candidates)), counts)
    size = candidates.machines[chosen] * candidates.scale[chosen]
    chosen = chosen[np.lexsort((-candidates.machines[chosen], -size))]
    return tuple(
        Experiment(
            index=index,
            machines=int(candidates.machines[position]),
            scale=float(candidates.scale[position]),
            partitions=int(candidates.partitions[position]),
            weight=float(weights[position]),
            cost=float(costs[position]),
            iterations=iterations,
        )
        for index, position in enumerate(chosen)
    )
