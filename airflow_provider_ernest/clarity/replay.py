"""A run replayed from its event log: as it was, with other seconds of its tasks, or on other executors.

Each stage's tasks start in the order of the real run, each on the first free slot, as in Spark's own
scheduler, Ousterhout's simulation (NSDI 2015, section 2.4) and Sparklens. Of several stages that of the
earliest job comes first (FIFO).

What is replayed is a `Plan`: from a log by `replay_plan`, from a stored profile by `replay_scaled`.
"""

from __future__ import annotations

import heapq
import itertools
import math
import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from airflow_provider_ernest.clarity.dynamic_allocation import ExecutorAllocation
from airflow_provider_ernest.clarity.replay_plan import BEGIN, Plan, PlannedStage, most_at_once, plan_of
from airflow_provider_ernest.documents.runs import ReplayedSize
from airflow_provider_ernest.eventlog.tables import (
    BoolColumn,
    EventLog,
    FloatColumn,
    IntColumn,
    TaskColumns,
)
from airflow_provider_ernest.exceptions import EventLogError

Slot = tuple[float, float]  # from when until when a slot is there, in seconds of clean time

ALWAYS: Slot = (0.0, math.inf)  # clean time begins when all executors are there


@dataclass(frozen=True, kw_only=True, eq=False)
class Replayed:
    """A run as it would have been, in seconds of clean time."""

    plan: Plan
    began: FloatColumn  # each task's launch, (tasks,)
    finished: FloatColumn  # each task's end, (tasks,)
    moments: Sequence[float]  # the time of each moment of the plan
    allocation: ExecutorAllocation | None = None  # its executors, where they came and went by Spark's rules

    @property
    def seconds(self) -> float:
        """From when all executors are there to the application's end."""
        return self.moments[self.plan.end]


def replay(
    log: EventLog,
    *,
    executors: int | None = None,
    task_seconds: FloatColumn | None = None,
    plan: Plan | None = None,
    warm_up: WarmUp | None = None,
) -> Replayed:
    """Replay a run, with its own executors, when it had them, and its own seconds by default.

    Another number of executors is there all the time, each with the median number of slots of the run's;
    there are as many first tasks as slots then, and data comes from as many other executors. The plan and
    the warm-up are those of the log, if they are at hand; `task_seconds` have shape (tasks,).

    Raises:
        EventLogError: no task ended, so that there is nothing to replay.
    """
    tasks = log.task_columns
    if not len(tasks):
        raise EventLogError(
            f"The event log of {log.application_id} tells of no task that ended.",
            remedy="Wait until the application has run some, or give the log of another run.",
        )
    plan = plan or plan_of(log)
    seconds = tasks.seconds if task_seconds is None else np.asarray(task_seconds, dtype=np.float64)
    if executors is None or (executors == log.most_executors and is_of_one_size(log)):
        # The run's own first tasks are first again: their warm-up is in their seconds.
        excess, slots = None, _slots_of(log)
    else:
        seconds, excess = on_other_executors(
            log, plan, seconds, executors=executors, warm_up=warm_up or warm_up_of(log, plan)
        )
        each = max(1, int(np.median(list(log.slots_by_executor.values()) or [most_at_once(tasks)])))
        slots = [ALWAYS] * min(executors * each, len(tasks))
    # A task's slot is free while the driver fetches its result.
    share = ((tasks.freed_at - tasks.launched_at) / np.maximum(tasks.seconds, 1e-9)).clip(0.0, 1.0)
    return Simulation(plan, seconds, slots, slot_seconds=seconds * share, warm_up_seconds=excess).run()


def replay_sizes(
    log: EventLog, executor_counts: Iterable[int], *, as_it_was: Replayed | None = None
) -> tuple[ReplayedSize, ...]:
    """Replay the run on each number of executors (as Sparklens does), ascending, each once.

    Raises:
        EventLogError: no task ended, so that there is nothing to replay.
    """
    as_it_was = as_it_was or replay(log)
    plan = as_it_was.plan
    warm_up = warm_up_of(log, plan)
    return tuple(
        ReplayedSize(
            executors=executors,
            seconds=as_it_was.seconds
            if executors == log.most_executors and is_of_one_size(log)
            else replay(log, executors=executors, plan=plan, warm_up=warm_up).seconds,
        )
        for executors in sorted(set(executor_counts))
    )


def is_of_one_size(log: EventLog) -> bool:
    """Whether all executors were there from the first task to the last one."""
    tasks = log.task_columns
    first, last = tasks.launched_at.min(initial=math.inf), tasks.finished_at.max(initial=-math.inf)
    return all(each.added_at <= first and (each.removed_at or math.inf) >= last for each in log.executors)


def _slots_of(log: EventLog) -> list[Slot]:
    """The slots of the run's executors: first one of each executor, then the second of each, and so on.

    An executor that went after the last launch went with the application, which may end later in a replay.
    """
    last_launch = float(log.task_columns.launched_at.max())
    numbered = []
    for executor in log.executors:
        ends = executor.removed_at if executor.removed_at and executor.removed_at < last_launch else np.inf
        # More slots than tasks change nothing, and a log may claim any number of cores.
        useful = min(log.slots_by_executor[executor.number], len(log.task_columns))
        slot = (executor.added_at - log.ready_at, ends - log.ready_at)
        numbered += [(number, executor.number, slot) for number in range(useful)]
    slots = [slot for _, _, slot in sorted(numbered, key=lambda entry: entry[:2])]
    return slots or [ALWAYS] * most_at_once(log.task_columns)


class _Stage:
    def __init__(
        self, planned: PlannedStage, seconds: list[float], slot_seconds: list[float], warm_up: float
    ) -> None:
        self.planned = planned
        self.priority = (planned.row.job_id, *planned.row.key)
        self.seconds = seconds
        self.slot_seconds = slot_seconds
        self.warm_up = warm_up
        self.begins = 0.0
        self.next = 0
        self.began: list[float] = []
        self.warm_slots: set[int] = set()
        self.median = float(np.median(seconds)) if planned.copies else 0.0

    def earliest(self, place: int) -> float:
        """When a task may begin: a copy when the first is late."""
        if place in self.planned.copies:
            return self.begins + self.planned.copies[place] * self.median
        return -math.inf

    def ended_at(self) -> float:
        """When the last task ended that the stage waits for."""
        ends: Iterable[float] = map(operator.add, self.began, self.seconds)
        if not self.planned.holds_up.all():
            ends = itertools.compress(ends, self.planned.holds_up.tolist())
        return max(self.begins, max(ends, default=-math.inf)) + self.planned.tail_seconds


class Simulation:
    """Replays a plan on slots, at least one: if all are lost before the work is done, the last stays.

    Each task takes its `seconds` and holds its slot for `slot_seconds` (all by default), both (tasks,); the
    first task of a stage on a slot takes longer by the stage's `warm_up_seconds`, (stages,). Under dynamic
    allocation there are no `slots` but those of its executors, which come and go, `slots_per_executor` each.
    """

    def __init__(
        self,
        plan: Plan,
        seconds: FloatColumn,
        slots: Sequence[Slot] = (),
        *,
        allocation: ExecutorAllocation | None = None,
        slots_per_executor: int = 1,
        slot_seconds: FloatColumn | None = None,
        warm_up_seconds: Sequence[float] | None = None,
    ) -> None:
        slot_seconds = seconds if slot_seconds is None else slot_seconds
        self._plan = plan
        self._tasks = len(seconds)
        self._places = np.concatenate([np.empty(0, np.int64), *(stage.tasks for stage in plan.stages)])
        # Split as lists: with thousands of small stages most of the time would go into small arrays.
        took, held = seconds[self._places].tolist(), slot_seconds[self._places].tolist()
        ends = list(itertools.accumulate(len(stage.tasks) for stage in plan.stages))
        self._stages = [
            _Stage(stage, took[end - len(stage.tasks) : end], held[end - len(stage.tasks) : end], warm_up)
            for stage, end, warm_up in zip(
                plan.stages, ends, warm_up_seconds or [0.0] * len(ends), strict=True
            )
        ]
        self._lost_at = [ends for _, ends in slots]
        self._free = [(begins, number) for number, (begins, _) in enumerate(slots)]
        heapq.heapify(self._free)
        self._allocation, self._slots_per_executor = allocation, slots_per_executor
        self._executor_of: list[int] = []  # of each slot, under dynamic allocation
        if allocation is not None:
            self._add_slots(range(len(allocation.executors)), 0.0)
        self._job_ends: dict[int, float] = {}
        self._open_stages = Counter(stage.row.job_id for stage in plan.stages if len(stage.tasks))
        self._now = -math.inf
        self._waiting: list[tuple[float, int]] = []
        self._ready: list[tuple[tuple[int, int, int], int]] = []
        moments = plan.moments
        self._at = list(moments.at)
        self._missing = [len(waits_for) for waits_for in moments.after]
        self._last = [-math.inf] * len(moments.at)
        with_tasks = [place for place, stage in enumerate(self._stages) if stage.seconds]
        self._stage_of_moment = {plan.stages[place].submitted: place for place in with_tasks}
        # They come with the end of the stage's tasks, whatever else they wait for.
        self._ends_of_stages = {plan.stages[place].ended for place in with_tasks}

    def run(self) -> Replayed:
        """Launch all tasks."""
        self._reach(BEGIN, 0.0)
        while self._waiting or self._ready:
            self._drop_lost_slots()
            launch_at = max(self._now, self._free[0][0]) if self._ready and self._free else math.inf
            begins, due = self._next_stage_at, self._due
            if begins <= min(launch_at, due):
                self._let_wait(*heapq.heappop(self._waiting))
            elif self._allocation is not None and due <= launch_at:
                self._ask_for_executors(self._allocation)
            else:
                self._now = launch_at
                self._launch()
        if self._allocation is not None:
            self._give_back(self._allocation, self._at[self._plan.end])
        began, finished = np.zeros(self._tasks), np.zeros(self._tasks)
        began[self._places] = [at for stage in self._stages for at in stage.began]
        finished[self._places] = [each for stage in self._stages for each in stage.seconds]
        finished += began
        return Replayed(
            plan=self._plan, began=began, finished=finished, moments=self._at, allocation=self._allocation
        )

    @property
    def _next_stage_at(self) -> float:
        return self._waiting[0][0] if self._waiting else math.inf

    @property
    def _due(self) -> float:
        """When executors may be asked for."""
        return self._allocation.due if self._allocation is not None else math.inf

    def _drop_lost_slots(self) -> None:
        while len(self._free) > 1:
            free_at, slot = self._free[0]
            if self._lost_at[slot] > max(self._now, free_at):
                break
            heapq.heappop(self._free)

    def _let_wait(self, begins: float, place: int) -> None:
        """A stage begins to wait for slots."""
        self._now = max(self._now, begins)
        if self._allocation is not None:
            if not self._ready:
                self._give_back(self._allocation, begins)
            self._allocation.tasks_wait(begins, needed=self._needed(self._allocation, begins))
        heapq.heappush(self._ready, (self._stages[place].priority, place))

    # Executors that come and go, see `dynamic_allocation`. None is idle while tasks wait: those to give back
    # are looked for when tasks wait again, and at the end.

    def _add_slots(self, executors: Sequence[int], at: float) -> None:
        # Spark spreads tasks: the first slot of each comes before the second of any.
        for number in [number for _ in range(self._slots_per_executor) for number in executors]:
            heapq.heappush(self._free, (at, len(self._lost_at)))
            self._lost_at.append(math.inf)
            self._executor_of.append(number)

    def _needed(self, allocation: ExecutorAllocation, at: float) -> int:
        """Executors that would run all tasks at once that wait and run."""
        of_slot = self._executor_of
        stages = (self._stages[place] for _, place in self._ready)
        waiting = sum(len(stage.seconds) - stage.next for stage in stages)
        came_at = [each.came_at for each in allocation.executors]
        running = sum(until > at >= came_at[of_slot[slot]] for until, slot in self._free)
        return allocation.needed(waiting + running, self._slots_per_executor)

    def _ask_for_executors(self, allocation: ExecutorAllocation) -> None:
        if coming := allocation.ask(needed=self._needed(allocation, allocation.due)):
            self._add_slots(coming, allocation.executors[coming[0]].came_at)

    def _give_back(self, allocation: ExecutorAllocation, until: float) -> None:
        if not self._free or self._free[0][0] + allocation.rules.idle_seconds > until:
            return
        busy_until: dict[int, float] = {}
        for end, slot in self._free:
            number = self._executor_of[slot]
            busy_until[number] = max(end, busy_until.get(number, end))
        ended = {job: at for job, at in self._job_ends.items() if not self._open_stages[job]}
        left = allocation.give_back(until, busy_until=busy_until, ended_jobs=ended)
        self._free = [each for each in self._free if self._executor_of[each[1]] not in left]
        heapq.heapify(self._free)

    def _all_launched(self, allocation: ExecutorAllocation, stage: _Stage, ended_at: float) -> None:
        """Note what executors hold of the stage, and whether another one's tasks still wait."""
        row = stage.planned.row
        used = {self._executor_of[slot] for slot in stage.warm_slots}
        job = row.job_id if stage.planned.writes_shuffle else None
        allocation.holds(used, job=job, is_cached=row.fills_cache)
        self._job_ends[row.job_id] = max(ended_at, self._job_ends.get(row.job_id, -math.inf))
        self._open_stages[row.job_id] -= 1
        if not self._ready and self._next_stage_at > self._now:
            allocation.none_waits()

    def _reach(self, moment: int, at: float) -> None:
        """A moment has come, and with it those that wait for nothing else; stages then wait for slots."""
        moments = self._plan.moments
        self._at[moment] = at
        come = [moment]
        for each in come:
            place = self._stage_of_moment.get(each)
            if place is not None:
                stage = self._stages[place]
                stage.begins = self._at[each] + stage.planned.lag_seconds
                heapq.heappush(self._waiting, (stage.begins, place))
            for follower in moments.followers[each]:
                self._missing[follower] -= 1
                self._last[follower] = max(self._last[follower], self._at[each])
                if not self._missing[follower] and follower not in self._ends_of_stages:
                    self._at[follower] = self._last[follower] + moments.gap_seconds[follower]
                    come.append(follower)

    def _launch(self) -> None:
        """Start tasks of the first ready stage, until it has no more or something else has its turn."""
        stage = self._stages[self._ready[0][1]]
        planned = stage.planned
        until = min(self._next_stage_at, self._due)
        has_copies = bool(planned.copies)
        # Local names: nearly all the time of an analysis is spent in this loop.
        free, now, lost_at = self._free, self._now, self._lost_at
        seconds, held, warm_slots = stage.seconds, stage.slot_seconds, stage.warm_slots
        dispatch_seconds, add_began, replace_first = (
            planned.dispatch_seconds,
            stage.began.append,
            heapq.heapreplace,
        )
        slot, launched_at = free[0][1], now
        number = stage.next
        for number in range(stage.next, len(seconds)):
            begin, warm = now, 0.0
            if slot in warm_slots:
                begin += dispatch_seconds
            else:
                warm_slots.add(slot)
                warm = stage.warm_up
                seconds[number] += warm
            if has_copies:
                begin = max(begin, stage.earliest(number))
            add_began(begin)
            replace_first(free, (begin + warm + held[number], slot))
            at, slot = free[0]
            launched_at = now
            if at > now:
                now = at
            if now >= until or now >= lost_at[slot]:
                break
        self._now = launched_at
        stage.next = number + 1
        if stage.next == len(seconds):
            heapq.heappop(self._ready)
            ended_at = stage.ended_at()
            if self._allocation is not None:
                self._all_launched(self._allocation, stage, ended_at)
            self._reach(planned.ended, ended_at)


@dataclass(frozen=True, kw_only=True)
class WarmUp:
    """How much longer the first tasks of a stage on a slot take: other sizes have other numbers of those.

    A first task loads classes, has its code compiled and gets its closure and data set. In a replay on other
    executors each task keeps its own seconds, and each slot's first task of a stage takes the stage's excess.
    """

    is_first: BoolColumn  # of its stage on its slot, (tasks,)
    own_seconds: FloatColumn  # without its stage's excess if it was a first, (tasks,)
    excess_seconds: FloatColumn  # of each stage of the plan, (stages,)


def warm_up_of(log: EventLog, plan: Plan) -> WarmUp:
    """Tell first tasks from the others.

    A stage's excess is the median of its first tasks over that of its others. Without others, only the time
    to deserialise shows what its first tasks took longer.
    """
    tasks = log.task_columns
    stage, count = plan.stage_of_task, len(plan.stages)
    is_first = _first_tasks(tasks, stage, log.slots_by_executor)
    first, others = np.flatnonzero(is_first), np.flatnonzero(~is_first)
    excess = medians(tasks.seconds[first], stage[first], count) - medians(
        tasks.seconds[others], stage[others], count
    )
    usual = float(np.median(tasks.deserialise_seconds[others])) if len(others) else 0.0
    closure = medians(tasks.deserialise_seconds[first], stage[first], count) - usual
    excess = np.maximum(0.0, np.nan_to_num(np.where(np.isnan(excess), closure, excess)))
    shortest = np.full(count, np.inf)
    np.minimum.at(shortest, stage[others], tasks.seconds[others])
    shortest[np.isinf(shortest)] = 0.0
    own = tasks.seconds.copy()
    own[first] = np.maximum(own[first] - excess[stage[first]], np.minimum(own[first], shortest[stage[first]]))
    return WarmUp(is_first=is_first, own_seconds=own, excess_seconds=excess)


def _first_tasks(tasks: TaskColumns, stage: IntColumn, slots: Mapping[int, int]) -> BoolColumn:
    """Marks each slot's first task of a stage: those launched before any of it ended on their executor."""
    order = np.lexsort((tasks.task_id, tasks.launched_at, tasks.executor, stage))
    begins = np.ones(len(tasks), dtype=np.bool_)
    begins[1:] = (np.diff(stage[order]) != 0) | (np.diff(tasks.executor[order]) != 0)
    starts = np.flatnonzero(begins)
    group = np.cumsum(begins) - 1
    rank = np.arange(len(tasks)) - starts[group]
    first_end = np.minimum.reduceat(tasks.finished_at[order], starts) if len(starts) else np.zeros(0)
    most = np.array([slots.get(number, 1) for number in tasks.executor[order][starts].tolist()])
    found = np.zeros(len(tasks), dtype=np.bool_)
    found[order] = (tasks.launched_at[order] < first_end[group]) & (rank < most[group])
    return found


def medians(values: FloatColumn | IntColumn, groups: IntColumn, count: int) -> FloatColumn:
    """The medians of many small groups at once, shape (count,); NaN for a group without values.

    `values` and `groups` have shape (n,); groups count from 0.
    """
    found = np.full(count, np.nan)
    if len(values):
        some = np.unique(groups)
        found[some] = ndimage.median(values, groups, some)
    return found


def remote_share_change(*, had: int, executors: int) -> float:
    """The factor on the share of data that is fetched from other machines (1 - 1/m on m); 1 if unknown."""
    return (1.0 - 1.0 / executors) / (1.0 - 1.0 / had) if had > 1 else 1.0


def on_other_executors(
    log: EventLog, plan: Plan, seconds: FloatColumn, *, executors: int, warm_up: WarmUp
) -> tuple[FloatColumn, list[float]]:
    """The tasks' own seconds, with other waiting for fetched data, and the excess of each stage."""
    tasks, stage, count = log.task_columns, plan.stage_of_task, len(plan.stages)
    change = seconds / np.maximum(tasks.seconds, 1e-9)
    remote = remote_share_change(had=log.most_executors, executors=executors)
    waited = np.minimum(tasks.fetch_wait_seconds, warm_up.own_seconds)
    own = (warm_up.own_seconds + waited * (remote - 1.0)) * change
    first = np.flatnonzero(warm_up.is_first)
    changes = np.bincount(stage[first], weights=change[first], minlength=count)
    numbers = np.maximum(1, np.bincount(stage[first], minlength=count))
    return own, (warm_up.excess_seconds * changes / numbers).tolist()
