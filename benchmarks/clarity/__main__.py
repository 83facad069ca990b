"""Does what an event log tells of a run come true? Real runs, on hosts made slow, against predictions.

A small Spark cluster is made on this machine, of hosts whose networks, CPU and disks can be limited. Jobs
of a known bottleneck run on it, and again with the limit lifted, doubled or halved, on other numbers of
machines, and with no host slow; the predictions from one run's event log stand beside what the other run
took. Needs root.

    python -m benchmarks.clarity [--repeats N] [--keep DIR]
    python -m benchmarks.clarity --logs DIR
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from airflow_provider_ernest.spark.event_log import read_event_log
from airflow_provider_ernest.spark.log_reading.tables import EventLog
from benchmarks.clarity.cluster import SlowableCluster
from benchmarks.clarity.report import report_lines
from benchmarks.clarity.running import log_of, make_runs
from benchmarks.clarity.scenarios import SCENARIOS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, compare and print; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.clarity", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--repeats", type=int, default=1, help="runs of each scenario; 1 takes 10 minutes")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="where event logs are kept; nowhere by default"
    )
    parser.add_argument(
        "--logs", type=Path, metavar="DIR", help="kept event logs, to compare without new runs"
    )
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was made is removed then, too
    if options.logs:
        print("\n".join(report_lines(_read(options.logs))))
        return 0
    if missing := SlowableCluster.missing():
        print(f"This benchmark cannot run here: {missing}.", file=sys.stderr)
        return 1
    folder = Path(tempfile.mkdtemp(prefix="ernest-clarity-"))
    try:
        logs = options.keep or folder / "logs"
        make_runs(folder / "clusters", logs, repeats=options.repeats, say=_say)
        print("\n".join(report_lines(_read(logs))))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _read(folder: Path) -> dict[str, list[EventLog]]:
    """The logs that are there, by scenario."""
    found: dict[str, list[EventLog]] = {}
    for scenario in SCENARIOS:
        repeat = 0
        while (path := log_of(folder, scenario.name, repeat)).exists():
            found.setdefault(scenario.name, []).append(read_event_log(path))
            repeat += 1
    return found


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
