"""Runs under dynamic allocation: each of Spark's rules by hand, and all of them against a slow copy."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
import pytest

from airflow_provider_ernest.clarity.dynamic_allocation import (
    AllocationRules,
    ExecutorAllocation,
    bounds_in,
    rules_of,
)
from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.clarity.replay import Simulation
from airflow_provider_ernest.clarity.replay_dynamic import (
    allocation_of,
    executor_startup_seconds,
    replayed_at_fixed_sizes,
)
from airflow_provider_ernest.clarity.replay_plan import plan_of
from airflow_provider_ernest.clarity.replay_scaled import replay_allocations
from airflow_provider_ernest.documents.runs import ExecutorBounds
from airflow_provider_ernest.exceptions import InvalidDocumentError
from tests.unit.eventlog.logs import SimulatedJob, SimulatedStage, event_log, executor, run, task

D = "spark.dynamicAllocation."


def bounds(minimum: int, initial: int, maximum: int) -> ExecutorBounds:
    return ExecutorBounds(minimum=minimum, initial=initial, maximum=maximum)


def replayed(jobs, allowed, *, slots_per_executor=1, writes_shuffle=False, fills_cache=False, **rules):
    """The jobs' tasks as they are, without warm-up, by the rules; executors come after two seconds."""
    log = run(jobs, executors=1, tail=0.0)
    written = np.full(len(log.task_columns), int(writes_shuffle))
    log = replace(
        log,
        task_columns=replace(log.task_columns, shuffle_written_bytes=written),
        stages=tuple(replace(each, fills_cache=fills_cache) for each in log.stages),
    )
    allocation = ExecutorAllocation(AllocationRules(**{"startup_seconds": 2.0, **rules}), allowed)
    plan, seconds = plan_of(log), log.task_columns.seconds
    simulation = Simulation(plan, seconds, allocation=allocation, slots_per_executor=slots_per_executor)
    return allocation_of(simulation.run(), allowed)


def a_job(*stages, after=0.0):
    """Stages one after another, each of so many tasks of so many seconds."""
    made = [
        SimulatedStage([seconds] * count, parents=range(at)[-1:])
        for at, (count, seconds) in enumerate(stages)
    ]
    return SimulatedJob(after, made)


def test_executors_are_asked_for_in_doubling_numbers_up_to_the_most():
    found = replayed([a_job((40, 10.0))], bounds(1, 1, 8))
    # Asked for after 1 s, 2 s and 3 s: 1, 2 and 4.
    assert found.steps == ((0, 1), (3, 2), (4, 4), (5, 8))
    # Five tasks in a row on each: the last executors end last.
    assert found.seconds == pytest.approx(55.0)
    assert found.executor_seconds == pytest.approx(55 + 52 + 2 * 51 + 4 * 50)


@pytest.mark.parametrize(
    ("rules", "steps", "seconds"),
    [
        pytest.param({}, ((0, 1), (3, 2), (4, 4)), 14.0, id="one slot each"),
        pytest.param({"slots_per_executor": 2}, ((0, 1), (3, 2)), 13.0, id="two slots each"),
        pytest.param({"allocation_ratio": 0.5}, ((0, 1), (3, 2)), 23.0, id="half of what they need"),
        pytest.param({"backlog_seconds": 5.0}, ((0, 1), (7, 2), (8, 4)), 18.0, id="a longer backlog"),
        pytest.param(
            {"sustained_backlog_seconds": 4.0}, ((0, 1), (3, 2), (7, 4)), 17.0, id="longer between rounds"
        ),
        pytest.param({"startup_seconds": 0.5}, ((0, 1), (1.5, 2), (2.5, 4)), 12.5, id="a quick start"),
    ],
)
def test_never_more_executors_are_asked_for_than_all_tasks_need(rules, steps, seconds):
    """Four tasks of ten seconds."""
    found = replayed([a_job((4, 10.0))], bounds(1, 1, 8), **rules)
    assert found.steps == steps
    assert found.seconds == pytest.approx(seconds)


def test_tasks_that_wait_for_less_than_the_backlog_ask_for_nothing():
    assert replayed([a_job((3, 0.4), (3, 0.4))], bounds(1, 1, 8)).steps == ((0, 1),)


def test_without_an_initial_executor_clean_time_begins_with_the_first_one():
    """Asked for at 6 s, it comes at 8; two more come with the next round."""
    found = replayed([a_job((3, 10.0), after=5.0)], bounds(0, 0, 8))
    assert found.steps == ((0, 1), (1, 3))
    assert (found.seconds, found.executor_seconds) == (11.0, 31.0)


@pytest.mark.parametrize(
    ("minimum", "steps", "seconds"),
    [(4, ((0, 4),), 102.0), (1, ((0, 4), (61, 1)), 102.0), (0, ((0, 4), (61, 0), (104, 1)), 105.0)],
)
def test_idle_executors_are_given_back_but_for_the_least(minimum, steps, seconds):
    found = replayed([a_job((4, 1.0)), a_job((1, 1.0), after=100.0)], bounds(minimum, 4, 8))
    assert (found.steps, found.seconds) == (steps, seconds)


def test_the_initial_executors_stay_while_the_driver_works_for_less_than_the_timeout():
    assert replayed([a_job((1, 1.0), after=59.0)], bounds(0, 4, 8)).steps == ((0, 4),)
    # After it they have gone before the first job.
    assert replayed([a_job((1, 1.0), after=61.0)], bounds(1, 4, 8)).steps == ((0, 4), (60, 1))


@pytest.mark.parametrize(
    ("rules", "steps"),
    [
        pytest.param({"writes_shuffle": True}, ((0, 4),), id="shuffle data, tracked"),
        pytest.param(
            {"writes_shuffle": True, "tracks_shuffle": False}, ((0, 4), (61, 0)), id="with a shuffle service"
        ),
        pytest.param({"writes_shuffle": True, "shuffle_idle_seconds": 30.0}, ((0, 4), (61, 0)), id="30 s"),
        pytest.param({"writes_shuffle": True, "shuffle_idle_seconds": 80.0}, ((0, 4), (81, 0)), id="80 s"),
        pytest.param({"fills_cache": True}, ((0, 4),), id="cached data"),
        pytest.param(
            {"fills_cache": True, "cached_idle_seconds": 80.0}, ((0, 4), (81, 0)), id="80 s, cached"
        ),
    ],
)
def test_executors_with_data_stay_longer(rules, steps):
    found = replayed([a_job((4, 1.0)), a_job((1, 1.0), after=90.0)], bounds(0, 4, 4), **rules)
    assert found.steps[: len(steps)] == steps


def test_executors_with_shuffle_data_stay_while_its_job_runs():
    """Four tasks, a long one of the same job, and a break: three were idle all the time."""
    found = replayed(
        [a_job((4, 1.0), (1, 100.0)), a_job((1, 1.0), after=30.0)],
        bounds(0, 4, 4),
        writes_shuffle=True,
        idle_seconds=10.0,
        shuffle_idle_seconds=10.0,
    )
    assert found.steps[:3] == ((0, 4), (101, 1), (111, 0))


def test_after_a_break_the_numbers_begin_with_one_again():
    found = replayed([a_job((3, 20.0)), a_job((8, 30.0), after=10.0)], bounds(1, 1, 8), idle_seconds=100.0)
    # The target has fallen to the least: from what is there it grows by one, one, two and the last one.
    assert found.steps == ((0, 1), (3, 2), (4, 3), (37, 4), (38, 5), (39, 7), (40, 8))


def test_spark_reads_its_properties_so():
    told = {
        f"{D}enabled": "true",
        f"{D}minExecutors": "2",
        f"{D}maxExecutors": "20",
        "spark.executor.instances": "4",
        f"{D}schedulerBacklogTimeout": "2s",
        f"{D}executorIdleTimeout": "2min",
        f"{D}cachedExecutorIdleTimeout": "infinity",
        f"{D}shuffleTracking.timeout": "5000",
        f"{D}executorAllocationRatio": "0.5",
    }
    assert bounds_in(told, most=7) == bounds(2, 4, 20)
    assert bounds_in({}, most=7) == bounds(0, 0, 7)
    assert rules_of(told, startup_seconds=3.0) == AllocationRules(
        backlog_seconds=2.0,
        sustained_backlog_seconds=2.0,
        idle_seconds=120.0,
        shuffle_idle_seconds=5.0,
        allocation_ratio=0.5,
        startup_seconds=3.0,
    )
    assert rules_of({}) == AllocationRules()
    assert not rules_of({"spark.shuffle.service.enabled": "true"}).tracks_shuffle
    assert not rules_of({f"{D}shuffleTracking.enabled": "false"}).tracks_shuffle


@pytest.mark.parametrize("wrong", [(2, 1, 4), (1, 5, 4), (-1, 0, 4), (0, 0, 0)])
def test_bounds_that_contradict_each_other_are_refused(wrong):
    with pytest.raises(InvalidDocumentError):
        bounds(*wrong)


# Event logs of runs under dynamic allocation.


def grown(*, initial: int = 1, cores: int = 1):
    """Twelve tasks of four seconds; the second executor comes after 4 s, asked for after 1 s."""
    executors = [executor(0, cores=cores), executor(1, cores=cores, added=4.0)]
    rows = [task(0, 4.0 * at, 4.0, executor=0) for at in range(6 + 1)]
    rows += [task(0, 4.0 + 4.0 * at, 4.0, executor=1) for at in range(5)]
    properties = {f"{D}enabled": "true", f"{D}minExecutors": "1", f"{D}initialExecutors": str(initial)}
    return event_log(rows, executors=executors, properties=properties)


def test_a_log_tells_how_long_executors_take_to_come():
    assert executor_startup_seconds(grown()) == pytest.approx(3.0)
    # Where all were there from the beginning, from the application's start on.
    assert executor_startup_seconds(run([a_job((4, 1.0))], executors=2)) == pytest.approx(5.0)


def test_a_run_under_dynamic_allocation_is_replayed_as_it_was_by_its_own_rules():
    (found,) = replay_allocations(
        [profile_run(grown())], allowed=[bounds(1, 1, 2)], scale=1.0, executor_cores=1
    )
    assert found.steps == ((0, 1), (4, 2))
    assert found.seconds == pytest.approx(28.0)
    assert found.executor_seconds == pytest.approx(28.0 + 24.0)


def test_a_run_whose_executors_came_is_replayed_on_fixed_numbers_of_them():
    (size,) = replayed_at_fixed_sizes(grown())  # the mean is nearly the most
    assert (size.executors, size.seconds) == (2, pytest.approx(24.0))
    assert size.error > 0.05


# The slow copy: it looks at everything at each tick, as Spark does at each tenth of a second.

TICK = 0.125  # exact in binary, also beside the seconds of an epoch


def ticks(seconds: float) -> int:
    return round(seconds / TICK)


@dataclass
class SlowExecutor:
    came: int
    left: int | None = None


class SlowSpark:
    """What Spark's ExecutorAllocationManager does, written down in its order."""

    def __init__(self, jobs, allowed: ExecutorBounds, rules: AllocationRules, *, slots: int) -> None:
        self.allowed, self.rules, self.slots = allowed, rules, slots
        self.executors = [SlowExecutor(0) for _ in range(allowed.initial)]
        self.free = [[0, number] for _ in range(slots) for number in range(allowed.initial)]  # until, of
        self.target, self.to_add, self.add_at, self.initialising = allowed.initial, 1, None, True
        self.stages = [
            (0 if at else ticks(each.driver_seconds), work.seconds)
            for each in jobs
            for at, work in enumerate(each.stages)
        ]
        self.submit_at, self.waiting, self.now = self.stages[0][0], [], 0

    def run(self) -> int:
        """The tick of the end."""
        while True:
            self.give_back()
            if self.now == self.submit_at:
                self.waiting = [ticks(seconds) for seconds in self.stages.pop(0)[1]]
                self.initialising, self.submit_at = False, None
                self.add_at = self.now + ticks(self.rules.backlog_seconds)
            self.add()
            self.launch()
            if not self.waiting and self.submit_at is None:
                last = max(until for until, of in self.free if self.executors[of].came <= self.now)
                if self.stages:
                    self.submit_at = last + self.stages[0][0]
                elif self.now >= last:
                    return self.now
            self.now += 1

    def is_here(self, number: int) -> bool:
        return self.executors[number].came <= self.now and self.executors[number].left is None

    @property
    def here(self) -> list[int]:
        return [number for number in range(len(self.executors)) if self.is_here(number)]

    @property
    def needed(self) -> int:
        running = sum(self.is_here(number) and until > self.now for until, number in self.free)
        return -(-(len(self.waiting) + running) // self.slots)

    def give_back(self) -> None:
        def idle_since(number: int) -> int:
            return max(until for until, of in self.free if of == number)

        longest = ticks(self.rules.idle_seconds)
        timed_out = [number for number in self.here if self.now - idle_since(number) >= longest]
        self.initialising = self.initialising and not timed_out
        if not self.initialising and self.needed < self.target:
            self.target, self.to_add = max(self.needed, self.allowed.minimum), 1
        for number in timed_out:
            if len(self.here) - 1 >= max(self.allowed.minimum, self.target):
                self.executors[number].left = self.now

    def add(self) -> None:
        if self.add_at is None or self.now < self.add_at or self.needed < self.target:
            return
        if self.target >= self.allowed.maximum:
            self.to_add = 1
            return
        wanted = min(max(self.target, len(self.here)) + self.to_add, self.needed)
        wanted = max(min(wanted, self.allowed.maximum), self.allowed.minimum)
        delta, self.target = wanted - self.target, wanted
        self.to_add = 2 * self.to_add if delta == self.to_add else 1
        if delta:
            self.add_at = self.now + ticks(self.rules.sustained_backlog_seconds)
        first, comes = len(self.executors), self.now + ticks(self.rules.startup_seconds)
        missing = self.target - sum(each.left is None for each in self.executors)
        self.executors += [SlowExecutor(comes) for _ in range(missing)]
        self.free += [[comes, n] for _ in range(self.slots) for n in range(first, len(self.executors))]

    def launch(self) -> None:
        for slot in sorted(self.free, key=lambda each: each[0]):
            if self.waiting and self.is_here(slot[1]) and slot[0] <= self.now:
                slot[0] = self.now + self.waiting.pop(0)
        if not self.waiting:
            self.add_at, self.to_add = None, 1


@pytest.mark.parametrize("seed", range(60))
def test_the_replay_does_what_spark_does(seed: int):
    rng = random.Random(seed)

    def seconds(most: float) -> float:
        return rng.randint(1, int(most / TICK)) * TICK

    jobs = [
        a_job(
            *((rng.randint(1, 25), seconds(rng.choice([0.5, 5.0, 20.0]))) for _ in range(rng.randint(1, 2))),
            after=seconds(rng.choice([1.0, 20.0])),
        )
        for _ in range(rng.randint(1, 4))
    ]
    for job in jobs:
        for work in job.stages:
            work.seconds[:] = [seconds(each) for each in work.seconds]
    least = rng.randint(0, 3)
    initial = rng.randint(least, 6)
    allowed = bounds(least, initial, rng.randint(max(1, initial), 12))
    rules = AllocationRules(
        idle_seconds=seconds(10.0),
        backlog_seconds=seconds(2.0),
        sustained_backlog_seconds=seconds(2.0),
        startup_seconds=seconds(4.0),
        tracks_shuffle=False,
    )
    slots = rng.randint(1, 3)
    spark = SlowSpark(jobs, allowed, rules, slots=slots)
    end = spark.run()
    found = replayed(jobs, allowed, slots_per_executor=slots, **vars(rules))

    there = sum(min(each.left or end, end) - each.came for each in spark.executors if each.came < end)
    end -= spark.executors[0].came
    assert found.seconds == pytest.approx(end * TICK)
    assert found.executor_seconds == pytest.approx(there * TICK)
