"""What the first task of a stage on a slot takes longer: other numbers of slots have other numbers of those.

A first task loads classes, has its code compiled and its closure and data set described to it. Its excess
over the other tasks of its stage is told apart in a replay on other machines: each task keeps what is its
own, and each slot's first task of a stage takes the stage's excess.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.spark.log_reading.tables import (
    BoolColumn,
    EventLog,
    FloatColumn,
    IntColumn,
    TaskTable,
)
from airflow_provider_ernest.spark.replay.grouped import medians
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
    stage, count = _stage_of_task(plan, len(tasks)), len(plan.stages)
    is_first = _first_tasks(tasks, stage, slots_by_executor(log))
    first, others = np.flatnonzero(is_first), np.flatnonzero(~is_first)
    excess = medians(tasks.seconds[first], stage[first], count) - medians(
        tasks.seconds[others], stage[others], count
    )
    usual = float(np.median(tasks.deserialise_seconds[others])) if len(others) else 0.0
    closure = medians(tasks.deserialise_seconds[first], stage[first], count) - usual
    excess = np.maximum(0.0, np.nan_to_num(np.where(np.isnan(excess), closure, excess)))
    shortest = np.full(count, np.inf)
    np.minimum.at(shortest, stage[others], tasks.seconds[others])
    shortest[np.isinf(shortest)] = 0.0
    own = tasks.seconds.copy()
    own[first] = np.maximum(own[first] - excess[stage[first]], np.minimum(own[first], shortest[stage[first]]))
    return WarmUp(is_first=is_first, own_seconds=own, excess_seconds=tuple(excess.tolist()))


def _stage_of_task(plan: Plan, count: int) -> IntColumn:
    """For each task of the log its stage's place in the plan."""
    found = np.zeros(count, dtype=np.int64)
    for place, stage in enumerate(plan.stages):
        found[stage.tasks] = place
    return found


def _first_tasks(tasks: TaskTable, stage: IntColumn, slots: Mapping[int, int]) -> BoolColumn:
    """Which tasks were the first of their stage on a slot: launched before any of it ended on their executor.

    Args:
        tasks: of the log.
        stage: of each a number for its stage.
        slots: of each executor, by its number; one where it is not known.
    """
    order = np.lexsort((tasks.task_id, tasks.launched_at, tasks.executor, stage))
    begins = np.ones(len(tasks), dtype=np.bool_)
    begins[1:] = (np.diff(stage[order]) != 0) | (np.diff(tasks.executor[order]) != 0)
    starts = np.flatnonzero(begins)
    group = np.cumsum(begins) - 1
    rank = np.arange(len(tasks)) - starts[group]
    first_end = np.minimum.reduceat(tasks.finished_at[order], starts) if len(starts) else np.zeros(0)
    most = np.array([slots.get(number, 1) for number in tasks.executor[order][starts].tolist()])
    found = np.zeros(len(tasks), dtype=np.bool_)
    found[order] = (tasks.launched_at[order] < first_end[group]) & (rank < most[group])
    return found


def remote_share_change(*, had: int, machines: int) -> float:
    """How many times as much of all data lies on other machines; 1 where that is not known."""
    return (1.0 - 1.0 / machines) / (1.0 - 1.0 / had) if had > 1 else 1.0


def separated(
    log: EventLog, plan: Plan, seconds: FloatColumn, *, machines: int, warm_up: WarmUp | None = None
) -> Durations:
    """The tasks' seconds for a replay on another number of machines.

    Beside the warm-up, the waiting for fetched data changes with the share of it that lies on other machines:
    of m machines, 1 - 1/m of all.

    Args:
        log: of the run.
        plan: of the log.
        seconds: of each task, as it was or as it would be without something.
        machines: how many there shall be.
        warm_up: of the log, where it is known.
    """
    tasks = log.tasks
    recorded = np.maximum(tasks.seconds, 1e-9)
    change = seconds / recorded
    found = warm_up or warm_up_of(log, plan)
    remote = remote_share_change(had=len(log.machines), machines=machines)
    waited = np.minimum(tasks.fetch_wait_seconds, found.own_seconds)
    own = (found.own_seconds + waited * (remote - 1.0)) * change
    first = np.flatnonzero(found.is_first)
    stage, count = _stage_of_task(plan, len(tasks)), len(plan.stages)
    changes = np.bincount(stage[first], weights=change[first], minlength=count)
    numbers = np.maximum(1, np.bincount(stage[first], minlength=count))
    excess = np.array(found.excess_seconds) * changes / numbers
    return Durations(seconds=own, slot_seconds=own * slot_share(tasks), warm_up_seconds=excess.tolist())
