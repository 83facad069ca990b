"""``ernest analyze``: why a run took as long as it did, from its event log."""

from __future__ import annotations

import math
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.command import (
    JSON,
    MACHINES_HELP,
    TABLE,
    Command,
    above_zero,
    add_result_arguments,
    as_json,
    at_least_one,
    machine_numbers,
    progress,
    refuse_further,
    say,
    say_written,
    tell,
    warn,
    write_text,
)
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.words import count, tenths

if TYPE_CHECKING:
    from airflow_provider_ernest.clarity.monotasks import Change
    from airflow_provider_ernest.documents.profiles import RunProfile

FACTORS = ("cpu", "network", "disk")
"""How many times as fast a core, the network or the disks of a machine are."""

COUNTS = ("cores", "machines")
"""How many."""

CHANGE_HELP = (
    "predict the run on other machines: how many times as fast a core (cpu), the network or the disks (disk) "
    "of a machine are, how many cores it has, and how many machines there are, such as disk=2 network=0.5 "
    "cores=8; may be repeated, each for a prediction of its own"
)

LOGS_FIRST = "event logs stand before this option"


def one_change(text: str) -> tuple[str, float]:
    """A name and a number of ``NAME=NUMBER``."""
    name, _, number = text.partition("=")
    try:
        value = above_zero(number)
    except ArgumentTypeError:
        value = math.nan
    if name not in (*FACTORS, *COUNTS) or math.isnan(value):
        names = ", ".join((*FACTORS, *COUNTS))
        raise ArgumentTypeError(
            f"{text!r} is not NAME=NUMBER with a number above 0 and a name of {names}; {LOGS_FIRST}"
        )
    if name in COUNTS and value != int(value):
        raise ArgumentTypeError(f"{text!r} is no whole number")
    return name, value


def _scale(text: str) -> float:
    try:
        return above_zero(text)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{error}; {LOGS_FIRST}") from None


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "event_log",
        metavar="EVENTLOG",
        nargs="+",
        help="event log of an application, as Spark wrote it: a file, compressed or not, a folder "
        "eventlog_v2_..., or an address such as s3://bucket/spark-events/app-1",
    )
    outputs = add_result_arguments(
        parser, formats=(TABLE, JSON), result="the whole profile, of several logs a list"
    )
    outputs.add_argument("--html", metavar="FILE", help="write a page with charts")
    outputs.add_argument(
        "--job-profile",
        metavar="FILE",
        help="write OptEx's profile of the job whose runs the logs are of, and say what it predicts",
    )
    run = parser.add_argument_group("the run")
    run.add_argument(
        "--scale",
        metavar="SCALE",
        type=_scale,
        nargs="+",
        help="the share of the whole input that it read, one for each log or one for all; default 1",
    )
    run.add_argument("--iterations", metavar="N", type=at_least_one, help="that it had, of an iterative job")
    run.add_argument(
        "--network",
        metavar="GB/S",
        type=above_zero,
        help="of a machine in one direction, in 10^9 bytes per second; default: what its tasks achieved",
    )
    run.add_argument(
        "--disk", metavar="GB/S", type=above_zero, help="of all disks of a machine together, likewise"
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
    from airflow_provider_ernest.cli.analyze_text import overview_lines, profile_lines

    if args.html is not None and len(args.event_log) > 1:
        raise InvalidParameterError(
            "html", args.html, "is of one run", remedy="Give one event log at a time."
        )
    refuse_further(args, "html", "job_profile")
    scales, changes = _scales(args.scale, len(args.event_log)), _changes(args.what_if)
    profiles = [
        _profile(source, args, scale=scale, changes=changes)
        for source, scale in zip(args.event_log, scales, strict=True)
    ]
    documents = [profile.to_dict() for profile in profiles]
    tell(
        args,
        lambda: profile_lines(profiles[0]) if len(profiles) == 1 else overview_lines(profiles),
        json=lambda: as_json(documents if len(documents) > 1 else documents[0]),
    )
    for profile in profiles:
        of_which = f"{profile.application_id}: " if len(profiles) > 1 else ""
        warn(f"{of_which}{warning}" for warning in profile.warnings)
    if args.job_profile is not None:
        say(_write_job_profile(profiles, args), args)
    if args.html is not None:
        from airflow_provider_ernest.views.report import of_run

        write_text(args.html, of_run(profiles[0]), force=args.force)
    say_written(args, {"page": args.html, "profile": args.output, "job's profile": args.job_profile})


def _changes(asked: Sequence[Sequence[tuple[str, float]]] | None) -> tuple[Change, ...] | None:
    """The changes that --what-if names; None where there are none."""
    from airflow_provider_ernest.clarity.monotasks import Change

    if asked is None:
        return None
    changes = []
    for parts in asked:
        names = [name for name, _ in parts]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidParameterError(
                "what_if", twice, "is named twice", remedy="Give --what-if again for a second prediction."
            )
        told: dict[str, Any] = {name: int(value) if name in COUNTS else value for name, value in parts}
        changes.append(Change(**told))
    return tuple(changes)


def _scales(given: Sequence[float] | None, logs: int) -> list[float]:
    scales = list(given or [1.0])
    if len(scales) == 1:
        return scales * logs
    if len(scales) != logs:
        raise InvalidParameterError(
            "scale", scales, f"are not as many as the {logs} event logs", remedy="Give one for each, or one."
        )
    return scales


def _profile(source: str, args: Namespace, *, scale: float, changes: tuple[Change, ...] | None) -> RunProfile:
    from airflow_provider_ernest.clarity.monotasks import stated_capacity
    from airflow_provider_ernest.clarity.profile import profile_run
    from airflow_provider_ernest.eventlog.reading import read_event_log

    with progress(f"reading {source}"):
        log = read_event_log(source)
    capacity = None
    if args.network is not None or args.disk is not None:
        capacity = stated_capacity(log, network=args.network, disk=args.disk)
    with progress(f"analysing {count(len(log.task_columns))} tasks of {log.application_id}"):
        return profile_run(
            log,
            scale=scale,
            iterations=args.iterations,
            capacity=capacity,
            machine_counts=args.machines,
            changes=changes,
            event_log=source,
        )


def _write_job_profile(profiles: Sequence[RunProfile], args: Namespace) -> list[str]:
    """Write it; returns lines of what it predicts for the whole input, phase by phase."""
    from airflow_provider_ernest.clarity.profile import sizes_around
    from airflow_provider_ernest.cli.analyze_text import titled_table
    from airflow_provider_ernest.prediction.optex import job_profile, predicted_phases
    from airflow_provider_ernest.views.profile_words import PHASES

    job = job_profile(profiles)
    write_text(args.job_profile, as_json(job.to_dict()), force=args.force)
    rows = []
    for number in args.machines or sizes_around(max(profile.machines for profile in profiles)):
        phases = predicted_phases(job, machines=number, iterations=args.iterations or 1)
        seconds = [phases.total_seconds, *(getattr(phases, field) for _, field in PHASES)]
        rows.append([count(number), *map(tenths, seconds)])
    return titled_table(
        "seconds at scale 1 by the job's profile (OptEx), start-up included",
        ("machines", "seconds", *(name for name, _ in PHASES)),
        rows,
    )


COMMAND = Command(
    name="analyze",
    summary="show from Spark's event log why a run took as long as it did",
    description="Read the event log that Spark wrote of a run and show what the run is bound by, what a "
    "faster network or disk could win at most, which stages and tasks held it up, what other machines would "
    "make of it, and what to change. Of several logs each has a line. Logs are read as they are: plain or "
    "compressed, rolled over, of a run that was cut off; neither Spark nor Airflow is needed.",
    example="""\
  %(prog)s /var/log/spark/app-20260312101500-0007.zstd --html why.html
  %(prog)s s3://bucket/spark-events/application_17_0042 --machines 2-32:2
  %(prog)s app-1 --network 0.6 --disk 0.25 --what-if network=2 --what-if cores=8 disk=2
  %(prog)s app-1 app-2 app-3 --scale 0.05 0.1 0.1 --job-profile job.json""",
    add_arguments=_add_arguments,
    run=_run,
)
