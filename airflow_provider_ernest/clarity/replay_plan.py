"""What is replayed of an event log: the tasks of each stage in their order, and what waits for what."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from airflow_provider_ernest.eventlog.tables import (
    BoolColumn,
    EventLog,
    FloatColumn,
    IntColumn,
    JobRow,
    StageKey,
    StageRow,
    TaskColumns,
)

BEGIN = 0  # the start of clean time among the moments
_TICK_SECONDS = 0.0015  # a little more than Spark's clock ticks
_OWN = -2  # a stage of no known job gets a job of its own, numbered down from here


class Moments:
    """Jobs submitted, stages submitted and ended, the run's end: a graph without cycles.

    Each moment comes a fixed time after the last of those that it waits for, which were added before it. That
    gap, in which the driver planned, sent and collected, is the real run's.
    """

    def __init__(self) -> None:
        self.at: list[float] = [0.0]  # in the real run, in seconds from `BEGIN`
        self.after: list[tuple[int, ...]] = [()]
        self.gap_seconds: list[float] = [0.0]  # negative only after `BEGIN` alone
        self.followers: list[list[int]] = [[]]

    def add(self, at: float, after: Iterable[int]) -> int:
        """Add a moment; its number."""
        waits_for = tuple(dict.fromkeys(after)) or (BEGIN,)
        gap = at - max(self.at[each] for each in waits_for)
        for each in waits_for:
            self.followers[each].append(len(self.at))
        self.followers.append([])
        self.at.append(at)
        self.after.append(waits_for)
        # Work may begin before the last executor has come.
        self.gap_seconds.append(gap if waits_for == (BEGIN,) else max(0.0, gap))
        return len(self.at) - 1


@dataclass(frozen=True, kw_only=True)
class PlannedStage:
    """One attempt of a stage."""

    row: StageRow  # made up if the log has only its tasks
    tasks: IntColumn  # indices of the log's tasks, by launch
    holds_up: BoolColumn  # marks the tasks it waited for: failed and redundant attempts only take a slot
    submitted: int  # the number of the moment
    ended: int  # likewise
    lag_seconds: float = 0.0  # from its submission to its first task, while slots were free
    tail_seconds: float = 0.0  # from the end of its last task to its own
    dispatch_seconds: float = 0.0  # mean idle time of a slot between two of its tasks
    writes_shuffle: bool = False  # so that its executors hold data for later stages
    # By index in `tasks`, when each speculative copy was launched after the stage's start, in medians of its
    # tasks' seconds.
    copies: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that a replay needs beside the tasks' seconds: stages by submission, and moments up to `end`."""

    stages: tuple[PlannedStage, ...]
    moments: Moments
    end: int

    @cached_property
    def stage_of_task(self) -> IntColumn:
        """The index of each task's stage in the plan."""
        found = np.zeros(sum(len(stage.tasks) for stage in self.stages), dtype=np.int64)
        for place, stage in enumerate(self.stages):
            found[stage.tasks] = place
        return found


def plan_of(log: EventLog) -> Plan:
    """Find out what waited for what."""
    return _Planner(log).plan()


class _Planner:
    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._tasks = log.task_columns
        self._places = _tasks_by_stage(self._tasks)
        self._launching = _Launching(log)
        self._moments = Moments()
        self._attempts: dict[int, list[PlannedStage]] = defaultdict(list)
        self._failed: list[PlannedStage] = []

    def plan(self) -> Plan:
        """Add all jobs by submission, and the run's end."""
        jobs = [
            (job, stages, job.completed_at or self._last_end(job, stages))
            for job, stages in _jobs_with_stages(self._log, self._submitted_stages())
        ]
        ends: list[int] = []
        waits = releases([(job.submitted_at, completed_at) for job, _, completed_at in jobs])
        for (job, rows, completed_at), waits_for in zip(jobs, waits, strict=True):
            submitted = self._add(job.submitted_at, (ends[place] for place in waits_for))
            for row in rows:
                self._add_stage(row, submitted)
            stage_ids = sorted({*job.stage_ids, *(row.stage_id for row in rows)})
            # A job names all stages that its data ever came from, more and more in a loop: it found those
            # done that had ended before it was submitted.
            needed = [
                stage
                for stage_id in stage_ids
                for stage in self._attempts.get(stage_id, ())
                if job.submitted_at <= (stage.row.completed_at or 0.0) + _TICK_SECONDS
            ]
            ends.append(self._add(completed_at, (submitted, *self._ends_by(completed_at, needed))))
        end = self._add(self._log.ended_at, ends)
        planned = [stage for attempts in self._attempts.values() for stage in attempts]
        stages = sorted(planned, key=lambda stage: (stage.row.submitted_at or 0.0, stage.row.key))
        return Plan(stages=tuple(stages), moments=self._moments, end=end)

    def _submitted_stages(self) -> list[StageRow]:
        """Those that ran, by submission; missing times are those of their tasks."""
        rows = {row.key: row for row in self._log.stages}
        for key, tasks in self._places.items():
            row = rows.get(key, StageRow(stage_id=key[0], attempt=key[1], name="", tasks=len(tasks)))
            if row.submitted_at is None:
                row = replace(row, submitted_at=float(self._tasks.launched_at[tasks[0]]))
            if row.completed_at is None:
                row = replace(row, completed_at=float(self._tasks.finished_at[tasks].max()))
            rows[key] = row
        ran = [row for row in rows.values() if row.submitted_at is not None and row.completed_at is not None]
        return sorted(ran, key=lambda row: (row.submitted_at or 0.0, row.key))

    def _add(self, at: float, after: Iterable[int]) -> int:
        return self._moments.add(at - self._log.ready_at, after)

    def _last_end(self, job: JobRow, stages: list[StageRow]) -> float:
        """The end of a job that the log does not tell: with its last stage, or with the log."""
        last = max((stage.completed_at or 0.0 for stage in stages), default=self._log.ended_at)
        return max(last, job.submitted_at)

    def _add_stage(self, row: StageRow, job_submitted: int) -> None:
        submitted_at, completed_at = row.submitted_at or 0.0, row.completed_at or 0.0
        submitted = self._add(submitted_at, (job_submitted, *self._released_by(row)))
        places = self._places.get(row.key, np.empty(0, dtype=np.int64))
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
            submitted=submitted,
            ended=self._add(completed_at, (submitted,)),
            lag_seconds=self._launching.lag_seconds(submitted_at, first),
            tail_seconds=max(0.0, completed_at - last),
            dispatch_seconds=self._launching.dispatch_seconds(places, first),
            writes_shuffle=bool(self._tasks.shuffle_written_bytes[places].any()),
            copies=_copies(self._tasks, places),
        )
        self._attempts[row.stage_id].append(planned)
        if row.failure:
            self._failed.append(planned)

    def _released_by(self, row: StageRow) -> Iterator[int]:
        """The earlier ends of its parents' attempts; a repeated attempt also waits for what failed."""
        submitted_at = row.submitted_at or 0.0
        for parent in row.parents:
            yield from self._ends_by(submitted_at, self._attempts[parent])
        if row.attempt:
            yield from self._ends_by(submitted_at, self._attempts[row.stage_id])
            yield from self._ends_by(submitted_at, self._failed)

    @staticmethod
    def _ends_by(at: float, stages: Iterable[PlannedStage]) -> Iterator[int]:
        return (stage.ended for stage in stages if (stage.row.completed_at or 0.0) <= at + _TICK_SECONDS)


def releases(jobs: Sequence[tuple[float, float]]) -> list[tuple[int, ...]]:
    """The indices of the jobs that each job waited for; empty if for none.

    The log does not tell what the driver waited for. If no other job ran when one was submitted, the driver
    had waited for all before it, as a program does that calls one action after another. If others ran,
    threads submit jobs side by side (queries in a pool, broadcasts of adaptive execution), and a thread goes
    on when its own job has ended: the one that was completed last before. The jobs are told by when each was
    submitted and completed, by submission.
    """
    found: list[tuple[int, ...]] = []
    group: list[int] = []
    before: tuple[int, ...] = ()
    running: list[tuple[float, int]] = []
    last_ended: int | None = None
    for place, (submitted_at, completed_at) in enumerate(jobs):
        while running and running[0][0] <= submitted_at:
            last_ended = heapq.heappop(running)[1]
        if not running:
            before, group, last_ended = tuple(group), [], None
        found.append(before if last_ended is None else (last_ended,))
        group.append(place)
        heapq.heappush(running, (completed_at, place))
    return found


def _tasks_by_stage(tasks: TaskColumns) -> dict[StageKey, IntColumn]:
    """The tasks' indices by stage and attempt, in the order of their launches."""
    if not len(tasks):
        return {}
    order = np.lexsort((tasks.task_id, tasks.launched_at, tasks.stage_attempt, tasks.stage_id))
    stage, attempt = tasks.stage_id[order], tasks.stage_attempt[order]
    starts = np.flatnonzero((np.diff(stage) != 0) | (np.diff(attempt) != 0)) + 1
    parts = np.split(order, starts)
    return {(int(tasks.stage_id[part[0]]), int(tasks.stage_attempt[part[0]])): part for part in parts}


def _jobs_with_stages(log: EventLog, stages: list[StageRow]) -> list[tuple[JobRow, list[StageRow]]]:
    """Jobs by submission, with the stages that ran for them first; a stage of no known job gets its own."""
    rows = {row.job_id: row for row in log.jobs}
    asked_first = {stage_id: row.job_id for row in reversed(log.jobs) for stage_id in row.stage_ids}
    stages_of: dict[int, list[StageRow]] = {job_id: [] for job_id in rows}
    for stage in stages:
        known = stage.job_id in rows
        job_id = stage.job_id if known else asked_first.get(stage.stage_id, _OWN - stage.stage_id)
        if job_id not in rows:
            rows[job_id] = JobRow(
                job_id=job_id,
                submitted_at=stage.submitted_at or log.started_at,
                completed_at=stage.completed_at,
                stage_ids=(stage.stage_id,),
            )
        stages_of.setdefault(job_id, []).append(stage)
    jobs = sorted(rows.values(), key=lambda job: (job.submitted_at, job.job_id))
    return [(job, stages_of[job.job_id]) for job in jobs]


def _copies(tasks: TaskColumns, places: IntColumn) -> dict[int, float]:
    """When each speculative copy was launched after the first task, in medians of all tasks."""
    copies = np.flatnonzero(tasks.speculative[places])
    if not len(copies):
        return {}
    launched = tasks.launched_at[places]
    median = max(float(np.median(tasks.seconds[places])), 0.001)
    return {int(copy): float(launched[copy] - launched.min()) / median for copy in copies}


def most_at_once(tasks: TaskColumns) -> int:
    """The most tasks that ran side by side; at least 1."""
    if not len(tasks):
        return 1
    times = np.concatenate([tasks.freed_at, tasks.launched_at])
    change = np.repeat([-1, 1], len(tasks))
    # At one moment slots are freed before they are taken.
    order = np.lexsort((change, times))
    return max(1, int(np.cumsum(change[order]).max()))


class _Launching:
    """How quickly the driver gave tasks to free slots."""

    def __init__(self, log: EventLog) -> None:
        self._tasks = log.task_columns
        self._times, is_full = _occupation(log)
        numbers = np.arange(len(is_full))
        self._last_full = np.maximum.accumulate(np.where(is_full, numbers, -1))
        self._next_full = np.minimum.accumulate(np.where(is_full, numbers, len(numbers) - 1)[::-1])[::-1]
        self._idle_seconds, self._idle_since = _idle_before(log)

    def lag_seconds(self, submitted_at: float, first_launch: float) -> float:
        """From a stage's submission to its first task, without the time in which all slots were taken."""
        last_before = int(np.searchsorted(self._times, first_launch, side="left")) - 1
        last_full = int(self._last_full[last_before]) if last_before >= 0 else -1
        if last_full < 0:
            return max(0.0, first_launch - submitted_at)
        free_again = min(float(self._times[last_full + 1]), first_launch)
        if free_again <= submitted_at:
            return max(0.0, first_launch - submitted_at)
        at_submission = max(0, int(np.searchsorted(self._times, submitted_at, side="right")) - 1)
        taken = max(submitted_at, float(self._times[self._next_full[at_submission]]))
        return max(0.0, first_launch - free_again) + taken - submitted_at

    def dispatch_seconds(self, places: IntColumn, first_launch: float) -> float:
        """Mean idle time of a slot between two tasks of the stage."""
        tasks = self._tasks
        counts = (self._idle_since[places] >= first_launch) & (tasks.attempt[places] == 0)
        counts &= ~tasks.speculative[places]
        if not counts.any():
            return 0.0
        return max(0.0, float(self._idle_seconds[places][counts].mean()))


def _occupation(log: EventLog) -> tuple[FloatColumn, BoolColumn]:
    """The moments at which slots were taken, freed, added or lost, and whether none was free then."""
    tasks = log.task_columns
    added = np.array([executor.added_at for executor in log.executors])
    slots = np.array([log.slots_by_executor[executor.number] for executor in log.executors])
    lost = np.array([executor.removed_at or np.inf for executor in log.executors])
    if not len(added):
        added, slots, lost = np.array([-np.inf]), np.array([most_at_once(tasks)]), np.array([np.inf])
    # Before the first executor there is no slot.
    times = np.concatenate([[-np.inf], tasks.freed_at, added, lost, tasks.launched_at])
    change = np.concatenate([[0.0], np.ones(len(tasks)), slots, -slots, -np.ones(len(tasks))])
    order = np.argsort(times, kind="stable")
    # The last is after all tasks.
    return np.append(times[order], np.inf), np.append(np.cumsum(change[order]) <= 0, False)


def _idle_before(log: EventLog) -> tuple[FloatColumn, FloatColumn]:
    """How long each task's slot had been free, and since when; -inf if it had never been taken.

    An executor with c slots gives its k-th task the slot that was freed as the (k - c)-th.
    """
    tasks = log.task_columns
    seconds, since = np.zeros(len(tasks)), np.full(len(tasks), -np.inf)
    freed = tasks.freed_at
    for number, slots in log.slots_by_executor.items():
        places = np.flatnonzero(tasks.executor == number)
        places = places[np.lexsort((tasks.task_id[places], tasks.launched_at[places]))]
        later = places[slots:]
        before = np.sort(freed[places])[: len(later)]
        seconds[later], since[later] = tasks.launched_at[later] - before, before
    return seconds, since
