"""The command line of both benchmarks: makes runs or reads kept ones, then prints a report of them."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.eventlog.tables import EventLog
from airflow_provider_ernest.exceptions import ErnestError
from benchmarks.clarity.cluster import SlowableCluster
from benchmarks.clarity.running import log_of, make_runs
from benchmarks.clarity.scenarios import Scenario

Logs = Mapping[str, Sequence[EventLog]]
"""The event logs of each scenario's runs, by its name."""

Report = Callable[[Logs], Iterable[str]]


def run_command(
    program: str,
    description: str | None,
    scenarios: Sequence[Scenario],
    report: Report,
    arguments: Sequence[str] | None = None,
) -> int:
    """Parse the arguments, get the event logs, print the report; returns the exit code."""
    parser = argparse.ArgumentParser(prog=program, description=(description or "").partition("\n\n")[0])
    parser.add_argument("--repeats", type=int, default=1, help="how often each run is made; default 1")
    parser.add_argument(
        "--attempts", type=int, default=2, help="to make a run while nobody else uses this machine; default 2"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="where event logs are kept, and found of what was interrupted",
    )
    parser.add_argument("--logs", type=Path, metavar="DIR", help="kept event logs, instead of new runs")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was made is removed then, too
    try:
        if options.logs:
            _print(report, scenarios, options.logs)
            return 0
        if missing := SlowableCluster.missing():
            print(f"This benchmark cannot run here: {missing}.", file=sys.stderr)
            return 1
        folder = Path(tempfile.mkdtemp(prefix="ernest-clarity-"))
        try:
            logs = options.keep or folder / "logs"
            make_runs(
                scenarios,
                folder / "clusters",
                logs,
                repeats=options.repeats,
                attempts=options.attempts,
                say=_say,
            )
            _print(report, scenarios, logs)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except (ErnestError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _print(report: Report, scenarios: Sequence[Scenario], folder: Path) -> None:
    found: dict[str, list[EventLog]] = {}
    for scenario in scenarios:
        repeat = 0
        while (path := log_of(folder, scenario.name, repeat)).exists():
            found.setdefault(scenario.name, []).append(read_event_log(path))
            repeat += 1
    if not found:
        raise RuntimeError(f"{folder} holds none of this benchmark's event logs")
    for line in report(found):
        print(line, flush=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
