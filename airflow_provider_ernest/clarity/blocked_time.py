"""How long tasks waited, and how much faster the run could be at most without that.

Blocked time analysis (Ousterhout and others, "Making Sense of Performance in Data Analytics Frameworks", NSDI
2015, section 2): the waiting is taken off each task's time, and the run is replayed with the rest. That is an
upper bound: a task that waits less for one thing may wait more for another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.clarity.replay import Replayed, replay
from airflow_provider_ernest.clarity.replay_plan import Plan, plan_of
from airflow_provider_ernest.documents.profiles import (
    BLOCKING,
    DISK,
    GARBAGE_COLLECTION,
    NETWORK,
    PYTHON_WORKER,
    SCHEDULER,
    SERIALISATION,
    ResourceLimit,
)
from airflow_provider_ernest.eventlog.tables import (
    BoolColumn,
    EventLog,
    FloatColumn,
    StageKey,
    StageRow,
    TaskColumns,
)

# Parts of the names of Spark's operations that run Python workers, in lower case.
_PYTHON_SCOPES = ("python", "pandas", "arrow")


@dataclass(frozen=True, kw_only=True)
class StageWaiting:
    """What the tasks of one stage waited for, in sum, and the stage's seconds without; by `BLOCKING`."""

    blocked_seconds: dict[str, float]
    seconds_without: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class BlockedTime:
    """The analysis of a run."""

    limits: tuple[ResourceLimit, ...]  # what could be won at most, the most first
    stages: Mapping[StageKey, StageWaiting]
    replayed: Replayed  # as it was: what the limits are compared with


def blocked_time(log: EventLog, *, plan: Plan | None = None) -> BlockedTime:
    """Replay the run without each kind of waiting.

    If stages run side by side, list scheduling has anomalies (Graham 1969): a replay with shorter tasks may
    be longer. Then nothing can be won.

    Raises:
        EventLogError: no task ended.
    """
    plan = plan or plan_of(log)
    tasks = log.task_columns
    stages, stage_of = tasks.by_stage
    blocked = blocked_seconds(tasks, in_python=runs_python(log.stages, stages)[stage_of])
    as_it_was = replay(log, plan=plan)
    without = {
        name: replay(log, task_seconds=tasks.seconds - waiting, plan=plan) if waiting.any() else as_it_was
        for name, waiting in blocked.items()
    }
    total, limits = float(tasks.seconds.sum()), []
    for name in BLOCKING:
        waited, seconds = float(blocked[name].sum()), min(without[name].seconds, as_it_was.seconds)
        won = 1.0 - seconds / as_it_was.seconds if as_it_was.seconds > 0 else 0.0
        limits.append(
            ResourceLimit(
                resource=name,
                blocked_seconds=waited,
                share_percent=100.0 * waited / total if total else 0.0,
                seconds_without=seconds,
                improvement_percent=100.0 * won,
            )
        )
    return BlockedTime(
        limits=tuple(sorted(limits, key=lambda limit: limit.seconds_without)),
        stages={
            stage.row.key: StageWaiting(
                blocked_seconds={name: float(each[stage.tasks].sum()) for name, each in blocked.items()},
                seconds_without={
                    name: min(as_it_was.stages[stage.row.key].seconds, run.stages[stage.row.key].seconds)
                    for name, run in without.items()
                },
            )
            for stage in plan.stages
        },
        replayed=as_it_was,
    )


def blocked_seconds(tasks: TaskColumns, *, in_python: BoolColumn | bool = False) -> dict[str, FloatColumn]:
    """What each task waited for, by `documents.profiles.BLOCKING`; columns of shape (tasks,).

    Only time beside the task's CPU time counts: writing to the page cache takes the CPU, and no disk makes it
    faster. Spark does not measure reading input, writing output and spilling. Garbage collection stops all
    tasks of an executor and counts in each, after other waiting for the same time. The parts never add up to
    more than a task took. `in_python` marks the tasks of stages that run Python workers.
    """
    running, _ = taken_in_turn(
        np.minimum(tasks.run_seconds, tasks.seconds) - tasks.cpu_seconds,
        {
            NETWORK: tasks.fetch_wait_seconds,
            DISK: tasks.shuffle_write_seconds,
            GARBAGE_COLLECTION: tasks.garbage_collection_seconds,
            PYTHON_WORKER: python_wanted(tasks, in_python),
        },
    )
    around, _ = taken_in_turn(
        tasks.seconds - tasks.run_seconds,
        {
            SERIALISATION: tasks.deserialise_seconds
            + tasks.result_serialisation_seconds
            + tasks.getting_result_seconds,
            SCHEDULER: tasks.scheduler_delay_seconds,
        },
    )
    blocked = running | around
    return {name: blocked[name] for name in BLOCKING}


def taken_in_turn(
    seconds: FloatColumn, wanted: Mapping[str, FloatColumn]
) -> tuple[dict[str, FloatColumn], FloatColumn]:
    """Share out each task's seconds, shape (tasks,): what each thing takes of them, and the rest.

    Rounded measurements may add up to more than a task took: each gets at most what those before it left.
    """
    left = np.maximum(0.0, seconds)
    taken = {}
    for name, column in wanted.items():
        taken[name] = np.clip(column, 0.0, left)
        left = left - taken[name]
    return taken, left


def python_wanted(tasks: TaskColumns, in_python: BoolColumn | bool) -> FloatColumn:
    """Seconds in Python workers: if unknown, all that is left in stages that run them."""
    untold = np.where(in_python, np.inf, 0.0)
    return np.where(np.isnan(tasks.python_seconds), untold, tasks.python_seconds)


def runs_python(rows: Iterable[StageRow], stages: Iterable[StageKey]) -> BoolColumn:
    """Marks the stages that run Python workers, by the names of their operations; shape (stages,)."""
    known = {
        row.key
        for row in rows
        if any(part in scope.lower() for scope in row.scopes for part in _PYTHON_SCOPES)
    }
    return np.array([stage in known for stage in stages], dtype=np.bool_)
