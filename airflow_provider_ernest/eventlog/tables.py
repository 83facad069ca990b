"""The tables that an event log is read into: few jobs, stages and executors, and many tasks as columns.

Moments are seconds since the epoch, durations seconds, sizes bytes. What a log does not tell is None.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

DRIVER = "driver"  # Spark's id of the driver, which runs tasks only under a local master

_TASK_RESOURCE = re.compile(r"spark\.task\.resource\.(.+)\.amount")

FloatColumn = NDArray[np.float64]
IntColumn = NDArray[np.int64]
BoolColumn = NDArray[np.bool_]

StageKey = tuple[int, int]  # Spark's number of a stage, and of its attempt


def whole_number(text: str) -> int | None:
    """The number in a property; None if it is none, or longer than any that Spark writes."""
    return int(text) if text.isdecimal() and len(text) < 16 else None


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
    """One attempt of a stage."""

    stage_id: int
    attempt: int
    name: str
    tasks: int
    parents: tuple[int, ...] = ()  # of the data that it reads
    job_id: int = -1  # of the first job that it ran for; -1 if unknown
    submitted_at: float | None = None
    completed_at: float | None = None
    failure: str = ""
    scopes: tuple[str, ...] = ()  # operations that made its data sets, or their names, such as "PythonRDD"
    library: str = ""  # of Spark, by the call site: "ml", "mllib", "graphx", "streaming", or none
    reads_cache: bool = False  # nothing but data sets that earlier stages had cached
    fills_cache: bool = False  # it was the first to cache a data set
    is_barrier: bool = False  # its tasks must run at once: Spark refuses it with fewer slots

    @property
    def key(self) -> StageKey:
        """Spark's number and the attempt."""
        return self.stage_id, self.attempt


@dataclass(frozen=True, kw_only=True)
class ExecutorRow:
    """One executor."""

    number: int  # as in `TaskColumns.executor`
    executor_id: str  # Spark's
    host: str
    worker: str  # host:port of its worker daemon, or its host if unknown
    cores: int
    added_at: float
    removed_at: float | None = None
    removed_because: str = ""  # in Spark's words
    is_lost: bool = False  # removed before the application's end

    def __str__(self) -> str:
        reason = self.removed_because.rstrip(".") or "no reason told"
        told = f" ({reason})" if self.removed_at is not None else ""
        return f"executor {self.executor_id} on machine {self.worker}{told}"


@dataclass(frozen=True, kw_only=True)
class SqlExecutionRow:
    """One query of Spark SQL; the driver took `broadcast_seconds` to build and send its broadcasts."""

    execution_id: int
    started_at: float
    ended_at: float | None = None
    failed: bool = False
    broadcast_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class CacheUse:
    """The cache at one moment, in bytes."""

    wanted_bytes: int = 0  # memory that all data sets to be cached would take
    held_bytes: int = 0  # in memory
    disk_bytes: int = 0  # for want of memory; serialised, so often smaller than in memory
    falls_to_disk: bool = False  # as most of what finds no room does, rather than being computed again


@dataclass(frozen=True, kw_only=True)
class TaskColumns:
    """All task attempts that ended, in the order of their events; each column has shape (tasks,).

    What a log does not tell is 0, or NaN where 0 would be a lie.
    """

    task_id: IntColumn
    stage_id: IntColumn
    stage_attempt: IntColumn
    attempt: IntColumn  # of the task; 0 for the first
    executor: IntColumn  # `ExecutorRow.number`; -1 where the log has no such executor
    launched_at: FloatColumn  # when the scheduler sent it
    finished_at: FloatColumn  # when the scheduler had its result
    succeeded: BoolColumn  # whether it counts; failed, killed and redundant attempts do not
    speculative: BoolColumn  # whether it was a second copy
    run_seconds: FloatColumn  # on the executor, without deserialisation and result serialisation
    cpu_seconds: FloatColumn  # of its thread's CPU; neither Python workers nor garbage collection
    deserialise_seconds: FloatColumn  # of its closure
    result_serialisation_seconds: FloatColumn
    getting_result_seconds: FloatColumn  # while the driver fetched a large result
    garbage_collection_seconds: FloatColumn  # of its executor: tasks side by side tell the same again
    fetch_wait_seconds: FloatColumn  # blocked on shuffle data from other machines
    shuffle_write_seconds: FloatColumn  # blocked on writing shuffle data
    python_seconds: FloatColumn  # in Python workers; NaN where the log does not tell
    input_bytes: IntColumn  # read from storage or cached blocks
    input_records: IntColumn
    output_bytes: IntColumn  # written to storage
    shuffle_remote_bytes: IntColumn  # fetched from other machines
    shuffle_local_bytes: IntColumn  # read on its own machine
    shuffle_read_records: IntColumn
    shuffle_written_bytes: IntColumn  # for later stages
    disk_spilled_bytes: IntColumn  # put on disk for want of memory
    peak_execution_memory_bytes: IntColumn
    result_bytes: IntColumn  # sent to the driver

    def __len__(self) -> int:
        """How many tasks ended."""
        return len(self.task_id)

    @property
    def seconds(self) -> FloatColumn:
        """From launch to finish, as the driver saw them."""
        return self.finished_at - self.launched_at

    @property
    def scheduler_delay_seconds(self) -> FloatColumn:
        """The rest of a task's time (Spark's own definition, `AppStatusUtils.schedulerDelay`).

        0 for attempts that failed without being measured, such as those that could not fetch.
        """
        known = (
            self.run_seconds
            + self.deserialise_seconds
            + self.result_serialisation_seconds
            + self.getting_result_seconds
        )
        is_measured = self.succeeded | (known > 0)
        return np.where(is_measured, np.maximum(0.0, self.seconds - known), 0.0)

    @property
    def shuffle_read_bytes(self) -> IntColumn:
        """Fetched from other machines or read on its own."""
        return self.shuffle_remote_bytes + self.shuffle_local_bytes

    @property
    def freed_at(self) -> FloatColumn:
        """When its slot was free again: the driver fetches a large result later."""
        return np.asarray(np.maximum(self.launched_at, self.finished_at - self.getting_result_seconds))

    @cached_property
    def by_stage(self) -> tuple[tuple[StageKey, ...], IntColumn]:
        """The attempts of stages that had tasks, ascending, and each task's index among them, (tasks,)."""
        pairs = np.column_stack([self.stage_id, self.stage_attempt])
        found, place = np.unique(pairs, axis=0, return_inverse=True)
        return tuple((int(stage), int(attempt)) for stage, attempt in found), place.reshape(-1)

    def only(self, rows: BoolColumn | IntColumn) -> TaskColumns:
        """Some of the tasks, by a mask or by indices."""
        return TaskColumns(**{column.name: getattr(self, column.name)[rows] for column in fields(self)})


def busy_seconds(began: FloatColumn, finished: FloatColumn) -> float:
    """The length of the union of intervals."""
    if not len(began):
        return 0.0
    order = np.argsort(began, kind="stable")
    began, finished = began[order], finished[order]
    until = np.maximum.accumulate(finished)
    covered_before = np.concatenate([[-np.inf], until[:-1]])
    return float(np.maximum(0.0, until - np.maximum(began, covered_before)).sum())


@dataclass(frozen=True, kw_only=True)
class EventLog:
    """One application as its event log tells it, see `read_event_log`; rows are ordered by start."""

    application_id: str
    started_at: float  # when its driver had started
    ended_at: float  # if the log was cut off, the last moment in it
    task_columns: TaskColumns  # all attempts that ended
    name: str = ""
    spark: str | None = None
    master: str = ""
    main: str = ""  # name of its main class or program file; empty if unknown
    main_folder: str = ""  # name of the folder of that file
    is_complete: bool = True
    exit_code: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)  # without those that hint at a secret
    jobs: tuple[JobRow, ...] = ()
    stages: tuple[StageRow, ...] = ()  # all attempts
    executors: tuple[ExecutorRow, ...] = ()  # with "driver" only if it ran tasks itself (a local master)
    sql_executions: tuple[SqlExecutionRow, ...] = ()
    storage_memory_bytes: int = 0  # the most that executors had for cached data; 0 if unknown
    cache: CacheUse | None = None  # when most was wanted; None if block updates were not logged
    executor_memory_megabytes: int = 0  # of one, with all that it gets beside its heap; 0 if unknown
    python_crashes: int = 0  # attempts that failed because their Python worker ended unexpectedly
    is_streaming: bool = False  # a streaming query or a DStream's batch ran
    streams_ended: bool = False  # all streaming queries ended by themselves or were stopped, and none failed
    unreadable_lines: int = 0
    warnings: tuple[str, ...] = ()  # what could not be read

    @property
    def lost(self) -> tuple[ExecutorRow, ...]:
        """The executors that were removed before the application's end, by time."""
        lost = (executor for executor in self.executors if executor.is_lost)
        return tuple(sorted(lost, key=lambda executor: executor.removed_at or 0.0))

    @property
    def task_cores(self) -> int:
        """Cores that a task takes (``spark.task.cpus``)."""
        return max(1, whole_number(self.properties.get("spark.task.cpus", "")) or 1)

    @cached_property
    def slots(self) -> int:
        """The most tasks that could run at once on all executors together."""
        return self._most_at_once(self.executors, self.slots_of)

    @cached_property
    def most_executors(self) -> int:
        """The run's size: the most executors that were there at once."""
        return self._most_at_once(self.executors, lambda executor: 1)

    @property
    def barrier_tasks(self) -> int:
        """Tasks of the largest barrier stage, which must run at once; 0 if there is none."""
        return max((stage.tasks for stage in self.stages if stage.is_barrier), default=0)

    def slots_of(self, executor: ExecutorRow) -> int:
        """How many tasks it runs at once, by its cores, GPUs and other resources."""
        return min([executor.cores // self.task_cores, *self._slots_by_resource])

    @cached_property
    def _slots_by_resource(self) -> tuple[int, ...]:
        """Of each resource beside cores; a task may take a part of one."""

        def amount(who: str, name: str) -> float:
            try:
                found = float(self.properties.get(f"spark.{who}.resource.{name}.amount", ""))
            except ValueError:
                return 0.0
            return found if 0 < found < math.inf else 0.0

        names = [found[1] for name in self.properties if (found := _TASK_RESOURCE.fullmatch(name))]
        told = ((amount("executor", name), amount("task", name)) for name in names)
        return tuple(int(there / taken) for there, taken in told if there and taken)

    def _most_at_once(self, executors: Iterable[ExecutorRow], each: Callable[[ExecutorRow], int]) -> int:
        """The largest sum of what each gives over those that were there at once; not over replacements."""
        changes: list[tuple[float, int]] = []
        for executor in executors:
            changes.append((executor.added_at, each(executor)))
            if executor.removed_at is not None and executor.removed_at > executor.added_at:
                changes.append((executor.removed_at, -each(executor)))
        # At one moment executors go before others come.
        return max(accumulate(change for _, change in sorted(changes)), default=0)

    @cached_property
    def slots_by_worker(self) -> Mapping[str, int]:
        """The most tasks at once on each host, by `ExecutorRow.worker`."""
        of_worker: dict[str, list[ExecutorRow]] = {}
        for executor in self.executors:
            of_worker.setdefault(executor.worker, []).append(executor)
        return {worker: self._most_at_once(group, self.slots_of) for worker, group in of_worker.items()}

    @cached_property
    def slots_by_executor(self) -> Mapping[int, int]:
        """The most tasks at once on each executor, by `ExecutorRow.number`; at least 1."""
        return {each.number: max(1, self.slots_of(each)) for each in self.executors}

    @cached_property
    def ready_at(self) -> float:
        """When clean time begins: when all executors were there, or the start if there were none."""
        return self.all_there_at(self.executors) if self.executors else self.started_at

    @property
    def clean_seconds(self) -> float:
        """From `ready_at` to the end; see `run_facts` for the run time that models are fitted to."""
        return self.ended_at - self.ready_at

    def all_there_at(self, executors: Iterable[ExecutorRow]) -> float:
        """When the last executor had come, of those (at least one) that the first task waited for.

        Executors that come later, as under dynamic allocation, join work that is under way. If none was there
        before the first task, the log lacks its beginning: then it is when the first came.
        """
        first_launch = self.task_columns.launched_at.min(initial=np.inf)
        added_at = [executor.added_at for executor in executors]
        return max((moment for moment in added_at if moment <= first_launch), default=min(added_at))
