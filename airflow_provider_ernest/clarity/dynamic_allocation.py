"""Spark's rules of dynamic allocation: when executors are asked for, and when they are given back.

After "Dynamic Resource Allocation" (Spark documentation, "Job Scheduling") and Spark's own
``ExecutorAllocationManager`` and ``ExecutorMonitor``:

* Executors are asked for when tasks have waited for `backlog_seconds`, and again after each
  `sustained_backlog_seconds` that they still wait: one, then two, four and so on, never more than all waiting
  and running tasks need, and never more than the most. A round that cannot add what it wanted to begins
  again with one.
* The target falls with the tasks, but asked-for executors come, `startup_seconds` later.
* An executor without a task for `idle_seconds` is given back, unless fewer than the least would stay. One
  that holds cached data stays for `cached_idle_seconds`. Without an external shuffle service, one that holds
  shuffle data stays while a job runs that may read it, and afterwards for `shuffle_idle_seconds`.

Spark looks at this ten times a second, and here it does so at any moment. It forgets shuffle data that the
driver's garbage collection has found unused, which no log tells: here it is kept to the end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from airflow_provider_ernest.documents.runs import ExecutorBounds
from airflow_provider_ernest.eventlog.run_facts import has_dynamic_allocation

PREFIX = "spark.dynamicAllocation."

USUAL_STARTUP_SECONDS = 5.0
"""From asking for an executor to its first task where a run does not tell: a container and a JVM start."""

_TOLD = (
    *("minExecutors", "initialExecutors", "maxExecutors", "executorAllocationRatio"),
    *("schedulerBacklogTimeout", "sustainedSchedulerBacklogTimeout"),
    *("executorIdleTimeout", "cachedExecutorIdleTimeout"),
    *("shuffleTracking.enabled", "shuffleTracking.timeout"),
)
_PROPERTIES = (*(f"{PREFIX}{name}" for name in _TOLD), "spark.shuffle.service.enabled")
_VALUE = re.compile(r"[\w.]{1,20}")

_TIME = re.compile(r"(\d+)\s*(us|ms|s|m|min|h|d)?")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


@dataclass(frozen=True, kw_only=True)
class AllocationRules:
    """The timeouts of dynamic allocation in seconds, and what an executor does; Spark's defaults."""

    backlog_seconds: float = 1.0
    sustained_backlog_seconds: float = 1.0
    idle_seconds: float = 60.0
    cached_idle_seconds: float = math.inf
    shuffle_idle_seconds: float = math.inf
    tracks_shuffle: bool = True  # False where an external shuffle service keeps the data
    allocation_ratio: float = 1.0  # of the executors that would run all tasks at once
    startup_seconds: float = USUAL_STARTUP_SECONDS


def properties_of_allocation(properties: Mapping[str, str]) -> dict[str, str]:
    """Those of a run's Spark properties that tell its bounds and rules; empty without dynamic allocation."""
    if not has_dynamic_allocation(properties):
        return {}
    told = {name: properties[name] for name in _PROPERTIES if name in properties}
    return {name: value for name, value in told.items() if _VALUE.fullmatch(value)}


def rules_of(properties: Mapping[str, str], *, startup_seconds: float | None = None) -> AllocationRules:
    """The rules by Spark's properties; Spark's defaults for what they do not tell."""

    def seconds(name: str, default: float, *, unit: str = "s") -> float:
        found = _TIME.fullmatch(properties.get(f"{PREFIX}{name}", "").strip().lower())
        return int(found[1]) * _UNITS[found[2] or unit] if found else default

    def ratio(name: str) -> float:
        try:
            told = float(properties.get(f"{PREFIX}{name}", ""))
        except ValueError:
            return 1.0
        return told if 0 < told <= 1 else 1.0

    backlog = seconds("schedulerBacklogTimeout", 1.0)
    has_service = properties.get("spark.shuffle.service.enabled", "").lower() == "true"
    is_tracking = properties.get(f"{PREFIX}shuffleTracking.enabled", "true").lower() == "true"
    return AllocationRules(
        backlog_seconds=backlog,
        sustained_backlog_seconds=seconds("sustainedSchedulerBacklogTimeout", backlog),
        idle_seconds=seconds("executorIdleTimeout", 60.0),
        cached_idle_seconds=seconds("cachedExecutorIdleTimeout", math.inf),
        shuffle_idle_seconds=seconds("shuffleTracking.timeout", math.inf, unit="ms"),
        tracks_shuffle=is_tracking and not has_service,
        allocation_ratio=ratio("executorAllocationRatio"),
        startup_seconds=USUAL_STARTUP_SECONDS if startup_seconds is None else startup_seconds,
    )


def bounds_in(properties: Mapping[str, str], *, most: int) -> ExecutorBounds:
    """The bounds by Spark's properties; `most` where they set no limit."""

    def number(name: str, default: int) -> int:
        told = properties.get(name, "")
        return int(told) if told.isdecimal() and len(told) < 9 else default

    least = number(f"{PREFIX}minExecutors", 0)
    highest = max(1, least, number(f"{PREFIX}maxExecutors", max(1, most)))
    # Spark begins with the largest of the three (`Utils.getDynamicAllocationInitialExecutors`).
    initial = max(least, number(f"{PREFIX}initialExecutors", least), number("spark.executor.instances", 0))
    return ExecutorBounds(minimum=least, initial=min(initial, highest), maximum=highest)


@dataclass(kw_only=True)
class _Executor:
    came_at: float
    left_at: float = math.inf
    has_cached: bool = False
    jobs: set[int] = field(default_factory=set)  # whose shuffle data it holds


class ExecutorAllocation:
    """Which executors a replayed run has, by the rules; the replay tells it what happens, in order of time.

    It is told when a stage begins to wait for slots, at `due` how many tasks wait and run, and when none
    waits any more. The initial executors are there at 0.
    """

    def __init__(self, rules: AllocationRules, bounds: ExecutorBounds) -> None:
        self.due = math.inf  # the next moment at which executors may be asked for
        self.executors = [_Executor(came_at=0.0) for _ in range(bounds.initial)]
        self.rules, self._bounds = rules, bounds
        self._target = bounds.initial
        self._to_add = 1
        self._add_at = math.inf  # infinite while no task waits
        self._is_initialising = True

    def tasks_wait(self, at: float, *, needed: int) -> None:
        """A stage has come; `needed` executors would run all tasks that run already."""
        if math.isinf(self._add_at):
            if not self._is_initialising:
                self._lower_target(needed)
            self._add_at = at + self.rules.backlog_seconds
        self._is_initialising = False
        self.due = max(self._add_at, at)

    def none_waits(self) -> None:
        """All tasks have been launched."""
        self.due = self._add_at = math.inf
        self._to_add = 1

    def needed(self, tasks: int, slots_per_executor: int) -> int:
        """Executors that would run so many tasks at once."""
        return math.ceil(tasks * self.rules.allocation_ratio / slots_per_executor)

    def ask(self, *, needed: int) -> list[int]:
        """Ask for executors at `due`; the numbers of those that will come."""
        at, before = self.due, self._target
        self.due = math.inf  # until more tasks wait
        if needed < before:
            self._lower_target(needed)
            return []
        here = sum(each.came_at <= at < each.left_at for each in self.executors)
        target = min(max(before, here) + self._to_add, needed)
        target = max(min(target, self._bounds.maximum), self._bounds.minimum, before)
        self._target = target
        self._to_add = 2 * self._to_add if target - before == self._to_add else 1
        if target > before:
            self._add_at = self.due = at + self.rules.sustained_backlog_seconds
        asked_for = sum(at < each.left_at for each in self.executors)
        numbers = list(range(len(self.executors), len(self.executors) + max(0, target - asked_for)))
        # Asked for before clean time began, they come no earlier than the initial ones.
        comes_at = max(0.0, at + self.rules.startup_seconds)
        self.executors += [_Executor(came_at=comes_at) for _ in numbers]
        return numbers

    def _lower_target(self, needed: int) -> None:
        if needed < self._target:
            self._target = max(needed, self._bounds.minimum)
            self._to_add = 1

    def holds(self, numbers: Iterable[int], *, job: int | None, is_cached: bool) -> None:
        """Executors hold shuffle data of a job, or cached data."""
        for number in numbers:
            if job is not None and self.rules.tracks_shuffle:
                self.executors[number].jobs.add(job)
            self.executors[number].has_cached |= is_cached

    def give_back(
        self, until: float, *, busy_until: Mapping[int, float], ended_jobs: Mapping[int, float]
    ) -> set[int]:
        """Give back executors that were idle for too long before a moment, while no task waited.

        `busy_until` has the end of each executor's last task, if it ran any, and `ended_jobs` of jobs that
        have ended when they did. The numbers of the executors that left.
        """
        deadlines = sorted(
            (deadline, number)
            for number, each in enumerate(self.executors)
            if math.isinf(each.left_at)
            and (deadline := self._deadline(each, busy_until.get(number, each.came_at), ended_jobs)) <= until
        )
        left = set()
        for deadline, number in deadlines:
            here = sum(each.came_at <= deadline < each.left_at for each in self.executors)
            self._is_initialising = False
            if here > self._bounds.minimum:
                self.executors[number].left_at = deadline
                left.add(number)
        return left

    def _deadline(self, each: _Executor, busy_until: float, ended_jobs: Mapping[int, float]) -> float:
        rules = self.rules
        idle = max(
            rules.idle_seconds,
            rules.cached_idle_seconds if each.has_cached else 0.0,
            rules.shuffle_idle_seconds if each.jobs else 0.0,
        )
        needed_until = max((ended_jobs.get(job, math.inf) for job in each.jobs), default=0.0)
        return max(max(busy_until, each.came_at) + idle, needed_until)
