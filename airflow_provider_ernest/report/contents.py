"""What a report tells: everything that is computed, before any of it is drawn."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_provider_ernest.exceptions import InfeasibleGoalError, InvalidParameterError
from airflow_provider_ernest.model.choice import Goal, choose
from airflow_provider_ernest.model.prediction import contributions_of_runs
from airflow_provider_ernest.model.results import Alternative, Decision, Model

START_UP = "start-up"
"""The name of that part of a run among the names of the terms."""

WHATEVER_IT_TAKES = Goal(deadline_seconds=sys.float_info.max / 2)
"""Every configuration meets it: to learn what all of them cost."""


@dataclass(frozen=True, kw_only=True)
class Billing:
    """How machines are paid for.

    Attributes:
        price_per_hour: dollars for one machine and hour.
        increment_seconds: machines are billed in whole multiples of it.
        minimum_seconds: the least that is billed for a machine.
    """

    price_per_hour: float
    increment_seconds: float = 1.0
    minimum_seconds: float = 0.0


NOT_PAID = Billing(price_per_hour=1.0)
"""Any price: where none is known, what follows from it is not shown."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A run on a number of machines, from submission to end.

    Attributes:
        machines: the number.
        seconds: predicted, start-up included.
        likely_seconds: what it lies between with 80 % probability.
        nearly_certain_seconds: the same with 95 %.
        parts: the seconds that each term explains, and the start-up where there is one; they add up.
        extrapolates: why the observations do not support it, empty where they do.
    """

    machines: int
    seconds: float
    likely_seconds: tuple[float, float]
    nearly_certain_seconds: tuple[float, float]
    parts: dict[str, float]
    extrapolates: str


@dataclass(frozen=True, kw_only=True)
class Contents:
    """All that the page shows.

    Attributes:
        model: what is reported on.
        scale: the production input relative to the one that was sampled.
        iterations: of the production run, for iterative jobs.
        predictions: by ascending number of machines, at least one.
        billing: None where no price was given.
        alternatives: what each number of machines costs, and whether it meets the goal, if there is one;
            empty without a price.
        goal: the deadline or the budget, None where there is none.
        decision: the choice; None without a goal, or where it is out of reach.
        out_of_reach: why there is no decision although there is a goal.
    """

    model: Model
    scale: float
    iterations: int | None
    predictions: tuple[Prediction, ...]
    billing: Billing | None = None
    alternatives: tuple[Alternative, ...] = ()
    goal: Goal | None = None
    decision: Decision | None = None
    out_of_reach: str = ""

    @property
    def observed_machines(self) -> tuple[int, int]:
        """The fewest and the most machines of any observed run."""
        counts = [run.machines for run in self.model.observations]
        return min(counts), max(counts)

    @property
    def chosen(self) -> Prediction | None:
        """The prediction for the configuration that was chosen."""
        if self.decision is None:
            return None
        return next(each for each in self.predictions if each.machines == self.decision.config.machines)


def gather(
    model: Model,
    *,
    machines: Sequence[int],
    scale: float = 1.0,
    iterations: int | None = None,
    billing: Billing | None = None,
    goal: Goal | None = None,
) -> Contents:
    """Predict, and choose where a price and a goal are given.

    Args:
        model: what is reported on.
        machines: numbers of machines, at least one.
        scale: the production input relative to the one that was sampled.
        iterations: of the production run, for iterative jobs; see `prediction.predict_seconds`.
        billing: what machines cost; None for a report without costs.
        goal: a deadline or a budget; needs `billing`.

    Raises:
        InvalidParameterError: a parameter cannot be, or there is a goal and no price.
    """
    counts = sorted(set(machines))
    if not counts:
        raise InvalidParameterError("machines", machines, "is empty", remedy="Name a number of machines.")
    if goal is not None and billing is None:
        raise InvalidParameterError(
            "price_per_hour",
            None,
            "is missing",
            remedy="A choice needs the dollars for one machine and hour.",
        )
    paid_by = billing or NOT_PAID
    decision, out_of_reach = None, ""
    if goal is not None:
        try:
            decision = _choose(model, goal, counts, scale, iterations, paid_by)
        except InfeasibleGoalError as error:
            out_of_reach = str(error)
    considered = decision or _choose(model, WHATEVER_IT_TAKES, counts, scale, iterations, paid_by)
    alternatives = considered.alternatives
    if out_of_reach:
        alternatives = tuple(replace(each, feasible=False) for each in alternatives)
    return Contents(
        model=model,
        scale=scale,
        iterations=iterations,
        predictions=_predictions(model, alternatives, scale, iterations),
        billing=billing,
        alternatives=alternatives if billing else (),
        goal=goal,
        decision=decision,
        out_of_reach=out_of_reach,
    )


def _choose(
    model: Model, goal: Goal, counts: list[int], scale: float, iterations: int | None, billing: Billing
) -> Decision:
    return choose(
        model,
        goal=goal,
        machines=counts,
        price_per_hour=billing.price_per_hour,
        scale=scale,
        iterations=iterations,
        billing_increment_seconds=billing.increment_seconds,
        minimum_billed_seconds=billing.minimum_seconds,
    )


def _predictions(
    model: Model, alternatives: Sequence[Alternative], scale: float, iterations: int | None
) -> tuple[Prediction, ...]:
    """What was considered, with where its time goes."""
    counts = [each.machines for each in alternatives]
    parts = contributions_of_runs(model, machines=counts, scale=scale, iterations=iterations)
    start_up = {START_UP: model.startup_seconds} if model.startup_seconds > 0 else {}
    return tuple(
        Prediction(
            machines=each.machines,
            seconds=each.seconds,
            likely_seconds=each.likely_seconds or (each.seconds, each.seconds),
            nearly_certain_seconds=each.nearly_certain_seconds or (each.seconds, each.seconds),
            parts={**of_terms, **start_up},
            extrapolates=each.extrapolates,
        )
        for each, of_terms in zip(alternatives, parts, strict=True)
    )
