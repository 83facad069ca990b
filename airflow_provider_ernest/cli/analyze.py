"""``ernest analyze``: why a run took as long as it did, from its event log."""

from __future__ import annotations

import codecs
import csv
import math
import sys
import threading
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.command import (
    JSON,
    MACHINES_HELP,
    SECONDS_BETWEEN_REPORTS,
    STANDARD,
    TABLE,
    Command,
    above_zero,
    add_result_arguments,
    appearing_whole,
    as_json,
    at_least_one,
    beside,
    machine_numbers,
    printable,
    refuse_further,
    say,
    tell,
    warn,
    write_text,
)
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.words import count, duration, tenths

if TYPE_CHECKING:
    from airflow_provider_ernest.clarity.what_if import Change
    from airflow_provider_ernest.documents.profiles import Capacity, RunProfile
    from airflow_provider_ernest.eventlog.tables import EventLog
    from airflow_provider_ernest.eventlog.tasks import TaskColumns


FACTORS = ("cpu", "network", "disk")
"""How many times as fast a core, the network or the disks of a machine are."""

COUNTS = ("cores", "machines")
"""How many."""

CHANGE_HELP = (
    "predict the run on other machines: how many times as fast a core (cpu), the network or the disks (disk) "
    "of a machine are, how many cores it has, and how many machines there are, such as disk=2 network=0.5 "
    "cores=8; may be repeated, each for a prediction of its own"
)


def one_change(text: str) -> tuple[str, float]:
    """A name and a number of ``NAME=NUMBER``.

    Raises:
        ArgumentTypeError: it is none; argparse makes a usage error of it.
    """
    name, _, number = text.partition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if name not in (*FACTORS, *COUNTS) or not (math.isfinite(value) and value > 0):
        names = ", ".join((*FACTORS, *COUNTS))
        raise ArgumentTypeError(
            f"{text!r} is not NAME=NUMBER with a number above 0 and a name of {names}; event logs stand "
            "before this option"
        )
    if name in COUNTS and value != int(value):
        raise ArgumentTypeError(f"{text!r} is no whole number")
    return name, value


def changes_of(asked: Sequence[Sequence[tuple[str, float]]] | None) -> tuple[Change, ...] | None:
    """The changes that the options name; None where there are none.

    Raises:
        InvalidParameterError: one of them names the same thing twice.
    """
    from airflow_provider_ernest.clarity.what_if import Change

    if asked is None:
        return None
    changes = []
    for parts in asked:
        _refuse_twice(parts)
        told: dict[str, Any] = {name: int(value) if name in COUNTS else value for name, value in parts}
        changes.append(Change(**told))
    return tuple(changes)


def _refuse_twice(parts: Sequence[tuple[str, float]]) -> None:
    names = [name for name, _ in parts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidParameterError(
            "what_if", twice, "is named twice", remedy="Give --what-if again for a second prediction."
        )


@contextmanager
def progress(what: str, *, every_seconds: float = SECONDS_BETWEEN_REPORTS) -> Iterator[None]:
    """Tell on standard error, now and then, that something is still being done; nothing where it is short.

    Args:
        what: is done, such as "reading app-1".
        every_seconds: between two reports.
    """
    began_at, ended = time.monotonic(), threading.Event()

    def report() -> None:
        while not ended.wait(every_seconds):
            sys.stderr.write(f"{printable(what)}: {duration(round(time.monotonic() - began_at))} so far\n")
            sys.stderr.flush()

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        ended.set()
        reporter.join()


def _scale(text: str) -> float:
    try:
        return above_zero(text)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{error}; event logs stand before this option") from None


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
        "--tables", metavar="FOLDER", help="write the log's jobs, stages, tasks, executors and queries as CSV"
    )
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

    _refuse(args)
    profiles = [
        _profile(source, scale, args)
        for source, scale in zip(args.event_log, _scales(args.scale, len(args.event_log)), strict=True)
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
    _write(profiles, args)


def _refuse(args: Namespace) -> None:
    """Refuse what cannot be done before anything is read.

    Raises:
        InvalidParameterError: an output is there already, one is of one run where several are given, or a
            change names the same thing twice.
    """
    for name in ("html", "tables"):
        if getattr(args, name) is not None and len(args.event_log) > 1:
            raise InvalidParameterError(
                name, getattr(args, name), "is of one run", remedy="Give one event log at a time."
            )
    refuse_further(args, "html", "job_profile")
    if args.tables is not None:
        refuse_tables(args.tables, force=args.force)
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
    from airflow_provider_ernest.clarity.profile import profile_run
    from airflow_provider_ernest.eventlog.reading import read_event_log

    with progress(f"reading {source}"):
        log = read_event_log(source)
    if args.tables is not None:
        with progress(f"writing tables into {args.tables}"):
            write_tables(log, args.tables, force=args.force)
    with progress(f"analysing {count(len(log.task_columns))} tasks of {log.application_id}"):
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
    from airflow_provider_ernest.clarity.monotasks import stated_capacity

    if args.network is None and args.disk is None:
        return None
    return stated_capacity(log, network=args.network, disk=args.disk)


def _write(profiles: Sequence[RunProfile], args: Namespace) -> None:
    if args.job_profile is not None:
        say(_write_job_profile(profiles, args), beside=beside(args))
    if args.html is not None:
        from airflow_provider_ernest.views.report import of_run

        write_text(args.html, of_run(profiles[0]), force=args.force)
    written = {
        "page": args.html,
        "profile": args.output,
        "tables": args.tables,
        "job's profile": args.job_profile,
    }
    told = [f"{what} in {where}" for what, where in written.items() if where not in (None, STANDARD)]
    if told:
        say(["", f"written: {', '.join(told)}"], beside=beside(args))


def _write_job_profile(profiles: Sequence[RunProfile], args: Namespace) -> list[str]:
    """Write it; gives what it foretells of the whole input, phase by phase."""
    from airflow_provider_ernest.clarity.profile import sizes_around
    from airflow_provider_ernest.cli.analyze_text import titled_table
    from airflow_provider_ernest.prediction.optex import job_profile, predicted_phases
    from airflow_provider_ernest.views.profile_words import PHASES

    job = job_profile(profiles)
    write_text(args.job_profile, as_json(job.to_dict()), force=args.force)
    machines = args.machines or sizes_around(max(profile.machines for profile in profiles))
    predicted = [
        (number, predicted_phases(job, machines=number, iterations=args.iterations or 1))
        for number in machines
    ]
    return titled_table(
        "seconds at scale 1 by the job's profile (OptEx), start-up included",
        ("machines", "seconds", *(name for name, _ in PHASES)),
        (
            (
                count(number),
                tenths(phases.total_seconds),
                *(tenths(getattr(phases, field)) for _, field in PHASES),
            )
            for number, phases in predicted
        ),
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
  %(prog)s app-1 app-2 app-3 --scale 0.05 0.1 0.1 --job-profile job.json
  %(prog)s app-1 --tables tables --format json""",
    add_arguments=_add_arguments,
    run=_run,
)


FILES = ("jobs.csv", "stages.csv", "tasks.csv", "executors.csv", "sql_executions.csv")
"""What is written into a folder."""

_OF_TASKS = ("seconds", "scheduler_delay_seconds")
"""What is computed from the columns of tasks and stands beside them."""

_ROWS_AT_ONCE = 10_000


def refuse_tables(folder: str, *, force: bool) -> None:
    """Refuse a folder that cannot be one, or that has a file of one of these names, before any work is done.

    Raises:
        InvalidParameterError: it is no folder, or a file is there and `force` is not set.
    """
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise InvalidParameterError("tables", folder, "is no folder", remedy="Name a folder, new or empty.")
    there = [name for name in FILES if (place / name).exists()]
    if there and not force:
        raise InvalidParameterError(
            "tables",
            folder,
            f"has {', '.join(there)} already",
            remedy="Choose another folder, or overwrite these files with --force.",
        )


def write_tables(log: EventLog, folder: str, *, force: bool) -> None:
    """Write all tables; times are seconds since the epoch, durations seconds, sizes bytes, unknowns empty.

    Args:
        log: that is written.
        folder: is made where it is not there; other files in it stay.
        force: whether files of these names may be overwritten.

    Raises:
        InvalidParameterError: see `refuse_tables`; or it cannot be written to.
    """
    from airflow_provider_ernest.eventlog.tables import ExecutorRow, JobRow, SqlExecutionRow, StageRow

    refuse_tables(folder, force=force)
    contents: dict[str, tuple[Sequence[str], Iterable[Sequence[Any]]]] = {
        "jobs.csv": _of_rows(JobRow, log.jobs),
        "stages.csv": _of_rows(StageRow, log.stages),
        "tasks.csv": _of_tasks(log.task_columns),
        "executors.csv": _of_rows(ExecutorRow, log.executors),
        "sql_executions.csv": _of_rows(SqlExecutionRow, log.sql_executions),
    }
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            _write_table(place / name, *contents[name])
    except OSError as error:
        raise InvalidParameterError(
            "tables",
            folder,
            f"cannot be written to: {error.strerror}",
            remedy="Check that the folder may be written to, and that there is room.",
        ) from error


def _write_table(path: Path, heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with appearing_whole(path) as target:
        writer = csv.writer(codecs.getwriter("utf-8")(target, "xmlcharrefreplace"), lineterminator="\n")
        writer.writerow(heading)
        writer.writerows(rows)


def _of_rows(form: type[Any], rows: Iterable[Any]) -> tuple[list[str], Iterator[list[Any]]]:
    names = [column.name for column in fields(form)]
    return names, ([_cell(getattr(row, name)) for name in names] for row in rows)


def _of_tasks(tasks: TaskColumns) -> tuple[list[str], Iterator[list[Any]]]:
    names = [*(column.name for column in fields(tasks)), *_OF_TASKS]
    columns = [getattr(tasks, name) for name in names]

    def rows() -> Iterator[list[Any]]:
        # As Python's own numbers, but never all of them at once: a log may have millions of tasks.
        for start in range(0, len(tasks), _ROWS_AT_ONCE):
            parts = [column[start : start + _ROWS_AT_ONCE].tolist() for column in columns]
            yield from ([_cell(value) for value in row] for row in zip(*parts, strict=True))

    return names, rows()


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else round(value, 6)
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return "" if value is None else value
