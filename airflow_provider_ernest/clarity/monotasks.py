"""How long each stage would take at least on each resource, and which one binds it.

After Ousterhout's thesis (UCB/EECS-2017-158), on reasoning about performance with monotasks: a stage's ideal
time on a resource is its total use of it over the cluster's capacity, and the longest ideal time binds the
stage. Spark's tasks are no monotasks: their metrics tell the use of CPU and network, but only roughly that
of disks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.clarity.blocked_time import python_wanted, runs_python, taken_in_turn
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
)
from airflow_provider_ernest.eventlog.tables import (
    BoolColumn,
    EventLog,
    FloatColumn,
    IntColumn,
    StageKey,
    TaskColumns,
)
from airflow_provider_ernest.exceptions import InvalidParameterError

# The parts of a task's time that take a core, Python's among them.
COMPUTING = (CPU, GARBAGE_COLLECTION, PYTHON_WORKER)

# A stage that moved its bytes so many times faster than the capacity allows did not use that resource: they
# were in the page cache, say.
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


def disk_bytes(tasks: TaskColumns) -> IntColumn:
    """Upper bound of the bytes that each task moved from or to disks, (tasks,).

    Input, output, shuffle data written and read (also on other machines' disks), and twice what it spilled,
    which is read again. Much of that only goes to and from the page cache.
    """
    shuffled = tasks.shuffle_written_bytes + tasks.shuffle_read_bytes
    moved: IntColumn = tasks.input_bytes + tasks.output_bytes + shuffled + 2 * tasks.disk_spilled_bytes
    return moved


@dataclass(frozen=True, kw_only=True)
class IdealTimes:
    """Ideal times of the stages of a run; columns of shape (stages,)."""

    stages: tuple[StageKey, ...]  # that had tasks, ascending
    cpu: FloatColumn  # computing on the cores that the stage's tasks can use at once
    moved: dict[str, FloatColumn]  # by `NETWORK` and `DISK`; NaN if unknown, or shown not to apply
    held: dict[str, FloatColumn]  # by each part of the tasks' time, on those cores

    def seconds(self) -> dict[StageKey, dict[str, float]]:
        """The seconds that each stage needs at least of each resource, if known."""
        return {
            stage: {CPU: float(self.cpu[place])} | self._moved(place)
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

        If the capacity of network or disk is unknown, its tasks' waiting stands for the ideal time: that of a
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

    def _moved(self, place: int) -> dict[str, float]:
        return {
            resource: float(column[place])
            for resource, column in self.moved.items()
            if np.isfinite(column[place])
        }

    def _contenders(self, place: int) -> dict[str, float]:
        """What a stage may be bound by, with its seconds.

        Tasks that share their cores wait about as long as they compute: only more unmeasured waiting counts.
        """
        seconds = {part: float(column[place]) for part, column in self.held.items()}
        seconds[UNMEASURED] = max(0.0, seconds[UNMEASURED] - seconds[CPU])
        return seconds | self._moved(place)


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

    def needed(moved_bytes: IntColumn, rate: float | None) -> FloatColumn:
        if rate is None:
            return np.full(len(use.stages), np.nan)
        seconds = use.summed(moved_bytes) / (max(1, len(log.machines)) * rate * 1e9)
        return np.where(seconds <= longest, seconds, np.nan)

    return IdealTimes(
        stages=use.stages,
        cpu=use.seconds(COMPUTING) / use.parallelism,
        moved={
            NETWORK: needed(tasks.shuffle_remote_bytes, capacity.network_gigabytes_per_second),
            DISK: needed(disk_bytes(tasks), capacity.disk_gigabytes_per_second),
        },
        held={part: use.summed(column) / use.parallelism for part, column in use.parts.items()},
    )


# Where a `Capacity` comes from; one that a probe "measured" comes with the cluster.
STATED, ACHIEVED = "stated", "achieved"

# A machine's tasks wait for a resource while they spend at least this share of their time on that.
WAITING_SHARE = 0.5

_QUANTILE = 0.95  # of the rates at such moments: the highest come from the rounded times of very short tasks
_SHORTEST_SECONDS = 1.0  # of such moments on all machines: less tells nothing


def cores_per_machine(log: EventLog) -> int:
    """Tasks that the run's smallest machine ran at once."""
    return max(1, min(log.slots_by_worker.values(), default=1))


def stated_capacity(log: EventLog, *, network: float | None = None, disk: float | None = None) -> Capacity:
    """The capacity that a user states.

    In 10^9 bytes per second: of the `network` in one direction, of all of a machine's disks together.

    Raises:
        InvalidParameterError: one of them is not above 0.
    """
    for name, rate in (("network", network), ("disk", disk)):
        if rate is not None and not (np.isfinite(rate) and rate > 0):
            raise InvalidParameterError(name, rate, "is not a finite number of gigabytes per second above 0")
    return Capacity(
        cores=cores_per_machine(log),
        network_gigabytes_per_second=network,
        disk_gigabytes_per_second=disk,
        source=STATED,
    )


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
    return Capacity(
        cores=cores_per_machine(log),
        network_gigabytes_per_second=found if found > 0 else None,
        source=ACHIEVED,
    )


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
