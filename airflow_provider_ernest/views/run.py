"""What the page of a DAG run tells: the way from design to decision, and the production run behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from urllib.parse import quote

from airflow_provider_ernest.documents import (
    BottleneckReport,
    Decision,
    Experiment,
    ModelMark,
    ProductionRun,
    TwoOpinions,
)
from airflow_provider_ernest.views import dag_run
from airflow_provider_ernest.views.dag_run import (
    FAILED,
    RUNNING,
    SKIPPED,
    SUCCESS,
    Documents,
    Group,
    ModelName,
    RunRecord,
    Step,
    StoredOfRun,
    TaskRow,
    documents_of,
    groups_of,
)
from airflow_provider_ernest.views.run_costs import (
    Training,
    creation_cost,
    price_per_hour,
    production_cost,
    production_machines,
    production_seconds,
    share_of_production,
    together,
    training_of,
)
from airflow_provider_ernest.views.sample_runs import ApplicationLink, application_link, cost_of, sample_run
from airflow_provider_ernest.words import dollars, duration, machines, percent, probability

# ---------------------------------------------------------------------------
# Why the job takes as long as it does, as the page of a run tells it.


def told_bottlenecks(report: BottleneckReport | None) -> dict[str, Any] | None:
    """A report in the form of the API's answer; None where there is none."""
    if report is None:
        return None
    return {
        "headline": report.headline,
        "bottleneck": report.bottleneck,
        "application_id": report.application_id,
        "machines": report.machines,
        "scale": report.scale,
        "disagreement": disagreement_of(report),
    }


def disagreement_of(report: BottleneckReport) -> str:
    """Where replay and model say different things, as a sentence; empty where they do not."""
    sizes = [each for each in (report.replay.disagreements if report.replay else ()) if _is_sound(each)]
    if not sizes:
        return ""
    worst = max(sizes, key=_distance)
    others = f", and on {len(sizes) - 1} other numbers of machines" if len(sizes) > 1 else ""
    return (
        f"The replay disagrees with the model: {duration(worst.replayed_seconds)} on "
        f"{machines(worst.machines)}, where the model says {duration(_by_model(worst))}{others}."
    )


def _by_model(size: TwoOpinions) -> float:
    return size.model_seconds or 0.0


def _is_sound(size: TwoOpinions) -> bool:
    """Whether both can be told: documents of others may hold any numbers."""
    return all(math.isfinite(each) and each > 0 for each in (size.replayed_seconds, _by_model(size)))


def _distance(size: TwoOpinions) -> float:
    return abs(math.log(size.replayed_seconds / _by_model(size)))


# ---------------------------------------------------------------------------
# Which kind of fallback a decision is, where no configuration kept to the goal or no model was there.


STATED, MOST_PROBABLE = "stated", "most_probable"


def fallback_of(decision: Decision) -> str | None:
    """The stated configuration, or the most probable one by the models; None where it is no fallback."""
    if decision.fallback_reason is None:
        return None
    # What a model foresees has a probability; what a user states has none.
    return STATED if decision.probability is None else MOST_PROBABLE


# ---------------------------------------------------------------------------
# What came of each step of a run, in a sentence or two.


STATES = {
    FAILED: "It failed; its log says why.",
    "upstream_failed": "It was not run, since a task before it failed.",
    SKIPPED: "It was skipped.",
    "removed": "It is not in the DAG any more.",
    RUNNING: "It is running.",
    "deferred": "It waits without taking a worker's slot.",
    "up_for_retry": "An attempt failed; it will be tried again.",
    "up_for_reschedule": "It will look again.",
    "restarting": "It is being started again.",
    "queued": "It waits for a worker.",
    "scheduled": "It waits for a free slot.",
}
WITHOUT_RESULT = (FAILED, "upstream_failed", SKIPPED)
FALLBACKS = {STATED: "the stated configuration", MOST_PROBABLE: "the most probable configuration"}

NOT_YET = "It has not begun."
NOT_KEPT = "It succeeded; what came of it cannot be read here."
UNTELLABLE = "It succeeded; what came of it cannot be told."
NOT_NEEDED = "Not needed: a stored model is reused."
NEEDED_FOR_TRAINING = (
    dag_run.PREFLIGHT,
    dag_run.DESIGN,
    dag_run.CLUSTER,
    dag_run.SAMPLE_RUN,
    dag_run.FIT,
    dag_run.BOTTLENECKS,
    dag_run.TERMINATE,
)
NOT_NEEDED_FOR_CHOICE = "The model and the decision do without it."
"""Behind why there is no report: its task must not look like a training that failed."""


def says(step: Step, documents: Documents) -> str:
    """What came of a step, as a sentence or two."""
    task = step.task
    if task.state == SKIPPED and documents.is_reused and step.kind in NEEDED_FOR_TRAINING:
        return NOT_NEEDED
    if task.state != SUCCESS:
        words = STATES.get(task.state or "", NOT_YET)
        without = step.kind == dag_run.BOTTLENECKS and task.state in WITHOUT_RESULT
        return f"{words} {NOT_NEEDED_FOR_CHOICE}" if without else words
    try:
        told = _RESULTS[step.kind](task, documents)
    except (ValueError, ArithmeticError):  # documents of others may hold any numbers
        told = UNTELLABLE
    return f"{told} It took {task.try_number} attempts." if task.try_number > 1 else told


def _find(_task: TaskRow, documents: Documents) -> str:
    reuse = documents.reuse
    if reuse is None or not (reuse.reasons or reuse.reason):
        return NOT_KEPT
    if len(reuse.reasons) > 1:
        return " ".join(f"{name}: {reason}" for name, reason in reuse.reasons.items())
    return reuse.reason if reuse.is_reused else f"{reuse.reason} So one is trained."


def _preflight(_task: TaskRow, _documents: Documents) -> str:
    return "What the cluster is to be made of exists, fits and may be had."


def _design_sentence(_task: TaskRow, documents: Documents) -> str:
    design = documents.design
    if design is None:
        return NOT_KEPT
    return (
        f"{_runs(len(design.experiments))} of {design.candidates} candidates, "
        f"efficiency {percent(design.efficiency)}."
    )


def _cluster_sentence(_task: TaskRow, documents: Documents) -> str:
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


def _bottlenecks(_task: TaskRow, documents: Documents) -> str:
    report = documents.bottlenecks
    if report is None:
        return "It succeeded, and nothing could be told of the runs; its log says why."
    return f"{report.headline.rstrip('.')}. {disagreement_of(report)}".strip()


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


def _record(task: TaskRow, documents: Documents) -> str:
    recorded = documents.production_of(task)
    if recorded is None:
        return "It succeeded; no record of production is known. Its log says whether it made one."
    if recorded.predicted_seconds is None:
        return f"Recorded: {duration(recorded.seconds)}, of which nothing was predicted."
    return f"Recorded: {duration(recorded.seconds)}; {duration(recorded.predicted_seconds)} were predicted."


def _terminate(_task: TaskRow, documents: Documents) -> str:
    if documents.cluster is not None and documents.cluster.kind == "existing":
        return "Nothing was ended: the cluster is somebody else's."
    return "The cluster is ended."


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


_RESULTS = {
    dag_run.FIND: _find,
    dag_run.PREFLIGHT: _preflight,
    dag_run.DESIGN: _design_sentence,
    dag_run.CLUSTER: _cluster_sentence,
    dag_run.SAMPLE_RUN: _sample_run,
    dag_run.FIT: _fit,
    dag_run.BOTTLENECKS: _bottlenecks,
    dag_run.CHOOSE: _choose,
    dag_run.RESIZE: _resize,
    dag_run.PRODUCTION: _production,
    dag_run.RECORD: _record,
    dag_run.TERMINATE: _terminate,
}


# ---------------------------------------------------------------------------
# The steps of a task group as the page of a run lists them.


AFTER_CHOICE = (dag_run.RESIZE, dag_run.PRODUCTION, dag_run.RECORD)
WITH_MODEL = (
    dag_run.SAMPLE_RUN,
    dag_run.FIT,
    dag_run.BOTTLENECKS,
    dag_run.CHOOSE,
    dag_run.PRODUCTION,
    dag_run.RECORD,
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
    if not own and step.kind in (dag_run.CHOOSE, *AFTER_CHOICE):
        own = [each for each in documents if each.is_decided_by]
    return own[0] if own else documents[0]


def model_of(step: Step, documents: Sequence[Documents]) -> ModelName | None:
    """The model that came of the step, or that it came of; None where there is none."""
    its = documents_for(step, documents)
    if step.kind == dag_run.FIND:
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
    if step.kind == dag_run.CLUSTER:
        return creation_cost(step.task, its, now=now)
    if step.kind == dag_run.SAMPLE_RUN:
        observation = its.observations.get(step.task.map_index)
        return cost_of(observation, price_per_hour(its)) if observation else None
    if step.kind == dag_run.PRODUCTION:
        return production_cost(step.task, documents)
    return None


# ---------------------------------------------------------------------------
# The production run of a task group beside what was predicted of it.


def production_against_prediction(
    task: TaskRow | None, documents: Sequence[Documents]
) -> dict[str, Any] | None:
    """The production run beside its prediction; of a mapped task the first instance."""
    if task is None:
        return None
    first, ended = documents[0], task.state in (SUCCESS, FAILED)
    seconds = production_seconds(task, first) if ended else None
    told = first.prediction_of(task)
    predicted = told.predicted_seconds if told else None
    likely = told.likely_seconds if told else None
    nearly_certain = told.nearly_certain_seconds if told else None
    # The time of a run that failed says nothing of the prediction.
    taken = seconds if task.state == SUCCESS else None
    return {
        "task_id": task.task_id,
        "state": task.state,
        "machines": production_machines(task, first),
        "seconds": seconds,
        "cost": production_cost(task, documents) if ended else None,
        "predicted_seconds": predicted,
        "likely_seconds": likely,
        "nearly_certain_seconds": nearly_certain,
        "error_percent": 100.0 * (predicted - taken) / taken if predicted is not None and taken else None,
        "held_likely": _held(taken, likely),
        "held_nearly_certain": _held(taken, nearly_certain),
    }


def _held(seconds: float | None, interval: tuple[float, float] | None) -> bool | None:
    return None if seconds is None or interval is None else interval[0] <= seconds <= interval[1]


# ---------------------------------------------------------------------------


NO_STEPS = (
    "No task of this run is one of Ernest's. Put an ErnestTaskGroup ahead of the production task, or open a "
    "run of a DAG that has one."
)


def run_page(
    run: RunRecord, *, stored: StoredOfRun, now: datetime, history_server: str | None = None
) -> dict[str, Any]:
    """A run in the form of the API's answer.

    Args:
        run: as it was read.
        stored: what the model store holds of it.
        now: what running tasks are reckoned to.
        history_server: address of Spark's history server, for links to the applications.
    """
    groups = [
        (group, [documents_of(run, branch, stored) for branch in group.branches]) for group in groups_of(run)
    ]
    hints = [hint for group, documents in groups for hint in hints_of(group, documents)]
    link = application_link(history_server)
    return {
        "dag_id": run.dag_id,
        "run_id": run.run_id,
        "state": run.state,
        "started_at": moment(run.started_at),
        "ended_at": moment(run.ended_at),
        "run_url": f"dags/{quote(run.dag_id, safe='')}/runs/{quote(run.run_id, safe='')}",
        "groups": [_group(group, documents, now, link) for group, documents in groups],
        "marks": [_mark(mark) for mark in _marks(groups, stored)],
        "hints": hints if groups else [NO_STEPS],
    }


def _marks(groups: Sequence[tuple[Group, Sequence[Documents]]], stored: StoredOfRun) -> tuple[ModelMark, ...]:
    """What this run noted against models; the store is asked only where a task of the run may note any."""
    noting = (dag_run.FIND, dag_run.RECORD)
    may_note = any(group.tasks(kind) for group, _ in groups for kind in noting)
    return stored.marks if may_note else ()


def _mark(mark: ModelMark) -> dict[str, Any]:
    return {
        "job": mark.job,
        "instance_type": mark.instance_type,
        "model_id": mark.model_id,
        "cause": mark.cause,
        "reason": mark.reason,
        "marked_at": mark.marked_at,
        "task_id": mark.origin.task_id if mark.origin else None,
    }


def hints_of(group: Group, documents: Sequence[Documents]) -> list[str]:
    """What is missing or cannot be read, and what to do.

    Args:
        group: all steps.
        documents: of each of its branches.
    """
    hints = [problem for each in documents for problem in each.unreadable]
    missing = dict.fromkeys(task_id for each in documents for task_id in each.missing)
    if missing:
        hints.append(
            f"What these tasks returned is not kept any more: {', '.join(missing)}. Airflow "
            "deletes it when its database is cleaned. The page of all models has what was stored."
        )
    chosen = group.task(dag_run.CHOOSE)
    if chosen is not None and chosen.state == SUCCESS and group.task(dag_run.PRODUCTION) is None:
        hints.append(
            f"No task follows directly on {chosen.task_id}, so there is no production run to compare with. "
            "Put the production task directly behind it."
        )
    # The branches share the decision, and what is wrong with it.
    return list(dict.fromkeys(hints))


def _group(
    group: Group, documents: Sequence[Documents], now: datetime, link: ApplicationLink
) -> dict[str, Any]:
    trainings = [
        training_of(branch, its, now=now) for branch, its in zip(group.branches, documents, strict=True)
    ]
    training = together(trainings)
    return {
        "group_id": group.group_id,
        "steps": steps_of(group, documents, now=now),
        "branches": [
            _branch(its, its_training, link) for its, its_training in zip(documents, trainings, strict=True)
        ],
        "decision": _decision(documents[0]),
        "training": {
            **_training(training),
            "share_of_production_percent": share_of_production(group, documents, training),
        },
        "production": production_against_prediction(group.task(dag_run.PRODUCTION), documents),
    }


def _branch(documents: Documents, training: Training, link: ApplicationLink) -> dict[str, Any]:
    """The training for one type of machine."""
    price = price_per_hour(documents)
    return {
        "name": documents.branch.rpartition(".")[2],
        "instance_type": documents.instance_type,
        "design": _design(documents),
        "cluster": _cluster(documents),
        "observations": [
            sample_run(each, price_per_hour=price, link=link)
            for each in sorted(documents.observations.values(), key=lambda each: each.index)
        ],
        "reuse": _reuse(documents),
        "model": _model(documents),
        "bottlenecks": told_bottlenecks(documents.bottlenecks),
        "is_decided_by": documents.is_decided_by,
        "training": _training(training),
    }


def _training(training: Training) -> dict[str, Any]:
    return {"seconds": training.seconds, "cost": training.cost, "machines": training.machines}


def _design(documents: Documents) -> dict[str, Any] | None:
    design = documents.design
    if design is None:
        return None
    return {
        "experiments": len(design.experiments),
        "candidates": design.candidates,
        "efficiency": design.efficiency,
        "criterion": design.criterion,
        "cost": design.cost,
        "cost_unit": design.cost_unit,
    }


def _cluster(documents: Documents) -> dict[str, Any] | None:
    cluster = documents.cluster
    if cluster is None:
        return None
    return {
        "kind": cluster.kind,
        "name": cluster.name,
        "instance_type": cluster.instance_type,
        "machines": len(cluster.machines),
        "culled": len(cluster.culled),
        "price_per_hour": cluster.price_per_hour,
    }


def _model(documents: Documents) -> dict[str, Any] | None:
    name = model_reference(documents.model_name)
    if name is None:
        return None
    # Where the XComs are gone, the decision by a model that is reused tells its errors.
    decision = documents.decision if documents.is_reused and documents.is_decided_by else None
    validation = documents.model.validation if documents.model else None
    median, most = (decision.error_percent, decision.max_error_percent) if decision else (None, None)
    return {
        **name,
        "median_error_percent": validation.median_error_percent if validation else median,
        "max_error_percent": validation.max_error_percent if validation else most,
    }


def _reuse(documents: Documents) -> dict[str, Any] | None:
    """Whether the training was needed."""
    reuse = documents.reuse
    if reuse is None:
        return None
    return {
        "is_reused": reuse.is_reused,
        "reason": reuse.reason,
        "growth": reuse.growth,
        "trained_at": documents.model.created_at if reuse.is_reused and documents.model else None,
    }


def _decision(documents: Documents) -> dict[str, Any] | None:
    decision = documents.decision
    if decision is None:
        return None
    copied = (
        "goal",
        "confidence",
        "probability",
        "composition",
        "predicted_seconds",
        "run_seconds",
        "likely_seconds",
        "nearly_certain_seconds",
        "predicted_cost",
        "cost_parts",
        "price_per_hour",
        "fallback_reason",
        "warnings",
    )
    return {
        "machines": decision.config.machines,
        "instance_type": decision.config.instance_type,
        "fallback": fallback_of(decision),
        "reuse": documents.record.reuse if documents.record else "",
        **{name: getattr(decision, name) for name in copied},
    }


# ---------------------------------------------------------------------------
# What the tab of a task instance tells.


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
    if step.kind == dag_run.PRODUCTION:
        hints += _where_its_log_is(documents.production_of(task))
    observation = documents.observations.get(map_index) if step.kind == dag_run.SAMPLE_RUN else None
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
    is_choice = step.kind == dag_run.CHOOSE and documents.decision is not None
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
    design = (branches[0] if branches else group).task(dag_run.DESIGN)
    if step.kind != dag_run.SAMPLE_RUN or design is None or step.task.map_index < 0:
        return None
    planned = run.value(design)
    if not isinstance(planned, list) or step.task.map_index >= len(planned):
        return None
    try:
        return asdict(Experiment.from_dict(planned[step.task.map_index]))
    except (ValueError, TypeError, ArithmeticError, RecursionError):
        return None
