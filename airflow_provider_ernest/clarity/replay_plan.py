"""What is replayed of an event log: which tasks each stage has in which order, and what waits for what."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.eventlog.tables import EventLog, JobRow, StageRow
from airflow_provider_ernest.eventlog.tasks import BoolColumn, FloatColumn, IntColumn, TaskColumns

# ---------------------------------------------------------------------------
# Which jobs a job waited for, from when they were submitted and completed.
#
# The log does not tell what the driver waited for. Where no other job ran when one was submitted, the driver
# had waited for all before it: so does a program that calls one action after another. Where others ran,
# threads submit jobs side by side (queries in a pool, broadcasts of adaptive execution), and a thread goes on
# when its own job has ended: that is the one that was completed last before.


@dataclass(frozen=True, kw_only=True)
class JobSpan:
    """A job by its place in the order of submission, and when it ran."""

    submitted_at: float
    completed_at: float


def releases(jobs: Sequence[JobSpan]) -> list[tuple[int, ...]]:
    """For each job the places of those that it waited for; empty for what only waited for the beginning.

    Args:
        jobs: in the order in which they were submitted.
    """
    found: list[tuple[int, ...]] = []
    group: list[int] = []
    before: tuple[int, ...] = ()
    running: list[tuple[float, int]] = []
    last_ended: int | None = None
    for place, job in enumerate(jobs):
        while running and running[0][0] <= job.submitted_at:
            last_ended = heapq.heappop(running)[1]
        if not running:
            before, group, last_ended = tuple(group), [], None
        found.append(before if last_ended is None else (last_ended,))
        group.append(place)
        heapq.heappush(running, (job.completed_at, place))
    return found


# ---------------------------------------------------------------------------
# Tasks that do not begin with the first free slot: repeated attempts and speculative copies.
#
# The tables do not tell which attempts are of the same partition. The first repeated attempt is taken to be
# that of the first one that failed, and so on.


def retries_of(tasks: TaskColumns, places: IntColumn) -> dict[int, int]:
    """For each repeated attempt the failed one before it.

    Args:
        tasks: of the log.
        places: of a stage's tasks in the order in which they were launched.

    Returns:
        Indices of `places` by indices of `places`; the failed one always has the lower.
    """
    attempts = tasks.attempt[places]
    if not attempts.any():
        return {}
    by_finish = np.lexsort((places, tasks.finished_at[places]))
    failed = by_finish[~tasks.succeeded[places][by_finish]]
    repeated = np.flatnonzero(~tasks.speculative[places])
    found: dict[int, int] = {}
    for attempt in np.unique(attempts[attempts > 0]).tolist():
        again = repeated[attempts[repeated] == attempt].tolist()
        before = failed[attempts[failed] == attempt - 1].tolist()
        found |= {place: other for place, other in zip(again, before, strict=False) if other < place}
    return found


def copies_of(tasks: TaskColumns, places: IntColumn) -> dict[int, float]:
    """For each speculative copy how long after the stage's first task it was launched.

    Returns:
        Medians of the stage's tasks' seconds, by indices of `places`.
    """
    copies = np.flatnonzero(tasks.speculative[places])
    if not len(copies):
        return {}
    launched = tasks.launched_at[places]
    median = max(float(np.median(tasks.seconds[places])), 0.001)
    return {int(copy): float(launched[copy] - launched.min()) / median for copy in copies}


# ---------------------------------------------------------------------------
# How quickly the driver gave tasks to free slots, beside what the tasks themselves took.


def freed_at(tasks: TaskColumns) -> FloatColumn:
    """When each task's slot was free again: the driver fetches a large result after that."""
    return np.asarray(np.maximum(tasks.launched_at, tasks.finished_at - tasks.getting_result_seconds))


def slot_share(tasks: TaskColumns) -> FloatColumn:
    """The share of each task's seconds that it took its slot for."""
    held = freed_at(tasks) - tasks.launched_at
    return np.asarray((held / np.maximum(tasks.seconds, 1e-9)).clip(0.0, 1.0))


def slots_by_executor(log: EventLog) -> dict[int, int]:
    """How many tasks each executor ran at once at most, by its number."""
    return {executor.number: max(1, executor.cores // log.task_cores) for executor in log.executors}


def most_at_once(tasks: TaskColumns) -> int:
    """The most tasks that ran side by side; at least 1."""
    if not len(tasks):
        return 1
    times = np.concatenate([freed_at(tasks), tasks.launched_at])
    change = np.repeat([-1, 1], len(tasks))
    # At one moment slots become free before they are taken.
    order = np.lexsort((change, times))
    return max(1, int(np.cumsum(change[order]).max()))


class Launching:
    """Of one log: from a stage's submission to its first task, and from a slot's task to its next."""

    def __init__(self, log: EventLog) -> None:
        self._tasks = log.task_columns
        self._slots_by_executor = slots_by_executor(log)
        self._times, is_full = self._occupation(log)
        numbers = np.arange(len(is_full))
        self._last_full = np.maximum.accumulate(np.where(is_full, numbers, -1))
        self._next_full = np.minimum.accumulate(np.where(is_full, numbers, len(numbers) - 1)[::-1])[::-1]
        self._gap_seconds, self._freed_before = self._gaps()

    def lag_seconds(self, submitted_at: float, first_launch: float) -> float:
        """What of the time between passed before all slots were taken, and after one was free again."""
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
        """How long a slot of the stage stood idle on average before its next task of it.

        Args:
            places: of the stage's tasks.
            first_launch: of them.
        """
        tasks = self._tasks
        counts = (self._freed_before[places] >= first_launch) & (tasks.attempt[places] == 0)
        counts &= ~tasks.speculative[places]
        if not counts.any():
            return 0.0
        return max(0.0, float(self._gap_seconds[places][counts].mean()))

    def _occupation(self, log: EventLog) -> tuple[FloatColumn, BoolColumn]:
        """When slots were taken, freed, added or lost, and whether none was free then."""
        tasks = log.task_columns
        added = np.array([executor.added_at for executor in log.executors])
        slots = np.array([self._slots_by_executor[executor.number] for executor in log.executors])
        lost = np.array([executor.removed_at or np.inf for executor in log.executors])
        if not len(added):
            added, slots, lost = np.array([-np.inf]), np.array([most_at_once(tasks)]), np.array([np.inf])
        times = np.concatenate([freed_at(tasks), added, lost, tasks.launched_at])
        change = np.concatenate([np.ones(len(tasks)), slots, -slots, -np.ones(len(tasks))])
        order = np.argsort(times, kind="stable")
        # The last is after all tasks.
        return np.append(times[order], np.inf), np.append(np.cumsum(change[order]) <= 0, False)

    def _gaps(self) -> tuple[FloatColumn, FloatColumn]:
        """For each task how long its slot had been free, and since when; -inf where it had never been taken.

        An executor of c slots gives its k-th task the slot that was freed as the (k - c)-th.
        """
        tasks = self._tasks
        gap, since = np.zeros(len(tasks)), np.full(len(tasks), -np.inf)
        freed = freed_at(tasks)
        for number, slots in self._slots_by_executor.items():
            places = np.flatnonzero(tasks.executor == number)
            places = places[np.lexsort((tasks.task_id[places], tasks.launched_at[places]))]
            later = places[slots:]
            before = np.sort(freed[places])[: len(later)]
            gap[later], since[later] = tasks.launched_at[later] - before, before
        return gap, since


# ---------------------------------------------------------------------------
# The moments of a run that wait for one another: jobs submitted, stages submitted and ended, the run's end.
#
# Each comes a fixed time after the last of those that it waits for; what passed between them in the real run,
# while the driver planned, sent and collected, is kept.


BEGIN = 0
"""When the clean time begins; all other moments count from it."""


class Moments:
    """A graph without cycles: a moment waits only for such as were added before it.

    Attributes:
        at: when each was in the real run, in seconds from `BEGIN`.
        after: what each waits for.
        gap_seconds: how long after the last of those it was; negative only after `BEGIN` alone.
        followers: what waits for each.
    """

    def __init__(self) -> None:
        self.at: list[float] = [0.0]
        self.after: list[tuple[int, ...]] = [()]
        self.gap_seconds: list[float] = [0.0]
        self.followers: list[list[int]] = [[]]

    def add(self, at: float, after: Iterable[int]) -> int:
        """A moment; gives its number."""
        waits_for = tuple(dict.fromkeys(after)) or (BEGIN,)
        gap = at - max(self.at[each] for each in waits_for)
        for each in waits_for:
            self.followers[each].append(len(self.at))
        self.followers.append([])
        self.at.append(at)
        self.after.append(waits_for)
        # Work may begin before the last machine has come.
        self.gap_seconds.append(gap if waits_for == (BEGIN,) else max(0.0, gap))
        return len(self.at) - 1


class Unfolding:
    """The moments of one replay, as they come one after another."""

    def __init__(self, moments: Moments, held: Iterable[int] = ()) -> None:
        """`held`: moments that come only when they are told to, whatever they wait for."""
        self.at: list[float] = list(moments.at)
        self._gaps = moments.gap_seconds
        self._held = set(held)
        self._missing = [len(waits_for) for waits_for in moments.after]
        self._last = [-math.inf] * len(moments.at)
        self._followers = moments.followers

    def reach(self, moment: int, at: float) -> list[int]:
        """One has come; gives it and all others that follow of it alone, whose times are then in `at`."""
        self.at[moment] = at
        come = [moment]
        for each in come:
            for follower in self._followers[each]:
                self._missing[follower] -= 1
                self._last[follower] = max(self._last[follower], self.at[each])
                if not self._missing[follower] and follower not in self._held:
                    self.at[follower] = self._last[follower] + self._gaps[follower]
                    come.append(follower)
        return come


# ---------------------------------------------------------------------------


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
    places = _tasks_by_stage(log.task_columns)
    stages = _submitted_stages(log, places)
    jobs = _jobs_with_stages(log, stages)
    return _Planner(log, places).plan(jobs)


def _tasks_by_stage(tasks: TaskColumns) -> dict[_Key, IntColumn]:
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
            row = replace(row, submitted_at=float(log.task_columns.launched_at[tasks[0]]))
        if row.completed_at is None:
            row = replace(row, completed_at=float(log.task_columns.finished_at[tasks].max()))
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
        self._tasks = log.task_columns
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


# ---------------------------------------------------------------------------
# Medians of many small groups at once.


def stage_numbers(tasks: TaskColumns) -> IntColumn:
    """For each task a number that is the same for all of its stage's attempt, counted from 0."""
    keys = np.stack([tasks.stage_id, tasks.stage_attempt])
    return np.asarray(np.unique(keys, axis=1, return_inverse=True)[1]).reshape(-1)


def medians(values: NDArray[np.float64] | IntColumn, groups: IntColumn, count: int) -> FloatColumn:
    """The median of each group.

    Args:
        values: of shape (n,).
        groups: the group of each, from 0 to count - 1.
        count: of groups.

    Returns:
        Shape (count,); NaN for a group without values.
    """
    order = np.lexsort((values, groups))
    sorted_values = np.asarray(values, dtype=np.float64)[order]
    begins = np.searchsorted(groups[order], np.arange(count), side="left")
    sizes = np.bincount(groups, minlength=count)
    low, high = begins + np.maximum(0, sizes - 1) // 2, begins + sizes // 2
    found = np.full(count, np.nan)
    some = sizes > 0
    found[some] = (sorted_values[low[some]] + sorted_values[high[some]]) / 2.0
    return found
