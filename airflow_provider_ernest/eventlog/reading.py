"""Reading Spark's event log of an application into tables, wherever and however Spark wrote it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import msgspec

from airflow_provider_ernest.eventlog.bounds import (
    ENTRY_BYTES,
    MOST_KEPT_BYTES,
    has_too_many_values,
    shortened,
)
from airflow_provider_ernest.eventlog.collecting import (
    CachedBlocks,
    Jobs,
    Machines,
    SqlExecutions,
    told_properties,
)
from airflow_provider_ernest.eventlog.events import (
    PASSED_OVER,
    ApplicationStart,
    EnvironmentUpdate,
    LogStart,
    MomentOnly,
    event_name,
)
from airflow_provider_ernest.eventlog.files import application_of_name
from airflow_provider_ernest.eventlog.tables import DRIVER, EventLog
from airflow_provider_ernest.eventlog.task_table import MOST_TASKS, TaskRows
from airflow_provider_ernest.exceptions import EventLogError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from airflow_provider_ernest.eventlog.bounds import Notes


def read_event_log(
    source: Any, *, most_tasks: int | None = None, most_seconds: float | None = None
) -> EventLog:
    """Read the event log of one application, of Spark 3.3 or later.

    It is read as a stream: the tables are all that is kept of it. What of it cannot be read is passed over
    and told by the log's `warnings`, `unreadable_lines` and `unknown_events`.

    Args:
        source: a path, an address that fsspec can open (s3://bucket/key), or anything with a path's methods,
            such as Airflow's `ObjectStoragePath`: a log's file, compressed or not, or the folder of one that
            is rolled over (``eventlog_v2_...``, or Databricks' with ``eventlog``), of an application that has
            ended or still runs.
        most_tasks: a log of more tasks is refused, to bound the memory: a task takes some 230 bytes. None
            for `MOST_TASKS`.
        most_seconds: to read for: whoever waits no longer shall not leave the work behind; None for no limit.

    Raises:
        EventLogError: it cannot be read, tells of no application, or of more than `most_tasks` tasks, or
            takes longer than `most_seconds`.
        MissingResourceError: the library that opens such an address is not installed.
    """
    from airflow_provider_ernest.eventlog.bounds import Bounds, Notes
    from airflow_provider_ernest.eventlog.files import open_lines

    notes = Notes(bounds=Bounds(most_seconds=most_seconds))
    application = Application(notes, most_tasks=MOST_TASKS if most_tasks is None else most_tasks)
    application.read(open_lines(source, notes=notes))
    name = str(source).rstrip("/").rpartition("/")[2]
    return application.event_log(str(source), application_of_name(name))


# ---------------------------------------------------------------------------
# From the lines of a log to its tables.


MALFORMED = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError, struct.error)
"""What decoders and columns say of an event that is none of Spark's: wrong types, numbers without bounds,
values nested without end."""

MOST_UNKNOWN_NAMES = 1000
_STREAMING_QUERY = "org.apache.spark.sql.streaming.StreamingQueryListener$"


class Application:
    """Collects what the events of one application tell.

    Args:
        notes: where what cannot be read is counted.
        most_tasks: see `TaskRows`.
    """

    def __init__(self, notes: Notes, *, most_tasks: int = MOST_TASKS) -> None:
        self._notes = notes
        self._tasks = TaskRows(notes.bounds, most_tasks=most_tasks)
        self._jobs = Jobs(notes.bounds)
        self._machines = Machines(notes.bounds)
        self._cache = CachedBlocks(notes.bounds)
        self._sql = SqlExecutions(notes.bounds)
        self._start: ApplicationStart | None = None
        self._ended_at: float | None = None
        self._spark: str | None = None
        self._properties: dict[str, str] = {}
        self._is_streaming = False
        self._unknown: dict[str, int] = {}
        self._handlers: dict[bytes, Callable[[bytes], object]] = {
            name.encode(): handler
            for name, handler in {
                "SparkListenerLogStart": self._log_started,
                "SparkListenerApplicationStart": self._started,
                "SparkListenerApplicationEnd": self._ended,
                "SparkListenerEnvironmentUpdate": self._environment_told,
                "SparkListenerTaskEnd": self._tasks.add,
                "SparkListenerStageSubmitted": self._jobs.stage_told,
                "SparkListenerStageCompleted": self._stage_completed,
                "SparkListenerBlockUpdated": self._block_updated,
                **self._jobs.handlers,
                **self._machines.handlers,
                **self._cache.handlers,
                **self._sql.handlers,
            }.items()
        }

    def read(self, lines: Iterable[bytes]) -> None:
        """Read all events; those that are malformed are counted and passed over.

        Raises:
            EventLogError: there are more tasks than allowed.
        """
        handlers, passed_over = self._handlers, PASSED_OVER
        for line in lines:
            name = event_name(line)
            if name in passed_over:
                continue
            handler = handlers.get(name)
            if handler is None:
                self._count_unknown(name, line)
                continue
            if has_too_many_values(line):
                self._notes.too_long_lines += 1
                continue
            try:
                handler(line)
            except MALFORMED:
                self._notes.unreadable_lines += 1

    def _count_unknown(self, name: bytes, line: bytes) -> None:
        if not name:
            self._notes.unreadable_lines += bool(line.strip())
            return
        text = name.decode(errors="replace")
        if text.startswith(_STREAMING_QUERY):
            self._is_streaming = True
        elif text in self._unknown or len(self._unknown) < MOST_UNKNOWN_NAMES:
            self._unknown[text] = self._unknown.get(text, 0) + 1

    def _log_started(self, line: bytes) -> None:
        self._spark = self._spark or shortened(msgspec.json.decode(line, type=LogStart).spark) or None

    def _started(self, line: bytes) -> None:
        started = msgspec.json.decode(line, type=ApplicationStart)
        if self._start is None:
            self._start = started
        elif started.application_id != self._start.application_id:
            other = shortened(started.application_id)
            self._notes.tell(f"It holds the events of another application, too ({other}).")

    def _ended(self, line: bytes) -> None:
        self._ended_at = msgspec.json.decode(line, type=MomentOnly).timestamp / 1000
        self._machines.application_ended = True

    def _stage_completed(self, line: bytes) -> None:
        self._cache.stage_completed(self._jobs.stage_told(line))

    def _block_updated(self, line: bytes) -> None:
        self._cache.block_updated(line)
        self._machines.block_updated(line)

    def _environment_told(self, line: bytes) -> None:
        told = told_properties(msgspec.json.decode(line, type=EnvironmentUpdate).properties)
        # Connect servers and the like tell it again when jars are added.
        new = {name: value for name, value in told.items() if self._properties.get(name) != value}
        self._notes.bounds.keep(ENTRY_BYTES * len(new), *new, *new.values())
        self._properties.update(new)

    def event_log(self, source: str, application_id: str) -> EventLog:
        """The tables.

        Args:
            source: the log's name, for the error.
            application_id: as the log's name tells it, where its events do not.

        Raises:
            EventLogError: no application started in it.
        """
        if self._start is None:
            raise EventLogError(
                f"{source} is no event log of Spark, or lacks its beginning: no application starts in it.",
                remedy="Give a log that Spark wrote with spark.eventLog.enabled=true: the file or, where it "
                "is rolled over, the folder eventlog_v2_...",
            )
        self._cache.look()
        started_at = self._start.timestamp / 1000
        parts = (self._tasks, self._jobs, self._machines, self._sql)
        executors = self._machines.rows
        if any(executor.executor_id == DRIVER for executor in executors):
            self._notes.tell("It ran inside its driver: there were no machines, only the driver's threads.")
        return EventLog(
            application_id=shortened(self._start.application_id) or application_id,
            name=shortened(self._start.name),
            spark=self._spark,
            master=self._properties.get("spark.master", ""),
            started_at=started_at,
            ended_at=max(started_at, self._ended_at or max(part.last_at for part in parts)),
            is_complete=self._ended_at is not None,
            properties=self._properties,
            jobs=self._jobs.rows,
            stages=self._jobs.stages,
            executors=executors,
            tasks=self._tasks.table(self._machines.numbers),
            sql_executions=self._sql.rows(self._jobs.failed_executions),
            broadcast_bytes=self._machines.broadcast_bytes,
            storage_memory_bytes=self._cache.storage_memory_bytes,
            cache=self._cache.peak if self._cache.told else None,
            is_streaming=self._is_streaming or self._jobs.is_streaming,
            unknown_events=dict(sorted(self._unknown.items())),
            unreadable_lines=self._notes.unreadable_lines,
            warnings=tuple(self._warnings()),
        )

    def _warnings(self) -> list[str]:
        notes = self._notes
        warnings = list(notes.problems)
        if self._ended_at is None:
            warnings.append("It does not tell the application's end: it was cut off, or still runs.")
        if notes.unreadable_lines:
            warnings.append(f"{notes.unreadable_lines} of its lines are no events and were passed over.")
        if notes.too_long_lines:
            warnings.append(f"{notes.too_long_lines} of its lines were passed over for their length.")
        if notes.bounds.is_full:
            warnings.append(
                f"It tells of more jobs, stages, executors and queries than {MOST_KEPT_BYTES >> 20} MiB "
                "hold: what found no room was passed over."
            )
        return warnings
