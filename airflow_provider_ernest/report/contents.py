"""What a report tells: everything that is computed, before any of it is drawn."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_ernest.exceptions import InfeasibleGoalError, InvalidParameterError
from airflow_provider_ernest.model.choice import LIKELY, NEARLY_CERTAIN, Goal, choose
from airflow_provider_ernest.model.prediction import (
    contributions,
    extrapolation,
    predict_interval,
    predict_seconds,
)
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
        alternatives: what each number of machines costs; empty without a price.
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
    predictions = _predictions(model, counts, scale, iterations)
    if billing is None:
        return Contents(model=model, scale=scale, iterations=iterations, predictions=predictions)
    everything = _choose(model, WHATEVER_IT_TAKES, counts, scale, iterations, billing)
    decision, out_of_reach = None, ""
    if goal is not None:
        try:
            decision = _choose(model, goal, counts, scale, iterations, billing)
        except InfeasibleGoalError as error:
            out_of_reach = str(error)
    return Contents(
        model=model,
        scale=scale,
        iterations=iterations,
        predictions=predictions,
        billing=billing,
        alternatives=everything.alternatives,
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
    model: Model, counts: list[int], scale: float, iterations: int | None
) -> tuple[Prediction, ...]:
    start_up = model.startup_seconds
    seconds = predict_seconds(model, machines=counts, scale=scale, iterations=iterations)
    (low, high), (lowest, highest) = (
        predict_interval(model, machines=counts, scale=scale, iterations=iterations, level=level)
        for level in (LIKELY, NEARLY_CERTAIN)
    )
    return tuple(
        Prediction(
            machines=count,
            seconds=float(seconds[at]) + start_up,
            likely_seconds=(float(low[at]) + start_up, float(high[at]) + start_up),
            nearly_certain_seconds=(float(lowest[at]) + start_up, float(highest[at]) + start_up),
            parts={
                **contributions(model, machines=count, scale=scale, iterations=iterations),
                **({START_UP: start_up} if start_up > 0 else {}),
            },
            extrapolates=extrapolation(model, machines=count, scale=scale),
        )
        for at, count in enumerate(counts)
    )
