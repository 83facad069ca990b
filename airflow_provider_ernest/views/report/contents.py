"""What a report tells: everything that is computed, before any of it is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from airflow_provider_ernest.decision.choice import choose_among, consider
from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents import (
    Alternative,
    Billing,
    Decision,
    InputFingerprint,
    Model,
    RunConditions,
)
from airflow_provider_ernest.exceptions import InfeasibleGoalError, InvalidParameterError
from airflow_provider_ernest.prediction.predict import contributions_of_runs
from airflow_provider_ernest.words import data_amount

START_UP = "start-up"
"""The name of that part of a run among the names of the terms."""

NOT_PAID = Billing(price_per_hour=1.0)
"""Any price: where none is known, what follows from it is not shown."""


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
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
        goal: the deadline, the budget or both, None where there is none.
        decision: the choice; None without a goal, or where it is out of reach.
        out_of_reach: why there is no decision although there is a goal.
        most_probable: what keeps to a goal out of reach most probably.
    """

    model: Model
    scale: float
    iterations: int | None
    predictions: tuple[CurvePoint, ...]
    billing: Billing | None = None
    alternatives: tuple[Alternative, ...] = ()
    goal: Goal | None = None
    decision: Decision | None = None
    out_of_reach: str = ""
    most_probable: Alternative | None = None

    @property
    def latest_seconds(self) -> float | None:
        """The deadline from submission on, without the boot of the machines; None where nothing is left."""
        boot = self.billing.boot_seconds if self.billing else 0.0
        return self.goal.latest_seconds(boot) if self.goal else None

    @property
    def observed_machines(self) -> tuple[int, int]:
        """The fewest and the most machines of any observed run."""
        counts = [run.machines for run in self.model.observations]
        return min(counts), max(counts)

    @property
    def chosen(self) -> CurvePoint | None:
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
        goal: a deadline or a budget, and how surely to keep it; needs `billing`.

    Raises:
        InvalidParameterError: a parameter cannot be, or there is a goal and no price.
    """
    if goal is not None and billing is None:
        raise InvalidParameterError(
            "price_per_hour",
            None,
            "is missing",
            remedy="A choice needs the dollars for one machine and hour.",
        )
    offer = Offer(model=model, machines=machines, billing=billing or NOT_PAID)
    alternatives = consider(offer, goal=goal, scale=scale, iterations=iterations)
    decision, out_of_reach, most_probable = None, "", None
    if goal is not None:
        try:
            decision = choose_among(alternatives, offer, goal=goal)
        except InfeasibleGoalError as error:
            out_of_reach, most_probable = str(error), error.most_probable
    return Contents(
        model=model,
        scale=scale,
        iterations=iterations,
        predictions=predictions_of(model, alternatives, scale=scale, iterations=iterations),
        billing=billing,
        alternatives=alternatives if billing else (),
        goal=goal,
        decision=decision,
        out_of_reach=out_of_reach,
        most_probable=most_probable,
    )


def predictions_of(
    model: Model, alternatives: Sequence[Alternative], *, scale: float = 1.0, iterations: int | None = None
) -> tuple[CurvePoint, ...]:
    """What was considered of the model's type, with where its time goes.

    Args:
        model: the model.
        alternatives: what it predicts of each number of machines.
        scale: that they are predicted at.
        iterations: see `prediction.predict_seconds`.
    """
    counts = [each.machines for each in alternatives]
    parts = contributions_of_runs(model, machines=counts, scale=scale, iterations=iterations)
    start_up = {START_UP: model.startup_seconds} if model.startup_seconds > 0 else {}
    return tuple(
        CurvePoint(
            machines=each.machines,
            seconds=each.seconds,
            likely_seconds=each.likely_seconds or (each.seconds, each.seconds),
            nearly_certain_seconds=each.nearly_certain_seconds or (each.seconds, each.seconds),
            parts={**of_terms, **start_up},
            extrapolates=each.extrapolates,
        )
        for each, of_terms in zip(alternatives, parts, strict=True)
    )


# ---------------------------------------------------------------------------
# What a model has learned from since its sample runs, and what it was trained under, in a line each.


def learned_from(model: Model) -> str | None:
    """How many production runs, and which model of sample runs alone it goes on from; None for such a one."""
    if model.base_model_id is None:
        return None
    count = len(model.learned_from)
    runs = "1 production run" if count == 1 else f"{count} production runs"
    return f"{runs}, which are among its runs; it goes on from {model.base_model_id}"


def trained_under(conditions: RunConditions | None) -> str | None:
    """As far as it is known; None where nothing is."""
    if conditions is None:
        return None
    return "; ".join(_known(conditions)) or None


def _known(conditions: RunConditions) -> Iterator[str]:
    if conditions.spark:
        yield f"Spark {conditions.spark}"
    if conditions.settings is not None:
        count = len(conditions.settings)
        yield "1 setting compared" if count == 1 else f"{count} settings compared"
    if conditions.cores_per_machine is not None:
        cores = conditions.cores_per_machine
        yield f"{cores} core{'' if cores == 1 else 's'} of a machine"
    shape = ", ".join(_shape(conditions.input)) if conditions.input else ""
    if shape:
        yield f"input of {shape}"


def _shape(shape: InputFingerprint) -> Iterator[str]:
    if shape.partitions is not None:
        each = shape.bytes_per_partition
        size = f" of {data_amount(each)}" if each is not None else ""
        yield f"{shape.partitions:,} partition{'' if shape.partitions == 1 else 's'}{size}"
    elif shape.total_bytes is not None:
        yield data_amount(shape.total_bytes)
    if shape.columns is not None:
        yield f"{shape.columns} column{'' if shape.columns == 1 else 's'}"
    if shape.format:
        yield shape.format
