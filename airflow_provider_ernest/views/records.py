"""Decisions and marks as the pages and reports show them."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.decisions import Configuration, Decision, DecisionRecord
from airflow_provider_ernest.documents.models import ModelMark
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.settings.billing import BilledCost
from airflow_provider_ernest.settings.goal import OBJECTIVES
from airflow_provider_ernest.views.view import view_of


@dataclass(frozen=True, kw_only=True)
class ShownDecision:
    """What was chosen, or would be.

    Attributes:
        composition: where machines of several types were chosen.
        confidence: the probability that was asked for.
        probability: that the goal is kept, as foreseen.
        fallback: "stated", "most_probable" or null where it is none.
        run_seconds: of predicted_seconds the part from the moment that all machines are there.
        startup_seconds: the part before.
        predicted_cost: in dollars, of all that is billed.
        error_percent: median leave-one-out error of the model.
        model_id: the model that decided; null where a fallback was taken without one.
        decision_id: null where nothing is kept of it.
        reuse: why the model was an earlier run's; empty where it was not.
        worth: what a best value costs more than the plainly cheapest or fastest, and what that buys.
    """

    machines: int
    instance_type: str
    composition: tuple[Configuration, ...]
    goal: str
    confidence: float | None
    probability: float | None
    fallback: str | None
    fallback_reason: str | None
    predicted_seconds: float | None
    run_seconds: float | None
    startup_seconds: float | None
    likely_seconds: tuple[float, float] | None
    nearly_certain_seconds: tuple[float, float] | None
    predicted_cost: float | None
    cost_parts: BilledCost | None
    price_per_hour: float | None
    error_percent: float | None
    max_error_percent: float | None
    model_id: str | None
    warnings: tuple[str, ...]
    decision_id: str | None
    decided_at: str | None
    reuse: str
    worth: str
    origin: Origin | None


def shown_decision(decision: Decision, record: DecisionRecord | None = None) -> ShownDecision:
    """A decision, with what its record adds if it has one."""
    asked, fallback = decision.confidence, None
    if decision.fallback_reason is not None:
        # What a model foresees has a probability; what a user states has none.
        fallback = "stated" if decision.probability is None else "most_probable"
    return view_of(
        ShownDecision,
        decision,
        machines=decision.config.machines,
        instance_type=decision.config.instance_type,
        confidence=record.confidence if asked is None and record else asked,
        fallback=fallback,
        model_id=record.model_id if record else decision.model_id,
        decision_id=record.id if record else None,
        decided_at=record.at if record else None,
        reuse=record.reuse if record else "",
        origin=record.origin if record else None,
    )


@dataclass(frozen=True, kw_only=True)
class ShownMark:
    """What was noted against a model.

    Attributes:
        cause: code, data, settings, cluster, unexplained or age.
        artifact_sha256: of the application that was seen instead.
    """

    mark_id: str
    marked_at: str
    job: str
    instance_type: str
    model_id: str
    cause: str
    reason: str
    artifact_sha256: str | None
    origin: Origin | None


def shown_mark(mark: ModelMark) -> ShownMark:
    """A mark of the store."""
    return view_of(ShownMark, mark, mark_id=mark.id, marked_at=mark.at)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What was asked, by the names that the address of a model's page has for it.

    Attributes:
        objective: what was to be best; null for a function of the user's.
        billing: what was billed; null where no price was known.
    """

    scale: float
    iterations: int | None
    deadline_seconds: float | None
    budget_dollars: float | None
    objective: str | None
    confidence: float | None
    billing: Billing | None
    min_machines: int
    max_machines: int


def question_of(asked: DecisionRecord) -> Question:
    """What was asked of a decision."""
    objective = asked.objective if asked.objective in OBJECTIVES else None
    return view_of(Question, asked, objective=objective, billing=asked.decision.billing)
