"""What a production run must keep to, how surely, and what is best among the configurations that do."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from airflow_provider_ernest.billing import Billing
from airflow_provider_ernest.documents import Alternative
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.numbers import positive_number
from airflow_provider_ernest.settings import (
    BALANCED,
    CHEAPEST,
    CONFIDENCE,
    FASTEST,
    OBJECTIVES,
    check_confidence,
    require_goal,
)

Objective = Callable[[Alternative], float]
"""Gives an alternative a number; the one with the least is chosen."""


HOPELESS = 1e-9
"""A lower probability is as good as none."""


TOLERANCE = 1e-9
"""Sums and products are not exact: a run of just the deadline does not miss it."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What the production run must keep to, and what is best among the ways to do so.

    Attributes:
        deadline_seconds: from the launch of its machines, or from submission where they are there already,
            to the end.
        budget_dollars: for all that is billed for the run.
        confidence: the probability with which it is to be kept, by the model's interval; 0.5 is by the
            median prediction.
        objective: "cheapest", "fastest", "balanced" or a function of an `Alternative`, less being better.
            None takes the cheapest within the deadline, or the fastest within the budget, of which there
            must then be exactly one. With an objective there may be both, one, or none.

    Raises:
        InvalidParameterError: no goal, two goals, or one that nothing could meet.
    """

    deadline_seconds: float | None = None
    budget_dollars: float | None = None
    confidence: float = CONFIDENCE
    objective: str | Objective | None = None

    def __post_init__(self) -> None:
        """Refuse what is no goal."""
        limits = {"deadline_seconds": self.deadline_seconds, "budget_dollars": self.budget_dollars}
        require_goal(**limits, objective=self.objective)
        for name, value in limits.items():
            if value is not None:
                positive_number(name, value)
        check_confidence("confidence", self.confidence)
        if isinstance(self.objective, str) and self.objective not in OBJECTIVES:
            raise InvalidParameterError(
                "objective", self.objective, "is unknown", remedy=f"Use one of {', '.join(OBJECTIVES)}."
            )

    @property
    def has_limits(self) -> bool:
        """Whether there is a deadline or a budget at all."""
        return self.deadline_seconds is not None or self.budget_dollars is not None

    @property
    def objective_in_words(self) -> str:
        """What is best: the name of the objective or of the function."""
        if self.objective is None:
            return CHEAPEST if self.deadline_seconds is not None else FASTEST
        return self.objective if isinstance(self.objective, str) else name_of(self.objective)

    def describe(self) -> str:
        """The goal in words."""
        surely = f" with a probability of {100 * self.confidence:.10g} %" if self.has_limits else ""
        return self.without_confidence + surely

    @property
    def without_confidence(self) -> str:
        """The goal in words, but for how surely it is to be kept."""
        stated = ((self.deadline_seconds, "s"), (self.budget_dollars, "$"))
        limits = [f"{value:,.10g} {unit}" for value, unit in stated if value is not None]
        return " within ".join([self.objective_in_words, *([" and ".join(limits)] if limits else [])])

    def latest_seconds(self, boot_seconds: float) -> float | None:
        """The deadline from submission on; None where there is none, or the boot before it uses it up."""
        deadline = self.deadline_seconds
        return deadline - boot_seconds if deadline is not None and deadline > boot_seconds else None

    def limit_seconds(self, billing: Billing, machines: int) -> float:
        """The longest run, from submission to end, that keeps to it; infinite without limits, at least 0."""
        limits = [math.inf]
        if self.deadline_seconds is not None:
            limits.append(self.deadline_seconds * (1 + TOLERANCE) - billing.boot_seconds)
        if self.budget_dollars is not None:
            budget = self.budget_dollars * (1 + TOLERANCE)
            limits.append(billing.most_seconds(machines=machines, budget_dollars=budget))
        return max(0.0, min(limits))

    def preference(self, alternative: Alternative) -> tuple[float, ...]:
        """A key that sorts better alternatives first: what counts, then the other, then fewer machines.

        What counts is taken per run that keeps to the limits: divided by the probability of doing so. A run
        that misses its deadline has bought nothing; and where a cent more buys much more certainty, the
        configuration that is only just sure enough is a poor bargain. The user's own objective is taken as
        it is. Figures whose first seven digits are the same are equal.

        Raises:
            InvalidParameterError: the user's objective fails, or gives no finite number.
        """
        cost, seconds = alternative.cost, alternative.seconds
        if callable(self.objective):
            counts = self._score(self.objective, alternative)
        else:
            of = {CHEAPEST: cost, FASTEST: seconds, BALANCED: cost * seconds}[self.objective_in_words]
            kept = 1.0 if alternative.probability is None else alternative.probability
            counts = _rounded(of / max(kept, HOPELESS))
        others = (seconds, cost) if self.objective_in_words == CHEAPEST else (cost, seconds)
        return counts, *(_rounded(other) for other in others), alternative.machines

    @staticmethod
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
