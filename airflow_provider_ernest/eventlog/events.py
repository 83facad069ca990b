"""The other events, as Spark 3.3 to 4 write them; only what the tables keep is decoded.

Names are those of Spark's ``JsonProtocol``; times are milliseconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

# ---------------------------------------------------------------------------
# The whole numbers of events. What Spark never writes is malformed: no column or date could hold it.


Whole = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
"""An id, a duration, a size: as JSON can tell it exactly."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
"""Of tasks, as Spark's own integers."""

Moment = Annotated[int, msgspec.Meta(ge=-1, le=253_402_300_799_999)]
"""Milliseconds since the epoch, to the year 9999; -1 where Spark knows none."""

Cores = Annotated[int, msgspec.Meta(ge=0, le=65_536)]
"""Of an executor."""


# ---------------------------------------------------------------------------


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


# ---------------------------------------------------------------------------
# The name of an event, from the beginning of its line: most lines are never decoded.


_BEGINNING = b'{"Event":"'
_NAME_AT = len(_BEGINNING)
_MOST_NAME_BYTES = 200

PASSED_OVER = frozenset(
    name.encode()
    for name in (
        "SparkListenerTaskStart",
        "SparkListenerTaskGettingResult",
        "SparkListenerStageExecutorMetrics",
        "SparkListenerExecutorMetricsUpdate",
        "SparkListenerSpeculativeTaskSubmitted",
        "SparkListenerUnschedulableTaskSetAdded",
        "SparkListenerUnschedulableTaskSetRemoved",
        "SparkListenerResourceProfileAdded",
        "SparkListenerMiscellaneousProcessAdded",
        "SparkListenerExecutorBlacklisted",
        "SparkListenerExecutorBlacklistedForStage",
        "SparkListenerExecutorUnblacklisted",
        "SparkListenerNodeBlacklisted",
        "SparkListenerNodeBlacklistedForStage",
        "SparkListenerNodeUnblacklisted",
        "SparkListenerExecutorExcluded",
        "SparkListenerExecutorExcludedForStage",
        "SparkListenerExecutorUnexcluded",
        "SparkListenerNodeExcluded",
        "SparkListenerNodeExcludedForStage",
        "SparkListenerNodeUnexcluded",
        "org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveSQLMetricUpdates",
    )
)
"""Known, and not needed for the tables."""


class _Named(msgspec.Struct):
    name: str = msgspec.field(name="Event", default="")


def event_name(line: bytes) -> bytes:
    """The event's name; empty for a line that is none."""
    if line.startswith(_BEGINNING):
        return line[_NAME_AT : line.find(b'"', _NAME_AT, _NAME_AT + _MOST_NAME_BYTES)]
    if not line.lstrip().startswith(b"{"):
        return b""
    # Whoever has filtered the log may have written its JSON in another way.
    try:
        return msgspec.json.decode(line, type=_Named).name.encode()[:_MOST_NAME_BYTES]
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return b""


# ---------------------------------------------------------------------------
# The events of Spark SQL, as Jackson writes them; only what the tables keep is decoded.


class Metric(msgspec.Struct):
    """A metric of an operator, and the accumulator that it is told by."""

    name: str = ""
    accumulator_id: Whole = msgspec.field(name="accumulatorId", default=-1)


class PlanNode(msgspec.Struct):
    """An operator of a physical plan, and those that it reads from."""

    node_name: str = msgspec.field(name="nodeName", default="")
    children: list[PlanNode] = msgspec.field(default_factory=list)
    metrics: list[Metric] = msgspec.field(default_factory=list)


class ExecutionPlan(msgspec.Struct):
    """SparkListenerSQLExecutionStart, and SparkListenerSQLAdaptiveExecutionUpdate, which has no time."""

    execution_id: Whole = msgspec.field(name="executionId")
    time: Moment = 0
    plan: PlanNode | None = msgspec.field(name="sparkPlanInfo", default=None)


class ExecutionEnd(msgspec.Struct):
    """SparkListenerSQLExecutionEnd; versions before 3.4 tell no error."""

    execution_id: Whole = msgspec.field(name="executionId")
    time: Moment = 0
    error: str | msgspec.UnsetType | None = msgspec.field(name="errorMessage", default=msgspec.UNSET)


class DriverUpdates(msgspec.Struct):
    """SparkListenerDriverAccumUpdates: pairs of accumulator and what was added to it."""

    execution_id: Whole = msgspec.field(name="executionId")
    updates: list[tuple[Whole, Whole]] = msgspec.field(name="accumUpdates", default_factory=list)


def nodes_of(plan: PlanNode) -> Iterator[PlanNode]:
    """All operators of a plan."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)


# ---------------------------------------------------------------------------
# The event that a task ended, as Spark 3.3 to 4 write it; only what the table of tasks keeps is decoded.
#
# Names are those of Spark's ``JsonProtocol``. Times are milliseconds, but for those that say otherwise.


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
