"""What a model needs to know of a run, from the tables of its event log, and whether the run counts.

Clean time counts: from when the last of the run's executors had registered to the application's end. The
start of the driver and waiting for executors that another run still held say nothing about the job.

A run counts if it ended well at one known size, or under dynamic allocation, and its log is whole. Streams,
runs inside the driver, and runs that lost executors, waited for some or shared them do not count. The words
of Spark, YARN and Kubernetes tell why executors were lost; those that dynamic allocation lets go are no loss.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from airflow_provider_ernest.documents.profiles import (
    DECOMMISSIONED,
    HEAP_FULL,
    KILLED_FOR_MEMORY,
    LOST,
    NODE_LOST,
    PREEMPTED,
    PYTHON_WORKER_KILLED,
    SHUFFLE_LOST,
    ExecutorLoss,
)
from airflow_provider_ernest.documents.runs import RunMetrics
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.eventlog.tables import (
    DRIVER,
    BoolColumn,
    EventLog,
    ExecutorRow,
    IntColumn,
    TaskColumns,
    busy_seconds,
    whole_number,
)
from airflow_provider_ernest.exceptions import EventLogError, SampleRunError
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.words import count, counted, duration

_FAR_APART = 2.0  # the least ratio of two sizes by which they can be told apart
_TICK_SECONDS = 0.001  # of Spark's clock: a stage that begins and ends in one tick has run all the same


def read_run(event_log: Any) -> EventLog:
    """Read the event log of a sample run; see `read_event_log`.

    Raises:
        SampleRunError: it cannot be read.
    """
    try:
        return read_event_log(event_log)
    except EventLogError as error:
        raise SampleRunError(error.message, remedy=error.remedy) from error


def require_all_kept(log: EventLog) -> None:
    """Refuse a run that lost an executor before its end: its time belongs to no known number of executors.

    Raises:
        SampleRunError: an executor was lost, whether or not Spark replaced it.
    """
    if log.lost:
        raise SampleRunError(
            f"Application {log.application_id} lost {' and '.join(map(str, log.lost))}: its time "
            "does not count.",
            remedy="Run it again on machines that last (a spot instance may have been taken back), or "
            "with more memory if its executors ran out of it.",
        )


def registered_at(log: EventLog, executors: int) -> float:
    """When the last of the first `executors` had registered, in seconds since the epoch.

    Raises:
        SampleRunError: fewer ever did, or the job was run inside the driver.
    """
    if log.master.startswith("local"):
        raise SampleRunError(
            f"Application {log.application_id} ran inside its driver (master {log.master!r}), not on "
            "the cluster.",
            remedy="Remove .master(...) from the application: it overrides what spark-submit is told.",
        )
    if len(log.executors) < executors:
        workers = ", ".join(executor.worker for executor in log.executors)
        raise SampleRunError(
            f"Application {log.application_id} was designed for {executors} executors, and "
            f"{len(log.executors)} registered ({workers or 'none'}).",
            remedy="Check whether the cluster has lost some, or whether the application itself sets "
            "spark.cores.max or spark.executor.cores.",
        )
    return log.executors[executors - 1].added_at


def executors_in_time(log: EventLog, executors: int) -> int:
    """How many of the executors that a run asked for its first task waited for.

    Raises:
        SampleRunError: others came later, so that its time is that of no number of executors.
    """
    first_task = float(log.task_columns.launched_at.min(initial=math.inf))
    came = [each.added_at for each in log.executors[:executors]]
    late = [moment for moment in came if moment > first_task]
    if late and len(late) < len(came):
        after = duration(round(late[-1] - first_task))
        raise SampleRunError(
            f"{len(came) - len(late)} of {executors} executors came in time, and {len(late)} more up to "
            f"{after} after the work had begun: its time is that of no number of executors.",
            remedy="Raise wait_timeout_seconds, let fewer sample runs be active at once, or lower "
            "max_executors of the design.",
        )
    return len(came) or executors


def waited_in_vain_seconds(log: EventLog, executors: int) -> float:
    """How long a run with so many executors waited for the rest of those that it was submitted to.

    Spark gives up after spark.scheduler.maxRegisteredResourcesWaitingTime, which `sizing_conf` sets.
    """
    told = log.properties.get("spark.scheduler.maxRegisteredResourcesWaitingTime", "")
    first_task = float(log.task_columns.launched_at.min(initial=math.inf))
    gave_up_at = log.started_at + (whole_number(told.removesuffix("s")) or 0)
    return max(0.0, min(gave_up_at, first_task) - registered_at(log, executors))


def require_machines_of_their_own(log: EventLog, executors: int) -> None:
    """Refuse a run whose executors shared a machine where each was to fill one.

    Raises:
        SampleRunError: they were on fewer.
    """
    if len(log.slots_by_worker) < executors:
        raise SampleRunError(
            f"The {executors} executors of application {log.application_id} shared "
            f"{', '.join(log.slots_by_worker)}: its time is not that of so many machines.",
            remedy="Give executors all cores of their machine, and leave spark.executor.cores alone.",
        )


def run_seconds(log: EventLog, executors: int) -> float:
    """Clean run time, from when all executors were there to the application's end.

    Raises:
        SampleRunError: the log has no end, or fewer executors registered.
    """
    if not log.is_complete:
        raise SampleRunError(f"The event log of application {log.application_id} has no end.")
    return log.ended_at - registered_at(log, executors)


def run_metrics(log: EventLog) -> RunMetrics:
    """The facts of a run beside its time, from the tasks that count."""
    # Column by column: a copy of the whole table would double the memory.
    tasks, did = log.task_columns, log.task_columns.succeeded
    peaks = tasks.peak_execution_memory_bytes[did]
    peak_stage = int(tasks.stage_id[did][peaks.argmax()]) if len(peaks) and peaks.max() else None
    cache = log.cache
    return RunMetrics(
        tasks=len(peaks),
        slots=log.slots,
        executor_run_seconds=float(tasks.run_seconds[did].sum()),
        garbage_collection_seconds=float(tasks.garbage_collection_seconds[did].sum()),
        idle_seconds=_idle_seconds(log),
        input_bytes=_sum(tasks.input_bytes[did]),
        shuffle_read_bytes=_sum(tasks.shuffle_remote_bytes[did]) + _sum(tasks.shuffle_local_bytes[did]),
        spilled_bytes=_sum(tasks.disk_spilled_bytes[did]),
        peak_execution_memory_bytes=int(peaks.max()) if len(peaks) else None,
        peak_stage_tasks=next((each.tasks for each in log.stages if each.stage_id == peak_stage), None),
        storage_memory_bytes=log.storage_memory_bytes or None,
        cache_wanted_bytes=cache.wanted_bytes if cache else None,
        cached_bytes=cache.held_bytes if cache else None,
        cached_on_disk_bytes=cache.disk_bytes if cache else None,
        cache_falls_to_disk=cache.falls_to_disk if cache and cache.wanted_bytes else None,
        dominant_stage_tasks=_dominant_stage_tasks(log),
        barrier_tasks=log.barrier_tasks or None,
        **_cache_passes(log),
    )


def _idle_seconds(log: EventLog) -> float | None:
    """Without any running task; None if the log has no end or no task."""
    tasks = log.task_columns
    if not log.is_complete or not len(tasks) or not log.executors:
        return None
    since = log.executors[-1].added_at
    order = np.argsort(tasks.launched_at, kind="stable")
    ended = np.maximum.accumulate(tasks.finished_at[order])
    idle_from = np.maximum(since, np.concatenate(([since], ended)))
    idle_to = np.concatenate((tasks.launched_at[order], [log.ended_at]))
    return float(np.maximum(0.0, idle_to - idle_from).sum())


def _cache_passes(log: EventLog) -> dict[str, Any]:
    """`RunMetrics` of the stages that filled and read the cache; empty if there are none."""
    filling = [stage.stage_id for stage in log.stages if stage.fills_cache and not stage.reads_cache]
    # A stage may end before all its partitions were asked for: such a one went through a part of the cache.
    reading = [stage.stage_id for stage in log.stages if stage.reads_cache and stage.completed_at is not None]
    tasks, did = log.task_columns, log.task_columns.succeeded
    made = tasks.only(did & np.isin(tasks.stage_id, filling))
    read = tasks.only(did & np.isin(tasks.stage_id, reading))
    if not len(made) or not len(read):
        return {}
    missed = _missed(log, made, read)
    return {
        "cache_filling_seconds": _warm_seconds(made, slots=log.slots // max(1, log.most_executors)),
        "cache_reading_seconds": float(read.run_seconds.sum()),
        "cache_reads": len(read) / len(made),
        "cache_partitions": len(made),
        "cache_missed_share": None if missed is None else float(missed.mean()),
        "cache_missed_seconds": None if missed is None else float(read.run_seconds[missed].sum()),
    }


def _missed(log: EventLog, made: TaskColumns, read: TaskColumns) -> BoolColumn | None:
    """Marks the tasks that read the cache and did not find their partition; None if unknown.

    Spark counts a cached block as input, with its bytes in memory. A task that computes the partition again
    reads the bytes that it is made of. If the two are far enough apart, a task's input shows what it did.
    """
    if log.cache is None or log.cache.falls_to_disk:
        return None
    cached, source = log.cache.wanted_bytes / len(made), float(made.input_bytes.mean())
    if max(cached, source) < _FAR_APART * max(1.0, min(cached, source)):
        return None
    between = math.sqrt(cached * max(1.0, source))
    reads_source: BoolColumn = (read.input_bytes < between) == (source < cached)
    return reads_source


def _warm_seconds(tasks: TaskColumns, *, slots: int) -> float:
    """Run seconds, with the first task of a stage on each slot counted as the mean of the others.

    First tasks compile code, load classes and start Python workers; tasks that read the cache do not.
    """
    order = np.lexsort((tasks.launched_at, tasks.executor, tasks.stage_id))
    seconds, stage = tasks.run_seconds[order], tasks.stage_id[order]
    _, first, place = np.unique(
        np.column_stack([stage, tasks.executor[order]]), axis=0, return_index=True, return_inverse=True
    )
    is_warm = np.arange(len(order)) - first[place.reshape(-1)] >= max(1, slots)
    total = 0.0
    for each in np.unique(stage):
        warm = seconds[(stage == each) & is_warm]
        total += float((warm if len(warm) else seconds[stage == each]).mean()) * int((stage == each).sum())
    return total


def _sum(column: IntColumn) -> int:
    # Floats do not overflow, whatever a log says, and are exact to nine petabytes.
    return int(column.sum(dtype=float))


def _dominant_stage_tasks(log: EventLog) -> int | None:
    """The tasks that could run at once: the median over the stages, weighted by their run seconds.

    Stages that overlap in time do not depend on one another (the two inputs of a join), so a stage
    counts with the tasks of those beside it. None if no stage has finished.
    """
    tasks, did = log.task_columns, log.task_columns.succeeded
    ids, place = np.unique(tasks.stage_id[did], return_inverse=True)
    seconds = np.bincount(place, weights=tasks.run_seconds[did], minlength=len(ids))
    run_seconds = dict(zip(ids.tolist(), seconds.tolist(), strict=True))
    together = _tasks_side_by_side(log)
    half = sum(run_seconds.get(stage, 0.0) for stage in together) / 2
    passed = 0.0
    for tasks_at_once, stage in sorted((many, stage) for stage, many in together.items()):
        passed += run_seconds.get(stage, 0.0)
        if passed >= half:
            return tasks_at_once
    return None


def _tasks_side_by_side(log: EventLog) -> dict[int, int]:
    """For each finished stage the most tasks that it and those running beside it had together."""
    stages = sorted(
        (
            stage.submitted_at,
            max(stage.completed_at, stage.submitted_at + _TICK_SECONDS),
            stage.stage_id,
            stage.tasks,
        )
        for stage in log.stages
        if stage.submitted_at is not None and stage.completed_at is not None
    )
    if not stages:
        return {}
    began, ended, _, tasks = (np.array(column) for column in zip(*stages, strict=True))
    by_end = np.argsort(ended, kind="stable")
    before = np.searchsorted(ended[by_end], began, side="right")
    # At each begin: the tasks of the stages that had begun, less those of the stages that had ended.
    running = np.cumsum(tasks) - np.concatenate(([0], np.cumsum(tasks[by_end])))[before]
    last = np.searchsorted(began, ended, side="left")
    most: dict[int, int] = {}
    for place, (_, _, stage_id, _) in enumerate(stages):
        together = int(running[place : last[place]].max())
        most[stage_id] = max(most.get(stage_id, 0), together)
    return most


LET_GO = ""  # by Spark itself, under dynamic allocation

_EXIT_CODE = r"exit(?:ed with)?(?: exit)? (?:code|status)(?: is)?\W{0,3}"

# The first that matches.
_CAUSES = {
    # YARN's -102; first, since what is preempted is ended by a signal, too.
    PREEMPTED: r"preempt|exit (?:code|status):? *-102\b",
    # The last on YARN.
    LET_GO: r"killed by driver|idle|dynamic allocation|Executor finished|spark scale down"
    r"|exited from explicit termination request",
    DECOMMISSIONED: r"decommission",
    # YARN's -100.
    NODE_LOST: r"released on a \*lost\* node|exit (?:code|status):? *-100\b",
    # 52 is Spark's own.
    HEAP_FULL: rf"OutOfMemory|{_EXIT_CODE}52\b",
    # Signals of the kernel and YARN.
    KILLED_FOR_MEMORY: rf"memory limits|OOMKilled|{_EXIT_CODE}(?:137|143)\b",
}

# Kubernetes: the framework under dynamic allocation, else somebody.
_POD_DELETED = "deleted by a user or the framework"

_THE_WORST_FIRST = (
    *(KILLED_FOR_MEMORY, HEAP_FULL, PYTHON_WORKER_KILLED),
    *(PREEMPTED, DECOMMISSIONED, NODE_LOST, LOST, SHUFFLE_LOST),
)

# The size of a run is known if it had this share of its most executors on average. On YARN and Kubernetes
# executors take some seconds to come, so a short run has a little less than all.
STEADY_SHARE = 0.9

LEAST_TOLD = 0.99  # the share of its stages' tasks that a log must have

# A stream that takes what is there and ends has jobs for more of its time than one that waits.
BUSY_SHARE = 0.5

DATABRICKS_CLUSTER = "spark.databricks.clusterUsageTags.clusterName"
# A cluster that Databricks started for one run of a job; others are shared.
JOB_CLUSTER = re.compile(r"job-(?P<job>\d+)-run-\d+(?:-(?P<key>.+))?")


@dataclass(frozen=True)
class NotCounted:
    """Why a run's time is not that of its job at one size, as a clause."""

    reason: str
    is_other_kind: bool = False  # a stream or a program on one host: its profile still makes sense


A_STREAM = NotCounted("it is a stream, whose time is not that of a job", is_other_kind=True)
IN_DRIVER = NotCounted("it ran inside its driver, not on machines", is_other_kind=True)


class Sizes:
    """How many executors there were at once, from the start of clean time to the end."""

    def __init__(self, log: EventLog) -> None:
        spans = _spans(log, log.ready_at)
        # At one moment executors go before others come.
        changes = sorted([*((began, 1) for began, _ in spans), *((ended, -1) for _, ended in spans)])
        self.most = max(accumulate(change for _, change in changes), default=0)
        seconds = log.ended_at - log.ready_at
        there = sum(ended - began for began, ended in spans)
        self.mean = there / seconds if seconds > 0 else float(self.most)
        # Waiting for the other executors is in it; waiting for the first, as in a queue, is not.
        self.executor_seconds = sum(ended - began for began, ended in _spans(log, log.started_at))

    @property
    def are_steady(self) -> bool:
        """Whether nearly all executors were there nearly all the time."""
        return self.mean >= STEADY_SHARE * self.most


def _spans(log: EventLog, since: float) -> list[tuple[float, float]]:
    """From when until when each executor was there, from a moment on."""
    found = []
    for executor in log.executors:
        gone_at = executor.removed_at if executor.is_lost and executor.removed_at else log.ended_at
        began, ended = max(executor.added_at, since), min(gone_at, log.ended_at)
        if executor.executor_id != DRIVER and ended >= began:
            found.append((began, ended))
    return found


def why_not_counted(log: EventLog, sizes: Sizes | None = None) -> NotCounted | None:
    """The most telling reason why a run does not count; None if it does."""
    if log.is_streaming and not _is_batch(log):
        return A_STREAM
    if reason := _failure_of(log):
        return NotCounted(reason)
    if any(each.executor_id == DRIVER for each in log.executors):
        return IN_DRIVER
    reason = _trouble_with_machines(log, sizes or Sizes(log))
    if not reason and not log.task_columns.succeeded.any():
        reason = "no task succeeded"
    reason = reason or why_not_whole(log)
    return NotCounted(reason) if reason else None


def _is_batch(log: EventLog) -> bool:
    """Whether a streaming query took what was there and ended (availableNow, once), and waited for no more.

    No event names its trigger: its jobs followed one another for most of the time.
    """
    if not log.streams_ended or not log.is_complete or not log.jobs:
        return False
    began = np.array([job.submitted_at for job in log.jobs])
    ended = np.array([job.completed_at or log.ended_at for job in log.jobs])
    return busy_seconds(began, ended) >= BUSY_SHARE * float(ended.max() - began.min())


def _failure_of(log: EventLog) -> str:
    """How the run failed, as far as its log tells: a job that failed before others went well was caught."""
    jobs = log.jobs
    if not log.is_complete:
        # Databricks ends clusters before their logs, when all jobs have ended: such a log is whole.
        is_idle = bool(jobs) and all(job.succeeded is not None for job in jobs)
        if not is_idle or not any(name.startswith("spark.databricks.") for name in log.properties):
            return "its log has no end: it was cut off, or still runs"
    if log.exit_code:
        return f"its application ended with exit code {log.exit_code}"
    if log.is_complete and any(job.succeeded is None for job in jobs):
        return "it ended while one of its jobs still ran"
    last = max(jobs, key=lambda job: (job.completed_at or 0.0, job.job_id), default=None)
    if last is None:
        return ""
    if last.succeeded is False:
        return "its last job failed"
    query = max(log.sql_executions, key=lambda each: each.ended_at or 0.0, default=None)
    is_last = query is not None and (query.ended_at or 0.0) >= (last.completed_at or 0.0)
    return "its last query failed" if query is not None and is_last and query.failed else ""


def _trouble_with_machines(log: EventLog, sizes: Sizes) -> str:
    cluster = log.properties.get(DATABRICKS_CLUSTER)
    is_job_cluster = cluster is None or JOB_CLUSTER.fullmatch(cluster)
    if not is_job_cluster and log.properties.get("spark.databricks.clusterSource") != "JOB":
        return "it ran on a shared cluster"
    if not sizes.most:
        return "no executor registered"
    # Databricks ends clusters before their logs, when all jobs have ended.
    jobs_ended = [math.inf if job.completed_at is None else job.completed_at for job in log.jobs]
    end_of_work = math.inf if log.is_complete else max(jobs_ended, default=-math.inf)
    causes = {cause_in(log, each) for each in log.lost if (each.removed_at or -math.inf) < end_of_work}
    if causes - {LET_GO}:
        is_for_memory = not causes.isdisjoint((KILLED_FOR_MEMORY, HEAP_FULL))
        return f"it lost executors{', probably killed for their memory' * is_for_memory}"
    # Replayed on fixed numbers of executors, a run under dynamic allocation counts.
    counts = sizes.are_steady or has_dynamic_allocation(log.properties)
    return "" if counts else "executors were added or removed during the run"


def why_not_whole(log: EventLog) -> str:
    """What is missing in the log: a file, what compaction left out, or dropped events; empty if nothing is.

    Spark drops events when its listeners cannot keep up. Then stages have more tasks than the log, or tasks
    ran on unknown executors.
    """
    tasks = log.task_columns
    attempts, place = tasks.by_stage
    ended = dict(zip(attempts, np.bincount(place, minlength=len(attempts)).tolist(), strict=True))
    done = [stage for stage in log.stages if stage.completed_at and not stage.failure]
    every = sum(stage.tasks for stage in done)
    missing = every - sum(min(stage.tasks, ended.get(stage.key, 0)) for stage in done)
    if missing > (1.0 - LEAST_TOLD) * every:
        return f"its log is not whole: {count(missing)} of {counted(every, 'task')} are missing"
    # The reader's words for what is missing.
    is_in_pieces = any(word in each for each in log.warnings for word in ("compacted", "missing", "damaged"))
    is_whole = not is_in_pieces and not (tasks.executor < 0).any()
    return "" if is_whole else "its log is not whole: some of what happened is not in it"


def has_dynamic_allocation(properties: Mapping[str, str]) -> bool:
    """Whether a run with these Spark properties had dynamic allocation."""
    return properties.get("spark.dynamicAllocation.enabled", "").lower() == "true"


def cause_of(removed_because: str, *, is_dynamic: bool = True) -> str:
    """Why an executor was lost, by Spark's words; `LET_GO` if it was no loss."""
    if is_dynamic and _POD_DELETED in removed_because:
        return LET_GO
    told = (cause for cause, words in _CAUSES.items() if re.search(words, removed_because, re.IGNORECASE))
    return next(told, LOST)


def cause_in(log: EventLog, lost: ExecutorRow) -> str:
    """The same for an executor that a run lost."""
    return cause_of(lost.removed_because, is_dynamic=has_dynamic_allocation(log.properties))


def losses_of(log: EventLog) -> tuple[ExecutorLoss, ...]:
    """What a run lost, by cause, the worst first."""
    tasks = log.task_columns

    def loss(cause: str, because: str, again: BoolColumn, executors: Sequence[ExecutorRow] = ()) -> None:
        found[cause] = ExecutorLoss(
            cause=cause,
            executors=tuple(f"{each.executor_id} on {each.worker}" for each in executors),
            because=without_credentials(because),
            failed_tasks=int(again.sum()),
            lost_seconds=round(float(tasks.seconds[again].sum()), 3),
        )

    found: dict[str, ExecutorLoss] = {}
    by_cause: dict[str, list[ExecutorRow]] = {}
    for executor in log.lost:
        by_cause.setdefault(cause_in(log, executor), []).append(executor)
    for cause, executors in by_cause.items():
        on_them = np.isin(tasks.executor, [each.number for each in executors])
        loss(cause, executors[0].removed_because, ~tasks.succeeded & on_them, executors)
    if log.python_crashes:
        found[PYTHON_WORKER_KILLED] = ExecutorLoss(
            cause=PYTHON_WORKER_KILLED, failed_tasks=log.python_crashes
        )
    if unfetched := next((each.failure for each in log.stages if "fetch" in each.failure.lower()), ""):
        # The failed stage runs again, and those that had made its data.
        loss(SHUFFLE_LOST, " ".join(unfetched.split()), tasks.stage_attempt > 0)
    return tuple(found[cause] for cause in _THE_WORST_FIRST if cause in found)
