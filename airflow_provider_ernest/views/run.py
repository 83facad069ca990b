"""What the page of a DAG run tells: the way from design to decision, and the production run behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from airflow_provider_ernest.documents.decisions import ProductionRun
from airflow_provider_ernest.documents.models import ModelMark
from airflow_provider_ernest.documents.runs import Experiment
from airflow_provider_ernest.views import dag_run
from airflow_provider_ernest.views.dag_run import (
    FAILED,
    SUCCESS,
    Group,
    RunRecord,
    Step,
    TaskRow,
    groups_of,
)
from airflow_provider_ernest.views.records import (
    ShownDecision,
    ShownMark,
    fallback_of,
    shown_decision,
    shown_mark,
)
from airflow_provider_ernest.views.run_choice import ShownChoice, choice_of, deadline_kept
from airflow_provider_ernest.views.run_costs import (
    Training,
    creation_cost,
    idle_cost,
    price_per_hour,
    production_cost,
    production_machines,
    production_seconds,
    share_of_production,
    together,
    training_of,
)
from airflow_provider_ernest.views.run_documents import Documents, ModelName, StoredOfRun, documents_of
from airflow_provider_ernest.views.sample_runs import (
    ApplicationLink,
    SampleRun,
    cost_of,
    no_link,
    sample_run,
)
from airflow_provider_ernest.views.step_words import says
from airflow_provider_ernest.views.view import view_of


@dataclass(frozen=True, kw_only=True)
class RunBottlenecks:
    """Why the job takes as long as it does, by the runs of a training.

    Attributes:
        application_id: of the run that it goes by.
        disagreement: where a replay is outside the model's 95 % intervals, as a sentence; else empty.
    """

    headline: str
    bottleneck: str
    application_id: str
    machines: int
    scale: float
    disagreement: str


@dataclass(frozen=True, kw_only=True)
class ModelReference:
    """Which model a step made, read or was predicted by."""

    job: str
    instance_type: str
    model_id: str


@dataclass(frozen=True, kw_only=True)
class ShownStep:
    """A task instance of the way from design to production.

    Attributes:
        kind: find, preflight, history, design, cluster, sample_run, fit, bottleneck_report, choose, resize,
            terminate, production or record.
        branch: of several types of machine the one trained; empty for what all share.
        instance_type: the branch's; null where there is none, or not known yet.
        state: Airflow's; null where it has not been scheduled.
        seconds: of the last attempt; until now where it runs.
        cost: of the machines that it used; null where unknown or none.
        says: what came of it, as a sentence.
    """

    task_id: str
    map_index: int
    name: str
    kind: str
    branch: str
    instance_type: str | None
    operator: str
    state: str | None
    started_at: str | None
    ended_at: str | None
    seconds: float | None
    try_number: int
    cost: float | None
    says: str
    model: ModelReference | None


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


def steps_of(group: Group, documents: Sequence[Documents], *, now: datetime) -> tuple[ShownStep, ...]:
    """The steps in their order, with times, costs and what came of each."""
    return tuple(_shown(step, group, documents, now) for step in group.told)


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


def model_reference(name: ModelName | None) -> ModelReference | None:
    """A model's name as the pages link to it."""
    return ModelReference(job=name[0], instance_type=name[1], model_id=name[2]) if name else None


def moment(at: datetime | None) -> str | None:
    """ISO 8601."""
    return at.isoformat() if at else None


def _shown(step: Step, group: Group, documents: Sequence[Documents], now: datetime) -> ShownStep:
    task, its = step.task, documents_for(step, documents)
    return view_of(
        ShownStep,
        task,
        # Airflow calls a task by its whole id where it has no name of its own.
        name=task.name if task.name not in ("", task.task_id) else task.task_id.rpartition(".")[2],
        kind=step.kind,
        branch=step.branch.rpartition(".")[2],
        instance_type=its.instance_type if step.branch else None,
        started_at=moment(task.started_at) if task.has_run else None,
        ended_at=moment(task.ended_at) if task.has_run else None,
        seconds=task.seconds(now),
        cost=_cost(step, group, documents, now),
        says=says(step, its),
        model=model_reference(model_of(step, documents)),
    )


def _cost(step: Step, group: Group, documents: Sequence[Documents], now: datetime) -> float | None:
    its = documents_for(step, documents)
    if step.kind == dag_run.CLUSTER:
        return creation_cost(step.task, its, now=now)
    if step.kind == dag_run.SAMPLE_RUN:
        observation = its.observations.get((step.task.task_id, step.task.map_index))
        return cost_of(observation, price_per_hour(its)) if observation else None
    if step.kind == dag_run.PRODUCTION:
        return production_cost(step.task, documents)
    return None


@dataclass(frozen=True, kw_only=True)
class Production:
    """The production run beside what was predicted of it.

    Attributes:
        error_percent: positive where the prediction was too high.
        held_likely: whether it took a time inside the 80 % interval.
        held_nearly_certain: whether inside the 95 % interval.
        kept: whether it kept the deadline; null without one, or before its end.
    """

    task_id: str
    state: str | None
    machines: int | None
    seconds: float | None
    cost: float | None
    predicted_seconds: float | None
    likely_seconds: tuple[float, float] | None
    nearly_certain_seconds: tuple[float, float] | None
    error_percent: float | None
    held_likely: bool | None
    held_nearly_certain: bool | None
    kept: bool | None


def production_against_prediction(task: TaskRow | None, documents: Sequence[Documents]) -> Production | None:
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
    return Production(
        task_id=task.task_id,
        state=task.state,
        machines=production_machines(task, first),
        seconds=seconds,
        cost=production_cost(task, documents) if ended else None,
        predicted_seconds=predicted,
        likely_seconds=likely,
        nearly_certain_seconds=nearly_certain,
        error_percent=100.0 * (predicted - taken) / taken if predicted is not None and taken else None,
        held_likely=_held(taken, likely),
        held_nearly_certain=_held(taken, nearly_certain),
        kept=deadline_kept(taken, first),
    )


def _held(seconds: float | None, interval: tuple[float, float] | None) -> bool | None:
    return None if seconds is None or interval is None else interval[0] <= seconds <= interval[1]


@dataclass(frozen=True, kw_only=True)
class RunDesign:
    """The design of the sample runs.

    Attributes:
        experiments: how many.
    """

    experiments: int
    candidates: int
    efficiency: float
    criterion: str
    cost: float
    cost_unit: str


@dataclass(frozen=True, kw_only=True)
class RunCluster:
    """The cluster of the sample runs.

    Attributes:
        machines: workers that were kept.
        culled: machines that were ended before any run.
    """

    kind: str
    name: str
    instance_type: str
    machines: int
    culled: int
    price_per_hour: float | None


@dataclass(frozen=True, kw_only=True)
class RunReuse:
    """Whether a stored model made the training needless.

    Attributes:
        reason: why, or why not; empty where that is not kept any more.
        growth: how many times as large the input is as when it was trained.
    """

    is_reused: bool
    reason: str
    growth: float | None
    trained_at: str | None


@dataclass(frozen=True, kw_only=True)
class RunModel(ModelReference):
    """The model that was fitted in this run, or that it reuses."""

    median_error_percent: float | None
    max_error_percent: float | None


@dataclass(frozen=True, kw_only=True)
class PaidTraining:
    """What a training cost.

    Attributes:
        seconds: from the start of the cluster's task to the decision, or to its end before.
        machines: paid for: with the master and the culled ones.
    """

    seconds: float | None
    cost: float | None
    machines: int | None


@dataclass(frozen=True, kw_only=True)
class WholeTraining(PaidTraining):
    """What the trainings for all types of machine cost together.

    Attributes:
        share_of_production_percent: its cost, of one production run's.
        idle_cost: what of it no step shows: machines that no run used, and the time between steps.
    """

    share_of_production_percent: float | None
    idle_cost: float | None


@dataclass(frozen=True, kw_only=True)
class Branch:
    """The training for one type of machine.

    Attributes:
        name: of its nested task group; empty where there is but one type.
        instance_type: null where nothing tells it yet.
        reuse: null where no task of the run looks for a stored model.
        is_decided_by: whether the decision comes of its model.
    """

    name: str
    instance_type: str | None
    design: RunDesign | None
    cluster: RunCluster | None
    observations: tuple[SampleRun, ...]
    reuse: RunReuse | None
    model: RunModel | None
    bottlenecks: RunBottlenecks | None
    is_decided_by: bool
    training: PaidTraining


@dataclass(frozen=True, kw_only=True)
class ShownGroup:
    """The steps of one task group of Ernest.

    Attributes:
        group_id: empty where the tasks are in none.
        branches: at least one.
        choice: what there was to choose from; null where nothing is known of it.
    """

    group_id: str
    steps: tuple[ShownStep, ...]
    branches: tuple[Branch, ...]
    decision: ShownDecision | None
    choice: ShownChoice | None
    training: WholeTraining
    production: Production | None


@dataclass(frozen=True, kw_only=True)
class Run:
    """A DAG run.

    Attributes:
        run_url: relative to the root of Airflow.
        marks: what this run noted against models, newest first.
        hints: what is missing, and what to do.
    """

    dag_id: str
    run_id: str
    state: str | None
    started_at: str | None
    ended_at: str | None
    run_url: str
    groups: tuple[ShownGroup, ...]
    marks: tuple[ShownMark, ...]
    hints: tuple[str, ...]


NO_STEPS = (
    "No task of this run is one of Ernest's. Put an ErnestTaskGroup ahead of the production task, or open a "
    "run of a DAG that has one."
)


def run_page(run: RunRecord, *, stored: StoredOfRun, now: datetime, link: ApplicationLink = no_link) -> Run:
    """What the page of a run shows."""
    groups = [
        (group, [documents_of(run, branch, stored) for branch in group.branches]) for group in groups_of(run)
    ]
    hints = [hint for group, documents in groups for hint in hints_of(group, documents)]
    return Run(
        dag_id=run.dag_id,
        run_id=run.run_id,
        state=run.state,
        started_at=moment(run.started_at),
        ended_at=moment(run.ended_at),
        run_url=f"dags/{quote(run.dag_id, safe='')}/runs/{quote(run.run_id, safe='')}",
        groups=tuple(_group(group, documents, now, link) for group, documents in groups),
        marks=tuple(map(shown_mark, _marks(groups, stored))),
        hints=tuple(hints) if groups else (NO_STEPS,),
    )


def _marks(groups: Sequence[tuple[Group, Sequence[Documents]]], stored: StoredOfRun) -> tuple[ModelMark, ...]:
    """What this run noted against models; the store is asked only where a task of the run may note any."""
    noting = (dag_run.FIND, dag_run.RECORD)
    may_note = any(group.tasks(kind) for group, _ in groups for kind in noting)
    return stored.marks if may_note else ()


def hints_of(group: Group, documents: Sequence[Documents]) -> list[str]:
    """What is missing or cannot be read, and what to do."""
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


def _group(group: Group, documents: Sequence[Documents], now: datetime, link: ApplicationLink) -> ShownGroup:
    trainings = [
        training_of(branch, its, now=now) for branch, its in zip(group.branches, documents, strict=True)
    ]
    whole, first = together(trainings), documents[0]
    steps = steps_of(group, documents, now=now)
    shown = [step.cost for step in steps if step.kind in (dag_run.CLUSTER, dag_run.SAMPLE_RUN)]
    return ShownGroup(
        group_id=group.group_id,
        steps=steps,
        branches=tuple(
            _branch(its, training, link) for its, training in zip(documents, trainings, strict=True)
        ),
        decision=shown_decision(first.decision, first.record) if first.decision else None,
        choice=choice_of(first),
        training=view_of(
            WholeTraining,
            whole,
            share_of_production_percent=share_of_production(group, documents, whole),
            idle_cost=idle_cost(whole, shown),
        ),
        production=production_against_prediction(group.task(dag_run.PRODUCTION), documents),
    )


def _branch(documents: Documents, training: Training, link: ApplicationLink) -> Branch:
    """The training for one type of machine."""
    price = price_per_hour(documents)
    design, cluster, report = documents.design, documents.cluster, documents.bottlenecks
    runs = sorted(documents.observations.values(), key=lambda each: each.index)
    return Branch(
        name=documents.branch.rpartition(".")[2],
        instance_type=documents.instance_type,
        design=view_of(RunDesign, design, experiments=len(design.experiments)) if design else None,
        cluster=view_of(RunCluster, cluster, machines=len(cluster.machines), culled=len(cluster.culled))
        if cluster
        else None,
        observations=tuple(sample_run(each, price_per_hour=price, link=link) for each in runs),
        reuse=_reuse(documents),
        model=_model(documents),
        bottlenecks=view_of(
            RunBottlenecks, report, disagreement=report.replay.disagreement if report.replay else ""
        )
        if report
        else None,
        is_decided_by=documents.is_decided_by,
        training=view_of(PaidTraining, training),
    )


def _model(documents: Documents) -> RunModel | None:
    name = model_reference(documents.model_name)
    if name is None:
        return None
    # Where the XComs are gone, the decision by a model that is reused tells its errors.
    decision = documents.decision if documents.is_reused and documents.is_decided_by else None
    validation = documents.model.validation if documents.model else None
    median, most = (decision.error_percent, decision.max_error_percent) if decision else (None, None)
    return view_of(
        RunModel,
        name,
        median_error_percent=validation.median_error_percent if validation else median,
        max_error_percent=validation.max_error_percent if validation else most,
    )


def _reuse(documents: Documents) -> RunReuse | None:
    """Whether the training was needed."""
    reuse = documents.reuse
    if reuse is None:
        return None
    trained_at = documents.model.at if reuse.is_reused and documents.model else None
    return view_of(RunReuse, reuse, trained_at=trained_at)


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task instance.

    Attributes:
        kind: as of the steps; null where it is no task of Ernest.
        instance_type: that it trains on, where there are several.
        fallback: of a decision: "stated", "most_probable" or null.
        experiment: that a sample run was to make.
        choice: what a task that decides had to choose from.
    """

    kind: str | None = None
    state: str | None = None
    says: str = ""
    instance_type: str | None = None
    fallback: str | None = None
    model: ModelReference | None = None
    observation: SampleRun | None = None
    experiment: Experiment | None = None
    choice: ShownChoice | None = None
    hints: tuple[str, ...]


NOT_OURS = (
    "This task is none of Ernest's. The tab Ernest of the DAG run shows the steps of sizing, where there are "
    "any."
)
NO_MODEL_YET = "There is no model of this run yet. It comes of the task that fits it, after the sample runs."


def task_page(
    run: RunRecord, *, stored: StoredOfRun, task_id: str, map_index: int, link: ApplicationLink = no_link
) -> Task | None:
    """What the tab of a task instance shows; None where there is none of that name.

    Args:
        run: of the task instance.
        stored: what the model store holds of the run.
        task_id: its task.
        map_index: -1 where it is not mapped; of a mapped task, then all of its instances are meant.
        link: to applications in Spark's history server.
    """
    named = [task for task in run.tasks if task.task_id == task_id]
    found = [task for task in named if task.map_index == map_index]
    if not found:
        return _mapped(run, named) if map_index == -1 and named else None
    task = found[0]
    group, step = _place(run, task)
    if group is None or step is None:
        return Task(state=task.state, hints=(NOT_OURS,))
    every = [documents_of(run, branch, stored) for branch in group.branches]
    documents, model = documents_for(step, every), model_of(step, every)
    hints = hints_of(group, every)
    if step.kind in WITH_MODEL and model is None and not documents.is_reused:
        hints.append(NO_MODEL_YET)
    if step.kind == dag_run.PRODUCTION:
        hints += _where_its_log_is(documents.production_of(task))
    observation = (
        documents.observations.get((task_id, map_index)) if step.kind == dag_run.SAMPLE_RUN else None
    )
    price = price_per_hour(documents)
    return Task(
        kind=step.kind,
        state=task.state,
        says=says(step, documents),
        instance_type=documents.instance_type if step.branch else None,
        fallback=_fallback(step, documents),
        model=model_reference(model),
        observation=sample_run(observation, price_per_hour=price, link=link) if observation else None,
        experiment=_experiment(run, group, step),
        choice=choice_of(documents) if step.kind == dag_run.CHOOSE else None,
        hints=tuple(hints),
    )


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


def _mapped(run: RunRecord, instances: list[TaskRow]) -> Task:
    """All instances of a mapped task."""
    _, step = _place(run, instances[0])
    return Task(
        kind=step.kind if step else None,
        says=f"It has {len(instances)} mapped instances.",
        hints=("Open one of them." if step else NOT_OURS,),
    )


def _place(run: RunRecord, task: TaskRow) -> tuple[Group | None, Step | None]:
    for group in groups_of(run):
        for step in group.steps:
            if step.task is task:
                return group, step
    return None, None


def _experiment(run: RunRecord, group: Group, step: Step) -> Experiment | None:
    """What a sample run was to make: the experiment at its place, of the design or of a further round."""
    chooser = group.chooser(step)
    if step.kind != dag_run.SAMPLE_RUN or chooser is None or step.task.map_index < 0:
        return None
    planned = run.value(chooser)
    if not isinstance(planned, list) or step.task.map_index >= len(planned):
        return None
    try:
        return Experiment.from_dict(planned[step.task.map_index])
    except (ValueError, TypeError, ArithmeticError, RecursionError):
        return None
