"""What the steps of a task group pushed, read as documents. XComs are anybody's: none of them is trusted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import unquote

from airflow_provider_ernest.exceptions import InvalidDocumentError
from airflow_provider_ernest.model.documents import Design, Document, Observation
from airflow_provider_ernest.model.records import DecisionRecord, ProductionRun
from airflow_provider_ernest.model.results import Decision, Model
from airflow_provider_ernest.model.training_cluster import TrainingCluster
from airflow_provider_ernest.plugin import run_groups
from airflow_provider_ernest.plugin.run_groups import Group
from airflow_provider_ernest.plugin.run_kept import StoredOfRun, made_by
from airflow_provider_ernest.plugin.run_record import (
    DESIGN,
    PRODUCTION_RUN,
    RECORD,
    RETURNED,
    STORED_AT,
    SUCCESS,
    RunRecord,
    TaskRow,
)

Read = TypeVar("Read", bound=Document)

ModelName = tuple[str, str, str]
"""Job, instance type and id of a model."""


@dataclass(frozen=True, kw_only=True)
class PaidMachine(Document):
    """A machine of a cluster, as far as it is paid for."""

    price_per_hour: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be a price."""
        price = self.price_per_hour
        if price is not None and not (math.isfinite(price) and price >= 0):
            raise InvalidDocumentError(f"price_per_hour={price!r} is not a finite number of at least 0.")


@dataclass(frozen=True, kw_only=True)
class PaidCluster(Document):
    """A cluster as its pages tell of it: the part of a cluster's handle that has to do with money.

    Attributes:
        machines: its workers.
        master: the machine of the master, where it is one of its own.
        culled: what was launched and ended again, each a mapping with a ``machine``.
    """

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


@dataclass(kw_only=True)
class Documents:
    """What is known of a group.

    Attributes:
        observations: by the map index of their sample run.
        model_name: of the model that was fitted, also where it was stored and then refused.
        production: the record of the production run, where its operator makes one.
        unreadable: what cannot be read and why, a sentence for each.
        missing: ids of tasks that succeeded and whose result is not there.
    """

    design: Design | None = None
    cluster: PaidCluster | None = None
    observations: dict[int, Observation] = field(default_factory=dict)
    model: Model | None = None
    model_name: ModelName | None = None
    record: DecisionRecord | None = None
    decision: Decision | None = None
    production: ProductionRun | None = None
    unreadable: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def documents_of(run: RunRecord, group: Group, stored: StoredOfRun | None = None) -> Documents:
    """What the tasks of a group pushed, and what is stored of it where that is gone.

    Args:
        run: of the group.
        group: its steps.
        stored: what the model store holds of the run.
    """
    found = Documents()
    found.design = _read(Design, run, group.task(run_groups.DESIGN), found, DESIGN)
    found.cluster = _read(PaidCluster, run, group.task(run_groups.CLUSTER), found)
    for task in group.tasks(run_groups.SAMPLE_RUN):
        observation = _read(Observation, run, task, found)
        if observation is not None:
            found.observations[task.map_index] = observation
    found.model = _read(Model, run, group.task(run_groups.FIT), found)
    found.decision = _read(Decision, run, group.task(run_groups.CHOOSE), found)
    found.record = _read(DecisionRecord, run, group.task(run_groups.CHOOSE), found, RECORD)
    production = group.task(run_groups.PRODUCTION)
    if production is not None and production.state == SUCCESS:
        found.production = _read(ProductionRun, run, production, found, PRODUCTION_RUN)
    if stored is not None:
        _complete(found, group, stored)
    found.model_name = next(_model_names(run, group, found), None)
    found.missing = _missing(run, group, found)
    return found


def _read(
    document: type[Read], run: RunRecord, task: TaskRow | None, found: Documents, key: str = RETURNED
) -> Read | None:
    value = run.value(task, key) if task is not None else None
    if task is None or value is None:
        return None
    if isinstance(value, str):
        problem = (
            f"The result of {task.task_id} is kept elsewhere, by a custom backend for XComs ([core] "
            "xcom_backend), which these pages do not open. They show what the model store has of it."
        )
    else:
        try:
            return document.from_dict(value)
        except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
            problem = f"The result of {task.task_id} cannot be read: {_short(str(error))}"
    if problem not in found.unreadable:
        found.unreadable.append(problem)
    return None


def _complete(found: Documents, group: Group, stored: StoredOfRun) -> None:
    """Fill in what is stored: only of tasks that succeeded, for it may be of an attempt before the last."""

    def succeeded(kind: str) -> list[TaskRow]:
        return [task for task in group.tasks(kind) if task.state == SUCCESS]

    found.model = found.model or made_by(stored.models, succeeded(run_groups.FIT))
    found.record = found.record or made_by(stored.decisions, succeeded(run_groups.CHOOSE))
    found.production = found.production or made_by(stored.production_runs, succeeded(run_groups.PRODUCTION))
    if found.record is not None:
        found.decision = found.decision or found.record.decision
    model = found.model
    if model is None:
        return
    found.design = found.design or model.design
    if found.cluster is None and model.cluster is not None and succeeded(run_groups.CLUSTER):
        found.cluster = _paid(model.cluster)
    runs = {task.map_index for task in succeeded(run_groups.SAMPLE_RUN)}
    for observation in model.observations:
        index = observation.origin.map_index if observation.origin else observation.index
        if index in runs:
            found.observations.setdefault(index, observation)


def _paid(cluster: TrainingCluster) -> PaidCluster:
    price = PaidMachine(price_per_hour=cluster.price_per_hour)
    return PaidCluster(
        kind=cluster.kind,
        name=cluster.name,
        instance_type=cluster.instance_type,
        machines=tuple(price for machine in cluster.machines if not machine.culled_because),
        culled=tuple({"machine": price.to_dict()} for machine in cluster.machines if machine.culled_because),
    )


def _missing(run: RunRecord, group: Group, found: Documents) -> list[str]:
    known = {
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
    if record is not None and record.model_id:
        yield record.job, record.instance_type, record.model_id
    fit = group.task(run_groups.FIT)
    # A model that was too inaccurate is stored, and its task fails.
    place = run.value(fit, STORED_AT) if fit is not None else None
    parts = [unquote(part) for part in place.split("/")[-3:]] if isinstance(place, str) else []
    if len(parts) == 3 and all(parts) and parts[2].endswith(".json"):
        yield parts[0], parts[1], parts[2].removesuffix(".json")


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:296]} ..."
