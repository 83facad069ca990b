"""The steps of a task group as the page of a run lists them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from airflow_provider_ernest.plugin import run_groups
from airflow_provider_ernest.plugin.run_costs import (
    creation_cost,
    price_per_hour,
    production_cost,
)
from airflow_provider_ernest.plugin.run_documents import Documents, ModelName
from airflow_provider_ernest.plugin.run_groups import Group, Step
from airflow_provider_ernest.plugin.run_sentences import says
from airflow_provider_ernest.plugin.sample_runs import cost_of

AFTER_CHOICE = (run_groups.RESIZE, run_groups.PRODUCTION, run_groups.RECORD)
WITH_MODEL = (
    run_groups.SAMPLE_RUN,
    run_groups.FIT,
    run_groups.BOTTLENECKS,
    run_groups.CHOOSE,
    run_groups.PRODUCTION,
    run_groups.RECORD,
)
"""The steps that a model comes of, or that come of it."""


def steps_of(group: Group, documents: Sequence[Documents], *, now: datetime) -> list[dict[str, Any]]:
    """The steps in their order, with times, costs and what came of each.

    Args:
        group: all steps.
        documents: of each of its branches, in their order.
        now: what running tasks are reckoned to.
    """
    return [_told(step, group, documents, now) for step in group.steps]


def documents_for(step: Step, documents: Sequence[Documents]) -> Documents:
    """Those of the step's training; for the decision and what comes after, of the training that it is by."""
    own = [each for each in documents if step.branch and each.branch == step.branch]
    if not own and step.kind in (run_groups.CHOOSE, *AFTER_CHOICE):
        own = [each for each in documents if each.is_decided_by]
    return own[0] if own else documents[0]


def model_of(step: Step, documents: Sequence[Documents]) -> ModelName | None:
    """The model that came of the step, or that it came of; None where there is none."""
    its = documents_for(step, documents)
    if step.kind == run_groups.FIND:
        return its.model_name if its.is_reused and len(documents) == 1 else None
    if step.kind not in WITH_MODEL or (not step.branch and its.branch and not its.is_decided_by):
        return None
    return its.model_name


def model_reference(name: ModelName | None) -> dict[str, str] | None:
    """A model's name as the pages link to it."""
    return dict(zip(("job", "instance_type", "model_id"), name, strict=True)) if name else None


def moment(at: datetime | None) -> str | None:
    """ISO 8601."""
    return at.isoformat() if at else None


def _told(step: Step, group: Group, documents: Sequence[Documents], now: datetime) -> dict[str, Any]:
    task, its = step.task, documents_for(step, documents)
    return {
        "task_id": task.task_id,
        "map_index": task.map_index,
        # Airflow calls a task by its whole id where it has no name of its own.
        "name": task.name if task.name not in ("", task.task_id) else task.task_id.rpartition(".")[2],
        "kind": step.kind,
        "branch": step.branch.rpartition(".")[2],
        "instance_type": its.instance_type if step.branch else None,
        "operator": task.operator,
        "state": task.state,
        "started_at": moment(task.started_at) if task.has_run else None,
        "ended_at": moment(task.ended_at) if task.has_run else None,
        "seconds": task.seconds(now),
        "try_number": task.try_number,
        "cost": _cost(step, group, documents, now),
        "says": says(step, its),
        "model": model_reference(model_of(step, documents)),
    }


def _cost(step: Step, group: Group, documents: Sequence[Documents], now: datetime) -> float | None:
    its = documents_for(step, documents)
    if step.kind == run_groups.CLUSTER:
        return creation_cost(step.task, its, now=now)
    if step.kind == run_groups.SAMPLE_RUN:
        observation = its.observations.get(step.task.map_index)
        return cost_of(observation, price_per_hour(its)) if observation else None
    if step.kind == run_groups.PRODUCTION:
        return production_cost(step.task, documents)
    return None
