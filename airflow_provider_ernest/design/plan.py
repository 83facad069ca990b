"""Which sample runs to make: optimal experiment design (Ernest, section 3.2).

The paper minimises the summed variance of the coefficients (A-optimality) of its four terms. What a
user wants is a good prediction for production, from a model whose terms are not known beforehand. So
the default, by measurement (docs/evidence/benchmarks.md), is the Bayesian form over all terms that a
model may have, of I where it is known which predictions will be asked for, otherwise of D.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from airflow_provider_ernest.design.candidates import Candidates
from airflow_provider_ernest.design.costs import (
    Cost,
    ExpectedSecondsOfRuns,
    ProductionShare,
    expectation,
    resolve_budget,
    resolve_cost,
)
from airflow_provider_ernest.design.criteria import Targets, check_criterion, is_bayesian
from airflow_provider_ernest.design.problem import (
    PRIOR_PRECISION,
    DesignProblem,
    Limits,
    design_problem,
    resolve_limits,
)
from airflow_provider_ernest.design.solving import optimal_weights, round_design, whole_run_bounds
from airflow_provider_ernest.documents.runs import Design, Experiment, Observation
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.numbers import FloatArray, IntArray, positive_number, whole_number
from airflow_provider_ernest.prediction.regression import WEIGHTINGS
from airflow_provider_ernest.prediction.terms import DICTIONARY, ERNEST, check_terms, quoted


def plan_design(
    *,
    candidates: Candidates,
    terms: Sequence[str] | None = None,
    criterion: str | None = None,
    targets: Targets | None = None,
    weighting: str | None = None,
    expected_seconds: ExpectedSecondsOfRuns | None = None,
    prior_precision: float = PRIOR_PRECISION,
    budget: float | ProductionShare | None = None,
    cost: str | Cost = "relative_time",
    cost_unit: str | None = None,
    min_runs: int | None = None,
    max_runs: int | None = None,
    max_repetitions: int = 1,
    observed: Sequence[Observation] = (),
    iterations: int | None = None,
) -> Design:
    """Choose the sample runs that tell most within the budget.

    Args:
        candidates: the runs to choose from.
        terms: names of the p terms that the model may have; by default `terms.DICTIONARY` for Bayesian
            criteria and Ernest's four for the others, which must determine all of them.
        criterion: one of `criteria.CRITERIA`; by default "bayesian I" with targets, else "bayesian D".
            "A" with the defaults that it has is the paper's design.
        targets: the configurations that predictions will be asked for; "I" and "bayesian I" need them.
        weighting: "relative" where the model is fitted to errors as a share of the run's time, "absolute"
            where in seconds; by default "absolute" for "A", as in the paper, else "relative".
        expected_seconds: what runs are expected to take, for relative errors; by default what
            `costs.expectation` knows from `observed` or `cost`.
        prior_precision: (noise over size)^2 of each coefficient, for Bayesian criteria; see `problem`.
        budget: bound on the summed cost of the runs, in the unit of `cost`, or as a share of what
            production costs. By default the cost of `max_runs` runs of mean cost, or, if that is more, the
            least budget that can work.
        cost: "relative_time", or what `costs.resolve_cost` makes of a name and its numbers, or any
            function of the candidates.
        cost_unit: the unit of such a function, for messages and the design.
        min_runs: the fewest runs to make, by default two more, less the observed ones, than the terms to
            be told apart, so that leave-one-out cross-validation still tells them. These are all p terms;
            for Bayesian criteria four: a constant, change with machines, its curve, and change with scale.
        max_runs: the most runs to make; by default two more than that.
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
    criterion = check_criterion(criterion or ("bayesian D" if targets is None else "bayesian I"))
    terms = check_terms(terms or (DICTIONARY if is_bayesian(criterion) else ERNEST))
    weighting = _weighting(weighting, criterion)
    check_iterations(observed, iterations)
    cost_of, unit = resolve_cost(cost)
    unit = cost_unit or unit
    costs = cost_of(candidates)
    guess = expectation(candidates=candidates, cost=cost_of, observed=observed, given=expected_seconds)
    problem = design_problem(
        candidates=candidates,
        costs=costs,
        terms=terms,
        criterion=criterion,
        observed=observed,
        targets=targets,
        expected_seconds=guess if weighting == "relative" else None,
        prior_precision=positive_number("prior_precision", prior_precision),
    )
    limits = resolve_limits(
        problem,
        budget=resolve_budget(budget, cost=cost_of, candidates=candidates),
        unit=unit,
        min_runs=min_runs,
        max_runs=max_runs,
        max_repetitions=max_repetitions,
    )
    weights, counts = choose_runs(problem, limits)
    return Design(
        experiments=experiments_of(candidates, counts, weights, costs, iterations),
        terms=terms,
        criterion=criterion,
        weighting=weighting,
        efficiency=min(1.0, problem.value(weights) / problem.value(counts)),
        cost=float(counts @ costs),
        budget=limits.budget,
        cost_unit=unit,
        candidates=len(candidates),
        candidate_ranges=candidates.ranges(),
    )


def choose_runs(problem: DesignProblem, limits: Limits) -> tuple[FloatArray, IntArray]:
    """The relaxed optimum and the whole runs made of it.

    Returns:
        The weights and the counts of the candidates, shape (n,) each.

    Raises:
        DesignError: the limits allow no runs that tell what they must.
    """
    weights = optimal_weights(problem, whole_run_bounds(problem.costs, limits))
    return weights, round_design(problem, weights, limits=limits)


def _weighting(weighting: str | None, criterion: str) -> str:
    if weighting is None:
        return "absolute" if criterion == "A" else "relative"
    if weighting not in WEIGHTINGS:
        raise InvalidParameterError(
            "weighting", weighting, "is unknown", remedy=f"Use one of {quoted(WEIGHTINGS)}."
        )
    return weighting


def check_iterations(observed: Sequence[Observation], iterations: int | None) -> None:
    """Refuse to count runs of an iterative job that ran other iterations than the new ones will.

    Raises:
        InvalidParameterError: naming the first of them.
    """
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


def experiments_of(
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
