"""What a production run must keep to, how surely, and what is best among the configurations that do."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence

from airflow_provider_ernest.documents.decisions import Alternative
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.settings.goal import BALANCED, BEST_VALUE, FASTEST, OBJECTIVES
from airflow_provider_ernest.words import confidence, dollars, duration

Objective = Callable[[Alternative], float]
"""Gives an alternative a number; the one with the least is chosen."""

Preference = Callable[[Alternative], tuple[float, ...]]
"""A key by which the better alternative comes first."""


HOPELESS = 1e-9
"""A lower probability is as good as none."""


TOLERANCE = 1e-9
"""Sums and products are not exact: a run of just the deadline does not miss it."""


def objective_of(goal: SizingGoal) -> str | Objective:
    """What is best: the name of an objective, or the user's function.

    Raises:
        InvalidParameterError: there is no such function.
    """
    if goal.objective is not None:
        return load_objective(goal.objective)
    return BEST_VALUE


def counts_seconds(goal: SizingGoal) -> bool:
    """Whether time is what is to be little, not dollars; within a budget alone dollars are settled."""
    best = objective_of(goal)
    is_budget_alone = goal.budget_dollars is not None and goal.deadline_seconds is None
    return best == FASTEST or (best == BEST_VALUE and is_budget_alone)


def describe(goal: SizingGoal) -> str:
    """The goal in words."""
    best = objective_of(goal)
    words = goal_in_words(
        best.replace("_", " ") if isinstance(best, str) else name_of(best),
        deadline_seconds=goal.deadline_seconds,
        budget_dollars=goal.budget_dollars,
    )
    return f"{words} in {confidence(goal.confidence)} of runs" if goal.has_limits else words


def goal_in_words(best: str, *, deadline_seconds: float | None, budget_dollars: float | None) -> str:
    """What is best within which limits, but for how surely they are to be kept."""
    limits = [] if deadline_seconds is None else [duration(deadline_seconds)]
    limits += [] if budget_dollars is None else [dollars(budget_dollars)]
    return " within ".join([best, *([" and ".join(limits)] if limits else [])])


def limit_seconds(goal: SizingGoal, billing: Billing, machines: int) -> float:
    """The longest run, from submission to end, that keeps to a goal; infinite without limits, at least 0."""
    limits = [math.inf]
    if goal.deadline_seconds is not None:
        limits.append(goal.deadline_seconds * (1 + TOLERANCE) - billing.boot_seconds)
    if goal.budget_dollars is not None:
        budget = goal.budget_dollars * (1 + TOLERANCE)
        limits.append(billing.most_seconds(machines=machines, budget_dollars=budget))
    return max(0.0, min(limits))


def is_sure(probability: float | None, goal: SizingGoal) -> bool:
    """Whether a goal is kept as surely as was asked for; where it has no limits any way does."""
    if not goal.has_limits:
        return True
    return probability is not None and probability >= goal.confidence - TOLERANCE


def preference(goal: SizingGoal) -> Preference:
    """A key that sorts better alternatives first: what counts, then the other, then fewer machines.

    For the best value what counts is taken per run that keeps to the limits: divided by the probability of
    doing so. A run that misses its deadline has bought nothing; and where a cent more buys much more
    certainty, the configuration that is only just sure enough is a poor bargain. All other objectives are
    taken as they are. Figures whose first seven digits are the same are equal.

    Raises:
        InvalidParameterError: by the key, where the user's objective fails, or gives no finite number.
    """
    best, is_time = objective_of(goal), counts_seconds(goal)
    is_money = not is_time and best != BALANCED and isinstance(best, str)

    def key(alternative: Alternative) -> tuple[float, ...]:
        cost, seconds = alternative.cost, alternative.seconds
        if isinstance(best, str):
            of = cost * seconds if best == BALANCED else seconds if is_time else cost
            kept = 1.0 if best != BEST_VALUE or alternative.probability is None else alternative.probability
            counts = _rounded(of / max(kept, HOPELESS))
        else:
            counts = _score(best, alternative)
        others = (seconds, cost) if is_money else (cost, seconds)
        return counts, *(_rounded(other) for other in others), alternative.machines

    return key


def _score(objective: Objective, alternative: Alternative) -> float:
    told = f"{alternative.machines} x {alternative.instance_type}"
    try:
        score = objective(alternative)
    except Exception as error:
        raise InvalidParameterError(
            "objective",
            name_of(objective),
            f"fails for {told}: {type(error).__name__}: {error}",
            remedy="It is called with an Alternative, and must return a number, less being better.",
        ) from error
    try:
        number = float(score)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidParameterError(
            "objective",
            name_of(objective),
            f"gives {score!r} for {told}",
            remedy="It must return a finite number, less being better.",
        )
    return number


def _rounded(figure: float) -> float:
    """Sums and products are not exact, however small they are."""
    return float(f"{figure:.7g}")


def name_of(objective: Objective) -> str:
    """A function's name, for people."""
    return getattr(objective, "__qualname__", None) or type(objective).__name__


def load_objective(text: str) -> str | Objective:
    """The objective of a name or of the path of a function ("my_package.my_module.my_function").

    Raises:
        InvalidParameterError: it is neither.
    """
    if text in OBJECTIVES:
        return text
    module, _, name = text.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name) if module else None
    except Exception as error:  # a module may fail by anything
        raise InvalidParameterError(
            "objective",
            text,
            f"cannot be imported: {type(error).__name__}: {error}",
            remedy="Name a function of a module that Python finds (by PYTHONPATH, say), or use one of "
            f"{', '.join(OBJECTIVES)}.",
        ) from error
    if not callable(found):
        raise InvalidParameterError(
            "objective",
            text,
            "is no function",
            remedy=f"Use one of {', '.join(OBJECTIVES)}, or the path of a function of an Alternative.",
        )
    objective: Objective = found
    return objective


def on_pareto_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """For each point whether no other one is at least as small in both and smaller in one (Pareto, 1906).

    A point has two things of which less is better, seconds and dollars say. Equal points are on the front
    together or not at all; a point that is not finite never is, nor does it keep others from it.
    """
    front = [False] * len(points)
    order = sorted(
        (at for at, point in enumerate(points) if all(map(math.isfinite, point))), key=points.__getitem__
    )
    least_second, last = math.inf, None
    for at in order:
        if points[at][1] < least_second or points[at] == last:
            front[at] = True
            least_second, last = points[at][1], points[at]
    return front
