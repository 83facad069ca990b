"""The other events, as Spark 3.3 to 4 write them; only what the tables keep is decoded.

Names are those of Spark's ``JsonProtocol``; times are milliseconds since the epoch.
"""

from __future__ import annotations

from typing import Any

import msgspec


class LogStart(msgspec.Struct):
    """SparkListenerLogStart."""

    spark: str = msgspec.field(name="Spark Version", default="")


class ApplicationStart(msgspec.Struct):
    """SparkListenerApplicationStart."""

    timestamp: int = msgspec.field(name="Timestamp")
    name: str | None = msgspec.field(name="App Name", default=None)
    application_id: str | None = msgspec.field(name="App ID", default=None)


class Moment(msgspec.Struct):
    """Any event of which only the time counts, such as SparkListenerApplicationEnd."""

    timestamp: int = msgspec.field(name="Timestamp")


class EnvironmentUpdate(msgspec.Struct):
    """SparkListenerEnvironmentUpdate."""

    properties: dict[str, Any] = msgspec.field(name="Spark Properties", default_factory=dict)


class ExecutorInfo(msgspec.Struct):
    """What an executor said of itself."""

    host: str = msgspec.field(name="Host", default="")
    cores: int = msgspec.field(name="Total Cores", default=0)
    log_urls: dict[str, str] | None = msgspec.field(name="Log Urls", default=None)


class ExecutorAdded(msgspec.Struct):
    """SparkListenerExecutorAdded."""

    timestamp: int = msgspec.field(name="Timestamp")
    executor_id: str = msgspec.field(name="Executor ID")
    info: ExecutorInfo = msgspec.field(name="Executor Info")


class ExecutorRemoved(msgspec.Struct):
    """SparkListenerExecutorRemoved."""

    timestamp: int = msgspec.field(name="Timestamp")
    executor_id: str = msgspec.field(name="Executor ID")
    reason: str | None = msgspec.field(name="Removed Reason", default=None)


class JobStart(msgspec.Struct):
    """SparkListenerJobStart."""

    job_id: int = msgspec.field(name="Job ID")
    submitted_at: int = msgspec.field(name="Submission Time", default=0)
    stage_ids: list[int] = msgspec.field(name="Stage IDs", default_factory=list)
    properties: dict[str, Any] | None = msgspec.field(name="Properties", default=None)


class JobResult(msgspec.Struct):
    """How a job ended."""

    result: str = msgspec.field(name="Result", default="")


class JobEnd(msgspec.Struct):
    """SparkListenerJobEnd."""

    job_id: int = msgspec.field(name="Job ID")
    completed_at: int = msgspec.field(name="Completion Time", default=0)
    result: JobResult | None = msgspec.field(name="Job Result", default=None)


class DataSet(msgspec.Struct):
    """An RDD that a stage computes; its scope is a text that holds JSON, with the operation's name."""

    scope: str | None = msgspec.field(name="Scope", default=None)
    name: str | None = msgspec.field(name="Name", default=None)


class StageInfo(msgspec.Struct):
    """One attempt of a stage."""

    stage_id: int = msgspec.field(name="Stage ID")
    attempt: int = msgspec.field(name="Stage Attempt ID", default=0)
    name: str | None = msgspec.field(name="Stage Name", default=None)
    tasks: int = msgspec.field(name="Number of Tasks", default=0)
    parents: list[int] | None = msgspec.field(name="Parent IDs", default=None)
    data_sets: list[DataSet] | None = msgspec.field(name="RDD Info", default=None)
    submitted_at: int | None = msgspec.field(name="Submission Time", default=None)
    completed_at: int | None = msgspec.field(name="Completion Time", default=None)
    failure: str | None = msgspec.field(name="Failure Reason", default=None)
    details: str | None = msgspec.field(name="Details", default=None)


class StageEvent(msgspec.Struct):
    """SparkListenerStageSubmitted and SparkListenerStageCompleted."""

    info: StageInfo = msgspec.field(name="Stage Info")
    properties: dict[str, Any] | None = msgspec.field(name="Properties", default=None)


class BlockInfo(msgspec.Struct):
    """Where a block lies now."""

    manager: dict[str, Any] = msgspec.field(name="Block Manager ID", default_factory=dict)
    block_id: str = msgspec.field(name="Block ID", default="")
    level: dict[str, Any] = msgspec.field(name="Storage Level", default_factory=dict)
    memory_bytes: int = msgspec.field(name="Memory Size", default=0)


class BlockUpdated(msgspec.Struct):
    """SparkListenerBlockUpdated."""

    info: BlockInfo = msgspec.field(name="Block Updated Info")
