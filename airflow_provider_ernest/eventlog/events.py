"""The events of a log, as Spark 3.3 to 4 write them; only what the tables keep is decoded.

Fields have Spark's names (``JsonProtocol``; Jackson's for SQL): "Launch Time" is `launch_time`. Moments are
milliseconds since the epoch, durations milliseconds unless said otherwise.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

# Numbers beyond these bounds are malformed: Spark never writes them, and no column or date could hold them.
Whole = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]  # an id, a duration, a size; exact in JSON
Count = Annotated[int, msgspec.Meta(ge=0, le=2**31)]  # of tasks
Moment = Annotated[int, msgspec.Meta(ge=-1, le=253_402_300_799_999)]  # to the year 9999; -1 for none
Cores = Annotated[int, msgspec.Meta(ge=0, le=65_536)]  # of an executor

_SPELT = {"id": "ID", "ids": "IDs", "cpu": "CPU", "gc": "GC", "jvm": "JVM", "rdd": "RDD", "of": "of"}


class Event(
    msgspec.Struct,
    rename=lambda field: " ".join(_SPELT.get(word, word.capitalize()) for word in field.split("_")),
    gc=False,
):
    """An event of Spark's core, or a part of one."""


class LogStart(Event):
    """SparkListenerLogStart."""

    spark_version: str = ""


class ApplicationStart(Event):
    """SparkListenerApplicationStart."""

    timestamp: Moment
    app_name: str | None = None
    app_id: str | None = None


class ApplicationEnd(Event):
    """SparkListenerApplicationEnd; the exit code since Spark 4, where the driver knew it."""

    timestamp: Moment
    exit_code: int | None = msgspec.field(default=None, name="ExitCode")


class EnvironmentUpdate(Event):
    """SparkListenerEnvironmentUpdate."""

    spark_properties: dict[str, Any] = {}
    system_properties: dict[str, Any] = {}


class ExecutorInfo(Event):
    """An executor's own part of its registration."""

    host: str = ""
    total_cores: Cores = 0
    log_urls: dict[str, str] | None = None


class ExecutorAdded(Event):
    """SparkListenerExecutorAdded."""

    timestamp: Moment
    executor_id: str
    executor_info: ExecutorInfo


class ExecutorRemoved(Event):
    """SparkListenerExecutorRemoved."""

    timestamp: Moment
    executor_id: str
    removed_reason: str | None = None


class ResourceRequest(Event):
    """How much of a resource an executor is given; memory in MiB."""

    amount: Whole = 0


class ResourceProfileAdded(Event):
    """SparkListenerResourceProfileAdded."""

    executor_resource_requests: dict[str, ResourceRequest]


class JobStart(Event):
    """SparkListenerJobStart."""

    job_id: Whole
    submission_time: Moment = 0
    stage_ids: list[Whole] = []
    properties: dict[str, Any] | None = None


class JobResult(Event):
    """How a job ended."""

    result: str = ""


class JobEnd(Event):
    """SparkListenerJobEnd."""

    job_id: Whole
    completion_time: Moment = 0
    job_result: JobResult | None = None


class StorageLevel(Event):
    """Where a block may be stored, or is."""

    use_disk: bool = False
    use_memory: bool = False
    use_off_heap: bool = False
    replication: Whole = 1


class DataSet(Event):
    """An RDD that a stage computes; its scope is JSON in a string, with the operation's name."""

    scope: str | None = None
    name: str | None = None
    rdd_id: Whole = -1
    storage_level: StorageLevel = msgspec.field(default_factory=StorageLevel)
    number_of_partitions: Whole = 0
    parent_ids: list[Whole] | None = None
    barrier: bool = False


class StageInfo(Event):
    """One attempt of a stage."""

    stage_id: Whole
    stage_attempt_id: Whole = 0
    stage_name: str | None = None
    number_of_tasks: Count = 0
    parent_ids: list[Whole] | None = None
    rdd_info: list[DataSet] | None = None
    submission_time: Moment | None = None
    completion_time: Moment | None = None
    failure_reason: str | None = None
    details: str | None = None


class StageEvent(Event):
    """SparkListenerStageSubmitted and SparkListenerStageCompleted."""

    stage_info: StageInfo
    properties: dict[str, Any] | None = None


class BlockManager(Event):
    """Holds blocks: an executor, or the driver."""

    executor_id: str = ""


class BlockManagerEvent(Event):
    """SparkListenerBlockManagerAdded and SparkListenerBlockManagerRemoved; only the first has memory."""

    block_manager_id: BlockManager
    maximum_memory: Whole = 0
    maximum_onheap_memory: Whole | None = None


class BlockInfo(Event):
    """Where a block is now."""

    block_manager_id: BlockManager
    block_id: str = ""
    storage_level: StorageLevel = msgspec.field(default_factory=StorageLevel)
    memory_size: Whole = 0
    disk_size: Whole = 0


class BlockUpdated(Event):
    """SparkListenerBlockUpdated."""

    block_updated_info: BlockInfo


class DataSetDropped(Event):
    """SparkListenerUnpersistRDD."""

    rdd_id: Whole


class Shuffle(Event):
    """What a task fetched of earlier stages, or wrote for later ones; the time of writing in nanoseconds."""

    fetch_wait_time: Whole = 0
    remote_bytes_read: Whole = 0
    local_bytes_read: Whole = 0
    total_records_read: Whole = 0
    shuffle_write_time: Whole = 0
    shuffle_bytes_written: Whole = 0


class Storage(Event):
    """What a task read from storage, or wrote to it."""

    bytes_read: Whole = 0
    records_read: Whole = 0
    bytes_written: Whole = 0


NO_SHUFFLE, NO_STORAGE = Shuffle(), Storage()


class TaskMetrics(Event):
    """What an executor measured; its CPU time in nanoseconds."""

    executor_deserialize_time: Whole = 0
    executor_run_time: Whole = 0
    executor_cpu_time: Whole = 0
    peak_execution_memory: Whole = 0
    result_size: Whole = 0
    jvm_gc_time: Whole = 0
    result_serialization_time: Whole = 0
    disk_bytes_spilled: Whole = 0
    shuffle_read_metrics: Shuffle | None = None
    shuffle_write_metrics: Shuffle | None = None
    input_metrics: Storage | None = None
    output_metrics: Storage | None = None


NO_METRICS = TaskMetrics()


class Accumulable(Event):
    """What a task added to an accumulator, as the metrics of SQL are."""

    name: str | None = None
    update: Any = None


class TaskInfo(Event):
    """The scheduler's view of a task."""

    task_id: Whole
    launch_time: Moment
    finish_time: Moment
    executor_id: str = ""
    index: Whole = -1
    attempt: Whole = 0
    speculative: bool = False
    getting_result_time: Moment = 0


class TaskInfoWithAccumulables(TaskInfo):
    """With the accumulators: they are most of a SQL task's line, so decoded only where they are needed."""

    accumulables: list[Accumulable] | None = None


class EndReason(Event):
    """How a task ended; the description is an exception's message."""

    reason: str = ""
    description: str | None = None


class TaskEnd(Event):
    """SparkListenerTaskEnd."""

    stage_id: Whole
    task_info: TaskInfo
    task_end_reason: EndReason
    stage_attempt_id: Whole = 0
    task_metrics: TaskMetrics | None = None


class TaskEndWithAccumulables(TaskEnd):
    """With the accumulators."""

    task_info: TaskInfoWithAccumulables


class SqlEvent(msgspec.Struct, rename="camel"):
    """An event of Spark SQL, or a part of one."""


class Metric(SqlEvent):
    """A metric of an operator, and the accumulator that reports it."""

    name: str = ""
    accumulator_id: Whole = -1


class PlanNode(SqlEvent):
    """An operator of a physical plan, and those that it reads from."""

    node_name: str = ""
    children: list[PlanNode] = []
    metrics: list[Metric] = []


class ExecutionPlan(SqlEvent):
    """SparkListenerSQLExecutionStart, and SparkListenerSQLAdaptiveExecutionUpdate, which has no time."""

    execution_id: Whole
    time: Moment = 0
    spark_plan_info: PlanNode | None = None


class ExecutionEnd(SqlEvent):
    """SparkListenerSQLExecutionEnd; it has no error before Spark 3.4."""

    execution_id: Whole
    time: Moment = 0
    error_message: str | msgspec.UnsetType | None = msgspec.UNSET


class StreamEnd(SqlEvent):
    """StreamingQueryListener.QueryTerminatedEvent."""

    exception: str | None = None


class DriverUpdates(SqlEvent):
    """SparkListenerDriverAccumUpdates: pairs of accumulator and what was added to it."""

    execution_id: Whole
    accum_updates: list[tuple[Whole, Whole]] = []


_BEGINNING = b'{"Event":"'
_NAME_AT = len(_BEGINNING)
_MOST_NAME_BYTES = 200


class _Named(Event):
    event: str = ""


def event_name(line: bytes) -> bytes:
    """The event's name, without decoding its line as a rule; empty if the line is no event."""
    if line.startswith(_BEGINNING):
        return line[_NAME_AT : line.find(b'"', _NAME_AT, _NAME_AT + _MOST_NAME_BYTES)]
    if not line.lstrip().startswith(b"{"):
        return b""
    # A filtered log may have its JSON formatted in another way.
    try:
        return msgspec.json.decode(line, type=_Named).event.encode()[:_MOST_NAME_BYTES]
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return b""
