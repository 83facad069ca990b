"""What the chosen machines are compared with, and what could be asked for instead of a goal out of reach."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ernest.documents.decisions import Alternative, Decision, Reachable
from airflow_provider_ernest.numbers import raised
from airflow_provider_ernest.settings import SizingGoal
from airflow_provider_ernest.words import HOUR, MINUTE

if TYPE_CHECKING:
    from airflow_provider_ernest.decision.offers import Offer
    from airflow_provider_ernest.settings import Billing

NOTICEABLE = 0.05
"""A run that is shorter by a smaller share nobody would pay for."""

DIGITS = 3
"""Of a limit that is proposed: more would be told of by no model."""


def chosen(alternatives: Sequence[Alternative], decision: Decision | None) -> Alternative | None:
    """The one that was decided on; None where there is no decision, or a fallback that was not considered."""
    if decision is None:
        return None
    return next((each for each in alternatives if decision.is_for(each)), None)


def cheapest_that_meets(alternatives: Sequence[Alternative]) -> Alternative | None:
    """The least dollars of those that keep to the goal as surely as was asked; None where none does.

    Of equal dollars the faster one, then the one with fewer machines.
    """
    return min((each for each in alternatives if each.feasible), key=_by_dollars, default=None)


def fastest(alternatives: Sequence[Alternative]) -> Alternative | None:
    """The least seconds of those that keep to the goal as surely as was asked; where none does, of all."""
    met = [each for each in alternatives if each.feasible]
    return min(met or alternatives, key=lambda each: (each.seconds, each.cost, each.machines), default=None)


def next_faster(alternatives: Sequence[Alternative], than: Alternative) -> Alternative | None:
    """What a noticeably shorter run would cost at least; None where nothing that is feasible is as fast."""
    limit = than.seconds * (1 - NOTICEABLE)
    faster = (each for each in alternatives if each.feasible and each.seconds <= limit)
    return min(faster, key=_by_dollars, default=None)


def _by_dollars(each: Alternative) -> tuple[float, ...]:
    return each.cost, each.seconds, each.machines


@dataclass(frozen=True, kw_only=True)
class WithinReach:
    """The goals nearest to one that is out of reach. Mixes of types are not among what is looked at.

    Attributes:
        earliest_deadline: the shortest deadline, boot and start-up included, within the budget where there
            is one; None where the budget alone cannot be kept.
        least_budget: the smallest budget, within the deadline where there is one; None where the deadline
            alone cannot be kept.
    """

    earliest_deadline: Reachable | None = None
    least_budget: Reachable | None = None


def within_reach(
    offers: Sequence[Offer],
    alternatives: Sequence[Alternative],
    goal: SizingGoal,
    *,
    iterations: int | None = None,
) -> WithinReach:
    """The nearest limits that some alternative keeps with the confidence that the goal asks for.

    Args:
        offers: what could be predicted.
        alternatives: those of the offers that may be chosen; others are passed over.
        goal: with a deadline, a budget or both.
        iterations: of production; see `predict_seconds`.
    """
    allowed = {(each.instance_type, each.machines) for each in alternatives}
    runs = [
        run for run in _sure_runs(offers, goal, iterations) if (run.offer.type_name, run.machines) in allowed
    ]
    deadline = math.inf if goal.deadline_seconds is None else goal.deadline_seconds
    budget = math.inf if goal.budget_dollars is None else goal.budget_dollars
    return WithinReach(
        earliest_deadline=_least(
            [(run, run.deadline) for run in runs if run.dollars <= budget], is_time=True
        ),
        least_budget=_least([(run, run.dollars) for run in runs if run.deadline <= deadline], is_time=False),
    )


@dataclass(frozen=True)
class _SureRun:
    """Machines with the seconds, from submission to end, that a run stays within as surely as was asked."""

    offer: Offer
    machines: int
    seconds: float

    @property
    def billing(self) -> Billing:
        return self.offer.billing

    @property
    def deadline(self) -> float:
        """From the launch of the machines on."""
        return self.seconds + float(self.billing.boot_seconds)

    @property
    def dollars(self) -> float:
        return self.billing.cost(machines=self.machines, seconds=self.seconds).total


def _sure_runs(offers: Sequence[Offer], goal: SizingGoal, iterations: int | None) -> Iterator[_SureRun]:
    for offer in offers:
        forecast = offer.forecast(scale=goal.scale, iterations=iterations)
        sure = forecast.seconds_kept_within(goal.confidence) + offer.model.startup_seconds
        for machines, seconds in zip(offer.counts, sure.tolist(), strict=True):
            yield _SureRun(offer, machines, seconds)


def _least(runs: Sequence[tuple[_SureRun, float]], *, is_time: bool) -> Reachable | None:
    """The run with the least of a figure; of equal ones that on fewer machines."""
    if not runs:
        return None
    run, limit = min(runs, key=lambda each: (each[1], each[0].machines))
    limit = raised(limit, digits=DIGITS)
    if is_time and limit >= HOUR:
        limit = float(MINUTE * math.ceil(limit / MINUTE))
    return Reachable(limit=limit, machines=run.machines, instance_type=run.offer.type_name)
