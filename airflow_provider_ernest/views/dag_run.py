"""A DAG run as its pages need it, wherever it was read: tasks, what they pushed, what follows on what."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, partial
from typing import Any, ClassVar, TypeVar
from urllib.parse import unquote

from airflow_provider_ernest.documents import (
    BottleneckReport,
    Decision,
    DecisionRecord,
    Design,
    Model,
    ModelMark,
    Observation,
    ProductionRun,
    TrainedMachine,
    TrainingCluster,
)
from airflow_provider_ernest.exceptions import ErnestError, InvalidDocumentError, StoreError
from airflow_provider_ernest.json_document import Document
from airflow_provider_ernest.store.catalogue import DECISION, MARK, MODEL, PRODUCTION_RUN, CatalogueEntry
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.loaded import (
    Kept,
    Load,
    load_decision,
    load_mark,
    load_model,
    load_production,
    read_each,
)

RETURNED = "return_value"
"""Airflow's key for what a task returns."""
DESIGN_KEY, RECORD_KEY, STORED_AT = "design", "record", "stored_at"
"""Further keys of this package: the whole design, the record of a decision, the place of a model."""
MODELS, REASONS, GROWTH = "models", "reasons", "growth"
"""Those of the task that looks for stored models, each a mapping by type of machine: the models that are
reused, why or why not, and how many times the input has grown."""
KEYS = (RETURNED, DESIGN_KEY, RECORD_KEY, STORED_AT, MODELS, REASONS, GROWTH)
PRODUCTION_RUN_KEY = "production_run"
"""The key under which a production run is recorded, by whatever operator made it."""

SUCCESS, FAILED, RUNNING, SKIPPED = "success", "failed", "running", "skipped"
NOT_RUN = (None, "scheduled", "queued", "upstream_failed", "skipped", "removed")
"""States of task instances that have not begun: some have times all the same, those of an attempt that was
cleared or those that Airflow gives to what it never starts."""


@dataclass(frozen=True, kw_only=True)
class TaskRow:
    """A task instance.

    Attributes:
        operator: name of its class.
        state: Airflow's; None where it has not been scheduled.
        started_at: of the last attempt.
        ended_at: of the last attempt; None while it runs.
        name: how Airflow's pages call it; empty for the task's id.
    """

    task_id: str
    map_index: int = -1
    operator: str = ""
    state: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    try_number: int = 1
    name: str = ""

    @property
    def has_run(self) -> bool:
        """Whether its last attempt has begun."""
        return self.started_at is not None and self.state not in NOT_RUN

    def seconds(self, now: datetime) -> float | None:
        """How long the last attempt took, or takes by now; None where it has not begun."""
        if self.started_at is None or not self.has_run:
            return None
        return max(0.0, ((self.ended_at or now) - self.started_at).total_seconds())


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A DAG run.

    Attributes:
        values: XComs by task id, map index and key: whatever tasks pushed, of any form.
        downstream: ids of the tasks directly after each task; empty where the DAG is not known any more.
    """

    dag_id: str
    run_id: str
    state: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    tasks: tuple[TaskRow, ...] = ()
    values: Mapping[tuple[str, int, str], Any] = field(default_factory=dict)
    downstream: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def value(self, task: TaskRow, key: str = RETURNED) -> Any:
        """What a task instance pushed; None where there is nothing."""
        return self.values.get((task.task_id, task.map_index, key))


(
    FIND,
    PREFLIGHT,
    DESIGN,
    CLUSTER,
    SAMPLE_RUN,
    FIT,
    BOTTLENECKS,
    CHOOSE,
    RESIZE,
    PRODUCTION,
    RECORD,
    TERMINATE,
) = KINDS = (
    "find",
    "preflight",
    "design",
    "cluster",
    "sample_run",
    "fit",
    "bottleneck_report",
    "choose",
    "resize",
    "production",
    "record",
    "terminate",
)
"""The steps, in the order in which they are made."""

OPERATORS = {
    "FindModelOperator": FIND,
    "EC2PreflightOperator": PREFLIGHT,
    "ExperimentDesignOperator": DESIGN,
    "LocalClusterOperator": CLUSTER,
    "EC2ClusterOperator": CLUSTER,
    "EmrClusterOperator": CLUSTER,
    "ExistingClusterOperator": CLUSTER,
    "SampleRunOperator": SAMPLE_RUN,
    "FitModelOperator": FIT,
    "BottleneckReportOperator": BOTTLENECKS,
    "ChooseConfigOperator": CHOOSE,
    "RecordRunOperator": RECORD,
    "TerminateClusterOperator": TERMINATE,
}
"""The database names a task's class and not its module: a subclass is known by another name."""

SPARK_SUBMIT = "SparkSubmit"
"""Part of the names of the operators that production is usually run by."""


@dataclass(frozen=True)
class Step:
    """A task instance and what it is in the way from design to production.

    Attributes:
        kind: one of `KINDS`.
        branch: id of the nested group that it trains in, for one of several types of machine; empty for what
            all types share, and where there is but one.
    """

    kind: str
    task: TaskRow
    branch: str = ""


@dataclass(frozen=True)
class Group:
    """The steps of one task group, in their order; `group_id` is empty where the tasks are in none."""

    group_id: str
    steps: tuple[Step, ...]

    @property
    def branches(self) -> list[Group]:
        """The training of each type of machine, with the steps that all share; itself where there is one."""
        names = sorted({step.branch for step in self.steps} - {""})
        if not names:
            return [self]
        return [
            Group(name, tuple(step for step in self.steps if step.branch in ("", name))) for name in names
        ]

    def tasks(self, kind: str) -> list[TaskRow]:
        """The task instances of a kind."""
        return [step.task for step in self.steps if step.kind == kind]

    def task(self, kind: str) -> TaskRow | None:
        """The first of them, None where there is none."""
        return next(iter(self.tasks(kind)), None)


def groups_of(run: RunRecord) -> list[Group]:
    """Ernest's steps by their task groups, each with its production run."""
    own: dict[str, list[Step]] = {}
    for task in run.tasks:
        kind = OPERATORS.get(task.operator)
        if kind is not None and kind != RECORD:
            own.setdefault(_group_id(task.task_id), []).append(Step(kind, task))
    ours = _with_branches(own)
    _give_clusters_to_their_decisions(run, ours)
    groups = []
    for group_id, steps in sorted(ours.items()):
        told = [_with_resize(run, step, steps) for step in steps]
        alone = len(ours) == 1
        told += [Step(PRODUCTION, task) for task in _production(run, told, alone=alone)]
        told += [Step(RECORD, task) for task in _recorders(run, told, alone=alone)]
        groups.append(Group(group_id, tuple(sorted(told, key=_place))))
    return groups


def _group_id(task_id: str) -> str:
    return task_id.rpartition(".")[0]


def _with_branches(own: dict[str, list[Step]]) -> dict[str, list[Step]]:
    """The groups with those nested in them that train for them, each for a type of machine."""
    merged: dict[str, list[Step]] = {}
    for group_id, steps in own.items():
        decider = _decider(group_id, own)
        branch = group_id if decider != group_id else ""
        merged.setdefault(decider, []).extend(Step(step.kind, step.task, branch) for step in steps)
    return merged


def _decider(group_id: str, own: dict[str, list[Step]]) -> str:
    """The group that decides by what is trained in this one: the nearest around it that only decides."""
    around = group_id
    while FIT in _kinds(own[group_id]) and CHOOSE not in _kinds(own[group_id]) and around:
        around = _group_id(around)
        kinds = _kinds(own.get(around, []))
        if CHOOSE in kinds and FIT not in kinds:
            return around
    return group_id


def _kinds(steps: Iterable[Step]) -> set[str]:
    return {step.kind for step in steps}


def _give_clusters_to_their_decisions(run: RunRecord, ours: dict[str, list[Step]]) -> None:
    """Put clusters that were started for production, and their ends, to the group that decided their size."""
    owners = {
        after: group_id
        for group_id, steps in ours.items()
        for step in steps
        if step.kind == CHOOSE
        for after in run.downstream.get(step.task.task_id, ())
    }
    for group_id, steps in list(ours.items()):
        if not _kinds(steps) <= {CLUSTER, TERMINATE}:
            continue
        for step in sorted(steps, key=_place):
            owner = owners.get(step.task.task_id)
            if owner is not None:
                steps.remove(step)
                ours[owner].append(step)
                owners |= dict.fromkeys(run.downstream.get(step.task.task_id, ()), owner)
        if not steps:
            del ours[group_id]


def _with_resize(run: RunRecord, step: Step, steps: Iterable[Step]) -> Step:
    """The step, called a resize where a cluster gets another size after the decision."""
    if step.kind != CLUSTER:
        return step
    deciders = [other.task.task_id for other in steps if other.kind == CHOOSE]
    if run.downstream:
        is_resize = any(step.task.task_id in run.downstream.get(decider, ()) for decider in deciders)
    else:
        is_resize = "resize" in step.task.task_id.rpartition(".")[2]
    return Step(RESIZE, step.task, step.branch) if is_resize else step


def _production(run: RunRecord, steps: Iterable[Step], *, alone: bool) -> list[TaskRow]:
    """The task instances that the decision was made for.

    Those directly after the decision or the resize, whatever operator they are of: production may be
    submitted by any. Among several, the ones that submit to Spark by their name, else the first to begin.
    Where the DAG's version is not known any more, only those names are left to tell, and only where there is
    but one group.
    """
    others = [task for task in run.tasks if task.operator not in OPERATORS]
    submits = [task for task in others if SPARK_SUBMIT in task.operator]
    if not run.downstream:
        return _first(submits) if alone else []
    after: set[str] = set()
    for step in steps:
        if step.kind in (CHOOSE, RESIZE):
            after |= run.downstream.get(step.task.task_id, frozenset())
    return _first([task for task in submits if task.task_id in after]) or _first(
        [task for task in others if task.task_id in after]
    )


def _recorders(run: RunRecord, steps: Iterable[Step], *, alone: bool) -> list[TaskRow]:
    """The task instances that record what production took, where its operator does not.

    Those behind a step of the group; where there is but one group, anywhere.
    """
    recorders = [task for task in run.tasks if OPERATORS.get(task.operator) == RECORD]
    after: set[str] = set()
    for step in steps:
        after |= run.downstream.get(step.task.task_id, frozenset())
    return [task for task in recorders if alone or task.task_id in after]


def _first(tasks: list[TaskRow]) -> list[TaskRow]:
    """All instances of the task that began first; of those that have not begun, the first by name."""
    if not tasks:
        return []
    begun = [task for task in tasks if task.has_run]
    chosen = min(begun, key=lambda task: str(task.started_at)) if begun else min(tasks, key=_name)
    return [task for task in tasks if task.task_id == chosen.task_id]


def _name(task: TaskRow) -> tuple[str, int]:
    return task.task_id, task.map_index


def _place(step: Step) -> tuple[int, str, int, str, int]:
    """What all types share comes first; then the training of one type after the other; then the decision."""
    kind = KINDS.index(step.kind)
    part = 1 if step.branch else 0 if kind < KINDS.index(CHOOSE) else 2
    return part, step.branch, kind, step.task.task_id, step.task.map_index


LONGEST_REASON = 1000
"""Characters of a reason that are shown: it is a sentence or two."""


@dataclass(frozen=True, kw_only=True)
class Reuse:
    """What came of looking for a stored model for a type of machine.

    Attributes:
        is_reused: whether one was found, so that nothing had to be trained.
        instance_type: the type; None where nothing tells it.
        reason: why it is reused, or why not; empty where that is not kept any more.
        growth: how many times as large the input is as when the model was trained; None where unknown.
        reasons: of all types, by the type.
        document: the model as the task pushed it; None where there is none.
    """

    is_reused: bool
    instance_type: str | None = None
    reason: str = ""
    growth: float | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    document: Any = None


def reuse_of(run: RunRecord, group: Group, *, branch: str, record: DecisionRecord | None) -> Reuse | None:
    """What was found for a training; None where nobody looked, or has not found out yet.

    Where the XComs are gone, the decision that is kept tells it, and else that the training was skipped.
    """
    task = group.task(FIND)
    if task is None or task.state != SUCCESS:
        return None
    models, reasons = _mapping(run, task, MODELS), _texts(_mapping(run, task, REASONS))
    instance_type = _type_of(branch, [*reasons, *(name for name in models if name not in reasons)])
    if not models and not reasons:
        return _without_values(group, branch=branch, record=record)
    known = instance_type or ""
    return Reuse(
        is_reused=known in models,
        instance_type=instance_type,
        reason=reasons.get(known, ""),
        growth=_factor(_mapping(run, task, GROWTH).get(known)),
        reasons=reasons,
        document=models.get(known),
    )


def reused_model(reuse: Reuse) -> Model | None:
    """The model that is reused; None where there is none.

    Raises:
        ValueError, TypeError, ArithmeticError, RecursionError: what was pushed is none.
    """
    return None if reuse.document is None else Model.from_dict(reuse.document)


def _without_values(group: Group, *, branch: str, record: DecisionRecord | None) -> Reuse:
    """As far as the states of the tasks and the kept decision tell."""
    fit = group.task(FIT)
    is_reused = fit is not None and fit.state == SKIPPED
    # Of several types, the decision tells of one only: that which it chose.
    is_of_this = record is not None and _type_of(branch, [record.instance_type]) is not None
    reason = record.reuse if record is not None and is_of_this and is_reused else ""
    instance_type = record.instance_type if record is not None and is_of_this and is_reused else None
    return Reuse(is_reused=is_reused, instance_type=instance_type, reason=reason[:LONGEST_REASON])


def _type_of(branch: str, types: Iterable[str]) -> str | None:
    """The type that a nested group trains: its name is the type's, with the signs that Airflow allows."""
    known = list(types)
    if not branch:
        return known[0] if len(known) == 1 else None
    name = branch.rpartition(".")[2]
    return next((each for each in known if re.sub(r"[^A-Za-z0-9_-]", "_", each) == name), None)


def _mapping(run: RunRecord, task: TaskRow, key: str) -> Mapping[str, Any]:
    value = run.value(task, key)
    return value if isinstance(value, dict) else {}


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: text[:LONGEST_REASON] for name, text in values.items() if isinstance(text, str)}


def _factor(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) and value > 0 else None


@dataclass(frozen=True, kw_only=True)
class PaidMachine(Document):
    """A machine of a cluster, as far as it is paid for."""

    is_part: ClassVar[bool] = True

    price_per_hour: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be a price."""
        price = self.price_per_hour
        if not _is_price(price):
            raise InvalidDocumentError(f"price_per_hour={price!r} is not a finite number of at least 0.")


@dataclass(frozen=True, kw_only=True)
class PaidCluster(Document):
    """A cluster as its pages tell of it: the part of a cluster's handle that has to do with money.

    Attributes:
        machines: its workers.
        master: the machine of the master, where it is one of its own.
        culled: what was launched and ended again, each a mapping with a ``machine``.
    """

    is_part: ClassVar[bool] = True

    kind: str
    name: str
    instance_type: str = "local"
    machines: tuple[PaidMachine, ...] = ()
    master: PaidMachine | None = None
    culled: tuple[dict[str, Any], ...] = ()

    @property
    def price_per_hour(self) -> float | None:
        """Dollars for one worker and hour, the mean; None where one is unknown."""
        prices = [machine.price_per_hour for machine in self.machines]
        known = [price for price in prices if price is not None]
        return sum(known) / len(known) if known and len(known) == len(prices) else None

    @property
    def culled_machines(self) -> tuple[PaidMachine, ...]:
        """The machines that were ended before any job ran on them."""
        return tuple(PaidMachine.from_dict(one.get("machine") or {}) for one in self.culled)

    def __post_init__(self) -> None:
        """Refuse culled machines that are none."""
        _ = self.culled_machines


def paid_cluster(cluster: TrainingCluster) -> PaidCluster:
    """A cluster of what a model keeps of it; a model of an earlier version does not know the master."""

    def paid(machine: TrainedMachine) -> PaidMachine:
        price = machine.price_per_hour if machine.price_per_hour is not None else cluster.price_per_hour
        return PaidMachine(price_per_hour=price if _is_price(price) else None)

    kept = [machine for machine in cluster.machines if not machine.culled_because]
    return PaidCluster(
        kind=cluster.kind,
        name=cluster.name,
        instance_type=cluster.instance_type,
        machines=tuple(paid(machine) for machine in kept if not machine.is_master),
        master=next((paid(machine) for machine in kept if machine.is_master), None),
        culled=tuple(
            {"machine": paid(machine).to_dict()} for machine in cluster.machines if machine.culled_because
        ),
    )


def _is_price(price: float | None) -> bool:
    return price is None or (math.isfinite(price) and price >= 0)


ModelName = tuple[str, str, str]
"""Job, instance type and id of a model."""


@dataclass(kw_only=True)
class Documents:
    """What is known of the training for one type of machine, and of the decision and production after it.

    Attributes:
        branch: id of the nested group that the training is in; empty where there is but one.
        observations: by the map index of their sample run.
        reuse: whether a stored model made the training needless; None where nobody looked for one.
        model: that was fitted, or that is reused.
        model_name: of that model, also where it was stored and then refused.
        bottlenecks: why the job takes as long as it does; None where that is not known.
        productions: the records of the production run's task instances by their map index, where their
            operator makes them.
        unreadable: what cannot be read and why, a sentence for each.
        missing: ids of tasks that succeeded and whose result is not there.
    """

    branch: str = ""
    design: Design | None = None
    cluster: PaidCluster | None = None
    observations: dict[int, Observation] = field(default_factory=dict)
    reuse: Reuse | None = None
    model: Model | None = None
    model_name: ModelName | None = None
    bottlenecks: BottleneckReport | None = None
    record: DecisionRecord | None = None
    decision: Decision | None = None
    productions: dict[int, ProductionRun] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def instance_type(self) -> str | None:
        """The type of machine that was trained on; None where nothing tells it yet."""
        if self.cluster is not None:
            return self.cluster.instance_type
        if self.model_name is not None:
            return self.model_name[1]
        told = [run.instance_type for run in self.observations.values()]
        return next(filter(None, [*told, self.reuse.instance_type if self.reuse else None]), None)

    @property
    def is_reused(self) -> bool:
        """Whether a stored model made the training needless."""
        return self.reuse is not None and self.reuse.is_reused

    @property
    def is_decided_by(self) -> bool:
        """Whether the decision comes of this training's model."""
        name, decision = self.model_name, self.decision
        return name is not None and decision is not None and decision.model_id == name[2]

    def production_of(self, task: TaskRow) -> ProductionRun | None:
        """The record of one instance of the production task."""
        return self.productions.get(task.map_index)

    def prediction_of(self, task: TaskRow) -> ProductionRun | Decision | None:
        """What tells the prediction for an instance of the production task.

        Its record where there is one: it ran on the machines that it had, and the decision may be for others.
        """
        return self.production_of(task) or self.decision


log = logging.getLogger(__name__)

Made = TypeVar("Made", Model, DecisionRecord, ProductionRun, ModelMark, BottleneckReport)

MOST_LOOKED_AT = 100
"""Documents of a kind that are read for a run, the nearest in time: a DAG may have made thousands."""
MOST_REPORTS = 20
"""Reports of bottlenecks that are read for a run, the newest: the catalogue does not know their times."""
LONGEST_WAY = timedelta(days=1)
"""Documents made so long before or after a run are not of it, whatever the clocks."""


class StoredOfRun:
    """Documents that the run's tasks made, the newest first. Each kind is read when it is first asked for.

    Args:
        models: reads the models.
        decisions: reads the decisions.
        production_runs: reads the production runs.
        marks: reads the marks of models.
        reports: reads the reports of bottlenecks of a job on a type of machine.
    """

    def __init__(
        self,
        *,
        models: Callable[[], tuple[Model, ...]] = tuple,
        decisions: Callable[[], tuple[DecisionRecord, ...]] = tuple,
        production_runs: Callable[[], tuple[ProductionRun, ...]] = tuple,
        marks: Callable[[], tuple[ModelMark, ...]] = tuple,
        reports: Callable[[str, str], tuple[BottleneckReport, ...]] = lambda job, instance_type: (),
    ) -> None:
        self._models = models
        self._decisions = decisions
        self._production_runs = production_runs
        self._marks = marks
        self.reports = reports

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The models that were fitted."""
        return self._models()

    @cached_property
    def decisions(self) -> tuple[DecisionRecord, ...]:
        """The decisions that were made."""
        return self._decisions()

    @cached_property
    def production_runs(self) -> tuple[ProductionRun, ...]:
        """The production runs that were recorded."""
        return self._production_runs()

    @cached_property
    def marks(self) -> tuple[ModelMark, ...]:
        """What was noted against models."""
        return self._marks()


def stored_of(store: ModelStore | StoreError, run: RunRecord) -> StoredOfRun:
    """What is stored of a run, not read yet; nothing where that fails, for the run can be shown without."""
    if isinstance(store, StoreError):
        log.warning(
            "Run %s of DAG %s is shown without the model store", run.run_id, run.dag_id, exc_info=store
        )
        return StoredOfRun()
    # The catalogue is asked once for all.
    entries = cache(store.catalogue.entries)
    return StoredOfRun(
        models=partial(_read_kept, store, run, entries, MODEL, load_model),
        decisions=partial(_read_kept, store, run, entries, DECISION, load_decision),
        production_runs=partial(_read_kept, store, run, entries, PRODUCTION_RUN, load_production),
        marks=partial(_read_kept, store, run, entries, MARK, load_mark),
        reports=partial(_reports, store, run),
    )


def made_by(documents: Iterable[Made], task: TaskRow) -> Made | None:
    """The newest document that the task instance made; None where it made none."""
    for document in documents:
        origin = document.origin
        if origin and (origin.task_id, origin.map_index) == (task.task_id, task.map_index):
            return document
    return None


def _read_kept(
    store: ModelStore,
    run: RunRecord,
    entries: Callable[[], list[CatalogueEntry]],
    kind: str,
    load: Load[Kept],
) -> tuple[Kept, ...]:
    try:
        wanted = _near(run, (entry for entry in entries() if entry.kind == kind))
        return tuple(each for each in read_each(load, store, wanted) if _is_of(each, run))
    except ErnestError:
        log.warning(
            "Run %s of DAG %s is shown without what the model store has of it (%s)",
            run.run_id,
            run.dag_id,
            kind,
            exc_info=True,
        )
        return ()


def _reports(store: ModelStore, run: RunRecord, job: str, instance_type: str) -> tuple[BottleneckReport, ...]:
    """Those of the run, newest first."""
    try:
        newest = store.bottlenecks(job, instance_type, limit=MOST_REPORTS)
    except ErnestError:
        log.warning(
            "Run %s of DAG %s is shown without its report of bottlenecks",
            run.run_id,
            run.dag_id,
            exc_info=True,
        )
        return ()
    return tuple(report for report in reversed(newest) if _is_of(report, run))


def _is_of(document: Made, run: RunRecord) -> bool:
    origin = document.origin
    return origin is not None and (origin.dag_id, origin.run_id) == (run.dag_id, run.run_id)


def _near(run: RunRecord, entries: Iterable[CatalogueEntry]) -> list[CatalogueEntry]:
    """Those that the run may have made, newest first: the catalogue knows DAGs and times, but no runs."""
    begin, end = _span(run)
    far = [(_way(entry, begin, end), entry.id, entry) for entry in entries if entry.dag_id == run.dag_id]
    # Of equally near ones, the newest: ids sort by time.
    far.sort(key=lambda each: each[1], reverse=True)
    far.sort(key=lambda each: each[0])
    near = [entry for way, _, entry in far[:MOST_LOOKED_AT] if way <= LONGEST_WAY]
    return sorted(near, key=lambda entry: entry.id, reverse=True)


def _span(run: RunRecord) -> tuple[datetime | None, datetime | None]:
    """When the run began and ended; None where that is open.

    A run that is cleared begins anew, and those of its tasks that are not cleared keep their times.
    """
    begins = [run.started_at, *(task.started_at for task in run.tasks)]
    ends = [run.ended_at, *(task.ended_at for task in run.tasks)]
    return (
        min((begin for begin in begins if begin is not None), default=None),
        max(end for end in ends if end is not None) if run.ended_at is not None else None,
    )


def _way(entry: CatalogueEntry, begin: datetime | None, end: datetime | None) -> timedelta:
    """How far the entry lies outside the time of the run; nothing where that cannot be told."""
    try:
        at = datetime.fromisoformat(entry.at)
    except ValueError:
        return timedelta(0)
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    early = begin - at if begin is not None else timedelta(0)
    late = at - end if end is not None else timedelta(0)
    return max(early, late, timedelta(0))


Read = TypeVar("Read", bound=Document)


def documents_of(run: RunRecord, group: Group, stored: StoredOfRun | None = None) -> Documents:
    """What the tasks of a group pushed, and what is stored of it where that is gone."""
    found = Documents(branch=_branch(group))
    found.design = _read(Design, run, group.task(DESIGN), found, DESIGN_KEY)
    found.cluster = _read(PaidCluster, run, group.task(CLUSTER), found)
    for task in group.tasks(SAMPLE_RUN):
        observation = _read(Observation, run, task, found)
        if observation is not None:
            found.observations[task.map_index] = observation
    found.model = _read(Model, run, group.task(FIT), found)
    found.bottlenecks = _read(BottleneckReport, run, group.task(BOTTLENECKS), found)
    found.decision = _read(Decision, run, group.task(CHOOSE), found)
    found.record = _read(DecisionRecord, run, group.task(CHOOSE), found, RECORD_KEY)
    for task in _succeeded(group, PRODUCTION):
        production = _read(ProductionRun, run, task, found, PRODUCTION_RUN_KEY)
        if production is not None:
            found.productions[task.map_index] = production
    for task in _succeeded(group, RECORD):
        production = _read(ProductionRun, run, task, found, PRODUCTION_RUN_KEY)
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
    task = group.task(FIND)
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

    fit, choose = first(FIT), first(CHOOSE)
    if found.model is None and fit is not None:
        found.model = made_by(stored.models, fit)
    if found.record is None and choose is not None:
        found.record = made_by(stored.decisions, choose)
    for task in [*_succeeded(group, PRODUCTION), *_succeeded(group, RECORD)]:
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
    reporters = _succeeded(group, BOTTLENECKS)
    if found.bottlenecks is None and found.model_name is not None and reporters:
        job, instance_type, _ = found.model_name
        found.bottlenecks = made_by(stored.reports(job, instance_type), reporters[0])


def _complete_by_model(found: Documents, group: Group, model: Model) -> None:
    """Fill in what the model keeps of the steps that it comes of."""
    found.design = found.design or model.design
    if found.cluster is None and model.cluster is not None and _succeeded(group, CLUSTER):
        found.cluster = paid_cluster(model.cluster)
    runs = {task.map_index for task in _succeeded(group, SAMPLE_RUN)}
    for observation in model.observations:
        index = observation.origin.map_index if observation.origin else observation.index
        if index in runs:
            found.observations.setdefault(index, observation)


def _missing(run: RunRecord, group: Group, found: Documents) -> list[str]:
    known = {
        FIND: found.reuse if found.reuse and (found.reuse.reason or found.reuse.reasons) else None,
        DESIGN: found.design,
        CLUSTER: found.cluster,
        FIT: found.model,
        CHOOSE: found.decision,
    }
    lost = [
        step.task
        for step in group.steps
        if step.task.state == SUCCESS
        and (
            known.get(step.kind, step) is None
            or (step.kind == SAMPLE_RUN and step.task.map_index not in found.observations)
        )
    ]
    # What is there and cannot be read is told of by itself.
    return list(dict.fromkeys(task.task_id for task in lost if run.value(task) is None))


def _model_names(run: RunRecord, group: Group, found: Documents) -> Iterator[ModelName]:
    """What says which model it is, the surest first."""
    if found.model is not None:
        yield found.model.job, found.model.instance_type, found.model.id
    record = found.record
    # After a fallback the type is that of the fallback, which need not be the model's; and among several
    # types the record is of the one that was chosen.
    if record is not None and record.model_id and record.decision.model_id and not found.branch:
        yield record.job, record.instance_type, record.model_id
    fit = group.task(FIT)
    # A model that was too inaccurate is stored, and its task fails.
    place = run.value(fit, STORED_AT) if fit is not None else None
    parts = [unquote(part) for part in place.split("/")[-3:]] if isinstance(place, str) else []
    if len(parts) == 3 and all(parts) and parts[2].endswith(".json"):
        yield parts[0], parts[1], parts[2].removesuffix(".json")


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:296]} ..."
