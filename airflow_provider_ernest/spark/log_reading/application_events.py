"""The other events, as Spark 3.3 to 4 write them; only what the tables keep is decoded.

Names are those of Spark's ``JsonProtocol``; times are milliseconds since the epoch.
"""

from __future__ import annotations

from typing import Any

import msgspec

from airflow_provider_ernest.spark.log_reading.event_numbers import Cores, Count, Moment, Whole


class LogStart(msgspec.Struct):
    """SparkListenerLogStart."""

    spark: str = msgspec.field(name="Spark Version", default="")


class ApplicationStart(msgspec.Struct):
    """SparkListenerApplicationStart."""

    timestamp: Moment = msgspec.field(name="Timestamp")
    name: str | None = msgspec.field(name="App Name", default=None)
    application_id: str | None = msgspec.field(name="App ID", default=None)


class MomentOnly(msgspec.Struct):
    """Any event of which only the time counts, such as SparkListenerApplicationEnd."""

    timestamp: Moment = msgspec.field(name="Timestamp")


class EnvironmentUpdate(msgspec.Struct):
    """SparkListenerEnvironmentUpdate."""

    properties: dict[str, Any] = msgspec.field(name="Spark Properties", default_factory=dict)


class ExecutorInfo(msgspec.Struct):
    """What an executor said of itself."""

    host: str = msgspec.field(name="Host", default="")
    cores: Cores = msgspec.field(name="Total Cores", default=0)
    log_urls: dict[str, str] | None = msgspec.field(name="Log Urls", default=None)


class ExecutorAdded(msgspec.Struct):
    """SparkListenerExecutorAdded."""

    timestamp: Moment = msgspec.field(name="Timestamp")
    executor_id: str = msgspec.field(name="Executor ID")
    info: ExecutorInfo = msgspec.field(name="Executor Info")


class ExecutorRemoved(msgspec.Struct):
    """SparkListenerExecutorRemoved."""

    timestamp: Moment = msgspec.field(name="Timestamp")
    executor_id: str = msgspec.field(name="Executor ID")
    reason: str | None = msgspec.field(name="Removed Reason", default=None)


class JobStart(msgspec.Struct):
    """SparkListenerJobStart."""

    job_id: Whole = msgspec.field(name="Job ID")
    submitted_at: Moment = msgspec.field(name="Submission Time", default=0)
    stage_ids: list[Whole] = msgspec.field(name="Stage IDs", default_factory=list)
    properties: dict[str, Any] | None = msgspec.field(name="Properties", default=None)


class JobResult(msgspec.Struct):
    """How a job ended."""

    result: str = msgspec.field(name="Result", default="")


class JobEnd(msgspec.Struct):
    """SparkListenerJobEnd."""

    job_id: Whole = msgspec.field(name="Job ID")
    completed_at: Moment = msgspec.field(name="Completion Time", default=0)
    result: JobResult | None = msgspec.field(name="Job Result", default=None)


class StorageLevel(msgspec.Struct):
    """Where the data of a block may lie, or lies."""

    use_disk: bool = msgspec.field(name="Use Disk", default=False)
    use_memory: bool = msgspec.field(name="Use Memory", default=False)
    off_heap: bool = msgspec.field(name="Use Off Heap", default=False)
    replication: Whole = msgspec.field(name="Replication", default=1)


class DataSet(msgspec.Struct):
    """An RDD that a stage computes; its scope is a text that holds JSON, with the operation's name."""

    scope: str | None = msgspec.field(name="Scope", default=None)
    name: str | None = msgspec.field(name="Name", default=None)
    number: Whole = msgspec.field(name="RDD ID", default=-1)
    level: StorageLevel = msgspec.field(name="Storage Level", default_factory=StorageLevel)
    partitions: Whole = msgspec.field(name="Number of Partitions", default=0)


class StageInfo(msgspec.Struct):
    """One attempt of a stage."""

    stage_id: Whole = msgspec.field(name="Stage ID")
    attempt: Whole = msgspec.field(name="Stage Attempt ID", default=0)
    name: str | None = msgspec.field(name="Stage Name", default=None)
    tasks: Count = msgspec.field(name="Number of Tasks", default=0)
    parents: list[Whole] | None = msgspec.field(name="Parent IDs", default=None)
    data_sets: list[DataSet] | None = msgspec.field(name="RDD Info", default=None)
    submitted_at: Moment | None = msgspec.field(name="Submission Time", default=None)
    completed_at: Moment | None = msgspec.field(name="Completion Time", default=None)
    failure: str | None = msgspec.field(name="Failure Reason", default=None)
    details: str | None = msgspec.field(name="Details", default=None)


class StageEvent(msgspec.Struct):
    """SparkListenerStageSubmitted and SparkListenerStageCompleted."""

    info: StageInfo = msgspec.field(name="Stage Info")
    properties: dict[str, Any] | None = msgspec.field(name="Properties", default=None)


class BlockManager(msgspec.Struct):
    """Who holds blocks: an executor, or the driver."""

    executor_id: str = msgspec.field(name="Executor ID", default="")


class BlockManagerEvent(msgspec.Struct):
    """SparkListenerBlockManagerAdded; SparkListenerBlockManagerRemoved, which tells no memory."""

    manager: BlockManager = msgspec.field(name="Block Manager ID")
    memory_bytes: Whole = msgspec.field(name="Maximum Memory", default=0)
    heap_bytes: Whole | None = msgspec.field(name="Maximum Onheap Memory", default=None)


class BlockInfo(msgspec.Struct):
    """Where a block lies now."""

    manager: BlockManager = msgspec.field(name="Block Manager ID")
    block_id: str = msgspec.field(name="Block ID", default="")
    level: StorageLevel = msgspec.field(name="Storage Level", default_factory=StorageLevel)
    memory_bytes: Whole = msgspec.field(name="Memory Size", default=0)
    disk_bytes: Whole = msgspec.field(name="Disk Size", default=0)


class BlockUpdated(msgspec.Struct):
    """SparkListenerBlockUpdated."""

    info: BlockInfo = msgspec.field(name="Block Updated Info")


class DataSetDropped(msgspec.Struct):
    """SparkListenerUnpersistRDD."""

    number: Whole = msgspec.field(name="RDD ID")
