"""What came of each step of a run, in a sentence or two."""

from __future__ import annotations

from airflow_provider_ernest.documents.decisions import Decision
from airflow_provider_ernest.settings import IN_ROUNDS
from airflow_provider_ernest.views import dag_run
from airflow_provider_ernest.views.dag_run import (
    FAILED,
    RUNNING,
    SKIPPED,
    SUCCESS,
    Step,
    TaskRow,
)
from airflow_provider_ernest.views.records import MOST_PROBABLE, STATED, fallback_of
from airflow_provider_ernest.views.run_costs import (
    production_seconds,
)
from airflow_provider_ernest.views.run_documents import Documents
from airflow_provider_ernest.words import (
    as_percent,
    counted,
    dollars,
    duration,
    input_share,
    machines,
    percentage,
    probability,
)

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
TRIED_AGAIN = "up_for_retry"
WITHOUT_RESULT = (FAILED, "upstream_failed", SKIPPED)
FALLBACKS = {STATED: "the stated configuration", MOST_PROBABLE: "the most probable configuration"}

NOT_YET = "It has not begun."
NOT_KEPT = "It succeeded; its result cannot be read here."
UNTELLABLE = "It succeeded; its result makes no sense."
NOT_NEEDED = "Not needed: a stored model is reused."
NEEDED_FOR_TRAINING = (
    dag_run.PREFLIGHT,
    dag_run.HISTORY,
    dag_run.DESIGN,
    dag_run.CLUSTER,
    dag_run.SAMPLE_RUN,
    dag_run.NEXT_RUNS,
    dag_run.FIT,
    dag_run.BOTTLENECKS,
    dag_run.TERMINATE,
)
PAST_RUNS_SUFFICE = "Not needed: past runs tell enough."
OF_ROUNDS = (dag_run.SAMPLE_RUN, dag_run.NEXT_RUNS)
NEEDED_FOR_SAMPLES = (dag_run.CLUSTER, *OF_ROUNDS, dag_run.BOTTLENECKS, dag_run.TERMINATE)
NOT_NEEDED_FOR_CHOICE = "The model and the decision do without it."
"""Behind why there is no report: its task must not look like a training that failed."""


def says(step: Step, documents: Documents) -> str:
    """What came of a step, as a sentence or two."""
    task = step.task
    if task.state == SKIPPED and documents.is_reused and step.kind in NEEDED_FOR_TRAINING:
        return NOT_NEEDED
    design = documents.design
    if task.state == SKIPPED and step.kind in NEEDED_FOR_SAMPLES and design and not design.experiments:
        return PAST_RUNS_SUFFICE
    if task.state == SKIPPED and step.kind in OF_ROUNDS and design and design.criterion == IN_ROUNDS:
        return design.reason
    if task.state != SUCCESS:
        words = _failed(task, documents) or STATES.get(task.state or "", NOT_YET)
        without = step.kind == dag_run.BOTTLENECKS and task.state in WITHOUT_RESULT
        return f"{words} {NOT_NEEDED_FOR_CHOICE}" if without else words
    try:
        told = _RESULTS[step.kind](task, documents)
    except (ValueError, ArithmeticError):  # documents of others may hold any numbers
        told = UNTELLABLE
    return f"{told} It took {task.try_number} attempts." if task.try_number > 1 else told


def _failed(task: TaskRow, documents: Documents) -> str:
    """Why it failed, in its own words; empty where it did not, or did not say."""
    why = documents.failures.get((task.task_id, task.map_index))
    if why is None or task.state not in (FAILED, TRIED_AGAIN):
        return ""
    return (
        f"It failed: {why}" if task.state == FAILED else f"An attempt failed: {why} It will be tried again."
    )


def _find(_task: TaskRow, documents: Documents) -> str:
    reuse = documents.reuse
    if reuse is None or not (reuse.reasons or reuse.reason):
        return NOT_KEPT
    if len(reuse.reasons) > 1:
        return " ".join(f"{name}: {reason}" for name, reason in reuse.reasons.items())
    return reuse.reason if reuse.is_reused else f"{reuse.reason} So one is trained."


def _preflight(_task: TaskRow, _documents: Documents) -> str:
    return "All that the cluster needs exists, fits together and is permitted."


def _history(_task: TaskRow, documents: Documents) -> str:
    if documents.design is None:
        return "The task's log tells which past runs count."
    return f"{counted(documents.design.past_runs, 'past run')} of the job can be used, at no cost."


def _design_sentence(_task: TaskRow, documents: Documents) -> str:
    design = documents.design
    if design is None:
        return NOT_KEPT
    if not design.experiments:
        return design.reason
    if design.criterion == IN_ROUNDS:
        runs = f"{_runs(len(design.experiments))} of {design.candidates} candidates, in rounds"
        return f"{runs}. {design.reason}"
    return (
        f"{_runs(len(design.experiments))} of {design.candidates} candidates, "
        f"efficiency {as_percent(design.efficiency)}."
    )


def _cluster_sentence(_task: TaskRow, documents: Documents) -> str:
    cluster = documents.cluster
    if cluster is None:
        return NOT_KEPT
    culled = f"; {machines(len(cluster.culled))} ended as too slow or too many" if cluster.culled else ""
    return f"{machines(len(cluster.machines), cluster.instance_type)}{culled}."


def _sample_run(task: TaskRow, documents: Documents) -> str:
    run = documents.observations.get((task.task_id, task.map_index))
    if run is None:
        return NOT_KEPT
    waited = f", after {duration(run.waited_seconds)} of waiting for machines" if run.waited_seconds else ""
    return (
        f"{machines(run.machines)}, {input_share(run.scale)} of the input: {duration(run.seconds)} and a "
        f"start-up of {duration(run.startup_seconds)}{waited}."
    )


def _next_runs(task: TaskRow, documents: Documents) -> str:
    design = documents.rounds.get(task.task_id)
    return design.reason if design else "No further runs could be chosen; its log says why."


def _fit(_task: TaskRow, documents: Documents) -> str:
    model = documents.model
    if model is None:
        return NOT_KEPT
    validation = model.validation
    return (
        f"Error of {percentage(validation.median_error_percent)} (median) and "
        f"{percentage(validation.max_error_percent)} (largest) over {_runs(len(model.observations))}."
    )


def _bottlenecks(_task: TaskRow, documents: Documents) -> str:
    report = documents.bottlenecks
    if report is None:
        return "It succeeded, but found nothing in the runs; its log says why."
    disagreement = report.replay.disagreement if report.replay else ""
    return f"{report.headline.rstrip('.')}. {disagreement}".strip()


def _choose(_task: TaskRow, documents: Documents) -> str:
    decision = documents.decision
    if decision is None:
        return NOT_KEPT
    chosen = _chosen_machines(decision)
    sure = (
        f" Chance to meet the goal: {probability(decision.probability, decision.confidence)}."
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
        return " and ".join(machines(each.machines, each.instance_type) for each in decision.composition)
    return machines(decision.config.machines, decision.config.instance_type)


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
    return f"It took {duration(taken)}; predicted: {duration(predicted)}."


def _record(task: TaskRow, documents: Documents) -> str:
    recorded = documents.production_of(task)
    if recorded is None:
        return "It succeeded; its record of the production run is not found. See its log."
    if recorded.predicted_seconds is None:
        return f"Recorded: {duration(recorded.seconds)}; nothing was predicted."
    return f"Recorded: {duration(recorded.seconds)}; predicted: {duration(recorded.predicted_seconds)}."


def _terminate(_task: TaskRow, documents: Documents) -> str:
    if documents.cluster is not None and documents.cluster.kind == "existing":
        return "Nothing was ended: the cluster is not Ernest's."
    return "The cluster is ended."


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


_RESULTS = {
    dag_run.FIND: _find,
    dag_run.PREFLIGHT: _preflight,
    dag_run.HISTORY: _history,
    dag_run.DESIGN: _design_sentence,
    dag_run.CLUSTER: _cluster_sentence,
    dag_run.SAMPLE_RUN: _sample_run,
    dag_run.NEXT_RUNS: _next_runs,
    dag_run.FIT: _fit,
    dag_run.BOTTLENECKS: _bottlenecks,
    dag_run.CHOOSE: _choose,
    dag_run.RESIZE: _resize,
    dag_run.PRODUCTION: _production,
    dag_run.RECORD: _record,
    dag_run.TERMINATE: _terminate,
}
