"""What a production run must keep to, how surely, and what is best among the configurations that do."""

from __future__ import annotations

import math
from collections.abc import Sequence

from airflow_provider_ernest.documents.decisions import Alternative, Decision
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.settings.goal import BALANCED, BEST_VALUE, FASTEST
from airflow_provider_ernest.words import confidence, dollars, duration

HOPELESS = 1e-9  # a lower probability is as good as none
TOLERANCE = 1e-9  # sums and products are not exact: a run of just the deadline does not miss it


class Goal:
    """A `SizingGoal`, resolved once: what production must keep to, how surely, and what is best of these."""

    def __init__(self, stated: SizingGoal, *, iterations: int | None = None) -> None:
        self.stated, self.iterations = stated, iterations
        self.scale = stated.scale
        self.deadline_seconds, self.budget_dollars = stated.deadline_seconds, stated.budget_dollars
        self.confidence, self.has_limits = stated.confidence, stated.has_limits
        self.objective = stated.objective or BEST_VALUE
        # Whether time is to be little, not dollars; within a budget alone dollars are settled.
        is_budget_alone = self.budget_dollars is not None and self.deadline_seconds is None
        self.is_time = self.objective == FASTEST or (self.objective == BEST_VALUE and is_budget_alone)

    @property
    def in_words(self) -> str:
        """The goal as people read it, but for the executors that are allowed."""
        best = self.objective.replace("_", " ")
        limits = [] if self.deadline_seconds is None else [duration(self.deadline_seconds)]
        limits += [] if self.budget_dollars is None else [dollars(self.budget_dollars)]
        words = " within ".join([best, *([" and ".join(limits)] if limits else [])])
        return f"{words} in {confidence(self.confidence)} of runs" if self.has_limits else words

    def limit_seconds(self, billing: Billing, executors: float) -> float:
        """The longest run, from submission to end, that keeps to the goal; infinite without limits."""
        limits = [math.inf]
        if self.deadline_seconds is not None:
            limits.append(self.deadline_seconds * (1 + TOLERANCE) - billing.boot_seconds)
        # Who asks for a budget without a price is shown times alone, see `SizingGoal.needs_price`.
        if self.budget_dollars is not None and billing.price_per_hour is not None:
            budget = self.budget_dollars * (1 + TOLERANCE)
            limits.append(billing.most_seconds(executors=executors, budget_dollars=budget))
        return max(0.0, min(limits))

    def is_kept(self, probability: float | None) -> bool:
        """Whether a goal is kept as surely as was asked for; one without limits always is."""
        if not self.has_limits:
            return True
        return probability is not None and probability >= self.confidence - TOLERANCE

    def preference(self, alternative: Alternative) -> tuple[float, ...]:
        """A key that sorts better alternatives first: what counts, then the other, then fewer executors.

        For the best value what counts is taken per run that keeps to the limits: divided by the probability
        of doing so. A run that misses its deadline has bought nothing; and where a cent more buys much more
        certainty, the configuration that is only just sure enough is a poor bargain. Figures whose first
        seven digits are the same are equal.
        """

        def rounded(figure: float) -> float:  # sums and products are not exact
            return float(f"{figure:.7g}")

        best, cost, seconds = self.objective, alternative.expense, alternative.seconds
        of = cost * seconds if best == BALANCED else seconds if self.is_time else cost
        kept = 1.0 if best != BEST_VALUE or alternative.probability is None else alternative.probability
        others = (cost, seconds) if best == BALANCED or self.is_time else (seconds, cost)
        return rounded(of / max(kept, HOPELESS)), *map(rounded, others), alternative.executors


def on_pareto_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """For each finite point whether no other is at least as small in both and smaller in one (Pareto, 1906).

    Equal points are on the front together or not at all.
    """
    front = [False] * len(points)
    least_second, last = math.inf, None
    for at in sorted(range(len(points)), key=points.__getitem__):
        if points[at][1] < least_second or points[at] == last:
            front[at] = True
            least_second, last = points[at][1], points[at]
    return front


NOTICEABLE = 0.05  # nobody would pay for a run that is shorter by a smaller share


def chosen(alternatives: Sequence[Alternative], decision: Decision | None) -> Alternative | None:
    """The one that was decided on; None where there is no decision, or a fallback that was not considered."""
    if decision is None:
        return None
    return next((each for each in alternatives if decision.is_for(each)), None)


def cheapest_that_meets(alternatives: Sequence[Alternative]) -> Alternative | None:
    """The least expense of those that keep to the goal as surely as was asked."""
    return min((each for each in alternatives if each.feasible), key=_by_expense, default=None)


def fastest(alternatives: Sequence[Alternative]) -> Alternative | None:
    """The least seconds of those that keep to the goal as surely as was asked; where none does, of all."""
    met = [each for each in alternatives if each.feasible] or alternatives
    return min(met, key=lambda each: (each.seconds, each.expense, each.executors), default=None)


def next_faster(alternatives: Sequence[Alternative], than: Alternative) -> Alternative | None:
    """The cheapest of the feasible ones that are noticeably faster."""
    limit = than.seconds * (1 - NOTICEABLE)
    faster = (each for each in alternatives if each.feasible and each.seconds <= limit)
    return min(faster, key=_by_expense, default=None)


def _by_expense(each: Alternative) -> tuple[float, ...]:
    return each.expense, each.seconds, each.executors
