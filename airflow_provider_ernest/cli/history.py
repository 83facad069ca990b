"""``ernest history``: the recurring jobs of event logs, and their past runs as files."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from statistics import median
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli.command import (
    CSV,
    JSON,
    TABLE,
    Command,
    add_result_arguments,
    aligned,
    as_csv,
    as_json,
    cell_of,
    say_written,
    tell,
)
from airflow_provider_ernest.cli.scanning import add_scan_arguments, refuse_without_logs, scan_of
from airflow_provider_ernest.documents.base import time_of
from airflow_provider_ernest.words import UNKNOWN, count, counted, date_time, duration, shortened

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.runs import PastRun
    from airflow_provider_ernest.history.jobs import Jobs
    from airflow_provider_ernest.history.scan import Scan

_LATEST_RUNS = 3
_MOST_REASONS = 12
_NAME_LETTERS = 60

COLUMNS = (
    "job",
    "machines",
    "scale",
    "row_width",
    "seconds",
    "startup_seconds",
    "instance_type",
    "left_out",
    "mean_machines",
    "cores_per_machine",
    "memory_megabytes_per_machine",
    "input_bytes",
    "input_records",
    "started_at",
    "application_id",
    "spark",
    "main",
    "event_log",
)
"""Of a runs file, which ``fit`` and ``design`` read; see `cli.models`."""

_OF_RUN = tuple(name for name in COLUMNS if name not in ("scale", "row_width", "left_out"))


def _add_arguments(parser: ArgumentParser) -> None:
    add_scan_arguments(parser)
    add_result_arguments(
        parser,
        formats=(TABLE, CSV, JSON),
        result="all runs (csv is what fit and design read, of one job at a time with --job)",
    )


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.history.jobs import by_job

    scan = scan_of(args)
    jobs = by_job(scan, stated=scan.stated)
    refuse_without_logs(args, scan)
    runs = [run for job in sorted(jobs.runs) for run in jobs.runs[job]]
    tell(
        args,
        lambda: history_lines(jobs, scan),
        csv=lambda: as_csv(COLUMNS, _csv_rows(jobs.runs)),
        json=lambda: as_json([_told(run).to_dict() for run in runs]),
    )
    say_written(args, {counted(len(runs), "run"): args.output})


def history_lines(jobs: Jobs, scan: Scan) -> list[str]:
    """The jobs, those with most machine-hours first, and what could not be read."""
    from airflow_provider_ernest.history.jobs import about_joined

    runs, lines = jobs.runs, []
    if runs:

        def use(job: str) -> float:
            return sum(run.paid_machine_seconds for run in runs[job])

        heading = ("job", "runs", "left out", "machines", "median time", "latest input", "last run (UTC)")
        rows = [_row(job, runs[job]) for job in sorted(runs, key=lambda job: (-use(job), job))]
        lines += [*aligned(heading, rows, right="runs, left out, median time, latest input"), ""]
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
    sizes = sorted({run.machines for run in good})
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
            yield _cells(run, scale=observation.scale, row_width=observation.row_width)
        for left_out in history.left_out:
            yield _cells(left_out.run, left_out=left_out.reason)


def _told(run: PastRun) -> PastRun:
    """The run as its log tells it: without bytes where there are records in their place."""
    return run if run.tells_bytes else replace(run, input_bytes=0)


def _cells(run: PastRun, **told: object) -> list[object]:
    known = {name: getattr(_told(run), name) for name in _OF_RUN} | told
    known["seconds"], known["startup_seconds"] = round(run.seconds, 3), round(run.startup_seconds, 3)
    return [cell_of(known.get(name)) for name in COLUMNS]


COMMAND = Command(
    name="history",
    summary="find the recurring jobs in Spark's event logs, and write their past runs",
    description="Read the event logs that Spark wrote, thousands of them in all cores, and tell which "
    "recurring jobs they are of: how often each ran, on how many machines, how long, and what it read. Runs "
    "that failed, lost machines or waited for some are left out, and it is said why. The runs "
    "file is what fit and design take for runs that cost nothing. Nothing leaves this machine.",
    example="  %(prog)s /var/log/spark-events --output runs.csv\n"
    "  %(prog)s 's3://bucket/spark-events/2026-*' --since 2026-01-01 --output history.json\n"
    "  %(prog)s /var/log/spark-events --job-pattern '^(.*)-[0-9]+$'",
    add_arguments=_add_arguments,
    run=_run,
)
