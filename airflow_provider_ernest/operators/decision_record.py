"""The record of a decision: what was asked for and what was decided."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.model.identity import new_id
from airflow_provider_ernest.model.records import DecisionRecord
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.operators.locations import store_root
from airflow_provider_ernest.operators.recording import record_in_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow_provider_ernest.model.documents import Origin
    from airflow_provider_ernest.model.results import Decision
    from airflow_provider_ernest.operators.question import Question
    from airflow_provider_ernest.operators.trained_types import TrainedType


def record_of(
    decision: Decision,
    *,
    question: Question,
    types: Sequence[TrainedType],
    job: str | None,
    objective: str | None,
    origin: Origin,
) -> DecisionRecord:
    """The record of a decision that was just made.

    Args:
        decision: what was decided.
        question: what was asked for.
        types: what came of each training. The model that decided is one of theirs; where a fallback was
            taken, the first is recorded in spite of which it was.
        job: the job's name; None for the models'. Empty in the record where neither tells.
        objective: as it was stated; None where deadline or budget said what is best.
        origin: the task instance that decided.
    """
    now = datetime.now(UTC)
    trained = [each for each in types if each.model]
    models = [each.model for each in trained if each.model]
    of_model = next(
        (each for each in trained if each.model and each.model.model_id == decision.model_id),
        next(iter(trained), None),
    )
    model = of_model.model if of_model else None
    goal, machines = question.goal, question.machines
    return DecisionRecord(
        decision_id=new_id(now),
        decided_at=now.isoformat(),
        job=job or (model.job if model else ""),
        instance_type=decision.config.instance_type,
        decision=decision,
        scale=question.scale * (of_model.input_growth if of_model else 1.0),
        model_id=model.model_id if model else None,
        iterations=question.iterations,
        deadline_seconds=goal.deadline_seconds,
        budget_dollars=goal.budget_dollars,
        min_machines=machines[0],
        max_machines=machines[-1],
        artifact_sha256=model.artifact_sha256 if model else None,
        origin=origin,
        confidence=goal.confidence if goal.has_limits else None,
        objective=objective,
        allowed_machines=machines if question.has_allowed_machines else (),
        model_ids=tuple(each.model_id for each in models),
        reuse=of_model.reuse if of_model else "",
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
