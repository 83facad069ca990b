"""A spark-submit that starts no Spark: it notes how it was called, and writes the event log of a made-up run.

The run is of the year 2001: its log was begun before it was submitted, and so its start-up counts as none.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

CORES = 2
BEGIN = 978_307_200_000
"""Milliseconds since the epoch."""

NOTES = "submitted.jsonl"
"""The file that the calls are noted in, a line for each."""

MEGABYTE = 1_000_000


@contextmanager
def stands_in(folder: Path) -> Iterator[None]:
    """Have it called instead of the real one, and note the calls in the folder."""
    import pytest  # here, for the program itself is to begin at once

    program = folder / "bin" / "spark-submit"
    program.parent.mkdir()
    root = Path(__file__).parents[2]
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(root)!r})\n"
        f"from tests.golden.spark_submit import main\nmain({str(folder)!r})\n"
    )
    program.chmod(0o755)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        yield


def main(folder: str) -> None:
    """Be called."""
    words = sys.argv[1:]
    with (Path(folder) / NOTES).open("a") as notes:
        notes.write(json.dumps(words) + "\n")
    given = [word for before, word in pairwise(words) if before == "--conf"]
    conf = dict(word.split("=", 1) for word in given)
    machines, scale = int(conf["spark.executor.instances"]), float(words[-1])
    number = len((Path(folder) / NOTES).read_text().splitlines())
    name = f"app-20010101000000-{number:04d}"
    logs = Path(conf["spark.eventLog.dir"].removeprefix("file://"))
    with (logs / name).open("w") as log:
        for event in _events(name, machines=machines, scale=scale):
            log.write(json.dumps(event, separators=(",", ":")) + "\n")


def _events(name: str, *, machines: int, scale: float) -> Iterator[dict[str, Any]]:
    """A run of two stages: one that computes, and one whose tasks wait for the network most of their time."""
    computed = round(1000 * (4.0 + 900.0 * scale / machines))
    exchanged = round(1000 * (3.0 + 600.0 * scale / machines + machines))
    yield {"Event": "SparkListenerLogStart", "Spark Version": "4.0.0"}
    yield {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {"spark.master": "yarn"}}
    yield _event("ApplicationStart", **{"App Name": "job", "App ID": name}, Timestamp=BEGIN)
    ready = BEGIN + 5000
    for number in range(machines):
        info = {"Host": f"10.0.0.{10 + number}", "Total Cores": CORES, "Log Urls": {}}
        yield _event("ExecutorAdded", Timestamp=ready, **{"Executor ID": str(number), "Executor Info": info})
    job = {"Job ID": 0, "Stage IDs": [0, 1], "Properties": {}}
    yield _event("JobStart", **job, **{"Submission Time": ready})
    yield from _stage(0, machines, began=ready, milliseconds=computed, waiting=0.05)
    yield from _stage(1, machines, began=ready + computed, milliseconds=exchanged, waiting=0.8)
    ended = ready + computed + exchanged
    yield _event(
        "JobEnd", **{"Job ID": 0, "Completion Time": ended, "Job Result": {"Result": "JobSucceeded"}}
    )
    yield _event("ApplicationEnd", Timestamp=ended)


def _stage(
    stage: int, machines: int, *, began: int, milliseconds: int, waiting: float
) -> Iterator[dict[str, Any]]:
    """A task on each core, of which so great a share waits for what others have shuffled."""
    tasks = CORES * machines
    about = {
        "Stage ID": stage,
        "Stage Attempt ID": 0,
        "Stage Name": f"count at job.py:{10 + stage}",
        "Number of Tasks": tasks,
        "Parent IDs": [stage - 1] if stage else [],
        "Submission Time": began,
    }
    yield _event("StageSubmitted", **{"Stage Info": about, "Properties": {}})
    for number in range(tasks):
        # The last one has the most to do.
        taken = milliseconds - 20 * (tasks - 1 - number)
        info = {
            "Task ID": tasks * stage + number,
            "Index": number,
            "Attempt": 0,
            "Launch Time": began,
            "Finish Time": began + taken,
            "Executor ID": str(number // CORES),
            "Host": f"10.0.0.{10 + number // CORES}",
            "Locality": "ANY",
            "Speculative": False,
            "Getting Result Time": 0,
        }
        metrics = {
            "Executor Deserialize Time": 10,
            "Executor Run Time": taken - 20,
            "Executor CPU Time": round(1e6 * (1 - waiting) * (taken - 40)),
            "JVM GC Time": taken // 50,
            "Result Size": 1000,
            "Memory Bytes Spilled": 0,
            "Disk Bytes Spilled": 0,
            "Input Metrics": {"Bytes Read": 0 if stage else 64 * MEGABYTE, "Records Read": 1000},
            "Shuffle Read Metrics": {
                "Fetch Wait Time": round(waiting * taken) if stage else 0,
                "Remote Bytes Read": 30 * MEGABYTE if stage else 0,
                "Local Bytes Read": 10 * MEGABYTE if stage else 0,
                "Remote Blocks Fetched": 4,
                "Local Blocks Fetched": 2,
            },
            "Shuffle Write Metrics": {
                "Shuffle Bytes Written": 0 if stage else 40 * MEGABYTE,
                "Shuffle Write Time": 0 if stage else round(1e6 * 0.02 * taken),
            },
        }
        yield _event(
            "TaskEnd",
            **{
                "Stage ID": stage,
                "Stage Attempt ID": 0,
                "Task Type": "ResultTask" if stage else "ShuffleMapTask",
                "Task End Reason": {"Reason": "Success"},
                "Task Info": info,
                "Task Metrics": metrics,
            },
        )
    yield _event("StageCompleted", **{"Stage Info": {**about, "Completion Time": began + milliseconds}})


def _event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"Event": f"SparkListener{kind}", **fields}
