"""Options that several commands have, and how their values are read."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from airflow_provider_ernest.choices import METHODS

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
