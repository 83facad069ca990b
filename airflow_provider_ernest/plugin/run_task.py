"""What the tab of a task instance tells."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from airflow_provider_ernest.model.documents import Experiment
from airflow_provider_ernest.model.records import ProductionRun
from airflow_provider_ernest.plugin import run_groups
from airflow_provider_ernest.plugin.fallbacks import fallback_of
from airflow_provider_ernest.plugin.run_costs import price_per_hour
from airflow_provider_ernest.plugin.run_documents import Documents
from airflow_provider_ernest.plugin.run_groups import Group, Step, groups_of
from airflow_provider_ernest.plugin.run_kept import StoredOfRun
from airflow_provider_ernest.plugin.run_page import hints_of
from airflow_provider_ernest.plugin.run_reading import documents_of
from airflow_provider_ernest.plugin.run_record import RunRecord, TaskRow
from airflow_provider_ernest.plugin.run_sentences import says
from airflow_provider_ernest.plugin.run_steps import (
    WITH_MODEL,
    documents_for,
    model_of,
    model_reference,
)
from airflow_provider_ernest.plugin.sample_runs import application_link, sample_run

NOT_OURS = (
    "This task is none of Ernest's. The tab Ernest of the DAG run shows the steps of sizing, where there are "
    "any."
)
NO_MODEL_YET = "There is no model of this run yet. It comes of the task that fits it, after the sample runs."


def task_page(
    run: RunRecord, *, stored: StoredOfRun, task_id: str, map_index: int, history_server: str | None = None
) -> dict[str, Any] | None:
    """A task instance in the form of the API's answer; None where there is none of that name.

    Args:
        run: of the task instance.
        stored: what the model store holds of the run.
        task_id: its task.
        map_index: -1 where it is not mapped; of a mapped task, then all of its instances are meant.
        history_server: address of Spark's history server, for links to the applications.
    """
    named = [task for task in run.tasks if task.task_id == task_id]
    found = [task for task in named if task.map_index == map_index]
    if not found:
        return _mapped(run, named) if map_index == -1 and named else None
    task = found[0]
    group, step = _place(run, task)
    if group is None or step is None:
        return _empty(state=task.state, hints=[NOT_OURS])
    every = [documents_of(run, branch, stored) for branch in group.branches]
    documents, model = documents_for(step, every), model_of(step, every)
    hints = hints_of(group, every)
    if step.kind in WITH_MODEL and model is None and not documents.is_reused:
        hints.append(NO_MODEL_YET)
    if step.kind == run_groups.PRODUCTION:
        hints += _where_its_log_is(documents.production_of(task))
    observation = documents.observations.get(map_index) if step.kind == run_groups.SAMPLE_RUN else None
    told = None
    if observation is not None:
        link = application_link(history_server)
        told = sample_run(observation, price_per_hour=price_per_hour(documents), link=link)
    return {
        "kind": step.kind,
        "state": task.state,
        "says": says(step, documents),
        "instance_type": documents.instance_type if step.branch else None,
        "fallback": _fallback(step, documents),
        "model": model_reference(model),
        "observation": told,
        "experiment": _experiment(run, group, step),
        "hints": hints,
    }


def _fallback(step: Step, documents: Documents) -> str | None:
    """Which fallback the decision was, on the page of the task that made it."""
    is_choice = step.kind == run_groups.CHOOSE and documents.decision is not None
    return fallback_of(documents.decision) if is_choice and documents.decision else None


def _where_its_log_is(run: ProductionRun | None) -> list[str]:
    if run is None or not run.event_log:
        return []
    application = f" as application {run.application_id}" if run.application_id else ""
    return [
        f"Its event log{application} is {run.event_log}. Spark's history server shows what is in it; "
        "the command ernest analyze tells why the run took as long as it did."
    ]


def _empty(
    *, state: str | None = None, kind: str | None = None, says: str = "", hints: list[str]
) -> dict[str, Any]:
    return {
        "kind": kind,
        "state": state,
        "says": says,
        "instance_type": None,
        "fallback": None,
        "model": None,
        "observation": None,
        "experiment": None,
        "hints": hints,
    }


def _mapped(run: RunRecord, instances: list[TaskRow]) -> dict[str, Any]:
    """All instances of a mapped task."""
    _, step = _place(run, instances[0])
    count = len(instances)
    return _empty(
        kind=step.kind if step else None,
        says=f"It has {count} mapped instances.",
        hints=["Open one of them." if step else NOT_OURS],
    )


def _place(run: RunRecord, task: TaskRow) -> tuple[Group | None, Step | None]:
    for group in groups_of(run):
        for step in group.steps:
            if step.task is task:
                return group, step
    return None, None


def _experiment(run: RunRecord, group: Group, step: Step) -> dict[str, Any] | None:
    """What a sample run was to make: the design's experiment at its place."""
    branches = [branch for branch in group.branches if branch.group_id == step.branch]
    design = (branches[0] if branches else group).task(run_groups.DESIGN)
    if step.kind != run_groups.SAMPLE_RUN or design is None or step.task.map_index < 0:
        return None
    planned = run.value(design)
    if not isinstance(planned, list) or step.task.map_index >= len(planned):
        return None
    try:
        return asdict(Experiment.from_dict(planned[step.task.map_index]))
    except (ValueError, TypeError, ArithmeticError, RecursionError):
        return None
