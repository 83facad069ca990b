"""What each task of a run did with its time, and what each stage used of the machines.

A task's time is split into parts that do not overlap and add up to it:

    CPU                 its thread's CPU, and the (de)serialisation of its closure and its result
    NETWORK             waiting for shuffle data from other machines
    DISK                waiting for its shuffle data to be written
    GARBAGE_COLLECTION  stopped by its executor's garbage collection
    PYTHON_WORKER       waiting for its Python worker, which computes, or waits in turn: Spark cannot tell
    SCHEDULER           between the scheduler and the executor, and the driver fetching a large result
    UNMEASURED          the rest: services that it calls, reading of input, a core that others use as well

Spark's CPU time is that of the task's own thread: Python workers, garbage collection and the JIT compiler
are not in it. Writing into the page cache takes CPU, so only what of the shuffle write time is not CPU time
counts as waiting for the disk.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.blocked_time import python_stages
from airflow_provider_ernest.spark.log_reading.tables import (
    BoolColumn,
    EventLog,
    FloatColumn,
    IntColumn,
    TaskTable,
)
from airflow_provider_ernest.spark.replay.launching import most_at_once

CPU, NETWORK, DISK = run_profile.CPU, run_profile.NETWORK, run_profile.DISK
GARBAGE_COLLECTION, PYTHON_WORKER = run_profile.GARBAGE_COLLECTION, run_profile.PYTHON_WORKER
SCHEDULER, UNMEASURED = run_profile.SCHEDULER, run_profile.UNMEASURED

PARTS = (CPU, NETWORK, DISK, GARBAGE_COLLECTION, PYTHON_WORKER, SCHEDULER, UNMEASURED)
"""The parts of a task's time."""

COMPUTING = (CPU, GARBAGE_COLLECTION, PYTHON_WORKER)
"""The parts that take a core. Python's are among them: a job whose work is in Python would look idle else."""

StageKey = tuple[int, int]
"""Number of a stage, and of its attempt."""


@dataclass(frozen=True, kw_only=True)
class ResourceUse:
    """The tasks of a run by stage.

    Attributes:
        stages: that had tasks, ascending; k of them.
        stage_of: position in `stages` of each task's, shape (tasks,).
        parts: seconds by each of `PARTS`, each of shape (tasks,); together the tasks' seconds.
        parallelism: tasks of each stage that can run at once, no more than it has, nor than slots; (k,).
        in_python: whether a stage hands its rows to Python, shape (k,).
    """

    stages: tuple[StageKey, ...]
    stage_of: IntColumn
    parts: dict[str, FloatColumn]
    parallelism: FloatColumn
    in_python: BoolColumn

    def summed(self, column: FloatColumn | IntColumn) -> FloatColumn:
        """A column of tasks summed over those of each stage, shape (k,)."""
        sums = np.bincount(self.stage_of, weights=column, minlength=len(self.stages))
        return sums.astype(np.float64)

    def seconds(self, parts: Iterable[str]) -> FloatColumn:
        """What the tasks of each stage spent in some of `PARTS`, summed, shape (k,)."""
        return sum((self.summed(self.parts[part]) for part in parts), np.zeros(len(self.stages)))


def resource_use(log: EventLog) -> ResourceUse:
    """What the tasks of a run did with their time, failed attempts and second copies included."""
    stages, stage_of, tasks_of = _stages_of(log.tasks)
    pythonic = python_stages(log.stages)
    in_python = np.array([stage in pythonic for stage in stages], dtype=np.bool_)
    return ResourceUse(
        stages=stages,
        stage_of=stage_of,
        parts=split_seconds(log.tasks, in_python=in_python[stage_of]),
        parallelism=np.minimum(tasks_of, log.slots or most_at_once(log.tasks)).astype(np.float64),
        in_python=in_python,
    )


def split_seconds(tasks: TaskTable, *, in_python: BoolColumn) -> dict[str, FloatColumn]:
    """The parts of each task's time, each of shape (tasks,).

    What is measured in milliseconds may add up to more than a task took: each part gets at most what those
    before it have left.

    Args:
        tasks: the tasks.
        in_python: whether a task's stage hands its rows to Python: what is left of its running time then
            goes to the Python worker, where the log does not tell how long that took. Shape (tasks,).
    """
    left = np.maximum(0.0, tasks.seconds)
    python = np.where(np.isnan(tasks.python_seconds), np.where(in_python, np.inf, 0.0), tasks.python_seconds)
    delay = tasks.scheduler_delay_seconds + tasks.getting_result_seconds
    parts: dict[str, FloatColumn] = {}
    for part, seconds in (
        (SCHEDULER, delay),
        (CPU, tasks.cpu_seconds + tasks.deserialise_seconds + tasks.result_serialisation_seconds),
        (NETWORK, tasks.fetch_wait_seconds),
        (DISK, tasks.shuffle_write_seconds),
        (GARBAGE_COLLECTION, tasks.garbage_collection_seconds),
        (PYTHON_WORKER, python),
    ):
        parts[part] = np.clip(seconds, 0.0, left)
        left = left - parts[part]
    parts[UNMEASURED] = left
    return parts


def disk_bytes(tasks: TaskTable) -> IntColumn:
    """What each task may have moved from or to disks, shape (tasks,).

    Input, output, what it wrote for later stages and read of earlier ones (from a disk of its own machine or
    of another), and what it spilled, which is written and read again. Much of that is only moved to and from
    the page cache: it is an upper bound.
    """
    shuffled = tasks.shuffle_written_bytes + tasks.shuffle_local_bytes + tasks.shuffle_remote_bytes
    moved: IntColumn = tasks.input_bytes + tasks.output_bytes + shuffled + 2 * tasks.disk_spilled_bytes
    return moved


def _stages_of(tasks: TaskTable) -> tuple[tuple[StageKey, ...], IntColumn, IntColumn]:
    """The stages that had tasks, each task's among them, and how many each had."""
    pairs = np.column_stack([tasks.stage_id, tasks.stage_attempt])
    found, stage_of, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    return tuple((int(stage), int(attempt)) for stage, attempt in found), stage_of.reshape(-1), counts
