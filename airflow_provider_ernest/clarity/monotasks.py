"""How long each stage takes at least on each resource, which one binds it, and what other machines change.

After Ousterhout's thesis (UCB/EECS-2017-158), on reasoning about performance with monotasks: a stage's ideal
time on a resource is its total use of it over the cluster's capacity, and the longest ideal time binds the
stage. Spark's tasks are no monotasks: their metrics tell the use of CPU and network, but only roughly that
of disks.

On other machines, tasks are changed by `changed_task_seconds` and replayed; the ratio of that replay to one
of the run as it was scales the measured time.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.clarity.blocked_time import python_wanted, runs_python, taken_in_turn
from airflow_provider_ernest.clarity.replay import Replayed, replay
from airflow_provider_ernest.clarity.replay_plan import most_at_once
from airflow_provider_ernest.documents.profiles import (
    CPU,
    DISK,
    GARBAGE_COLLECTION,
    NETWORK,
    PYTHON_WORKER,
    SCHEDULER,
    UNMEASURED,
    Capacity,
    WhatIf,
)
from airflow_provider_ernest.eventlog.tables import (
    BoolColumn,
    EventLog,
    ExecutorRow,
    FloatColumn,
    IntColumn,
    StageKey,
    TaskColumns,
)
from airflow_provider_ernest.words import counted

# The parts of a task's time that take a core, Python's among them.
COMPUTING = (CPU, GARBAGE_COLLECTION, PYTHON_WORKER)

# A stage that fetched its bytes so many times faster than the network's capacity allows did not use that.
FASTER_THAN_ITS_CAPACITY = 1.25


@dataclass(frozen=True, kw_only=True)
class ResourceUse:
    """The tasks of a run by stage; k stages had tasks."""

    stages: tuple[StageKey, ...]  # ascending
    stage_of: IntColumn  # index of each task's stage, (tasks,)
    parts: dict[str, FloatColumn]  # what each task did with its time, see `split_seconds`; each (tasks,)
    parallelism: FloatColumn  # tasks of each stage that can run at once, (k,)

    def summed(self, column: FloatColumn | IntColumn) -> FloatColumn:
        """The sums of a column of tasks by stage, (k,)."""
        sums = np.bincount(self.stage_of, weights=column, minlength=len(self.stages))
        return sums.astype(np.float64)

    def seconds(self, parts: Iterable[str]) -> FloatColumn:
        """The sums of some parts of the tasks' time by stage, (k,)."""
        return sum((self.summed(self.parts[part]) for part in parts), np.zeros(len(self.stages)))


def resource_use(log: EventLog) -> ResourceUse:
    """What the tasks of a run did with their time, with failed attempts and copies."""
    tasks = log.task_columns
    stages, stage_of = tasks.by_stage
    in_python = runs_python(log.stages, stages)
    tasks_of = np.bincount(stage_of, minlength=len(stages))
    return ResourceUse(
        stages=stages,
        stage_of=stage_of,
        parts=split_seconds(tasks, in_python=in_python[stage_of]),
        parallelism=np.minimum(tasks_of, log.slots or most_at_once(tasks)).astype(np.float64),
    )


def split_seconds(tasks: TaskColumns, *, in_python: BoolColumn) -> dict[str, FloatColumn]:
    """The parts of each task's time, which add up to it; each of shape (tasks,).

    `CPU` is that of its thread, and the (de)serialisation of its closure and result; `SCHEDULER` the time
    between scheduler and executor, and while the driver fetches a large result; `UNMEASURED` the rest:
    services that it calls, reading of input, a core that others use as well. Spark's CPU time has no Python
    workers, garbage collection and JIT compiler in it. Writing to the page cache takes the CPU: only the
    rest of the shuffle write time is waiting for the disk. If the log does not tell how long Python took,
    the rest of the running time goes to it in tasks that `in_python` marks, (tasks,).
    """
    parts, left = taken_in_turn(
        tasks.seconds,
        {
            SCHEDULER: tasks.scheduler_delay_seconds + tasks.getting_result_seconds,
            CPU: tasks.cpu_seconds + tasks.deserialise_seconds + tasks.result_serialisation_seconds,
            NETWORK: tasks.fetch_wait_seconds,
            DISK: tasks.shuffle_write_seconds,
            GARBAGE_COLLECTION: tasks.garbage_collection_seconds,
            PYTHON_WORKER: python_wanted(tasks, in_python),
        },
    )
    return parts | {UNMEASURED: left}


@dataclass(frozen=True, kw_only=True)
class IdealTimes:
    """Ideal times of the stages of a run; columns of shape (stages,)."""

    stages: tuple[StageKey, ...]  # that had tasks, ascending
    cpu: FloatColumn  # computing on the cores that the stage's tasks can use at once
    network: FloatColumn  # fetching from other machines; NaN if unknown, or shown not to apply
    held: dict[str, FloatColumn]  # by each part of the tasks' time, on those cores

    def seconds(self) -> dict[StageKey, dict[str, float]]:
        """The seconds that each stage needs at least of each resource, if known."""
        return {
            stage: {CPU: float(self.cpu[place])} | self._network(place)
            for place, stage in enumerate(self.stages)
        }

    def seconds_of_run(self) -> dict[str, float]:
        """The seconds that all stages together need at least of each resource."""
        total: defaultdict[str, float] = defaultdict(float)
        for of_stage in self.seconds().values():
            for resource, seconds in of_stage.items():
                total[resource] += seconds
        return dict(total)

    def bottlenecks(self) -> dict[StageKey, str]:
        """What each stage is bound by: `CPU`, `NETWORK`, `DISK`, or another thing that tasks wait for.

        For disks, and a network of unknown capacity, its tasks' waiting stands for the ideal time: that of a
        link that is never full is never the longest.
        """
        return {stage: _longest(self._contenders(place)) for place, stage in enumerate(self.stages)}

    def bottlenecks_of_run(self) -> Iterator[str]:
        """What binds the stages with most of the time; then what would without that, and so on."""
        stages = [self._contenders(place) for place in range(len(self.stages))]
        while stages:
            total: defaultdict[str, float] = defaultdict(float)
            for contenders in stages:
                bound_by = _longest(contenders)
                total[bound_by] += contenders[bound_by]
            most = _longest(total)
            yield most
            for contenders in stages:
                contenders.pop(most, None)
            stages = [contenders for contenders in stages if contenders]

    def _network(self, place: int) -> dict[str, float]:
        seconds = float(self.network[place])
        return {NETWORK: seconds} if math.isfinite(seconds) else {}

    def _contenders(self, place: int) -> dict[str, float]:
        """What a stage may be bound by, with its seconds.

        Tasks that share their cores wait about as long as they compute: only more unmeasured waiting counts.
        """
        seconds = {part: float(column[place]) for part, column in self.held.items()}
        seconds[UNMEASURED] = max(0.0, seconds[UNMEASURED] - seconds[CPU])
        return seconds | self._network(place)


def _longest(seconds: dict[str, float]) -> str:
    """The one with the most seconds; among equals one that can be bought."""
    order = (CPU, NETWORK, DISK, PYTHON_WORKER, UNMEASURED, SCHEDULER)
    return max(
        seconds, key=lambda part: (seconds[part], -order.index(part) if part in order else -len(order))
    )


def ideal_times(log: EventLog, capacity: Capacity, use: ResourceUse | None = None) -> IdealTimes:
    """The ideal times of a run's stages."""
    use = use or resource_use(log)
    tasks = log.task_columns
    began, ended = np.full(len(use.stages), np.inf), np.full(len(use.stages), -np.inf)
    np.minimum.at(began, use.stage_of, tasks.launched_at)
    np.maximum.at(ended, use.stage_of, tasks.finished_at)
    longest = FASTER_THAN_ITS_CAPACITY * np.maximum(1e-3, ended - began)
    network = np.full(len(use.stages), np.nan)
    if (rate := capacity.network_gigabytes_per_second) is not None:
        seconds = use.summed(tasks.shuffle_remote_bytes) / (max(1, log.most_executors) * rate * 1e9)
        network = np.where(seconds <= longest, seconds, np.nan)
    return IdealTimes(
        stages=use.stages,
        cpu=use.seconds(COMPUTING) / use.parallelism,
        network=network,
        held={part: use.summed(column) / use.parallelism for part, column in use.parts.items()},
    )


# A machine's tasks wait for a resource while they spend at least this share of their time on that.
WAITING_SHARE = 0.5

_QUANTILE = 0.95  # of the rates at such moments: the highest come from the rounded times of very short tasks
_SHORTEST_SECONDS = 1.0  # of such moments on all machines: less tells nothing


def executor_cores(log: EventLog) -> int:
    """Tasks that the run's smallest machine ran at once."""
    return max(1, min(log.slots_by_worker.values(), default=1))


def achieved_capacity(log: EventLog, use: ResourceUse | None = None) -> Capacity:
    """The network rate that the run's own tasks got while they waited for it; None if none did.

    A link that was never full does not show what it could do: only moments count in which a machine's tasks
    spent at least half of their time waiting for it. A task's bytes are spread evenly over its time, so this
    is a lower bound. Disks show nothing, since writes go to the page cache first.
    """
    use = use or resource_use(log)
    worker_of = {executor.number: executor.worker for executor in log.executors}
    workers = np.array([worker_of.get(number) for number in log.task_columns.executor.tolist()], dtype=object)
    moments = [
        _waiting_moments(log, np.flatnonzero(workers == worker), use.parts[NETWORK])
        for worker in sorted(set(worker_of.values()))
    ]
    rates, lengths = np.concatenate([np.empty((2, 0)), *moments], axis=1)
    found = 0.0
    if lengths.sum() >= _SHORTEST_SECONDS:
        order = np.argsort(rates)
        passed = np.cumsum(lengths[order])
        place = min(int(np.searchsorted(passed, _QUANTILE * passed[-1])), len(order) - 1)
        found = float(rates[order[place]]) / 1e9
    return Capacity(cores=executor_cores(log), network_gigabytes_per_second=found if found > 0 else None)


def _waiting_moments(log: EventLog, rows: IntColumn, waited: FloatColumn) -> FloatColumn:
    """The bytes per second that a machine fetched while its tasks waited, and how long; (2, moments)."""
    tasks = log.task_columns
    moved = tasks.shuffle_remote_bytes[rows]
    if not moved.any():
        return np.empty((2, 0))
    began = tasks.launched_at[rows]
    # Times are rounded to milliseconds: a task of none would be infinitely fast.
    lasted = np.maximum(1e-3, tasks.finished_at[rows] - began)
    spans = Spans(began, began + lasted)
    at_work = spans.running(np.ones(len(rows)))
    waiting = spans.running(waited[rows] / lasted) >= WAITING_SHARE * at_work
    counts = (spans.lengths > 0) & (at_work > 0.5) & waiting
    return np.stack([spans.running(moved / lasted)[counts], spans.lengths[counts]])


class Spans:
    """The times between the begins and ends of tasks, (spans,): in each of them the same tasks ran.

    Some `lengths` may be 0.
    """

    def __init__(self, began: FloatColumn, ended: FloatColumn) -> None:
        edges = np.concatenate([began, ended])
        self._order = np.argsort(edges, kind="stable")
        self.starts = edges[self._order][:-1]
        self.lengths = np.diff(edges[self._order])

    def running(self, each: FloatColumn) -> FloatColumn:
        """The sum of a figure of tasks, (tasks,), over those that run, (spans,)."""
        return np.cumsum(np.concatenate([each, -each])[self._order])[:-1]


_TELLING_SHARE = 0.05  # of the tasks' time: less in Python workers hardly changes an answer


@dataclass(frozen=True, kw_only=True)
class Change:
    """Other machines than those of the run; the defaults change nothing."""

    cpu: float = 1.0  # how many times as fast a core is
    network: float = 1.0  # how many times as fast a machine's network is
    disk: float = 1.0  # how many times as fast a machine's disks together are
    executors: int | None = None  # how many there are
    cores: int | None = None  # tasks that a machine runs at once
    name: str = ""  # made from the rest if empty

    @property
    def words(self) -> str:
        """The change in words, such as "half the network, 8 cores a machine"."""
        if self.name:
            return self.name
        factors = {"the speed of a core": self.cpu, "the network": self.network, "the disks": self.disk}
        times = {2.0: "twice ", 0.5: "half "}
        parts = [
            f"{times.get(factor, f'{factor:g} times ')}{thing}"
            for thing, factor in factors.items()
            if factor != 1.0
        ]
        if self.cores is not None:
            parts.append(f"{counted(self.cores, 'core')} a machine")
        if self.executors is not None:
            parts.append(counted(self.executors, "machine"))
        return ", ".join(parts) or "the same machines"


def what_ifs(
    log: EventLog,
    capacity: Capacity,
    changes: Iterable[Change] | None = None,
    *,
    use: ResourceUse | None = None,
    as_it_was: Replayed | None = None,
) -> tuple[WhatIf, ...]:
    """The run on several kinds of other machines; by default on those that are worth asking about.

    The capacity is that of one of its machines; the use of resources and the replay as it was are made if
    they are not at hand.

    Raises:
        EventLogError: no task ended.
    """
    use, as_it_was = use or resource_use(log), as_it_was or replay(log)
    if changes is None:
        changes = [Change(cpu=2.0), Change(cores=2 * capacity.cores, name="twice the cores a machine")]
        if log.task_columns.shuffle_remote_bytes.any():
            changes += [Change(network=2.0), Change(network=0.5)]
        if use.parts[DISK].any():
            changes.append(Change(disk=2.0))
    return tuple(_imagined(log, capacity, change, use, as_it_was) for change in changes)


def _imagined(
    log: EventLog, capacity: Capacity, change: Change, use: ResourceUse, as_it_was: Replayed
) -> WhatIf:
    changed = log if change.cores is None else _with_cores(log, change.cores)
    seconds = changed_task_seconds(log, capacity, change, use)
    new = replay(changed, executors=change.executors, task_seconds=seconds, plan=as_it_was.plan).seconds
    ratio = new / as_it_was.seconds if as_it_was.seconds > 0 else 1.0
    doubts = list(_doubts(log, capacity, change, use))
    return WhatIf(
        change=f"{change.words} ({'; '.join(doubts)})" if doubts else change.words,
        seconds=max(0.0, log.clean_seconds) * ratio,
        change_percent=100.0 * (ratio - 1.0),
    )


def _doubts(log: EventLog, capacity: Capacity, change: Change, use: ResourceUse) -> Iterator[str]:
    # A Python worker that waits for a service does so on any core.
    in_python = float(use.parts[PYTHON_WORKER].sum())
    if change.cpu != 1.0 and in_python >= _TELLING_SHARE * float(log.task_columns.seconds.sum()) > 0:
        bound = "at best" if change.cpu > 1.0 else "at worst"
        yield f"{bound}: Python workers may wait rather than compute"
    # A lower bound: tasks may have used what they did not wait for.
    slower = {
        "the network's": change.network < 1 and capacity.network_gigabytes_per_second is None,
        "the disks'": change.disk < 1,
    }
    if any(slower.values()):
        unknown = [thing for thing, is_unknown in slower.items() if is_unknown]
        yield f"at least: {' and '.join(unknown)} rate is not known"


def _with_cores(log: EventLog, cores: int) -> EventLog:
    """The run with other cores a machine, of which its executors keep their shares."""

    def changed(executor: ExecutorRow) -> ExecutorRow:
        slots = log.slots_of(executor)
        share = slots / log.slots_by_worker[executor.worker] if slots else 1.0
        return dataclasses.replace(executor, cores=max(1, round(cores * share)) * log.task_cores)

    return dataclasses.replace(log, executors=tuple(map(changed, log.executors)))


def changed_task_seconds(
    log: EventLog, capacity: Capacity, change: Change, use: ResourceUse | None = None
) -> FloatColumn:
    """The seconds that each task would take on other machines by what it used and waited for, shape (tasks,).

    The thesis scales a stage's time by the ratio of its longest ideal times, new over old: its monotasks
    overlap their use of resources. Spark's tasks do so less well, and much of their time uses no resource.
    So here a stage's time on other networks is

        its time  x  longer of (bytes' new ideal time, the rest)  /  longer of (bytes' ideal time, the rest)

    but no more than the rest plus the bytes' new time; the rest is the tasks' time without waiting for these
    bytes. Without a known capacity, as of disks, the waiting is scaled, which predicts too little for slower
    machines. Waiting that no resource explains stays.

    On another number of machines a task keeps its share of its machine's network and disks; the replay counts
    what comes from other machines then.
    """
    use = use or resource_use(log)
    parallelism = use.parallelism
    if change.cores is not None:
        slots = max(1, log.most_executors) * change.cores
        parallelism = np.minimum(use.summed(np.ones(len(log.task_columns))), slots)
    total: FloatColumn = np.maximum(0.0, log.task_columns.seconds)
    computing = sum((use.parts[part] for part in COMPUTING), np.zeros(len(total)))
    seconds = total - (computing - computing / change.cpu)
    rest = seconds - use.parts[NETWORK]
    fetching = _new_fetching(log, capacity, use, 1.0 / change.network, rest, parallelism)
    # Full disks are queued for, also by the tasks of more cores; a full network shows in the rates achieved.
    disks = parallelism / use.parallelism / change.disk
    return rest + fetching + use.parts[DISK] * (disks[use.stage_of] - 1.0)


def _new_fetching(
    log: EventLog,
    capacity: Capacity,
    use: ResourceUse,
    ratio: float,
    rest: FloatColumn,
    parallelism: FloatColumn,
) -> FloatColumn:
    """Seconds that each task will wait for its bytes if these take `ratio` times as long, shape (tasks,).

    `rest` is what each task will take without waiting for them, shape (tasks,), and `parallelism` how many
    tasks of each stage there will be at once, shape (stages,).
    """
    own, byte_count = use.parts[NETWORK], log.task_columns.shuffle_remote_bytes
    ideal, waited = ideal_times(log, capacity, use).network, use.summed(own)
    total = use.summed(np.maximum(0.0, log.task_columns.seconds))
    known = np.isfinite(ideal)
    # A network that tasks mostly waited for was full, though it gave less than its rate, for its headers.
    full = waited >= WAITING_SHARE * total
    needed = np.where(full, np.maximum(ideal, waited / use.parallelism), ideal)
    needed = np.where(known, np.minimum(needed, total / use.parallelism), 0.0)
    by_capacity = parallelism * _stage_waiting(
        waited / parallelism, needed, ratio, rest=use.summed(rest) / parallelism
    )
    new = np.where(known, by_capacity, waited * ratio)
    more = np.maximum(0.0, new - waited)
    kept = quotient(np.minimum(new, waited), waited, default=1.0)
    has_bytes = use.summed(byte_count)[use.stage_of] > 0
    column = np.where(has_bytes, byte_count, own)
    share = quotient(column, use.summed(column)[use.stage_of], default=0.0)
    seconds: FloatColumn = own * kept[use.stage_of] + share * more[use.stage_of]
    return seconds


def _stage_waiting(
    waited: FloatColumn, needed: FloatColumn, ratio: float, *, rest: FloatColumn
) -> FloatColumn:
    """Seconds that a stage's slots will wait if its bytes need `ratio` times as long, shape (stages,).

    They waited so long for bytes that `needed` an ideal time, and will do the `rest` beside.
    """
    # Faster or more cores are done sooner, and then wait for the bytes.
    waits = np.maximum(waited, needed - rest)
    growth = quotient(np.maximum(rest, needed * ratio), np.maximum(rest, needed), default=1.0)
    one_by_one = ratio * np.maximum(needed, waits)
    waiting: FloatColumn = np.clip((rest + waits) * growth - rest, 0.0, one_by_one)
    return waiting


def quotient(part: FloatColumn, whole: FloatColumn, *, default: float) -> FloatColumn:
    """The parts divided by their wholes; the default where a whole is 0."""
    return np.divide(part, whole, out=np.full_like(whole, default), where=whole > 0)
