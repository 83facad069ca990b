"""What a training cost, and what the production run that it was for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from airflow_provider_ernest.documents.decisions import Decision
from airflow_provider_ernest.views import dag_run
from airflow_provider_ernest.views.dag_run import SUCCESS, Group, TaskRow
from airflow_provider_ernest.views.run_documents import Documents, PaidMachine

HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class Training:
    """What it took until the decision.

    Attributes:
        begun_at: when the cluster's task started; None where it was not begun.
        ended_at: when its machines were paid for no more, or were production's; see `training_of`.
        cost: in dollars; None where a machine's price is unknown.
        machines: that were paid for, with the master and those that were culled.
    """

    begun_at: datetime | None = None
    ended_at: datetime | None = None
    cost: float | None = None
    machines: int | None = None

    @property
    def seconds(self) -> float | None:
        """From the start of the cluster's task to the end; None where that was not begun."""
        if self.begun_at is None or self.ended_at is None:
            return None
        return max(0.0, (self.ended_at - self.begun_at).total_seconds())


def price_per_hour(documents: Documents) -> float | None:
    """Dollars for a worker and hour: what the cluster tells, else what the decision used."""
    cluster = documents.cluster
    told = cluster.price_per_hour if cluster else None
    return told if told is not None else _price_of_decision(documents)


def training_of(group: Group, documents: Documents, *, now: datetime) -> Training:
    """What the way to the decision took and cost, for one type of machine.

    All machines of the cluster, its master among them, count from the start of the task that launches
    them to the end of the decision, or to that of the teardown where it came first, at their own prices, or
    at the decision's where the cluster does not tell them. Machines that were culled count until the
    cluster was ready, when they were ended. Where a stored model is reused there is no training: a cluster is
    then production's from its start. Where no decision was made, the end of the teardown counts; where
    neither is there yet, now. What a cluster costs after the decision is not of the training. Only the last
    attempt of the cluster's task is known; one that failed before it has ended what it launched.
    """
    create = group.task(dag_run.CLUSTER)
    if documents.is_reused or create is None or create.started_at is None or not create.has_run:
        return Training()
    training = Training(begun_at=create.started_at, ended_at=_end(group, create, now))
    cluster, seconds = documents.cluster, training.seconds
    if cluster is None or seconds is None:
        return training
    kept = (*cluster.machines, *((cluster.master,) if cluster.master else ()))
    culled = cluster.culled_machines
    otherwise = price_per_hour(documents)
    costs = [
        _cost(kept, seconds, otherwise),
        _cost(culled, min(seconds, create.seconds(now) or 0.0), otherwise),
    ]
    return replace(training, cost=_sum(costs), machines=len(kept) + len(culled))


def together(trainings: Sequence[Training]) -> Training:
    """The trainings for all types of machine: from the first start to the last end, at all their costs."""
    begun = [each for each in trainings if each.seconds is not None]
    if not begun:
        return Training()
    machines = [each.machines for each in begun if each.machines is not None]
    return Training(
        begun_at=min(each.begun_at for each in begun if each.begun_at is not None),
        ended_at=max(each.ended_at for each in begun if each.ended_at is not None),
        cost=_sum([each.cost for each in begun]),
        machines=sum(machines) if machines else None,
    )


def idle_cost(training: Training, shown: Iterable[float | None]) -> float | None:
    """What of a training's cost is of no step: machines that no run used, and the time between steps.

    Args:
        training: of all types.
        shown: dollars of the steps, those of the cluster's start among them.
    """
    if training.cost is None:
        return None
    return max(0.0, training.cost - sum(cost for cost in shown if cost is not None))


def creation_cost(create: TaskRow, documents: Documents, *, now: datetime) -> float | None:
    """What the machines cost while the cluster formed in that task, culled ones and master included."""
    cluster, seconds = documents.cluster, create.seconds(now)
    if cluster is None or seconds is None:
        return None
    machines = (*cluster.machines, *((cluster.master,) if cluster.master else ()), *cluster.culled_machines)
    return _cost(machines, seconds, price_per_hour(documents))


def production_cost(task: TaskRow, documents: Sequence[Documents]) -> float | None:
    """What an instance of the production task cost: as recorded, else as billed for its time.

    None before its end.
    """
    first = documents[0]
    recorded = first.production_of(task)
    if recorded is not None and recorded.cost is not None:
        return recorded.cost
    machines = production_machines(task, first)
    seconds = production_seconds(task, first)
    if machines is None or seconds is None:
        return None
    billed = _billed(first.decision, machines=machines, seconds=seconds)
    if billed is not None:
        return billed
    price = _production_price(documents)
    return None if price is None else machines * seconds * price / HOUR


def _billed(decision: Decision | None, *, machines: int, seconds: float) -> float | None:
    """All that is billed for a run by the terms of the decision; what it bears of the training is not."""
    if decision is None or decision.billing is None:
        return None
    try:
        cost = decision.billing.cost(machines=machines, seconds=seconds).of_the_run
    except (ValueError, ArithmeticError):  # documents of others may hold any numbers
        return None
    return cost if math.isfinite(cost) else None


def _production_price(documents: Sequence[Documents]) -> float | None:
    """Dollars for a machine of production and hour: the decision's, else that of a cluster of its type."""
    decision = documents[0].decision
    told = _price_told_by(decision)
    if told is not None:
        return told
    wanted = decision.config.instance_type if decision is not None else None
    clusters = (each.cluster for each in documents if each.cluster is not None)
    prices = (cluster.price_per_hour for cluster in clusters if wanted in (None, cluster.instance_type))
    return next((price for price in prices if price is not None), None)


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


def share_of_production(group: Group, documents: Sequence[Documents], training: Training) -> float | None:
    """The training's cost as a percentage of one production run's.

    Of what production cost where it succeeded, else of what it is predicted to cost.
    """
    task = group.task(dag_run.PRODUCTION)
    whole = production_cost(task, documents) if task is not None and task.state == SUCCESS else None
    if whole is None:
        decision = documents[0].decision
        whole = decision.predicted_run_cost if decision is not None else None
    if training.cost is None or whole is None or whole <= 0:
        return None
    return 100.0 * training.cost / whole


def _price_of_decision(documents: Documents) -> float | None:
    """The decision's, where it is for the type that was trained on."""
    decision, trained = documents.decision, documents.instance_type
    if decision is None or trained not in (None, decision.config.instance_type):
        return None
    return _price_told_by(decision)


def _price_told_by(decision: Decision | None) -> float | None:
    price = decision.price_per_hour if decision else None
    # It comes from an XCom, which may hold anything.
    return price if price is not None and math.isfinite(price) and price >= 0 else None


def _end(group: Group, create: TaskRow, now: datetime) -> datetime:
    decided = group.task(dag_run.CHOOSE)
    ends = [decided.ended_at] if decided is not None and decided.state == SUCCESS else []
    # The cluster of production has a teardown, too, which is in another group than the training.
    ends += [
        task.ended_at
        for task in group.tasks(dag_run.TERMINATE)
        if task.has_run and task.task_id.rpartition(".")[0] == create.task_id.rpartition(".")[0]
    ]
    return min((end for end in ends if end is not None), default=now)


def _cost(machines: Iterable[PaidMachine], seconds: float, otherwise: float | None) -> float | None:
    hourly = _sum(
        [machine.price_per_hour if machine.price_per_hour is not None else otherwise for machine in machines]
    )
    return None if hourly is None else hourly * seconds / HOUR


def _sum(costs: Sequence[float | None]) -> float | None:
    """Their sum, None where one is unknown."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
