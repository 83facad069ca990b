"""What the commands say: results on standard output, everything else on standard error."""

from __future__ import annotations

import csv
import io
import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from typing import Any

from airflow_provider_ernest.cli.files import STANDARD


def add_output_arguments(parser: ArgumentParser, *, what: str, required: bool = False) -> None:
    """The options --output and --force."""
    parser.add_argument(
        "--output",
        metavar="FILE",
        required=required,
        help=f"write {what} to this file; - writes to standard output (text then goes to standard error)",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the file if it is there already")


def say(lines: Iterable[str], *, beside: str | None = None) -> None:
    """Print lines for people.

    Args:
        lines: without line ends.
        beside: the file that the result is written to; where that is standard output, the lines go to
            standard error.
    """
    stream = sys.stderr if beside == STANDARD else sys.stdout
    stream.write("".join(f"{printable(line)}\n" for line in lines))


def warn(warnings: Iterable[str]) -> None:
    """Print what the user should know, to standard error."""
    sys.stderr.write("".join(f"warning: {printable(warning)}\n" for warning in warnings))


def printable(text: str) -> str:
    """The text without what could command a terminal: names in a model's file may hold anything."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in text)


def as_json(document: Any) -> str:
    """Indented JSON with a line end."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_csv(heading: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Comma-separated lines under a heading."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows(rows)
    return text.getvalue()
