"""What a training cost, and what the production run that it was for."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from airflow_provider_ernest.plugin import run_groups
from airflow_provider_ernest.plugin.paid_cluster import PaidMachine
from airflow_provider_ernest.plugin.run_documents import Documents
from airflow_provider_ernest.plugin.run_groups import Group
from airflow_provider_ernest.plugin.run_record import SUCCESS, TaskRow

HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class Training:
    """What it took until the decision.

    Attributes:
        seconds: from the start of the cluster's task to the decision; None where the cluster was not begun.
        cost: in dollars; None where a machine's price is unknown.
        machines: that were paid for, with the master and those that were culled.
    """

    seconds: float | None = None
    cost: float | None = None
    machines: int | None = None


def price_per_hour(documents: Documents) -> float | None:
    """Dollars for a worker and hour: what the cluster tells, else what the decision reckoned with."""
    cluster = documents.cluster
    told = cluster.price_per_hour if cluster else None
    return told if told is not None else _price_of_decision(documents)


def training_of(group: Group, documents: Documents, *, now: datetime) -> Training:
    """What the way to the decision took and cost.

    All machines of the cluster, its master among them, are reckoned from the start of the task that launches
    them to the end of the decision, at their own prices, or at the decision's where the cluster does not tell
    them. Machines that were culled are reckoned until the cluster was ready, when they were ended. Where no
    decision was made, the end of the teardown counts; where neither is there yet, now. What a cluster costs
    after the decision is not of the training. Only the last attempt of the cluster's task is known; one that
    failed before it has ended what it launched.
    """
    create = group.task(run_groups.CLUSTER)
    if create is None or create.started_at is None or not create.has_run:
        return Training()
    end = _end(group, now)
    seconds = max(0.0, (end - create.started_at).total_seconds())
    cluster = documents.cluster
    if cluster is None:
        return Training(seconds=seconds)
    kept = (*cluster.machines, *((cluster.master,) if cluster.master else ()))
    culled = cluster.culled_machines
    otherwise = price_per_hour(documents)
    costs = [
        _cost(kept, seconds, otherwise),
        _cost(culled, min(seconds, create.seconds(now) or 0.0), otherwise),
    ]
    known = [cost for cost in costs if cost is not None]
    return Training(
        seconds=seconds,
        cost=sum(known) if len(known) == len(costs) else None,
        machines=len(kept) + len(culled),
    )


def creation_cost(group: Group, documents: Documents, *, now: datetime) -> float | None:
    """What the machines cost while the cluster formed, culled ones and master included."""
    create, cluster = group.task(run_groups.CLUSTER), documents.cluster
    seconds = create.seconds(now) if create else None
    if cluster is None or seconds is None:
        return None
    machines = (*cluster.machines, *((cluster.master,) if cluster.master else ()), *cluster.culled_machines)
    return _cost(machines, seconds, price_per_hour(documents))


def production_cost(task: TaskRow, documents: Documents) -> float | None:
    """What an instance of the production task cost: as recorded, else by its time on the chosen machines.

    None before its end.
    """
    recorded = documents.production_of(task)
    if recorded is not None and recorded.cost is not None:
        return recorded.cost
    price = _price_of_decision(documents)
    if price is None and documents.cluster is not None:
        price = documents.cluster.price_per_hour
    machines = production_machines(task, documents)
    seconds = production_seconds(task, documents)
    if machines is None or price is None or seconds is None:
        return None
    return machines * seconds * price / HOUR


def production_seconds(task: TaskRow, documents: Documents) -> float | None:
    """How long an instance of the production task took, from submission to end; None before its end.

    As recorded, else the time of its task, which submits and waits: a little more than the run itself.
    """
    recorded = documents.production_of(task)
    if recorded is not None:
        return recorded.seconds
    return task.seconds(task.ended_at) if task.ended_at else None


def production_machines(task: TaskRow, documents: Documents) -> int | None:
    """What an instance of the production task ran on: as recorded, else as decided; None where unknown."""
    recorded, decision = documents.production_of(task), documents.decision
    if recorded is not None:
        return recorded.machines
    return decision.config.machines if decision is not None else None


def share_of_production(group: Group, documents: Documents, training: Training) -> float | None:
    """The training's cost as a percentage of one production run's.

    Of what production cost where it succeeded, else of what it is predicted to cost.
    """
    task, decision = group.task(run_groups.PRODUCTION), documents.decision
    whole = production_cost(task, documents) if task is not None and task.state == SUCCESS else None
    if whole is None and decision is not None:
        whole = decision.predicted_cost
    if training.cost is None or whole is None or whole <= 0:
        return None
    return 100.0 * training.cost / whole


def _price_of_decision(documents: Documents) -> float | None:
    price = documents.decision.price_per_hour if documents.decision else None
    # It comes from an XCom, which may hold anything.
    return price if price is not None and math.isfinite(price) and price >= 0 else None


def _end(group: Group, now: datetime) -> datetime:
    decided, ended = group.task(run_groups.CHOOSE), group.task(run_groups.TERMINATE)
    if decided is not None and decided.state == SUCCESS and decided.ended_at is not None:
        return decided.ended_at
    # Without a decision, machines are paid for until they are ended.
    if ended is not None and ended.has_run and ended.ended_at is not None:
        return ended.ended_at
    return now


def _cost(machines: Iterable[PaidMachine], seconds: float, otherwise: float | None) -> float | None:
    prices = [
        machine.price_per_hour if machine.price_per_hour is not None else otherwise for machine in machines
    ]
    known = [price for price in prices if price is not None]
    return sum(known) * seconds / HOUR if len(known) == len(prices) else None
