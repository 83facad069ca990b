"""The deadlines and budgets that are posed.

All of them can be kept: each lies between what the best and the worst option really take (or cost), by
the medians of their runs, spread evenly on the logarithm. They are fixed by the measured runs alone, and
the first is as tight as can be: the median of the very fastest option, which half of its runs miss.

Who knows that some option keeps each limit knows more than whoever decides: of such limits more are kept than
anybody could say. So what is said is held against what comes by limits that reach further, `BEYOND`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.decision.goals import TOLERANCE
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.settings import SizingGoal
from benchmarks.decisions.situations import Option, Situation

DEADLINE, BUDGET = "deadline", "budget"

LIMITS = 10
"""How many of a kind are posed in each situation."""

BEYOND = 2.0
"""From half of what the best option takes to twice what the worst does."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked: the cheapest option within a deadline, or the fastest within a budget.

    Attributes:
        kind: `DEADLINE` or `BUDGET`.
        limit: seconds or dollars.
        slack: how much more it is than what the best option takes or costs: 0.1 is 10 %.
    """

    kind: str
    limit: float
    slack: float

    def goal(self, confidence: float) -> SizingGoal:
        """The goal as the package has it; the options say which numbers of machines there are."""
        return SizingGoal(
            deadline_seconds=self.limit if self.kind == DEADLINE else None,
            budget_dollars=None if self.kind == DEADLINE else self.limit,
            confidence=confidence,
            max_machines=1,
        )

    def keeps(self, option: Option, seconds: float) -> bool:
        """Whether a run of the option that takes so long keeps to it."""
        return self.is_met(seconds=seconds, cost=option.cost_of(seconds))

    def is_met(self, *, seconds: float, cost: float) -> bool:
        """Whether a run of so many seconds and dollars keeps to it."""
        return (seconds if self.kind == DEADLINE else cost) <= self.limit * (1 + TOLERANCE)

    def value(self, situation: Situation) -> FloatArray:
        """What is to be little: the options' dollars under a deadline, their seconds under a budget."""
        return situation.costs if self.kind == DEADLINE else situation.seconds


def questions(situation: Situation, kind: str, *, count: int = LIMITS, reach: float = 1.0) -> list[Question]:
    """So many questions of a kind, the tightest first.

    Args:
        situation: the options.
        kind: `DEADLINE` or `BUDGET`.
        count: how many.
        reach: by what factor they go beyond what options take or cost, at either end.
    """
    limited = situation.seconds if kind == DEADLINE else situation.costs
    least, most = float(limited.min()), float(limited.max())
    return [
        Question(kind=kind, limit=float(limit), slack=float(limit) / least - 1.0)
        for limit in np.geomspace(least / reach, most * reach, count)
    ]
