"""One run after the other: which to make next, and when enough is known.

A design made at once must guess what the runs will take and how much they will tell. After the first
ones both are known better: the rest of the budget is planned anew with their information, and that run
of the plan is proposed which tells most, so that it is not the one for which nothing is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from airflow_provider_ernest.design.candidates import Candidates, times_made
from airflow_provider_ernest.design.costs import (
    RUNS_FOR_A_GUESS,
    Cost,
    ExpectedSecondsOfRuns,
    ProductionShare,
    costs_by_now,
    expectation,
    resolve_budget,
    resolve_cost,
    spent_on,
)
from airflow_provider_ernest.design.criteria import Targets
from airflow_provider_ernest.design.plan import check_iterations, choose_runs, experiments_of
from airflow_provider_ernest.design.problem import (
    MORE_RUNS_THAN_TERMS,
    PRIOR_PRECISION,
    DesignProblem,
    design_problem,
    missing_directions,
    resolve_limits,
)
from airflow_provider_ernest.documents import Experiment, Observation
from airflow_provider_ernest.exceptions import DesignError
from airflow_provider_ernest.json_document import Document
from airflow_provider_ernest.numbers import (
    FloatArray,
    IntArray,
    number_not_negative,
    positive_number,
    rounded_up,
    whole_number,
)
from airflow_provider_ernest.prediction.terms import DICTIONARY, check_terms
from airflow_provider_ernest.words import counted, percent

RelativeWidth = Callable[[Sequence[Observation]], float]
"""Gives the width of the prediction's interval at the targets, relative to the prediction, from runs."""

NARROW_ENOUGH = 0.3
"""An interval of 15 % to either side."""

MOST_RUNS = 12
"""Half as many again as a design at once makes: runs are not free, even where their cost says so."""


@dataclass(frozen=True, kw_only=True)
class Proposal(Document):
    """What to do next.

    Attributes:
        experiment: the run to make, or None where it is time to stop.
        reason: why this run, or why to stop, in words.
        spent: what the runs so far have cost.
        budget: the bound on the cost of all runs.
        cost_unit: what both are measured in.
        relative_width: width of the interval at the targets relative to the prediction; None as long as
            there are too few runs to ask for it.
    """

    experiment: Experiment | None
    reason: str
    spent: float
    budget: float
    cost_unit: str
    relative_width: float | None = None


def propose_next(
    *,
    candidates: Candidates,
    targets: Targets,
    observed: Sequence[Observation],
    budget: float | ProductionShare,
    cost: str | Cost = "relative_time",
    cost_unit: str | None = None,
    spent: float | None = None,
    relative_width: RelativeWidth | None = None,
    narrow_enough: float = NARROW_ENOUGH,
    expected_seconds: ExpectedSecondsOfRuns | None = None,
    terms: Sequence[str] = DICTIONARY,
    prior_precision: float = PRIOR_PRECISION,
    min_runs: int | None = None,
    max_runs: int = MOST_RUNS,
    max_repetitions: int = 1,
    iterations: int | None = None,
) -> Proposal:
    """The next best run within what is left of the budget, by the Bayesian form of I, or why to stop.

    What is not described here is as of `plan.plan_design`.

    Args:
        candidates: the runs to choose from.
        targets: the configurations that predictions will be asked for.
        observed: the runs already made.
        budget: bound on the cost of all runs, those already made included.
        cost: one made of seconds uses the expected seconds of the next run as far as the runs already made
            tell them.
        cost_unit: the unit of a cost that is a function.
        spent: what the runs already made have cost; by default see `costs.spent_on`.
        relative_width: tells from the runs how wide the prediction's interval at the targets is,
            relative to the prediction; asked once there are `min_runs` that tell enough apart. None: only
            budget and number of runs end the sampling.
        narrow_enough: the width at which to stop.
        expected_seconds: what runs are expected to take, such as the ``predict`` of the model fitted so far.
        terms: names of the terms that the model may have.
        prior_precision: see `plan.plan_design`.
        min_runs: the fewest runs before a narrow interval is believed; by default two more than must be
            told apart: six.
        max_runs: the most runs, those already made included.
        max_repetitions: how often the same run may be made.
        iterations: iterations to train with, for iterative jobs.

    Raises:
        InvalidParameterError: a parameter cannot be.
        DesignError: even all candidates together cannot tell what must be told.
    """
    check_iterations(observed, iterations)
    cost_of, unit = resolve_cost(cost)
    guess = expectation(candidates=candidates, cost=cost_of, observed=observed, given=expected_seconds)
    told = expected_seconds is not None or len(observed) >= RUNS_FOR_A_GUESS
    problem = design_problem(
        candidates=candidates,
        costs=costs_by_now(
            candidates, cost=cost_of, observed=observed, expected_seconds=guess if told else None
        ),
        terms=check_terms(terms),
        criterion="bayesian I",
        observed=observed,
        targets=targets,
        expected_seconds=guess,
        prior_precision=positive_number("prior_precision", prior_precision),
    )
    if min_runs is None:
        min_runs = problem.required_rows.shape[1] + MORE_RUNS_THAN_TERMS
    told_apart = not missing_directions(problem.required_known_rows)
    enough = len(observed) >= whole_number("min_runs", min_runs) and told_apart
    if spent is None:
        spent = spent_on(observed, cost=cost_of, candidates=candidates)
    total = resolve_budget(budget, cost=cost_of, candidates=candidates)
    progress = _Progress(
        runs=len(observed),
        spent=number_not_negative("spent", spent),
        budget=positive_number("budget", 0.0 if total is None else total),
        cost_unit=cost_unit or unit,
        relative_width=float(relative_width(observed)) if relative_width is not None and enough else None,
    )
    width = progress.relative_width
    if width is not None and width <= positive_number("narrow_enough", narrow_enough):
        return progress.stop(
            f"the interval is {percent(width)} wide, {percent(narrow_enough)} is narrow enough"
        )
    if progress.runs >= whole_number("max_runs", max_runs):
        made = f"{counted(progress.runs, 'run')} {'was' if progress.runs == 1 else 'were'} made"
        return progress.stop(f"{made}, and max_runs is {max_runs}")
    usable = np.flatnonzero(
        times_made(candidates, observed) < whole_number("max_repetitions", max_repetitions)
    )
    return _proposed(
        candidates, problem, usable, progress, max_runs - progress.runs, min_runs - progress.runs, iterations
    )


@dataclass(frozen=True, kw_only=True)
class _Progress:
    """How far the sampling has come; see `Proposal`."""

    runs: int
    spent: float
    budget: float
    cost_unit: str
    relative_width: float | None

    def proposal(self, experiment: Experiment | None, reason: str) -> Proposal:
        told = {name: value for name, value in vars(self).items() if name != "runs"}
        return Proposal(experiment=experiment, reason=reason, **told)

    def stop(self, reason: str) -> Proposal:
        return self.proposal(None, f"Stop: {reason}.")


def _proposed(
    candidates: Candidates,
    problem: DesignProblem,
    usable: IntArray,
    progress: _Progress,
    runs_left: int,
    missing: int,
    iterations: int | None,
) -> Proposal:
    """The run of the best plan for the rest of the budget that tells most."""
    if not usable.size:
        return progress.stop("all candidates were run")
    rest = problem.of(usable)
    left, cheapest = progress.budget - progress.spent, float(rest.costs.min())
    if cheapest > left * (1 + 1e-9):
        return progress.stop(
            f"the budget is used up: {progress.spent:g} of {progress.budget:g} {progress.cost_unit} are "
            f"spent, and the cheapest run costs {rounded_up(cheapest)}"
        )
    try:
        weights, counts = _planned(rest, left, unit=progress.cost_unit, most=runs_left, missing=missing)
    except DesignError as error:
        return progress.stop(f"what is left does not allow the runs that are missing ({error.message})")
    before = rest.value(np.zeros(len(usable)))
    planned = [_one(len(usable), int(position)) for position in np.flatnonzero(counts)]
    best = min(planned, key=rest.value)
    everywhere, all_weights = np.zeros(len(candidates), dtype=np.int64), np.zeros(len(candidates))
    everywhere[usable], all_weights[usable] = best, weights
    (experiment,) = experiments_of(candidates, everywhere, all_weights, problem.costs, iterations)
    experiment = replace(experiment, index=progress.runs)
    lowered = 1.0 - math.sqrt(rest.value(best) / before)
    return progress.proposal(
        experiment,
        f"It is expected to lower the error of the predictions that are asked for by {percent(lowered)}"
        + (
            "; the rest of the budget is best spent on it."
            if len(planned) == 1
            else f", the most of the {len(planned)} runs that the rest of the budget is best spent on."
        ),
    )


def _planned(
    rest: DesignProblem, left: float, *, unit: str, most: int, missing: int
) -> tuple[FloatArray, IntArray]:
    """Weights and counts of the best plan: with the runs that are missing, or as many as can be paid for.

    Raises:
        DesignError: not even a single run, or those that tell apart what must be told, can be.
    """
    most = min(most, len(rest.costs))
    needed = missing_directions(rest.required_known_rows)
    if needed > most:
        raise DesignError(f"{needed} runs are missing, and {most} can be made.")
    for fewest in range(max(1, min(missing, most)), 0, -1):
        try:
            limits = resolve_limits(
                rest, budget=left, unit=unit, min_runs=fewest, max_runs=most, max_repetitions=1
            )
            return choose_runs(rest, limits)
        except DesignError:
            if fewest == 1:
                raise
    raise AssertionError("a range that ends at 1")


def _one(length: int, position: int) -> IntArray:
    counts = np.zeros(length, dtype=np.int64)
    counts[position] = 1
    return counts
