"""The cheapest configuration within a deadline, or the fastest within a budget (Ernest, section 6.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_ernest.exceptions import InfeasibleGoalError, InvalidParameterError
from airflow_provider_ernest.model.documents import Configuration
from airflow_provider_ernest.model.parameters import number_not_negative, positive_number, whole_number
from airflow_provider_ernest.model.prediction import (
    extrapolation,
    machines_in_words,
    predict_interval,
    predict_seconds,
)
from airflow_provider_ernest.model.results import Alternative, Decision, Model

LIKELY = 0.8
NEARLY_CERTAIN = 0.95

TOLERANCE = 1e-9
"""Sums and products are not exact: a run of just one increment is not billed as two, nor misses its goal."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What the production run must keep to: a deadline or a budget, one of them.

    Attributes:
        deadline_seconds: from submission to end, start-up included; the cheapest way to keep it is taken.
        budget_dollars: for the run; the fastest way to keep it is taken.
    """

    deadline_seconds: float | None = None
    budget_dollars: float | None = None

    def __post_init__(self) -> None:
        """Refuse no goal, two goals, and goals that nothing could meet."""
        if (self.deadline_seconds is None) == (self.budget_dollars is None):
            both = (self.deadline_seconds, self.budget_dollars)
            raise InvalidParameterError(
                "(deadline_seconds, budget_dollars)",
                both,
                "is no goal" if both == (None, None) else "is two goals",
                remedy="Give exactly one of them.",
            )
        if self.deadline_seconds is not None:
            positive_number("deadline_seconds", self.deadline_seconds)
        if self.budget_dollars is not None:
            positive_number("budget_dollars", self.budget_dollars)

    def describe(self) -> str:
        """The goal in words."""
        if self.deadline_seconds is not None:
            return f"cheapest within {self.deadline_seconds:,g} s"
        return f"fastest within {self.budget_dollars:,g} $"

    def is_met(self, *, seconds: float, cost: float) -> bool:
        """Whether a run of so many seconds and dollars keeps to it."""
        if self.deadline_seconds is not None:
            return seconds <= self.deadline_seconds * (1 + TOLERANCE)
        return self.budget_dollars is not None and cost <= self.budget_dollars * (1 + TOLERANCE)

    def preference(self, alternative: Alternative) -> tuple[float, float, int]:
        """A key that sorts better alternatives first: what counts, then the other, then fewer machines.

        Differences below a millionth of a dollar or second are none.
        """
        first, second = round(alternative.cost, 6), round(alternative.seconds, 6)
        if self.budget_dollars is not None:
            first, second = second, first
        return first, second, alternative.machines


def choose(
    model: Model,
    *,
    goal: Goal,
    machines: Sequence[int],
    price_per_hour: float,
    scale: float = 1.0,
    iterations: int | None = None,
    billing_increment_seconds: float = 1.0,
    minimum_billed_seconds: float = 0.0,
) -> Decision:
    """Choose the number of machines for the production run.

    Start-up counts: it is part of what the deadline allows, and it is billed.

    Args:
        model: predicts the run's seconds.
        goal: a deadline or a budget.
        machines: the numbers of machines to choose from.
        price_per_hour: dollars for one machine and hour.
        scale: the production input relative to the one that was sampled.
        iterations: of the production run, for iterative jobs; see `predict_seconds`.
        billing_increment_seconds: machines are billed in whole multiples of it; 3600 where by the hour.
        minimum_billed_seconds: the least that is billed for a machine.

    Returns:
        The decision with all alternatives, by number of machines.

    Raises:
        InvalidParameterError: a parameter cannot be.
        InfeasibleGoalError: no configuration meets the goal; `best` is the best that can be reached.
    """
    counts = _machine_counts(machines)
    price = positive_number(
        "price_per_hour", price_per_hour, remedy="Give the dollars for one machine and hour."
    )
    increment = positive_number("billing_increment_seconds", billing_increment_seconds)
    minimum = number_not_negative("minimum_billed_seconds", minimum_billed_seconds)
    run_seconds = predict_seconds(model, machines=counts, scale=scale, iterations=iterations)
    run_seconds_of = dict(zip(counts, run_seconds.tolist(), strict=True))
    likely, nearly_certain = (
        _intervals(model, counts, level=level, scale=scale, iterations=iterations)
        for level in (LIKELY, NEARLY_CERTAIN)
    )
    alternatives = []
    for count in counts:
        seconds = run_seconds_of[count] + model.startup_seconds
        billed_seconds = max(minimum, math.ceil(seconds / increment - TOLERANCE) * increment)
        cost = count * price / 3600.0 * billed_seconds
        alternatives.append(
            Alternative(
                machines=count,
                instance_type=model.instance_type,
                seconds=seconds,
                cost=cost,
                feasible=goal.is_met(seconds=seconds, cost=cost),
                likely_seconds=likely[count],
                nearly_certain_seconds=nearly_certain[count],
                extrapolates=extrapolation(model, machines=count, scale=scale),
            )
        )
    chosen = _best(goal, alternatives)
    return Decision(
        config=Configuration(machines=chosen.machines, instance_type=chosen.instance_type),
        goal=goal.describe(),
        price_per_hour=price,
        predicted_seconds=chosen.seconds,
        run_seconds=run_seconds_of[chosen.machines],
        startup_seconds=model.startup_seconds,
        likely_seconds=chosen.likely_seconds,
        nearly_certain_seconds=chosen.nearly_certain_seconds,
        predicted_cost=chosen.cost,
        error_percent=model.validation.median_error_percent,
        max_error_percent=model.validation.max_error_percent,
        alternatives=tuple(alternatives),
        model_id=model.model_id,
        warnings=(*([chosen.extrapolates] if chosen.extrapolates else []), *model.warnings),
    )


def _intervals(
    model: Model, counts: list[int], *, level: float, scale: float, iterations: int | None
) -> dict[int, tuple[float, float]]:
    """For each number of machines what the run lies between, start-up included."""
    low, high = predict_interval(model, machines=counts, level=level, scale=scale, iterations=iterations)
    return {
        count: (float(least) + model.startup_seconds, float(most) + model.startup_seconds)
        for count, least, most in zip(counts, low, high, strict=True)
    }


def _machine_counts(machines: Sequence[int]) -> list[int]:
    """The numbers of machines, each once, in ascending order."""
    counts = sorted({whole_number(f"machines[{index}]", count) for index, count in enumerate(machines)})
    if not counts:
        raise InvalidParameterError(
            "machines", machines, "is empty", remedy="Allow at least one number of machines."
        )
    return counts


def _best(goal: Goal, alternatives: Sequence[Alternative]) -> Alternative:
    """The feasible alternative that the goal prefers."""
    feasible = [alternative for alternative in alternatives if alternative.feasible]
    if feasible:
        return min(feasible, key=goal.preference)
    if goal.deadline_seconds is not None:
        nearest = min(alternatives, key=lambda each: (each.seconds, each.cost))
        raise InfeasibleGoalError(
            f"No allowed number of machines ends within {goal.deadline_seconds:,g} s: the fastest is "
            f"{_told(nearest)}.",
            best=nearest.seconds,
            remedy="Extend the deadline, allow other numbers of machines, or train on another instance type.",
        )
    nearest = min(alternatives, key=lambda each: (each.cost, each.seconds))
    raise InfeasibleGoalError(
        f"No allowed number of machines costs at most {goal.budget_dollars:,g} $: the cheapest is "
        f"{_told(nearest)}.",
        best=nearest.cost,
        remedy="Raise the budget, allow other numbers of machines, or train on another instance type.",
    )


def _told(alternative: Alternative) -> str:
    machines = machines_in_words(alternative.machines)
    return f"{machines} with {alternative.seconds:,.1f} s for {alternative.cost:,.4g} $"
