"""What held a run up: how long its tasks waited, which ones were late and why, and what that cost.

After Ousterhout and others, "Making Sense of Performance in Data Analytics Frameworks" (NSDI 2015). Blocked
time analysis (section 2) takes the waiting off each task's time, and replays the run with the rest. That is
an upper bound: a task that waits less for one thing may wait more for another.

For a straggler (section 2.7), a cause explains the seconds that the task would have saved with its stage's
median in that respect. The cause that explains most of the task's excess over the median is reported, if it
explains at least half.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.clarity.replay import Replayed, medians, replay, warm_up_of
from airflow_provider_ernest.clarity.replay_plan import Plan, plan_of
from airflow_provider_ernest.documents.models import UNEXPLAINED
from airflow_provider_ernest.documents.profiles import (
    BLOCKING,
    COLLECTION,
    DISK,
    FIRST_TASK,
    GARBAGE_COLLECTION,
    INPUT_SKEW,
    NETWORK,
    PYTHON_WORKER,
    SCHEDULER,
    SERIALISATION,
    SLOW_DISK,
    SLOW_FETCH,
    SLOW_HOST,
    ResourceLimit,
    Straggler,
    StragglerCause,
)
from airflow_provider_ernest.eventlog.tables import (
    BoolColumn,
    EventLog,
    FloatColumn,
    IntColumn,
    StageKey,
    StageRow,
    TaskColumns,
)
from airflow_provider_ernest.words import data_amount, duration, tenths

# Parts of the names of Spark's operations that run Python workers, in lower case.
_PYTHON_SCOPES = ("python", "pandas", "arrow")


@dataclass(frozen=True, kw_only=True)
class BlockedTime:
    """The analysis of a run."""

    limits: tuple[ResourceLimit, ...]  # what could be won at most, the most first
    seconds: Mapping[str, FloatColumn]  # that each task waited, by `BLOCKING`, (tasks,)
    replayed: Replayed  # as it was: what the limits are compared with


def blocked_time(log: EventLog, *, plan: Plan | None = None) -> BlockedTime:
    """Replay the run without each kind of waiting.

    If stages run side by side, list scheduling has anomalies (Graham 1969): a replay with shorter tasks may
    be longer. Then nothing can be won.

    Raises:
        EventLogError: no task ended.
    """
    plan = plan or plan_of(log)
    tasks = log.task_columns
    stages, stage_of = tasks.by_stage
    blocked = blocked_seconds(tasks, in_python=runs_python(log.stages, stages)[stage_of])
    as_it_was = replay(log, plan=plan)
    total, limits = float(tasks.seconds.sum()), []
    for name, waiting in blocked.items():
        waited, seconds = float(waiting.sum()), as_it_was.seconds
        if waited:
            without = replay(log, task_seconds=tasks.seconds - waiting, plan=plan)
            seconds = min(without.seconds, seconds)
        won = 1.0 - seconds / as_it_was.seconds if as_it_was.seconds > 0 else 0.0
        limits.append(
            ResourceLimit(
                resource=name,
                blocked_seconds=waited,
                share_percent=100.0 * waited / total if total else 0.0,
                seconds_without=seconds,
                improvement_percent=100.0 * won,
            )
        )
    return BlockedTime(
        limits=tuple(sorted(limits, key=lambda limit: limit.seconds_without)),
        seconds=blocked,
        replayed=as_it_was,
    )


def blocked_seconds(tasks: TaskColumns, *, in_python: BoolColumn | bool = False) -> dict[str, FloatColumn]:
    """What each task waited for, by `documents.profiles.BLOCKING`; columns of shape (tasks,).

    Only time beside the task's CPU time counts: writing to the page cache takes the CPU, and no disk makes it
    faster. Spark does not measure reading input, writing output and spilling. Garbage collection stops all
    tasks of an executor and counts in each, after other waiting for the same time. The parts never add up to
    more than a task took. `in_python` marks the tasks of stages that run Python workers.
    """
    running, _ = taken_in_turn(
        np.minimum(tasks.run_seconds, tasks.seconds) - tasks.cpu_seconds,
        {
            NETWORK: tasks.fetch_wait_seconds,
            DISK: tasks.shuffle_write_seconds,
            GARBAGE_COLLECTION: tasks.garbage_collection_seconds,
            PYTHON_WORKER: python_wanted(tasks, in_python),
        },
    )
    around, _ = taken_in_turn(
        tasks.seconds - tasks.run_seconds,
        {
            SERIALISATION: tasks.deserialise_seconds
            + tasks.result_serialisation_seconds
            + tasks.getting_result_seconds,
            SCHEDULER: tasks.scheduler_delay_seconds,
        },
    )
    blocked = running | around
    return {name: blocked[name] for name in BLOCKING}


def taken_in_turn(
    seconds: FloatColumn, wanted: Mapping[str, FloatColumn]
) -> tuple[dict[str, FloatColumn], FloatColumn]:
    """Share out each task's seconds, shape (tasks,): what each thing takes of them, and the rest.

    Rounded measurements may add up to more than a task took: each gets at most what those before it left.
    """
    left = np.maximum(0.0, seconds)
    taken = {}
    for name, column in wanted.items():
        taken[name] = np.clip(column, 0.0, left)
        left = left - taken[name]
    return taken, left


def python_wanted(tasks: TaskColumns, in_python: BoolColumn | bool) -> FloatColumn:
    """Seconds in Python workers: if unknown, all that is left in stages that run them."""
    untold = np.where(in_python, np.inf, 0.0)
    return np.where(np.isnan(tasks.python_seconds), untold, tasks.python_seconds)


def runs_python(rows: Iterable[StageRow], stages: Iterable[StageKey]) -> BoolColumn:
    """Marks the stages that run Python workers, by the names of their operations; shape (stages,)."""
    known = {
        row.key
        for row in rows
        if any(part in scope.lower() for scope in row.scopes for part in _PYTHON_SCOPES)
    }
    return np.array([stage in known for stage in stages], dtype=np.bool_)


TIMES_THE_MEDIAN = 1.5
LEAST_EXCESS_SECONDS = 0.1  # tasks of milliseconds differ by more than half, and nobody waits for them
WORST = 20  # so many are reported one by one

# Of causes that explain about as much the first is reported: a slow host makes its fetches slow, too.
PRECEDENCE = (INPUT_SKEW, SLOW_HOST, FIRST_TASK, SLOW_FETCH, SLOW_DISK, COLLECTION)

_ABOUT_AS_MUCH, _LEAST_SHARE = 0.25, 0.5
_TELLING_SECONDS = 0.05  # stages with a shorter median task tell more of the scheduler than of the hosts
_FEW_BYTES, _FEW_RECORDS = 4096, 10  # so little takes no task's time, whatever the others read

_WAITING = {SLOW_FETCH: NETWORK, SLOW_DISK: DISK, COLLECTION: GARBAGE_COLLECTION}


@dataclass(frozen=True, kw_only=True)
class Stragglers:
    """Those of a run, by excess."""

    worst: tuple[Straggler, ...]  # at most `WORST` of them
    causes: tuple[StragglerCause, ...]  # of all of them
    by_stage: Mapping[StageKey, int]  # how many each stage had, if any

    @property
    def count(self) -> int:
        """Of the run."""
        return sum(self.by_stage.values())


def find_stragglers(log: EventLog, *, as_it_was: Replayed | None = None) -> Stragglers:
    """Find the tasks that succeeded and took over 1.5 times the median of their stage, and why.

    Raises:
        EventLogError: no task ended.
    """
    as_it_was = as_it_was or replay(log)
    tasks = log.task_columns
    facts = _Facts(log, as_it_was.plan)
    late = tasks.succeeded & (tasks.seconds > TIMES_THE_MEDIAN * facts.median_seconds)
    rows = np.flatnonzero(late & (facts.excess >= LEAST_EXCESS_SECONDS))
    rows = rows[np.lexsort((tasks.task_id[rows], -facts.excess[rows]))]
    causes = _causes(facts, rows)
    keys = zip(tasks.stage_id[rows].tolist(), tasks.stage_attempt[rows].tolist(), strict=True)
    return Stragglers(
        worst=tuple(
            Straggler(
                stage_id=int(tasks.stage_id[row]),
                task_id=int(tasks.task_id[row]),
                host=facts.hosts[facts.host[row]],
                seconds=float(tasks.seconds[row]),
                median_seconds=float(facts.median_seconds[row]),
                cause=cause,
                evidence=facts.evidence(cause, row),
            )
            for row, cause in zip(rows[:WORST].tolist(), causes, strict=False)
        ),
        causes=_by_cause(log, as_it_was, facts, rows, np.array(causes)),
        by_stage=Counter(keys),
    )


def _by_cause(
    log: EventLog, as_it_was: Replayed, facts: _Facts, rows: IntColumn, causes: np.ndarray
) -> tuple[StragglerCause, ...]:
    told = []
    for cause in np.unique(causes).tolist():
        of_cause = rows[causes == cause]
        seconds = log.task_columns.seconds.copy()
        seconds[of_cause] = facts.median_seconds[of_cause]
        without = replay(log, task_seconds=seconds, plan=as_it_was.plan).seconds
        told.append(
            StragglerCause(
                cause=cause,
                tasks=len(of_cause),
                excess_seconds=float(facts.excess[of_cause].sum()),
                # An anomaly of list scheduling is no gain, see `blocked_time`.
                seconds_without=min(as_it_was.seconds, without),
            )
        )
    return tuple(sorted(told, key=lambda cause: -cause.excess_seconds))


class _Facts:
    """What the causes are judged by, of each task of the log; columns of shape (tasks,)."""

    def __init__(self, log: EventLog, plan: Plan) -> None:
        self.tasks = tasks = log.task_columns
        self.median = median = _MediansOfStages(tasks)
        self.median_seconds = median(tasks.seconds)
        self.excess = tasks.seconds - self.median_seconds
        # Of bytes or records, whichever are more, to the stage's median; infinite if that is 0.
        records = tasks.input_records + tasks.shuffle_read_records
        self.read = tasks.input_bytes + tasks.shuffle_read_bytes
        self.read_ratio = np.maximum(
            _ratio(self.read, median(self.read), few=_FEW_BYTES),
            _ratio(records, median(records), few=_FEW_RECORDS),
        )
        self.waiting = blocked_seconds(tasks)
        self.median_waiting = {name: median(seconds) for name, seconds in self.waiting.items()}
        # What first tasks took longer: as those of their stage do, or to deserialise, whichever is more.
        warm_up = warm_up_of(log, plan)
        own = tasks.deserialise_seconds - median(tasks.deserialise_seconds)
        longer = np.maximum(0.0, np.maximum(warm_up.excess_seconds[plan.stage_of_task], own))
        self.first_seconds = np.where(warm_up.is_first, longer, 0.0)
        host_of = {executor.number: executor.host for executor in log.executors}
        hosts, self.host = np.unique(
            np.array([host_of.get(number, "") for number in tasks.executor.tolist()]), return_inverse=True
        )
        self.hosts: list[str] = hosts.tolist()
        # Which hosts are slow for the same work.
        more_work = np.where(np.isfinite(self.read_ratio), np.maximum(1.0, self.read_ratio), 1.0)
        ratios = (tasks.seconds - self.first_seconds) / more_work / np.maximum(self.median_seconds, 1e-9)
        counts = tasks.succeeded & (self.median_seconds >= _TELLING_SECONDS) & np.isfinite(self.read_ratio)
        self.slow_hosts = _slow_hosts(ratios[counts], self.host[counts], count=len(hosts))

    def explained(self, cause: str) -> FloatColumn:
        """How many seconds of each task a cause explains."""
        if cause == INPUT_SKEW:
            more = np.minimum(self.read_ratio, 1e9) - 1.0
            return np.asarray(np.maximum(self.median_seconds, 1e-3) * more)
        if cause == SLOW_HOST:
            ratios = np.ones(len(self.hosts))
            for number, (ratio, _) in self.slow_hosts.items():
                ratios[number] = ratio
            return np.asarray(self.tasks.seconds * (1.0 - 1.0 / ratios[self.host]))
        if cause == FIRST_TASK:
            return self.first_seconds
        return np.asarray(self.waiting[_WAITING[cause]] - self.median_waiting[_WAITING[cause]])

    def evidence(self, cause: str, row: int) -> str:
        """The figure that the cause of a straggler rests on, in words."""
        if cause == INPUT_SKEW:
            ratio, read = float(self.read_ratio[row]), data_amount(self.read[row])
            if not math.isfinite(ratio):
                return f"read {read} where the median task of its stage read nothing"
            against = f"{read} against {data_amount(self.median(self.read)[row])}"
            return f"read {tenths(ratio)} times as much as the median task of its stage ({against})"
        if cause == SLOW_HOST:
            host = int(self.host[row])
            ratio, number = self.slow_hosts[host]
            return (
                f"{self.hosts[host]} took {tenths(ratio)} times as long as the other hosts for the same work "
                f"(median of {number} tasks)"
            )
        if cause == FIRST_TASK:
            longer = duration(self.first_seconds[row])
            return f"the first of its stage on its slot, which took {longer} longer"
        if cause in _WAITING:
            return self._waited(cause, row)
        most = max(self.waiting, key=lambda name: float(self.waiting[name][row]))
        waited = float(self.waiting[most][row])
        if waited < 0.1 * float(self.tasks.seconds[row]):
            return "no metric tells it from the other tasks"
        return f"no metric explains half of its excess; the largest is {most} with {duration(waited)}"

    def _waited(self, cause: str, row: int) -> str:
        waited, median = self.waiting[_WAITING[cause]][row], self.median_waiting[_WAITING[cause]][row]
        spilled = self.tasks.disk_spilled_bytes[row]
        if cause == SLOW_DISK and spilled > 0 and 2.0 * (waited - median) < self.excess[row]:
            return f"spilled {data_amount(spilled)} where the median task of its stage spilled nothing"
        against = f"{duration(waited)} (median {duration(median)})"
        return {
            SLOW_FETCH: f"waited {against} for shuffle data",
            SLOW_DISK: f"waited {against} to write shuffle data",
            COLLECTION: f"its executor collected garbage for {against}",
        }[cause]


class _MediansOfStages:
    """The median of each task's stage, over the tasks that succeeded, or over all if none did."""

    def __init__(self, tasks: TaskColumns) -> None:
        stages, self._stage = tasks.by_stage
        self._count = len(stages)
        some = np.bincount(self._stage, weights=tasks.succeeded, minlength=self._count) > 0
        self._rows = np.flatnonzero(tasks.succeeded | ~some[self._stage])

    def __call__(self, values: FloatColumn | IntColumn) -> FloatColumn:
        return medians(values[self._rows], self._stage[self._rows], self._count)[self._stage]


def _ratio(values: IntColumn, median: FloatColumn, *, few: int) -> FloatColumn:
    """To the median: infinite if only that is 0, and at most 1 for no more than a few."""
    some = np.where(values > few, np.inf, 1.0)
    ratio = np.where(median > 0, values / np.maximum(median, 1e-9), some)
    return np.where(values > few, ratio, np.minimum(ratio, 1.0))


_LEAST_RATIO = 1.25  # hosts of one cluster always differ by some percent
_LEAST_TASKS = 3  # of a host: fewer tell nothing

_STANDARD_ERRORS = 3.0
_MEDIAN_EFFICIENCY = 1.2533
_DEVIATIONS_PER_MEDIAN_DEVIATION = 1.4826


def _slow_hosts(ratios: FloatColumn, hosts: IntColumn, *, count: int) -> dict[int, tuple[float, int]]:
    """Hosts slower than the others by more than chance: the ratio of their tasks' median, and their tasks.

    `ratios` are of each task its seconds over its stage's median for the same work, (tasks,); hosts count
    from 0.
    """
    logarithms = np.log(np.maximum(ratios, 1e-6))
    centres = medians(logarithms, hosts, count)
    sizes = np.bincount(hosts, minlength=count)
    known = np.flatnonzero(sizes >= _LEAST_TASKS)
    found = {}
    for host in known.tolist():
        others = centres[known[known != host]]
        if not len(others):
            continue
        deviation = float(np.median(np.abs(logarithms[hosts == host] - centres[host])))
        error = _MEDIAN_EFFICIENCY * _DEVIATIONS_PER_MEDIAN_DEVIATION * deviation / math.sqrt(sizes[host])
        slower = float(centres[host] - np.median(others))
        if slower > max(math.log(_LEAST_RATIO), _STANDARD_ERRORS * error):
            found[host] = math.exp(slower), int(sizes[host])
    return found


def _causes(facts: _Facts, rows: IntColumn) -> list[str]:
    if not len(rows):
        return []
    shares = np.stack([facts.explained(cause)[rows] for cause in PRECEDENCE])
    shares = np.clip(shares / np.maximum(1e-9, facts.excess[rows]), 0.0, 1.0)
    most = shares.max(axis=0)
    first = np.argmax(shares >= most - _ABOUT_AS_MUCH, axis=0)
    spilled = facts.tasks.disk_spilled_bytes
    only_it_spilled = (spilled[rows] > 0) & (facts.median(spilled)[rows] == 0)
    found = [PRECEDENCE[place] for place in first.tolist()]
    for place in np.flatnonzero(most < _LEAST_SHARE).tolist():
        # How long it took to spill is unknown: that it did is all there is to go by.
        found[place] = SLOW_DISK if only_it_spilled[place] else UNEXPLAINED
    return found
