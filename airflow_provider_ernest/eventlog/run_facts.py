"""The facts of a run that a model needs, from the tables of its event log.

Clean time counts: from when the last of the run's machines had registered to the application's end. The start
of the driver and waiting for machines that another run still held say nothing about the job.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airflow_provider_ernest.documents.runs import RunMetrics
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.eventlog.tables import BoolColumn, EventLog, IntColumn, TaskColumns
from airflow_provider_ernest.exceptions import EventLogError, SampleRunError

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
    """Refuse a run that lost a machine before its end: its time belongs to no known number of machines.

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


def registered_at(log: EventLog, machines: int) -> float:
    """When the last of the first `machines` machines had registered, in seconds since the epoch.

    Raises:
        SampleRunError: fewer ever did, or the job was run inside the driver.
    """
    if log.master.startswith("local"):
        raise SampleRunError(
            f"Application {log.application_id} ran inside its driver (master {log.master!r}), not on "
            "the cluster.",
            remedy="Remove .master(...) from the application: it overrides what spark-submit is told.",
        )
    if len(log.machines) < machines:
        workers = ", ".join(executor.worker for executor in log.machines)
        raise SampleRunError(
            f"Application {log.application_id} was designed for {machines} machines, and {len(log.machines)} "
            f"registered ({workers or 'none'}).",
            remedy="Check whether the cluster has lost machines, or whether the application itself sets "
            "spark.cores.max or spark.executor.cores.",
        )
    return log.machines[machines - 1].added_at


def run_seconds(log: EventLog, machines: int) -> float:
    """Clean run time, from when all machines were there to the application's end.

    Raises:
        SampleRunError: the log has no end, or fewer machines registered.
    """
    if not log.is_complete:
        raise SampleRunError(f"The event log of application {log.application_id} has no end.")
    return log.ended_at - registered_at(log, machines)


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
    if not log.is_complete or not len(tasks) or not log.machines:
        return None
    since = log.machines[-1].added_at
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
        "cache_filling_seconds": _warm_seconds(made, slots=log.slots // max(1, len(log.machines))),
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
    for tasks_at_once, stage in sorted((count, stage) for stage, count in together.items()):
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
