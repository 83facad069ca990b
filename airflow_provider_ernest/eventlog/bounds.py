"""Limits on the memory and time that any log may take, and notes on what could not be read.

Logs that Spark writes take little; a log that was made to be large could take anything, since a line of
numbers packs to nothing. So what is kept is counted as it comes (tasks have a limit of their own, see
`TaskRows`). What no longer fits is left out, with a warning.
"""

from __future__ import annotations

import time
from sys import getsizeof

from airflow_provider_ernest.exceptions import EventLogError
from airflow_provider_ernest.words import duration

# For jobs, stages, executors, queries, cached blocks and properties: 200,000 stages with their jobs.
MOST_KEPT_BYTES = 256 << 20

# Rough sizes: of a table's row with its index, of a number in a set, of a reference to a number.
ROW_BYTES, ENTRY_BYTES, REFERENCE_BYTES = 600, 120, 8

MOST_CHARACTERS = 500  # of names, hosts and reasons
PLAIN_LINE_BYTES = 1 << 20  # the values of longer lines are counted before they are decoded
MOST_VALUES = 250_000  # in one line; each takes up to 200 bytes while it is decoded

# A file may unpack to this many times its length. Logs come to 20 to 60 times, gzip to 1,032.
MOST_UNPACKED_TIMES = 2_000

ALWAYS_UNPACKED_BYTES = 128 << 20

_MOST_PROBLEMS = 100


class NoRoomError(ValueError):
    """An event cannot be kept: the log's memory is used up."""


class Notes:
    """What could not be read of one log, and how much of its limits it has used."""

    def __init__(self, *, most_seconds: float | None = None) -> None:
        self.last_at = 0.0  # the last moment of an event, in seconds since the epoch; tasks do not count
        self.too_long_lines = 0
        self.unreadable_lines = 0
        self.problems: list[str] = []
        self.is_full = False  # something was left out for want of room
        self._kept_bytes = 0
        self._most_seconds = most_seconds
        self._began_at = time.monotonic()

    def seen(self, moment: float) -> None:
        """Note a moment that an event names."""
        self.last_at = max(self.last_at, moment)

    def add_problem(self, problem: str) -> None:
        """Add a problem, once."""
        if len(self.problems) < _MOST_PROBLEMS and problem not in self.problems:
            self.problems.append(problem)

    def keep(self, size_bytes: int, *texts: str) -> None:
        """Count what is about to be kept: its size, and that of its texts.

        Raises:
            NoRoomError: it is too much.
        """
        # Measured, not counted by characters: one character makes some texts four times as long.
        size_bytes += sum(map(getsizeof, texts))
        if self._kept_bytes + size_bytes > MOST_KEPT_BYTES:
            self.is_full = True
            raise NoRoomError("no room")
        self._kept_bytes += size_bytes

    def check_time(self) -> None:
        """Stop reading when the time is up: whoever waited for it has gone on.

        Raises:
            EventLogError: it is.
        """
        if self._most_seconds is not None and time.monotonic() - self._began_at > self._most_seconds:
            raise EventLogError(
                f"The event log was not read within {duration(self._most_seconds)}.",
                remedy="Too large to read here. Run `ernest analyze` on it from a shell.",
            )


def has_too_many_values(line: bytes) -> bool:
    """Whether a line would take much memory to decode."""
    # Each value of a list or a mapping follows one of these, or begins with one.
    return len(line) > PLAIN_LINE_BYTES and sum(map(line.count, (b",", b"[", b"{"))) > MOST_VALUES


def shortened(text: str | None) -> str:
    """The beginning of a text."""
    return (text or "")[:MOST_CHARACTERS]
