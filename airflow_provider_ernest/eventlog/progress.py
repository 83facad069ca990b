"""Counting in an event log that is still being written: for a run's progress, and to see what it loses."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from airflow_provider_ernest.eventlog.bounds import Bounds, Notes
from airflow_provider_ernest.eventlog.collecting import Machines
from airflow_provider_ernest.eventlog.compression import text_of
from airflow_provider_ernest.eventlog.events import TaskEnd, event_name
from airflow_provider_ernest.eventlog.files import MAX_LINE_BYTES, codec_of_name, event_files
from airflow_provider_ernest.eventlog.reading import MALFORMED
from airflow_provider_ernest.eventlog.task_table import counts
from airflow_provider_ernest.exceptions import ErnestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import Any

    from airflow_provider_ernest.eventlog.tables import ExecutorRow

REST_FACTOR = 20.0
"""A compressed log is decompressed from its beginning each time: so many times as long it is then let be."""


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
