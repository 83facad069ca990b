"""The tasks of an application as columns; a row is packed as its event comes, so that many stay small."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from struct import Struct
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.eventlog.bounds import ENTRY_BYTES, Notes, shortened
from airflow_provider_ernest.eventlog.events import (
    NO_INPUT,
    NO_METRICS,
    NO_OUTPUT,
    NO_SHUFFLE_READ,
    NO_SHUFFLE_WRITE,
    EndReason,
    TaskEnd,
    TaskEndWithAccumulables,
)
from airflow_provider_ernest.exceptions import EventLogError
from airflow_provider_ernest.words import count, counted

FloatColumn = NDArray[np.float64]
IntColumn = NDArray[np.int64]
BoolColumn = NDArray[np.bool_]

StageKey = tuple[int, int]
"""Spark's number of a stage, and of its attempt."""


@dataclass(frozen=True, kw_only=True)
class TaskColumns:
    """All task attempts that ended, in the order of their events; each column has shape (tasks,).

    Moments are seconds since the epoch. What a log does not tell is 0, and NaN where 0 would be a lie.
    """

    task_id: IntColumn
    stage_id: IntColumn
    stage_attempt: IntColumn
    attempt: IntColumn  # of the task; 0 for the first
    executor: IntColumn  # `ExecutorRow.number`; -1 where the log has no such executor
    launched_at: FloatColumn  # when the scheduler sent it
    finished_at: FloatColumn  # when the scheduler had its result
    succeeded: BoolColumn  # whether it counts; failed, killed and redundant attempts do not
    speculative: BoolColumn  # whether it was a second copy
    run_seconds: FloatColumn  # on the executor, without deserialisation and result serialisation
    cpu_seconds: FloatColumn  # of its thread's CPU; neither Python workers nor garbage collection
    deserialise_seconds: FloatColumn  # of its closure
    result_serialisation_seconds: FloatColumn
    getting_result_seconds: FloatColumn  # while the driver fetched a large result
    garbage_collection_seconds: FloatColumn  # of its executor: tasks side by side tell the same again
    fetch_wait_seconds: FloatColumn  # blocked on shuffle data from other machines
    shuffle_write_seconds: FloatColumn  # blocked on writing shuffle data
    python_seconds: FloatColumn  # in Python workers; NaN where the log does not tell
    input_bytes: IntColumn  # read from storage or cached blocks
    input_records: IntColumn
    output_bytes: IntColumn  # written to storage
    shuffle_remote_bytes: IntColumn  # fetched from other machines
    shuffle_local_bytes: IntColumn  # read on its own machine
    shuffle_read_records: IntColumn
    shuffle_written_bytes: IntColumn  # for later stages
    shuffle_written_records: IntColumn
    memory_spilled_bytes: IntColumn  # taken out of memory
    disk_spilled_bytes: IntColumn  # put on disk instead
    peak_execution_memory_bytes: IntColumn
    result_bytes: IntColumn  # sent to the driver
    is_local: BoolColumn  # ran where its input was (process, node or no preference)

    def __len__(self) -> int:
        """How many tasks ended."""
        return len(self.task_id)

    @property
    def seconds(self) -> FloatColumn:
        """From launch to finish, as the driver saw it."""
        return self.finished_at - self.launched_at

    @property
    def scheduler_delay_seconds(self) -> FloatColumn:
        """What is left of a task's time (Spark's own definition, `AppStatusUtils.schedulerDelay`).

        Of attempts that failed without being measured, as those that could not fetch, nothing is left.
        """
        known = (
            self.run_seconds
            + self.deserialise_seconds
            + self.result_serialisation_seconds
            + self.getting_result_seconds
        )
        is_measured = self.succeeded | (known > 0)
        return np.where(is_measured, np.maximum(0.0, self.seconds - known), 0.0)

    @property
    def shuffle_read_bytes(self) -> IntColumn:
        """Fetched from other machines or read on its own."""
        return self.shuffle_remote_bytes + self.shuffle_local_bytes

    @property
    def freed_at(self) -> FloatColumn:
        """When its slot was free again: the driver fetches a large result after that."""
        return np.asarray(np.maximum(self.launched_at, self.finished_at - self.getting_result_seconds))

    @cached_property
    def by_stage(self) -> tuple[tuple[StageKey, ...], IntColumn]:
        """The attempts of stages that had tasks, ascending, and each task's place among them, (tasks,)."""
        pairs = np.column_stack([self.stage_id, self.stage_attempt])
        found, place = np.unique(pairs, axis=0, return_inverse=True)
        return tuple((int(stage), int(attempt)) for stage, attempt in found), place.reshape(-1)

    def only(self, rows: BoolColumn | IntColumn) -> TaskColumns:
        """Some of the tasks, by a mask or by their places."""
        return TaskColumns(**{column.name: getattr(self, column.name)[rows] for column in fields(self)})


def busy_seconds(began: FloatColumn, finished: FloatColumn) -> float:
    """The length of the union of intervals."""
    if not len(began):
        return 0.0
    order = np.argsort(began, kind="stable")
    began, finished = began[order], finished[order]
    until = np.maximum.accumulate(finished)
    covered_before = np.concatenate([[-np.inf], until[:-1]])
    return float(np.maximum(0.0, until - np.maximum(began, covered_before)).sum())


_TYPES = {"IntColumn": ("q", np.int64), "FloatColumn": ("d", np.float64), "BoolColumn": ("?", np.bool_)}
_COLUMNS = {column.name: _TYPES[str(column.type)] for column in fields(TaskColumns)} | {
    # Of the partition: it shows which attempts did the same work, and is not kept.
    "index": _TYPES["IntColumn"]
}
_ROW = Struct("=" + "".join(code for code, _ in _COLUMNS.values()))
_ROW_TYPE = np.dtype([(name, kind) for name, (_, kind) in _COLUMNS.items()])
_CHUNK_BYTES = 16_384 * _ROW.size
_LOCAL = frozenset(("PROCESS_LOCAL", "NODE_LOCAL", "NO_PREF"))
_NAN = float("nan")
_SUCCESS = "Success"
_REDONE = "Resubmitted"
"""Said, once more, of a task that had succeeded, when its output was lost with its executor."""
_PYTHON_CRASHED = "Python worker exited unexpectedly"
MOST_TASKS = 5_000_000
"""Of so many the table takes 1.2 GB."""
_TOLD_BY_PYTHON = b"Python workers"
_RUN_PYTHON_WORKERS = "time to run Python workers"
"""From the request for a worker to its last answer (``BasePythonRunner.handleTimingData``, "total"). The time
to start a worker is a part of it; that to initialise one is, too, but counts from the worker's start, which
may have been for an earlier task: neither may be added."""


def counts(reason: EndReason) -> bool:
    """Whether an attempt of a task did its work; where several did the same, the table counts the first."""
    return reason.reason == _SUCCESS


class TaskRows:
    """Collects the tasks that ended."""

    def __init__(self, notes: Notes, *, most_tasks: int = MOST_TASKS) -> None:
        self._decode = msgspec.json.Decoder(TaskEnd).decode
        self._decode_all = msgspec.json.Decoder(TaskEndWithAccumulables).decode
        self._notes = notes
        self._most_tasks = most_tasks
        self._rows = bytearray()
        # Each grows where it lies: parts that are put together at the end would take the memory twice.
        self._columns: dict[str, bytearray] = defaultdict(bytearray)
        self._count = 0
        self._executors: dict[str, int] = {}
        self._redone: list[int] = []
        self.python_crashes = 0

    def add(self, line: bytes) -> None:
        """Read an event.

        Raises:
            EventLogError: there are more than is allowed.
            ValueError: it is malformed (so are the decoder's errors).
        """
        event: TaskEnd
        if _TOLD_BY_PYTHON in line:
            with_accumulables = event = self._decode_all(line)
            in_python = _python_seconds(with_accumulables)
        else:
            event = self._decode(line)
            in_python = _NAN
        self._count += 1
        if self._count > self._most_tasks:
            raise EventLogError(
                f"The event log tells of more than {count(self._most_tasks)} tasks.",
                remedy="Read it where there is more memory: by `read_event_log`, with a larger most_tasks."
                if self._most_tasks >= MOST_TASKS
                else "Read it where there is more memory, by `ernest analyze`.",
            )
        if event.task_end_reason.reason == _REDONE:
            self._redone.append(event.task_info.task_id)
            return
        self.python_crashes += _PYTHON_CRASHED in (event.task_end_reason.description or "")
        self._rows += self._packed(event, in_python)
        if len(self._rows) >= _CHUNK_BYTES:
            self._columns_of_rows()

    def _packed(self, event: TaskEnd, in_python: float) -> bytes:
        info = event.task_info
        metrics = event.task_metrics or NO_METRICS
        read = metrics.shuffle_read_metrics or NO_SHUFFLE_READ
        written = metrics.shuffle_write_metrics or NO_SHUFFLE_WRITE
        executor = self._executors.get(info.executor_id)
        if executor is None:
            executor = self._new_executor(shortened(info.executor_id))
        fetched = info.finish_time - info.getting_result_time if info.getting_result_time > 0 else 0
        return _ROW.pack(
            info.task_id,
            event.stage_id,
            event.stage_attempt_id,
            info.attempt,
            executor,
            info.launch_time / 1000,
            info.finish_time / 1000,
            counts(event.task_end_reason),
            info.speculative,
            metrics.executor_run_time / 1000,
            metrics.executor_cpu_time / 1e9,
            metrics.executor_deserialize_time / 1000,
            metrics.result_serialization_time / 1000,
            max(0, fetched) / 1000,
            metrics.jvm_gc_time / 1000,
            read.fetch_wait_time / 1000,
            written.shuffle_write_time / 1e9,
            in_python,
            (metrics.input_metrics or NO_INPUT).bytes_read,
            (metrics.input_metrics or NO_INPUT).records_read,
            (metrics.output_metrics or NO_OUTPUT).bytes_written,
            read.remote_bytes_read,
            read.local_bytes_read,
            read.total_records_read,
            written.shuffle_bytes_written,
            written.shuffle_records_written,
            metrics.memory_bytes_spilled,
            metrics.disk_bytes_spilled,
            metrics.peak_execution_memory,
            metrics.result_size,
            info.locality in _LOCAL,
            info.index,
        )

    def _new_executor(self, executor_id: str) -> int:
        known = self._executors.get(executor_id)
        if known is None:
            self._notes.keep(ENTRY_BYTES, executor_id)
            known = self._executors[executor_id] = len(self._executors)
        return known

    def _columns_of_rows(self) -> None:
        rows = np.frombuffer(bytes(self._rows), dtype=_ROW_TYPE)
        for name in _COLUMNS:
            self._columns[name] += rows[name].tobytes()
        self._rows.clear()

    def table(self, executors: Mapping[str, int]) -> TaskColumns:
        """All of them; the rows are gone afterwards."""
        self._columns_of_rows()
        columns: dict[str, np.ndarray[Any, Any]] = {
            name: np.frombuffer(self._columns.pop(name), dtype=kind) for name, (_, kind) in _COLUMNS.items()
        }
        index = columns.pop("index")
        numbers = np.array([executors.get(each, -1) for each in self._executors] or [-1], dtype=np.int64)
        columns["executor"] = numbers[columns["executor"]]
        self._bound_backward(columns)
        columns["succeeded"] &= ~_redundant(columns, index)
        columns["succeeded"] &= ~np.isin(columns["task_id"], self._redone)
        return TaskColumns(**columns)

    def _bound_backward(self, columns: dict[str, np.ndarray[Any, Any]]) -> None:
        """Give tasks that ended before their launch, by a clock set back, what their executors measured."""
        measured = ("run_seconds", "deserialise_seconds", "result_serialisation_seconds")
        is_backward = columns["finished_at"] < columns["launched_at"]
        took = columns["launched_at"] + sum(columns[name] for name in measured)
        columns["finished_at"] = np.where(is_backward, took, columns["finished_at"])
        if is_backward.any():
            backward = counted(int(is_backward.sum()), "task")
            self._notes.add_problem(
                f"{backward} ended before the launch, by a clock that was set back: each counts with the "
                "time that its executor measured."
            )


def _redundant(columns: Mapping[str, np.ndarray[Any, Any]], index: np.ndarray[Any, Any]) -> Any:
    """Those whose work another attempt had done before: both copies of a speculative task may succeed."""
    redundant = np.zeros(len(index), dtype=np.bool_)
    rows = np.flatnonzero(columns["succeeded"] & (index >= 0))
    if not columns["speculative"][rows].any():
        return redundant
    stages, attempts = columns["stage_id"][rows], columns["stage_attempt"][rows]
    order = rows[np.lexsort((columns["finished_at"][rows], index[rows], attempts, stages))]
    keys = np.stack((columns["stage_id"][order], columns["stage_attempt"][order], index[order]))
    redundant[order[1:]] = (keys[:, 1:] == keys[:, :-1]).all(axis=0)
    return redundant


def _python_seconds(event: TaskEndWithAccumulables) -> float:
    """Seconds in Python workers; NaN where no Python operator tells.

    Operators of one task are added up. They may work at the same time, one on what the other gives, so the
    sum is bounded by the time that the task ran.
    """
    milliseconds = [
        int(each.update)
        for each in event.task_info.accumulables or ()
        if each.name == _RUN_PYTHON_WORKERS and each.update is not None
    ]
    if not milliseconds:
        return _NAN
    ran = event.task_metrics.executor_run_time if event.task_metrics is not None else 0
    return max(0, min(sum(milliseconds), ran)) / 1000
