"""Reading Spark's event logs: into tables, or counting in one that is still being written."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from airflow_provider_ernest.eventlog.bounds import (
    ENTRY_BYTES,
    MOST_KEPT_BYTES,
    Notes,
    has_too_many_values,
    shortened,
)
from airflow_provider_ernest.eventlog.collecting import (
    Blocks,
    Jobs,
    Machines,
    SqlExecutions,
    main_folder,
    main_program,
    told_properties,
)
from airflow_provider_ernest.eventlog.compression import text_of
from airflow_provider_ernest.eventlog.events import (
    PASSED_OVER,
    ApplicationEnd,
    ApplicationStart,
    BlockManagerEvent,
    DataSetDropped,
    DriverUpdates,
    EnvironmentUpdate,
    ExecutionEnd,
    ExecutionPlan,
    ExecutorAdded,
    ExecutorRemoved,
    JobEnd,
    JobStart,
    LogStart,
    ResourceProfileAdded,
    StageEvent,
    StreamEnd,
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
from airflow_provider_ernest.words import counted

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_provider_ernest.eventlog.tables import ExecutorRow

_MALFORMED = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError, struct.error)
"""What decoders and columns say of an event that is none of Spark's: wrong types, numbers without bounds,
values nested without end."""

_MOST_UNKNOWN_NAMES = 1000
_STREAMING_QUERY = "org.apache.spark.sql.streaming.StreamingQueryListener$"
_STREAM_STARTED = f"{_STREAMING_QUERY}QueryStartedEvent"
_SQL = "org.apache.spark.sql.execution.ui.SparkListener"

REST_FACTOR = 20.0
"""A compressed log is decompressed from its beginning each time: so many times as long it is then let be."""


def read_event_log(
    source: Any, *, most_tasks: int | None = None, most_seconds: float | None = None
) -> EventLog:
    """Read the event log of one application, of Spark 3.3 or later.

    It is read as a stream: the tables are all that is kept of it. What of it cannot be read is left out, and
    the log's `warnings`, `unreadable_lines` and `unknown_events` say so.

    Args:
        source: a path, an address that fsspec can open (s3://bucket/key), or anything with a path's methods,
            such as Airflow's `ObjectStoragePath`: a log's file, compressed or not, or the folder of one that
            is rolled over (``eventlog_v2_...``, or Databricks' with ``eventlog``), of an application that has
            ended or still runs.
        most_tasks: a log of more tasks is refused, to bound the memory: a task takes some 230 bytes. None
            for `MOST_TASKS`.
        most_seconds: to read for: whoever waits no longer shall not leave the work behind; None for no limit.

    Raises:
        EventLogError: it cannot be read, no application starts in it, or it has more than `most_tasks` tasks,
            or takes longer than `most_seconds`.
        MissingResourceError: the library that opens such an address is not installed.
    """
    notes = Notes(most_seconds=most_seconds)
    application = _Application(notes, most_tasks=MOST_TASKS if most_tasks is None else most_tasks)
    application.events.read(open_lines(source, notes=notes))
    name = str(source).rstrip("/").rpartition("/")[2]
    return application.event_log(str(source), application_of_name(name))


_Reader = Callable[[bytes], object]


def _read_by(form: type[Any], handle: Callable[[Any], object]) -> _Reader:
    decode = msgspec.json.Decoder(form).decode
    return lambda line: handle(decode(line))


class _Events:
    """Gives each line of a log to what reads events of its name.

    Args:
        notes: where lines that cannot be read are counted.
        readers: by the event's name: what reads its line, or the form to decode it as and what then takes it.
    """

    def __init__(self, notes: Notes, readers: Mapping[str, _Reader | tuple[type[Any], Any]]) -> None:
        self.unknown: dict[str, int] = {}
        self._notes = notes
        self._readers = {
            name.encode(): _read_by(*reader) if isinstance(reader, tuple) else reader
            for name, reader in readers.items()
        }

    def read(self, lines: Iterable[bytes]) -> None:
        """Read all events; those that are malformed are counted and passed over.

        Raises:
            EventLogError: there are more tasks than allowed.
        """
        readers, passed_over = self._readers, PASSED_OVER
        for line in lines:
            name = event_name(line)
            if name in passed_over:
                continue
            reader = readers.get(name)
            if reader is None:
                self._count_unknown(name, line)
                continue
            if has_too_many_values(line):
                self._notes.too_long_lines += 1
                continue
            try:
                reader(line)
            except _MALFORMED:
                self._notes.unreadable_lines += 1

    def _count_unknown(self, name: bytes, line: bytes) -> None:
        if not name:
            self._notes.unreadable_lines += bool(line.strip())
            return
        text = name.decode(errors="replace")
        if text in self.unknown or len(self.unknown) < _MOST_UNKNOWN_NAMES:
            self.unknown[text] = self.unknown.get(text, 0) + 1


class _Application:
    """Collects what the events of one application tell."""

    def __init__(self, notes: Notes, *, most_tasks: int) -> None:
        self._notes = notes
        self._tasks = TaskRows(notes, most_tasks=most_tasks)
        self._jobs = Jobs(notes)
        self._machines = Machines(notes)
        self._blocks = Blocks(notes)
        self._sql = SqlExecutions(notes)
        self._start: ApplicationStart | None = None
        self._ended_at: float | None = None
        self._exit_code: int | None = None
        self._streams_ended = 0
        self._spark: str | None = None
        self._properties: dict[str, str] = {}
        self._main = self._folder = ""
        self.events = _Events(
            notes,
            {
                "SparkListenerLogStart": (LogStart, self._log_started),
                # Of Databricks, in its place.
                "DBCEventLoggingListenerMetadata": (LogStart, self._log_started),
                "SparkListenerApplicationStart": (ApplicationStart, self._started),
                "SparkListenerApplicationEnd": (ApplicationEnd, self._ended),
                "SparkListenerEnvironmentUpdate": (EnvironmentUpdate, self._environment_changed),
                "SparkListenerResourceProfileAdded": (ResourceProfileAdded, self._machines.profile_added),
                "SparkListenerTaskEnd": self._tasks.add,
                "SparkListenerJobStart": (JobStart, self._jobs.started),
                "SparkListenerJobEnd": (JobEnd, self._jobs.ended),
                "SparkListenerStageSubmitted": (StageEvent, self._jobs.stage_changed),
                "SparkListenerStageCompleted": (StageEvent, self._stage_completed),
                "SparkListenerExecutorAdded": (ExecutorAdded, self._machines.added),
                "SparkListenerExecutorRemoved": (ExecutorRemoved, self._machines.removed),
                "SparkListenerBlockManagerAdded": (BlockManagerEvent, self._blocks.executor_added),
                "SparkListenerBlockManagerRemoved": (BlockManagerEvent, self._blocks.executor_removed),
                "SparkListenerBlockUpdated": self._blocks.updated,
                "SparkListenerUnpersistRDD": (DataSetDropped, self._unpersisted),
                f"{_SQL}SQLExecutionStart": (ExecutionPlan, self._sql.planned),
                f"{_SQL}SQLAdaptiveExecutionUpdate": (ExecutionPlan, self._sql.planned),
                f"{_SQL}SQLExecutionEnd": (ExecutionEnd, self._sql.ended),
                f"{_SQL}DriverAccumUpdates": (DriverUpdates, self._sql.updated),
                f"{_STREAMING_QUERY}QueryTerminatedEvent": (StreamEnd, self._stream_ended),
            },
        )

    def _log_started(self, event: LogStart) -> None:
        self._spark = self._spark or shortened(event.spark_version) or None

    def _started(self, event: ApplicationStart) -> None:
        if self._start is None:
            self._start = event
        elif event.app_id != self._start.app_id:
            other = shortened(event.app_id)
            self._notes.add_problem(f"It holds the events of another application, too ({other}).")

    def _ended(self, event: ApplicationEnd) -> None:
        self._ended_at, self._exit_code = event.timestamp / 1000, event.exit_code
        self._machines.application_ended = True

    def _stream_ended(self, event: StreamEnd) -> None:
        self._streams_ended += not event.exception

    def _stage_completed(self, event: StageEvent) -> None:
        self._jobs.stage_changed(event)
        self._blocks.stage_completed(event)

    def _unpersisted(self, event: DataSetDropped) -> None:
        self._jobs.unpersisted(event)
        self._blocks.unpersisted(event)

    def _environment_changed(self, event: EnvironmentUpdate) -> None:
        told = told_properties(event.spark_properties)
        # Connect servers and the like tell it again when jars are added.
        new = {name: value for name, value in told.items() if self._properties.get(name) != value}
        self._notes.keep(ENTRY_BYTES * len(new), *new, *new.values())
        self._properties.update(new)
        if not self._main:
            self._main = main_program(event.system_properties)
            self._folder = main_folder(event.system_properties)

    def event_log(self, source: str, application_id: str) -> EventLog:
        """The tables.

        Raises:
            EventLogError: no application started in it.
        """
        if self._start is None:
            raise EventLogError(
                f"{source} is no event log of Spark, or lacks its beginning: no application starts in it.",
                remedy="Give a log that Spark wrote with spark.eventLog.enabled=true: the file or, where it "
                "is rolled over, the folder eventlog_v2_...",
            )
        self._blocks.look()
        if DRIVER in self._machines.rows:
            self._notes.add_problem(
                "It ran inside its driver: there were no machines, only the driver's threads."
            )
        started_at = self._start.timestamp / 1000
        tasks = self._tasks.table(self._machines.numbers)
        last_at = max(self._notes.last_at, float(tasks.finished_at.max(initial=0.0)))
        unknown = sorted(self.events.unknown.items())
        return EventLog(
            application_id=shortened(self._start.app_id) or application_id,
            name=shortened(self._start.app_name),
            spark=self._spark,
            master=self._properties.get("spark.master", ""),
            main=self._main,
            main_folder=self._folder,
            started_at=started_at,
            ended_at=max(started_at, self._ended_at or last_at),
            is_complete=self._ended_at is not None,
            exit_code=self._exit_code,
            properties=self._properties,
            jobs=tuple(self._jobs.rows.values()),
            stages=tuple(self._jobs.stages.values()),
            executors=tuple(self._machines.rows.values()),
            task_columns=tasks,
            sql_executions=self._sql.rows(self._jobs.failed_executions),
            broadcast_bytes=self._blocks.broadcast_bytes,
            storage_memory_bytes=self._blocks.storage_memory_bytes,
            cache=self._blocks.peak if self._blocks.are_logged else None,
            executor_memory_megabytes=self._machines.executor_memory_megabytes,
            python_crashes=self._tasks.python_crashes,
            is_streaming=self._jobs.is_streaming or any(_is_streaming(name) for name, _ in unknown),
            streams_ended=0 < self.events.unknown.get(_STREAM_STARTED, 0) == self._streams_ended,
            unknown_events={name: count for name, count in unknown if not _is_streaming(name)},
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
        if notes.is_full:
            warnings.append(
                f"It tells of more jobs, stages, executors and queries than {MOST_KEPT_BYTES >> 20} MiB "
                "hold: what found no room was passed over."
            )
        return warnings


def _is_streaming(event: str) -> bool:
    return event.startswith(_STREAMING_QUERY)


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
        notes = Notes()
        self._machines = Machines(notes)
        self._events = _Events(
            notes,
            {
                "SparkListenerStageCompleted": self._stage_completed,
                "SparkListenerTaskEnd": (TaskEnd, self._task_ended),
                "SparkListenerExecutorAdded": (ExecutorAdded, self._machines.added),
                "SparkListenerExecutorRemoved": (ExecutorRemoved, self._machines.removed),
                "SparkListenerApplicationEnd": self._ended,
            },
        )
        self._read_bytes: dict[str, int] = {}
        self._rests_until = 0.0

    def __str__(self) -> str:
        return f"{counted(self.stages, 'stage')} and {counted(self.tasks, 'task')} finished"

    @property
    def executors(self) -> int:
        """How many have registered."""
        return len(self._machines.rows)

    @property
    def lost(self) -> ExecutorRow | None:
        """The first executor that was removed before the application's end."""
        return next((executor for executor in self._machines.rows.values() if executor.is_lost), None)

    def read(self, event_log: Path) -> None:
        """Read on from where the last call ended; a file that is renamed meanwhile is read next time."""
        began = time.monotonic()
        is_resting = began < self._rests_until
        try:
            for file in event_files(event_log, Notes()):
                if codec_of_name(file.name) is None:
                    self._read_on(file, _lines_from)
                elif not is_resting:
                    self._read_on(file, _unpacked_lines_from)
                    self._rests_until = began + (1 + REST_FACTOR) * (time.monotonic() - began)
        # A folder whose first file is not there yet holds no log.
        except (OSError, ErnestError):
            return

    def _read_on(self, file: Any, lines_from: Callable[[Any, str, int], Iterator[bytes]]) -> None:
        # What stays of a file's name when it is renamed: the number, or the application.
        name = str(file.name).partition(".")[0]
        with file.open("rb") as content:
            self._events.read(
                self._whole(lines_from(content, file.name, self._read_bytes.get(name, 0)), name)
            )

    def _whole(self, lines: Iterable[bytes], name: str) -> Iterator[bytes]:
        """The lines that have an end, which count as read."""
        for line in lines:
            if not line.endswith(b"\n"):
                return
            self._read_bytes[name] = self._read_bytes.get(name, 0) + len(line)
            yield line

    def _stage_completed(self, line: bytes) -> None:
        self.stages += 1

    def _task_ended(self, event: TaskEnd) -> None:
        self.tasks += counts(event.task_end_reason)

    def _ended(self, line: bytes) -> None:
        self._machines.application_ended = True


def _lines_from(content: Any, name: str, known: int) -> Iterator[bytes]:
    """The lines behind the first bytes of a file, with their ends; the last may have none."""
    content.seek(known)
    # What is longer than any line is not read on: it never ends with one.
    return iter(lambda: content.readline(MAX_LINE_BYTES), b"")


def _unpacked_lines_from(content: Any, name: str, known: int) -> Iterator[bytes]:
    """The same of a compressed file; the bytes are those of its text."""
    rest = b""
    for chunk in text_of(content, name, Notes()):
        skipped = min(known, len(chunk))
        known -= skipped
        *lines, rest = (rest + chunk[skipped:]).split(b"\n")
        yield from (line + b"\n" for line in lines)
        if len(rest) > MAX_LINE_BYTES:
            return
    yield rest
