"""How much of the tasks' time was spent waiting, and how much faster the run could be at most without it.

Blocked time analysis (Ousterhout and others, "Making Sense of Performance in Data Analytics Frameworks", NSDI
2015, section 2): what each task waited for is taken off its time, and the run is replayed with what is left.
That is an upper bound: a task that waits less for one thing may wait more for another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest import run_profile
from airflow_provider_ernest.clarity.replay import Replayed, replay
from airflow_provider_ernest.clarity.replay_plan import Plan, plan_of
from airflow_provider_ernest.eventlog.tables import EventLog, StageRow
from airflow_provider_ernest.eventlog.tasks import FloatColumn, TaskColumns

_PYTHON_SCOPES = ("python", "pandas", "arrow")
"""Parts of the names of Spark's operations that run Python workers, in lower case."""

StageKey = tuple[int, int]
"""Spark's number of a stage and the attempt."""


@dataclass(frozen=True, kw_only=True)
class StageWaiting:
    """What the tasks of one stage waited for.

    Attributes:
        blocked_seconds: by `run_profile.BLOCKING`, summed over its tasks.
        seconds: of the stage in the replay as it was.
        seconds_without: in the replay without the waiting for each.
    """

    blocked_seconds: dict[str, float]
    seconds: float
    seconds_without: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class BlockedTime:
    """The analysis of a run.

    Attributes:
        limits: what could be won at most, the most first.
        stages: by Spark's number and the attempt.
        replayed: the run as it was, replayed; what the limits are compared with.
    """

    limits: tuple[run_profile.ResourceLimit, ...]
    stages: Mapping[StageKey, StageWaiting]
    replayed: Replayed


def blocked_seconds(
    tasks: TaskColumns,
    *,
    python_stages: Collection[StageKey] = (),
    assumed_disk_bytes_per_second: float | None = None,
) -> dict[str, FloatColumn]:
    """What each task waited for, by `run_profile.BLOCKING`; columns of shape (tasks,).

    Nothing counts but time that the task had left beside its CPU's: writing to the page cache takes the CPU,
    and no disk makes it faster. Spark measures no time to read input, to write output or to spill: they count
    as disk time only at an assumed rate. Garbage collection stops all tasks of an executor, so it counts in
    each, but waiting that is told of the same time goes before it. No parts add up to more than a task took.

    Args:
        tasks: of the log.
        python_stages: those known to run Python workers: where the log does not tell the workers' time, all
            that their tasks ran beside their CPU and other waiting counts, an upper bound.
        assumed_disk_bytes_per_second: at which one task reads, writes and spills; None leaves that out.
    """
    left = _Left(np.minimum(tasks.run_seconds, tasks.seconds) - tasks.cpu_seconds)
    network = left.take(tasks.fetch_wait_seconds)
    disk = left.take(tasks.shuffle_write_seconds)
    collection = left.take(tasks.garbage_collection_seconds)
    python = left.take(_python_seconds(tasks, python_stages, left.seconds))
    if assumed_disk_bytes_per_second is not None:
        moved = tasks.input_bytes + tasks.output_bytes + tasks.disk_spilled_bytes
        disk = disk + left.take(moved / assumed_disk_bytes_per_second)
    around = _Left(np.maximum(0.0, tasks.seconds - tasks.run_seconds))
    serialisation = around.take(
        tasks.deserialise_seconds + tasks.result_serialisation_seconds + tasks.getting_result_seconds
    )
    return {
        run_profile.NETWORK: network,
        run_profile.DISK: disk,
        run_profile.GARBAGE_COLLECTION: collection,
        run_profile.SCHEDULER: around.take(tasks.scheduler_delay_seconds),
        run_profile.SERIALISATION: serialisation,
        run_profile.PYTHON_WORKER: python,
    }


def limits_of(log: EventLog, *, plan: Plan | None = None) -> tuple[run_profile.ResourceLimit, ...]:
    """What a run could win at most without each waiting, the most first; see `blocked_time`.

    Raises:
        EventLogError: no task ended.
    """
    return blocked_time(log, plan=plan).limits


def blocked_time(
    log: EventLog, *, plan: Plan | None = None, assumed_disk_bytes_per_second: float | None = None
) -> BlockedTime:
    """Replay the run without the waiting for each thing.

    Where stages run side by side, list scheduling has anomalies (Graham 1969): with shorter tasks a replay
    may now and then come out longer. What is told then is that nothing can be won.

    Args:
        log: of the run.
        plan: of the same log, where it is known.
        assumed_disk_bytes_per_second: see `blocked_seconds`.

    Raises:
        EventLogError: no task ended.
    """
    plan = plan or plan_of(log)
    blocked = blocked_seconds(
        log.task_columns,
        python_stages=python_stages(log.stages),
        assumed_disk_bytes_per_second=assumed_disk_bytes_per_second,
    )
    as_it_was = replay(log, plan=plan)
    without = {
        name: replay(log, task_seconds=log.task_columns.seconds - waiting, plan=plan)
        if waiting.any()
        else as_it_was
        for name, waiting in blocked.items()
    }
    limits = [_limit(log, name, blocked[name], as_it_was, without[name]) for name in run_profile.BLOCKING]
    return BlockedTime(
        limits=tuple(sorted(limits, key=lambda limit: limit.seconds_without)),
        stages=_by_stage(plan, blocked, as_it_was, without),
        replayed=as_it_was,
    )


def python_stages(stages: Collection[StageRow]) -> set[StageKey]:
    """The stages whose operations run Python workers, by the operations' names."""
    return {
        (stage.stage_id, stage.attempt)
        for stage in stages
        if any(part in scope.lower() for scope in stage.scopes for part in _PYTHON_SCOPES)
    }


class _Left:
    """The seconds of each task that are not yet told what they went to."""

    def __init__(self, seconds: FloatColumn) -> None:
        self.seconds = np.maximum(0.0, seconds)

    def take(self, wanted: FloatColumn) -> FloatColumn:
        """As much as there is of what is wanted."""
        taken = np.clip(wanted, 0.0, self.seconds)
        self.seconds = self.seconds - taken
        return np.asarray(taken)


def _python_seconds(tasks: TaskColumns, stages: Collection[StageKey], left: FloatColumn) -> FloatColumn:
    keys = zip(tasks.stage_id.tolist(), tasks.stage_attempt.tolist(), strict=True)
    runs_python = np.fromiter((key in stages for key in keys), dtype=np.bool_, count=len(tasks))
    at_most = np.where(runs_python, left, 0.0)
    return np.where(np.isnan(tasks.python_seconds), at_most, tasks.python_seconds)


def _limit(
    log: EventLog, name: str, waiting: FloatColumn, as_it_was: Replayed, without: Replayed
) -> run_profile.ResourceLimit:
    total = float(log.task_columns.seconds.sum())
    seconds = min(without.seconds, as_it_was.seconds)
    return run_profile.ResourceLimit(
        resource=name,
        blocked_seconds=float(waiting.sum()),
        share_percent=100.0 * float(waiting.sum()) / total if total else 0.0,
        seconds_without=seconds,
        improvement_percent=100.0 * (1.0 - seconds / as_it_was.seconds) if as_it_was.seconds > 0 else 0.0,
    )


def _by_stage(
    plan: Plan, blocked: Mapping[str, FloatColumn], as_it_was: Replayed, without: Mapping[str, Replayed]
) -> dict[StageKey, StageWaiting]:
    found = {}
    for stage in plan.stages:
        was = as_it_was.stages[stage.key].seconds
        found[stage.key] = StageWaiting(
            blocked_seconds={name: float(waiting[stage.tasks].sum()) for name, waiting in blocked.items()},
            seconds=was,
            seconds_without={name: min(was, run.stages[stage.key].seconds) for name, run in without.items()},
        )
    return found
