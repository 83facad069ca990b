"""What the JSON API answers about predictions, for its description. Tests hold the answers to it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from airflow_provider_ernest.plugin.responses import Answer, Interval


class CurvePoint(Answer):
    """What is predicted for a number of machines, from submission to end."""

    machines: int
    seconds: float
    likely_seconds: Interval = Field(description="80 %.")
    nearly_certain_seconds: Interval = Field(description="95 %.")
    parts: dict[str, float] = Field(description="Seconds by term, and the start-up; they add up.")
    extrapolates: str = Field(description="Why the observations do not support it; empty where they do.")


class Alternative(Answer):
    """A configuration that was considered: a number of machines of a type."""

    instance_type: str
    machines: int
    seconds: float = Field(description="From submission to end.")
    cost: float = Field(description="Of all that is billed.")
    likely_seconds: Interval | None
    nearly_certain_seconds: Interval | None
    feasible: bool = Field(description="Whether it keeps to the goal as surely as was asked for.")
    probability: float | None = Field(
        description="That it keeps to the deadline and the budget; null without a goal."
    )
    extrapolates: str = Field(description="Why the observations do not support it; empty where they do.")
    memory_shortage: str = Field(
        description="Why its machines cannot hold the data; empty where they can or nothing is known."
    )
    is_pareto: bool = Field(description="No other is both faster and cheaper.")


class OfferedType(Answer):
    """A type of machine that the choice is among."""

    instance_type: str
    model_id: str
    price_per_hour: float


class SkippedType(Answer):
    """A type of machine that is not compared, and why."""

    instance_type: str
    reason: str


class SecondOpinion(Answer):
    """What another model, learned from the same runs, says of the choice."""

    alpha: float | None = Field(description="The share of the work that spreads over the machines.")
    machines: int | None = Field(description="That were chosen of the model's type; null where none were.")
    seconds: float | None = Field(description="On these, from submission to end.")
    problem: str = Field(description="Why it cannot tell; empty where it can.")


class Prediction(Answer):
    """What a model predicts, and what would be chosen among all types of machines that it is offered with."""

    instance_type: str = Field(description="The type that the curve is of.")
    scale: float
    iterations: int | None
    startup_seconds: float
    price_per_hour: float | None
    goal: str | None
    confidence: float = Field(description="The probability with which the goal is to be kept.")
    boot_seconds: float = Field(description="From launch to submission, as asked.")
    latest_seconds: float | None = Field(
        description="The deadline from submission on: without the boot of the machines."
    )
    curve: list[CurvePoint]
    alternatives: list[Alternative]
    decision: dict[str, Any] | None = Field(
        description="The document that the choosing task returns: config, probability, cost_parts and more."
    )
    out_of_reach: str = Field(description="Why there is no decision although there is a goal.")
    most_probable: Alternative | None = Field(description="What keeps to a goal out of reach most probably.")
    runners_up: list[Alternative]
    second_opinion: SecondOpinion | None = Field(
        description="By the extended Amdahl model; null where the model has learned from no production run."
    )
    offered_types: list[OfferedType] = Field(description="Empty where the model's own price is not known.")
    skipped_types: list[SkippedType]


class TypeAtRate(Answer):
    """A run on as many machines of a type as a rate pays for."""

    instance_type: str
    machines: int
    dollars_per_hour: float = Field(description="Of these machines together.")
    seconds: float
    likely_seconds: Interval
    dollars: float = Field(description="Of the run, all that is billed.")
    extrapolates: str
    is_fastest: bool


class Rate(Answer):
    """What each type makes of the same dollars per hour."""

    dollars_per_hour: float
    types: list[TypeAtRate]


class SameCost(Answer):
    """Types of machines at the same dollars per hour."""

    rates: list[Rate] = Field(description="Ascending; empty where there are no two types with a common rate.")
    skipped_types: list[SkippedType]
