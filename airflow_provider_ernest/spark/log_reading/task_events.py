"""The event that a task ended, as Spark 3.3 to 4 write it; only what the table of tasks keeps is decoded.

Names are those of Spark's ``JsonProtocol``. Times are milliseconds, but for those that say otherwise.
"""

from __future__ import annotations

from typing import Any

import msgspec

from airflow_provider_ernest.spark.log_reading.event_numbers import Moment, Whole


class ShuffleRead(msgspec.Struct, frozen=True, gc=False):
    """What a task fetched of earlier stages."""

    fetch_wait: Whole = msgspec.field(name="Fetch Wait Time", default=0)
    remote_bytes: Whole = msgspec.field(name="Remote Bytes Read", default=0)
    local_bytes: Whole = msgspec.field(name="Local Bytes Read", default=0)
    records: Whole = msgspec.field(name="Total Records Read", default=0)


class ShuffleWrite(msgspec.Struct, frozen=True, gc=False):
    """What a task wrote for later stages; its time in nanoseconds."""

    nanoseconds: Whole = msgspec.field(name="Shuffle Write Time", default=0)
    written_bytes: Whole = msgspec.field(name="Shuffle Bytes Written", default=0)
    records: Whole = msgspec.field(name="Shuffle Records Written", default=0)


class Input(msgspec.Struct, frozen=True, gc=False):
    """What a task read from storage."""

    read_bytes: Whole = msgspec.field(name="Bytes Read", default=0)
    records: Whole = msgspec.field(name="Records Read", default=0)


class Output(msgspec.Struct, frozen=True, gc=False):
    """What a task wrote to storage."""

    written_bytes: Whole = msgspec.field(name="Bytes Written", default=0)


NO_SHUFFLE_READ, NO_SHUFFLE_WRITE, NO_INPUT, NO_OUTPUT = ShuffleRead(), ShuffleWrite(), Input(), Output()


class TaskMetrics(msgspec.Struct, frozen=True, gc=False):
    """What an executor measured; its CPU time in nanoseconds."""

    deserialise: Whole = msgspec.field(name="Executor Deserialize Time", default=0)
    run: Whole = msgspec.field(name="Executor Run Time", default=0)
    cpu_nanoseconds: Whole = msgspec.field(name="Executor CPU Time", default=0)
    peak_memory_bytes: Whole = msgspec.field(name="Peak Execution Memory", default=0)
    result_bytes: Whole = msgspec.field(name="Result Size", default=0)
    garbage_collection: Whole = msgspec.field(name="JVM GC Time", default=0)
    result_serialisation: Whole = msgspec.field(name="Result Serialization Time", default=0)
    memory_spilled_bytes: Whole = msgspec.field(name="Memory Bytes Spilled", default=0)
    disk_spilled_bytes: Whole = msgspec.field(name="Disk Bytes Spilled", default=0)
    shuffle_read: ShuffleRead | None = msgspec.field(name="Shuffle Read Metrics", default=NO_SHUFFLE_READ)
    shuffle_write: ShuffleWrite | None = msgspec.field(name="Shuffle Write Metrics", default=NO_SHUFFLE_WRITE)
    input: Input | None = msgspec.field(name="Input Metrics", default=NO_INPUT)
    output: Output | None = msgspec.field(name="Output Metrics", default=NO_OUTPUT)


NO_METRICS = TaskMetrics()


class Accumulable(msgspec.Struct, frozen=True, gc=False):
    """What a task added to an accumulator, as the metrics of SQL are."""

    name: str | None = msgspec.field(name="Name", default=None)
    update: Any = msgspec.field(name="Update", default=None)


class TaskInfo(msgspec.Struct, frozen=True, gc=False):
    """The scheduler's view of a task; times since the epoch."""

    task_id: Whole = msgspec.field(name="Task ID")
    launched_at: Moment = msgspec.field(name="Launch Time")
    finished_at: Moment = msgspec.field(name="Finish Time")
    executor_id: str = msgspec.field(name="Executor ID", default="")
    index: Whole = msgspec.field(name="Index", default=-1)
    attempt: Whole = msgspec.field(name="Attempt", default=0)
    locality: str = msgspec.field(name="Locality", default="ANY")
    speculative: bool = msgspec.field(name="Speculative", default=False)
    result_fetched_from: Moment = msgspec.field(name="Getting Result Time", default=0)


class TaskInfoWithAccumulables(TaskInfo, frozen=True, gc=False):
    """The same with the accumulators: most of a line of SQL, so decoded only where they are asked for."""

    accumulables: list[Accumulable] | None = msgspec.field(name="Accumulables", default=None)


class EndReason(msgspec.Struct, frozen=True, gc=False):
    """How a task ended."""

    reason: str = msgspec.field(name="Reason", default="")


class TaskEnd(msgspec.Struct, frozen=True, gc=False):
    """A SparkListenerTaskEnd."""

    stage_id: Whole = msgspec.field(name="Stage ID")
    info: TaskInfo = msgspec.field(name="Task Info")
    reason: EndReason = msgspec.field(name="Task End Reason")
    stage_attempt: Whole = msgspec.field(name="Stage Attempt ID", default=0)
    metrics: TaskMetrics | None = msgspec.field(name="Task Metrics", default=None)


class TaskEndWithAccumulables(TaskEnd, frozen=True, gc=False):
    """The same with the accumulators."""

    info: TaskInfoWithAccumulables = msgspec.field(name="Task Info")
