"""``ernest analyze``: why a run took as long as it did, from its event log."""

from __future__ import annotations

import math
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.files import STANDARD, refuse_to_overwrite, write_text
from airflow_provider_ernest.cli.options import MACHINES_HELP, machine_numbers
from airflow_provider_ernest.cli.output import as_json, say, warn
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.log_cli.change_option import CHANGE_HELP, changes_of, one_change
from airflow_provider_ernest.log_cli.progress import progress

if TYPE_CHECKING:
    from airflow_provider_ernest.model.run_profile import Capacity, RunProfile
    from airflow_provider_ernest.spark.log_reading.tables import EventLog

_FILES = ("html", "json", "job_profile")
"""Options that name a file to write, or standard output."""


def _above_zero(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def _scale(text: str) -> float:
    try:
        return _above_zero(text)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{error}; event logs stand before this option") from None


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return value


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "event_log",
        metavar="EVENTLOG",
        nargs="+",
        help="event log of an application, as Spark wrote it: a file, compressed or not, a folder "
        "eventlog_v2_..., or an address such as s3://bucket/spark-events/app-1",
    )
    outputs = parser.add_argument_group("output", "beside the text; - is standard output")
    outputs.add_argument("--html", metavar="FILE", help="write a page with charts")
    outputs.add_argument("--json", metavar="FILE", help="write the whole profile; of several logs a list")
    outputs.add_argument(
        "--csv", metavar="FOLDER", help="write the log's jobs, stages, tasks, executors and queries as tables"
    )
    outputs.add_argument(
        "--job-profile",
        metavar="FILE",
        help="write OptEx's profile of the job whose runs the logs are of, and tell what it foretells",
    )
    outputs.add_argument("--force", action="store_true", help="overwrite files that are there already")
    run = parser.add_argument_group("the run")
    run.add_argument(
        "--scale",
        metavar="SCALE",
        type=_scale,
        nargs="+",
        help="the share of the whole input that it read, one for each log or one for all; default 1",
    )
    run.add_argument("--iterations", metavar="N", type=_count, help="that it had, of an iterative job")
    run.add_argument(
        "--network",
        metavar="GB/S",
        type=_above_zero,
        help="of a machine in one direction, in 10^9 bytes per second; default: what its tasks achieved",
    )
    run.add_argument(
        "--disk", metavar="GB/S", type=_above_zero, help="of all disks of a machine together, likewise"
    )
    other = parser.add_argument_group("other machines")
    other.add_argument(
        "--machines",
        metavar="NUMBERS",
        type=machine_numbers,
        help=f"replay the run on other {MACHINES_HELP}; default: up to four times as many",
    )
    other.add_argument(
        "--what-if", metavar="NAME=NUMBER", type=one_change, nargs="+", action="append", help=CHANGE_HELP
    )


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.log_cli.profile_text import overview_lines, profile_lines

    _refuse(args)
    beside = STANDARD if STANDARD in (args.html, args.json, args.job_profile) else None
    profiles = [
        _profile(source, scale, args)
        for source, scale in zip(args.event_log, _scales(args.scale, len(args.event_log)), strict=True)
    ]
    say(profile_lines(profiles[0]) if len(profiles) == 1 else overview_lines(profiles), beside=beside)
    for profile in profiles:
        of_which = f"{profile.application_id}: " if len(profiles) > 1 else ""
        warn(f"{of_which}{warning}" for warning in profile.warnings)
    _write(profiles, args, beside=beside)


def _refuse(args: Namespace) -> None:
    """Refuse what cannot be done before anything is read.

    Raises:
        InvalidParameterError: an output is there already, two of them are standard output, one is of one run
            where several are given, or a change names the same thing twice.
    """
    from airflow_provider_ernest.log_cli.tidy_tables import refuse_tables

    on_standard_output = [name for name in _FILES if getattr(args, name) == STANDARD]
    if len(on_standard_output) > 1:
        raise InvalidParameterError(
            on_standard_output[0], STANDARD, "is not the only one that writes there", remedy="Name a file."
        )
    for name in ("html", "csv"):
        if getattr(args, name) is not None and len(args.event_log) > 1:
            raise InvalidParameterError(
                name, getattr(args, name), "is of one run", remedy="Give one event log at a time."
            )
    for name in _FILES:
        refuse_to_overwrite(getattr(args, name), force=args.force)
    if args.csv is not None:
        refuse_tables(args.csv, force=args.force)
    changes_of(args.what_if)


def _scales(given: Sequence[float] | None, logs: int) -> list[float]:
    """One for each log.

    Raises:
        InvalidParameterError: there are several, and not as many as logs.
    """
    scales = list(given or [1.0])
    if len(scales) == 1:
        return scales * logs
    if len(scales) != logs:
        raise InvalidParameterError(
            "scale", scales, f"are not as many as the {logs} event logs", remedy="Give one for each, or one."
        )
    return scales


def _profile(source: str, scale: float, args: Namespace) -> RunProfile:
    """Read a log, write its tables where they are asked for, and analyse it."""
    from airflow_provider_ernest.log_cli.tidy_tables import write_tables
    from airflow_provider_ernest.spark.event_log import read_event_log
    from airflow_provider_ernest.spark.profiling.profile import profile_run

    with progress(f"reading {source}"):
        log = read_event_log(source)
    if args.csv is not None:
        with progress(f"writing tables into {args.csv}"):
            write_tables(log, args.csv, force=args.force)
    with progress(f"analysing {len(log.tasks):,} tasks of {log.application_id}"):
        return profile_run(
            log,
            scale=scale,
            iterations=args.iterations,
            capacity=_capacity(log, args),
            machine_counts=args.machines,
            changes=changes_of(args.what_if),
            event_log=source,
        )


def _capacity(log: EventLog, args: Namespace) -> Capacity | None:
    """As the options state it; None where they do not."""
    from airflow_provider_ernest.spark.monotasks.capacities import stated_capacity

    if args.network is None and args.disk is None:
        return None
    return stated_capacity(log, network=args.network, disk=args.disk)


def _write(profiles: Sequence[RunProfile], args: Namespace, *, beside: str | None) -> None:
    from airflow_provider_ernest.report.clarity.page import render

    if args.job_profile is not None:
        say(_write_job_profile(profiles, args), beside=beside)
    if args.json is not None:
        documents = [profile.to_dict() for profile in profiles]
        write_text(args.json, as_json(documents if len(documents) > 1 else documents[0]), force=args.force)
    if args.html is not None:
        write_text(args.html, render(profiles[0]), force=args.force)
    written = {"page": args.html, "profile": args.json, "tables": args.csv, "job's profile": args.job_profile}
    told = [f"{what} in {where}" for what, where in written.items() if where not in (None, STANDARD)]
    if told:
        say(["", f"written: {', '.join(told)}"], beside=beside)


def _write_job_profile(profiles: Sequence[RunProfile], args: Namespace) -> list[str]:
    """Write it; gives what it foretells."""
    from airflow_provider_ernest.log_cli.job_profile import job_profile_lines, job_profile_of
    from airflow_provider_ernest.spark.profiling.parts import sizes_around

    job = job_profile_of(profiles)
    write_text(args.job_profile, as_json(job.to_dict()), force=args.force)
    machines = args.machines or sizes_around(max(profile.machines for profile in profiles))
    return job_profile_lines(job, machines=machines, iterations=args.iterations or 1)


COMMAND = Command(
    name="analyze",
    summary="tell from Spark's event log why a run took as long as it did",
    description="Read the event log that Spark wrote of a run and tell what the run is bound by, what a "
    "faster network or disk could win at most, which stages and tasks held it up, what other machines would "
    "make of it, and what to change. Of several logs each has a line. Logs are read as they are: plain or "
    "compressed, rolled over, of a run that was cut off; neither Spark nor Airflow is needed.",
    example="""\
  %(prog)s /var/log/spark/app-20260312101500-0007.zstd --html why.html
  %(prog)s s3://bucket/spark-events/application_17_0042 --machines 2-32:2
  %(prog)s app-1 --network 0.6 --disk 0.25 --what-if network=2 --what-if cores=8 disk=2
  %(prog)s app-1 app-2 app-3 --scale 0.05 0.1 0.1 --job-profile job.json
  %(prog)s app-1 --csv tables --json -""",
    add_arguments=_add_arguments,
    run=_run,
)
