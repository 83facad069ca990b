"""A decision without a model, and the record of any: what was asked for and what was decided."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.model.documents import Configuration
from airflow_provider_ernest.model.identity import new_id
from airflow_provider_ernest.model.records import DecisionRecord
from airflow_provider_ernest.model.results import Decision
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.operators.locations import store_root
from airflow_provider_ernest.operators.recording import record_in_time

if TYPE_CHECKING:
    from airflow_provider_ernest.exceptions import ErnestError
    from airflow_provider_ernest.model.choice import Goal
    from airflow_provider_ernest.model.documents import Origin
    from airflow_provider_ernest.model.results import Model


def fallback_decision(
    machines: int, *, goal: Goal, error: ErnestError, instance_type: str, price_per_hour: float | None
) -> Decision:
    """The decision for the stated fallback.

    Args:
        machines: of the fallback.
        goal: that it does not look at.
        error: why no choice was possible.
        instance_type: the machines' type.
        price_per_hour: dollars for one machine and hour; None where unknown.
    """
    return Decision(
        config=Configuration(machines=machines, instance_type=instance_type),
        goal=goal.describe(),
        price_per_hour=price_per_hour,
        fallback_reason=str(error),
        warnings=(f"The stated fallback of {machines} machines was taken: {error}",),
    )


def record_of(
    decision: Decision,
    *,
    model: Model | None,
    job: str | None,
    goal: Goal,
    machines: range,
    scale: float,
    iterations: int | None,
    origin: Origin,
) -> DecisionRecord:
    """The record of a decision that was just made.

    Args:
        decision: what was decided.
        model: by which, or in spite of which where a fallback was taken; None where there was none.
        job: the job's name; None for the model's. Empty in the record where neither tells.
        goal: what was asked for.
        machines: the numbers of machines that were allowed.
        scale: of production.
        iterations: of production.
        origin: the task instance that decided.
    """
    now = datetime.now(UTC)
    return DecisionRecord(
        decision_id=new_id(now),
        decided_at=now.isoformat(),
        job=job or (model.job if model else ""),
        instance_type=decision.config.instance_type,
        decision=decision,
        scale=scale,
        model_id=model.model_id if model else None,
        iterations=iterations,
        deadline_seconds=goal.deadline_seconds,
        budget_dollars=goal.budget_dollars,
        min_machines=machines.start,
        max_machines=machines.stop - 1,
        artifact_sha256=model.artifact_sha256 if model else None,
        origin=origin,
    )


def keep_decision(record: DecisionRecord, *, store: str | None, log: Any) -> None:
    """Save a record, see `record_in_time`: production waits for the decision, not for its record.

    Args:
        record: of the decision.
        store: root of the model store; None for the configured one.
        log: the logger that the warning goes to.
    """
    if not record.job:
        log.warning("The decision is not recorded: neither a model nor the parameter job names its job.")
        return
    record_in_time(lambda: ModelStore(store_root(store)).save_decision(record), what="The decision", log=log)
