"""What is replayed of an event log: which tasks each stage has in which order, and what waits for what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from airflow_provider_ernest.spark.log_reading.tables import (
    BoolColumn,
    EventLog,
    IntColumn,
    JobRow,
    StageRow,
    TaskTable,
)
from airflow_provider_ernest.spark.replay.job_order import JobSpan, releases
from airflow_provider_ernest.spark.replay.late_tasks import copies_of, retries_of
from airflow_provider_ernest.spark.replay.launching import Launching
from airflow_provider_ernest.spark.replay.moments import Moments

_TICK_SECONDS = 0.0015
"""Spark's clock ticks in milliseconds."""

_OWN = -2
"""A stage of no known job gets a job of its own: its number counts down from here."""

_Key = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class PlannedStage:
    """One attempt of a stage.

    Attributes:
        row: of the log's stages; made up where the log has tasks of a stage that it does not tell of.
        tasks: places in the log's tasks, in the order in which they were launched.
        holds_up: of each of those, whether the stage ended only with it; failed attempts and those whose work
            another did take their slot, and nothing waits for them.
        lag_seconds: from its submission to its first task, as far as slots were free.
        tail_seconds: from the end of its last task to its own.
        dispatch_seconds: that a slot stands idle between two of its tasks.
        retries: of repeated attempts (as places in `tasks`) the failed one before.
        copies: of speculative copies how long after the stage's begin they were launched, in medians of its
            tasks' seconds.
        submitted: its submission's number among the moments.
        ended: its end's.
    """

    row: StageRow
    tasks: IntColumn
    holds_up: BoolColumn
    lag_seconds: float
    tail_seconds: float
    dispatch_seconds: float
    retries: Mapping[int, int]
    copies: Mapping[int, float]
    submitted: int
    ended: int

    @cached_property
    def has_late_tasks(self) -> bool:
        """Whether some tasks do not begin with the first free slot."""
        return bool(self.retries or self.copies)

    @cached_property
    def all_hold_up(self) -> bool:
        """Whether the stage waited for each of its tasks."""
        return bool(self.holds_up.all())

    @cached_property
    def key(self) -> tuple[int, int]:
        """Spark's number and the attempt."""
        return self.row.stage_id, self.row.attempt


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that a replay needs beside the tasks' seconds.

    Attributes:
        stages: in the order in which they were submitted.
        moments: what waits for what.
        end: the run's end among the moments.
    """

    stages: tuple[PlannedStage, ...]
    moments: Moments
    end: int


def plan_of(log: EventLog) -> Plan:
    """Find out what waited for what."""
    places = _tasks_by_stage(log.tasks)
    stages = _submitted_stages(log, places)
    jobs = _jobs_with_stages(log, stages)
    return _Planner(log, places).plan(jobs)


def _tasks_by_stage(tasks: TaskTable) -> dict[_Key, IntColumn]:
    """The tasks' places by stage and attempt, each in the order in which they were launched."""
    if not len(tasks):
        return {}
    order = np.lexsort((tasks.task_id, tasks.launched_at, tasks.stage_attempt, tasks.stage_id))
    stage, attempt = tasks.stage_id[order], tasks.stage_attempt[order]
    starts = np.flatnonzero((np.diff(stage) != 0) | (np.diff(attempt) != 0)) + 1
    parts = np.split(order, starts)
    return {(int(tasks.stage_id[part[0]]), int(tasks.stage_attempt[part[0]])): part for part in parts}


def _submitted_stages(log: EventLog, places: dict[_Key, IntColumn]) -> list[StageRow]:
    """Those that ran, in the order in which they were submitted; missing times are those of their tasks."""
    rows = {(row.stage_id, row.attempt): row for row in log.stages}
    for key, tasks in places.items():
        row = rows.get(key, StageRow(stage_id=key[0], attempt=key[1], name="", tasks=len(tasks)))
        if row.submitted_at is None:
            row = replace(row, submitted_at=float(log.tasks.launched_at[tasks[0]]))
        if row.completed_at is None:
            row = replace(row, completed_at=float(log.tasks.finished_at[tasks].max()))
        rows[key] = row
    ran = [row for row in rows.values() if row.submitted_at is not None and row.completed_at is not None]
    return sorted(ran, key=lambda row: (row.submitted_at or 0.0, row.stage_id, row.attempt))


@dataclass(frozen=True, kw_only=True)
class _Job:
    """A job and the stages that were run for it first."""

    row: JobRow
    span: JobSpan
    stages: list[StageRow]


def _jobs_with_stages(log: EventLog, stages: list[StageRow]) -> list[_Job]:
    """In the order in which they were submitted; a stage of no known job becomes a job of its own."""
    rows = {row.job_id: row for row in log.jobs}
    asked_first = {stage_id: row.job_id for row in reversed(log.jobs) for stage_id in row.stage_ids}
    stages_of: dict[int, list[StageRow]] = {job_id: [] for job_id in rows}
    for stage in stages:
        job_id = (
            stage.job_id if stage.job_id in rows else asked_first.get(stage.stage_id, _OWN - stage.stage_id)
        )
        if job_id not in rows:
            rows[job_id] = JobRow(
                job_id=job_id,
                submitted_at=stage.submitted_at or log.started_at,
                completed_at=stage.completed_at,
                stage_ids=(stage.stage_id,),
            )
        stages_of.setdefault(job_id, []).append(stage)
    jobs = [
        _Job(row=row, span=_span(row, stages_of[job_id], log), stages=stages_of[job_id])
        for job_id, row in rows.items()
    ]
    return sorted(jobs, key=lambda job: (job.span.submitted_at, job.row.job_id))


def _span(row: JobRow, stages: list[StageRow], log: EventLog) -> JobSpan:
    """When the job ran; where the log does not tell its end, as long as its stages, or to the log's end."""
    ended = max((stage.completed_at or 0.0 for stage in stages), default=log.ended_at)
    completed = row.completed_at or max(ended, row.submitted_at)
    return JobSpan(submitted_at=row.submitted_at, completed_at=completed)


class _Planner:
    """Adds jobs and their stages to the moments."""

    def __init__(self, log: EventLog, places: dict[_Key, IntColumn]) -> None:
        self._tasks = log.tasks
        self._zero = log.ready_at
        self._ended_at = log.ended_at
        self._places = places
        self._launching = Launching(log)
        self._moments = Moments()
        self._attempts: dict[int, list[PlannedStage]] = defaultdict(list)
        self._failed: list[PlannedStage] = []

    def plan(self, jobs: list[_Job]) -> Plan:
        """Add all jobs in the order in which they were submitted, and the run's end."""
        ends: list[int] = []
        for job, waits_for in zip(jobs, releases([job.span for job in jobs]), strict=True):
            submitted = self._add(job.span.submitted_at, (ends[place] for place in waits_for))
            for row in job.stages:
                self._add_stage(row, submitted)
            ends.append(self._add(job.span.completed_at, (submitted, *self._ends_for(job))))
        end = self._add(self._ended_at, ends)
        planned = [stage for attempts in self._attempts.values() for stage in attempts]
        stages = sorted(planned, key=lambda stage: (stage.row.submitted_at or 0.0, stage.key))
        return Plan(stages=tuple(stages), moments=self._moments, end=end)

    def _add(self, at: float, after: Iterable[int]) -> int:
        return self._moments.add(at - self._zero, after)

    def _ends_for(self, job: _Job) -> Iterator[int]:
        """The ends of the stages that the job's result came of.

        Jobs name all stages that their data ever came of, which a loop makes more and more: those that had
        ended before the job was submitted it found done.
        """
        for stage_id in sorted({*job.row.stage_ids, *(row.stage_id for row in job.stages)}):
            for stage in self._attempts.get(stage_id, ()):
                if job.span.submitted_at <= (stage.row.completed_at or 0.0) + _TICK_SECONDS:
                    yield from self._ends_by(job.span.completed_at, [stage])

    def _add_stage(self, row: StageRow, job_submitted: int) -> None:
        key = (row.stage_id, row.attempt)
        submitted_at, completed_at = row.submitted_at or 0.0, row.completed_at or 0.0
        submitted = self._add(submitted_at, (job_submitted, *self._released_by(row)))
        places = self._places.get(key, np.empty(0, dtype=np.int64))
        finished = self._tasks.finished_at[places]
        holds_up = (finished <= completed_at + _TICK_SECONDS) & (
            self._tasks.succeeded[places] | bool(row.failure)
        )
        last = float(finished[holds_up].max()) if holds_up.any() else submitted_at
        first = float(self._tasks.launched_at[places].min()) if len(places) else submitted_at
        planned = PlannedStage(
            row=row,
            tasks=places,
            holds_up=holds_up,
            lag_seconds=self._launching.lag_seconds(submitted_at, first),
            tail_seconds=max(0.0, completed_at - last),
            dispatch_seconds=self._launching.dispatch_seconds(places, first),
            retries=retries_of(self._tasks, places),
            copies=copies_of(self._tasks, places),
            submitted=submitted,
            ended=self._add(completed_at, (submitted,)),
        )
        self._attempts[row.stage_id].append(planned)
        if row.failure:
            self._failed.append(planned)

    def _released_by(self, row: StageRow) -> Iterator[int]:
        """The ends of its parents' attempts before it; a repeated attempt also waits for what failed."""
        for parent in row.parents:
            yield from self._ends_by(row.submitted_at or 0.0, self._attempts[parent])
        if row.attempt:
            yield from self._ends_by(row.submitted_at or 0.0, self._attempts[row.stage_id])
            yield from self._ends_by(row.submitted_at or 0.0, self._failed)

    @staticmethod
    def _ends_by(at: float, stages: Iterable[PlannedStage]) -> Iterator[int]:
        """The ends of those that had ended by then."""
        for stage in stages:
            if (stage.row.completed_at or 0.0) <= at + _TICK_SECONDS:
                yield stage.ended
