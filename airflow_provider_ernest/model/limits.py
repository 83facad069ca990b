"""What a design must respect: how many runs, and what they may cost together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.exceptions import DesignError, InvalidParameterError
from airflow_provider_ernest.model.information import a_criterion, information_matrix
from airflow_provider_ernest.model.parameters import FloatArray, positive_number, rounded_up, whole_number
from airflow_provider_ernest.model.selection import cheapest_selection, missing_directions

MORE_RUNS_THAN_TERMS = 2
"""Leaving one run out must leave more than as many runs as terms: else nothing checks the fit."""

SPARE_RUNS = 4
"""Runs beyond the number of terms that a design makes at most unless told otherwise."""


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
    rows: FloatArray,
    costs: FloatArray,
    *,
    observed_rows: FloatArray,
    budget: float | None,
    unit: str,
    min_runs: int | None,
    max_runs: int | None,
    max_repetitions: int,
) -> Limits:
    """The user's limits with defaults in the place of None, if runs exist that respect them.

    Args:
        rows: the candidates' normalised term values, shape (n, p).
        costs: their costs, shape (n,).
        observed_rows: normalised term values of the runs already made, shape (m, p).
        budget: by default `max_runs` times the mean cost, or the least that can work if that is more.
        unit: of costs and budget, for messages.
        min_runs: by default p + 2 - m, but at least what determines the terms and at most `max_runs`.
        max_runs: by default p + 4 - m, but at least what determines the terms.
        max_repetitions: how often the same run may be made.

    Raises:
        InvalidParameterError: a limit cannot be.
        DesignError: no runs respect them; the message names the least budget that works.
    """
    needed = max(1, missing_directions(observed_rows))
    possible = len(rows) * whole_number("max_repetitions", max_repetitions)
    min_runs, max_runs = _run_numbers(
        min_runs, max_runs, needed=needed, possible=possible, spare=rows.shape[1] - len(observed_rows)
    )
    cheapest = cheapest_selection(
        rows, costs, runs=min_runs, max_repetitions=max_repetitions, observed_rows=observed_rows
    )
    if cheapest is None or not np.isfinite(a_criterion(information_matrix(rows, cheapest, observed_rows))):
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


def _run_numbers(
    min_runs: int | None, max_runs: int | None, *, needed: int, possible: int, spare: int
) -> tuple[int, int]:
    """The fewest and the most runs; `spare` is the number of terms less that of the runs already made."""
    asked = 0 if min_runs is None else whole_number("min_runs", min_runs)
    if max_runs is None:
        max_runs = min(max(spare + SPARE_RUNS, needed, asked), possible)
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
        asked = min(spare + MORE_RUNS_THAN_TERMS, most)
    return max(asked, needed), max_runs
