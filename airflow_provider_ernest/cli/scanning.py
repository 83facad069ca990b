"""What commands share that read the event logs of many runs."""

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
    from airflow_provider_ernest.history.scan import Scan

_BAR_LETTERS = 24
_SECONDS_BETWEEN_BARS = 0.2


def moment(text: str) -> datetime:
    """A date or a moment, in UTC where it has no time zone; else an `ArgumentTypeError`."""
    try:
        told = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no date such as 2026-01-31") from None
    return told if told.tzinfo else told.replace(tzinfo=UTC)


def add_scan_arguments(parser: ArgumentParser) -> None:
    """Add the options that say which logs are read, how, and of which jobs they are."""
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


def cache_of(args: Namespace) -> Path | None:
    """The folder for what was read; None to keep nothing."""
    if args.no_cache:
        return None
    usual = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "ernest", "history").expanduser()
    return Path(args.cache) if args.cache else usual


def scan_of(args: Namespace) -> Scan:
    """The scan that the options ask for."""
    import msgspec

    from airflow_provider_ernest.history.jobs import JobNames
    from airflow_provider_ernest.history.scan import Scan

    mapping: dict[str, str] = {}
    if args.mapping is not None:
        try:
            mapping = msgspec.json.decode(read_text(args.mapping), type=dict[str, str])
        except (msgspec.MsgspecError, RecursionError) as error:
            raise InvalidDocumentError(
                f"{described(args.mapping)} is no mapping: {error}.",
                remedy='Write one JSON object of regular expressions and names, such as {"^etl-": "load"}.',
            ) from error
    return Scan(
        args.logs,
        names=JobNames(pattern=args.job_pattern, mapping=mapping),
        since=args.since,
        processes=args.processes,
        cache=cache_of(args),
        told=progress_of("event logs read"),
    )


def refuse_without_logs(args: Namespace, scan: Scan) -> None:
    """Raise a `MissingResourceError` if a finished scan found no event log."""
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
    """Shows progress on standard error: a bar on a terminal, else a line now and then."""
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
