"""The tasks of an application as columns; a row is packed as its event comes, so that many stay small."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, fields
from struct import Struct
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.eventlog.bounds import ENTRY_BYTES, shortened
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

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from airflow_provider_ernest.eventlog.bounds import Bounds

FloatColumn = NDArray[np.float64]
IntColumn = NDArray[np.int64]
BoolColumn = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class TaskColumns:
    """All task attempts that ended, in the order in which the log tells them; each column has shape (tasks,).

    Attributes:
        task_id: Spark's number.
        stage_id: of the stage.
        stage_attempt: of the stage.
        attempt: of the task; 0 for the first.
        executor: `ExecutorRow.number`; -1 where the log tells of no such executor.
        launched_at: when the scheduler sent it.
        finished_at: when the scheduler had its result.
        succeeded: whether it counts; failed, killed and redundant attempts do not.
        speculative: whether it was a second copy.
        run_seconds: on the executor, without deserialisation and result serialisation.
        cpu_seconds: of its thread's CPU; neither Python workers nor garbage collection.
        deserialise_seconds: of its closure.
        result_serialisation_seconds: of its result.
        getting_result_seconds: while the driver fetched a large result.
        garbage_collection_seconds: of its executor while it ran: tasks side by side tell the same again.
        fetch_wait_seconds: blocked on shuffle data from other machines.
        shuffle_write_seconds: blocked on writing shuffle data.
        python_seconds: in Python workers; NaN where the log does not tell.
        input_bytes: read from storage or cached blocks.
        input_records: likewise.
        output_bytes: written to storage.
        shuffle_remote_bytes: fetched from other machines.
        shuffle_local_bytes: read on the own machine.
        shuffle_read_records: fetched.
        shuffle_written_bytes: for later stages.
        shuffle_written_records: likewise.
        memory_spilled_bytes: taken out of memory.
        disk_spilled_bytes: put on disk instead.
        peak_execution_memory_bytes: the most that it held.
        result_bytes: sent to the driver.
        is_local: whether it ran where its input was (process, node or no preference).
    """

    task_id: IntColumn
    stage_id: IntColumn
    stage_attempt: IntColumn
    attempt: IntColumn
    executor: IntColumn
    launched_at: FloatColumn
    finished_at: FloatColumn
    succeeded: BoolColumn
    speculative: BoolColumn
    run_seconds: FloatColumn
    cpu_seconds: FloatColumn
    deserialise_seconds: FloatColumn
    result_serialisation_seconds: FloatColumn
    getting_result_seconds: FloatColumn
    garbage_collection_seconds: FloatColumn
    fetch_wait_seconds: FloatColumn
    shuffle_write_seconds: FloatColumn
    python_seconds: FloatColumn
    input_bytes: IntColumn
    input_records: IntColumn
    output_bytes: IntColumn
    shuffle_remote_bytes: IntColumn
    shuffle_local_bytes: IntColumn
    shuffle_read_records: IntColumn
    shuffle_written_bytes: IntColumn
    shuffle_written_records: IntColumn
    memory_spilled_bytes: IntColumn
    disk_spilled_bytes: IntColumn
    peak_execution_memory_bytes: IntColumn
    result_bytes: IntColumn
    is_local: BoolColumn

    def __len__(self) -> int:
        """How many tasks ended."""
        return len(self.task_id)

    @property
    def seconds(self) -> FloatColumn:
        """From launch to finish, as the driver saw it."""
        return self.finished_at - self.launched_at

    @property
    def scheduler_delay_seconds(self) -> FloatColumn:
        """What is left of a task's time (Spark's own definition, `AppStatusUtils.schedulerDelay`)."""
        known = (
            self.run_seconds
            + self.deserialise_seconds
            + self.result_serialisation_seconds
            + self.getting_result_seconds
        )
        return np.maximum(0.0, self.seconds - known)

    def only(self, rows: BoolColumn | IntColumn) -> TaskColumns:
        """Some of the tasks, by a mask or by their places."""
        return TaskColumns(**{column.name: getattr(self, column.name)[rows] for column in fields(self)})


_TYPES = {"IntColumn": ("q", np.int64), "FloatColumn": ("d", np.float64), "BoolColumn": ("?", np.bool_)}
_COLUMNS = {column.name: _TYPES[str(column.type)] for column in fields(TaskColumns)} | {
    # Of the partition: it tells which attempts did the same work, and is not kept.
    "index": _TYPES["IntColumn"]
}
_ROW = Struct("=" + "".join(code for code, _ in _COLUMNS.values()))
_ROW_TYPE = np.dtype([(name, kind) for name, (_, kind) in _COLUMNS.items()])
_CHUNK_BYTES = 16_384 * _ROW.size
_LOCAL = frozenset(("PROCESS_LOCAL", "NODE_LOCAL", "NO_PREF"))
_NAN = float("nan")
_REDONE = "Resubmitted"
"""Told, once more, of a task that had succeeded, when its output was lost with its executor."""
MOST_TASKS = 5_000_000
"""Of so many the table takes 1.2 GB."""
_TOLD_BY_PYTHON = b"Python workers"
_SUCCESS = "Success"


def counts(reason: EndReason) -> bool:
    """Whether an attempt of a task did its work; where several did the same, the table counts the first."""
    return reason.reason == _SUCCESS


class TaskRows:
    """Collects the tasks that ended.

    Args:
        bounds: of what else may be kept.
        most_tasks: above which the log is refused.

    Attributes:
        last_at: when the last of them finished, seconds since the epoch.
    """

    def __init__(self, bounds: Bounds, *, most_tasks: int = MOST_TASKS) -> None:
        self.last_at = 0.0
        self._decode = msgspec.json.Decoder(TaskEnd).decode
        self._decode_all = msgspec.json.Decoder(TaskEndWithAccumulables).decode
        self._bounds = bounds
        self._most_tasks = most_tasks
        self._rows = bytearray()
        self._parts: dict[str, list[np.ndarray[Any, Any]]] = defaultdict(list)
        self._count = 0
        self._executors: dict[str, int] = {}
        self._redone: list[int] = []

    def add(self, line: bytes) -> None:
        """Read an event.

        Raises:
            EventLogError: there are more than is allowed.
            ValueError: it is malformed (so are the decoder's errors).
        """
        event: TaskEnd
        if _TOLD_BY_PYTHON in line:
            with_accumulables = event = self._decode_all(line)
            in_python = python_seconds(with_accumulables)
        else:
            event = self._decode(line)
            in_python = _NAN
        self._count += 1
        if self._count > self._most_tasks:
            raise EventLogError(
                f"The event log tells of more than {self._most_tasks} tasks.",
                remedy="Read it where there is more memory: by `read_event_log`, with a larger most_tasks."
                if self._most_tasks >= MOST_TASKS
                else "Read it where there is more memory, by `ernest analyze`.",
            )
        if event.reason.reason == _REDONE:
            self._redone.append(event.info.task_id)
            return
        self._rows += self._packed(event, in_python)
        if len(self._rows) >= _CHUNK_BYTES:
            self._columns_of_rows()

    def _packed(self, event: TaskEnd, in_python: float) -> bytes:
        info = event.info
        metrics = event.metrics or NO_METRICS
        read = metrics.shuffle_read or NO_SHUFFLE_READ
        written = metrics.shuffle_write or NO_SHUFFLE_WRITE
        taken = metrics.input or NO_INPUT
        given = metrics.output or NO_OUTPUT
        executor = self._executors.get(info.executor_id)
        if executor is None:
            executor = self._new_executor(shortened(info.executor_id))
        finished_at = info.finished_at / 1000
        fetched = info.finished_at - info.result_fetched_from if info.result_fetched_from > 0 else 0
        row = _ROW.pack(
            info.task_id,
            event.stage_id,
            event.stage_attempt,
            info.attempt,
            executor,
            info.launched_at / 1000,
            finished_at,
            counts(event.reason),
            info.speculative,
            metrics.run / 1000,
            metrics.cpu_nanoseconds / 1e9,
            metrics.deserialise / 1000,
            metrics.result_serialisation / 1000,
            max(0, fetched) / 1000,
            metrics.garbage_collection / 1000,
            read.fetch_wait / 1000,
            written.nanoseconds / 1e9,
            in_python,
            taken.read_bytes,
            taken.records,
            given.written_bytes,
            read.remote_bytes,
            read.local_bytes,
            read.records,
            written.written_bytes,
            written.records,
            metrics.memory_spilled_bytes,
            metrics.disk_spilled_bytes,
            metrics.peak_memory_bytes,
            metrics.result_bytes,
            info.locality in _LOCAL,
            info.index,
        )
        self.last_at = max(self.last_at, finished_at)
        return row

    def _new_executor(self, executor_id: str) -> int:
        known = self._executors.get(executor_id)
        if known is None:
            self._bounds.keep(ENTRY_BYTES, executor_id)
            known = self._executors[executor_id] = len(self._executors)
        return known

    def _columns_of_rows(self) -> None:
        rows = np.frombuffer(bytes(self._rows), dtype=_ROW_TYPE)
        for name in _COLUMNS:
            self._parts[name].append(np.ascontiguousarray(rows[name]))
        self._rows.clear()

    def table(self, executors: Mapping[str, int]) -> TaskColumns:
        """All of them; the rows are gone afterwards.

        Args:
            executors: numbers of the executors by Spark's id.
        """
        self._columns_of_rows()
        columns = {name: np.concatenate(self._parts.pop(name)) for name in _COLUMNS}
        index = columns.pop("index")
        numbers = np.array([executors.get(each, -1) for each in self._executors] or [-1], dtype=np.int64)
        columns["executor"] = numbers[columns["executor"]]
        columns["succeeded"] &= ~_redundant(columns, index)
        columns["succeeded"] &= ~np.isin(columns["task_id"], self._redone)
        return TaskColumns(**columns)


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


RUN_PYTHON_WORKERS = "time to run Python workers"
"""From the request for a worker to its last answer (``BasePythonRunner.handleTimingData``, "total"). The time
to start a worker is a part of it; that to initialise one is, too, but counts from the worker's start, which
may have been for an earlier task: neither may be added."""


def python_seconds(event: TaskEndWithAccumulables) -> float:
    """Seconds in Python workers; NaN where no Python operator tells.

    Operators of one task are added up. They may work at the same time, one on what the other gives, so the
    sum is bounded by the time that the task ran.
    """
    milliseconds = [
        int(each.update)
        for each in event.info.accumulables or ()
        if each.name == RUN_PYTHON_WORKERS and each.update is not None
    ]
    if not milliseconds:
        return float("nan")
    ran = event.metrics.run if event.metrics is not None else 0
    return max(0, min(sum(milliseconds), ran)) / 1000
