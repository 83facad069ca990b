"""What the first task of a stage on a slot takes longer: other numbers of slots have other numbers of those.

A first task loads classes, has its code compiled and its closure and data set described to it. Its excess
over the other tasks of its stage is told apart in a replay on other machines: each task keeps what is its
own, and each slot's first task of a stage takes the stage's excess.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.spark.log_reading.tables import (
    BoolColumn,
    EventLog,
    FloatColumn,
    IntColumn,
    TaskTable,
)
from airflow_provider_ernest.spark.replay.launching import slot_share, slots_by_executor
from airflow_provider_ernest.spark.replay.plan import Plan
from airflow_provider_ernest.spark.replay.simulation import Durations


@dataclass(frozen=True, kw_only=True)
class WarmUp:
    """The first tasks of a log and what they took longer.

    Attributes:
        is_first: of each task of the log, whether it was the first of its stage on its slot.
        own_seconds: of each task, without its stage's excess where it was a first.
        excess_seconds: of each stage of the plan.
    """

    is_first: BoolColumn
    own_seconds: FloatColumn
    excess_seconds: tuple[float, ...]


def warm_up_of(log: EventLog, plan: Plan) -> WarmUp:
    """Tell first tasks from the others, and what is theirs.

    A stage's excess is by how much the median of its first tasks is above that of its others. Where it has no
    others, only what its first tasks took longer to deserialise is known.
    """
    tasks = log.tasks
    slots = slots_by_executor(log)
    is_first = np.zeros(len(tasks), dtype=np.bool_)
    for stage in plan.stages:
        is_first[stage.tasks] = first_tasks(tasks, stage.tasks, slots)
    known_closure = tasks.deserialise_seconds[~is_first]
    usual = float(np.median(known_closure)) if len(known_closure) else 0.0
    own, excess = tasks.seconds.copy(), []
    for stage in plan.stages:
        first = stage.tasks[is_first[stage.tasks]]
        others = stage.tasks[~is_first[stage.tasks]]
        if len(others) and len(first):
            shortest = float(tasks.seconds[others].min())
            extra = float(np.median(tasks.seconds[first]) - np.median(tasks.seconds[others]))
        else:
            shortest = 0.0
            extra = float(np.median(tasks.deserialise_seconds[first])) - usual if len(first) else 0.0
        excess.append(max(0.0, extra))
        own[first] = np.maximum(own[first] - excess[-1], np.minimum(own[first], shortest))
    return WarmUp(is_first=is_first, own_seconds=own, excess_seconds=tuple(excess))


def first_tasks(tasks: TaskTable, places: IntColumn, slots: dict[int, int]) -> BoolColumn:
    """Which tasks of a stage were the first on their slot: launched before any of it ended on their executor.

    Args:
        tasks: of the log.
        places: of the stage's tasks in the order in which they were launched.
        slots: of each executor, by its number; one where it is not known.
    """
    executors, which = np.unique(tasks.executor[places], return_inverse=True)
    first_end = np.full(len(executors), np.inf)
    np.minimum.at(first_end, which, tasks.finished_at[places])
    order = np.argsort(which, kind="stable")
    begins = np.searchsorted(which[order], np.arange(len(executors)))
    rank = np.empty(len(places), dtype=np.int64)
    rank[order] = np.arange(len(places)) - begins[which[order]]
    most = np.array([slots.get(int(number), 1) for number in executors], dtype=np.int64)
    return np.asarray((tasks.launched_at[places] < first_end[which]) & (rank < most[which]))


def separated(log: EventLog, plan: Plan, seconds: FloatColumn, *, machines: int) -> Durations:
    """The tasks' seconds for a replay on another number of machines.

    Beside the warm-up, the waiting for fetched data changes with the share of it that lies on other machines:
    of m machines, 1 - 1/m of all.

    Args:
        log: of the run.
        plan: of the log.
        seconds: of each task, as it was or as it would be without something.
        machines: how many there shall be.
    """
    tasks = log.tasks
    recorded = np.maximum(tasks.seconds, 1e-9)
    change = seconds / recorded
    found = warm_up_of(log, plan)
    had = len(log.machines)
    if had > 1:
        remote = (1.0 - 1.0 / machines) / (1.0 - 1.0 / had)
        waited = np.minimum(tasks.fetch_wait_seconds, found.own_seconds)
        own = (found.own_seconds + waited * (remote - 1.0)) * change
    else:
        own = found.own_seconds * change
    warm_up = []
    for stage, excess in zip(plan.stages, found.excess_seconds, strict=True):
        first = stage.tasks[found.is_first[stage.tasks]]
        warm_up.append(excess * float(change[first].mean()) if len(first) else 0.0)
    return Durations(seconds=own, slot_seconds=own * slot_share(tasks), warm_up_seconds=warm_up)
