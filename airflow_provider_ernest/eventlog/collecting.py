"""Collects the rows of an event log's tables; `reading` says which method reads which event."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from struct import Struct
from typing import Any
from urllib.parse import urlsplit

import msgspec
import numpy as np

from airflow_provider_ernest.eventlog import events
from airflow_provider_ernest.eventlog.files import ENTRY_BYTES, NUMBER_BYTES, ROW_BYTES, Notes, shortened
from airflow_provider_ernest.eventlog.tables import (
    DRIVER,
    CacheUse,
    ExecutorRow,
    JobRow,
    SqlExecutionRow,
    StageKey,
    StageRow,
    TaskColumns,
    whole_number,
)
from airflow_provider_ernest.exceptions import EventLogError
from airflow_provider_ernest.words import count

# Properties of the jobs of structured streams and of DStreams.
_STREAMING = ("sql.streaming.queryId", "streaming.sql.batchId", "spark.streaming.internal.batchTime")

# Finds Spark's library in a stage's call site, which is a stack trace.
_LIBRARY = re.compile(r"^org\.apache\.spark\.(ml|mllib|graphx|streaming)\.", re.MULTILINE)


class Jobs:
    """Collects jobs, and the attempts of stages, in the order of submission."""

    def __init__(self, notes: Notes) -> None:
        self.is_streaming = False
        self.rows: dict[int, JobRow] = {}
        self.stages: dict[StageKey, StageRow] = {}
        self._notes = notes
        self._running: dict[int, JobRow] = {}
        self._job_of: dict[int, int] = {}
        self._kept: set[int] = set()

    def started(self, event: events.JobStart) -> None:
        """A job was submitted."""
        properties = self._properties(event)
        new = set(event.stage_ids).difference(self._job_of)
        self._notes.keep(ROW_BYTES + NUMBER_BYTES * len(event.stage_ids) + ENTRY_BYTES * len(new))
        job = JobRow(
            job_id=event.job_id,
            submitted_at=event.submission_time / 1000,
            stage_ids=tuple(event.stage_ids),
            sql_execution_id=whole_number(str(properties.get("spark.sql.execution.id", ""))),
        )
        self.rows[event.job_id] = self._running[event.job_id] = job
        for stage_id in job.stage_ids:
            self._job_of.setdefault(stage_id, event.job_id)
        self._notes.seen(job.submitted_at)

    def ended(self, event: events.JobEnd) -> None:
        """A job has ended."""
        job = self.rows.get(event.job_id)
        self._running.pop(event.job_id, None)
        if job is not None:
            self.rows[event.job_id] = replace(
                job,
                completed_at=event.completion_time / 1000,
                succeeded=event.job_result is not None and event.job_result.result == "JobSucceeded",
            )
        self._notes.seen(event.completion_time / 1000)

    def stage_changed(self, event: events.StageEvent) -> None:
        """A stage was submitted or completed: the second event says the same and more."""
        info = event.stage_info
        self._properties(event)
        key = (info.stage_id, info.stage_attempt_id)
        known = self.stages.get(key)
        name, failure = shortened(info.stage_name), shortened(info.failure_reason)
        parents = tuple(info.parent_ids or ())
        scopes = tuple(dict.fromkeys(scope for each in info.rdd_info or () if (scope := _scope_name(each))))
        new = (name, *scopes) if known is None else ()
        self._notes.keep(ROW_BYTES * bool(new) + ENTRY_BYTES * len(parents), failure, *new)
        library = _LIBRARY.search(info.details or "")
        submitted_at = _seconds(info.submission_time)
        self.stages[key] = StageRow(
            stage_id=info.stage_id,
            attempt=info.stage_attempt_id,
            name=name,
            tasks=info.number_of_tasks,
            parents=parents,
            job_id=known.job_id if known else self._job_that_runs(info.stage_id),
            submitted_at=known.submitted_at if known and submitted_at is None else submitted_at,
            completed_at=_seconds(info.completion_time),
            failure=failure,
            scopes=scopes,
            library=library[1] if library else "",
            is_barrier=any(each.barrier for each in info.rdd_info or ()),
            # Before it began: what it caches itself does not count.
            reads_cache=known.reads_cache if known else self._reads_cache(info),
        )
        if info.completion_time is not None and not failure and self._keep(info):
            self.stages[key] = replace(self.stages[key], fills_cache=True)
        self._notes.seen(max(info.submission_time or 0, info.completion_time or 0) / 1000)

    def unpersisted(self, event: events.DataSetDropped) -> None:
        """A cached data set is dropped."""
        self._kept.discard(event.rdd_id)

    def _keep(self, info: events.StageInfo) -> bool:
        """Note the data sets that a stage cached whole; whether one of them is new."""
        before = len(self._kept)
        for each in info.rdd_info or ():
            level = each.storage_level
            is_whole = info.number_of_tasks >= each.number_of_partitions
            if is_whole and (level.use_memory or level.use_disk or level.use_off_heap):
                if each.rdd_id not in self._kept:
                    self._notes.keep(ENTRY_BYTES)
                self._kept.add(each.rdd_id)
        return len(self._kept) > before

    def _reads_cache(self, info: events.StageInfo) -> bool:
        """Whether each path from a stage's last data set back to its input meets a cached one.

        Spark counts the bytes of a cached block as input, as if they had been read again.
        """
        if not self._kept:
            return False
        parents = {each.rdd_id: each.parent_ids or [] for each in info.rdd_info or ()}
        waiting = list(parents.keys() - {parent for each in parents.values() for parent in each})
        seen = set(waiting)
        found = False
        while waiting:
            data_set = waiting.pop()
            if data_set in self._kept:
                found = True
                continue
            if not parents[data_set]:
                return False
            # Parents that the stage does not list lie behind a shuffle.
            new = [each for each in parents[data_set] if each in parents and each not in seen]
            seen.update(new)
            waiting += new
        return found

    def _properties(self, event: events.JobStart | events.StageEvent) -> Mapping[str, Any]:
        properties = event.properties or {}
        self.is_streaming = self.is_streaming or any(name in properties for name in _STREAMING)
        return properties

    def _job_that_runs(self, stage_id: int) -> int:
        """The first running job that needs the stage: an earlier one may have skipped it."""
        running = (job.job_id for job in self._running.values() if stage_id in job.stage_ids)
        return min(running, default=self._job_of.get(stage_id, -1))


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _scope_name(data_set: events.DataSet) -> str:
    """The operation that made a data set; the data set's own name if there is none, as in Python."""
    if not data_set.scope:
        return shortened(data_set.name)
    try:
        scope: Mapping[str, Any] = msgspec.json.decode(data_set.scope, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return ""
    return shortened(str(scope.get("name", "")))


class Executors:
    """Collects executors, by Spark's id, in the order in which they were added."""

    def __init__(self, notes: Notes) -> None:
        self.rows: dict[str, ExecutorRow] = {}
        self.executor_memory_megabytes = 0
        self.application_ended = False
        self._notes = notes

    def added(self, event: events.ExecutorAdded) -> None:
        """An executor has registered."""
        info = event.executor_info
        # The worker daemon serves the log page: its port tells two workers on one host apart. The page's host
        # may be the same for all (spark.ui.custom.executor.log.url).
        port = urlsplit((info.log_urls or {}).get("stderr", "")).netloc.rpartition(":")[2]
        executor_id, host = shortened(event.executor_id), shortened(info.host)
        worker = f"{host}:{shortened(port)}" if port.isdecimal() else host
        known = self.rows.get(executor_id)
        if known is None:
            self._notes.keep(ROW_BYTES, executor_id, host, worker)
        self.rows[executor_id] = ExecutorRow(
            number=known.number if known else len(self.rows),
            executor_id=executor_id,
            host=host,
            worker=worker,
            cores=info.total_cores,
            added_at=event.timestamp / 1000,
        )
        self._notes.seen(event.timestamp / 1000)

    def profile_added(self, event: events.ResourceProfileAdded) -> None:
        """A resource profile: heap, overhead, off-heap and Python's memory are all paid for."""
        requests = event.executor_resource_requests
        megabytes = sum(requests[name].amount for name in _MEMORY if name in requests)
        self.executor_memory_megabytes = max(self.executor_memory_megabytes, megabytes)

    def removed(self, event: events.ExecutorRemoved) -> None:
        """An executor has gone, which is normal after the application's end."""
        executor_id = shortened(event.executor_id)
        known = self.rows.get(executor_id)
        # One that never registered did not start: the run lost nothing.
        if known is not None:
            self.rows[executor_id] = replace(
                known,
                removed_at=event.timestamp / 1000,
                removed_because=" ".join(shortened(event.removed_reason).split()),
                is_lost=not self.application_ended,
            )
        self._notes.seen(event.timestamp / 1000)


# The kinds of memory in a resource profile.
_MEMORY = ("memory", "memoryOverhead", "offHeap", "pyspark.memory")

_CACHED_BLOCK = b'"Block ID":"rdd_'
_ABOUT_THE_SAME = 1.01


@dataclass(frozen=True, kw_only=True)
class _Block:
    """One copy of a partition: its bytes on disk, and those it took when last in memory."""

    in_memory: bool
    memory_bytes: int
    disk_bytes: int


@dataclass(kw_only=True)
class _DataSet:
    """A cached RDD, or DataFrame. Sums are kept up to date, since each stage asks for them."""

    partitions: int = 0
    replication: int = 1
    falls_to_disk: bool = False
    blocks: dict[str, dict[str, _Block]] = field(default_factory=dict)
    copies: Counter[str] = field(default_factory=Counter)
    held_bytes: int = 0
    disk_bytes: int = 0
    sized: int = 0
    sized_bytes: int = 0

    def put(self, executor: str, block_id: str, block: _Block) -> None:
        of_executor = self.blocks.setdefault(executor, {})
        known = of_executor.get(block_id)
        if known is not None:
            self._count(block_id, known, -1)
        of_executor[block_id] = block
        self._count(block_id, block, 1)

    def forget(self, executor: str) -> None:
        for block_id, block in self.blocks.pop(executor, {}).items():
            self._count(block_id, block, -1)

    def _count(self, block_id: str, block: _Block, times: int) -> None:
        self.copies[block_id] += times
        if not self.copies[block_id]:
            del self.copies[block_id]
        self.held_bytes += times * block.memory_bytes * block.in_memory
        self.disk_bytes += times * block.disk_bytes * (not block.in_memory)
        self.sized += times * bool(block.memory_bytes)
        self.sized_bytes += times * block.memory_bytes

    def wanted_bytes(self, storage_memory_bytes: int) -> int:
        """Partitions never seen in memory count with the mean size of those that were."""
        copies = max(self.partitions * self.replication, len(self.copies))
        if self.sized:
            return max(self.held_bytes, round(copies * self.sized_bytes / self.sized))
        # No partition found room: all that is known is that they want more than there is.
        return max(self.disk_bytes, storage_memory_bytes) if copies else 0


class Blocks:
    """Follows the blocks that executors hold: cached data sets, and pieces of broadcasts.

    A stage names the cached data sets that it reads (with sizes that are always 0), a block update says where
    one of their partitions is now, an unpersist event drops a data set. A ``MEMORY_ONLY`` partition that
    finds no room leaves no trace: only the stage shows that it was wanted.
    """

    def __init__(self, notes: Notes) -> None:
        # Without block updates (``spark.eventLog.logBlockUpdates.enabled``) nothing is known of the cache.
        self.are_logged = False
        # The most heap that all executors had together: the driver caches nothing, and Spark caches off the
        # heap only when a job asks for it.
        self.storage_memory_bytes = 0
        self.peak = CacheUse()
        self._notes = notes
        self._executors: dict[str, int] = {}
        self._sets: dict[int, _DataSet] = {}
        self._decode = msgspec.json.Decoder(events.BlockUpdated).decode

    def executor_added(self, event: events.BlockManagerEvent) -> None:
        """An executor offers memory for blocks."""
        executor = shortened(event.block_manager_id.executor_id)
        if executor == DRIVER:
            return
        if executor not in self._executors:
            self._notes.keep(ENTRY_BYTES, executor)
        heap_bytes = event.maximum_onheap_memory
        self._executors[executor] = event.maximum_memory if heap_bytes is None else heap_bytes
        self.storage_memory_bytes = max(self.storage_memory_bytes, sum(self._executors.values()))

    def executor_removed(self, event: events.BlockManagerEvent) -> None:
        """An executor's blocks are gone."""
        executor = shortened(event.block_manager_id.executor_id)
        self._executors.pop(executor, None)
        for data_set in self._sets.values():
            data_set.forget(executor)

    def updated(self, line: bytes) -> None:
        """A block was stored, moved or dropped; most lines need no decoding."""
        info = self._decode(line).block_updated_info if _CACHED_BLOCK in line else None
        self.are_logged = True
        if info is not None:
            self._cached(info)

    def stage_completed(self, event: events.StageEvent) -> None:
        """Learn which data sets are wanted in memory, and how much of each.

        A stage with fewer tasks than partitions has read only some of them (``take``), or several with each
        task (``coalesce``); then the partitions that were cached show the rest.
        """
        for each in event.stage_info.rdd_info or ():
            level = each.storage_level
            if level.use_memory and not level.use_off_heap:
                data_set = self._set(each.rdd_id)
                read = min(each.number_of_partitions, event.stage_info.number_of_tasks)
                data_set.partitions = max(data_set.partitions, read)
                data_set.replication = level.replication
                data_set.falls_to_disk = level.use_disk
        self.look()

    def unpersisted(self, event: events.DataSetDropped) -> None:
        """A data set is dropped, without updates of its blocks."""
        self.look()
        self._sets.pop(event.rdd_id, None)

    def look(self) -> None:
        """Compare the present use with the peak.

        Of moments with about the same wanted bytes, that with most in memory counts: blocks read back from
        disk later displace others without being logged themselves.
        """
        # Without a stage that wants it in memory a data set counts nothing: DISK_ONLY ones have blocks too.
        wanted = [each for each in self._sets.values() if each.partitions]
        bytes_of = [each.wanted_bytes(self.storage_memory_bytes) for each in wanted]
        to_disk = sum(size for each, size in zip(wanted, bytes_of, strict=True) if each.falls_to_disk)
        now = CacheUse(
            wanted_bytes=sum(bytes_of),
            held_bytes=sum(each.held_bytes for each in wanted),
            disk_bytes=sum(each.disk_bytes for each in wanted),
            falls_to_disk=2 * to_disk > sum(bytes_of),
        )
        much_more = now.wanted_bytes > _ABOUT_THE_SAME * self.peak.wanted_bytes
        about_as_much = now.wanted_bytes * _ABOUT_THE_SAME >= self.peak.wanted_bytes
        if much_more or (about_as_much and now.held_bytes > self.peak.held_bytes):
            self.peak = now

    def _cached(self, info: events.BlockInfo) -> None:
        if info.storage_level.use_off_heap:
            return
        _, number, _ = info.block_id.split("_")
        data_set = self._set(int(number))
        executor, block_id = shortened(info.block_manager_id.executor_id), shortened(info.block_id)
        known = data_set.blocks.get(executor, {}).get(block_id)
        if known is None:
            self._notes.keep(ROW_BYTES, executor, block_id)
        # When a block moves to disk, "Memory Size" is what was freed: only the level tells where it is.
        block = _Block(
            in_memory=info.storage_level.use_memory,
            memory_bytes=info.memory_size or (known.memory_bytes if known else 0),
            disk_bytes=info.disk_size if info.storage_level.use_disk else 0,
        )
        data_set.put(executor, block_id, block)

    def _set(self, number: int) -> _DataSet:
        known = self._sets.get(number)
        if known is None:
            self._notes.keep(ROW_BYTES)
            known = self._sets[number] = _DataSet()
        return known


_BROADCAST_NODE = "BroadcastExchange"
# Milliseconds, one after the other (``BroadcastExchangeExec.relationFuture``).
_BROADCAST_METRICS = frozenset(("time to build", "time to broadcast"))


@dataclass(kw_only=True)
class _Execution:
    row: SqlExecutionRow
    has_error: bool | None = None
    metrics: set[int] = field(default_factory=set)
    updates: Counter[int] = field(default_factory=Counter)

    def settle(self) -> None:
        """Add up the broadcasts only now, since adaptive plans name their metrics late."""
        told = sum(max(0, value) for metric, value in self.updates.items() if metric in self.metrics)
        self.row = replace(self.row, broadcast_seconds=self.row.broadcast_seconds + told / 1000)
        self.updates.clear()
        self.metrics.clear()


class SqlExecutions:
    """Collects the queries of Spark SQL with the time that their broadcasts took."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._executions: dict[int, _Execution] = {}

    def planned(self, event: events.ExecutionPlan) -> None:
        """A query has started, or has another plan."""
        execution = self._executions.get(event.execution_id)
        if execution is None:
            if not event.time:
                return
            self._notes.keep(ROW_BYTES)
            row = SqlExecutionRow(execution_id=event.execution_id, started_at=event.time / 1000)
            execution = self._executions[event.execution_id] = _Execution(row=row)
            self._notes.seen(row.started_at)
        nodes = [event.spark_plan_info] if event.spark_plan_info is not None else []
        for node in nodes:
            nodes += node.children
        told = {
            metric.accumulator_id
            for node in nodes
            if node.node_name == _BROADCAST_NODE
            for metric in node.metrics
            if metric.name in _BROADCAST_METRICS
        }
        self._notes.keep(ENTRY_BYTES * len(told - execution.metrics))
        execution.metrics |= told

    def ended(self, event: events.ExecutionEnd) -> None:
        """A query has ended."""
        execution = self._executions.get(event.execution_id)
        if execution is not None:
            execution.row = replace(execution.row, ended_at=event.time / 1000)
            if event.error_message is not msgspec.UNSET:
                execution.has_error = bool(event.error_message)
            execution.settle()
        self._notes.seen(event.time / 1000)

    def updated(self, event: events.DriverUpdates) -> None:
        """The driver updated accumulators."""
        execution = self._executions.get(event.execution_id)
        if execution is not None:
            new = {metric for metric, _ in event.accum_updates}.difference(execution.updates)
            self._notes.keep(ENTRY_BYTES * len(new))
            for metric, value in event.accum_updates:
                execution.updates[metric] += value

    def rows(self, jobs: Iterable[JobRow]) -> tuple[SqlExecutionRow, ...]:
        """All queries in the order in which they started."""
        # Before Spark 3.4 only its jobs show that a query failed.
        failed = {job.sql_execution_id for job in jobs if job.succeeded is False}
        for execution in self._executions.values():
            execution.settle()
        return tuple(
            replace(each.row, failed=number in failed if each.has_error is None else each.has_error)
            for number, each in self._executions.items()
        )


_TYPES = {"IntColumn": ("q", np.int64), "FloatColumn": ("d", np.float64), "BoolColumn": ("?", np.bool_)}
_COLUMNS = {column.name: _TYPES[str(column.type)] for column in fields(TaskColumns)} | {
    # The partition, which shows what attempts did the same work; it is not kept.
    "index": _TYPES["IntColumn"]
}
_ROW = Struct("=" + "".join(code for code, _ in _COLUMNS.values()))
_ROW_TYPE = np.dtype([(name, kind) for name, (_, kind) in _COLUMNS.items()])
_CHUNK_BYTES = 16_384 * _ROW.size
SUCCESS = "Success"
# A second end of a task that had succeeded, when its output was lost with its executor.
_REDONE = "Resubmitted"
_PYTHON_CRASHED = "Python worker exited unexpectedly"
MOST_TASKS = 5_000_000  # their table takes 1.2 GB
# From the request for a worker to its last answer (``BasePythonRunner.handleTimingData``, "total"). The
# times to start and to initialise a worker are part of it.
_RUN_PYTHON_WORKERS = "time to run Python workers"


class TaskRows:
    """Collects the tasks that ended."""

    def __init__(self, notes: Notes, *, most_tasks: int = MOST_TASKS) -> None:
        self._decode = msgspec.json.Decoder(events.TaskEnd).decode
        self._decode_all = msgspec.json.Decoder(events.TaskEndWithAccumulables).decode
        self._notes = notes
        self._most_tasks = most_tasks
        self._rows = bytearray()
        # Each grows in place: parts that are joined at the end would take the memory twice.
        self._columns: dict[str, bytearray] = defaultdict(bytearray)
        self._count = 0
        self._executors: dict[str, int] = {}
        self._redone: list[int] = []
        self.python_crashes = 0

    def add(self, line: bytes) -> None:
        """Read an event.

        Raises:
            EventLogError: there are more than is allowed.
            ValueError: it is malformed (so are the decoder's errors).
        """
        event: events.TaskEnd
        in_python = math.nan
        if b"Python workers" in line:
            with_accumulables = event = self._decode_all(line)
            in_python = _python_seconds(with_accumulables)
        else:
            event = self._decode(line)
        self._count += 1
        if self._count > self._most_tasks:
            raise EventLogError(
                f"The event log has more than {count(self._most_tasks)} tasks.",
                remedy="Read it where there is more memory: by `read_event_log`, with a larger most_tasks."
                if self._most_tasks >= MOST_TASKS
                else "Too large to read here. Run `ernest analyze` on it from a shell.",
            )
        if event.task_end_reason.reason == _REDONE:
            self._redone.append(event.task_info.task_id)
            return
        self.python_crashes += _PYTHON_CRASHED in (event.task_end_reason.description or "")
        self._rows += self._packed(event, in_python)
        if len(self._rows) >= _CHUNK_BYTES:
            self._columns_of_rows()

    def _packed(self, event: events.TaskEnd, in_python: float) -> bytes:
        info = event.task_info
        metrics = event.task_metrics or events.NO_METRICS
        read = metrics.shuffle_read_metrics or events.NO_SHUFFLE
        written = metrics.shuffle_write_metrics or events.NO_SHUFFLE
        executor_id = shortened(info.executor_id)
        executor = self._executors.get(executor_id)
        if executor is None:
            self._notes.keep(ENTRY_BYTES, executor_id)
            executor = self._executors[executor_id] = len(self._executors)
        fetched = info.finish_time - info.getting_result_time if info.getting_result_time > 0 else 0
        return _ROW.pack(
            info.task_id,
            event.stage_id,
            event.stage_attempt_id,
            info.attempt,
            executor,
            info.launch_time / 1000,
            info.finish_time / 1000,
            event.task_end_reason.reason == SUCCESS,
            info.speculative,
            metrics.executor_run_time / 1000,
            metrics.executor_cpu_time / 1e9,
            metrics.executor_deserialize_time / 1000,
            metrics.result_serialization_time / 1000,
            max(0, fetched) / 1000,
            metrics.jvm_gc_time / 1000,
            read.fetch_wait_time / 1000,
            written.shuffle_write_time / 1e9,
            in_python,
            (metrics.input_metrics or events.NO_STORAGE).bytes_read,
            (metrics.input_metrics or events.NO_STORAGE).records_read,
            (metrics.output_metrics or events.NO_STORAGE).bytes_written,
            read.remote_bytes_read,
            read.local_bytes_read,
            read.total_records_read,
            written.shuffle_bytes_written,
            metrics.disk_bytes_spilled,
            metrics.peak_execution_memory,
            metrics.result_size,
            info.index,
        )

    def _columns_of_rows(self) -> None:
        rows = np.frombuffer(bytes(self._rows), dtype=_ROW_TYPE)
        for name in _COLUMNS:
            self._columns[name] += rows[name].tobytes()
        self._rows.clear()

    def table(self, executors: Mapping[str, int]) -> TaskColumns:
        """All tasks, with `ExecutorRow.number` by Spark's id; the rows are gone afterwards."""
        self._columns_of_rows()
        columns: dict[str, np.ndarray[Any, Any]] = {
            name: np.frombuffer(self._columns.pop(name), dtype=kind) for name, (_, kind) in _COLUMNS.items()
        }
        index = columns.pop("index")
        numbers = np.array([executors.get(each, -1) for each in self._executors] or [-1], dtype=np.int64)
        columns["executor"] = numbers[columns["executor"]]
        # A clock may have been set back.
        columns["finished_at"] = np.maximum(columns["finished_at"], columns["launched_at"])
        columns["succeeded"] &= ~_redundant(columns, index)
        columns["succeeded"] &= ~np.isin(columns["task_id"], self._redone)
        return TaskColumns(**columns)


def _redundant(columns: Mapping[str, np.ndarray[Any, Any]], index: np.ndarray[Any, Any]) -> Any:
    """Attempts whose work another had done before: both copies of a speculative task may succeed."""
    redundant = np.zeros(len(index), dtype=np.bool_)
    rows = np.flatnonzero(columns["succeeded"] & (index >= 0))
    if not columns["speculative"][rows].any():
        return redundant
    stages, attempts = columns["stage_id"][rows], columns["stage_attempt"][rows]
    order = rows[np.lexsort((columns["finished_at"][rows], index[rows], attempts, stages))]
    keys = np.stack((columns["stage_id"][order], columns["stage_attempt"][order], index[order]))
    redundant[order[1:]] = (keys[:, 1:] == keys[:, :-1]).all(axis=0)
    return redundant


def _python_seconds(event: events.TaskEndWithAccumulables) -> float:
    """Seconds in Python workers; NaN if no operator reports any.

    Operators of one task may overlap, so their sum is bounded by the time that the task ran.
    """
    milliseconds = [
        int(each.update)
        for each in event.task_info.accumulables or ()
        if each.name == _RUN_PYTHON_WORKERS and each.update is not None
    ]
    if not milliseconds:
        return math.nan
    ran = event.task_metrics.executor_run_time if event.task_metrics is not None else 0
    return max(0, min(sum(milliseconds), ran)) / 1000
