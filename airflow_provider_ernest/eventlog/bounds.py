"""What a reader of a log meets on its way, and how much memory and time any log may take.

What is kept of a log is small for what Spark writes, and is not for what was made to be large: a line of
numbers packs to nothing. So what is kept is counted as it comes, tasks apart (`TaskRows`); what no longer
finds room is left out, and a warning says so.
"""

from __future__ import annotations

import time
from sys import getsizeof

from airflow_provider_ernest.exceptions import EventLogError
from airflow_provider_ernest.words import duration

MOST_KEPT_BYTES = 256 << 20
"""For jobs, stages, executors, queries, cached blocks and properties: 200,000 stages with their jobs."""

ROW_BYTES = 600
"""Of a row of any table, with what finds it again."""

ENTRY_BYTES = 120
"""Of a number in a set or a dictionary."""

REFERENCE_BYTES = 8
"""Of a number that is kept elsewhere already."""

MOST_CHARACTERS = 500
"""Of names, hosts, reasons: nobody reads more."""

PLAIN_LINE_BYTES = 1 << 20
"""Of longer lines the values are counted before they are decoded."""

MOST_VALUES = 250_000
"""In one line; each takes up to 200 bytes while it is decoded. A text of so many commas counts as well."""

MOST_UNPACKED_TIMES = 2_000
"""So many times as long as the file may be what it unpacks to. Logs come to 20 to 60 times, gzip to 1,032."""

ALWAYS_UNPACKED_BYTES = 128 << 20

_MOST_PROBLEMS = 100


class NoRoomError(ValueError):
    """What an event says finds no room any more."""


class Notes:
    """What could not be read of one log, and what it has taken of its bounds.

    Args:
        most_seconds: to read for; None for no limit.

    Attributes:
        last_at: the last moment that an event names, in seconds since the epoch; without those of tasks.
        too_long_lines: passed over for their length.
        unreadable_lines: that were no event.
        problems: what else of the log could not be read, in sentences.
        is_full: whether something found no room.
    """

    def __init__(self, *, most_seconds: float | None = None) -> None:
        self.last_at = 0.0
        self.too_long_lines = 0
        self.unreadable_lines = 0
        self.problems: list[str] = []
        self.is_full = False
        self._kept_bytes = 0
        self._most_seconds = most_seconds
        self._ends_at = None if most_seconds is None else time.monotonic() + most_seconds

    def seen(self, moment: float) -> None:
        """An event names this moment."""
        self.last_at = max(self.last_at, moment)

    def add_problem(self, problem: str) -> None:
        """Add a problem, once."""
        if len(self.problems) < _MOST_PROBLEMS and problem not in self.problems:
            self.problems.append(problem)

    def keep(self, size_bytes: int, *texts: str) -> None:
        """Count what is going to be kept.

        Args:
            size_bytes: of it, without its texts.
            texts: that belong to it; one character makes some of them four times as long.

        Raises:
            NoRoomError: it is too much.
        """
        size_bytes += sum(map(getsizeof, texts))
        if self._kept_bytes + size_bytes > MOST_KEPT_BYTES:
            self.is_full = True
            raise NoRoomError("no room")
        self._kept_bytes += size_bytes

    def check_time(self) -> None:
        """Stop reading where it has taken too long: whoever waited for it has gone on.

        Raises:
            EventLogError: the time is over.
        """
        if self._ends_at is not None and time.monotonic() > self._ends_at:
            raise EventLogError(
                f"The event log was not read within {duration(self._most_seconds or 0.0)}.",
                remedy="Read it where there is more time, by `ernest analyze`.",
            )


def has_too_many_values(line: bytes) -> bool:
    """Whether a line would take much memory to decode."""
    if len(line) <= PLAIN_LINE_BYTES:
        return False
    # Each value of a list or a mapping follows one of these, or begins with one.
    return line.count(b",") + line.count(b"[") + line.count(b"{") > MOST_VALUES


def shortened(text: str | None) -> str:
    """The beginning of a text."""
    return (text or "")[:MOST_CHARACTERS]
