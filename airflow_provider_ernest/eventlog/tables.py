"""The tables that an event log is read into: few jobs, stages and executors, and many tasks.

Moments are seconds since the epoch, durations seconds, sizes bytes. What a log does not tell is None.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from airflow_provider_ernest.eventlog.tasks import StageKey, TaskColumns
from airflow_provider_ernest.exceptions import MissingResourceError

if TYPE_CHECKING:
    from pandas import DataFrame

DRIVER = "driver"
"""Spark's id of what runs the tasks of a local master, and holds no cached data elsewhere."""

_MOST_DIGITS = 16

_TASK_RESOURCE = re.compile(r"spark\.task\.resource\.(.+)\.amount")


def whole_number(text: str) -> int | None:
    """The number that a property states; None where it is none, or longer than any that Spark writes."""
    return int(text) if text.isdecimal() and len(text) < _MOST_DIGITS else None


def _amount(text: str) -> float:
    """The amount that a property states; 0 where it is none above 0."""
    try:
        amount = float(text)
    except ValueError:
        return 0.0
    return amount if 0 < amount < math.inf else 0.0


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
        job_id: that it was run for first; -1 where that is not known.
        scopes: names of the operations that its data sets come of, or of a data set that comes of none, such
            as "PythonRDD".
        library: Spark's own library that asked for it ("ml", "mllib", "graphx", "streaming"), by its call
            site; empty where it was none of them, or the log does not tell.
        reads_cache: whether all that it read lay in data sets that earlier stages had kept.
        fills_cache: whether it was the first to make a data set that is kept.
        is_barrier: whether all of its tasks must run at once: Spark refuses it where there are fewer slots.
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
    reads_cache: bool = False
    fills_cache: bool = False
    is_barrier: bool = False

    @property
    def key(self) -> StageKey:
        """Spark's number and the attempt."""
        return self.stage_id, self.attempt


@dataclass(frozen=True, kw_only=True)
class ExecutorRow:
    """One executor.

    Attributes:
        number: what the column `executor` of tasks says.
        executor_id: Spark's id of it.
        host: address of its machine.
        worker: address of the worker daemon (host:port) that runs it, the host where none is known; it tells
            machines apart.
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
    """One query of Spark SQL; its broadcasts' seconds are the driver's, to build and to send them."""

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
        falls_to_disk: whether most of what finds no room goes there, and is not made again.
    """

    wanted_bytes: int = 0
    held_bytes: int = 0
    disk_bytes: int = 0
    falls_to_disk: bool = False


@dataclass(frozen=True, kw_only=True)
class EventLog:
    """One application as its event log tells it; see `read_event_log`.

    Attributes:
        started_at: when its driver had begun.
        ended_at: when it ended; the last moment that the log names where it was cut off.
        is_complete: whether the log has the end.
        exit_code: of the application; None where the log does not tell.
        task_columns: of all attempts that ended; `tasks` has them as a table of pandas.
        main: name of its main class, or of its program's file; empty where the log does not tell.
        main_folder: name of the folder in which that file lies; empty where it is none's.
        properties: Spark's properties, without those whose names or values tell of a secret.
        jobs: in the order in which they were submitted.
        stages: all attempts, in the order in which they were submitted.
        executors: in the order in which they were added; the driver, as "driver", only where it ran the
            tasks itself (a local master).
        sql_executions: in the order in which they started.
        broadcast_bytes: of variables sent to executors, where block updates were logged; 0 else.
        storage_memory_bytes: the most memory for cached data that the executors had together; 0 where the log
            does not tell.
        cache: its use when most was wanted; None where block updates were not logged.
        executor_memory_megabytes: of an executor, with all that it is given beside its heap; 0 where the log
            does not tell.
        python_crashes: attempts of tasks that failed as their Python worker ended unexpectedly.
        is_streaming: whether a streaming query or a stream's batch ran.
        streams_ended: whether all streaming queries ended by themselves or were stopped, and none failed.
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
    main: str = ""
    main_folder: str = ""
    is_complete: bool = True
    exit_code: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    jobs: tuple[JobRow, ...] = ()
    stages: tuple[StageRow, ...] = ()
    executors: tuple[ExecutorRow, ...] = ()
    sql_executions: tuple[SqlExecutionRow, ...] = ()
    broadcast_bytes: int = 0
    storage_memory_bytes: int = 0
    cache: CacheUse | None = None
    executor_memory_megabytes: int = 0
    python_crashes: int = 0
    is_streaming: bool = False
    streams_ended: bool = False
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
        names = [*(column.name for column in fields(columns)), "seconds", "scheduler_delay_seconds"]
        return pd.DataFrame({name: getattr(columns, name) for name in names}, copy=False)

    @cached_property
    def machines(self) -> tuple[ExecutorRow, ...]:
        """The first executor of each distinct worker, in the order in which they were added."""
        return tuple(group[0] for group in self._executors_by_worker.values())

    @property
    def lost(self) -> tuple[ExecutorRow, ...]:
        """The executors that went before the application had ended, the first first."""
        lost = (executor for executor in self.executors if executor.is_lost)
        return tuple(sorted(lost, key=lambda executor: executor.removed_at or 0.0))

    @property
    def task_cores(self) -> int:
        """Cores that a task takes (``spark.task.cpus``)."""
        return max(1, whole_number(self.properties.get("spark.task.cpus", "")) or 1)

    @cached_property
    def slots(self) -> int:
        """The most tasks that could run at once on all machines."""
        return self._most_slots(self.executors)

    @property
    def barrier_tasks(self) -> int:
        """Tasks that must run at once, or Spark refuses their stage; 0 where no stage is of that kind."""
        return max((stage.tasks for stage in self.stages if stage.is_barrier), default=0)

    def slots_of(self, executor: ExecutorRow) -> int:
        """How many tasks it runs at once: as many as it has cores for, and GPUs or what else they take."""
        return min([executor.cores // self.task_cores, *self._slots_by_resource])

    @cached_property
    def _slots_by_resource(self) -> tuple[int, ...]:
        """Of each resource beside cores; a task may take a part of one."""
        names = [found[1] for name in self.properties if (found := _TASK_RESOURCE.fullmatch(name))]

        def amount(who: str, name: str) -> float:
            return _amount(self.properties.get(f"spark.{who}.resource.{name}.amount", ""))

        told = ((amount("executor", name), amount("task", name)) for name in names)
        return tuple(int(there / taken) for there, taken in told if there and taken)

    def _most_slots(self, executors: Iterable[ExecutorRow]) -> int:
        """The most tasks at once; executors that share a machine add up, those that replace others do not."""
        changes: list[tuple[float, int]] = []
        for executor in executors:
            slots = self.slots_of(executor)
            changes.append((executor.added_at, slots))
            if executor.removed_at is not None and executor.removed_at > executor.added_at:
                changes.append((executor.removed_at, -slots))
        # At one moment they go before others come.
        most = now = 0
        for _, change in sorted(changes):
            now += change
            most = max(most, now)
        return most

    @cached_property
    def slots_by_worker(self) -> Mapping[str, int]:
        """The same on each machine, by `ExecutorRow.worker`, in the order in which they came."""
        groups = self._executors_by_worker
        return {worker: self._most_slots(group) for worker, group in groups.items()}

    @cached_property
    def slots_by_executor(self) -> Mapping[int, int]:
        """How many tasks each executor ran at once at most, by `ExecutorRow.number`; at least 1."""
        return {each.number: max(1, self.slots_of(each)) for each in self.executors}

    @cached_property
    def ready_at(self) -> float:
        """When clean time begins: the last machine had come of those that the first task waited for.

        Where there is no machine, it is the start.
        """
        return self.all_there_at(self.machines) if self.machines else self.started_at

    @property
    def clean_seconds(self) -> float:
        """From then to the application's end; see `run_facts` for what a model takes for a run's time."""
        return self.ended_at - self.ready_at

    def all_there_at(self, machines: Iterable[ExecutorRow]) -> float:
        """When the last of some machines, at least one, was there that the first task waited for.

        Machines that come later, as under dynamic allocation, join work that is under way. Where none was
        there before that task, the log lacks its beginning: then it is when the first came.
        """
        first_launch = self.task_columns.launched_at.min(initial=np.inf)
        added_at = [machine.added_at for machine in machines]
        return max((moment for moment in added_at if moment <= first_launch), default=min(added_at))

    @cached_property
    def _executors_by_worker(self) -> dict[str, list[ExecutorRow]]:
        of_worker: dict[str, list[ExecutorRow]] = {}
        for executor in sorted(self.executors, key=lambda executor: executor.added_at):
            of_worker.setdefault(executor.worker, []).append(executor)
        return of_worker
