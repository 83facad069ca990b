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

from tests.unit.eventlog import event_log_texts as log

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
    executors, scale = int(conf["spark.executor.instances"]), float(words[-1])
    number = len((Path(folder) / NOTES).read_text().splitlines())
    name = f"app-20010101000000-{number:04d}"
    logs = Path(conf["spark.eventLog.dir"].removeprefix("file://"))
    log.write(logs / name, *_events(name, executors=executors, scale=scale))


def _events(name: str, *, executors: int, scale: float) -> Iterator[dict[str, Any]]:
    """A run of two stages: one that computes, and one whose tasks wait for the network most of their time."""
    computed = round(1000 * (4.0 + 900.0 * scale / executors))
    exchanged = round(1000 * (3.0 + 600.0 * scale / executors + executors))
    yield {"Event": "SparkListenerLogStart", "Spark Version": "4.0.0"}
    yield log.environment(**{"spark.master": "yarn"})
    yield log.started(**{"App ID": name}, Timestamp=BEGIN)
    ready = BEGIN + 5000
    for number in range(executors):
        yield log.executor(number, at=ready, host=f"10.0.0.{10 + number}", cores=CORES)
    yield log.job(0, 0, 1, at=ready)
    yield from _stage(0, executors, began=ready, milliseconds=computed, waiting=0.05)
    yield from _stage(1, executors, began=ready + computed, milliseconds=exchanged, waiting=0.8)
    yield log.job_end(0, at=ready + computed + exchanged)
    yield log.ended(ready + computed + exchanged)


def _stage(
    stage: int, executors: int, *, began: int, milliseconds: int, waiting: float
) -> Iterator[dict[str, Any]]:
    """A task on each core, of which so great a share waits for what others have shuffled."""
    tasks = CORES * executors
    about = {
        "Stage Name": f"count at job.py:{10 + stage}",
        "Number of Tasks": tasks,
        "Parent IDs": [stage - 1] if stage else [],
        "Submission Time": began,
    }
    yield log.stage(stage, **about)
    for number in range(tasks):
        # The last one has the most to do.
        taken = milliseconds - 20 * (tasks - 1 - number)
        metrics = {
            "Executor Deserialize Time": 10,
            "Executor Run Time": taken - 20,
            "Executor CPU Time": round(1e6 * (1 - waiting) * (taken - 40)),
            "JVM GC Time": taken // 50,
            "Result Size": 1000,
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
        yield log.task(
            tasks * stage + number,
            stage=stage,
            executor=str(number // CORES),
            at=began,
            until=began + taken,
            metrics=metrics,
            **{"Index": number, "Host": f"10.0.0.{10 + number // CORES}"},
        )
    yield log.stage(stage, completed=began + milliseconds, **about)
