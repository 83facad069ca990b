"""Tasks that held their stage up, why, and what they cost (Ousterhout and others, NSDI 2015, section 2.7).

A cause explains the time that the task would not have taken were it like its stage's median in that respect.
The one that explains most of its excess over the median is reported, if it explains at least half.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.clarity.blocked_time import blocked_seconds
from airflow_provider_ernest.clarity.replay import Replayed, medians, replay, warm_up_of
from airflow_provider_ernest.clarity.replay_plan import Plan
from airflow_provider_ernest.documents.models import UNEXPLAINED
from airflow_provider_ernest.documents.profiles import (
    COLLECTION,
    DISK,
    FIRST_TASK,
    GARBAGE_COLLECTION,
    INPUT_SKEW,
    NETWORK,
    SLOW_DISK,
    SLOW_FETCH,
    SLOW_HOST,
    Straggler,
    StragglerCause,
)
from airflow_provider_ernest.eventlog.tables import EventLog, FloatColumn, IntColumn, StageKey, TaskColumns
from airflow_provider_ernest.words import data_amount, duration, tenths

TIMES_THE_MEDIAN = 1.5
LEAST_EXCESS_SECONDS = 0.1
"""Tasks of milliseconds differ by more than half, and nobody waits for them."""

WORST = 20
"""As many are told one by one."""

PRECEDENCE = (INPUT_SKEW, SLOW_HOST, FIRST_TASK, SLOW_FETCH, SLOW_DISK, COLLECTION)
"""Of causes that explain about as much the first is reported: a slow host makes its fetches slow, too."""

_ABOUT_AS_MUCH = 0.25
_LEAST_SHARE = 0.5
_TELLING_SECONDS = 0.05
"""Stages whose median task is shorter tell more of the scheduler than of the hosts."""

_FEW_BYTES, _FEW_RECORDS = 4096, 10
"""No task takes its time for so little, whatever the others read."""

_WAITING = {SLOW_FETCH: NETWORK, SLOW_DISK: DISK, COLLECTION: GARBAGE_COLLECTION}


@dataclass(frozen=True, kw_only=True)
class Stragglers:
    """Those of a run.

    Attributes:
        worst: with the largest excess, the largest first; at most `WORST`.
        causes: of all of them, with the largest excess first.
        by_stage: how many each stage had, by Spark's number and the attempt; stages without are not there.
    """

    worst: tuple[Straggler, ...]
    causes: tuple[StragglerCause, ...]
    by_stage: Mapping[StageKey, int]

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self.by_stage.values())


def find_stragglers(log: EventLog, *, as_it_was: Replayed | None = None) -> Stragglers:
    """Find the tasks that succeeded and took over 1.5 times the median of their stage, and why.

    Raises:
        EventLogError: no task ended.
    """
    as_it_was = as_it_was or replay(log)
    tasks = log.task_columns
    facts = _facts_of(log, as_it_was.plan)
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
                evidence=_EVIDENCE[cause](facts, row),
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
                # As in `blocked_time`, an anomaly of list scheduling is no gain.
                seconds_without=min(as_it_was.seconds, without),
            )
        )
    return tuple(sorted(told, key=lambda cause: -cause.excess_seconds))


@dataclass(frozen=True, kw_only=True)
class _Facts:
    """What the causes are judged by, of each task of the log; columns of shape (tasks,).

    Attributes:
        tasks: of the log.
        median: of a column, for each task, that of its stage's tasks that succeeded.
        median_seconds: that the task took.
        excess: its seconds over that.
        read_ratio: of bytes or records, whichever are more, to the stage's median; infinite where that is 0.
        first_seconds: that it took longer as the first of its stage on its slot; 0 for others.
        waiting: by `documents.profiles.BLOCKING`.
        median_waiting: of its stage.
        host: its place among the hosts.
        hosts: their addresses.
        slow_hosts: by that place.
    """

    tasks: TaskColumns
    median: _MediansOfStages
    median_seconds: FloatColumn
    excess: FloatColumn
    read_ratio: FloatColumn
    first_seconds: FloatColumn
    waiting: dict[str, FloatColumn]
    median_waiting: dict[str, FloatColumn]
    host: IntColumn
    hosts: list[str]
    slow_hosts: dict[int, SlowHost]


def _facts_of(log: EventLog, plan: Plan) -> _Facts:
    tasks = log.task_columns
    median = _MediansOfStages(tasks)
    median_seconds = median(tasks.seconds)
    records = tasks.input_records + tasks.shuffle_read_records
    read_ratio = np.maximum(
        _ratio(_read(tasks), median(_read(tasks)), few=_FEW_BYTES),
        _ratio(records, median(records), few=_FEW_RECORDS),
    )
    waiting = blocked_seconds(tasks)
    # What first tasks took longer: as those of their stage do, or to deserialise, whichever is more.
    warm_up = warm_up_of(log, plan)
    own = tasks.deserialise_seconds - median(tasks.deserialise_seconds)
    longer = np.maximum(0.0, np.maximum(warm_up.excess_seconds[plan.stage_of_task], own))
    first_seconds = np.where(warm_up.is_first, longer, 0.0)
    # Which hosts are slow for the same work.
    host_of = {executor.number: executor.host for executor in log.executors}
    hosts, host = np.unique(
        np.array([host_of.get(number, "") for number in tasks.executor.tolist()]), return_inverse=True
    )
    more_work = np.where(np.isfinite(read_ratio), np.maximum(1.0, read_ratio), 1.0)
    ratios = (tasks.seconds - first_seconds) / more_work / np.maximum(median_seconds, 1e-9)
    counts = tasks.succeeded & (median_seconds >= _TELLING_SECONDS) & np.isfinite(read_ratio)
    return _Facts(
        tasks=tasks,
        median=median,
        median_seconds=median_seconds,
        excess=tasks.seconds - median_seconds,
        read_ratio=read_ratio,
        first_seconds=first_seconds,
        waiting=waiting,
        median_waiting={name: median(seconds) for name, seconds in waiting.items()},
        host=host,
        hosts=hosts.tolist(),
        slow_hosts=_slow_hosts(ratios[counts], host[counts], count=len(hosts)),
    )


class _MediansOfStages:
    """For each task the median of its stage's tasks that succeeded; of all where none did."""

    def __init__(self, tasks: TaskColumns) -> None:
        stages, self._stage = tasks.by_stage
        self._count = len(stages)
        some = np.bincount(self._stage, weights=tasks.succeeded, minlength=self._count) > 0
        self._rows = np.flatnonzero(tasks.succeeded | ~some[self._stage])

    def __call__(self, values: FloatColumn | IntColumn) -> FloatColumn:
        return medians(values[self._rows], self._stage[self._rows], self._count)[self._stage]


def _read(tasks: TaskColumns) -> IntColumn:
    return tasks.input_bytes + tasks.shuffle_read_bytes


def _ratio(values: IntColumn, median: FloatColumn, *, few: int) -> FloatColumn:
    """Infinite where the median is 0 and the value is not; 1 where both are no more than a few."""
    some = np.where(values > few, np.inf, 1.0)
    ratio = np.where(median > 0, values / np.maximum(median, 1e-9), some)
    return np.where(values > few, ratio, np.minimum(ratio, 1.0))


_LEAST_RATIO = 1.25
"""Hosts of one cluster differ by some percent in any case."""

_LEAST_TASKS = 3
"""Fewer tell nothing of their host."""

_STANDARD_ERRORS = 3.0
_MEDIAN_EFFICIENCY = 1.2533
_DEVIATIONS_PER_MEDIAN_DEVIATION = 1.4826


@dataclass(frozen=True, kw_only=True)
class SlowHost:
    """A host that is slow.

    Attributes:
        ratio: of its tasks' seconds to those of the others for the same work; medians.
        tasks: that this rests on.
    """

    ratio: float
    tasks: int


def _slow_hosts(ratios: FloatColumn, hosts: IntColumn, *, count: int) -> dict[int, SlowHost]:
    """The hosts that are slower than the others by more than chance and usual differences make.

    Args:
        ratios: of each task its seconds over the median of its stage, for the same work; of shape (tasks,).
        hosts: the number of each task's host, from 0 to count - 1.
        count: of hosts.

    Returns:
        By the number of the host; empty where there are no two to compare.
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
            found[host] = SlowHost(ratio=math.exp(slower), tasks=int(sizes[host]))
    return found


def _causes(facts: _Facts, rows: IntColumn) -> list[str]:
    """The cause of each of some tasks that took longer than their stage's median."""
    if not len(rows):
        return []
    shares = np.stack([_explained(facts, cause)[rows] for cause in PRECEDENCE])
    shares = np.clip(shares / np.maximum(1e-9, facts.excess[rows]), 0.0, 1.0)
    most = shares.max(axis=0)
    first = np.argmax(shares >= most - _ABOUT_AS_MUCH, axis=0)
    spilled = facts.tasks.disk_spilled_bytes
    only_it_spilled = (spilled[rows] > 0) & (facts.median(spilled)[rows] == 0)
    found = [PRECEDENCE[place] for place in first.tolist()]
    for place in np.flatnonzero(most < _LEAST_SHARE).tolist():
        # How long it took to spill is not told; that it did is all there is to go by.
        found[place] = SLOW_DISK if only_it_spilled[place] else UNEXPLAINED
    return found


def _explained(facts: _Facts, cause: str) -> FloatColumn:
    """How many seconds of each task a cause explains."""
    if cause == INPUT_SKEW:
        more = np.minimum(facts.read_ratio, 1e9) - 1.0
        return np.asarray(np.maximum(facts.median_seconds, 1e-3) * more)
    if cause == SLOW_HOST:
        ratios = np.ones(len(facts.hosts))
        for number, host in facts.slow_hosts.items():
            ratios[number] = host.ratio
        return np.asarray(facts.tasks.seconds * (1.0 - 1.0 / ratios[facts.host]))
    if cause == FIRST_TASK:
        return facts.first_seconds
    return np.asarray(facts.waiting[_WAITING[cause]] - facts.median_waiting[_WAITING[cause]])


def _skew(facts: _Facts, row: int) -> str:
    ratio, read = float(facts.read_ratio[row]), _read(facts.tasks)
    if not math.isfinite(ratio):
        return f"read {data_amount(read[row])} where the median task of its stage read nothing"
    against = f"{data_amount(read[row])} against {data_amount(facts.median(read)[row])}"
    return f"read {tenths(ratio)} times as much as the median task of its stage ({against})"


def _slow_host(facts: _Facts, row: int) -> str:
    host = int(facts.host[row])
    slow = facts.slow_hosts[host]
    return (
        f"{facts.hosts[host]} took {tenths(slow.ratio)} times as long as the other hosts for the same work "
        f"(median of {slow.tasks} tasks)"
    )


def _first_task(facts: _Facts, row: int) -> str:
    return f"the first of its stage on its slot, which took {duration(facts.first_seconds[row])} longer"


def _fetch(facts: _Facts, row: int) -> str:
    return f"waited {_against_median(facts, row, NETWORK)} for shuffle data"


def _disk(facts: _Facts, row: int) -> str:
    waited = facts.waiting[DISK][row] - facts.median_waiting[DISK][row]
    spilled = facts.tasks.disk_spilled_bytes[row]
    if spilled > 0 and 2.0 * waited < facts.excess[row]:
        return f"spilled {data_amount(spilled)} where the median task of its stage spilled nothing"
    return f"waited {_against_median(facts, row, DISK)} to write shuffle data"


def _collection(facts: _Facts, row: int) -> str:
    return f"its executor collected garbage for {_against_median(facts, row, GARBAGE_COLLECTION)}"


def _unexplained(facts: _Facts, row: int) -> str:
    most = max(facts.waiting, key=lambda name: float(facts.waiting[name][row]))
    waited = float(facts.waiting[most][row])
    if waited < 0.1 * float(facts.tasks.seconds[row]):
        return "no metric tells it from the other tasks"
    return f"no metric explains half of its excess; the largest is {most} with {duration(waited)}"


_EVIDENCE: Mapping[str, Callable[[_Facts, int], str]] = {
    INPUT_SKEW: _skew,
    SLOW_HOST: _slow_host,
    FIRST_TASK: _first_task,
    SLOW_FETCH: _fetch,
    SLOW_DISK: _disk,
    COLLECTION: _collection,
    UNEXPLAINED: _unexplained,
}
"""The figure that a straggler's cause rests on, in words; by the cause and the task's place in the log."""


def _against_median(facts: _Facts, row: int, waiting: str) -> str:
    return f"{duration(facts.waiting[waiting][row])} (median {duration(facts.median_waiting[waiting][row])})"
