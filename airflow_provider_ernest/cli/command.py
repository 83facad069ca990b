"""What a command is, and what commands share: files, lines, and the options that several of them have."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import re
import secrets
import sys
import textwrap
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from airflow_provider_ernest.documents.base import time_of
from airflow_provider_ernest.exceptions import (
    InvalidDocumentError,
    InvalidParameterError,
    MissingResourceError,
)
from airflow_provider_ernest.words import UNKNOWN, age, count, date_time


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command of the command line.

    Attributes:
        name: what the user types.
        summary: what it does, in a line.
        description: the same at length.
        example: command lines to begin with; ``%(prog)s`` stands for the program and the command.
        add_arguments: adds its options to a parser; must import nothing heavy, for ``airflow`` reads the
            options of all commands whichever is called.
        run: does the work; raises `ErnestError` where the user can change something.
    """

    name: str
    summary: str
    description: str
    example: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], None]

    @property
    def epilog(self) -> str:
        """The examples and the exit codes, as they stand below the help."""
        return f"examples:\n{self.example}\n\n{EXIT_CODES}"


EXIT_CODES = """\
exit codes:
  0    done
  1    not done, or the answer is no: standard error says why, and what to change
  2    the command line cannot be understood
  130  interrupted"""


class Parser(ArgumentParser):
    """Says what is wrong with a command line, and where its options are told, instead of all of them."""

    def error(self, message: str) -> NoReturn:
        """End with 2."""
        self.exit(2, f"{self.prog}: {printable(message)}\n`{self.prog} --help` lists the options.\n")


HELP_WIDTH = 78


def add_commands(parser: ArgumentParser, commands: Iterable[Command], *, metavar: str) -> None:
    """A parser of its own for each command; `metavar` in lower case of what they return is the `Command`."""
    parsers = parser.add_subparsers(metavar=metavar, required=True)
    for command in commands:
        added = parsers.add_parser(
            command.name,
            help=command.summary,
            description=textwrap.fill(command.description, HELP_WIDTH),
            epilog=command.epilog,
            formatter_class=RawDescriptionHelpFormatter,
        )
        command.add_arguments(added)
        added.set_defaults(**{metavar.lower(): command})


STANDARD = "-"
"""The name of a file that stands for standard input or output."""


def read_text(name: str) -> str:
    """The content of a file, without a byte order mark.

    Raises:
        MissingResourceError: it cannot be read.
        InvalidDocumentError: it is not UTF-8 text.
    """
    try:
        content = sys.stdin.buffer.read() if name == STANDARD else Path(name).read_bytes()
    except OSError as error:
        raise MissingResourceError(
            f"{name} cannot be read: {error.strerror}.", remedy="Check the path and its permissions."
        ) from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidDocumentError(
            f"{described(name)} is not UTF-8 text: {error}.", remedy="Give a CSV or JSON file."
        ) from error


def described(name: str) -> str:
    """The file's name for a message."""
    return "Standard input" if name == STANDARD else name


def refuse_to_overwrite(name: str | None, *, force: bool) -> None:
    """Refuse an output that is there already, or has no folder, before any work is done for it.

    Raises:
        InvalidParameterError: the file exists, and `force` is not set; or it could not be made.
    """
    if name is None or name == STANDARD:
        return
    if not Path(name).parent.is_dir():
        raise _not_written("output", name, os.strerror(errno.ENOENT))
    if not force and Path(name).exists():
        raise InvalidParameterError(
            "output", name, "exists already", remedy="Choose another name, or overwrite it with --force."
        )


@contextmanager
def appearing_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which appears when it is whole, or not at all."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(name: str, text: str | bytes, *, force: bool) -> None:
    """Write a file, see `appearing_whole`, or to standard output.

    What UTF-8 cannot express is written as a character reference.

    Raises:
        InvalidParameterError: it cannot be written, or is there already and `force` is not set.
    """
    refuse_to_overwrite(name, force=force)
    if name == STANDARD and isinstance(text, str):
        sys.stdout.write(text)
        return
    content = text.encode("utf-8", errors="xmlcharrefreplace") if isinstance(text, str) else text
    if name == STANDARD:
        sys.stdout.buffer.write(content)
        return
    try:
        with appearing_whole(Path(name)) as target:
            target.write(content)
    except OSError as error:
        raise _not_written("output", name, error.strerror) from error


def _not_written(option: str, name: str, why: str | None) -> InvalidParameterError:
    return InvalidParameterError(
        option,
        name,
        f"cannot be written: {why}",
        remedy="Check that its folder exists and may be written to, and that there is room.",
    )


TABLE, JSON, CSV, PARQUET = "table", "json", "csv", "parquet"
"""The forms of a result: for people, and for programs with all digits."""

_BY_ENDING = {".csv": CSV, ".txt": TABLE, ".parquet": PARQUET}


def add_result_arguments(
    parser: ArgumentParser, *, formats: Sequence[str] = (TABLE, JSON, CSV), result: str = "the result"
) -> Any:
    """The options --format, --output and --force, which mean the same for all commands; see `tell`.

    Returns:
        Their group, for what else a command writes.
    """
    group = parser.add_argument_group("output")
    by_ending = {end: form for end, form in _BY_ENDING.items() if form in formats}
    group.add_argument(
        "--format",
        choices=formats,
        help=f"of {result}: a table for people, the others with all digits; default: {TABLE}; in a "
        f"file: {''.join(f'{form} where it ends in {end}, ' for end, form in by_ending.items())}else {JSON}",
    )
    group.add_argument(
        "--output",
        metavar="FILE",
        help="write it to this file, beside the table on standard output; - is standard output, and "
        "what is for people then goes to standard error",
    )
    group.add_argument("--force", action="store_true", help="overwrite a file that is there already")
    return group


def tell(args: Namespace, table: Callable[[], Iterable[str]], **others: Callable[[], str | bytes]) -> None:
    """Print a result in the form that is asked for, or write it to a file and print the table.

    Args:
        args: with the options of `add_result_arguments`.
        table: makes lines for people.
        others: for each other form what makes its text.

    Raises:
        InvalidParameterError: the file cannot be written.
    """
    forms = {TABLE: lambda: "".join(f"{line}\n" for line in table()), **others}
    if args.output is None and args.format in (None, TABLE):
        say(table())
        return
    if args.output is not None:
        say(table(), beside=args.output)
    ending = _BY_ENDING.get(Path(args.output or "").suffix.lower(), JSON)
    made = forms[args.format or (ending if ending in forms else JSON)]()
    if isinstance(made, str) and args.output in (None, STANDARD):
        made = printable(made)
    write_text(args.output or STANDARD, made, force=args.force)


def refuse_further(args: Namespace, *options: str) -> None:
    """Refuse files beside the result that cannot be written, before any work is done for them.

    Raises:
        InvalidParameterError: one is there already, or standard output, which is for the result.
    """
    for option in options:
        if getattr(args, option) == STANDARD:
            raise InvalidParameterError(option, STANDARD, "is for the result", remedy="Name a file.")
        refuse_to_overwrite(getattr(args, option), force=args.force)


def beside(args: Namespace) -> str | None:
    """Where `say` puts further lines: beside standard output, where a program reads that."""
    is_read = args.output == STANDARD or (args.output is None and args.format not in (None, TABLE))
    return STANDARD if is_read else None


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


def rows_as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Comma-separated lines of rows that have the same names; lists and mappings are JSON."""
    return as_csv([*rows[0]] if rows else [], ([cell_of(value) for value in row.values()] for row in rows))


_FORMULAS = ("=", "+", "-", "@")


def cell_of(value: Any) -> object:
    """As terminals may show it; and spreadsheets, which would run text that looks like a formula."""
    if isinstance(value, dict | list | tuple):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        return printable(f"'{value}" if value.startswith(_FORMULAS) else value)
    return "" if value is None else value


def as_csv(heading: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Comma-separated lines under a heading."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows(rows)
    return text.getvalue()


SECONDS_BETWEEN_REPORTS = 5.0
"""Of long work."""


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
            sys.stderr.write(f"{count(done)} documents {self._what} so far\n")


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


def age_of(at: str, *, now: datetime) -> str:
    """How long ago that was, in days, hours or minutes."""
    moment = time_of(at)
    return UNKNOWN if moment is None else age((now - moment).total_seconds())


def when(at: str) -> str:
    """The moment, in UTC."""
    moment = time_of(at)
    return UNKNOWN if moment is None else date_time(moment, UTC)


def _one_line(cell: str) -> str:
    return printable(cell.replace("\n", " "))


def above_zero(text: str) -> float:
    """A finite number above 0.

    Raises:
        ArgumentTypeError: it is none; argparse makes a usage error of it.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def at_least_one(text: str) -> int:
    """A whole number of at least 1.

    Raises:
        ArgumentTypeError: the text is none.
    """
    if not re.fullmatch(r"\d+", text) or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


MOST_NUMBERS = 2_000
"""A range with more is a slip of the finger, and its predictions would fill the memory."""

MACHINES_HELP = "numbers of machines, such as 16, 1-64, 8-64:8 (in steps of 8) or 4,8,16-32"


def machine_numbers(text: str) -> list[int]:
    """Numbers of machines from ``16``, ``1-64``, ``8-64:8`` (first-last:step) or a list of those.

    Raises:
        ArgumentTypeError: the text is none of these; argparse makes a usage error of it.
    """
    numbers: set[int] = set()
    for part in text.split(","):
        bounds, _, step = part.partition(":")
        first, dash, last = bounds.partition("-")
        try:
            values = range(int(first), int(last if dash else first) + 1, int(step or 1))
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is not {MACHINES_HELP}") from None
        if not values or values.start < 1 or values.step < 1:
            raise ArgumentTypeError(f"{part!r} holds no number of machines of at least 1")
        if len(values) > MOST_NUMBERS:
            raise ArgumentTypeError(f"{part!r} holds more than {MOST_NUMBERS} numbers")
        numbers.update(values)
    return sorted(numbers)


UNITS = {
    "seconds": "SECONDS",
    "dollars": "DOLLARS",
    "price": "DOLLARS",
    "gigabytes": "GIGABYTES",
    "percent": "PERCENT",
    "share": "SHARE",
    "scale": "SCALE",
    "confidence": "PROBABILITY",
    "budget": "COST",
    "overhead": "COST",
}
"""What the number of an option is called, by the first of these words that its name has."""

TYPES = {"Count": int, "OptionalCount": int, "Number": float, "OptionalNumber": float, "int": int}
"""By the annotation of a setting."""


def add_setting(parser: Any, kind: Any, name: str, **changes: Any) -> None:
    """The option that a field of a settings object describes: its name, meaning, type and default.

    Args:
        parser: or a group of it.
        kind: class of the settings; see `settings.templates.setting`.
        name: of the field.
        changes: of what `ArgumentParser.add_argument` is called with by that.
    """
    field = next(each for each in fields(kind) if each.name == name)
    told: dict[str, Any] = {"help": field.metadata["says"].replace("%", "%%")}
    if field.type == "bool":
        told["action"] = "store_true"
    else:
        told |= {
            "type": TYPES.get(str(field.type), str),
            "metavar": metavar_of(name, TYPES.get(str(field.type))),
        }
        if field.default is MISSING:
            told["required"] = True
        elif field.default is not None:
            told["default"] = field.default
            told["help"] += "; default %(default)" + ("g" if isinstance(field.default, float) else "s")
        if "choices" in changes:
            del told["metavar"]
    parser.add_argument(f"--{name.replace('_', '-')}", **{**told, **changes})


def metavar_of(name: str, kind: type | None) -> str:
    """What the value of an option is called."""
    if kind is int:
        return "N"
    return next((UNITS[word] for word in UNITS if word in name.split("_")), "NAME")
