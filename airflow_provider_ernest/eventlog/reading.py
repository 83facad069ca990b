"""Reading Spark's event logs: into tables, or counting in one that is still being written."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import msgspec

from airflow_provider_ernest.eventlog import events
from airflow_provider_ernest.eventlog.collecting import (
    MOST_TASKS,
    SUCCESS,
    Blocks,
    Executors,
    Jobs,
    SqlExecutions,
    TaskRows,
)
from airflow_provider_ernest.eventlog.files import (
    ENTRY_BYTES,
    MAX_LINE_BYTES,
    MOST_CHARACTERS,
    MOST_KEPT_BYTES,
    Notes,
    application_of_name,
    event_files,
    has_too_many_values,
    is_packed,
    open_lines,
    shortened,
)
from airflow_provider_ernest.eventlog.tables import DRIVER, EventLog, ExecutorRow
from airflow_provider_ernest.exceptions import ErnestError, EventLogError
from airflow_provider_ernest.privacy import names_a_secret, without_credentials
from airflow_provider_ernest.words import counted

# Raised by decoders and columns for events that Spark never writes.
_MALFORMED = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError, struct.error)

_BEFORE_PROPERTIES = 100
"""Spark tells an application's properties in one of so many first events."""

_STREAM = "org.apache.spark.sql.streaming.StreamingQueryListener$"
_SQL = "org.apache.spark.sql.execution.ui.SparkListener"


def read_event_log(source: Any, *, most_tasks: int | None = None) -> EventLog:
    """Read the event log of one application, of Spark 3.3 or later.

    It is read as a stream; only the tables are kept. What cannot be read is left out, and the log's
    `warnings` and `unreadable_lines` say so; events of a later Spark are passed over.

    Args:
        source: a path, an address for fsspec (s3://bucket/key), or any path-like object such as Airflow's
            `ObjectStoragePath`: a log's file, compressed or not, or the folder of a rolled log
            (``eventlog_v2_...``, or Databricks' with ``eventlog``). The application may still run.
        most_tasks: a log with more is refused, to bound the memory (a task takes some 230 bytes);
            `MOST_TASKS` if None.

    Raises:
        EventLogError: it cannot be read, no application starts in it, or it has more tasks.
        MissingResourceError: the library that opens such an address is not installed.
    """
    notes = Notes()
    application = _Application(notes, most_tasks=MOST_TASKS if most_tasks is None else most_tasks)
    _read(open_lines(source, notes=notes), notes, application.readers)
    name = str(source).rstrip("/").rpartition("/")[2]
    return application.event_log(str(source), application_of_name(name))


def property_of(source: Any, name: str) -> str | None:
    """A Spark property by the first events of a log; None where they do not tell it, or cannot be read."""
    with suppress(ErnestError, *_MALFORMED):
        for line in islice(open_lines(source), _BEFORE_PROPERTIES):
            if events.event_name(line) == b"SparkListenerEnvironmentUpdate":
                told = msgspec.json.decode(line, type=events.EnvironmentUpdate).spark_properties.get(name)
                return None if told is None else str(told)
    return None


# What reads the line of an event, or the form to decode it as and a handler for that.
_Reader = Callable[[bytes], object] | tuple[type[Any], Callable[[Any], object]]


def _read(lines: Iterable[bytes], notes: Notes, readers: Mapping[str, _Reader]) -> None:
    """Give each line of a log to the reader of its event; lines that cannot be read are counted in `notes`.

    Raises:
        EventLogError: there are more tasks than allowed.
    """
    by_name = {
        name.encode(): _decoding(*reader) if isinstance(reader, tuple) else reader
        for name, reader in readers.items()
    }
    for line in lines:
        name = events.event_name(line)
        reader = by_name.get(name)
        if reader is None:
            notes.unreadable_lines += not name and bool(line.strip())
        elif has_too_many_values(line):
            notes.too_long_lines += 1
        else:
            try:
                reader(line)
            except _MALFORMED:
                notes.unreadable_lines += 1


def _decoding(form: type[Any], handle: Callable[[Any], object]) -> Callable[[bytes], object]:
    decode = msgspec.json.Decoder(form).decode
    return lambda line: handle(decode(line))


class _Application:
    def __init__(self, notes: Notes, *, most_tasks: int) -> None:
        self._notes = notes
        self._tasks = TaskRows(notes, most_tasks=most_tasks)
        self._jobs = Jobs(notes)
        self._executors = Executors(notes)
        self._blocks = Blocks(notes)
        self._sql = SqlExecutions(notes)
        self._start: events.ApplicationStart | None = None
        self._ended_at: float | None = None
        self._exit_code: int | None = None
        self._streams_begun = self._streams_ended = 0
        self._has_streams = False
        self._spark: str | None = None
        self._properties: dict[str, str] = {}
        self._main = self._folder = ""
        self.readers: dict[str, _Reader] = {
            "SparkListenerLogStart": (events.LogStart, self._log_started),
            # Databricks writes this instead.
            "DBCEventLoggingListenerMetadata": (events.LogStart, self._log_started),
            "SparkListenerApplicationStart": (events.ApplicationStart, self._started),
            "SparkListenerApplicationEnd": (events.ApplicationEnd, self._ended),
            "SparkListenerEnvironmentUpdate": (events.EnvironmentUpdate, self._environment_changed),
            "SparkListenerResourceProfileAdded": (events.ResourceProfileAdded, self._executors.profile_added),
            "SparkListenerTaskEnd": self._tasks.add,
            "SparkListenerJobStart": (events.JobStart, self._jobs.started),
            "SparkListenerJobEnd": (events.JobEnd, self._jobs.ended),
            "SparkListenerStageSubmitted": (events.StageEvent, self._jobs.stage_changed),
            "SparkListenerStageCompleted": (events.StageEvent, self._stage_completed),
            "SparkListenerExecutorAdded": (events.ExecutorAdded, self._executors.added),
            "SparkListenerExecutorRemoved": (events.ExecutorRemoved, self._executors.removed),
            "SparkListenerBlockManagerAdded": (events.BlockManagerEvent, self._blocks.executor_added),
            "SparkListenerBlockManagerRemoved": (events.BlockManagerEvent, self._blocks.executor_removed),
            "SparkListenerBlockUpdated": self._blocks.updated,
            "SparkListenerUnpersistRDD": (events.DataSetDropped, self._unpersisted),
            f"{_SQL}SQLExecutionStart": (events.ExecutionPlan, self._sql.planned),
            f"{_SQL}SQLAdaptiveExecutionUpdate": (events.ExecutionPlan, self._sql.planned),
            f"{_SQL}SQLExecutionEnd": (events.ExecutionEnd, self._sql.ended),
            f"{_SQL}DriverAccumUpdates": (events.DriverUpdates, self._sql.updated),
            f"{_STREAM}QueryStartedEvent": self._stream_begun,
            f"{_STREAM}QueryProgressEvent": self._stream_goes_on,
            f"{_STREAM}QueryIdleEvent": self._stream_goes_on,
            f"{_STREAM}QueryTerminatedEvent": (events.StreamEnd, self._stream_ended),
        }

    def _log_started(self, event: events.LogStart) -> None:
        self._spark = self._spark or shortened(event.spark_version) or None

    def _started(self, event: events.ApplicationStart) -> None:
        if self._start is None:
            self._start = event
        elif event.app_id != self._start.app_id:
            other = shortened(event.app_id)
            self._notes.add_problem(f"It holds the events of another application, too ({other}).")

    def _ended(self, event: events.ApplicationEnd) -> None:
        self._ended_at, self._exit_code = event.timestamp / 1000, event.exit_code
        self._executors.application_ended = True

    def _stream_begun(self, line: bytes) -> None:
        self._streams_begun += 1
        self._has_streams = True

    def _stream_goes_on(self, line: bytes) -> None:
        self._has_streams = True

    def _stream_ended(self, event: events.StreamEnd) -> None:
        self._streams_ended += not event.exception

    def _stage_completed(self, event: events.StageEvent) -> None:
        self._jobs.stage_changed(event)
        self._blocks.stage_completed(event)

    def _unpersisted(self, event: events.DataSetDropped) -> None:
        self._jobs.unpersisted(event)
        self._blocks.unpersisted(event)

    def _environment_changed(self, event: events.EnvironmentUpdate) -> None:
        told = {
            name: without_credentials(value)
            for name, value in event.spark_properties.items()
            if isinstance(value, str) and not _hints_at_a_secret(name, value)
        }
        # Spark Connect servers, for one, write it again when jars are added.
        new = {name: value for name, value in told.items() if self._properties.get(name) != value}
        self._notes.keep(ENTRY_BYTES * len(new), *new, *new.values())
        self._properties.update(new)
        if not self._main:
            self._main, self._folder = _main_of(event.system_properties)

    def event_log(self, source: str, application_id: str) -> EventLog:
        """The tables.

        Raises:
            EventLogError: no application started in it.
        """
        if self._start is None:
            raise EventLogError(
                f"{source} is no event log of Spark, or lacks its beginning: no application starts in it.",
                remedy="Give a log that Spark wrote with spark.eventLog.enabled=true: the file, or the "
                "folder eventlog_v2_... of a rolled log.",
            )
        self._blocks.look()
        if DRIVER in self._executors.rows:
            self._notes.add_problem(
                "It ran inside its driver: there were no machines, only the driver's threads."
            )
        started_at = self._start.timestamp / 1000
        executors = tuple(self._executors.rows.values())
        tasks = self._tasks.table({each.executor_id: each.number for each in executors})
        last_at = max(self._notes.last_at, float(tasks.finished_at.max(initial=0.0)))
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
            executors=executors,
            task_columns=tasks,
            sql_executions=self._sql.rows(self._jobs.rows.values()),
            storage_memory_bytes=self._blocks.storage_memory_bytes,
            cache=self._blocks.peak if self._blocks.are_logged else None,
            executor_memory_megabytes=self._executors.executor_memory_megabytes,
            python_crashes=self._tasks.python_crashes,
            is_streaming=self._jobs.is_streaming or self._has_streams,
            streams_ended=0 < self._streams_begun == self._streams_ended,
            unreadable_lines=self._notes.unreadable_lines,
            warnings=tuple(self._warnings()),
        )

    def _warnings(self) -> list[str]:
        notes = self._notes
        warnings = list(notes.problems)
        if self._ended_at is None:
            warnings.append("The application's end is not in it: the log was cut off, or the run goes on.")
        if notes.unreadable_lines:
            warnings.append(f"{notes.unreadable_lines} of its lines are not events and were skipped.")
        if notes.too_long_lines:
            warnings.append(f"{notes.too_long_lines} of its lines were too long to read and were skipped.")
        if notes.is_full:
            warnings.append(
                f"Its jobs, stages, executors and queries take more than {MOST_KEPT_BYTES >> 20} MiB: the "
                "rest was skipped."
            )
        return warnings


_COMMAND = "sun.java.command"
_MOST_COMMAND = 20_000
_NAMES_THE_PROGRAM = ("--class", "--primary-py-file", "--primary-r-file")
_LISTS = ("--jars", "--py-files", "--files", "--archives")
_FILES = (".py", ".jar", ".r")

# Runs a driver on a standalone cluster; its arguments are the worker, the file and the class.
_DRIVER_WRAPPER = "org.apache.spark.deploy.worker.DriverWrapper"

_PROGRAM = re.compile(r"[A-Za-z_][\w.$-]*")
# Shells, servers and launchers, which are the same for whatever runs in them.
_NO_PROGRAMS = (
    "org.apache.spark.",
    "org.apache.hive.",
    "org.apache.livy.",
    "org.apache.zeppelin.",
    "com.databricks.",
)


def _main_of(properties: Mapping[str, object]) -> tuple[str, str]:
    """The names of an application's main class or file, and of the file's folder; empty if unknown.

    Nothing else of the command is kept: its arguments may hold anything.
    """
    place = next(filter(_program, _naming(properties)), "").replace("\\", "/")
    folder = place.rpartition("/")[0].rpartition("/")[2]
    is_one = _PROGRAM.fullmatch(folder) and len(folder) <= MOST_CHARACTERS
    return _program(place), folder if is_one else ""


def _naming(properties: Mapping[str, object]) -> Iterator[str]:
    """Words of the command; the first that can names the program."""
    command = properties.get(_COMMAND)
    launcher, *words = (command if isinstance(command, str) else "")[:_MOST_COMMAND].split() or [""]
    if launcher == _DRIVER_WRAPPER:
        yield from reversed(words[1:3])
        return
    # Values of options may hold spaces, so the end of the options is unknown: a file that is no option's
    # value.
    files = (
        at
        for at, (before, word) in enumerate(pairwise(["", *words]))
        if word.lower().endswith(_FILES) and before not in _LISTS and not set("=,") & set(word)
    )
    place = next(files, len(words))
    told = dict(reversed([*pairwise(words[: place + 1])]))  # the first of each option
    yield from (told.get(option, "") for option in _NAMES_THE_PROGRAM)
    yield from words[place : place + 1]
    yield launcher


def _program(text: str) -> str:
    """The name of the class or file; empty if it is a launcher's, or no name."""
    name = text.replace("\\", "/").rpartition("/")[2]
    is_one = _PROGRAM.fullmatch(name) and not name.startswith(_NO_PROGRAMS)
    return name if is_one and len(name) <= MOST_CHARACTERS else ""


_SHARED_ACCESS_SIGNATURE = re.compile(r"[._]sas(?:[._]|$)", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"secret|passw(?:or)?d|token|access[.]?key|redacted", re.IGNORECASE)


def _hints_at_a_secret(name: str, value: str) -> bool:
    """As ``spark.redaction.regex``, but with more words: Spark's lets Azure's account keys pass."""
    return bool(names_a_secret(name) or _SHARED_ACCESS_SIGNATURE.search(name) or _SECRET_VALUE.search(value))


class EventLogProgress:
    """Counts executors, stages and tasks that succeeded in an event log that is still being written.

    A compressed log is not followed: sample runs write plain ones.
    """

    def __init__(self) -> None:
        self.stages = 0
        self.tasks = 0
        self.is_followed = True
        self._notes = Notes()
        self._executors = Executors(self._notes)
        self._readers: dict[str, _Reader] = {
            "SparkListenerStageCompleted": self._stage_completed,
            "SparkListenerTaskEnd": (events.TaskEnd, self._task_ended),
            "SparkListenerExecutorAdded": (events.ExecutorAdded, self._executors.added),
            "SparkListenerExecutorRemoved": (events.ExecutorRemoved, self._executors.removed),
            "SparkListenerApplicationEnd": self._ended,
        }
        self._read_bytes: dict[str, int] = {}

    def __str__(self) -> str:
        return f"{counted(self.stages, 'stage')} and {counted(self.tasks, 'task')} finished"

    @property
    def executors(self) -> int:
        """How many have registered."""
        return len(self._executors.rows)

    @property
    def lost(self) -> ExecutorRow | None:
        """The first executor that was removed before the application's end."""
        return next((executor for executor in self._executors.rows.values() if executor.is_lost), None)

    def read(self, event_log: Path) -> None:
        """Read on from where the last call ended; a file renamed meanwhile is read next time."""
        try:
            for file in event_files(event_log, Notes()):
                self.is_followed = not is_packed(file.name)
                if self.is_followed:
                    with file.open("rb") as content:
                        _read(self._new_lines(content, file.name), self._notes, self._readers)
        # A folder without its first file holds no log yet.
        except (OSError, ErnestError):
            return

    def _new_lines(self, content: Any, name: str) -> Iterator[bytes]:
        # This part of a file's name stays when it is renamed: the number, or the application.
        key = name.partition(".")[0]
        content.seek(self._read_bytes.get(key, 0))
        # A longer line is cut there, has no end, and stops the reading.
        for line in iter(lambda: content.readline(MAX_LINE_BYTES), b""):
            if not line.endswith(b"\n"):
                return
            self._read_bytes[key] = self._read_bytes.get(key, 0) + len(line)
            yield line

    def _stage_completed(self, line: bytes) -> None:
        self.stages += 1

    def _task_ended(self, event: events.TaskEnd) -> None:
        self.tasks += event.task_end_reason.reason == SUCCESS

    def _ended(self, line: bytes) -> None:
        self._executors.application_ended = True
