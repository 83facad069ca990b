"""The card of a DAG run: what was decided and why, what production took, what the training cost, what failed.

Its figures are those of the model's page, from the stored decision, model and production run. XComs are not
trusted, since anybody may push them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from airflow_provider_ernest.documents.base import time_of
from airflow_provider_ernest.documents.decisions import DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model, training_dollars
from airflow_provider_ernest.exceptions import ErnestError, StoreError
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.settings.goal import OBJECTIVES
from airflow_provider_ernest.store.catalogue import DECISION, MODEL, PRODUCTION_RUN, CatalogueEntry, entry_of
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.loaded import (
    ApplicationLink,
    Load,
    Readable,
    load_decision,
    load_model,
    load_production,
    newest_of,
    no_link,
    read_each,
    visible_entries,
)
from airflow_provider_ernest.views.outcomes import (
    Outcome,
    ShownDecision,
    decisions_by_id,
    outcome_of,
    shown_decision,
)
from airflow_provider_ernest.views.view import view_of
from airflow_provider_ernest.words import shortened

RECORD_KEY, REASONS, FAILURE = "record", "reasons", "failure"
"""XComs of Ernest's tasks: a decision's record; why models are reused or not, by type of machine; why a task
failed.
"""
KEYS = (RECORD_KEY, REASONS, FAILURE)
PRODUCTION_RUN_KEY = "production_run"
"""XCom key of a production run's record, whatever operator made it."""

SUCCESS, FAILED, SKIPPED, UP_FOR_RETRY = "success", "failed", "skipped", "up_for_retry"
NOT_RUN = (None, "scheduled", "queued", "upstream_failed", "skipped", "removed")
"""States of task instances that have not begun. Some still have times, of a cleared try or of Airflow's."""


@dataclass(frozen=True, kw_only=True)
class TaskRow:
    """A task instance, by its last try.

    Attributes:
        state: Airflow's; None if not scheduled.
        name: display name in Airflow's pages; empty for the task's id.
    """

    task_id: str
    map_index: int = -1
    operator: str = ""
    state: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    name: str = ""

    @property
    def has_run(self) -> bool:
        """Whether it has begun."""
        return self.started_at is not None and self.state not in NOT_RUN

    @property
    def seconds(self) -> float | None:
        """How long it took; None before its end."""
        if self.started_at is None or self.ended_at is None or not self.has_run:
            return None
        return max(0.0, (self.ended_at - self.started_at).total_seconds())


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A DAG run.

    Attributes:
        downstream: ids of the tasks directly after each task; empty if the DAG is no longer known.
    """

    dag_id: str
    run_id: str
    state: str | None = None
    tasks: tuple[TaskRow, ...] = ()
    values: Mapping[tuple[str, int, str], Any] = field(default_factory=dict)
    downstream: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def value(self, task: TaskRow, key: str) -> Any:
        """The XCom of a task instance; None if there is none."""
        return self.values.get((task.task_id, task.map_index, key))


FIND, CLUSTER, FIT, REPORT, CHOOSE, RECORD = "find", "cluster", "fit", "report", "choose", "record"
OTHER = "other"
OPERATORS = {
    "FindModelOperator": FIND,
    "EC2PreflightOperator": OTHER,
    "ReadHistoryOperator": OTHER,
    "ExperimentDesignOperator": OTHER,
    "LocalClusterOperator": CLUSTER,
    "EC2ClusterOperator": CLUSTER,
    "EmrJobFlowOperator": CLUSTER,
    "ExistingClusterOperator": CLUSTER,
    "SampleRunOperator": OTHER,
    "NextRunsOperator": OTHER,
    "FitModelOperator": FIT,
    "BottleneckReportOperator": REPORT,
    "ChooseConfigOperator": CHOOSE,
    "RecordRunOperator": RECORD,
    "TerminateClusterOperator": OTHER,
}
"""What Ernest's tasks do. Airflow's database has a task's class name only: a subclass has another name."""

SPARK_SUBMIT = "SparkSubmit"
"""Part of the names of the operators that usually run production."""


@dataclass(frozen=True)
class Group:
    """Ernest's tasks around one decision, and the production task downstream.

    Attributes:
        group_id: of the task group; empty if the tasks are in none.
    """

    group_id: str
    steps: tuple[TaskRow, ...]
    production: tuple[TaskRow, ...]

    def of_kind(self, kind: str) -> list[TaskRow]:
        """Its steps of a kind."""
        return _of_kind(self.steps, kind)


def groups_of(run: RunRecord) -> list[Group]:
    """A group for each task group that decides, trains or records, by their ids."""
    ours = [task for task in run.tasks if task.operator in OPERATORS]
    deciders = {_group_id(task.task_id): task.task_id for task in _of_kind(ours, CHOOSE)}
    behind = _behind(run, deciders)
    owned: dict[str, list[TaskRow]] = {}
    for task in sorted(ours, key=_name):
        owned.setdefault(_owner(task, deciders, behind), []).append(task)
    told = {
        group_id: steps
        for group_id, steps in sorted(owned.items())
        if {OPERATORS[task.operator] for task in steps} & {FIT, CHOOSE, RECORD}
    }
    return [
        Group(group_id, tuple(steps), tuple(_production(run, steps, behind, alone=len(told) == 1)))
        for group_id, steps in told.items()
    ]


def _of_kind(tasks: Iterable[TaskRow], kind: str) -> list[TaskRow]:
    return [task for task in tasks if OPERATORS.get(task.operator) == kind]


def _group_id(task_id: str) -> str:
    return task_id.rpartition(".")[0]


def _name(task: TaskRow) -> tuple[str, int]:
    return task.task_id, task.map_index


def _behind(run: RunRecord, deciders: Mapping[str, str]) -> dict[str, str]:
    """The nearest deciding group upstream, by task."""
    owners: dict[str, str] = {}
    reached = {task_id: group_id for group_id, task_id in deciders.items()}
    while reached:
        nearest: dict[str, str] = {}
        for task_id, group_id in reached.items():
            nearest |= dict.fromkeys(run.downstream.get(task_id, ()), group_id)
        reached = {task_id: group_id for task_id, group_id in nearest.items() if task_id not in owners}
        owners |= reached
    return owners


def _owner(task: TaskRow, deciders: Mapping[str, str], behind: Mapping[str, str]) -> str:
    """The nearest enclosing group that decides, else the group whose decision it follows, else its own.

    Trainings for several types of machine are nested groups that do not decide.
    """
    own = around = _group_id(task.task_id)
    while around not in deciders and around:
        around = _group_id(around)
    if around in deciders:
        return around
    if not behind and len(deciders) == 1 and OPERATORS[task.operator] == RECORD:
        return next(iter(deciders))  # the DAG is no longer known
    return behind.get(task.task_id, own)


def _production(
    run: RunRecord, steps: Sequence[TaskRow], behind: Mapping[str, str], *, alone: bool
) -> list[TaskRow]:
    """The task instances that the decision was made for.

    They are directly downstream of the decision, or of the task that starts production's cluster. Of several,
    those named like Spark submit operators count, else the first to begin. If the DAG's version is no longer
    known, only the names are left, and only if there is a single group.
    """
    others = [task for task in run.tasks if task.operator not in OPERATORS]
    submits = [task for task in others if SPARK_SUBMIT in task.operator]
    if not run.downstream:
        return _first(submits) if alone else []
    before = [task for task in _of_kind(steps, CLUSTER) if task.task_id in behind] + _of_kind(steps, CHOOSE)
    after = {task_id for task in before for task_id in run.downstream.get(task.task_id, ())}
    return _first([task for task in submits if task.task_id in after]) or _first(
        [task for task in others if task.task_id in after]
    )


def _first(tasks: list[TaskRow]) -> list[TaskRow]:
    """All instances of the task that began first; if none has begun, of the first by name."""
    if not tasks:
        return []
    begun = [task for task in tasks if task.has_run]
    first = min(begun, key=lambda task: str(task.started_at)) if begun else min(tasks, key=_name)
    return sorted((task for task in tasks if task.task_id == first.task_id), key=_name)


log = logging.getLogger(__name__)

LONGEST_REASON = 1000
"""Characters of a reason that are shown: it should be a sentence or two."""
LONGEST_PROBLEM = 300
MOST_FAILURES = 10
MOST_LOOKED_AT = 20
"""Documents of a kind that are read for a task, the nearest in time: a DAG may have made thousands."""

NO_STEPS = (
    "No task of this run is one of Ernest's. Put an ErnestTaskGroup ahead of the production task, or open a "
    "run of a DAG that has one."
)
NOT_OURS = "This task is none of Ernest's. The tab Ernest of the DAG run has what was decided, if anything."
NO_STORE = (
    "The model store cannot be read, so parts are missing here. Check [ernest] store in the configuration of "
    "Airflow's API server. Its log says more."
)
NOT_KEPT = (
    "What {task_id} decided is kept neither in Airflow, which deletes it when its database is cleaned, nor "
    "in the model store of these pages."
)
NOT_RECORDED = (
    "The run of {task_id} is not recorded: its time is Airflow's, and the model does not learn from it. Use "
    "an ErnestSparkSubmitOperator with decision=, or put a RecordRunOperator behind it."
)
NO_PRODUCTION = (
    "No task follows directly on {task_id}, so there is no production run to compare with. Put the "
    "production task directly behind it."
)
ITS_LOG_SAYS_WHY = "It failed; its log says why."


@dataclass(frozen=True, kw_only=True)
class Question:
    """What was asked, by the names that the address of a model's page has for it.

    Attributes:
        objective: what was to be best; null for a function of the user's.
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


@dataclass(frozen=True, kw_only=True)
class FailedTask:
    """A task instance that failed, or that failed once and is tried again.

    Attributes:
        name: its name in Airflow's pages; empty for its id.
    """

    task_id: str
    map_index: int
    name: str
    state: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class LinkedModel:
    """The model that decided.

    Attributes:
        is_of_run: false where nothing of this run names a model: the newest that the DAG has trained.
    """

    job: str
    instance_type: str
    model_id: str
    is_of_run: bool


@dataclass(frozen=True, kw_only=True)
class Training:
    """What the training of this run cost.

    Attributes:
        reasons: why it was, or was not, by type of machine.
        cost: dollars of the sample runs, as on the model's page; null where unknown, or nothing was trained.
    """

    is_reused: bool
    reasons: dict[str, str]
    cost: float | None


@dataclass(frozen=True, kw_only=True)
class ProductionTask:
    """The production run.

    Attributes:
        seconds: of the task, by Airflow; null before its end.
        outcome: the run beside what was predicted of it; null where it is not recorded.
    """

    task_id: str
    map_index: int
    state: str | None
    seconds: float | None
    outcome: Outcome | None


@dataclass(frozen=True, kw_only=True)
class Card:
    """One decision of a run.

    Attributes:
        group_id: the task group; empty where the tasks are in none.
        question: what was asked; null without a decision.
        latest_seconds: the longest run, from submission to end, that keeps the deadline; null without one.
    """

    group_id: str
    decision: ShownDecision | None
    question: Question | None
    latest_seconds: float | None
    production: ProductionTask | None
    training: Training
    model: LinkedModel | None
    failures: tuple[FailedTask, ...]
    failed: int


@dataclass(frozen=True, kw_only=True)
class Run:
    """A DAG run, or one task instance of it.

    Attributes:
        cards: one for each task group of Ernest; of a task instance, that of its group.
        hints: what is missing, and what to do.
    """

    dag_id: str
    run_id: str
    state: str | None
    cards: tuple[Card, ...]
    hints: tuple[str, ...]


Made = TypeVar("Made", DecisionRecord, Model, ProductionRun)
Pushed = TypeVar("Pushed", DecisionRecord, ProductionRun)


@dataclass
class StoredOfRun:
    """What the model store has of a run, read when it is asked for.

    If the store cannot be read, `is_broken` is true afterwards, and the run is shown without.
    """

    store: ModelStore | StoreError | None
    readable: Readable = lambda dag_id: True
    is_broken: bool = field(default=False, init=False)

    @cached_property
    def entries(self) -> list[CatalogueEntry]:
        """What the store holds, of all DAGs."""
        if self.store is None:
            return []
        try:
            if isinstance(self.store, StoreError):
                raise self.store
            return self.store.catalogue.entries()
        except ErnestError as error:
            self._warn(error)
            return []

    def made_by(self, run: RunRecord, task: TaskRow, kind: str, load: Load[Made]) -> Made | None:
        """The document of a kind that the last attempt of a task instance made; None if it made none."""
        ended_at = task.ended_at
        own = [entry for entry in self.entries if (entry.kind, entry.dag_id) == (kind, run.dag_id)]
        if not own or ended_at is None or not isinstance(self.store, ModelStore):
            return None
        near = sorted(
            own, key=lambda entry: abs(((time_of(entry.at) or ended_at) - ended_at).total_seconds())
        )
        wanted = (run.dag_id, run.run_id, task.task_id, task.map_index)
        try:
            for document in read_each(load, self.store, near[:MOST_LOOKED_AT]):
                made = document.origin
                if made and (made.dag_id, made.run_id, made.task_id, made.map_index) == wanted:
                    return document
        except ErnestError as error:
            self._warn(error)
        return None

    def _warn(self, error: ErnestError) -> None:
        self.is_broken = True
        log.warning("A DAG run is shown without what the model store has of it", exc_info=error)


def run_page(
    run: RunRecord,
    stored: StoredOfRun,
    *,
    link: ApplicationLink = no_link,
    task_id: str | None = None,
    map_index: int = -1,
) -> Run | None:
    """The cards of a run; None if a task instance is asked for that does not exist.

    With a task's id and map index (-1 for any instance), only the card of its group.
    """
    groups = groups_of(run)
    if task_id is not None:
        named = [task for task in run.tasks if task.task_id == task_id]
        if not any(map_index in (-1, task.map_index) for task in named):
            return None
        groups = [
            group for group in groups if any(task in (*group.steps, *group.production) for task in named)
        ]
    cards = _Cards(run, stored, link)
    shown = []
    for group in groups:
        asked = [task for task in group.production if (task.task_id, task.map_index) == (task_id, map_index)]
        # Where another DAG decided, only the task that records production is there.
        production = next(iter(asked or group.production or group.of_kind(RECORD)), None)
        shown.append(cards.card(group, production))
    hints = cards.hints
    if not groups:
        hints.append(NO_STEPS if task_id is None else NOT_OURS)
    if stored.is_broken:
        hints.append(NO_STORE)
    return Run(dag_id=run.dag_id, run_id=run.run_id, state=run.state, cards=tuple(shown), hints=tuple(hints))


class _Cards:
    """Makes the cards of a run, and notes what is missing as hints."""

    def __init__(self, run: RunRecord, stored: StoredOfRun, link: ApplicationLink) -> None:
        self._run, self._stored, self._link = run, stored, link
        self.hints: list[str] = []

    def card(self, group: Group, production: TaskRow | None) -> Card:
        """The card of a group with that production task."""
        run, stored = self._run, self._stored
        record = self._decided(group)
        recorded = self._recorded(group, production) if production else None
        trained = [
            model
            for task in group.of_kind(FIT)
            if task.state in (SUCCESS, FAILED)
            and (model := stored.made_by(run, task, MODEL, load_model)) is not None
        ]
        if production is not None and recorded is None and production.state == SUCCESS:
            self.hints.append(NOT_RECORDED.format(task_id=production.task_id))
        failed = list(self._failed(group))
        return Card(
            group_id=group.group_id,
            decision=shown_decision(record.decision, record) if record else None,
            question=question_of(record) if record else None,
            latest_seconds=record.latest_seconds if record else None,
            production=self._production(production, recorded, record) if production else None,
            training=self._training(group, record, trained),
            model=self._model(record, trained),
            failures=tuple(failed[:MOST_FAILURES]),
            failed=len(failed),
        )

    def _decided(self, group: Group) -> DecisionRecord | None:
        for task in group.of_kind(CHOOSE):
            if task.state != SUCCESS:
                continue
            if not group.production:
                self.hints.append(NO_PRODUCTION.format(task_id=task.task_id))
            pushed = self._pushed(DecisionRecord, task, RECORD_KEY)
            record = pushed or self._stored.made_by(self._run, task, DECISION, load_decision)
            if record is not None:
                return record
            self.hints.append(NOT_KEPT.format(task_id=task.task_id))
        return None

    def _recorded(self, group: Group, production: TaskRow) -> ProductionRun | None:
        """The record of the production run, made by its own task or by a task behind it."""
        behind = [task for task in group.of_kind(RECORD) if task.map_index in (-1, production.map_index)]
        for task in (production, *behind):
            if task.state == SUCCESS:
                pushed = self._pushed(ProductionRun, task, PRODUCTION_RUN_KEY)
                found = pushed or self._stored.made_by(self._run, task, PRODUCTION_RUN, load_production)
                if found is not None:
                    return found
        return None

    def _pushed(self, form: type[Pushed], task: TaskRow, key: str) -> Pushed | None:
        """What the task pushed; None if there is nothing, or an XCom backend keeps it elsewhere."""
        value = self._run.value(task, key)
        if value is None or isinstance(value, str):
            return None
        try:
            return form.from_dict(value)
        except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
            problem = shortened(str(error), LONGEST_PROBLEM)
            self.hints.append(f"The result of {task.task_id} cannot be read: {problem}")
        return None

    def _production(
        self, task: TaskRow, recorded: ProductionRun | None, record: DecisionRecord | None
    ) -> ProductionTask:
        outcome = None
        if recorded is not None:
            entries = (*self._stored.entries, *([entry_of(record)] if record else []))
            its = [entry for entry in entries if (entry.kind, entry.id) == (DECISION, recorded.decision_id)]
            decisions = decisions_by_id(visible_entries(its, self._stored.readable))
            outcome = outcome_of(recorded, decisions, self._link)
        return ProductionTask(
            task_id=task.task_id,
            map_index=task.map_index,
            state=task.state,
            seconds=task.seconds,
            outcome=outcome,
        )

    def _training(self, group: Group, record: DecisionRecord | None, trained: Sequence[Model]) -> Training:
        fits = group.of_kind(FIT)
        found = [task for task in group.of_kind(FIND) if task.state == SUCCESS]
        reasons = {record.instance_type: record.reuse} if record and record.reuse else {}
        for task in found:
            told = self._run.value(task, REASONS)
            for name, reason in told.items() if isinstance(told, dict) else ():
                if isinstance(reason, str):
                    reasons[name] = reason[:LONGEST_REASON]
        costs = [training_dollars(model) for model in trained]
        known = [cost for cost in costs if cost is not None]
        return Training(
            is_reused=bool(found and fits) and all(task.state == SKIPPED for task in fits),
            reasons=reasons,
            cost=sum(known) if known and len(known) == len(costs) else None,
        )

    def _model(self, record: DecisionRecord | None, trained: Sequence[Model]) -> LinkedModel | None:
        """The model that decided; else one that this run trained; else the DAG's newest."""
        models = [entry for entry in self._stored.entries if entry.kind == MODEL]
        models = visible_entries(models, self._stored.readable)
        decided = (record.job, record.model_id) if record else None
        of_run = [entry for entry in models if (entry.job, entry.id) == decided]
        of_run += [entry_of(model) for model in trained]
        of_dag = newest_of((entry for entry in models if entry.dag_id == self._run.dag_id), MODEL, limit=1)
        entry = next(iter([*of_run, *of_dag]), None)
        if entry is None:
            return None
        return LinkedModel(
            job=entry.job, instance_type=entry.instance_type, model_id=entry.id, is_of_run=bool(of_run)
        )

    def _failed(self, group: Group) -> Iterator[FailedTask]:
        """Failed tasks, without failed reports: nothing that was asked for is missing then."""
        reports = group.of_kind(REPORT)
        for task in (*group.steps, *group.production):
            if task.state not in (FAILED, UP_FOR_RETRY) or task in reports:
                continue
            said = self._run.value(task, FAILURE)
            why = said[:LONGEST_REASON] if isinstance(said, str) and said else ITS_LOG_SAYS_WHY
            yield FailedTask(
                task_id=task.task_id,
                map_index=task.map_index,
                name=task.name,
                state=task.state,
                reason=why if task.state == FAILED else f"{why} It will be tried again.",
            )
