"""The steps of a task group as the page of a run lists them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from airflow_provider_ernest.model.results import Decision
from airflow_provider_ernest.plugin import run_groups
from airflow_provider_ernest.plugin.fallbacks import MOST_PROBABLE, STATED, fallback_of
from airflow_provider_ernest.plugin.run_costs import (
    creation_cost,
    price_per_hour,
    production_cost,
    production_seconds,
)
from airflow_provider_ernest.plugin.run_documents import Documents, ModelName
from airflow_provider_ernest.plugin.run_groups import Group, Step
from airflow_provider_ernest.plugin.run_record import FAILED, RUNNING, SUCCESS, TaskRow
from airflow_provider_ernest.plugin.sample_runs import cost_of
from airflow_provider_ernest.report.wording import dollars, duration, machines, percent, probability

WITH_MODEL = (run_groups.SAMPLE_RUN, run_groups.FIT, run_groups.CHOOSE, run_groups.PRODUCTION)
"""The steps that a model comes of, or that come of it."""

STATES = {
    FAILED: "It failed; its log says why.",
    "upstream_failed": "It was not run, since a task before it failed.",
    "skipped": "It was skipped.",
    "removed": "It is not in the DAG any more.",
    RUNNING: "It is running.",
    "deferred": "It waits without taking a worker's slot.",
    "up_for_retry": "An attempt failed; it will be tried again.",
    "up_for_reschedule": "It will look again.",
    "restarting": "It is being started again.",
    "queued": "It waits for a worker.",
    "scheduled": "It waits for a free slot.",
}
FALLBACKS = {STATED: "the stated configuration", MOST_PROBABLE: "the most probable configuration"}

NOT_YET = "It has not begun."
NOT_KEPT = "It succeeded; what came of it cannot be read here."
UNTELLABLE = "It succeeded; what came of it cannot be told."


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
    if not own and step.kind in (run_groups.CHOOSE, run_groups.RESIZE, run_groups.PRODUCTION):
        own = [each for each in documents if each.is_decided_by]
    return own[0] if own else documents[0]


def model_of(step: Step, documents: Sequence[Documents]) -> ModelName | None:
    """The model that came of the step, or that it came of; None where there is none."""
    its = documents_for(step, documents)
    if step.kind not in WITH_MODEL or (not step.branch and its.branch and not its.is_decided_by):
        return None
    return its.model_name


def says(step: Step, documents: Documents) -> str:
    """What came of a step, as a sentence or two."""
    task = step.task
    if task.state != SUCCESS:
        return STATES.get(task.state or "", NOT_YET)
    try:
        told = _RESULTS[step.kind](task, documents)
    except (ValueError, ArithmeticError):  # documents of others may hold any numbers
        told = UNTELLABLE
    return f"{told} It took {task.try_number} attempts." if task.try_number > 1 else told


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


def _preflight(_task: TaskRow, _documents: Documents) -> str:
    return "What the cluster is to be made of exists, fits and may be had."


def _design(_task: TaskRow, documents: Documents) -> str:
    design = documents.design
    if design is None:
        return NOT_KEPT
    return (
        f"{_runs(len(design.experiments))} of {design.candidates} candidates, "
        f"efficiency {percent(design.efficiency)}."
    )


def _cluster(_task: TaskRow, documents: Documents) -> str:
    cluster = documents.cluster
    if cluster is None:
        return NOT_KEPT
    culled = f"; {machines(len(cluster.culled))} ended as too slow or too many" if cluster.culled else ""
    return f"{machines(len(cluster.machines))} of type {cluster.instance_type}{culled}."


def _sample_run(task: TaskRow, documents: Documents) -> str:
    run = documents.observations.get(task.map_index)
    if run is None:
        return NOT_KEPT
    waited = f", after {duration(run.waited_seconds)} of waiting for machines" if run.waited_seconds else ""
    return (
        f"{machines(run.machines)}, {percent(run.scale)} of the input: {duration(run.seconds)} and a "
        f"start-up of {duration(run.startup_seconds)}{waited}."
    )


def _fit(_task: TaskRow, documents: Documents) -> str:
    model = documents.model
    if model is None:
        return NOT_KEPT
    validation = model.validation
    return (
        f"Error of {percent(validation.median_error_percent / 100)} (median) and "
        f"{percent(validation.max_error_percent / 100)} (largest) over {_runs(len(model.observations))}."
    )


def _choose(_task: TaskRow, documents: Documents) -> str:
    decision = documents.decision
    if decision is None:
        return NOT_KEPT
    chosen = _chosen_machines(decision)
    sure = (
        f" It keeps the goal with a probability of {probability(decision.probability)}."
        if decision.probability is not None
        else ""
    )
    if decision.fallback_reason:
        kind = FALLBACKS[fallback_of(decision) or STATED]
        return f"Fallback: {kind}, {chosen}. {decision.fallback_reason.rstrip('.')}.{sure}"
    if decision.predicted_seconds is None:
        return f"{chosen}."
    cost = f" and {dollars(decision.predicted_cost)}" if decision.predicted_cost is not None else ""
    return f"{chosen}: {duration(decision.predicted_seconds)}{cost} predicted.{sure}"


def _chosen_machines(decision: Decision) -> str:
    if decision.composition:
        return " and ".join(
            f"{machines(each.machines)} of type {each.instance_type}" for each in decision.composition
        )
    return f"{machines(decision.config.machines)} of type {decision.config.instance_type}"


def _resize(_task: TaskRow, documents: Documents) -> str:
    decision = documents.decision
    if decision is None:
        return "The cluster has the chosen size."
    return f"The cluster has {_chosen_machines(decision)} now."


def _production(task: TaskRow, documents: Documents) -> str:
    taken = production_seconds(task, documents)
    told = documents.prediction_of(task)
    predicted = told.predicted_seconds if told else None
    if taken is None:
        return "It succeeded."
    if predicted is None:
        return f"It took {duration(taken)}."
    return f"It took {duration(taken)}; {duration(predicted)} were predicted."


def _terminate(_task: TaskRow, documents: Documents) -> str:
    if documents.cluster is not None and documents.cluster.kind == "existing":
        return "Nothing was ended: the cluster is somebody else's."
    return "The cluster is ended."


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


_RESULTS = {
    run_groups.PREFLIGHT: _preflight,
    run_groups.DESIGN: _design,
    run_groups.CLUSTER: _cluster,
    run_groups.SAMPLE_RUN: _sample_run,
    run_groups.FIT: _fit,
    run_groups.CHOOSE: _choose,
    run_groups.RESIZE: _resize,
    run_groups.PRODUCTION: _production,
    run_groups.TERMINATE: _terminate,
}
