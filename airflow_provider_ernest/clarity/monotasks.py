"""How long each stage would take at least on each resource, and which of them binds it.

After Ousterhout's thesis (UCB/EECS-2017-158), chapter on reasoning about performance with monotasks: the
ideal time of a stage on a resource is its total use of it over the cluster's capacity, and the stage is bound
by the resource whose ideal time is longest. Spark's tasks are no monotasks: use of CPU and of network is
known from their metrics, use of disks only roughly (see `disk_bytes`).
"""

from __future__ import annotations

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

COMPUTING = (CPU, GARBAGE_COLLECTION, PYTHON_WORKER)
"""The parts of a task's time that take a core. Python's are among them: a job whose work is in Python would
look idle else."""

FASTER_THAN_ITS_CAPACITY = 1.25
"""Where a stage moves its bytes so many times faster than the capacity allows, it did not use that resource:
its bytes were in the page cache, say. The capacity then tells nothing of it."""


@dataclass(frozen=True, kw_only=True)
class ResourceUse:
    """The tasks of a run by stage.

    Attributes:
        stages: that had tasks, ascending; k of them.
        stage_of: position in `stages` of each task's, shape (tasks,).
        parts: what each task did with its time, see `split_seconds`; each of shape (tasks,).
        parallelism: tasks of each stage that can run at once, no more than it has, nor than slots; (k,).
        in_python: whether a stage hands its rows to Python, shape (k,).
    """

    stages: tuple[StageKey, ...]
    stage_of: IntColumn
    parts: dict[str, FloatColumn]
    parallelism: FloatColumn
    in_python: BoolColumn

    def summed(self, column: FloatColumn | IntColumn) -> FloatColumn:
        """A column of tasks summed over those of each stage, shape (k,)."""
        sums = np.bincount(self.stage_of, weights=column, minlength=len(self.stages))
        return sums.astype(np.float64)

    def seconds(self, parts: Iterable[str]) -> FloatColumn:
        """What the tasks of each stage spent in some parts of their time, summed, shape (k,)."""
        return sum((self.summed(self.parts[part]) for part in parts), np.zeros(len(self.stages)))


def resource_use(log: EventLog) -> ResourceUse:
    """What the tasks of a run did with their time, failed attempts and second copies included."""
    tasks = log.task_columns
    stages, stage_of = tasks.by_stage
    in_python = runs_python(log.stages, stages)
    tasks_of = np.bincount(stage_of, minlength=len(stages))
    return ResourceUse(
        stages=stages,
        stage_of=stage_of,
        parts=split_seconds(tasks, in_python=in_python[stage_of]),
        parallelism=np.minimum(tasks_of, log.slots or most_at_once(tasks)).astype(np.float64),
        in_python=in_python,
    )


def split_seconds(tasks: TaskColumns, *, in_python: BoolColumn) -> dict[str, FloatColumn]:
    """The parts of each task's time, which add up to it; each of shape (tasks,).

    `CPU` is that of its thread, and the (de)serialisation of its closure and its result; `SCHEDULER` what
    passes between the scheduler and the executor, and while the driver fetches a large result; `UNMEASURED`
    the rest: services that it calls, reading of input, a core that others use as well.

    Spark's CPU time is that of the task's own thread: Python workers, garbage collection and the JIT compiler
    are not in it. Writing into the page cache takes CPU, so only what of the shuffle write time is not CPU
    time counts as waiting for the disk.

    Args:
        tasks: the tasks.
        in_python: whether a task's stage hands its rows to Python: what is left of its running time then
            goes to the Python worker, where the log does not tell how long that took. Shape (tasks,).
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
    """What each task may have moved from or to disks, shape (tasks,).

    Input, output, what it wrote for later stages and read of earlier ones (from a disk of its own machine or
    of another), and what it spilled, which is written and read again. Much of that is only moved to and from
    the page cache: it is an upper bound.
    """
    shuffled = tasks.shuffle_written_bytes + tasks.shuffle_read_bytes
    moved: IntColumn = tasks.input_bytes + tasks.output_bytes + shuffled + 2 * tasks.disk_spilled_bytes
    return moved


@dataclass(frozen=True, kw_only=True)
class IdealTimes:
    """Ideal times of the stages of a run; columns of shape (stages,).

    Attributes:
        stages: that had tasks, ascending.
        cpu: seconds that the cores need which the stage's tasks can use at once.
        moved: seconds that `NETWORK` and `DISK` need; NaN where no capacity is known, or the stage has
            shown that it does not apply.
        held: seconds that each part of the tasks' time holds those cores.
    """

    stages: tuple[StageKey, ...]
    cpu: FloatColumn
    moved: dict[str, FloatColumn]
    held: dict[str, FloatColumn]

    def seconds(self) -> dict[StageKey, dict[str, float]]:
        """The seconds that each stage needs at least of each resource; those not known are left out."""
        return {
            stage: {CPU: float(self.cpu[place])} | self._moved(place)
            for place, stage in enumerate(self.stages)
        }

    def seconds_of_run(self) -> dict[str, float]:
        """The seconds that all stages together need at least of each resource."""
        total: dict[str, float] = {}
        for of_stage in self.seconds().values():
            for resource, seconds in of_stage.items():
                total[resource] = total.get(resource, 0.0) + seconds
        return total

    def bottlenecks(self) -> dict[StageKey, str]:
        """What each stage is bound by: `CPU`, `NETWORK`, `DISK`, or one of the things that tasks wait for.

        Where the capacity of network or disk is not known, the time that its tasks waited for it stands for
        its ideal time: that of a link that is never full is never the longest.
        """
        return {stage: _longest(self._contenders(place)) for place, stage in enumerate(self.stages)}

    def bottlenecks_of_run(self) -> Iterator[str]:
        """What the stages are bound by in which most time goes; then, were it not for that, and so on."""
        stages = [self._contenders(place) for place in range(len(self.stages))]
        while stages:
            total: dict[str, float] = {}
            for contenders in stages:
                bound_by = _longest(contenders)
                total[bound_by] = total.get(bound_by, 0.0) + contenders[bound_by]
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

        Tasks that share their cores with others wait as long as they compute, or so: of unmeasured waiting,
        only what is more than that is distinguished from computing.
        """
        seconds = {part: float(column[place]) for part, column in self.held.items()}
        seconds[UNMEASURED] = max(0.0, seconds[UNMEASURED] - seconds[CPU])
        return seconds | self._moved(place)


def _longest(seconds: dict[str, float]) -> str:
    """The one with the most seconds; of several alike the one that can be bought rather than waited for."""
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


STATED, ACHIEVED = "stated", "achieved"
"""Where a `Capacity` comes from; what a probe "measured" comes with the cluster."""

WAITING_SHARE = 0.5
"""A machine's tasks wait for a resource while they spend at least this share of their time on that."""

_QUANTILE = 0.95
"""Of the rates at such moments: the highest are those of tasks so short that their times are rounded."""

_SHORTEST_SECONDS = 1.0
"""Of such moments, over all machines: less tells nothing."""


def cores_per_machine(log: EventLog) -> int:
    """Tasks that a machine of the run ran at once; of the smallest, were they not alike."""
    return max(1, min(log.slots_by_worker.values(), default=1))


def stated_capacity(log: EventLog, *, network: float | None = None, disk: float | None = None) -> Capacity:
    """By what the user says of a machine.

    Args:
        log: of a run on such machines.
        network: in one direction, in 10^9 bytes per second; None where nobody says.
        disk: of all disks together, likewise.

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
    """By what the run's own tasks got of the network while they waited for it; None where none did.

    A link that was never full shows how little was asked of it, not what it could do. So only those moments
    count in which the tasks of a machine spent at least half of their time waiting for it. A task's bytes are
    spread evenly over its time, so that what is found is a lower bound. Of disks nothing is found: what tasks
    write goes to the page cache first, and how fast that is says nothing of a disk.
    """
    use = use or resource_use(log)
    moments = [_waiting_moments(log, rows, use.parts[NETWORK]) for rows in _rows_by_machine(log)]
    return Capacity(
        cores=cores_per_machine(log),
        network_gigabytes_per_second=_typical_rate(
            np.concatenate([np.empty(0), *(rates for rates, _ in moments)]),
            np.concatenate([np.empty(0), *(lengths for _, lengths in moments)]),
        ),
        source=ACHIEVED,
    )


def _typical_rate(rates: FloatColumn, lengths: FloatColumn) -> float | None:
    """The quantile of bytes per second at moments of these lengths, in 10^9; None if they are too short."""
    if lengths.sum() < _SHORTEST_SECONDS:
        return None
    order = np.argsort(rates)
    passed = np.cumsum(lengths[order])
    place = min(int(np.searchsorted(passed, _QUANTILE * passed[-1])), len(order) - 1)
    found = float(rates[order[place]]) / 1e9
    return found if found > 0 else None


def _waiting_moments(log: EventLog, rows: IntColumn, waited: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
    """Bytes per second that one machine fetched, and for how long, while its tasks waited; (moments,)."""
    tasks = log.task_columns
    moved = tasks.shuffle_remote_bytes[rows]
    if not moved.any():
        return np.empty(0), np.empty(0)
    began = tasks.launched_at[rows]
    # Times come in milliseconds: a task of none would be infinitely fast.
    lasted = np.maximum(1e-3, tasks.finished_at[rows] - began)
    spans = Spans(began, began + lasted)
    at_work = spans.running(np.ones(len(rows)))
    waiting = spans.running(waited[rows] / lasted) >= WAITING_SHARE * at_work
    counts = (spans.lengths > 0) & (at_work > 0.5) & waiting
    return spans.running(moved / lasted)[counts], spans.lengths[counts]


def _rows_by_machine(log: EventLog) -> list[IntColumn]:
    """The places of each machine's tasks."""
    worker_of = {executor.number: executor.worker for executor in log.executors}
    workers = np.array([worker_of.get(number) for number in log.task_columns.executor.tolist()], dtype=object)
    return [np.flatnonzero(workers == worker) for worker in sorted(set(worker_of.values()))]


class Spans:
    """The times between the begins and ends of tasks, in each of which the same tasks ran; (spans,).

    Args:
        began: of each task, shape (tasks,).
        ended: likewise.

    Attributes:
        starts: of the spans.
        lengths: likewise; some may be 0.
    """

    def __init__(self, began: FloatColumn, ended: FloatColumn) -> None:
        edges = np.concatenate([began, ended])
        self._order = np.argsort(edges, kind="stable")
        self.starts = edges[self._order][:-1]
        self.lengths = np.diff(edges[self._order])

    def running(self, each: FloatColumn) -> FloatColumn:
        """What each task has of something while it runs, summed over those that run; (spans,)."""
        return np.cumsum(np.concatenate([each, -each])[self._order])[:-1]
