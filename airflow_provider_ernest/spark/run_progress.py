"""Counting in an event log that is still being written: for a run's progress, and to see what it loses."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.spark.executors import Executor, LostExecutor, added_executor, lost_executor
from airflow_provider_ernest.spark.log_reading.compression import text_of
from airflow_provider_ernest.spark.log_reading.files import event_files
from airflow_provider_ernest.spark.log_reading.log_names import codec_of_name
from airflow_provider_ernest.spark.log_reading.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

REST_FACTOR = 20.0
"""A compressed log is decompressed from its beginning each time: so many times as long it is then let be."""


class EventLogProgress:
    """Counts executors, stages and tasks in an event log that is still being written.

    Attributes:
        lost: the first executor that was removed before the application's end.
    """

    def __init__(self) -> None:
        self.executors = 0
        self.stages = 0
        self.tasks = 0
        self.lost: LostExecutor | None = None
        self._known: list[Executor] = []
        self._ended = False
        self._read_bytes: dict[str, int] = {}
        self._rests_until = 0.0

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
            self._read_bytes[name] = known + self._count_all(content)

    def _read_compressed(self, file: Any) -> None:
        name = _lasting_name(file)
        known = self._read_bytes.get(name, 0)
        with file.open("rb") as content:
            text = text_of(content, file.name, Notes())
            self._read_bytes[name] = known + self._count_all(_lines_after(text, known))

    def _count_all(self, lines: Any) -> int:
        """Count lines that end; returns their bytes."""
        counted = 0
        for line in lines:
            if not line.endswith(b"\n"):
                break
            counted += len(line)
            # Without the watch that reads this, nothing would end a run that takes too long.
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                self._count(line)
        return counted

    def _count(self, line: bytes) -> None:
        self.stages += line.startswith(b'{"Event":"SparkListenerStageCompleted"')
        self.tasks += line.startswith(b'{"Event":"SparkListenerTaskEnd"')
        if line.startswith(b'{"Event":"SparkListenerExecutorAdded"'):
            self.executors += 1
            self._known.append(added_executor(json.loads(line)))
        elif line.startswith(b'{"Event":"SparkListenerApplicationEnd"'):
            self._ended = True
        elif line.startswith(b'{"Event":"SparkListenerExecutorRemoved"') and not self._ended:
            self.lost = self.lost or lost_executor(json.loads(line), self._known)

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
    yield rest
