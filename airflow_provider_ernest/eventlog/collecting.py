"""What is kept of the events of an application besides its tasks: jobs, executors, cached blocks, queries.

Each class collects the rows of a table or two; `reading.Application` says which method reads which event.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import msgspec

from airflow_provider_ernest.eventlog.bounds import (
    ENTRY_BYTES,
    MOST_CHARACTERS,
    REFERENCE_BYTES,
    ROW_BYTES,
    Notes,
    shortened,
)
from airflow_provider_ernest.eventlog.events import (
    BlockInfo,
    BlockManagerEvent,
    BlockUpdated,
    DataSet,
    DataSetDropped,
    DriverUpdates,
    ExecutionEnd,
    ExecutionPlan,
    ExecutorAdded,
    ExecutorRemoved,
    JobEnd,
    JobStart,
    ResourceProfileAdded,
    StageEvent,
    StageInfo,
    nodes_of,
)
from airflow_provider_ernest.eventlog.tables import (
    DRIVER,
    CacheUse,
    ExecutorRow,
    JobRow,
    SqlExecutionRow,
    StageRow,
    whole_number,
)
from airflow_provider_ernest.eventlog.tasks import StageKey
from airflow_provider_ernest.privacy import names_a_secret, without_credentials

_STREAMING = ("sql.streaming.queryId", "streaming.sql.batchId", "spark.streaming.internal.batchTime")
"""Properties of the jobs of structured and of discretised streams."""

_LIBRARY = re.compile(r"^org\.apache\.spark\.(ml|mllib|graphx|streaming)\.", re.MULTILINE)
"""In the call site of a stage, a stack trace: the library that asked for it."""


class Jobs:
    """Collects jobs and the attempts of their stages, each in the order in which they were submitted."""

    def __init__(self, notes: Notes) -> None:
        self.is_streaming = False
        self.rows: dict[int, JobRow] = {}
        self.stages: dict[StageKey, StageRow] = {}
        self._notes = notes
        self._running: dict[int, JobRow] = {}
        self._job_of: dict[int, int] = {}
        self._ids: dict[int, int] = {}
        self._scopes: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._kept: set[int] = set()

    @property
    def failed_executions(self) -> set[int | None]:
        """The queries of which a job failed."""
        return {job.sql_execution_id for job in self.rows.values() if job.succeeded is False}

    def started(self, event: JobStart) -> None:
        """A job was submitted."""
        properties = self._properties(event)
        job = JobRow(
            job_id=event.job_id,
            submitted_at=event.submission_time / 1000,
            stage_ids=self._kept_ids(event.stage_ids),
            sql_execution_id=whole_number(str(properties.get("spark.sql.execution.id", ""))),
        )
        self.rows[event.job_id] = self._running[event.job_id] = job
        for stage_id in job.stage_ids:
            self._job_of.setdefault(stage_id, event.job_id)
        self._notes.seen(job.submitted_at)

    def ended(self, event: JobEnd) -> None:
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

    def stage_changed(self, event: StageEvent) -> None:
        """A stage was submitted or completed: both say the same of it, the later one more."""
        info = event.stage_info
        self._properties(event)
        key = (info.stage_id, info.stage_attempt_id)
        known = self.stages.get(key)
        name, failure = shortened(info.stage_name), shortened(info.failure_reason)
        parents = tuple(info.parent_ids or ())
        new = (name,) if known is None else ()
        self._notes.keep(ROW_BYTES * len(new) + ENTRY_BYTES * len(parents), failure, *new)
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
            scopes=self._scopes_of(info),
            library=library[1] if library else "",
            is_barrier=any(each.barrier for each in info.rdd_info or ()),
            # What it keeps itself was not there when it began.
            reads_cache=known.reads_cache if known else self._reads_cache(info),
        )
        if info.completion_time is not None and not failure and self._keep(info):
            self.stages[key] = replace(self.stages[key], fills_cache=True)
        self._notes.seen(max(info.submission_time or 0, info.completion_time or 0) / 1000)

    def unpersisted(self, event: DataSetDropped) -> None:
        """A cached data set is dropped."""
        self._kept.discard(event.rdd_id)

    def _keep(self, info: StageInfo) -> bool:
        """Remember the data sets that a stage has kept whole: later ones read them in place of the input.

        Tells whether one of them is new.
        """
        before = len(self._kept)
        for each in info.rdd_info or ():
            level = each.storage_level
            is_whole = info.number_of_tasks >= each.number_of_partitions
            if is_whole and (level.use_memory or level.use_disk or level.use_off_heap):
                if each.rdd_id not in self._kept:
                    self._notes.keep(ENTRY_BYTES)
                self._kept.add(each.rdd_id)
        return len(self._kept) > before

    def _reads_cache(self, info: StageInfo) -> bool:
        """Whether each way from its last data set back to an input comes upon one that was kept.

        Spark counts bytes that come out of a cached block as input, as if they had been read again.
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
            # Those that the stage does not name lie behind a shuffle.
            new = [each for each in parents[data_set] if each in parents and each not in seen]
            seen.update(new)
            waiting += new
        return found

    def _properties(self, event: JobStart | StageEvent) -> Mapping[str, Any]:
        properties = event.properties or {}
        self.is_streaming = self.is_streaming or any(name in properties for name in _STREAMING)
        return properties

    def _kept_ids(self, stage_ids: list[int]) -> tuple[int, ...]:
        """The same ids; a number that a loop of jobs names again and again is kept once."""
        new = set(stage_ids).difference(self._ids)
        self._notes.keep(ROW_BYTES + REFERENCE_BYTES * len(stage_ids) + 2 * ENTRY_BYTES * len(new))
        self._ids.update((each, each) for each in new)
        return tuple(map(self._ids.__getitem__, stage_ids))

    def _job_that_runs(self, stage_id: int) -> int:
        """The first of the running jobs that need the stage: an earlier one may have passed over it."""
        running = (job.job_id for job in self._running.values() if stage_id in job.stage_ids)
        return min(running, default=self._job_of.get(stage_id, -1))

    def _scopes_of(self, info: StageInfo) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(name for each in info.rdd_info or () if (name := _scope_name(each))))
        # Thousands of stages of an iterative job share a few.
        known = self._scopes.get(names)
        if known is None:
            self._notes.keep(ROW_BYTES, *names)
            known = self._scopes[names] = names
        return known


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _scope_name(data_set: DataSet) -> str:
    """The name of the operation that made a data set; its own where there is none, as in Python."""
    if not data_set.scope:
        return shortened(data_set.name)
    try:
        scope: Mapping[str, Any] = msgspec.json.decode(data_set.scope, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return ""
    return shortened(str(scope.get("name", "")))


class Machines:
    """Collects executors, by Spark's id, in the order in which they were added."""

    def __init__(self, notes: Notes) -> None:
        self.rows: dict[str, ExecutorRow] = {}
        self.executor_memory_megabytes = 0
        self.application_ended = False
        self._notes = notes

    @property
    def numbers(self) -> dict[str, int]:
        """`ExecutorRow.number` by Spark's id."""
        return {executor_id: executor.number for executor_id, executor in self.rows.items()}

    def added(self, event: ExecutorAdded) -> None:
        """An executor has registered."""
        info = event.executor_info
        # The log page is served by the worker daemon: its port tells two workers of one host apart. Its host
        # may be one for all, where a cluster has its own pages (spark.ui.custom.executor.log.url).
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

    def profile_added(self, event: ResourceProfileAdded) -> None:
        """Executors of this kind may come: heap, overhead, off-heap and Python's memory are all paid for."""
        requests = event.executor_resource_requests
        megabytes = sum(requests[name].amount for name in _MEMORY if name in requests)
        self.executor_memory_megabytes = max(self.executor_memory_megabytes, megabytes)

    def removed(self, event: ExecutorRemoved) -> None:
        """An executor has gone; after the application's end that is the normal thing."""
        executor_id = shortened(event.executor_id)
        known = self.rows.get(executor_id)
        # Of one that never registered the process did not start, and the run has lost nothing by it.
        if known is not None:
            self.rows[executor_id] = replace(
                known,
                removed_at=event.timestamp / 1000,
                removed_because=" ".join(shortened(event.removed_reason).split()),
                is_lost=not self.application_ended,
            )
        self._notes.seen(event.timestamp / 1000)


_MEMORY = ("memory", "memoryOverhead", "offHeap", "pyspark.memory")
"""Of an executor, as a profile of its resources has it."""

_CACHED_BLOCK = b'"Block ID":"rdd_'
_BROADCAST_BLOCK = b'"Block ID":"broadcast_'
_PIECE = b"_piece"
"""Of a broadcast: pieces are what is sent, values are made of them."""
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
        """Partitions not in memory are taken to be as large as the mean of those that were."""
        copies = max(self.partitions * self.replication, len(self.copies))
        if self.sized:
            return max(self.held_bytes, round(copies * self.sized_bytes / self.sized))
        # Not one partition found room: all that is known is that they want more than there is.
        return max(self.disk_bytes, storage_memory_bytes) if copies else 0


class Blocks:
    """Follows what executors hold: cached data sets, and pieces of broadcasts.

    A stage names the cached data sets that it reads (with sizes that are always 0), a block update says where
    one partition of them lies now, and an unpersist event drops a data set. A partition of ``MEMORY_ONLY``
    that finds no room leaves no trace at all: only the stage knows that it was wanted. The memory taken is in
    proportion to the cached partitions.

    Attributes:
        are_logged: whether the log has block updates (``spark.eventLog.logBlockUpdates.enabled``); without
            them nothing is known of the cache.
        storage_memory_bytes: the most memory for cached data that the executors had together; the driver
            holds none, and only the heap counts, where Spark caches unless a job asks for off-heap storage.
        peak: the use of the cache when most was wanted.
        broadcast_bytes: of the pieces of broadcasts that reached executors.
    """

    def __init__(self, notes: Notes) -> None:
        self.are_logged = False
        self.storage_memory_bytes = 0
        self.peak = CacheUse()
        self.broadcast_bytes = 0
        self._notes = notes
        self._executors: dict[str, int] = {}
        self._sets: dict[int, _DataSet] = {}
        self._decode = msgspec.json.Decoder(BlockUpdated).decode

    def executor_added(self, event: BlockManagerEvent) -> None:
        """There is memory for blocks."""
        executor = shortened(event.block_manager_id.executor_id)
        if executor == DRIVER:
            return
        if executor not in self._executors:
            self._notes.keep(ENTRY_BYTES, executor)
        heap_bytes = event.maximum_onheap_memory
        self._executors[executor] = event.maximum_memory if heap_bytes is None else heap_bytes
        self.storage_memory_bytes = max(self.storage_memory_bytes, sum(self._executors.values()))

    def executor_removed(self, event: BlockManagerEvent) -> None:
        """It is gone, with its blocks."""
        executor = shortened(event.block_manager_id.executor_id)
        self._executors.pop(executor, None)
        for data_set in self._sets.values():
            data_set.forget(executor)

    def updated(self, line: bytes) -> None:
        """A block lies elsewhere now. Of most blocks the line is not decoded."""
        is_cached, is_broadcast = _CACHED_BLOCK in line, _BROADCAST_BLOCK in line and _PIECE in line
        info = self._decode(line).block_updated_info if is_cached or is_broadcast else None
        self.are_logged = True
        if info is not None and is_cached:
            self._cached(info)
        elif info is not None and info.block_manager_id.executor_id != DRIVER:
            self.broadcast_bytes += max(0, info.memory_size) * info.storage_level.use_memory

    def stage_completed(self, event: StageEvent) -> None:
        """Learn which data sets are wanted in memory, and how much of them.

        A stage of fewer tasks than the data set has partitions has read only some of them (``take``), or
        several with each task (``coalesce``); then the partitions that were kept show the rest.
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

    def unpersisted(self, event: DataSetDropped) -> None:
        """A data set is dropped; its blocks have no updates of their own."""
        self.look()
        self._sets.pop(event.rdd_id, None)

    def look(self) -> None:
        """Compare the present use with the peak.

        Of the moments at which about the same was wanted the one counts at which most lay in memory:
        what is read back from disk later displaces other blocks, but is not logged itself.
        """
        # Data sets on which no stage has reported want no memory: those of DISK_ONLY have blocks too.
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

    def _cached(self, info: BlockInfo) -> None:
        if info.storage_level.use_off_heap:
            return
        _, number, _ = info.block_id.split("_")
        data_set = self._set(int(number))
        executor, block_id = shortened(info.block_manager_id.executor_id), shortened(info.block_id)
        known = data_set.blocks.get(executor, {}).get(block_id)
        if known is None:
            self._notes.keep(ROW_BYTES, executor, block_id)
        # On the way from memory to disk "Memory Size" is what was freed, so it is the level that counts.
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
_BROADCAST_METRICS = frozenset(("time to build", "time to broadcast"))
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
        """Add up the broadcasts and forget of what: plans of adaptive queries name their metrics late."""
        told = sum(max(0, value) for metric, value in self.updates.items() if metric in self.metrics)
        self.broadcast_seconds += told / 1000
        self.updates.clear()
        self.metrics.clear()


class SqlExecutions:
    """Collects the queries of Spark SQL, and the time that their broadcasts took."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._executions: dict[int, _Execution] = {}

    def planned(self, event: ExecutionPlan) -> None:
        """A query has started, or has another plan."""
        execution = self._executions.get(event.execution_id)
        if execution is None:
            if not event.time:
                return
            self._notes.keep(ROW_BYTES)
            execution = self._executions[event.execution_id] = _Execution(started_at=event.time / 1000)
            self._notes.seen(execution.started_at)
        if event.spark_plan_info is not None:
            told = {
                metric.accumulator_id
                for node in nodes_of(event.spark_plan_info)
                if node.node_name == _BROADCAST_NODE
                for metric in node.metrics
                if metric.name in _BROADCAST_METRICS
            }
            self._notes.keep(ENTRY_BYTES * len(told - execution.metrics))
            execution.metrics |= told

    def ended(self, event: ExecutionEnd) -> None:
        """A query has ended."""
        execution = self._executions.get(event.execution_id)
        if execution is not None:
            execution.ended_at = event.time / 1000
            error = event.error_message
            execution.failed = None if error is msgspec.UNSET else bool(error)
            execution.settle()
        self._notes.seen(event.time / 1000)

    def updated(self, event: DriverUpdates) -> None:
        """The driver has measured something."""
        execution = self._executions.get(event.execution_id)
        if execution is not None:
            new = {metric for metric, _ in event.accum_updates}.difference(execution.updates)
            self._notes.keep(ENTRY_BYTES * len(new))
            for metric, value in event.accum_updates:
                execution.updates[metric] = execution.updates.get(metric, 0) + value

    def rows(self, failed_jobs: Collection[int | None]) -> tuple[SqlExecutionRow, ...]:
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


_COMMAND = "sun.java.command"
_NAMES_THE_PROGRAM = ("--class", "--primary-py-file", "--primary-r-file")
_FLAGS = ("--supervise", "--verbose", "-v")
"""Options of spark-submit that no value follows."""

_DRIVER_WRAPPER = "org.apache.spark.deploy.worker.DriverWrapper"
"""What a standalone cluster runs a driver in: its arguments are the worker, the file, the class."""

_PROGRAM = re.compile(r"[A-Za-z_][\w.$-]*")
_NO_PROGRAMS = (
    "org.apache.spark.",
    "org.apache.hive.",
    "org.apache.livy.",
    "org.apache.zeppelin.",
    "com.databricks.",
)
"""Shells, servers and launchers: they are the same for whatever runs in them."""
_FILES = (".py", ".jar", ".r")

_LISTS = ("--jars", "--py-files", "--files", "--archives")

_MOST_COMMAND = 20_000


def main_program(properties: Mapping[str, object]) -> str:
    """The name of an application's main class, or of its file without folders; empty where none is told.

    Nothing else of the command is kept but `main_folder`: its arguments may hold anything.
    """
    return next(filter(None, map(_program, _naming(properties))), "")


def main_folder(properties: Mapping[str, object]) -> str:
    """The name of the folder in which that file lies; empty where it is none's, or none is told."""
    place = next(filter(_program, _naming(properties)), "").replace("\\", "/")
    folder = place.rpartition("/")[0].rpartition("/")[2]
    return folder if _PROGRAM.fullmatch(folder) and len(folder) <= MOST_CHARACTERS else ""


def _naming(properties: Mapping[str, object]) -> Iterator[str]:
    """Words of the command of which the first that can be names the program."""
    command = properties.get(_COMMAND)
    launcher, *words = (command if isinstance(command, str) else "")[:_MOST_COMMAND].split() or [""]
    if launcher == _DRIVER_WRAPPER:
        yield from reversed(words[1:3])
        return
    told: dict[str, str] = {}
    at = 0
    while at < len(words) and words[at].startswith("-"):
        has_value = words[at] not in _FLAGS and "=" not in words[at].partition(" ")[0]
        if has_value and at + 1 < len(words):
            told.setdefault(words[at], words[at + 1])
        at += 1 + has_value
    yield from (told.get(option, "") for option in _NAMES_THE_PROGRAM)
    yield next(_files_alone(words), "")
    yield launcher


def _files_alone(words: Sequence[str]) -> Iterator[str]:
    """Words that are a file, and no option's: values may hold spaces, so where options end is not told."""
    for before, word in pairwise(["", *words]):
        if word.lower().endswith(_FILES) and before not in _LISTS and not set("=,") & set(word):
            yield word


def _program(text: str) -> str:
    """The name of the class or file; empty where it is a launcher's own, or no name."""
    name = text.replace("\\", "/").rpartition("/")[2]
    is_one = _PROGRAM.fullmatch(name) and not name.startswith(_NO_PROGRAMS)
    return name if is_one and len(name) <= MOST_CHARACTERS else ""


_SHARED_ACCESS_SIGNATURE = re.compile(r"[._]sas(?:[._]|$)", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"secret|passw(?:or)?d|token|access[.]?key|redacted", re.IGNORECASE)


def told_properties(properties: Mapping[str, object]) -> dict[str, str]:
    """The properties of which neither name nor value tells of a secret.

    Both are looked at as Spark does it (``spark.redaction.regex``), but for more words: Spark's own lets pass
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
