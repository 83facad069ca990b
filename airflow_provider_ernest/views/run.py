"""The card of a DAG run: what was decided and why, what production took, what the training cost, what failed.

Its figures are those of the model's page, from the stored decision, model and production run. XComs are not
trusted, since anybody may push them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from airflow_provider_ernest.documents.base import time_of
from airflow_provider_ernest.documents.decisions import DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model, training_dollars
from airflow_provider_ernest.exceptions import ErnestError, StoreError
from airflow_provider_ernest.store.catalogue import DECISION, MODEL, PRODUCTION_RUN, CatalogueEntry, entry_of
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views import loaded
from airflow_provider_ernest.views.outcomes import (
    Outcome,
    ShownDecision,
    decisions_by_id,
    outcome_of,
    shown_decision,
)
from airflow_provider_ernest.views.prediction_request import PredictionRequest, request_of
from airflow_provider_ernest.views.sentence import limits_in_words, proposal_of, sentence

log = logging.getLogger(__name__)

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
    def seconds(self) -> float | None:
        """How long it took; None before its end."""
        if self.started_at is None or self.ended_at is None or self.state in NOT_RUN:
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


@dataclass(frozen=True)
class Group:
    """Ernest's tasks around one decision, and the production task downstream.

    Attributes:
        group_id: of the task group; empty if the tasks are in none.
        production: its instances, in the order of their map indices.
    """

    group_id: str
    steps: tuple[TaskRow, ...]
    production: tuple[TaskRow, ...]

    def of_kind(self, kind: str) -> list[TaskRow]:
        """Its steps of a kind."""
        return [task for task in self.steps if OPERATORS[task.operator] == kind]


def groups_of(run: RunRecord) -> list[Group]:
    """A group for each task group that decides, trains or records, by their ids."""
    ours = {task.task_id: task for task in run.tasks if task.operator in OPERATORS}
    deciders = {_around(name): name for name, task in ours.items() if OPERATORS[task.operator] == CHOOSE}
    behind = {name: group for group, task_id in deciders.items() for name in _behind(run, task_id, deciders)}
    owned: dict[str, list[TaskRow]] = {}
    for task in sorted(run.tasks, key=lambda task: (task.task_id, task.map_index)):
        if task.task_id in ours:
            owned.setdefault(_owner(task.task_id, deciders, behind), []).append(task)
    return [
        Group(group_id, tuple(steps), _production(run, deciders.get(group_id), ours))
        for group_id, steps in sorted(owned.items())
        if {OPERATORS[task.operator] for task in steps} & {FIT, CHOOSE, RECORD}
    ]


def _around(name: str) -> str:
    """The task group around a task or group; empty if there is none."""
    return name.rpartition(".")[0]


def _behind(run: RunRecord, decider: str, deciders: Mapping[str, str]) -> set[str]:
    """All tasks downstream of a decision, up to the next one."""
    found, ahead = set[str](), [decider]
    while ahead:
        after = run.downstream.get(ahead.pop(), frozenset()) - found - set(deciders.values())
        found |= after
        ahead += after
    return found


def _owner(task_id: str, deciders: Mapping[str, str], behind: Mapping[str, str]) -> str:
    """The nearest enclosing group that decides, else the group whose decision it follows, else its own.

    Trainings for several types of machine are nested groups that do not decide.
    """
    own = around = _around(task_id)
    while around not in deciders and around:
        around = _around(around)
    return around if around in deciders else behind.get(task_id, own)


def _production(run: RunRecord, decider: str | None, ours: Mapping[str, TaskRow]) -> tuple[TaskRow, ...]:
    """The task instances that the decision was made for: of the task directly behind it.

    Between the two there may be clusters that are started for production. Of several tasks those that submit
    to Spark, by their operator's name, come first.
    """
    after = run.downstream.get(decider, frozenset()) if decider else frozenset()
    for name in [name for name in after if name in ours and OPERATORS[ours[name].operator] == CLUSTER]:
        after |= run.downstream.get(name, frozenset())
    found = sorted(
        (task for task in run.tasks if task.task_id in after and task.task_id not in ours),
        key=lambda task: ("SparkSubmit" not in task.operator, task.task_id, task.map_index),
    )
    return tuple(task for task in found if task.task_id == found[0].task_id)


LONGEST_REASON = 1000
"""Characters of a reason that are shown: it should be a sentence or two."""
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
ITS_LOG_SAYS_WHY = "It failed; its log says why."


@dataclass(frozen=True, kw_only=True)
class FailedTask:
    """A task instance that failed, or that failed once and is tried again.

    Attributes:
        name: its name in Airflow's pages; empty for its id.
    """

    task_id: str
    map_index: int
    name: str
    reason: str


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
    state: str | None
    seconds: float | None
    outcome: Outcome | None


@dataclass(frozen=True, kw_only=True)
class Card:
    """One decision of a run.

    Attributes:
        group_id: the task group; empty where the tasks are in none.
        sentence: what was decided; empty without a decision.
        question: what was asked, for the model's page; null without a decision.
        latest_seconds: the longest run, from submission to end, that keeps the deadline; null without one.
        model: that decided; where nothing of this run names a model, the newest that the DAG has trained.
    """

    group_id: str
    sentence: str
    decision: ShownDecision | None
    question: PredictionRequest | None
    latest_seconds: float | None
    production: ProductionTask | None
    training: Training
    model: CatalogueEntry | None
    is_model_of_run: bool
    failures: tuple[FailedTask, ...]


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


def run_page(
    run: RunRecord,
    store: ModelStore | StoreError,
    *,
    readable: loaded.Readable,
    link: loaded.ApplicationLink = loaded.no_link,
    task_id: str | None = None,
    map_index: int = -1,
) -> Run | None:
    """The cards of a run; None if a task instance is asked for that does not exist.

    With a task's id and map index (-1 for any instance), only the card of its group. If the store cannot be
    read, the run is shown without what it holds.
    """
    groups = groups_of(run)
    if task_id is not None:
        named = {task for task in run.tasks if task.task_id == task_id}
        if not any(map_index in (-1, task.map_index) for task in named):
            return None
        groups = [group for group in groups if named & {*group.steps, *group.production}]
    kept = _Kept(run, store, readable, link)
    cards = []
    for group in groups:
        asked = [task for task in group.production if (task.task_id, task.map_index) == (task_id, map_index)]
        # Where another DAG decided, only the task that records production is there.
        production = next(iter(asked or group.production or group.of_kind(RECORD)), None)
        cards.append(_card(kept, group, production))
    if not groups:
        kept.hints.append(NO_STEPS if task_id is None else NOT_OURS)
    if kept.is_broken:
        kept.hints.append(NO_STORE)
    return Run(
        dag_id=run.dag_id, run_id=run.run_id, state=run.state, cards=tuple(cards), hints=tuple(kept.hints)
    )


class _Kept:
    """What Airflow and the model store keep of a run, and hints on what is missing."""

    def __init__(
        self,
        run: RunRecord,
        store: ModelStore | StoreError,
        readable: loaded.Readable,
        link: loaded.ApplicationLink,
    ) -> None:
        self.run, self.readable, self.link = run, readable, link
        self.hints: list[str] = []
        self.is_broken = False
        self.entries: list[CatalogueEntry] = []
        self._store = store
        try:
            if isinstance(store, StoreError):
                raise store
            self.entries = store.catalogue.entries()
        except ErnestError as error:
            self._warn(error)
        models = (entry for entry in self.entries if entry.kind == MODEL)
        self.models = loaded.visible_entries(models, readable)

    def pushed(self, form: type[Made], task: TaskRow, key: str) -> Made | None:
        """What a task instance pushed; None if nothing, or what is no such document.

        An XCom backend may keep it elsewhere.
        """
        try:
            return form.from_dict(self.run.value(task, key))
        except (ErnestError, ValueError, TypeError, ArithmeticError, RecursionError):
            return None

    def made_by(self, task: TaskRow, kind: str, load: loaded.Load[Made]) -> Made | None:
        """The document of a kind that the last attempt of a task instance made; None if it made none."""
        ended_at = task.ended_at
        if ended_at is None or not isinstance(self._store, ModelStore):
            return None
        near = sorted(
            (entry for entry in self.entries if (entry.kind, entry.dag_id) == (kind, self.run.dag_id)),
            key=lambda entry: abs(((time_of(entry.at) or ended_at) - ended_at).total_seconds()),
        )
        wanted = (self.run.dag_id, self.run.run_id, task.task_id, task.map_index)
        try:
            for document in loaded.read_each(load, self._store, near[:MOST_LOOKED_AT]):
                made = document.origin
                if made and (made.dag_id, made.run_id, made.task_id, made.map_index) == wanted:
                    return document
        except ErnestError as error:
            self._warn(error)
        return None

    def _warn(self, error: ErnestError) -> None:
        self.is_broken = True
        log.warning("A DAG run is shown without what the model store has of it", exc_info=error)


def _card(kept: _Kept, group: Group, production: TaskRow | None) -> Card:
    """The card of a group with that production task."""
    record = _decided(kept, group)
    fitted = [task for task in group.of_kind(FIT) if task.state in (SUCCESS, FAILED)]
    trained = [
        model for task in fitted if (model := kept.made_by(task, MODEL, loaded.load_model)) is not None
    ]
    models = _models(kept, record, trained)
    of_dag = (entry for entry in kept.models if entry.dag_id == kept.run.dag_id)
    return Card(
        group_id=group.group_id,
        sentence=sentence(None, proposal_of(record.decision, limits=_limits(record))) if record else "",
        decision=shown_decision(record.decision, record) if record else None,
        question=request_of(record, price=record.decision.price_per_hour) if record else None,
        latest_seconds=record.latest_seconds if record else None,
        production=_produced(kept, group, production, record) if production else None,
        training=_training(kept.run, group, record, trained),
        model=next(iter([*models, *loaded.newest_of(of_dag, MODEL, limit=1)]), None),
        is_model_of_run=bool(models),
        failures=tuple(_failed(kept.run, group)),
    )


def _limits(record: DecisionRecord) -> str:
    return limits_in_words(record.deadline_seconds, record.budget_dollars)


def _decided(kept: _Kept, group: Group) -> DecisionRecord | None:
    for task in group.of_kind(CHOOSE):
        if task.state != SUCCESS:
            continue
        pushed = kept.pushed(DecisionRecord, task, RECORD_KEY)
        record = pushed or kept.made_by(task, DECISION, loaded.load_decision)
        if record is not None:
            return record
        kept.hints.append(NOT_KEPT.format(task_id=task.task_id))
    return None


def _produced(kept: _Kept, group: Group, task: TaskRow, record: DecisionRecord | None) -> ProductionTask:
    """The production run, recorded by its own task or by a task behind it."""
    behind = [each for each in group.of_kind(RECORD) if each.map_index in (-1, task.map_index)]
    found = (
        kept.pushed(ProductionRun, each, PRODUCTION_RUN_KEY)
        or kept.made_by(each, PRODUCTION_RUN, loaded.load_production)
        for each in (task, *behind)
        if each.state == SUCCESS
    )
    outcome = None
    if recorded := next(filter(None, found), None):
        entries = (*kept.entries, *([entry_of(record)] if record else []))
        its = [entry for entry in entries if (entry.kind, entry.id) == (DECISION, recorded.decision_id)]
        outcome = outcome_of(recorded, decisions_by_id(loaded.visible_entries(its, kept.readable)), kept.link)
    elif task.state == SUCCESS:
        kept.hints.append(NOT_RECORDED.format(task_id=task.task_id))
    return ProductionTask(task_id=task.task_id, state=task.state, seconds=task.seconds, outcome=outcome)


def _training(
    run: RunRecord, group: Group, record: DecisionRecord | None, trained: Sequence[Model]
) -> Training:
    fits = group.of_kind(FIT)
    found = [task for task in group.of_kind(FIND) if task.state == SUCCESS]
    reasons = {record.instance_type: record.reuse} if record and record.reuse else {}
    for task in found:
        told = run.value(task, REASONS)
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


def _models(kept: _Kept, record: DecisionRecord | None, trained: Sequence[Model]) -> list[CatalogueEntry]:
    """The model that decided, before those that this run trained."""
    decided = (record.job, record.model_id) if record else None
    of_run = [entry for entry in kept.models if (entry.job, entry.id) == decided]
    return of_run + [entry_of(model) for model in trained]


def _failed(run: RunRecord, group: Group) -> Iterator[FailedTask]:
    """Failed tasks, without failed reports: nothing that was asked for is missing then."""
    reports = group.of_kind(REPORT)
    for task in (*group.steps, *group.production):
        if task.state not in (FAILED, UP_FOR_RETRY) or task in reports:
            continue
        said = run.value(task, FAILURE)
        why = said[:LONGEST_REASON] if isinstance(said, str) and said else ITS_LOG_SAYS_WHY
        yield FailedTask(
            task_id=task.task_id,
            map_index=task.map_index,
            name=task.name,
            reason=why if task.state == FAILED else f"{why} It will be tried again.",
        )
