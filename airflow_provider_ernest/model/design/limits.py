"""What a design must respect: how many runs, and what they may cost together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.exceptions import DesignError, InvalidParameterError
from airflow_provider_ernest.model.design.problem import DesignProblem
from airflow_provider_ernest.model.design.selection import INDEPENDENT, cheapest_selection, missing_directions
from airflow_provider_ernest.model.parameters import IntArray, positive_number, rounded_up, whole_number

MORE_RUNS_THAN_TERMS = 2
"""Leaving one run out must leave more than as many runs as terms: else nothing checks the fit.

The terms are those that the runs must determine: all of them, or for Bayesian criteria the four of
`problem.CORE_TERMS`. So a design makes six runs at least; with five, errors in simulation were larger.
"""

SPARE_RUNS = 4
"""Runs beyond the number of terms that a design makes at most unless told otherwise."""

INDEPENDENCE = (INDEPENDENT, 1e-4, 1e-3, 1e-2)
"""How much runs must differ, one after the other, until their information matrix is regular in numbers."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a design must respect.

    Attributes:
        budget: bound on the sum of the runs' costs.
        min_runs: the fewest runs.
        max_runs: the most runs.
        max_repetitions: how often the same run may be made.
    """

    budget: float
    min_runs: int
    max_runs: int
    max_repetitions: int = 1

    @property
    def highest_cost(self) -> float:
        """The budget, up to the inexactness of sums."""
        return self.budget * (1 + 1e-9)


def resolve_limits(
    problem: DesignProblem,
    *,
    budget: float | None,
    unit: str,
    min_runs: int | None,
    max_runs: int | None,
    max_repetitions: int,
) -> Limits:
    """The user's limits with defaults in the place of None, if runs exist that respect them.

    Args:
        problem: the candidates, with q terms that the runs must determine, and m runs already made.
        budget: by default `max_runs` times the mean cost, or the least that can work if that is more.
        unit: of costs and budget, for messages.
        min_runs: by default q + 2 - m, but at least what determines the terms and at most `max_runs`.
        max_runs: by default two more than that.
        max_repetitions: how often the same run may be made.

    Raises:
        InvalidParameterError: a limit cannot be.
        DesignError: no runs respect them; the message names the least budget that works.
    """
    costs = problem.costs
    needed = max(1, missing_directions(problem.required_known_rows))
    possible = len(costs) * whole_number("max_repetitions", max_repetitions)
    made, required = problem.required_known_rows.shape
    min_runs, max_runs = _run_numbers(
        min_runs,
        max_runs,
        needed=needed,
        possible=possible,
        usual_least=required + MORE_RUNS_THAN_TERMS - made,
        usual_most=required + SPARE_RUNS - made,
    )
    cheapest = cheapest_regular(problem, runs=min_runs, max_repetitions=max_repetitions)
    if cheapest is None:
        raise DesignError(
            f"No {min_runs} of the candidates determine all terms with certainty.",
            remedy="Widen the bounds of machines and scale, or name fewer terms.",
        )
    least = float(cheapest @ costs)
    if budget is None:
        budget = max(least, max_runs * float(costs.mean()))
    limits = Limits(
        budget=positive_number("budget", budget),
        min_runs=min_runs,
        max_runs=max_runs,
        max_repetitions=max_repetitions,
    )
    if limits.highest_cost < least:
        raise DesignError(
            f"A budget of {budget:g} {unit} is not enough: the cheapest {min_runs} runs that determine the "
            f"terms cost {rounded_up(least)}, the cheapest single run {rounded_up(float(costs.min()))}.",
            remedy=f"Raise the budget to {rounded_up(least)} or more, or lower min_runs.",
        )
    return limits


def cheapest_regular(problem: DesignProblem, *, runs: int, max_repetitions: int) -> IntArray | None:
    """The cheapest so many runs that determine the terms with certainty, or None where none do.

    The very cheapest may differ so little (one scale; 29, 30, 31 and 32 machines) that their
    information matrix is singular in numbers though not in theory: then runs that differ more.
    """
    for independent in INDEPENDENCE:
        counts = cheapest_selection(
            problem.required_rows,
            problem.costs,
            runs=runs,
            max_repetitions=max_repetitions,
            observed_rows=problem.required_known_rows,
            independent=independent,
        )
        if counts is not None and np.isfinite(problem.value(counts)):
            return counts
    return None


def _run_numbers(
    min_runs: int | None,
    max_runs: int | None,
    *,
    needed: int,
    possible: int,
    usual_least: int,
    usual_most: int,
) -> tuple[int, int]:
    """The fewest and the most runs: what the user asks for, else the usual, in the bounds of what can be."""
    asked = 0 if min_runs is None else whole_number("min_runs", min_runs)
    if max_runs is None:
        max_runs = min(max(usual_most, needed, asked), possible)
    if whole_number("max_runs", max_runs) < needed:
        raise InvalidParameterError(
            "max_runs",
            max_runs,
            "is fewer than the runs that determine the terms",
            remedy=f"Allow at least {needed}, or name fewer terms.",
        )
    most = min(max_runs, possible)
    if asked > most:
        raise InvalidParameterError(
            "min_runs",
            asked,
            f"is more than the {most} runs that max_runs={max_runs} and {possible} candidates allow",
            remedy=f"Lower it to {most}, or raise max_runs or max_repetitions, or widen the bounds.",
        )
    if min_runs is None:
        asked = min(usual_least, most)
    return max(asked, needed), max_runs
