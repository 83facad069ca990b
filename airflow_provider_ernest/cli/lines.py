"""How commands write lines: counts, ages, aligned columns, and how far long work has come."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli.command import printable

if TYPE_CHECKING:
    pass

SECONDS_BETWEEN_REPORTS = 5.0


UNKNOWN = "-"


PLURALS = {
    "model": "models",
    "decision": "decisions",
    "production": "production runs",
    "observation": "sample runs",
    "mark": "marks",
    "profile": "run profiles",
    "bottlenecks": "bottleneck reports",
}


class Progress:
    """Tells on standard error how far long work is; nothing where it is short.

    Args:
        what: is done with the documents, such as "exported".
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._told_at = time.monotonic()

    def __call__(self, done: int) -> None:
        """Take note of how many documents are done."""
        now = time.monotonic()
        if now - self._told_at >= SECONDS_BETWEEN_REPORTS:
            self._told_at = now
            sys.stderr.write(f"{done:,} documents {self._what} so far\n")


def aligned(heading: Sequence[str], rows: Iterable[Sequence[str]], *, right: str = "") -> list[str]:
    """Lines of columns under a heading.

    Args:
        heading: the columns' names.
        rows: their values; what could break a line is replaced.
        right: names, separated by commas, of the columns of numbers.
    """
    lines = [tuple(heading), *(tuple(_one_line(cell) for cell in row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heading))]
    numbers = {name.strip() for name in right.split(",")}
    shown = []
    for line in lines:
        cells = [
            cell.rjust(width) if name in numbers else cell.ljust(width)
            for cell, width, name in zip(line, widths, heading, strict=True)
        ]
        shown.append("  ".join(cells).rstrip())
    return shown


def counted(counts: Mapping[str, int]) -> str:
    """How many documents of each kind, in words."""
    parts = [
        f"{counts[kind]:,} {plural if counts[kind] != 1 else plural.removesuffix('s')}"
        for kind, plural in PLURALS.items()
        if counts.get(kind)
    ]
    return ", ".join(parts) or "nothing"


def age(at: str, *, now: datetime) -> str:
    """How long ago that was, in days, hours or minutes."""
    moment = _moment(at)
    if moment is None:
        return UNKNOWN
    seconds = (now - moment).total_seconds()
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit}"
    return "now"


def when(at: str) -> str:
    """The minute, in UTC."""
    moment = _moment(at)
    return UNKNOWN if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def _moment(at: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def number(value: float | None, form: str = "{:.1f}") -> str:
    """The number, `UNKNOWN` where there is none."""
    return UNKNOWN if value is None else form.format(value)


def _one_line(cell: str) -> str:
    return printable(cell.replace("\n", " "))
