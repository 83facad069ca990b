"""Goals that no configuration keeps to: the error that says what can be had instead."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ernest.exceptions import InfeasibleGoalError
from airflow_provider_ernest.model.goals import Goal
from airflow_provider_ernest.model.prediction import machines_in_words
from airflow_provider_ernest.model.results import Alternative

OTHERWISE = "ask for less confidence, allow other numbers of machines, or train on another instance type."


AS_PROBABLE = 0.01
"""Probabilities are means over some hundred draws: within this share of the highest they are equal."""


def most_probable(alternatives: Sequence[Alternative], goal: Goal) -> Alternative:
    """The alternative that keeps to the goal most probably; of as probable ones the one it prefers."""
    highest = max(each.probability or 0.0 for each in alternatives)
    return min(
        (each for each in alternatives if (each.probability or 0.0) >= highest * (1 - AS_PROBABLE)),
        key=goal.preference,
    )


def infeasible(
    goal: Goal, alternatives: Sequence[Alternative], *, boot_seconds: float
) -> InfeasibleGoalError:
    """The error that says so, with the best within reach and the most probable.

    Args:
        goal: that none keeps to as surely as was asked for.
        alternatives: at least one.
        boot_seconds: the longest of the types.
    """
    if not goal.has_limits:
        return InfeasibleGoalError(
            "None of the allowed machines can hold the data in memory.",
            best=min(each.seconds for each in alternatives),
            remedy="Allow more machines, or types with more memory, or leave out only_in_memory.",
        )
    surest = most_probable(alternatives, goal)
    told = f"The most probable is {_told(surest)}: {100 * (surest.probability or 0):.1f} %."
    asked = f"with a probability of {100 * goal.confidence:g} %"
    if goal.deadline_seconds is not None:
        nearest = min(alternatives, key=lambda each: (each.seconds, each.cost))
        after = f" after a boot of {boot_seconds:,g} s" if boot_seconds else ""
        budget = f" for at most {goal.budget_dollars:,g} $" if goal.budget_dollars is not None else ""
        return InfeasibleGoalError(
            f"No allowed configuration ends within {goal.deadline_seconds:,g} s{budget} {asked}: the fastest "
            f"is {_told(nearest)}{after}. {told}",
            best=nearest.seconds,
            remedy=f"Extend the deadline, {OTHERWISE}",
            most_probable=surest,
        )
    nearest = min(alternatives, key=lambda each: (each.cost, each.seconds))
    return InfeasibleGoalError(
        f"No allowed configuration costs at most {goal.budget_dollars:,g} $ {asked}: the cheapest is "
        f"{_told(nearest)}. {told}",
        best=nearest.cost,
        remedy=f"Raise the budget, {OTHERWISE}",
        most_probable=surest,
    )


def _told(alternative: Alternative) -> str:
    if alternative.composition:
        machines = alternative.instance_type
    else:
        machines = f"{machines_in_words(alternative.machines)} of {alternative.instance_type}"
    return f"{machines} with {alternative.seconds:,.1f} s for {alternative.cost:,.4g} $"
