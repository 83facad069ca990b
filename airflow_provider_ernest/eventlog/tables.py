"""The tables that an event log is read into: few jobs, stages and executors, and many tasks.

Times are seconds since the epoch, durations seconds, sizes bytes. What a log does not tell is None; in the
columns of tasks it is 0, and NaN where 0 would be a lie.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from airflow_provider_ernest.eventlog.tasks import TaskColumns
from airflow_provider_ernest.exceptions import MissingResourceError

if TYPE_CHECKING:
    from pandas import DataFrame

DRIVER = "driver"
"""Spark's id of what runs the tasks of a local master, and holds no cached data elsewhere."""


MOST_DIGITS = 16
"""Of a number that a property tells."""


@dataclass(frozen=True, kw_only=True)
class JobRow:
    """One of Spark's jobs, an action of the application."""

    job_id: int
    submitted_at: float
    completed_at: float | None = None
    succeeded: bool | None = None
    stage_ids: tuple[int, ...] = ()
    sql_execution_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class StageRow:
    """One attempt of a stage.

    Attributes:
        scopes: names of the operations that its data sets come of, or of a data set that comes of none, such
            as "PythonRDD".
        library: Spark's own library that asked for it ("ml", "mllib", "graphx", "streaming"), by its call
            site; empty where it was none of them, or the log does not tell.
    """

    stage_id: int
    attempt: int
    name: str
    tasks: int
    parents: tuple[int, ...] = ()
    job_id: int = -1
    submitted_at: float | None = None
    completed_at: float | None = None
    failure: str = ""
    scopes: tuple[str, ...] = ()
    library: str = ""


@dataclass(frozen=True, kw_only=True)
class ExecutorRow:
    """One executor.

    Attributes:
        number: what the column `executor` of tasks says.
        executor_id: Spark's id of it.
        host: address of its machine.
        worker: address of the worker daemon (host:port) that runs it, the host where none is known; it tells
            machines apart.
        cores: that it brought.
        added_at: when it registered, seconds since the epoch.
        removed_at: when it went, likewise; None where it did not.
        removed_because: in Spark's words.
        is_lost: whether it went before the application had ended.
    """

    number: int
    executor_id: str
    host: str
    worker: str
    cores: int
    added_at: float
    removed_at: float | None = None
    removed_because: str = ""
    is_lost: bool = False

    def __str__(self) -> str:
        reason = self.removed_because.rstrip(".") or "no reason told"
        told = f" ({reason})" if self.removed_at is not None else ""
        return f"executor {self.executor_id} on machine {self.worker}{told}"


@dataclass(frozen=True, kw_only=True)
class SqlExecutionRow:
    """One query of Spark SQL.

    Attributes:
        broadcast_seconds: of the driver, to build and send its broadcasts. Collecting their rows is the
            work of tasks.
    """

    execution_id: int
    started_at: float
    ended_at: float | None = None
    failed: bool = False
    broadcast_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class CacheUse:
    """The cache at one moment, in bytes.

    Attributes:
        wanted_bytes: memory that everything asked to be cached would take.
        held_bytes: of it in memory.
        disk_bytes: on disk for want of memory; serialised, so often smaller than it would be in memory.
    """

    wanted_bytes: int = 0
    held_bytes: int = 0
    disk_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class EventLog:
    """One application as its event log tells it.

    Attributes:
        application_id: Spark's id of it.
        name: as the user named it.
        spark: Spark's version.
        master: the address that it was submitted to.
        started_at: when its driver had begun.
        ended_at: when it ended; the last moment that the log tells of where it was cut off.
        is_complete: whether the log tells the end.
        properties: Spark's properties, without those whose names tell of a secret.
        jobs: in the order in which they were submitted.
        stages: all attempts, in the order in which they were submitted.
        task_columns: of all attempts that ended; `tasks` has them as a table of pandas.
        executors: in the order in which they were added; the driver, as "driver", only where it ran the
            tasks itself (a local master).
        sql_executions: in the order in which they started.
        broadcast_bytes: of variables sent to executors, where block updates were logged; 0 else.
        storage_memory_bytes: the most memory for cached data that the executors had together; 0 where the log
            does not tell.
        cache: its use when most was wanted; None where block updates were not logged.
        is_streaming: whether a streaming query or a stream's batch ran.
        unknown_events: names of events that this version does not know, with how many there were.
        unreadable_lines: that were no event, as the last of a log that was cut off.
        warnings: what of the log could not be read.
    """

    application_id: str
    started_at: float
    ended_at: float
    task_columns: TaskColumns
    name: str = ""
    spark: str | None = None
    master: str = ""
    is_complete: bool = True
    properties: Mapping[str, str] = field(default_factory=dict)
    jobs: tuple[JobRow, ...] = ()
    stages: tuple[StageRow, ...] = ()
    executors: tuple[ExecutorRow, ...] = ()
    sql_executions: tuple[SqlExecutionRow, ...] = ()
    broadcast_bytes: int = 0
    storage_memory_bytes: int = 0
    cache: CacheUse | None = None
    is_streaming: bool = False
    unknown_events: Mapping[str, int] = field(default_factory=dict)
    unreadable_lines: int = 0
    warnings: tuple[str, ...] = ()

    @cached_property
    def tasks(self) -> DataFrame:
        """All attempts that ended as a table of pandas: `TaskColumns` with what follows of them.

        The other tables are small: ``pandas.DataFrame(log.stages)`` makes one of any of them.

        Raises:
            MissingResourceError: pandas is not installed.
        """
        # It takes twice the memory of all else that reads a log, and longer than a small log takes to be
        # read: whoever analyses logs in a notebook has it, and nobody else pays for it.
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingResourceError(
                "The table of tasks is one of pandas, which is not installed.",
                remedy="Install it beside this package (pip install pandas), or use `task_columns`.",
            ) from error
        columns = self.task_columns
        named = {column.name: getattr(columns, column.name) for column in fields(columns)}
        return pd.DataFrame(
            {
                **named,
                "seconds": columns.seconds,
                "scheduler_delay_seconds": columns.scheduler_delay_seconds,
            },
            copy=False,
        )

    @cached_property
    def machines(self) -> tuple[ExecutorRow, ...]:
        """The first executor of each distinct worker, in the order in which they were added."""
        return machines_of(self.executors)

    @property
    def task_cores(self) -> int:
        """Cores that a task takes (``spark.task.cpus``)."""
        stated = self.properties.get("spark.task.cpus", "1")
        return max(1, int(stated)) if stated.isdecimal() and len(stated) < MOST_DIGITS else 1

    @cached_property
    def slots(self) -> int:
        """The most tasks that could run at once on all machines."""
        return most_slots(self.executors, self.task_cores)

    @cached_property
    def slots_by_worker(self) -> Mapping[str, int]:
        """The same on each machine, by `ExecutorRow.worker`."""
        return slots_by_worker(self.executors, self.task_cores)

    @property
    def first_launch(self) -> float:
        """When the first task was launched; infinite where there is none."""
        return float(self.task_columns.launched_at.min(initial=np.inf))

    @cached_property
    def ready_at(self) -> float:
        """When clean time begins: the last machine had come of those that the first task waited for.

        Where there is no machine, it is the start. See `all_there_at`.
        """
        ready_at = all_there_at([executor.added_at for executor in self.machines], self.first_launch)
        return self.started_at if ready_at is None else ready_at


def machines_of(executors: Iterable[ExecutorRow]) -> tuple[ExecutorRow, ...]:
    """The first executor of each distinct worker, in the order in which they were added."""
    first: dict[str, ExecutorRow] = {}
    for executor in sorted(executors, key=lambda executor: executor.added_at):
        first.setdefault(executor.worker, executor)
    return tuple(first.values())


def most_slots(executors: Iterable[ExecutorRow], task_cores: int) -> int:
    """The most tasks that could run at once.

    Args:
        executors: those that share a machine count beside one another, those that follow one another do not.
        task_cores: that a task takes.
    """
    changes: list[tuple[float, int]] = []
    for executor in executors:
        slots = executor.cores // task_cores
        changes.append((executor.added_at, slots))
        if executor.removed_at is not None and executor.removed_at > executor.added_at:
            changes.append((executor.removed_at, -slots))
    # At one moment they go before others come.
    most = now = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most


def slots_by_worker(executors: Iterable[ExecutorRow], task_cores: int) -> dict[str, int]:
    """The most tasks that could run at once on each worker, in the order in which they came."""
    of_worker: dict[str, list[ExecutorRow]] = defaultdict(list)
    for executor in sorted(executors, key=lambda executor: executor.added_at):
        of_worker[executor.worker].append(executor)
    return {worker: most_slots(group, task_cores) for worker, group in of_worker.items()}


def all_there_at(added_at: Sequence[float], first_launch: float) -> float | None:
    """When the last of the machines was there that the first task waited for; None where there is none.

    Machines that come later, as under dynamic allocation, join work that is under way. Where none was there
    before that task, the log lacks its beginning: then it is when the first came.

    Args:
        added_at: when each machine came, seconds since the epoch.
        first_launch: when the first task was launched, likewise.
    """
    in_time = [moment for moment in added_at if moment <= first_launch]
    return max(in_time) if in_time else min(added_at, default=None)
