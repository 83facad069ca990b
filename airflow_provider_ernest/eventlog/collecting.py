"""The jobs of an application and the attempts of their stages."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from airflow_provider_ernest.eventlog.bounds import ENTRY_BYTES, REFERENCE_BYTES, ROW_BYTES, shortened
from airflow_provider_ernest.eventlog.events import (
    BlockManagerEvent,
    BlockUpdated,
    DataSetDropped,
    DriverUpdates,
    ExecutionEnd,
    ExecutionPlan,
    ExecutorAdded,
    ExecutorRemoved,
    JobEnd,
    JobStart,
    StageEvent,
    nodes_of,
)
from airflow_provider_ernest.eventlog.tables import (
    DRIVER,
    MOST_DIGITS,
    CacheUse,
    ExecutorRow,
    JobRow,
    SqlExecutionRow,
    StageRow,
)
from airflow_provider_ernest.privacy import names_a_secret, without_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from airflow_provider_ernest.eventlog.bounds import Bounds
    from airflow_provider_ernest.eventlog.events import DataSet, StageInfo

_STREAMING = ("sql.streaming.queryId", "streaming.sql.batchId", "spark.streaming.internal.batchTime")
"""Properties of the jobs of structured and of discretised streams."""

_SQL_EXECUTION = "spark.sql.execution.id"

_LIBRARY = re.compile(r"^org\.apache\.spark\.(ml|mllib|graphx|streaming)\.", re.MULTILINE)
"""In the call site of a stage, a stack trace: the library that asked for it."""


class Jobs:
    """Collects jobs and stages.

    Args:
        bounds: of what may be kept.

    Attributes:
        is_streaming: whether a job was one of a stream.
        last_at: the last moment that their events tell of, seconds since the epoch.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.is_streaming = False
        self.last_at = 0.0
        self._bounds = bounds
        self._jobs: dict[int, JobRow] = {}
        self._active: dict[int, JobRow] = {}
        self._job_of: dict[int, int] = {}
        self._ids: dict[int, int] = {}
        self._stages: dict[tuple[int, int], StageRow] = {}
        self._scopes: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._start = msgspec.json.Decoder(JobStart).decode
        self._end = msgspec.json.Decoder(JobEnd).decode
        self._stage = msgspec.json.Decoder(StageEvent).decode
        self.handlers: dict[str, Callable[[bytes], None]] = {
            "SparkListenerJobStart": self._job_started,
            "SparkListenerJobEnd": self._job_ended,
        }

    @property
    def rows(self) -> tuple[JobRow, ...]:
        """The jobs in the order in which they were submitted."""
        return tuple(self._jobs.values())

    @property
    def stages(self) -> tuple[StageRow, ...]:
        """The attempts in the order in which they were submitted."""
        return tuple(self._stages.values())

    @property
    def failed_executions(self) -> set[int]:
        """The queries of which a job failed."""
        failed = (job.sql_execution_id for job in self._jobs.values() if job.succeeded is False)
        return {number for number in failed if number is not None}

    def _job_started(self, line: bytes) -> None:
        event = self._start(line)
        properties = event.properties or {}
        self.is_streaming = self.is_streaming or any(name in properties for name in _STREAMING)
        execution = str(properties.get(_SQL_EXECUTION, ""))
        job = JobRow(
            job_id=event.job_id,
            submitted_at=event.submitted_at / 1000,
            stage_ids=self._kept_ids(event.stage_ids),
            sql_execution_id=int(execution)
            if execution.isdecimal() and len(execution) < MOST_DIGITS
            else None,
        )
        self._jobs[event.job_id] = self._active[event.job_id] = job
        for stage_id in job.stage_ids:
            self._job_of.setdefault(stage_id, event.job_id)
        self._seen(job.submitted_at)

    def _kept_ids(self, stage_ids: list[int]) -> tuple[int, ...]:
        """The same ids; a number that a loop of jobs names again and again is kept once.

        Raises:
            NoRoomError: with these there are too many.
        """
        new = set(stage_ids).difference(self._ids)
        self._bounds.keep(ROW_BYTES + REFERENCE_BYTES * len(stage_ids) + 2 * ENTRY_BYTES * len(new))
        self._ids.update((each, each) for each in new)
        return tuple(map(self._ids.__getitem__, stage_ids))

    def _job_ended(self, line: bytes) -> None:
        event = self._end(line)
        job = self._jobs.get(event.job_id)
        self._active.pop(event.job_id, None)
        if job is not None:
            self._jobs[event.job_id] = replace(
                job,
                completed_at=event.completed_at / 1000,
                succeeded=event.result is not None and event.result.result == "JobSucceeded",
            )
        self._seen(event.completed_at / 1000)

    def stage_told(self, line: bytes) -> StageInfo:
        """Read that a stage was submitted or completed: both tell the same of it, the later one more."""
        event = self._stage(line)
        info = event.info
        properties = event.properties or {}
        self.is_streaming = self.is_streaming or any(name in properties for name in _STREAMING)
        key = (info.stage_id, info.attempt)
        known = self._stages.get(key)
        name, failure, parents = shortened(info.name), shortened(info.failure), tuple(info.parents or ())
        new = (name,) if known is None else ()
        self._bounds.keep(ROW_BYTES * len(new) + ENTRY_BYTES * len(parents), failure, *new)
        self._stages[key] = StageRow(
            stage_id=info.stage_id,
            attempt=info.attempt,
            name=name,
            tasks=info.tasks,
            parents=parents,
            job_id=known.job_id if known else self._job_that_runs(info.stage_id),
            submitted_at=known.submitted_at
            if known and info.submitted_at is None
            else _seconds(info.submitted_at),
            completed_at=_seconds(info.completed_at),
            failure=failure,
            scopes=self._scopes_of(info),
            library=_library(info.details or ""),
        )
        self._seen(max(info.submitted_at or 0, info.completed_at or 0) / 1000)
        return info

    def _job_that_runs(self, stage_id: int) -> int:
        """The first of the running jobs that need the stage: an earlier one may have passed over it."""
        running = (job.job_id for job in self._active.values() if stage_id in job.stage_ids)
        return min(running, default=self._job_of.get(stage_id, -1))

    def _scopes_of(self, info: StageInfo) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(name for each in info.data_sets or () if (name := _scope_name(each))))
        # Thousands of stages of an iterative job share a few.
        known = self._scopes.get(names)
        if known is None:
            self._bounds.keep(ROW_BYTES, *names)
            known = self._scopes[names] = names
        return known

    def _seen(self, moment: float) -> None:
        self.last_at = max(self.last_at, moment)


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _scope_name(data_set: DataSet) -> str:
    """The name of the operation that made a data set; its own where none is told, as of what Python reads."""
    if not data_set.scope:
        return shortened(data_set.name)
    try:
        scope: Mapping[str, Any] = msgspec.json.decode(data_set.scope, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return ""
    return shortened(str(scope.get("name", "")))


def _library(call_site: str) -> str:
    """The library that asked for a stage first; empty where it was none of them."""
    found = _LIBRARY.search(call_site)
    return found[1] if found else ""


# ---------------------------------------------------------------------------
# What a job asked Spark to cache, and how much of it lay in memory.
#
# The event log tells it by three kinds of events: a stage names the cached data sets that it reads
# (with sizes that are always 0), a block update tells where one partition of them lies now, and an
# unpersist event drops a data set. A partition of ``MEMORY_ONLY`` that finds no room leaves no trace at
# all: only the stage knows that it was wanted.


_CACHED_BLOCK = b'"Block ID":"rdd_'
_ABOUT_THE_SAME = 1.01


@dataclass(frozen=True, kw_only=True)
class _Block:
    """One copy of one partition; its bytes where it lies, and what it took when it last was in memory."""

    in_memory: bool
    memory_bytes: int
    disk_bytes: int


@dataclass(kw_only=True)
class _DataSet:
    """A cached RDD; a cached DataFrame is one too. Sums are kept up, since each stage asks for them."""

    partitions: int = 0
    replication: int = 1
    blocks: dict[str, dict[str, _Block]] = field(default_factory=dict)
    copies: Counter[str] = field(default_factory=Counter)
    held_bytes: int = 0
    disk_bytes: int = 0
    sized: int = 0
    sized_bytes: int = 0

    def put(self, executor: str, block_id: str, block: _Block) -> None:
        """Note where a block lies now."""
        of_executor = self.blocks.setdefault(executor, {})
        known = of_executor.get(block_id)
        if known is not None:
            self._count(block_id, known, -1)
        of_executor[block_id] = block
        self._count(block_id, block, 1)

    def forget(self, executor: str) -> None:
        """Forget what an executor held."""
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

    def use(self, storage_memory_bytes: int) -> CacheUse:
        """Partitions not in memory are taken to be as large as the mean of those that were."""
        copies = max(self.partitions * self.replication, len(self.copies))
        if self.sized:
            wanted = max(self.held_bytes, round(copies * self.sized_bytes / self.sized))
        else:
            # Not one partition found room: all that is known is that they want more than there is.
            wanted = max(self.disk_bytes, storage_memory_bytes) if copies else 0
        return CacheUse(wanted_bytes=wanted, held_bytes=self.held_bytes, disk_bytes=self.disk_bytes)


class CachedBlocks:
    """Follows the cached data sets of one application; memory in proportion to the cached partitions.

    Args:
        bounds: of what may be kept.

    Attributes:
        told: whether the log has block updates (``spark.eventLog.logBlockUpdates.enabled``); without them
            nothing is known of the cache.
        storage_memory_bytes: the most memory for cached data that the executors had together; the driver
            holds none, and only the heap counts, where Spark caches unless a job asks for off-heap storage.
        peak: the use of the cache when most was wanted.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.told = False
        self.storage_memory_bytes = 0
        self.peak = CacheUse()
        self._bounds = bounds
        self._executors: dict[str, int] = {}
        self._sets: dict[int, _DataSet] = {}
        self._manager = msgspec.json.Decoder(BlockManagerEvent).decode
        self._block = msgspec.json.Decoder(BlockUpdated).decode
        self._dropped = msgspec.json.Decoder(DataSetDropped).decode
        self.handlers: dict[str, Callable[[bytes], None]] = {
            "SparkListenerBlockManagerAdded": self._executor_added,
            "SparkListenerBlockManagerRemoved": self._executor_removed,
            "SparkListenerUnpersistRDD": self._unpersisted,
        }

    def stage_completed(self, stage: StageInfo) -> None:
        """Learn which data sets are wanted in memory, and how much of them.

        A stage of fewer tasks than the data set has partitions has read only some of them (``take``), or
        several with each task (``coalesce``); then the partitions that were kept tell the rest.
        """
        for each in stage.data_sets or ():
            if each.level.use_memory and not each.level.off_heap:
                data_set = self._set(each.number)
                data_set.partitions = max(data_set.partitions, min(each.partitions, stage.tasks))
                data_set.replication = each.level.replication
        self.look()

    def block_updated(self, line: bytes) -> None:
        """Learn where a partition lies now (SparkListenerBlockUpdated)."""
        info = self._block(line).info if _CACHED_BLOCK in line else None
        self.told = True
        if info is None or info.level.off_heap:
            return
        _, number, _ = info.block_id.split("_")
        data_set = self._set(int(number))
        executor, block_id = shortened(info.manager.executor_id), shortened(info.block_id)
        known = data_set.blocks.get(executor, {}).get(block_id)
        if known is None:
            self._bounds.keep(ROW_BYTES, executor, block_id)
        # On the way from memory to disk "Memory Size" is what was freed, so it is the level that counts.
        block = _Block(
            in_memory=info.level.use_memory,
            memory_bytes=info.memory_bytes or (known.memory_bytes if known else 0),
            disk_bytes=info.disk_bytes if info.level.use_disk else 0,
        )
        data_set.put(executor, block_id, block)

    def look(self) -> None:
        """Compare the present use with the peak.

        Of the moments at which about the same was wanted the one counts at which most lay in memory:
        what is read back from disk later displaces other blocks, but is not logged itself.
        """
        # Data sets on which no stage has reported want no memory: those of DISK_ONLY have blocks too.
        uses = [each.use(self.storage_memory_bytes) for each in self._sets.values() if each.partitions]
        now = CacheUse(
            wanted_bytes=sum(use.wanted_bytes for use in uses),
            held_bytes=sum(use.held_bytes for use in uses),
            disk_bytes=sum(use.disk_bytes for use in uses),
        )
        much_more = now.wanted_bytes > _ABOUT_THE_SAME * self.peak.wanted_bytes
        about_as_much = now.wanted_bytes * _ABOUT_THE_SAME >= self.peak.wanted_bytes
        if much_more or (about_as_much and now.held_bytes > self.peak.held_bytes):
            self.peak = now

    def _executor_added(self, line: bytes) -> None:
        event = self._manager(line)
        executor = shortened(event.manager.executor_id)
        if executor == DRIVER:
            return
        if executor not in self._executors:
            self._bounds.keep(ENTRY_BYTES, executor)
        self._executors[executor] = event.memory_bytes if event.heap_bytes is None else event.heap_bytes
        self.storage_memory_bytes = max(self.storage_memory_bytes, sum(self._executors.values()))

    def _executor_removed(self, line: bytes) -> None:
        executor = shortened(self._manager(line).manager.executor_id)
        self._executors.pop(executor, None)
        for data_set in self._sets.values():
            data_set.forget(executor)

    def _unpersisted(self, line: bytes) -> None:
        """Its blocks have no updates of their own."""
        self.look()
        self._sets.pop(self._dropped(line).number, None)

    def _set(self, number: int) -> _DataSet:
        known = self._sets.get(number)
        if known is None:
            self._bounds.keep(ROW_BYTES)
            known = self._sets[number] = _DataSet()
        return known


# ---------------------------------------------------------------------------
# The executors of an application, and what was sent to them as broadcasts.


_BROADCAST_BLOCK = b'"Block ID":"broadcast_'


class Machines:
    """Collects executors and the pieces of broadcasts that they hold.

    Args:
        bounds: of what may be kept.

    Attributes:
        application_ended: to be set then. That executors go after it is the normal thing.
        broadcast_bytes: of the pieces that reached executors.
        last_at: the last moment that their events tell of, seconds since the epoch.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.application_ended = False
        self.broadcast_bytes = 0
        self.last_at = 0.0
        self._bounds = bounds
        self._executors: dict[str, ExecutorRow] = {}
        self._added = msgspec.json.Decoder(ExecutorAdded).decode
        self._removed = msgspec.json.Decoder(ExecutorRemoved).decode
        self._block = msgspec.json.Decoder(BlockUpdated).decode
        self.handlers: dict[str, Callable[[bytes], None]] = {
            "SparkListenerExecutorAdded": self._executor_added,
            "SparkListenerExecutorRemoved": self._executor_removed,
        }

    @property
    def rows(self) -> tuple[ExecutorRow, ...]:
        """The executors in the order in which they were added."""
        return tuple(self._executors.values())

    @property
    def numbers(self) -> dict[str, int]:
        """`ExecutorRow.number` by Spark's id."""
        return {executor.executor_id: executor.number for executor in self._executors.values()}

    def _executor_added(self, line: bytes) -> None:
        event = self._added(line)
        info = event.info
        # The log page is served by the worker daemon: its address tells two workers of one host apart.
        page = urlsplit((info.log_urls or {}).get("stderr", ""))
        executor_id, host = shortened(event.executor_id), shortened(info.host)
        worker = shortened(page.netloc) or host
        known = self._executors.get(executor_id)
        if known is None:
            self._bounds.keep(ROW_BYTES, executor_id, host, worker)
        self._executors[executor_id] = ExecutorRow(
            number=known.number if known else len(self._executors),
            executor_id=executor_id,
            host=host,
            worker=worker,
            cores=info.cores,
            added_at=event.timestamp / 1000,
        )
        self.last_at = max(self.last_at, event.timestamp / 1000)

    def _executor_removed(self, line: bytes) -> None:
        event = self._removed(line)
        executor_id = shortened(event.executor_id)
        known = self._executors.get(executor_id)
        # Of one that never registered the process did not start, and the run has lost nothing by it.
        if known is not None:
            self._executors[executor_id] = replace(
                known,
                removed_at=event.timestamp / 1000,
                removed_because=" ".join(shortened(event.reason).split()),
                is_lost=not self.application_ended,
            )
        self.last_at = max(self.last_at, event.timestamp / 1000)

    def block_updated(self, line: bytes) -> None:
        """Count a piece of a broadcast: they are what is sent, values are made of them."""
        if _BROADCAST_BLOCK not in line or b"_piece" not in line:
            return
        info = self._block(line).info
        if info.manager.executor_id != DRIVER and info.level.use_memory:
            self.broadcast_bytes += max(0, info.memory_bytes)


# ---------------------------------------------------------------------------
# The queries of Spark SQL, and the time that their broadcasts took.


PACKAGE = "org.apache.spark.sql.execution.ui."
BROADCAST_NODE = "BroadcastExchange"
BROADCAST_METRICS = frozenset(("time to build", "time to broadcast"))
"""One after the other (``BroadcastExchangeExec.relationFuture``), in milliseconds."""


@dataclass(kw_only=True)
class _Execution:
    started_at: float
    ended_at: float | None = None
    failed: bool | None = None
    broadcast_seconds: float = 0.0
    metrics: set[int] = field(default_factory=set)
    updates: dict[int, int] = field(default_factory=dict)

    def settle(self) -> None:
        """Add up the broadcasts and forget of what: plans of adaptive queries tell their metrics late."""
        told = sum(max(0, value) for metric, value in self.updates.items() if metric in self.metrics)
        self.broadcast_seconds += told / 1000
        self.updates.clear()
        self.metrics.clear()


class SqlExecutions:
    """Collects the queries.

    Args:
        bounds: of what may be kept.

    Attributes:
        last_at: the last moment that their events tell of, seconds since the epoch.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.last_at = 0.0
        self._bounds = bounds
        self._executions: dict[int, _Execution] = {}
        self._plan = msgspec.json.Decoder(ExecutionPlan).decode
        self._end = msgspec.json.Decoder(ExecutionEnd).decode
        self._driver = msgspec.json.Decoder(DriverUpdates).decode
        self.handlers: dict[str, Callable[[bytes], None]] = {
            f"{PACKAGE}SparkListenerSQLExecutionStart": self._planned,
            f"{PACKAGE}SparkListenerSQLAdaptiveExecutionUpdate": self._planned,
            f"{PACKAGE}SparkListenerSQLExecutionEnd": self._ended,
            f"{PACKAGE}SparkListenerDriverAccumUpdates": self._updated,
        }

    def _planned(self, line: bytes) -> None:
        event = self._plan(line)
        execution = self._executions.get(event.execution_id)
        if execution is None:
            if not event.time:
                return
            self._bounds.keep(ROW_BYTES)
            execution = self._executions[event.execution_id] = _Execution(started_at=event.time / 1000)
            self.last_at = max(self.last_at, execution.started_at)
        if event.plan is not None:
            told = {
                metric.accumulator_id
                for node in nodes_of(event.plan)
                if node.node_name == BROADCAST_NODE
                for metric in node.metrics
                if metric.name in BROADCAST_METRICS
            }
            self._bounds.keep(ENTRY_BYTES * len(told - execution.metrics))
            execution.metrics |= told

    def _ended(self, line: bytes) -> None:
        event = self._end(line)
        execution = self._executions.get(event.execution_id)
        if execution is not None:
            execution.ended_at = event.time / 1000
            execution.failed = None if event.error is msgspec.UNSET else bool(event.error)
            execution.settle()
        self.last_at = max(self.last_at, event.time / 1000)

    def _updated(self, line: bytes) -> None:
        event = self._driver(line)
        execution = self._executions.get(event.execution_id)
        if execution is not None:
            new = {metric for metric, _ in event.updates}.difference(execution.updates)
            self._bounds.keep(ENTRY_BYTES * len(new))
            for metric, value in event.updates:
                execution.updates[metric] = execution.updates.get(metric, 0) + value

    def rows(self, failed_jobs: Collection[int]) -> tuple[SqlExecutionRow, ...]:
        """All queries in the order in which they started.

        Args:
            failed_jobs: queries of which a job failed: before Spark 3.4 nothing else tells of a failure.
        """
        for execution in self._executions.values():
            execution.settle()
        return tuple(
            SqlExecutionRow(
                execution_id=number,
                started_at=execution.started_at,
                ended_at=execution.ended_at,
                failed=number in failed_jobs if execution.failed is None else execution.failed,
                broadcast_seconds=execution.broadcast_seconds,
            )
            for number, execution in self._executions.items()
        )


# ---------------------------------------------------------------------------
# Spark's properties as a log tells them, without the secret ones.


_SHARED_ACCESS_SIGNATURE = re.compile(r"[._]sas(?:[._]|$)", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"secret|passw(?:or)?d|token|access[.]?key|redacted", re.IGNORECASE)


def told_properties(properties: Mapping[str, object]) -> dict[str, str]:
    """The properties of which neither name nor value tells of a secret.

    Both are looked at as Spark does it (``spark.redaction.regex``), but for more words: Spark's own pass over
    the account keys of Azure's storage.
    """
    return {
        name: without_credentials(value)
        for name, value in properties.items()
        if isinstance(value, str) and not _is_secret(name, value)
    }


def _is_secret(name: str, value: str) -> bool:
    return (
        names_a_secret(name)
        or _SHARED_ACCESS_SIGNATURE.search(name) is not None
        or _SECRET_VALUE.search(value) is not None
    )
