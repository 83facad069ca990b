"""What the steps of a task group pushed, read as documents. XComs are anybody's: none of them is trusted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar
from urllib.parse import unquote

from airflow_provider_ernest.model.bottlenecks import BottleneckReport
from airflow_provider_ernest.model.documents import Design, Document, Observation
from airflow_provider_ernest.model.records import DecisionRecord, ProductionRun
from airflow_provider_ernest.model.results import Decision, Model
from airflow_provider_ernest.plugin import run_groups
from airflow_provider_ernest.plugin.paid_cluster import PaidCluster, paid_cluster
from airflow_provider_ernest.plugin.run_documents import Documents, ModelName
from airflow_provider_ernest.plugin.run_groups import Group
from airflow_provider_ernest.plugin.run_kept import StoredOfRun, made_by
from airflow_provider_ernest.plugin.run_record import (
    DESIGN,
    MODELS,
    PRODUCTION_RUN,
    RECORD,
    RETURNED,
    STORED_AT,
    SUCCESS,
    RunRecord,
    TaskRow,
)
from airflow_provider_ernest.plugin.run_reuse import reuse_of, reused_model

Read = TypeVar("Read", bound=Document)


def documents_of(run: RunRecord, group: Group, stored: StoredOfRun | None = None) -> Documents:
    """What the tasks of a group pushed, and what is stored of it where that is gone.

    Args:
        run: of the group.
        group: one training, with what comes before and after it; see `Group.branches`.
        stored: what the model store holds of the run.
    """
    found = Documents(branch=_branch(group))
    found.design = _read(Design, run, group.task(run_groups.DESIGN), found, DESIGN)
    found.cluster = _read(PaidCluster, run, group.task(run_groups.CLUSTER), found)
    for task in group.tasks(run_groups.SAMPLE_RUN):
        observation = _read(Observation, run, task, found)
        if observation is not None:
            found.observations[task.map_index] = observation
    found.model = _read(Model, run, group.task(run_groups.FIT), found)
    found.bottlenecks = _read(BottleneckReport, run, group.task(run_groups.BOTTLENECKS), found)
    found.decision = _read(Decision, run, group.task(run_groups.CHOOSE), found)
    found.record = _read(DecisionRecord, run, group.task(run_groups.CHOOSE), found, RECORD)
    for task in _succeeded(group, run_groups.PRODUCTION):
        production = _read(ProductionRun, run, task, found, PRODUCTION_RUN)
        if production is not None:
            found.productions[task.map_index] = production
    for task in _succeeded(group, run_groups.RECORD):
        production = _read(ProductionRun, run, task, found, PRODUCTION_RUN)
        if production is not None:
            found.productions.setdefault(task.map_index, production)
    kept = stored or StoredOfRun()
    _complete(found, group, kept)
    found.reuse = reuse_of(run, group, branch=found.branch, record=found.record)
    if found.is_reused:
        _read_reused(run, group, found)
    found.model_name = next(_model_names(run, group, found), None)
    _complete_bottlenecks(found, group, kept)
    found.missing = _missing(run, group, found)
    return found


def _read_reused(run: RunRecord, group: Group, found: Documents) -> None:
    """The model that is reused. Design, cluster and runs that it keeps are those of another run."""
    task = group.task(run_groups.FIND)
    if found.reuse is None or task is None:
        return
    try:
        found.model = reused_model(found.reuse)
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        _tell(found, f"The result of {task.task_id} cannot be read: {_short(str(error))}")
    if isinstance(run.value(task, MODELS), str):
        _tell(found, _kept_elsewhere(task))


def _kept_elsewhere(task: TaskRow) -> str:
    return (
        f"The result of {task.task_id} is kept elsewhere, by a custom backend for XComs ([core] "
        "xcom_backend), which these pages do not open. They show what the model store has of it."
    )


def _tell(found: Documents, problem: str) -> None:
    if problem not in found.unreadable:
        found.unreadable.append(problem)


def _branch(group: Group) -> str:
    return next((step.branch for step in group.steps if step.branch), "")


def _read(
    document: type[Read], run: RunRecord, task: TaskRow | None, found: Documents, key: str = RETURNED
) -> Read | None:
    value = run.value(task, key) if task is not None else None
    if task is None or value is None:
        return None
    if isinstance(value, str):
        _tell(found, _kept_elsewhere(task))
        return None
    try:
        return document.from_dict(value)
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        _tell(found, f"The result of {task.task_id} cannot be read: {_short(str(error))}")
    return None


def _succeeded(group: Group, kind: str) -> list[TaskRow]:
    return [task for task in group.tasks(kind) if task.state == SUCCESS]


def _complete(found: Documents, group: Group, stored: StoredOfRun) -> None:
    """Fill in what is stored, where it is missing.

    Only of tasks that succeeded, for it may be of an attempt before the last. The store is read only for
    what is missing.
    """

    def first(kind: str) -> TaskRow | None:
        task = group.task(kind)
        return task if task is not None and task.state == SUCCESS else None

    fit, choose = first(run_groups.FIT), first(run_groups.CHOOSE)
    if found.model is None and fit is not None:
        found.model = made_by(stored.models, fit)
    if found.record is None and choose is not None:
        found.record = made_by(stored.decisions, choose)
    for task in [*_succeeded(group, run_groups.PRODUCTION), *_succeeded(group, run_groups.RECORD)]:
        if task.map_index not in found.productions:
            production = made_by(stored.production_runs, task)
            if production is not None:
                found.productions[task.map_index] = production
    if found.record is not None:
        found.decision = found.decision or found.record.decision
    if found.model is not None:
        _complete_by_model(found, group, found.model)


def _complete_bottlenecks(found: Documents, group: Group, stored: StoredOfRun) -> None:
    """Fill in the report, which is stored by job and type of machine: what tells these must be known."""
    reporters = _succeeded(group, run_groups.BOTTLENECKS)
    if found.bottlenecks is None and found.model_name is not None and reporters:
        job, instance_type, _ = found.model_name
        found.bottlenecks = made_by(stored.reports(job, instance_type), reporters[0])


def _complete_by_model(found: Documents, group: Group, model: Model) -> None:
    """Fill in what the model keeps of the steps that it comes of."""
    found.design = found.design or model.design
    if found.cluster is None and model.cluster is not None and _succeeded(group, run_groups.CLUSTER):
        found.cluster = paid_cluster(model.cluster)
    runs = {task.map_index for task in _succeeded(group, run_groups.SAMPLE_RUN)}
    for observation in model.observations:
        index = observation.origin.map_index if observation.origin else observation.index
        if index in runs:
            found.observations.setdefault(index, observation)


def _missing(run: RunRecord, group: Group, found: Documents) -> list[str]:
    known = {
        run_groups.FIND: found.reuse if found.reuse and (found.reuse.reason or found.reuse.reasons) else None,
        run_groups.DESIGN: found.design,
        run_groups.CLUSTER: found.cluster,
        run_groups.FIT: found.model,
        run_groups.CHOOSE: found.decision,
    }
    lost = [
        step.task
        for step in group.steps
        if step.task.state == SUCCESS
        and (
            known.get(step.kind, step) is None
            or (step.kind == run_groups.SAMPLE_RUN and step.task.map_index not in found.observations)
        )
    ]
    # What is there and cannot be read is told of by itself.
    return list(dict.fromkeys(task.task_id for task in lost if run.value(task) is None))


def _model_names(run: RunRecord, group: Group, found: Documents) -> Iterator[ModelName]:
    """What says which model it is, the surest first."""
    if found.model is not None:
        yield found.model.job, found.model.instance_type, found.model.model_id
    record = found.record
    # After a fallback the type is that of the fallback, which need not be the model's; and among several
    # types the record is of the one that was chosen.
    if record is not None and record.model_id and record.decision.model_id and not found.branch:
        yield record.job, record.instance_type, record.model_id
    fit = group.task(run_groups.FIT)
    # A model that was too inaccurate is stored, and its task fails.
    place = run.value(fit, STORED_AT) if fit is not None else None
    parts = [unquote(part) for part in place.split("/")[-3:]] if isinstance(place, str) else []
    if len(parts) == 3 and all(parts) and parts[2].endswith(".json"):
        yield parts[0], parts[1], parts[2].removesuffix(".json")


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:296]} ..."
