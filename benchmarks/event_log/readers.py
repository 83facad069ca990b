"""Reads one log in one way and prints what it took, as JSON: a fresh process tells the peak of memory."""

from __future__ import annotations

import json
import re
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

TASK_END = '{"Event":"SparkListenerTaskEnd"'


def read_by_ernest(path: str) -> int:
    """Into tables; returns the number of tasks."""
    from airflow_provider_ernest.eventlog.reading import read_event_log

    return len(read_event_log(path).task_columns)


def read_by_json(path: str) -> int:
    """All lines by the standard library, keeping the figures of tasks in lists."""
    return _read_by_json(path, everything=True)


def read_tasks_by_json(path: str) -> int:
    """The lines of tasks that ended by the standard library, keeping the same."""
    return _read_by_json(path, everything=False)


def _read_by_json(path: str, *, everything: bool) -> int:
    columns: dict[str, list[Any]] = defaultdict(list)
    with Path(path).open(encoding="utf-8") as lines:
        for line in lines:
            if everything or line.startswith(TASK_END):
                event = json.loads(line)
                if event["Event"] == "SparkListenerTaskEnd":
                    _keep(event, columns)
    return len(columns["Task ID"])


def _keep(event: dict[str, Any], columns: dict[str, list[Any]]) -> None:
    for part in (event, event["Task Info"], event["Task Metrics"] or {}):
        for name, value in part.items():
            if isinstance(value, int | bool):
                columns[name].append(value)
            elif name.endswith(" Metrics") and name != "Task Metrics":
                for inner, figure in value.items():
                    if isinstance(figure, int):
                        columns[f"{name} {inner}"].append(figure)


READERS: dict[str, Callable[[str], int]] = {
    "ernest": read_by_ernest,
    "json": read_by_json,
    "json of tasks": read_tasks_by_json,
}


def main() -> None:
    """Read, and print."""
    name, path = sys.argv[1:]
    began, cpu_began = time.perf_counter(), time.process_time()
    tasks = READERS[name](path)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    # Not `getrusage`: that tells the peak of the process that this one was forked from, too.
    status = Path("/proc/self/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak is not None
    told = {"tasks": tasks, "seconds": seconds, "cpu_seconds": cpu_seconds}
    print(json.dumps({**told, "peak_megabytes": int(peak[1]) / 1000}))


if __name__ == "__main__":
    main()
