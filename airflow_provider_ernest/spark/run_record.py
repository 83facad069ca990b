"""Reading what a run really did from the event log that Spark wrote of it.

The time that counts is clean: from the moment at which the last of the run's machines had
registered to the application's end. What comes before (start of the driver, waiting for machines
that another run still held) says nothing about the job.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import EventLogError, SampleRunError
from airflow_provider_ernest.model.documents import RunMetrics
from airflow_provider_ernest.spark.cached_blocks import CachedBlocks
from airflow_provider_ernest.spark.executors import Executor, LostExecutor, added_executor, lost_executor
from airflow_provider_ernest.spark.log_reading.executor_rows import all_there_at
from airflow_provider_ernest.spark.log_reading.files import open_lines
from airflow_provider_ernest.spark.log_reading.log_names import ROLLED_PREFIX, application_of_name
from airflow_provider_ernest.spark.stage_tasks import StageTasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["Executor", "RunRecord", "application_id_of", "find_event_log", "read_run"]

_BLOCK_UPDATED = b'{"Event":"SparkListenerBlockUpdated"'
_CACHED_BLOCK = b'"Block ID":"rdd_'


@dataclass(kw_only=True)
class RunRecord:
    """One application as its event log tells it. Times are seconds since the epoch."""

    application_id: str = ""
    name: str = ""
    master: str = ""
    started_at: float = 0.0
    ended_at: float | None = None
    executors: list[Executor] = field(default_factory=list)
    lost: list[LostExecutor] = field(default_factory=list)
    tasks: int = 0
    executor_run_seconds: float = 0.0
    garbage_collection_seconds: float = 0.0
    input_bytes: int = 0
    shuffle_read_bytes: int = 0
    spilled_bytes: int = 0
    peak_execution_memory_bytes: int | None = None
    task_cores: int = 1
    first_launch: float = inf
    cache: CachedBlocks = field(default_factory=CachedBlocks)
    stages: StageTasks = field(default_factory=StageTasks)

    @property
    def machines(self) -> list[Executor]:
        """The first executor of each distinct worker, in the order in which they registered."""
        first: dict[str, Executor] = {}
        for executor in sorted(self.executors, key=lambda executor: executor.added_at):
            first.setdefault(executor.worker, executor)
        return list(first.values())

    def ready_at(self, machines: int) -> float:
        """When the last of the first `machines` machines had registered.

        Raises:
            SampleRunError: fewer ever did, or the job was run inside the driver.
        """
        present = self.machines
        if self.master.startswith("local"):
            raise SampleRunError(
                f"Application {self.application_id} ran inside its driver (master {self.master!r}), not on "
                "the cluster.",
                remedy="Remove .master(...) from the application: it overrides what spark-submit is told.",
            )
        if len(present) < machines:
            raise SampleRunError(
                f"Application {self.application_id} was designed for {machines} machines, and {len(present)} "
                f"registered ({', '.join(executor.worker for executor in present) or 'none'}).",
                remedy="See whether the cluster has lost machines, or whether the application itself sets "
                "spark.cores.max or spark.executor.cores.",
            )
        return present[machines - 1].added_at

    def work_began_at(self, machines: int) -> float:
        """The same, but for machines that joined when tasks ran already: `EventLog.ready_at` of such a run.

        Raises:
            SampleRunError: see `ready_at`.
        """
        ready_at = self.ready_at(machines)
        added_at = [executor.added_at for executor in self.machines[:machines]]
        return all_there_at(added_at, self.first_launch) or ready_at

    def require_all_kept(self) -> None:
        """Refuse a run that lost a machine before its end: its time is that of no known machine count.

        Raises:
            SampleRunError: an executor was lost, whether or not Spark replaced it.
        """
        if self.lost:
            raise SampleRunError(
                f"Application {self.application_id} lost {' and '.join(map(str, self.lost))}: its time is no "
                "measurement.",
                remedy="Run it again on machines that last (a spot instance may have been taken back), or "
                "with more memory where its executors ran out of it.",
            )

    def run_seconds(self, machines: int) -> float:
        """Clean run time: from all machines being there to the application's end.

        Raises:
            SampleRunError: the log has no end, or fewer machines registered.
        """
        if self.ended_at is None:
            raise SampleRunError(f"The event log of application {self.application_id} has no end.")
        return self.ended_at - self.ready_at(machines)

    def metrics(self) -> RunMetrics:
        """What the model wants to know of the run, as a document."""
        cache = self.cache.peak if self.cache.told else None
        return RunMetrics(
            tasks=self.tasks,
            slots=sum(executor.cores // self.task_cores for executor in self.machines),
            executor_run_seconds=self.executor_run_seconds,
            garbage_collection_seconds=self.garbage_collection_seconds,
            input_bytes=self.input_bytes,
            shuffle_read_bytes=self.shuffle_read_bytes,
            spilled_bytes=self.spilled_bytes,
            peak_execution_memory_bytes=self.peak_execution_memory_bytes,
            storage_memory_bytes=self.cache.storage_memory_bytes or None,
            cache_wanted_bytes=cache.wanted_bytes if cache else None,
            cached_bytes=cache.held_bytes if cache else None,
            cached_on_disk_bytes=cache.disk_bytes if cache else None,
            dominant_stage_tasks=self.stages.dominant(),
        )


def find_event_log(directory: Path) -> Path | None:
    """The event log in a directory that was made for one run; None while Spark has not begun it."""
    logs = sorted(path for path in directory.glob("*") if _is_log(path))
    return logs[-1] if logs else None


def _is_log(path: Path) -> bool:
    return not path.name.startswith(".") and (path.name.startswith(ROLLED_PREFIX) or not path.is_dir())


def application_id_of(event_log: Any) -> str:
    """The application that an event log is of: Spark names the file or the folder after it."""
    return application_of_name(event_log.name)


def read_run(event_log: Any) -> RunRecord:
    """Read what counts of a run from its event log.

    Lines that are no JSON, as in a log whose driver was killed while writing, are passed over.

    Args:
        event_log: as `read_event_log` takes it, so compressed and rolled over, too.

    Raises:
        SampleRunError: it cannot be read.
    """
    import msgspec

    record = RunRecord()
    decoder = msgspec.json.Decoder()
    for line in _relevant_lines(event_log, record):
        try:
            event = decoder.decode(line)
        except msgspec.DecodeError:
            continue
        _HANDLERS[event["Event"]](record, event)
    record.cache.look()
    return record


def _relevant_lines(event_log: Any, record: RunRecord) -> Iterator[bytes]:
    try:
        # Parsing costs far more than looking at the prefix, and most lines are of no use here.
        for line in open_lines(event_log):
            if line.startswith(_BLOCK_UPDATED) and _CACHED_BLOCK not in line:
                record.cache.told = True
            elif line.startswith(_PREFIXES):
                yield line
    except EventLogError as error:
        raise SampleRunError(error.message, remedy=error.remedy) from error


def _application_started(record: RunRecord, event: dict[str, Any]) -> None:
    record.application_id = event.get("App ID", "")
    record.name = event.get("App Name", "")
    record.started_at = event["Timestamp"] / 1000


def _application_ended(record: RunRecord, event: dict[str, Any]) -> None:
    record.ended_at = event["Timestamp"] / 1000


def _environment_told(record: RunRecord, event: dict[str, Any]) -> None:
    properties = event.get("Spark Properties", {})
    record.master = properties.get("spark.master", "")
    record.task_cores = max(1, int(properties.get("spark.task.cpus", 1)))


def _executor_added(record: RunRecord, event: dict[str, Any]) -> None:
    record.executors.append(added_executor(event))


def _executor_removed(record: RunRecord, event: dict[str, Any]) -> None:
    # Once the application has ended, that its executors end is the normal thing.
    lost = lost_executor(event, record.executors) if record.ended_at is None else None
    if lost is not None:
        record.lost.append(lost)


def _stage_completed(record: RunRecord, event: dict[str, Any]) -> None:
    record.stages.stage_completed(event["Stage Info"])
    record.cache.stage_completed(event["Stage Info"])


def _task_ended(record: RunRecord, event: dict[str, Any]) -> None:
    metrics = event.get("Task Metrics") or {}
    shuffle = metrics.get("Shuffle Read Metrics", {})
    run_seconds = metrics.get("Executor Run Time", 0) / 1000
    record.first_launch = min(record.first_launch, event.get("Task Info", {}).get("Launch Time", inf) / 1000)
    record.tasks += 1
    record.stages.task_ended(event.get("Stage ID", -1), run_seconds)
    record.executor_run_seconds += run_seconds
    record.garbage_collection_seconds += metrics.get("JVM GC Time", 0) / 1000
    record.input_bytes += metrics.get("Input Metrics", {}).get("Bytes Read", 0)
    record.shuffle_read_bytes += shuffle.get("Remote Bytes Read", 0) + shuffle.get("Local Bytes Read", 0)
    record.spilled_bytes += metrics.get("Disk Bytes Spilled", 0)
    peak = metrics.get("Peak Execution Memory")
    if peak is not None:
        record.peak_execution_memory_bytes = max(record.peak_execution_memory_bytes or 0, peak)


_HANDLERS: dict[str, Callable[[RunRecord, dict[str, Any]], None]] = {
    "SparkListenerTaskEnd": _task_ended,
    "SparkListenerStageCompleted": _stage_completed,
    "SparkListenerBlockUpdated": lambda record, event: record.cache.block_updated(event),
    "SparkListenerUnpersistRDD": lambda record, event: record.cache.unpersisted(event),
    "SparkListenerBlockManagerAdded": lambda record, event: record.cache.executor_added(event),
    "SparkListenerBlockManagerRemoved": lambda record, event: record.cache.executor_removed(event),
    "SparkListenerExecutorAdded": _executor_added,
    "SparkListenerExecutorRemoved": _executor_removed,
    "SparkListenerEnvironmentUpdate": _environment_told,
    "SparkListenerApplicationStart": _application_started,
    "SparkListenerApplicationEnd": _application_ended,
}
_PREFIXES = tuple(f'{{"Event":"{kind}"'.encode() for kind in _HANDLERS)
