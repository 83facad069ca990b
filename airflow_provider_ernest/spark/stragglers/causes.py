"""Why a task took longer than its stage's median: what of the excess each cause explains.

A cause explains the time that the task would not have taken were it like its stage's median in that respect
(Ousterhout and others, NSDI 2015, section 2.7). The one that explains most is told, if it explains at least
half.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.blocked_time import blocked_seconds
from airflow_provider_ernest.spark.log_reading.tables import (
    BoolColumn,
    EventLog,
    FloatColumn,
    IntColumn,
    TaskTable,
)
from airflow_provider_ernest.spark.replay.grouped import medians, stage_numbers
from airflow_provider_ernest.spark.replay.plan import Plan
from airflow_provider_ernest.spark.replay.warm_up import warm_up_of
from airflow_provider_ernest.spark.stragglers.slow_hosts import SlowHost, slow_hosts

PRECEDENCE = (
    run_profile.INPUT_SKEW,
    run_profile.SLOW_HOST,
    run_profile.FIRST_TASK,
    run_profile.SLOW_FETCH,
    run_profile.SLOW_DISK,
    run_profile.COLLECTION,
)
"""Of causes that explain about as much the first is told: a slow host makes its fetches slow, too."""

_ABOUT_AS_MUCH = 0.25
_LEAST_SHARE = 0.5
_TELLING_SECONDS = 0.05
"""Stages whose median task is shorter tell more of the scheduler than of the hosts."""

_FEW_BYTES, _FEW_RECORDS = 4096, 10
"""No task takes its time for so little, whatever the others read."""

_WAITING = {
    run_profile.SLOW_FETCH: run_profile.NETWORK,
    run_profile.SLOW_DISK: run_profile.DISK,
    run_profile.COLLECTION: run_profile.GARBAGE_COLLECTION,
}


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What the causes are judged by, of each task of the log; columns of shape (tasks,).

    Attributes:
        stage: a number for each attempt of a stage.
        seconds: that the task took.
        median_seconds: of its stage's tasks that succeeded.
        read_bytes: of input and shuffle data.
        median_read_bytes: of its stage.
        read_ratio: of bytes or records, whichever are more, to the stage's median; infinite where that is 0.
        first_seconds: that it took longer as the first of its stage on its slot; 0 for others.
        waiting: by `run_profile.BLOCKING`.
        median_waiting: of its stage.
        spilled_bytes: put on disk for want of memory.
        median_spilled_bytes: of its stage.
        host: a number for each host.
        slow_hosts: by that number.
    """

    stage: IntColumn
    seconds: FloatColumn
    median_seconds: FloatColumn
    read_bytes: FloatColumn
    median_read_bytes: FloatColumn
    read_ratio: FloatColumn
    first_seconds: FloatColumn
    waiting: dict[str, FloatColumn]
    median_waiting: dict[str, FloatColumn]
    spilled_bytes: FloatColumn
    median_spilled_bytes: FloatColumn
    host: IntColumn
    slow_hosts: dict[int, SlowHost]


def measured(log: EventLog, plan: Plan) -> Measured:
    """What the log tells of all its tasks."""
    tasks = log.tasks
    stage = stage_numbers(tasks)
    of_stage = _MediansOfStages(stage, tasks.succeeded)
    median_seconds = of_stage(tasks.seconds)
    read_bytes = tasks.input_bytes + tasks.shuffle_remote_bytes + tasks.shuffle_local_bytes
    read_records = tasks.input_records + tasks.shuffle_read_records
    read_ratio = np.maximum(
        _ratio(read_bytes, of_stage(read_bytes), few=_FEW_BYTES),
        _ratio(read_records, of_stage(read_records), few=_FEW_RECORDS),
    )
    waiting = blocked_seconds(tasks)
    first_seconds = _first_seconds(log, plan, of_stage(tasks.deserialise_seconds))
    host, slow = _hosts(log, median_seconds, read_ratio, first_seconds)
    return Measured(
        stage=stage,
        seconds=tasks.seconds,
        median_seconds=median_seconds,
        read_bytes=read_bytes.astype(np.float64),
        median_read_bytes=of_stage(read_bytes),
        read_ratio=read_ratio,
        first_seconds=first_seconds,
        waiting=waiting,
        median_waiting={name: of_stage(seconds) for name, seconds in waiting.items()},
        spilled_bytes=tasks.disk_spilled_bytes.astype(np.float64),
        median_spilled_bytes=of_stage(tasks.disk_spilled_bytes),
        host=host,
        slow_hosts=slow,
    )


def causes(facts: Measured, rows: IntColumn) -> list[str]:
    """The cause of each of some tasks that took longer than their stage's median."""
    if not len(rows):
        return []
    shares = np.stack([_explained(facts, rows, cause) for cause in PRECEDENCE])
    shares = np.clip(shares / np.maximum(1e-9, facts.seconds[rows] - facts.median_seconds[rows]), 0.0, 1.0)
    most = shares.max(axis=0)
    first = np.argmax(shares >= most - _ABOUT_AS_MUCH, axis=0)
    spilled = (facts.spilled_bytes[rows] > 0) & (facts.median_spilled_bytes[rows] == 0)
    found = [PRECEDENCE[place] for place in first.tolist()]
    for place in np.flatnonzero(most < _LEAST_SHARE).tolist():
        # How long it took to spill is not told; that it did is all there is to go by.
        found[place] = run_profile.SLOW_DISK if spilled[place] else run_profile.UNEXPLAINED
    return found


class _MediansOfStages:
    """For each task the median of its stage's tasks that succeeded; of all where none did."""

    def __init__(self, stage: IntColumn, succeeded: BoolColumn) -> None:
        self._stage = stage
        self._count = int(stage.max(initial=-1)) + 1
        some = np.bincount(stage, weights=succeeded, minlength=self._count) > 0
        self._rows = np.flatnonzero(succeeded | ~some[stage])

    def __call__(self, values: FloatColumn | IntColumn) -> FloatColumn:
        return medians(values[self._rows], self._stage[self._rows], self._count)[self._stage]


def _ratio(values: IntColumn, median: FloatColumn, *, few: int) -> FloatColumn:
    """Infinite where the median is 0 and the value is not; 1 where both are no more than a few."""
    some = np.where(values > few, np.inf, 1.0)
    ratio = np.where(median > 0, values / np.maximum(median, 1e-9), some)
    return np.where(values > few, ratio, np.minimum(ratio, 1.0))


def _first_seconds(log: EventLog, plan: Plan, median_deserialise: FloatColumn) -> FloatColumn:
    """What first tasks took longer: as those of their stage do, or to deserialise, whichever is more."""
    tasks: TaskTable = log.tasks
    warm_up = warm_up_of(log, plan)
    excess = np.zeros(len(tasks))
    for stage, seconds in zip(plan.stages, warm_up.excess_seconds, strict=True):
        excess[stage.tasks] = seconds
    own = tasks.deserialise_seconds - median_deserialise
    return np.where(warm_up.is_first, np.maximum(0.0, np.maximum(excess, own)), 0.0)


def _hosts(
    log: EventLog, median_seconds: FloatColumn, read_ratio: FloatColumn, first_seconds: FloatColumn
) -> tuple[IntColumn, dict[int, SlowHost]]:
    """The number of each task's host, and which hosts are slow for the same work."""
    tasks = log.tasks
    host_of = {executor.number: executor.host for executor in log.executors}
    names = np.array([host_of.get(number, "") for number in tasks.executor.tolist()])
    known, host = np.unique(names, return_inverse=True)
    more_work = np.where(np.isfinite(read_ratio), np.maximum(1.0, read_ratio), 1.0)
    ratios = (tasks.seconds - first_seconds) / more_work / np.maximum(median_seconds, 1e-9)
    counts = tasks.succeeded & (median_seconds >= _TELLING_SECONDS) & np.isfinite(read_ratio)
    return host, slow_hosts(ratios[counts], host[counts], count=len(known))


def _explained(facts: Measured, rows: IntColumn, cause: str) -> FloatColumn:
    """How many seconds of each task a cause explains."""
    if cause == run_profile.INPUT_SKEW:
        more = np.minimum(facts.read_ratio[rows], 1e9) - 1.0
        return np.asarray(np.maximum(facts.median_seconds[rows], 1e-3) * more)
    if cause == run_profile.SLOW_HOST:
        ratios = {number: host.ratio for number, host in facts.slow_hosts.items()}
        ratio = np.array([ratios.get(number, 1.0) for number in facts.host[rows].tolist()])
        return np.asarray(facts.seconds[rows] * (1.0 - 1.0 / ratio))
    if cause == run_profile.FIRST_TASK:
        return facts.first_seconds[rows]
    waiting = _WAITING[cause]
    return np.asarray(facts.waiting[waiting][rows] - facts.median_waiting[waiting][rows])
