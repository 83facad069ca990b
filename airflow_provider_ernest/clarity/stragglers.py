"""Tasks that held their stage up, why, and what they cost (Ousterhout and others, NSDI 2015, section 2.7)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest import run_profile
from airflow_provider_ernest.clarity.blocked_time import blocked_seconds
from airflow_provider_ernest.clarity.replay import Replayed, replay, warm_up_of
from airflow_provider_ernest.clarity.replay_plan import Plan, medians, stage_numbers
from airflow_provider_ernest.eventlog.tables import EventLog
from airflow_provider_ernest.eventlog.tasks import BoolColumn, FloatColumn, IntColumn, TaskColumns

# ---------------------------------------------------------------------------
# Hosts whose tasks take longer for the same work than those of the others, in all stages that they ran.


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


def slow_hosts(ratios: FloatColumn, hosts: IntColumn, *, count: int) -> dict[int, SlowHost]:
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


# ---------------------------------------------------------------------------
# Why a task took longer than its stage's median: what of the excess each cause explains.
#
# A cause explains the time that the task would not have taken were it like its stage's median in that respect
# (Ousterhout and others, NSDI 2015, section 2.7). The one that explains most is told, if it explains at least
# half.


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
    tasks = log.task_columns
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
    tasks: TaskColumns = log.task_columns
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
    tasks = log.task_columns
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


# ---------------------------------------------------------------------------
# The figure that the cause of a straggler rests on, in words.


_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def evidence(facts: Measured, row: int, cause: str, *, host: str) -> str:
    """Why the task is taken to have the cause.

    Args:
        facts: of the log.
        row: of the task in the log's table.
        cause: of it, as `causes.causes` tells it.
        host: that it ran on.
    """
    words = {
        run_profile.INPUT_SKEW: _skew,
        run_profile.FIRST_TASK: _first_task,
        run_profile.SLOW_FETCH: _fetch,
        run_profile.SLOW_DISK: _disk,
        run_profile.COLLECTION: _collection,
        run_profile.UNEXPLAINED: _unexplained,
    }
    if cause == run_profile.SLOW_HOST:
        slow = facts.slow_hosts[int(facts.host[row])]
        return (
            f"{host} took {slow.ratio:.1f} times as long as the other hosts for the same work "
            f"(median of {slow.tasks} tasks)"
        )
    return words[cause](facts, row)


def _skew(facts: Measured, row: int) -> str:
    ratio = float(facts.read_ratio[row])
    if not math.isfinite(ratio):
        return f"read {_size(facts.read_bytes[row])} where the median task of its stage read nothing"
    against = f"{_size(facts.read_bytes[row])} against {_size(facts.median_read_bytes[row])}"
    return f"read {ratio:.1f} times as much as the median task of its stage ({against})"


def _first_task(facts: Measured, row: int) -> str:
    return f"the first of its stage on its slot, which took {facts.first_seconds[row]:.1f} s longer"


def _fetch(facts: Measured, row: int) -> str:
    return f"waited {_against_median(facts, row, run_profile.NETWORK)} for shuffle data"


def _disk(facts: Measured, row: int) -> str:
    waited = facts.waiting[run_profile.DISK][row] - facts.median_waiting[run_profile.DISK][row]
    if facts.spilled_bytes[row] > 0 and 2.0 * waited < facts.seconds[row] - facts.median_seconds[row]:
        return f"spilled {_size(facts.spilled_bytes[row])} where the median task of its stage spilled nothing"
    return f"waited {_against_median(facts, row, run_profile.DISK)} to write shuffle data"


def _collection(facts: Measured, row: int) -> str:
    return f"its executor collected garbage for {_against_median(facts, row, run_profile.GARBAGE_COLLECTION)}"


def _unexplained(facts: Measured, row: int) -> str:
    most = max(facts.waiting, key=lambda name: float(facts.waiting[name][row]))
    seconds = float(facts.waiting[most][row])
    if seconds < 0.1 * float(facts.seconds[row]):
        return "no metric tells it from the other tasks"
    return f"no metric explains half of its excess; the largest is {most} with {seconds:.1f} s"


def _against_median(facts: Measured, row: int, waiting: str) -> str:
    return f"{facts.waiting[waiting][row]:.1f} s (median {facts.median_waiting[waiting][row]:.1f} s)"


def _size(count: float) -> str:
    power = min(len(_UNITS) - 1, int(math.log10(count) // 3)) if count >= 1 else 0
    return (
        f"{count / 1000**power:.0f} {_UNITS[power]}"
        if power == 0
        else f"{count / 1000**power:.1f} {_UNITS[power]}"
    )


# ---------------------------------------------------------------------------


TIMES_THE_MEDIAN = 1.5
LEAST_EXCESS_SECONDS = 0.1
"""Tasks of milliseconds differ by more than half, and nobody waits for them."""

WORST = 20
"""As many are told one by one."""


@dataclass(frozen=True, kw_only=True)
class Stragglers:
    """Those of a run.

    Attributes:
        worst: with the largest excess, the largest first; at most `WORST`.
        causes: of all of them, with the largest excess first.
        by_stage: how many each stage had, by Spark's number and the attempt; stages without are not there.
    """

    worst: tuple[run_profile.Straggler, ...]
    causes: tuple[run_profile.StragglerCause, ...]
    by_stage: Mapping[tuple[int, int], int]

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self.by_stage.values())


def find_stragglers(log: EventLog, *, as_it_was: Replayed | None = None) -> Stragglers:
    """Find the tasks that succeeded and took over 1.5 times the median of their stage, and why.

    Args:
        log: of the run.
        as_it_was: the replay of the same log without any change, where it is at hand.

    Raises:
        EventLogError: no task ended.
    """
    as_it_was = as_it_was or replay(log)
    facts = measured(log, as_it_was.plan)
    excess = facts.seconds - facts.median_seconds
    late = log.task_columns.succeeded & (facts.seconds > TIMES_THE_MEDIAN * facts.median_seconds)
    rows = np.flatnonzero(late & (excess >= LEAST_EXCESS_SECONDS))
    rows = rows[np.lexsort((log.task_columns.task_id[rows], -excess[rows]))]
    found = causes(facts, rows)
    keys = zip(
        log.task_columns.stage_id[rows].tolist(), log.task_columns.stage_attempt[rows].tolist(), strict=True
    )
    return Stragglers(
        worst=tuple(
            _straggler(log, facts, row, cause)
            for row, cause in zip(rows[:WORST].tolist(), found, strict=False)
        ),
        causes=_by_cause(log, as_it_was, rows, excess[rows], found, facts.median_seconds),
        by_stage=Counter(keys),
    )


def _straggler(log: EventLog, facts: Measured, row: int, cause: str) -> run_profile.Straggler:
    tasks = log.task_columns
    hosts = {executor.number: executor.host for executor in log.executors}
    host = hosts.get(int(tasks.executor[row]), "")
    return run_profile.Straggler(
        stage_id=int(tasks.stage_id[row]),
        task_id=int(tasks.task_id[row]),
        host=host,
        seconds=float(facts.seconds[row]),
        median_seconds=float(facts.median_seconds[row]),
        cause=cause,
        evidence=evidence(facts, row, cause, host=host),
    )


def _by_cause(
    log: EventLog,
    as_it_was: Replayed,
    rows: IntColumn,
    excess: FloatColumn,
    found: list[str],
    medians: FloatColumn,
) -> tuple[run_profile.StragglerCause, ...]:
    if not found:
        return ()
    names = np.array(found)
    told = []
    for cause in sorted(set(found)):
        of_cause = names == cause
        seconds = log.task_columns.seconds.copy()
        seconds[rows[of_cause]] = medians[rows[of_cause]]
        without = replay(log, task_seconds=seconds, plan=as_it_was.plan).seconds
        told.append(
            run_profile.StragglerCause(
                cause=cause,
                tasks=int(of_cause.sum()),
                excess_seconds=float(excess[of_cause].sum()),
                # As in `blocked_time`, an anomaly of list scheduling is no gain.
                seconds_without=min(as_it_was.seconds, without),
            )
        )
    return tuple(sorted(told, key=lambda cause: -cause.excess_seconds))
