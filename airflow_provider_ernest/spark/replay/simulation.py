"""Tasks on slots: each stage's tasks are started in the order of the real run, each on the first free slot.

So does Spark's own scheduler, and so do Ousterhout's simulation (NSDI 2015, section 2.4) and Sparklens. Of
several stages the one of the earliest job comes first (FIFO), or that with the fewest tasks running (FAIR).
"""

from __future__ import annotations

import heapq
import itertools
import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.spark.log_reading.tables import FloatColumn
from airflow_provider_ernest.spark.replay.moments import BEGIN, Unfolding
from airflow_provider_ernest.spark.replay.plan import Plan, PlannedStage


@dataclass(frozen=True, kw_only=True)
class Slot:
    """Where one task can run at a time, from when until when; in seconds from the clean time's begin."""

    begins: float = -math.inf
    ends: float = math.inf


@dataclass(frozen=True, kw_only=True)
class Durations:
    """How long each task of the log takes; columns of shape (tasks,).

    Attributes:
        seconds: from its launch to its end.
        slot_seconds: of those that it takes its slot; no more than `seconds`.
        warm_up_seconds: that the first task of a stage on a slot takes longer; one for each stage of the
            plan, or none at all.
    """

    seconds: FloatColumn
    slot_seconds: FloatColumn
    warm_up_seconds: Sequence[float] = ()


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """When everything was; in seconds from the clean time's begin.

    Attributes:
        seconds: the run's end.
        began: when each task of the log was launched, of shape (tasks,).
        finished: when it ended.
        moments: the time of each moment of the plan.
    """

    seconds: float
    began: FloatColumn
    finished: FloatColumn
    moments: Sequence[float]


def simulate(plan: Plan, durations: Durations, slots: Sequence[Slot], *, is_fair: bool = False) -> Simulated:
    """Replay the plan.

    Args:
        plan: of the log.
        durations: of the log's tasks.
        is_fair: whether Spark's scheduler was fair.
        slots: at least one; where all are lost before the work is done, the last stays.
    """
    return _Simulation(plan, durations, slots, is_fair=is_fair).run()


class _Stage:
    """A stage while it is replayed."""

    def __init__(
        self, planned: PlannedStage, seconds: list[float], slot_seconds: list[float], warm_up: float
    ) -> None:
        self.planned = planned
        self.priority = (planned.row.job_id, *planned.key)
        self.seconds = seconds
        self.slot_seconds = slot_seconds
        self.warm_up = warm_up
        self.begins = 0.0
        self.next = 0
        self.began: list[float] = []
        self.warm_slots: set[int] = set()
        self.running: list[float] = []
        self.median = float(np.median(seconds)) if planned.copies else 0.0

    def earliest(self, place: int) -> float:
        """When a task may begin: a repeated one after what failed, a second copy when the first is late."""
        failed = self.planned.retries.get(place)
        if failed is not None:
            return self.began[failed] + self.seconds[failed]
        if place in self.planned.copies:
            return self.begins + self.planned.copies[place] * self.median
        return -math.inf

    def ended_at(self) -> float:
        """When the last task ended that holds the stage up."""
        ends: Iterable[float] = map(operator.add, self.began, self.seconds)
        if not self.planned.all_hold_up:
            ends = itertools.compress(ends, self.planned.holds_up.tolist())
        return max(self.begins, max(ends, default=-math.inf)) + self.planned.tail_seconds


class _Simulation:
    def __init__(self, plan: Plan, durations: Durations, slots: Sequence[Slot], *, is_fair: bool) -> None:
        self._plan = plan
        self._places = np.concatenate([np.empty(0, np.int64), *(stage.tasks for stage in plan.stages)])
        self._tasks = len(durations.seconds)
        self._stages = list(self._stages_of(durations))
        self._lost_at = [slot.ends for slot in slots]
        self._free = [(slot.begins, number) for number, slot in enumerate(slots)]
        heapq.heapify(self._free)
        self._is_fair = is_fair
        self._now = -math.inf
        self._waiting: list[tuple[float, int]] = []
        self._ready: list[tuple[tuple[int, int, int], int]] = []
        with_tasks = {place for place, stage in enumerate(self._stages) if stage.seconds}
        self._of_moment = {plan.stages[place].submitted: place for place in with_tasks}
        self._unfolding = Unfolding(plan.moments, held=(plan.stages[place].ended for place in with_tasks))

    def _stages_of(self, durations: Durations) -> Iterator[_Stage]:
        # Of thousands of small stages most of the time would else go into arrays of a few numbers.
        seconds = durations.seconds[self._places].tolist()
        held = durations.slot_seconds[self._places].tolist()
        warm_up = durations.warm_up_seconds or [0.0] * len(self._plan.stages)
        first = 0
        for planned, warm in zip(self._plan.stages, warm_up, strict=True):
            end = first + len(planned.tasks)
            yield _Stage(planned, seconds[first:end], held[first:end], warm)
            first = end

    def run(self) -> Simulated:
        self._reach(BEGIN, 0.0)
        while self._waiting or self._ready:
            self._drop_lost_slot()
            self._now = max(self._now, self._free[0][0])
            if not self._ready:
                self._now = max(self._now, self._waiting[0][0])
            while self._waiting and self._waiting[0][0] <= self._now:
                _, place = heapq.heappop(self._waiting)
                heapq.heappush(self._ready, (self._stages[place].priority, place))
            self._launch(self._pick())
        began, finished = np.zeros(self._tasks), np.zeros(self._tasks)
        began[self._places] = [at for stage in self._stages for at in stage.began]
        finished[self._places] = [each for stage in self._stages for each in stage.seconds]
        finished += began
        at = self._unfolding.at
        return Simulated(seconds=at[self._plan.end], began=began, finished=finished, moments=at)

    def _reach(self, moment: int, at: float) -> None:
        """A moment has come: stages whose submission follows wait for their first task."""
        for come in self._unfolding.reach(moment, at):
            place = self._of_moment.get(come)
            if place is not None:
                stage = self._stages[place]
                stage.begins = self._unfolding.at[come] + stage.planned.lag_seconds
                heapq.heappush(self._waiting, (stage.begins, place))

    def _drop_lost_slot(self) -> None:
        while len(self._free) > 1 and self._lost_at[self._free[0][1]] <= self._free[0][0]:
            heapq.heappop(self._free)

    def _pick(self) -> int:
        """The place of the stage whose turn it is."""
        if not self._is_fair or len(self._ready) == 1:
            return self._ready[0][1]
        for _, place in self._ready:
            running = self._stages[place].running
            while running and running[0] <= self._now:
                heapq.heappop(running)
        return min(self._ready, key=lambda entry: (len(self._stages[entry[1]].running), entry))[1]

    def _launch(self, place: int) -> None:
        """Start tasks of a stage until it has no more, or something else may have its turn."""
        stage = self._stages[place]
        until = self._waiting[0][0] if self._waiting else math.inf
        if self._is_fair or stage.planned.has_late_tasks:
            self._launch_one_by_one(stage, until)
        else:
            self._launch_in_turn(stage, until)
        if stage.next == len(stage.seconds):
            self._ready = [entry for entry in self._ready if entry[1] != place]
            heapq.heapify(self._ready)
            self._reach(stage.planned.ended, stage.ended_at())

    def _launch_in_turn(self, stage: _Stage, until: float) -> None:
        """Tasks that begin with the first free slot: nearly all of nearly all runs, with few steps each."""
        free, now, lost_at = self._free, self._now, self._lost_at
        seconds, held, warm_slots = stage.seconds, stage.slot_seconds, stage.warm_slots
        warm_up, dispatch_seconds = stage.warm_up, stage.planned.dispatch_seconds
        add_began, replace_first = stage.began.append, heapq.heapreplace
        slot = free[0][1]
        number = stage.next
        for number in range(stage.next, len(seconds)):
            if slot in warm_slots:
                begin = now + dispatch_seconds
                end = begin + held[number]
            else:
                warm_slots.add(slot)
                begin = now
                end = begin + warm_up + held[number]
                seconds[number] += warm_up
            add_began(begin)
            replace_first(free, (end, slot))
            at, slot = free[0]
            if at > now:
                now = at
            if now >= until or at >= lost_at[slot]:
                break
        self._now = now
        stage.next = number + 1

    def _launch_one_by_one(self, stage: _Stage, until: float) -> None:
        """The same where tasks may come late, or other stages' have their turn after each."""
        takes_turns = self._is_fair and len(self._ready) > 1
        while stage.next < len(stage.seconds):
            self._launch_next(stage)
            at, slot = self._free[0]
            self._now = max(self._now, at)
            if takes_turns or self._now >= until or at >= self._lost_at[slot]:
                break

    def _launch_next(self, stage: _Stage) -> None:
        number = stage.next
        slot = self._free[0][1]
        begin = self._now
        warm = 0.0
        if slot in stage.warm_slots:
            begin += stage.planned.dispatch_seconds
        else:
            stage.warm_slots.add(slot)
            warm = stage.warm_up
        if stage.planned.has_late_tasks:
            begin = max(begin, stage.earliest(number))
        stage.seconds[number] += warm
        stage.began.append(begin)
        end = begin + warm + stage.slot_seconds[number]
        heapq.heapreplace(self._free, (end, slot))
        if self._is_fair:
            heapq.heappush(stage.running, end)
        stage.next = number + 1
