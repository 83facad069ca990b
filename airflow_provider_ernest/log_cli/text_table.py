"""Lines of columns under a heading, no wider than a screen."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from airflow_provider_ernest.cli.store_text import aligned
from airflow_provider_ernest.report.wording import shortened

SCREEN_WIDTH = 110


def titled_table(
    title: str, heading: Sequence[str], rows: Iterable[Sequence[str]], *, words: Sequence[str] = ()
) -> list[str]:
    """An empty line, a title, and a table; nothing where there are no rows.

    Args:
        title: of the table.
        heading: the columns' names.
        rows: their values.
        words: the columns that hold words; the others are numbers, and stand to the right.
    """
    listed = list(rows)
    if not listed:
        return []
    numbers = ", ".join(name for name in heading if name not in words)
    lines = aligned(heading, listed, right=numbers)
    return ["", shortened(title, SCREEN_WIDTH), *(f"  {shortened(line, SCREEN_WIDTH - 2)}" for line in lines)]


def known_columns(columns: dict[str, list[str]]) -> dict[str, list[str]]:
    """Those of which anything is known."""
    return {name: cells for name, cells in columns.items() if any(cells)}


def wrapped(words: str, *, indent: str = "", further: str = "  ") -> list[str]:
    """A sentence in lines.

    Args:
        words: the sentence.
        indent: of its first line.
        further: of the others.
    """
    return textwrap.wrap(
        words, SCREEN_WIDTH, initial_indent=indent, subsequent_indent=further, break_on_hyphens=False
    )
