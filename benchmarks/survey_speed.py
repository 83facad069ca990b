"""How fast many event logs are scanned, in how much memory: ``python -m benchmarks.survey_speed``.

Makes logs of SQL tasks out of real events, packs them by Zstandard as Spark does, and scans them as
``ernest history`` does. It prints what was measured, for as many logs as were made, and what that comes to
for what is promised: of logs of 10,000 tasks, 12 a second on 2 cores, below 1 GB for all processes together.
Other load on the machine lengthens the time and not the CPU time, so both are told; it fails where the CPU
time does not fit into the promised time of the cores.

With --spark the logs are read as by ``ernest history --on spark``, on one executor and on two, of one core
each, in turn: processes of this machine, or on the YARN of the tests. The time is that between the start of
the last executor and the end of the application, by the event log of the application itself. With
--slow-storage each request for a log is answered after 0.04 s, as by an object store: reading then waits more
than it computes, which shows how work spreads also where executors share their cores with others.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import psutil
import zstandard

from airflow_provider_ernest.eventlog.run_facts import read_run
from airflow_provider_ernest.history.observations import past_run
from airflow_provider_ernest.history.on_spark import SparkReader
from airflow_provider_ernest.history.reading import RUN, in_processes
from benchmarks.synthetic_log import large_log
from tests.yarn_testbed import YarnTestbed

PROMISED_LOGS_PER_SECOND = 12.0
PROMISED_TASKS = 10_000
PROMISED_MEGABYTES = 1000.0
PROMISED_CORES = 2
PROMISED_RATIO = 1.7
STORAGE_SECONDS = 0.04
LOCAL, YARN = "local", "yarn"
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
    parser.add_argument("--spark", choices=(LOCAL, YARN))
    parser.add_argument("--slow-storage", action="store_true", help="with --spark; see above")
    parser.add_argument("--rounds", type=int, default=2, help="with --spark; default %(default)s")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size_bytes = _make(folder / "logs", arguments.logs, arguments.tasks)
        print(
            f"{arguments.logs} logs of {arguments.tasks:,} tasks, {size_bytes / 1e6:,.0f} MB in Zstandard"
            + f"; {os.cpu_count()} cores, of which others take some (load {os.getloadavg()[0]:.1f})"
            + f"; each request for one is answered after {STORAGE_SECONDS} s" * arguments.slow_storage
        )
        if arguments.spark:
            with (
                _cluster(arguments.spark, folder) as conf_of,
                _addresses(folder / "logs", arguments.slow_storage) as places,
            ):
                return _on_spark(folder, places, conf_of, arguments.rounds)
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
    per_second = PROMISED_CORES * arguments.logs / cpu_seconds
    # Logs of fewer tasks are no measure of those that are promised: each log takes some time, too.
    is_fast = per_second >= PROMISED_LOGS_PER_SECOND or arguments.tasks < PROMISED_TASKS
    kept = is_fast and megabytes < PROMISED_MEGABYTES
    print(
        f"\nBy CPU time, {PROMISED_CORES} cores of their own read {per_second:.1f} logs of "
        f"{arguments.tasks:,} tasks a second, with the survey.\n"
        f"Promised: {PROMISED_LOGS_PER_SECOND:.0f} a second of {PROMISED_TASKS:,} tasks and "
        f"{PROMISED_MEGABYTES:,.0f} MB: {'kept' if kept else 'BROKEN'}."
    )
    return 0 if kept else 1


@contextmanager
def _cluster(kind: str, folder: Path) -> Iterator[Callable[[int], dict[str, str]]]:
    """Gives the properties of an application on so many executors."""
    if kind == LOCAL:
        yield lambda executors: {"spark.master": f"local-cluster[{executors},1,512]"}
        return
    with YarnTestbed(folder / "yarn") as testbed:
        os.environ.update(testbed.environment())
        yield lambda executors: {"spark.master": "yarn", "spark.executor.instances": str(executors)}


class _SlowStorage(SimpleHTTPRequestHandler):
    """Answers as late as an object store may."""

    def do_GET(self) -> None:
        """Wait, and send the file."""
        time.sleep(STORAGE_SECONDS)
        super().do_GET()

    def log_message(self, *_: object) -> None:
        """Nothing of it is to be seen."""


@contextmanager
def _addresses(folder: Path, is_slow: bool) -> Iterator[dict[str, str]]:
    """The addresses of the logs, by their names."""
    logs = sorted(folder.iterdir())
    if not is_slow:
        yield {log.name: str(log) for log in logs}
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_SlowStorage, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield {log.name: f"http://127.0.0.1:{server.server_port}/{log.name}" for log in logs}
        server.shutdown()


def _on_spark(
    folder: Path, places: dict[str, str], conf_of: Callable[[int], dict[str, str]], rounds: int
) -> int:
    """Read the logs on one executor and on two; tell by the exit code whether the promise is kept."""
    here = dict(in_processes()(RUN, places))
    seconds: dict[int, list[float]] = {1: [], 2: []}
    print(f"{'executors':>9}{'start-up s':>12}{'seconds':>10}{'logs a second':>15}{'load':>7}")
    for number, executors in enumerate((1, 2) * rounds):
        own = folder / f"own-{number}"
        own.mkdir()
        conf = {
            **conf_of(executors),
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": own.as_uri(),
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "600s",
        }
        if dict(SparkReader(conf=conf)(RUN, places)) != here:
            raise RuntimeError("Spark gave other answers than processes of this machine")
        (log,) = own.iterdir()
        run = past_run(read_run(log), event_log=str(log))
        if run.executors != executors:
            raise RuntimeError(f"{run.executors} executors in place of {executors}: {run.failure}")
        seconds[executors].append(run.seconds)
        rate = len(places) / run.seconds
        load = os.getloadavg()[0]
        print(f"{executors:>9}{run.startup_seconds:>12.1f}{run.seconds:>10.1f}{rate:>15.1f}{load:>7.1f}")
    ratio = sum(seconds[1]) / sum(seconds[2])
    kept = ratio >= PROMISED_RATIO
    print(
        "\nAll answers are those of processes of this machine. Two executors have "
        f"{ratio:.2f} times the throughput of one.\nPromised: {PROMISED_RATIO} times, where cores allow: "
        f"{'kept' if kept else 'BROKEN'}."
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
