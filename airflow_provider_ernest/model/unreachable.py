"""Goals that no configuration keeps to: the error that says what can be had instead."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ernest.exceptions import InfeasibleGoalError
from airflow_provider_ernest.model.goals import Goal
from airflow_provider_ernest.model.prediction import machines_in_words
from airflow_provider_ernest.model.results import Alternative

OTHERWISE = "ask for less confidence, allow other numbers of machines, or train on another instance type."

OUT_OF_ALL_REACH = 5e-4
"""Lower probabilities hang on single draws, and order nothing; they read as less than 0.1 %."""

AS_PROBABLE = 0.01
"""Probabilities are means over some hundred draws: within this share of the highest they are equal."""


def most_probable(alternatives: Sequence[Alternative], goal: Goal) -> Alternative:
    """The alternative that keeps to the goal most probably; of as probable ones the one it prefers.

    Where none has a chance worth the name, the one that comes nearest to the goal's limits.
    """
    highest = max(each.probability or 0.0 for each in alternatives)
    if highest < OUT_OF_ALL_REACH:
        return min(alternatives, key=lambda each: (_overshoot(each, goal), *goal.preference(each)))
    return min(
        (each for each in alternatives if (each.probability or 0.0) >= highest * (1 - AS_PROBABLE)),
        key=goal.preference,
    )


def _overshoot(alternative: Alternative, goal: Goal) -> float:
    """How many times the limit that is missed most is used up."""
    used = []
    if goal.deadline_seconds is not None:
        used.append(alternative.seconds / goal.deadline_seconds)
    if goal.budget_dollars is not None:
        used.append(alternative.cost / goal.budget_dollars)
    return max(used)


def infeasible(
    goal: Goal,
    alternatives: Sequence[Alternative],
    *,
    boot_seconds: float,
    only_in_memory: bool = False,
) -> InfeasibleGoalError:
    """The error that says so, with the best within reach and the most probable.

    Args:
        goal: that none keeps to as surely as was asked for.
        alternatives: at least one.
        boot_seconds: the longest of the types.
        only_in_memory: whether those that cannot hold the data in memory were left out.
    """
    fastest_of_all = min(each.seconds for each in alternatives)
    if only_in_memory:
        alternatives = [each for each in alternatives if not each.memory_shortage]
    if not alternatives:
        return InfeasibleGoalError(
            "None of the allowed machines can hold the data in memory.",
            best=fastest_of_all,
            remedy="Allow more machines, or types with more memory, or leave out only_in_memory.",
        )
    surest = most_probable(alternatives, goal)
    none = "No allowed configuration" + (" that holds the data in memory" if only_in_memory else "")
    missed, best, remedy = _best_within_reach(goal, alternatives, boot_seconds)
    return InfeasibleGoalError(
        f"{none} {missed}. The most probable is {_told(surest)}: "
        f"{probability_in_words(surest.probability or 0.0)}.",
        best=best,
        remedy=f"{remedy}, {OTHERWISE}",
        most_probable=surest,
    )


def _best_within_reach(
    goal: Goal, alternatives: Sequence[Alternative], boot_seconds: float
) -> tuple[str, float, str]:
    """What is missed and what can be had, in words; that figure; and what else to ask for."""
    asked = f"with a probability of {100 * goal.confidence:.10g} %"
    budget = f"{goal.budget_dollars:,.10g} $" if goal.budget_dollars is not None else ""
    if goal.deadline_seconds is None:
        cheapest = min(alternatives, key=lambda each: (each.cost, each.seconds))
        missed = f"costs at most {budget} {asked}: the cheapest is {_told(cheapest)}"
        return missed, cheapest.cost, "Raise the budget"
    fastest = min(alternatives, key=lambda each: (each.seconds, each.cost))
    missed = (
        f"ends within {goal.deadline_seconds:,.10g} s{f' for at most {budget}' if budget else ''} {asked}: "
    )
    missed += f"the fastest is {_told(fastest)}"
    if boot_seconds:
        missed += f" after a boot of {boot_seconds:,.10g} s"
    return missed, fastest.seconds, "Extend the deadline" + (", raise the budget" if budget else "")


def _told(alternative: Alternative) -> str:
    if alternative.composition:
        machines = alternative.instance_type
    else:
        machines = f"{machines_in_words(alternative.machines)} of {alternative.instance_type}"
    return f"{machines} with {alternative.seconds:,.1f} s for {alternative.cost:,.4g} $"


def probability_in_words(probability: float) -> str:
    """As a percentage; what is not certain is never called so."""
    if 0.9995 <= probability < 1:
        return "> 99.9 %"
    return "< 0.1 %" if 0 < probability < OUT_OF_ALL_REACH else f"{100 * probability:.1f} %"
