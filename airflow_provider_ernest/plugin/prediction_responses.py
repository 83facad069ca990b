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


class Configuration(Answer):
    """A number of machines of a type."""

    instance_type: str
    machines: int
    seconds: float
    cost: float


class Alternative(Configuration):
    """A configuration that was considered."""

    likely_seconds: Interval | None
    nearly_certain_seconds: Interval | None
    feasible: bool
    extrapolates: str
    is_pareto: bool = Field(description="No other is both faster and cheaper.")


class SkippedType(Answer):
    """A type of machine that is not compared, and why."""

    instance_type: str
    reason: str


class Prediction(Answer):
    """What a model predicts and would choose."""

    scale: float
    iterations: int | None
    startup_seconds: float
    price_per_hour: float | None
    goal: str | None
    curve: list[CurvePoint]
    alternatives: list[Alternative]
    decision: dict[str, Any] | None = Field(description="The document that the choosing task returns, too.")
    out_of_reach: str = Field(description="Why there is no decision although there is a goal.")
    runners_up: list[Configuration]
    skipped_types: list[SkippedType]
