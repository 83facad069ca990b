"""What a command is and how it is run, and what commands share: files, lines, and options of several."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import re
import sys
import textwrap
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

from airflow_provider_ernest.exceptions import (
    ErnestError,
    InvalidDocumentError,
    InvalidParameterError,
    MissingResourceError,
)
from airflow_provider_ernest.version import __version__

SUMMARY = "Size Spark clusters: a few cheap sample runs, a small explainable model, the cheapest cluster."


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command of the command line.

    Attributes:
        example: ``%(prog)s`` stands for the program and the command.
        add_arguments: adds the options to a parser. Must import nothing heavy: ``airflow`` reads the options
            of all commands, whichever is called.
        run: raises `ErnestError` where the user can change something.
    """

    name: str
    summary: str
    description: str
    example: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], None]

    @property
    def epilog(self) -> str:
        """The text below the help."""
        return f"examples:\n{self.example}\n\n{EXIT_CODES}"


EXIT_CODES = """\
exit codes:
  0    done
  1    not done, or the answer is no: standard error says why, and what to change
  2    the command line cannot be understood
  130  interrupted"""


class Parser(ArgumentParser):
    """Prints the error and where the options are listed, not the whole usage."""

    def error(self, message: str) -> NoReturn:
        """Exit with 2."""
        self.exit(2, f"{self.prog}: {printable(message)}\n`{self.prog} --help` lists the options.\n")


def add_commands(parser: ArgumentParser, commands: Iterable[Command], *, metavar: str) -> None:
    """Add a parser for each command; it sets `metavar` in lower case to the `Command`."""
    parsers = parser.add_subparsers(metavar=metavar, required=True)
    for command in commands:
        added = parsers.add_parser(
            command.name,
            help=command.summary,
            description=textwrap.fill(command.description, 78),
            epilog=command.epilog,
            formatter_class=RawDescriptionHelpFormatter,
        )
        command.add_arguments(added)
        added.set_defaults(**{metavar.lower(): command})


def build_parser(commands: Sequence[Command]) -> ArgumentParser:
    """The parser of the commands; ``command`` of what it returns is the `Command`."""
    parser = Parser(
        prog="ernest", description=SUMMARY, epilog=EXIT_CODES, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    add_commands(parser, commands, metavar="COMMAND")
    return parser


FAILED = 1
INTERRUPTED = 130
"""What shells report of a program that was interrupted."""


def run_command(command: Command, args: Namespace, *, program: str) -> int:
    """Run a command and return the exit code; prints errors that are ours, raises others."""
    try:
        refuse_to_overwrite(getattr(args, "output", None), force=getattr(args, "force", False))
        command.run(args)
        sys.stdout.flush()
    except ErnestError as raised:
        error = _in_options(raised, args)
        problem = f"{program} {command.name}: {error.message}"
        told = problem if not error.remedy else f"{problem}\n{error.remedy}"
        sys.stderr.write(f"{printable(told)}\n")
        return FAILED
    except BrokenPipeError:
        # The reader, such as head, has had enough. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _in_options(error: ErnestError, args: Namespace) -> ErnestError:
    """An error of a parameter, or of a pair of them, as one of the options: max_scale is --max-scale.

    Only the name is replaced: the rest of a message holds names of files and values, which may be spelled
    as parameters are.
    """

    def option(name: re.Match[str]) -> str:
        return f"--{name[0].replace('_', '-')}" if name[0] in vars(args) else name[0]

    if not isinstance(error, InvalidParameterError):
        return error
    is_pair = error.parameter.startswith("(")
    return error.called(re.sub(r"\w+", option, error.parameter, count=0 if is_pair else 1))


STANDARD = "-"
"""The name of a file that stands for standard input or output."""


def read_text(name: str) -> str:
    """Read a file or standard input, without a byte order mark; errors say what is wrong with it."""
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
    """Raise an `InvalidParameterError` if the file exists, unless `force`, or its folder does not."""
    if name is None or name == STANDARD:
        return
    if not Path(name).parent.is_dir():
        raise _not_written(name, os.strerror(errno.ENOENT))
    if not force and Path(name).exists():
        raise InvalidParameterError(
            "output", name, "exists already", remedy="Choose another name, or overwrite it with --force."
        )


def write_text(name: str, text: str, *, force: bool) -> None:
    """Write standard output, or a file, which appears whole or not at all.

    What UTF-8 cannot express is written as a character reference.

    Raises:
        InvalidParameterError: it cannot be written, or it exists and `force` is not set.
    """
    from airflow_provider_ernest.store.files import replace_whole

    refuse_to_overwrite(name, force=force)
    if name == STANDARD:
        sys.stdout.write(text)
        return
    try:
        replace_whole(Path(name), text.encode("utf-8", errors="xmlcharrefreplace").decode("utf-8"))
    except OSError as error:
        raise _not_written(name, error.strerror) from error


def _not_written(name: str, why: str | None) -> InvalidParameterError:
    return InvalidParameterError(
        "output",
        name,
        f"cannot be written: {why}",
        remedy="Check that its folder exists and may be written to, and that there is room.",
    )


TABLE, JSON, CSV = "table", "json", "csv"
"""The forms of a result: for people, and for programs with all digits."""

_BY_ENDING = {".csv": CSV, ".txt": TABLE}


def add_result_arguments(
    parser: ArgumentParser, *, formats: Sequence[str] = (TABLE, JSON), result: str
) -> Any:
    """Add --format, --output and --force, see `tell`; returns their group."""
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


def tell(
    args: Namespace,
    table: Callable[[], Iterable[str]],
    document: Callable[[], Any],
    **others: Callable[[], str],
) -> None:
    """Print a result in the form that is asked for, or write it to a file and print the table.

    `table` makes lines for people, `document` what JSON holds, `others` the text of each other form.
    """
    if args.output is not None or args.format in (None, TABLE):
        say(table(), args)
        if args.output is None:
            return
    forms: dict[str, Callable[[], str]] = {
        TABLE: lambda: "".join(f"{line}\n" for line in table()),
        JSON: lambda: json.dumps(document(), indent=2, ensure_ascii=False) + "\n",
        **others,
    }
    ending = _BY_ENDING.get(Path(args.output or "").suffix.lower(), JSON)
    made = forms[args.format or (ending if ending in forms else JSON)]()
    if args.output in (None, STANDARD):
        made = printable(made)
    write_text(args.output or STANDARD, made, force=args.force)


def refuse_further(args: Namespace, *options: str) -> None:
    """Refuse files beside the result that cannot be written, or are standard output, before any work."""
    for option in options:
        if getattr(args, option) == STANDARD:
            raise InvalidParameterError(option, STANDARD, "is for the result", remedy="Name a file.")
        refuse_to_overwrite(getattr(args, option), force=args.force)


def is_piped(args: Namespace) -> bool:
    """Whether standard output is for a program: what is for people then goes to standard error."""
    return args.output == STANDARD or (args.output is None and args.format not in (None, TABLE))


def say(lines: Iterable[str], args: Namespace) -> None:
    """Print lines for people, given without line ends."""
    stream = sys.stderr if is_piped(args) else sys.stdout
    stream.write("".join(f"{printable(line)}\n" for line in lines))


def say_written(args: Namespace, written: Mapping[str, str | None]) -> None:
    """Print which results are in which files, leaving out what was not written to one."""
    told = [f"{what} in {where}" for what, where in written.items() if where not in (None, STANDARD)]
    if told:
        say(["", f"written: {', '.join(told)}"], args)


def warn(*warnings: str) -> None:
    """Print warnings to standard error."""
    sys.stderr.write("".join(f"warning: {printable(warning)}\n" for warning in warnings))


def printable(text: str) -> str:
    """The text without control characters: names in a model's file may hold anything."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in text)


def cell_of(value: Any) -> object:
    """The value for CSV, safe for terminals, and for spreadsheets, which would run text like a formula."""
    if isinstance(value, str):
        return printable(f"'{value}" if value.startswith(("=", "+", "-", "@")) else value)
    return "" if value is None else value


def as_csv(heading: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """CSV under a heading."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows(rows)
    return text.getvalue()


def aligned(heading: Sequence[str], rows: Iterable[Sequence[str]], *, right: str = "") -> list[str]:
    """Lines of columns under a heading; `right` names the columns of numbers, separated by commas."""
    lines = [tuple(heading), *(tuple(printable(cell.replace("\n", " ")) for cell in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    numbers = right.split(", ")
    return [
        "  ".join(
            cell.rjust(width) if name in numbers else cell.ljust(width)
            for cell, width, name in zip(line, widths, heading, strict=True)
        ).rstrip()
        for line in lines
    ]


def above_zero(text: str) -> float:
    """A finite number above 0; else an `ArgumentTypeError`, of which argparse makes a usage error."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def at_least_one(text: str) -> int:
    """A whole number of at least 1, see `above_zero`."""
    if not re.fullmatch(r"\d+", text) or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


MOST_NUMBERS = 2_000
"""A longer range is a typing error, and its predictions would fill the memory."""

EXECUTORS_HELP = "numbers of executors (or machines), such as 16, 1-64, 8-64:8 (in steps of 8) or 4,8,16-32"


def add_executors_argument(parser: Any, *, says: str = EXECUTORS_HELP, required: bool = False) -> None:
    """Add --executors, also by its former name."""
    names = "--executors", "--machines"
    parser.add_argument(*names, metavar="NUMBERS", type=executor_numbers, required=required, help=says)


def executor_numbers(text: str) -> list[int]:
    """Numbers of executors from ``16``, ``1-64``, ``8-64:8`` (first-last:step) or a list of those."""
    numbers: set[int] = set()
    for part in text.split(","):
        bounds, _, step = part.partition(":")
        first, dash, last = bounds.partition("-")
        try:
            values = range(int(first), int(last if dash else first) + 1, int(step or 1))
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is not {EXECUTORS_HELP}") from None
        if not values or values.start < 1 or values.step < 1:
            raise ArgumentTypeError(f"{part!r} holds no number of executors of at least 1")
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
"""Metavars, by the first of these words that is in the option's name."""

TYPES = {"Count": int, "OptionalCount": int, "Number": float, "OptionalNumber": float, "int": int}
"""By the annotation of a setting."""


def add_setting(parser: Any, kind: Any, name: str, **changes: Any) -> None:
    """Add the option that a field of a settings class describes, with its meaning, type and default.

    The changes are to the arguments of `ArgumentParser.add_argument`.
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
    names = [name, field.metadata.get("formerly")]
    parser.add_argument(*(f"--{each.replace('_', '-')}" for each in names if each), **{**told, **changes})


def metavar_of(name: str, kind: type | None) -> str:
    """The metavar of an option."""
    if kind is int:
        return "N"
    return next((UNITS[word] for word in UNITS if word in name.split("_")), "NAME")
