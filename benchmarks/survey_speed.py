"""How fast many event logs are scanned, in how much memory: ``python -m benchmarks.survey_speed``.

Makes logs of SQL tasks out of real events, packs them by Zstandard as Spark does, and scans them as
``ernest history`` does. It prints what was measured, for as many logs as were made, and beside it, marked as
such, what that comes to for the logs that are promised: 1,000 of 10,000 tasks each, in 10 minutes on 2 cores
and below 500 MB for all processes together. Other load on the machine lengthens the time and not the CPU
time, so both are told; it fails where the CPU time does not fit into the promised time of the cores.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import zstandard

from benchmarks.synthetic_log import large_log

PROMISED_LOGS = 1000
PROMISED_TASKS = 10_000
PROMISED_SECONDS = 600.0
PROMISED_MEGABYTES = 500.0
PROMISED_CORES = 2
_LOOK_SECONDS = 0.05

_PROGRAM = """
import sys
from airflow_provider_ernest.command_line import main
sys.exit(main(sys.argv[1:]))
"""


def main() -> int:
    """Measure, print, and tell by the exit code whether the promise is kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--logs", type=int, default=60)
    parser.add_argument("--tasks", type=int, default=PROMISED_TASKS)
    parser.add_argument("--processes", type=int, default=PROMISED_CORES)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size_bytes = _make(folder / "logs", arguments.logs, arguments.tasks)
        print(
            f"{arguments.logs} logs of {arguments.tasks:,} tasks, {size_bytes / 1e6:,.0f} MB in Zstandard"
            + f"; {arguments.processes} processes on {os.cpu_count()} cores, of which others take some"
        )
        first, again, surveyed = (
            _measured(folder, command, arguments.processes) for command in ("history", "history", "survey")
        )
    print(f"{'':12}{'seconds':>10}{'CPU s':>10}{'CPU s a log':>13}{'peak MB of all':>16}")
    # The survey finds the runs in the cache, and analyses the logs of some of each job.
    for what, measured in (("history", first), ("repeated", again), ("survey", surveyed)):
        seconds, cpu_seconds, megabytes = measured
        print(
            f"{what:12}{seconds:>10.1f}{cpu_seconds:>10.1f}{cpu_seconds / arguments.logs:>13.3f}"
            f"{megabytes:>16.0f}"
        )
    return _judged([first, surveyed], arguments)


def _judged(needed: list[tuple[float, float, float]], arguments: argparse.Namespace) -> int:
    cpu_seconds, megabytes = sum(each[1] for each in needed), max(each[2] for each in needed)
    a_task = cpu_seconds / (arguments.logs * arguments.tasks)
    foretold = a_task * PROMISED_LOGS * PROMISED_TASKS / PROMISED_CORES
    kept = foretold <= PROMISED_SECONDS and megabytes < PROMISED_MEGABYTES
    print(
        f"\nExtrapolated, not measured: {PROMISED_LOGS:,} logs of {PROMISED_TASKS:,} tasks on "
        f"{PROMISED_CORES} cores of their own, with the survey: {foretold:.0f} s.\n"
        f"Promised: {PROMISED_SECONDS:.0f} s and {PROMISED_MEGABYTES:.0f} MB: {'kept' if kept else 'BROKEN'}."
    )
    return 0 if kept else 1


def _make(folder: Path, logs: int, tasks: int) -> int:
    """The logs, of ten jobs; returns their size in bytes."""
    folder.mkdir()
    text = b"".join(line + b"\n" for line in large_log(tasks))
    for number in range(logs):
        own = text.replace(b'"App Name":"job"', b'"App Name":"job-%c run %d"' % (97 + number % 10, number))
        own = own.replace(b"app-20261122113711-0000", b"app-20261122113711-%04d" % number)
        (folder / f"app-20261122113711-{number:04}.zstd").write_bytes(zstandard.compress(own, 1))
    return sum(file.stat().st_size for file in folder.iterdir())


def _measured(folder: Path, command: str, processes: int) -> tuple[float, float, float]:
    """Seconds, CPU seconds and peak megabytes of a command and all its processes."""
    argv = [sys.executable, "-c", _PROGRAM, command, str(folder / "logs")]
    argv += ["--processes", str(processes), "--cache", str(folder / "cache")]
    began, before = time.perf_counter(), _children_seconds()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    root, peak = psutil.Process(process.pid), 0.0
    while process.poll() is None:
        peak = max(peak, sum(_resident(root)) / 1e6)
        time.sleep(_LOOK_SECONDS)
    if process.returncode:
        raise RuntimeError(f"{command} failed with {process.returncode}")
    return time.perf_counter() - began, _children_seconds() - before, peak


def _children_seconds() -> float:
    """CPU time of all processes that have ended and were waited for, theirs included."""
    times = os.times()
    return times.children_user + times.children_system


def _resident(root: psutil.Process) -> Iterator[float]:
    """Bytes of each process, shared ones in each: never less than they take."""
    try:
        for process in (root, *root.children(recursive=True)):
            yield float(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return


if __name__ == "__main__":
    sys.exit(main())
