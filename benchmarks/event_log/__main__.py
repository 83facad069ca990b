"""How fast, and in how much memory, event logs are read: ``python -m benchmarks.event_log``.

Makes a log of 100,000 SQL tasks out of real events, packs it by gzip and Zstandard and rolls it over, and
reads each in a process of its own. It fails where the promise is not kept: 100,000 tasks in 5 seconds of CPU
time and below 500 MB.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import zstandard

from benchmarks.event_log.synthetic_log import large_log

PROMISED_SECONDS = 5.0
PROMISED_TASKS = 100_000
PROMISED_MEGABYTES = 500.0
ROLLED_FILES = 8

# Not `getrusage`: that tells the peak of the process that this one was forked from, too.
_READ = """
import json, re, sys, time
from pathlib import Path
from airflow_provider_ernest.eventlog.reading import read_event_log
began, cpu_began = time.perf_counter(), time.process_time()
tasks = len(read_event_log(sys.argv[1]).task_columns)
seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1000
print(json.dumps({"tasks": tasks, "seconds": seconds, "cpu_seconds": cpu_seconds, "peak_megabytes": peak}))
"""


def main() -> int:
    """Measure, print a table, and tell by the exit code whether the promise is kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tasks", type=int, default=PROMISED_TASKS)
    arguments = parser.parse_args()
    kept = True
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'':34}{'tasks':>9}{'MB':>8}{'seconds':>9}{'CPU s':>8}{'tasks/s':>10}{'peak MB':>9}")
        for name, path in _logs(Path(folder), arguments.tasks).items():
            command = [sys.executable, "-c", _READ, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=900)
            measured: dict[str, Any] = json.loads(done.stdout)
            allowed = PROMISED_SECONDS * max(1.0, measured["tasks"] / PROMISED_TASKS)
            within = measured["cpu_seconds"] <= allowed and measured["peak_megabytes"] < PROMISED_MEGABYTES
            kept = kept and within
            print(_row(name, path, measured) + ("" if within else "  promise broken"))
    print(
        f"\nPromised: {PROMISED_TASKS:,} tasks in {PROMISED_SECONDS:.0f} s of CPU time and below "
        f"{PROMISED_MEGABYTES:.0f} MB: {'kept' if kept else 'BROKEN'}. MB: as the log lies there."
    )
    return 0 if kept else 1


def _logs(folder: Path, tasks: int) -> dict[str, Path]:
    lines = [line + b"\n" for line in large_log(tasks)]
    text = b"".join(lines)
    rolled = folder / "eventlog_v2_app-20261122112256-0000"
    rolled.mkdir()
    (rolled / "appstatus_app-20261122112256-0000").touch()
    each = -(-len(lines) // ROLLED_FILES)
    for number in range(ROLLED_FILES):
        part = b"".join(lines[number * each : (number + 1) * each])
        name = f"events_{number + 1}_app-20261122112256-0000.zstd"
        (rolled / name).write_bytes(zstandard.compress(part, 1))
    for name, content in (
        ("plain", text),
        ("log.gz", gzip.compress(text, 6)),
        ("log.zstd", zstandard.compress(text, 1)),
    ):
        (folder / name).write_bytes(content)
    return {
        "plain": folder / "plain",
        "gzip": folder / "log.gz",
        "Zstandard": folder / "log.zstd",
        f"Zstandard, {ROLLED_FILES} files, rolled over": rolled,
    }


def _row(name: str, path: Path, measured: dict[str, Any]) -> str:
    files = [path] if path.is_file() else list(path.iterdir())
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    return (
        f"{name:34}{measured['tasks']:>9,}{megabytes:>8.1f}{measured['seconds']:>9.2f}"
        f"{measured['cpu_seconds']:>8.2f}{measured['tasks'] / measured['seconds']:>10,.0f}"
        f"{measured['peak_megabytes']:>9.0f}"
    )


if __name__ == "__main__":
    sys.exit(main())
