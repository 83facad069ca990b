"""``ernest history``: the recurring jobs of event logs, and their past runs as files."""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli import command
from airflow_provider_ernest.documents.base import time_of
from airflow_provider_ernest.exceptions import (
    InvalidDocumentError,
    InvalidParameterError,
    MissingResourceError,
)
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.words import UNKNOWN, count, counted, date_time, duration, shortened

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.runs import PastRun
    from airflow_provider_ernest.history.jobs import Jobs
    from airflow_provider_ernest.history.reading import Reader
    from airflow_provider_ernest.history.scan import Scan

_LATEST_RUNS = 3
_MOST_REASONS = 12
_NAME_LETTERS = 60

COLUMNS = (
    "job",
    "executors",
    "scale",
    "row_width",
    "seconds",
    "startup_seconds",
    "instance_type",
    "left_out",
    "mean_executors",
    "replay_error",
    "executor_cores",
    "executor_memory_megabytes",
    "input_bytes",
    "input_records",
    "started_at",
    "application_id",
    "spark",
    "main",
    "event_log",
)
"""Of a runs file, which ``fit`` and ``design`` read; see `cli.models`."""

_OF_RUN = tuple(name for name in COLUMNS if name not in ("scale", "row_width", "left_out", "replay_error"))

SECONDS_BETWEEN_REPORTS = 5.0
"""Of long work."""


def moment(text: str) -> datetime:
    """A date or a moment, in UTC where it has no time zone; else an `ArgumentTypeError`."""
    if (told := time_of(text)) is None:
        raise ArgumentTypeError(f"{text!r} is no date such as 2026-01-31")
    return told


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
        "--processes",
        metavar="N",
        type=command.at_least_one,
        help="that read at the same time; default: one a core",
    )
    reading.add_argument(
        "--on",
        choices=("spark",),
        help="read the logs by a Spark application that spark-submit starts: its executors must see them at "
        "the same addresses, and have the libraries that read them",
    )
    reading.add_argument("--master", metavar="URL", help="of spark-submit, with --on spark")
    reading.add_argument(
        "--spark-conf",
        metavar="PROPERTY=VALUE",
        type=spark_property,
        action="append",
        help="a property of Spark, with --on spark; may be repeated",
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


def spark_property(text: str) -> tuple[str, str]:
    """The name and the value of a property of Spark; else an `ArgumentTypeError`."""
    name, equals, value = text.partition("=")
    if not name.startswith("spark.") or not equals:
        raise ArgumentTypeError(f"{text!r} is no property such as spark.executor.instances=4")
    return name, value


def reader_of(args: Namespace) -> Reader:
    """What reads the logs: processes of this machine, or Spark."""
    from airflow_provider_ernest.history.reading import in_processes

    if args.on == "spark":
        from airflow_provider_ernest.history.on_spark import SparkReader

        return SparkReader(master=args.master, conf=dict(args.spark_conf or ()))
    if args.master or args.spark_conf:
        raise InvalidParameterError(
            "--on", args.on, "is not spark, and --master or --spark-conf is given", remedy="Add --on spark."
        )
    return in_processes(args.processes)


def cache_of(args: Namespace) -> Path | None:
    """The folder for what was read; None to keep nothing."""
    if args.no_cache:
        return None
    return Path(args.cache) if args.cache else usual_cache()


def usual_cache() -> Path:
    """The folder for what was read where no other is named."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "ernest", "history").expanduser()


def scan_of(args: Namespace) -> Scan:
    """The scan that the options ask for."""
    import msgspec

    from airflow_provider_ernest.history.jobs import JobNames
    from airflow_provider_ernest.history.scan import Scan

    mapping: dict[str, str] = {}
    if args.mapping is not None:
        try:
            mapping = msgspec.json.decode(command.read_text(args.mapping), type=dict[str, str])
        except (msgspec.MsgspecError, RecursionError) as error:
            raise InvalidDocumentError(
                f"{command.described(args.mapping)} is no mapping: {error}.",
                remedy='Write one JSON object of regular expressions and names, such as {"^etl-": "load"}.',
            ) from error
    return Scan(
        args.logs,
        names=JobNames(pattern=args.job_pattern, mapping=mapping),
        since=args.since,
        reader=reader_of(args),
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
    """Tells progress on standard error now and then."""
    told_at = time.monotonic()

    def tell(done: int, of: int) -> None:
        nonlocal told_at
        if time.monotonic() - told_at >= SECONDS_BETWEEN_REPORTS:
            told_at = time.monotonic()
            sys.stderr.write(f"{count(done)} of {count(of)} {what}\n")
            sys.stderr.flush()

    return tell


def _add_arguments(parser: ArgumentParser) -> None:
    add_scan_arguments(parser)
    command.add_result_arguments(
        parser,
        formats=(command.TABLE, command.CSV, command.JSON),
        result="all runs (csv is what fit and design read, of one job at a time with --job)",
    )


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.history.jobs import by_job

    scan = scan_of(args)
    jobs = by_job(scan, stated=scan.stated)
    refuse_without_logs(args, scan)
    runs = [run for job in sorted(jobs.runs) for run in jobs.runs[job]]
    command.tell(
        args,
        lambda: history_lines(jobs, scan),
        lambda: [_told(run).to_dict() for run in runs],
        csv=lambda: command.as_csv(COLUMNS, _csv_rows(jobs.runs)),
    )
    command.say_written(args, {counted(len(runs), "run"): args.output})


def history_lines(jobs: Jobs, scan: Scan) -> list[str]:
    """The jobs, those with most executor-hours first, and what could not be read."""
    from airflow_provider_ernest.history.jobs import about_joined

    runs, lines = jobs.runs, []
    if runs:

        def use(job: str) -> float:
            return sum(run.paid_executor_seconds for run in runs[job])

        heading = ("job", "runs", "left out", "executors", "median time", "latest input", "last run (UTC)")
        rows = [_row(job, runs[job]) for job in sorted(runs, key=lambda job: (-use(job), job))]
        lines += [*command.aligned(heading, rows, right="runs, left out, median time, latest input"), ""]
    total = sum(map(len, runs.values()))
    known = f", {count(scan.logs - scan.read)} of them known from before" if scan.read < scan.logs else ""
    of_jobs = f"{counted(total, 'run')} of {counted(len(runs), 'job')}"
    reasons = Counter(run.failure for of_job in runs.values() for run in of_job if run.failure)
    return [
        *lines,
        f"{counted(scan.logs, 'event log')}{known}: {of_jobs}.",
        *about_joined(jobs.joined),
        *_reason_lines("of these runs do not count", reasons),
        *_reason_lines("of the logs were not read", scan.unread),
        *_reason_lines("other files and folders were passed over", scan.passed_over),
    ]


def _row(job: str, runs: Sequence[PastRun]) -> tuple[str, ...]:
    from airflow_provider_ernest.documents.runs import amount_read

    good = [run for run in runs if not run.failure]
    sizes = sorted({run.executors for run in good})
    latest = [run.input_bytes for run in good if run.input_bytes][-_LATEST_RUNS:]
    began_at = time_of(runs[-1].started_at)
    return (
        shortened(job, _NAME_LETTERS),
        count(len(good)),
        count(len(runs) - len(good)),
        (", ".join(map(str, sizes)) or UNKNOWN)
        if len(sizes) <= 3
        else f"{sizes[0]} to {sizes[-1]} ({len(sizes)} sizes)",
        duration(median(run.seconds for run in good)) if good else UNKNOWN,
        amount_read(median(latest), good) if latest else UNKNOWN,
        UNKNOWN if began_at is None else date_time(began_at, UTC),
    )


def _reason_lines(what: str, reasons: Counter[str]) -> Iterator[str]:
    if not reasons:
        return
    yield f"{count(reasons.total())} {what}:"
    for reason, times in reasons.most_common(_MOST_REASONS):
        yield f"  {count(times)}: {reason}"
    if len(reasons) > _MOST_REASONS:
        rest = reasons.total() - sum(times for _, times in reasons.most_common(_MOST_REASONS))
        yield f"  {count(rest)}: other reasons"


def _csv_rows(runs: Mapping[str, Sequence[PastRun]]) -> Iterator[list[object]]:
    """For each job the runs that count, with their scale, then the others, with the reason."""
    from airflow_provider_ernest.history.observations import observations_of

    for job in sorted(runs):
        history = observations_of(runs[job], most_runs=len(runs[job]))
        for run, observation in zip(history.runs, history.observations, strict=True):
            told = {"scale": observation.scale, "row_width": observation.row_width}
            yield _cells(run, **told, replay_error=round(observation.replay_error, 4) or None)
        for left_out in history.left_out:
            yield _cells(left_out.run, left_out=left_out.reason)


def _told(run: PastRun) -> PastRun:
    """The run as its log tells it: without bytes where there are records in their place."""
    return run if run.tells_bytes else replace(run, input_bytes=0)


def _cells(run: PastRun, **told: object) -> list[object]:
    known = {name: getattr(_told(run), name) for name in _OF_RUN} | told
    known["seconds"], known["startup_seconds"] = round(run.seconds, 3), round(run.startup_seconds, 3)
    return [command.cell_of(known.get(name)) for name in COLUMNS]


COMMAND = command.Command(
    name="history",
    summary="find the recurring jobs in Spark's event logs, and write their past runs",
    description="Read the event logs that Spark wrote, thousands of them in all cores, and tell which "
    "recurring jobs they are of: how often each ran, on how many executors, how long, and what it read. Runs "
    "that failed, lost executors or waited for some are left out, and it is said why. The runs "
    "file is what fit and design take for runs that cost nothing. Without --on, nothing leaves this machine.",
    example="  %(prog)s /var/log/spark-events --output runs.csv\n"
    "  %(prog)s 's3://bucket/spark-events/2026-*' --since 2026-01-01 --output history.json\n"
    "  %(prog)s /var/log/spark-events --job-pattern '^(.*)-[0-9]+$'",
    add_arguments=_add_arguments,
    run=_run,
)
