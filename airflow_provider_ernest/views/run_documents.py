"""What is known of a training of a DAG run: what its tasks pushed, and what the store has of it.

XComs are anybody's: none of them is trusted.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any, ClassVar, TypeVar
from urllib.parse import unquote

from airflow_provider_ernest.documents.base import Document, time_of
from airflow_provider_ernest.documents.decisions import Decision, DecisionRecord, ProductionRun, Refusal
from airflow_provider_ernest.documents.models import Model, ModelMark, TrainedMachine, TrainingCluster
from airflow_provider_ernest.documents.profiles import BottleneckReport, ProfileRecord
from airflow_provider_ernest.documents.runs import Design, Observation
from airflow_provider_ernest.exceptions import ErnestError, InvalidDocumentError, StoreError
from airflow_provider_ernest.store.catalogue import DECISION, MARK, MODEL, PRODUCTION_RUN, CatalogueEntry
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.dag_run import (
    BOTTLENECKS,
    CHOOSE,
    CLUSTER,
    DESIGN,
    DESIGN_KEY,
    FAILED,
    FAILURE,
    FIND,
    FIT,
    GROWTH,
    MODELS,
    NEXT_RUNS,
    PRODUCTION,
    PRODUCTION_RUN_KEY,
    REASONS,
    RECORD,
    RECORD_KEY,
    REFUSAL,
    RETURNED,
    SAMPLE_RUN,
    SKIPPED,
    STORED_AT,
    SUCCESS,
    Group,
    RunRecord,
    TaskRow,
)
from airflow_provider_ernest.views.loaded import (
    Kept,
    Load,
    load_decision,
    load_mark,
    load_model,
    load_production,
    read_each,
)

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
        design: of all rounds.
        rounds: the design as each further round left it, by the id of the task that chose its runs.
        observations: by task id and map index of their sample run.
        reuse: whether a stored model made the training needless; None where nobody looked for one.
        model: that was fitted, or that is reused.
        model_name: of that model, also where it was stored and then refused.
        bottlenecks: why the job takes as long as it does; None where that is not known.
        refusal: why nothing was decided; None where something was.
        productions: the records of the production run's task instances by their map index, where their
            operator makes them.
        failures: why tasks failed, by their id and map index, as far as they said.
        unreadable: what cannot be read and why, a sentence for each.
        missing: ids of tasks that succeeded and whose result is not there.
    """

    branch: str = ""
    design: Design | None = None
    cluster: PaidCluster | None = None
    rounds: dict[str, Design] = field(default_factory=dict)
    observations: dict[tuple[str, int], Observation] = field(default_factory=dict)
    reuse: Reuse | None = None
    model: Model | None = None
    model_name: ModelName | None = None
    bottlenecks: BottleneckReport | None = None
    record: DecisionRecord | None = None
    decision: Decision | None = None
    refusal: Refusal | None = None
    productions: dict[int, ProductionRun] = field(default_factory=dict)
    failures: dict[tuple[str, int], str] = field(default_factory=dict)
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

Made = TypeVar("Made", Model, DecisionRecord, ProductionRun, ModelMark, ProfileRecord, BottleneckReport)

MOST_LOOKED_AT = 100
"""Documents of a kind that are read for a run, the nearest in time: a DAG may have made thousands."""
MOST_REPORTS = 20
"""Reports of bottlenecks that are read for a run, the newest: the catalogue does not know their times."""
LONGEST_WAY = timedelta(days=1)
"""Documents made so long before or after a run are not of it, whatever the clocks."""


class StoredOfRun:
    """Documents that the run's tasks made, the newest first; nothing where none of these reads any.

    Each kind is read when it is first asked for; the reports are those of a job on a type of machine.
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
        self._models, self._decisions = cache(models), cache(decisions)
        self._production_runs, self._marks = cache(production_runs), cache(marks)
        self.reports = reports

    @property
    def models(self) -> tuple[Model, ...]:
        """That were fitted."""
        return self._models()

    @property
    def decisions(self) -> tuple[DecisionRecord, ...]:
        """That were made."""
        return self._decisions()

    @property
    def production_runs(self) -> tuple[ProductionRun, ...]:
        """That were recorded."""
        return self._production_runs()

    @property
    def marks(self) -> tuple[ModelMark, ...]:
        """What was noted against models."""
        return self._marks()


def stored_of(store: ModelStore | StoreError, run: RunRecord) -> StoredOfRun:
    """What is stored of a run, not read yet; nothing where that fails, for the run can be shown without."""
    if isinstance(store, StoreError):
        _warn(run, "the model store", store)
        return StoredOfRun()
    return _stored_in(store, run)


def _stored_in(store: ModelStore, run: RunRecord) -> StoredOfRun:
    # The catalogue is asked once for all.
    entries = cache(store.catalogue.entries)

    def read(kind: str, load: Load[Kept]) -> Callable[[], tuple[Kept, ...]]:
        def documents() -> tuple[Kept, ...]:
            try:
                wanted = _near(run, (entry for entry in entries() if entry.kind == kind))
                return tuple(each for each in read_each(load, store, wanted) if _is_of(each, run))
            except ErnestError as error:
                _warn(run, f"what the model store has of it ({kind})", error)
                return ()

        return documents

    def reports(job: str, instance_type: str) -> tuple[BottleneckReport, ...]:
        try:
            newest = store.newest(BottleneckReport, job, instance_type, limit=MOST_REPORTS)
        except ErnestError as error:
            _warn(run, "its report of bottlenecks", error)
            return ()
        return tuple(report for report in reversed(newest) if _is_of(report, run))

    return StoredOfRun(
        models=read(MODEL, load_model),
        decisions=read(DECISION, load_decision),
        production_runs=read(PRODUCTION_RUN, load_production),
        marks=read(MARK, load_mark),
        reports=reports,
    )


def _warn(run: RunRecord, lacks: str, error: ErnestError) -> None:
    log.warning("Run %s of DAG %s is shown without %s", run.run_id, run.dag_id, lacks, exc_info=error)


def made_by(documents: Iterable[Made], task: TaskRow) -> Made | None:
    """The newest document that the task instance made; None where it made none."""
    for document in documents:
        origin = document.origin
        if origin and (origin.task_id, origin.map_index) == (task.task_id, task.map_index):
            return document
    return None


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
    at = time_of(entry.at)
    if at is None:
        return timedelta(0)
    early = begin - at if begin is not None else timedelta(0)
    late = at - end if end is not None else timedelta(0)
    return max(early, late, timedelta(0))


Read = TypeVar("Read", bound=Document)


def documents_of(run: RunRecord, group: Group, stored: StoredOfRun | None = None) -> Documents:
    """What the tasks of a group pushed, and what is stored of it where that is gone."""
    found = Documents(branch=next((step.branch for step in group.steps if step.branch), ""))
    found.failures = _failures(run, group)
    found.design = _read(Design, run, group.task(DESIGN), found, DESIGN_KEY)
    for task in group.tasks(NEXT_RUNS):
        design = _read(Design, run, task, found, DESIGN_KEY)
        if design is not None:
            found.design = found.rounds[task.task_id] = design
    found.cluster = _read(PaidCluster, run, group.task(CLUSTER), found)
    for task in group.tasks(SAMPLE_RUN):
        observation = _read(Observation, run, task, found)
        if observation is not None:
            found.observations[task.task_id, task.map_index] = observation
    found.model = _read(Model, run, group.task(FIT), found)
    found.bottlenecks = _read(BottleneckReport, run, group.task(BOTTLENECKS), found)
    found.decision = _read(Decision, run, group.task(CHOOSE), found)
    found.record = _read(DecisionRecord, run, group.task(CHOOSE), found, RECORD_KEY)
    refused = next((task for task in group.tasks(CHOOSE) if task.state == FAILED), None)
    found.refusal = _read(Refusal, run, refused, found, REFUSAL)
    for task in [*_succeeded(group, PRODUCTION), *_succeeded(group, RECORD)]:
        production = _read(ProductionRun, run, task, found, PRODUCTION_RUN_KEY)
        if production is not None:
            found.productions.setdefault(task.map_index, production)
    kept = stored or StoredOfRun()
    _complete(found, group, kept)
    found.reuse = reuse_of(run, group, branch=found.branch, record=found.record)
    if found.is_reused:
        _read_reused(run, group, found)
    found.model_name = next(_model_names(run, group, found), None)
    reporters = _succeeded(group, BOTTLENECKS)
    if found.bottlenecks is None and found.model_name is not None and reporters:
        # Reports are stored by job and type of machine: what tells these must be known.
        found.bottlenecks = made_by(kept.reports(*found.model_name[:2]), reporters[0])
    found.missing = _missing(run, group, found)
    return found


def _failures(run: RunRecord, group: Group) -> dict[tuple[str, int], str]:
    said = ((step.task, run.value(step.task, FAILURE)) for step in group.steps)
    return {
        (task.task_id, task.map_index): why[:LONGEST_REASON]
        for task, why in said
        if isinstance(why, str) and why
    }


def _read_reused(run: RunRecord, group: Group, found: Documents) -> None:
    """The model that is reused. Design, cluster and runs that it keeps are those of another run."""
    task = group.task(FIND)
    if found.reuse is None or task is None:
        return
    try:
        found.model = None if found.reuse.document is None else Model.from_dict(found.reuse.document)
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
    fit, choose = (next(iter(_succeeded(group, kind)), None) for kind in (FIT, CHOOSE))
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


def _complete_by_model(found: Documents, group: Group, model: Model) -> None:
    """Fill in what the model keeps of the steps that it comes of."""
    found.design = found.design or model.design
    if found.cluster is None and model.cluster is not None and _succeeded(group, CLUSTER):
        found.cluster = paid_cluster(model.cluster)
    runs = [(task.task_id, task.map_index) for task in _succeeded(group, SAMPLE_RUN)]
    for observation in model.observations:
        origin = observation.origin
        for task_id, index in runs:
            if (
                (origin.task_id, origin.map_index) == (task_id, index)
                if origin
                else observation.index == index
            ):
                found.observations.setdefault((task_id, index), observation)


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
            or (
                step.kind == SAMPLE_RUN and (step.task.task_id, step.task.map_index) not in found.observations
            )
        )
    ]
    # What is there and cannot be read is reported by itself.
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
