"""Reading Spark's event log: into tables, or counting in one that is still being written."""

from __future__ import annotations

import struct
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from airflow_provider_ernest.eventlog.bounds import (
    ENTRY_BYTES,
    MOST_KEPT_BYTES,
    Bounds,
    Notes,
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
from airflow_provider_ernest.eventlog.compression import text_of
from airflow_provider_ernest.eventlog.events import (
    PASSED_OVER,
    ApplicationStart,
    EnvironmentUpdate,
    LogStart,
    MomentOnly,
    TaskEnd,
    event_name,
)
from airflow_provider_ernest.eventlog.files import (
    MAX_LINE_BYTES,
    application_of_name,
    codec_of_name,
    event_files,
    open_lines,
)
from airflow_provider_ernest.eventlog.tables import DRIVER, EventLog
from airflow_provider_ernest.eventlog.tasks import MOST_TASKS, TaskRows, counts
from airflow_provider_ernest.exceptions import ErnestError, EventLogError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from airflow_provider_ernest.eventlog.tables import ExecutorRow

MALFORMED = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError, struct.error)
"""What decoders and columns say of an event that is none of Spark's: wrong types, numbers without bounds,
values nested without end."""

MOST_UNKNOWN_NAMES = 1000
_STREAMING_QUERY = "org.apache.spark.sql.streaming.StreamingQueryListener$"

REST_FACTOR = 20.0
"""A compressed log is decompressed from its beginning each time: so many times as long it is then let be."""


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
    notes = Notes(bounds=Bounds(most_seconds=most_seconds))
    application = Application(notes, most_tasks=MOST_TASKS if most_tasks is None else most_tasks)
    application.read(open_lines(source, notes=notes))
    name = str(source).rstrip("/").rpartition("/")[2]
    return application.event_log(str(source), application_of_name(name))


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
            task_columns=self._tasks.table(self._machines.numbers),
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


class EventLogProgress:
    """Counts executors, stages and tasks in an event log that is still being written.

    What counts as a task, an executor or a loss is what counts where the whole log is read.

    Attributes:
        stages: that were completed.
        tasks: that did their work.
    """

    def __init__(self) -> None:
        self.stages = 0
        self.tasks = 0
        self._machines = Machines(Bounds())
        self._task = msgspec.json.Decoder(TaskEnd).decode
        self._handlers: dict[bytes, Callable[[bytes], None]] = {
            b"SparkListenerStageCompleted": self._stage_completed,
            b"SparkListenerTaskEnd": self._task_ended,
            b"SparkListenerApplicationEnd": self._ended,
            **{name.encode(): handler for name, handler in self._machines.handlers.items()},
        }
        self._read_bytes: dict[str, int] = {}
        self._rests_until = 0.0

    @property
    def executors(self) -> int:
        """How many have registered."""
        return len(self._machines.rows)

    @property
    def lost(self) -> ExecutorRow | None:
        """The first executor that was removed before the application's end."""
        return next((executor for executor in self._machines.rows if executor.is_lost), None)

    def read(self, event_log: Path) -> None:
        """Read on from where the last call ended; a file that is renamed meanwhile is read next time."""
        began = time.monotonic()
        is_resting = began < self._rests_until
        try:
            for file in event_files(event_log, Notes()):
                if codec_of_name(file.name) is None:
                    self._read_plain(file)
                elif not is_resting:
                    self._read_compressed(file)
                    self._rests_until = began + (1 + REST_FACTOR) * (time.monotonic() - began)
        # A folder whose first file is not there yet holds no log.
        except (OSError, ErnestError):
            return

    def _read_plain(self, file: Any) -> None:
        name = _lasting_name(file)
        known = self._read_bytes.get(name, 0)
        with file.open("rb") as content:
            content.seek(known)
            # What is longer than any line is not read on: it never ends with one.
            lines = iter(lambda: content.readline(MAX_LINE_BYTES), b"")
            self._read_bytes[name] = known + self._count_all(lines)

    def _read_compressed(self, file: Any) -> None:
        name = _lasting_name(file)
        known = self._read_bytes.get(name, 0)
        with file.open("rb") as content:
            text = text_of(content, file.name, Notes())
            self._read_bytes[name] = known + self._count_all(_lines_after(text, known))

    def _count_all(self, lines: Iterable[bytes]) -> int:
        """Count lines that end; returns their bytes."""
        counted = 0
        for line in lines:
            if not line.endswith(b"\n"):
                break
            counted += len(line)
            handler = self._handlers.get(event_name(line))
            # Without the watch that reads this, nothing would end a run that takes too long.
            with suppress(*MALFORMED):
                if handler is not None:
                    handler(line)
        return counted

    def _stage_completed(self, line: bytes) -> None:
        self.stages += 1

    def _task_ended(self, line: bytes) -> None:
        self.tasks += counts(self._task(line).reason)

    def _ended(self, line: bytes) -> None:
        self._machines.application_ended = True

    def __str__(self) -> str:
        return f"{self.stages} stages and {self.tasks} tasks finished"


def _lasting_name(file: Any) -> str:
    """What stays of a file's name when it is renamed: the number, or the application."""
    return str(file.name).partition(".")[0]


def _lines_after(text: Iterator[bytes], known: int) -> Iterator[bytes]:
    """The lines behind the first bytes of a text, with their ends; the last may have none."""
    rest = b""
    for chunk in text:
        skipped = min(known, len(chunk))
        known -= skipped
        *lines, rest = (rest + chunk[skipped:]).split(b"\n")
        yield from (line + b"\n" for line in lines)
        if len(rest) > MAX_LINE_BYTES:
            return
    yield rest
