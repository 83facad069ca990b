"""A large event log of real events: those of a small one, repeated with numbers and times of their own."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL = Path(__file__).parent.parent / "tests" / "unit" / "eventlog" / "event_logs" / "spark-3.5.5.gz"
TASKS_PER_STAGE = 200
_NUMBER = rb'(?<="%s":)\d+'
_TASK_ID = re.compile(_NUMBER % b"Task ID")
_STAGE_ID = re.compile(_NUMBER % b"Stage ID")
_INDEX = re.compile(_NUMBER % b"Index")
_TIME = re.compile(rb'(?<="(?:Launch|Finish) Time":)[1-9]\d+')


def large_log(tasks: int) -> Iterator[bytes]:
    """Its lines: the real ones up to the first stage, stages of SQL tasks until there are enough, the end."""
    lines = gzip.decompress(SMALL.read_bytes()).splitlines()
    first = next(at for at, line in enumerate(lines) if b"SparkListenerStageSubmitted" in line)
    begins = [line for line in lines if b'"SparkListenerTaskStart"' in line]
    ends = [line for line in lines if b'"SparkListenerTaskEnd"' in line and b'"Metadata":"sql"' in line]
    submitted = next(line for line in lines if b'"SparkListenerStageSubmitted"' in line)
    completed = next(line for line in lines if b'"SparkListenerStageCompleted"' in line)
    yield from lines[:first]
    for task in range(tasks):
        stage = b"%d" % (task // TASKS_PER_STAGE)
        if task % TASKS_PER_STAGE == 0:
            yield _STAGE_ID.sub(stage, submitted)
        for template in (begins[task % len(begins)], ends[task % len(ends)]):
            yield _renumbered(template, stage, task)
        if task % TASKS_PER_STAGE == TASKS_PER_STAGE - 1:
            yield _STAGE_ID.sub(stage, completed)
    yield lines[-1]


def _renumbered(line: bytes, stage: bytes, task: int) -> bytes:
    line = _TASK_ID.sub(b"%d" % task, line, count=1)
    line = _INDEX.sub(b"%d" % (task % TASKS_PER_STAGE), line, count=1)
    line = _STAGE_ID.sub(stage, line, count=1)
    return _TIME.sub(lambda found: b"%d" % (int(found[0]) + 10 * task), line)
