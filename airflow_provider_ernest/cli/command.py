"""What a command is: its name, its options and its work."""

from __future__ import annotations

import csv
import io
import json
import secrets
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from airflow_provider_ernest.exceptions import (
    InvalidDocumentError,
    InvalidParameterError,
    MissingResourceError,
)
from airflow_provider_ernest.settings import METHODS


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
        """The examples as they stand below the help."""
        return f"examples:\n{self.example}"


# ---------------------------------------------------------------------------
# Reading and writing files by name, ``-`` being standard input and output.


STANDARD = "-"


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
    """Refuse an output that is there already, before any work is done for it.

    Raises:
        InvalidParameterError: the file exists, and `force` is not set.
    """
    if name is not None and name != STANDARD and not force and Path(name).exists():
        raise InvalidParameterError(
            "output", name, "exists already", remedy="Choose another name, or overwrite it with --force."
        )


def write_text(name: str, text: str, *, force: bool) -> None:
    """Write a file, which appears whole or not at all.

    Args:
        name: of the file.
        text: its content. What UTF-8 cannot express is written as a character reference.
        force: whether it may be there already.

    Raises:
        InvalidParameterError: it cannot be written, or is there already and `force` is not set.
    """
    if name == STANDARD:
        sys.stdout.write(text)
        return
    refuse_to_overwrite(name, force=force)
    path = Path(name)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        temporary.write_bytes(text.encode("utf-8", errors="xmlcharrefreplace"))
        temporary.replace(path)
    except OSError as error:
        raise InvalidParameterError(
            "output",
            name,
            f"cannot be written: {error.strerror}",
            remedy="Check that its folder exists and may be written to.",
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


# ---------------------------------------------------------------------------
# What the commands say: results on standard output, everything else on standard error.


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


# ---------------------------------------------------------------------------
# Options that several commands have, and how their values are read.


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


def name_of_job(text: str) -> str:
    """A name that a document can hold.

    Raises:
        ArgumentTypeError: the shell passed bytes that are no text, or it is empty.
    """
    if not text or not text.isprintable():
        raise ArgumentTypeError(f"{text!r} is not a printable name")
    return text


def add_fit_arguments(parser: ArgumentParser) -> None:
    """The options of fitting a model."""
    group = parser.add_argument_group("fitting")
    group.add_argument(
        "--method",
        choices=METHODS,
        default=METHODS[0],
        help="averaging over all sets of terms (the most accurate), relative (least squares of relative "
        "errors) or classic (the original: least squares of seconds); default %(default)s",
    )
    add_terms_argument(group)
    group.add_argument(
        "--job", metavar="NAME", type=name_of_job, help="name of the job; default: the name of the file"
    )
    group.add_argument(
        "--instance-type", metavar="TYPE", help="the machines' type; default: that of the runs, or local"
    )
    group.add_argument(
        "--known-driver-share",
        type=float,
        metavar="SHARE",
        help="for averaging: the probability that one of the machines counted runs only the driver: 0 where "
        "the numbers are of executors, 1 where they include the driver's machine; default: inferred",
    )


def add_terms_argument(parser: Any) -> None:
    """The option --terms, of a parser or a group."""
    parser.add_argument(
        "--terms",
        nargs="+",
        metavar="TERM",
        help="terms that a model may have, each a word of the shell, such as 1 scale/machines "
        "'log(machines)' or a formula of your own in machines and scale",
    )


def add_run_arguments(parser: ArgumentParser) -> None:
    """The options that say which production run is asked about."""
    parser.add_argument(
        "--scale",
        metavar="SCALE",
        type=float,
        default=1.0,
        help="the input's size relative to the whole one that was sampled; default %(default)g",
    )
    parser.add_argument(
        "--iterations",
        metavar="N",
        type=int,
        help="iterations of the run, for iterative jobs; default: those that the sample runs had",
    )


# ---------------------------------------------------------------------------
# Options whose value may be given for each type of machine: ``--price-per-hour m5.large=0.096``.


Value = TypeVar("Value")


def price_by_type(text: str) -> tuple[str | None, float]:
    """A price from ``0.19`` or ``m5.large=0.096``.

    Raises:
        ArgumentTypeError: it is neither; argparse makes a usage error of it.
    """
    instance_type, equals, dollars = text.rpartition("=")
    try:
        price = float(dollars)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is neither dollars nor TYPE=DOLLARS") from None
    if equals and not instance_type:
        raise ArgumentTypeError(f"{text!r} names no type of machine before the =")
    return instance_type or None, price


def machines_by_type(text: str) -> tuple[str | None, list[int]]:
    """Numbers of machines, as `machine_numbers` reads them, with or without ``TYPE=`` before them."""
    instance_type, equals, numbers = text.rpartition("=")
    if equals and not instance_type:
        raise ArgumentTypeError(f"{text!r} names no type of machine before the =")
    return instance_type or None, machine_numbers(numbers)


def by_type(
    option: str,
    given: Iterable[tuple[str | None, Value]],
    types: Sequence[str],
    *,
    one_for_all: bool,
    otherwise: str = "",
) -> dict[str, Value]:
    """The values of an option for each type.

    Args:
        option: its name as a parameter.
        given: its values with the types that they are for; of two for one type the last one counts.
        types: that need one.
        one_for_all: whether a value without a type is for all those that have none of their own.
        otherwise: what else to do about a type without a model, as the end of a sentence.

    Raises:
        InvalidParameterError: a type has none, or there is one for a type that is not among them.
    """
    values = dict(given)
    unknown = [name for name in values if name is not None and name not in types]
    if unknown:
        raise InvalidParameterError(
            option,
            unknown[0],
            "is a type of machine without a model",
            remedy=f"Name {'one of ' if len(types) > 1 else ''}{', '.join(types)}{otherwise}.",
        )
    shared = values.get(None) if one_for_all else None
    missing = [name for name in types if name not in values and shared is None]
    if missing:
        as_option = f"--{option.replace('_', '-')}"
        raise InvalidParameterError(
            option,
            values.get(None),
            f"is for no type in particular, and {' and '.join(missing)} must have one each"
            if None in values
            else f"is missing for {' and '.join(missing)}",
            remedy=f"Give {' '.join(f'{as_option} {name}=...' for name in missing)}.",
        )
    return {name: values[name] if name in values else values[None] for name in types}
