"""What commands share that read the event logs of many runs: their options, the progress, the scan."""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli.command import (
    SECONDS_BETWEEN_REPORTS,
    at_least_one,
    described,
    read_text,
)
from airflow_provider_ernest.exceptions import InvalidDocumentError, MissingResourceError
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.words import count, duration

if TYPE_CHECKING:
    from airflow_provider_ernest.history.jobs import JobNames
    from airflow_provider_ernest.history.scan import Scan

_BAR_LETTERS = 24
_SECONDS_BETWEEN_BARS = 0.2


def default_cache() -> Path:
    """Where what was read of event logs is kept unless another folder is named."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "ernest", "history").expanduser()


def moment(text: str) -> datetime:
    """A date or a moment; in UTC where it has no time zone.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        told = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no date such as 2026-01-31") from None
    return told if told.tzinfo else told.replace(tzinfo=UTC)


def add_scan_arguments(parser: ArgumentParser) -> None:
    """The options that say which logs are read, how, and whose they are."""
    parser.add_argument(
        "logs",
        metavar="LOGS",
        nargs="+",
        help="event logs: files, folders of any depth, ZIPs, globs, or addresses of such as "
        "s3://bucket/spark-events",
    )
    reading = parser.add_argument_group("reading")
    reading.add_argument(
        "--since",
        metavar="DATE",
        type=moment,
        help="only runs that started then or later, in UTC where it names no offset",
    )
    reading.add_argument(
        "--processes", metavar="N", type=at_least_one, help="that read at the same time; default: one a core"
    )
    kept = reading.add_mutually_exclusive_group()
    kept.add_argument(
        "--cache",
        metavar="FOLDER",
        help="keep here what was read, so that next time only new logs are; default: "
        "$XDG_CACHE_HOME/ernest/history",
    )
    kept.add_argument("--no-cache", action="store_true", help="keep nothing")
    jobs = parser.add_argument_group(
        "recurring jobs", "by default the application's name without dates, numbers and run ids"
    )
    jobs.add_argument(
        "--job-pattern",
        metavar="REGEX",
        help="the job is the first group of this regular expression in the name, such as '^(.*)-[0-9]+$'",
    )
    jobs.add_argument(
        "--mapping",
        metavar="FILE",
        help='JSON of regular expressions and jobs, such as {"^etl-": "nightly load"}: the first that is '
        "found in an application's name, or in that of its main class or file, tells the job",
    )


def names_of(args: Namespace) -> JobNames:
    """How the options tell runs apart by jobs.

    Raises:
        InvalidDocumentError: the mapping is none.
        InvalidParameterError: something is no regular expression, or has no group.
        MissingResourceError: the mapping's file cannot be read.
    """
    from airflow_provider_ernest.history.jobs import JobNames

    return JobNames(pattern=args.job_pattern, mapping=_mapping(args.mapping))


def _mapping(name: str | None) -> dict[str, str]:
    import msgspec

    if name is None:
        return {}
    try:
        return msgspec.json.decode(read_text(name), type=dict[str, str])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidDocumentError(
            f"{described(name)} is no mapping: {error}.",
            remedy='Write one JSON object of regular expressions and names, such as {"^etl-": "load"}.',
        ) from error


def cache_of(args: Namespace) -> Path | None:
    """The folder that the options name; None where nothing is to be kept."""
    if args.no_cache:
        return None
    return Path(args.cache) if args.cache else default_cache()


def scan_of(args: Namespace) -> Scan:
    """The scan that the options ask for.

    Raises:
        ErnestError: see `names_of`, and `history.scan.Scan`.
    """
    from airflow_provider_ernest.history.scan import Scan

    return Scan(
        args.logs,
        names=names_of(args),
        since=args.since,
        processes=args.processes,
        cache=cache_of(args),
        told=progress_of("event logs read"),
    )


def refuse_without_logs(args: Namespace, scan: Scan) -> None:
    """Say what to do where a scan that has come to its end found nothing.

    Raises:
        MissingResourceError: it found no event log.
    """
    if scan.logs:
        return
    passed_over = "; ".join(f"{count(times)}: {reason}" for reason, times in scan.passed_over.most_common())
    raise MissingResourceError(
        f"There is no event log in {', '.join(map(without_credentials, args.logs))}"
        f"{f' (passed over {passed_over})' if passed_over else ''}.",
        remedy="Name the folder that Spark writes to: its property spark.eventLog.dir says which, where "
        "spark.eventLog.enabled is true, or the History Server's spark.history.fs.logDirectory.",
    )


def progress_of(what: str) -> Callable[[int, int], None]:
    """Shows on standard error how far long work is: by a bar on a terminal, else by a line now and then.

    Args:
        what: is counted, such as "event logs read".
    """
    began_at = told_at = time.monotonic()
    is_terminal = sys.stderr.isatty()
    every = _SECONDS_BETWEEN_BARS if is_terminal else SECONDS_BETWEEN_REPORTS

    def tell(done: int, of: int) -> None:
        nonlocal told_at
        now = time.monotonic()
        if now - told_at < every and not (is_terminal and done == of):
            return
        told_at = now
        text = f"{count(done)} of {count(of)} {what}"
        if is_terminal:
            left = "" if done == of else f", {duration(round((now - began_at) * (of - done) / done))} left"
            filled = round(_BAR_LETTERS * done / of)
            # \033[K clears what was longer before.
            end = "\n" if done == of else ""
            text = f"\r[{'#' * filled}{'.' * (_BAR_LETTERS - filled)}] {text}{left}\033[K{end}"
        else:
            text += "\n"
        sys.stderr.write(text)
        sys.stderr.flush()

    return tell
