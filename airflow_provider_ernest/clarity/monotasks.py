"""How long each stage would take at least on each resource, and which of them binds it.

After Ousterhout's thesis (UCB/EECS-2017-158), chapter on reasoning about performance with monotasks: the
ideal time of a stage on a resource is its total use of it over the cluster's capacity, and the stage is bound
by the resource whose ideal time is longest. Spark's tasks are no monotasks: use of CPU and of network is
known from their metrics, use of disks only roughly (see `resource_use.disk_bytes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.clarity.blocked_time import python_stages
from airflow_provider_ernest.clarity.replay_plan import most_at_once
from airflow_provider_ernest.eventlog.tables import EventLog
from airflow_provider_ernest.eventlog.tasks import BoolColumn, FloatColumn, IntColumn, TaskColumns
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.run_profile import (
    CPU,
    DISK,
    GARBAGE_COLLECTION,
    NETWORK,
    PYTHON_WORKER,
    SCHEDULER,
    UNMEASURED,
    Capacity,
)

# ---------------------------------------------------------------------------
# What each task of a run did with its time, and what each stage used of the machines.
#
# A task's time is split into parts that do not overlap and add up to it:
#
# CPU                 its thread's CPU, and the (de)serialisation of its closure and its result
# NETWORK             waiting for shuffle data from other machines
# DISK                waiting for its shuffle data to be written
# GARBAGE_COLLECTION  stopped by its executor's garbage collection
# PYTHON_WORKER       waiting for its Python worker, which computes, or waits in turn: Spark cannot tell
# SCHEDULER           between the scheduler and the executor, and the driver fetching a large result
# UNMEASURED          the rest: services that it calls, reading of input, a core that others use as well
#
# Spark's CPU time is that of the task's own thread: Python workers, garbage collection and the JIT compiler
# are not in it. Writing into the page cache takes CPU, so only what of the shuffle write time is not CPU time
# counts as waiting for the disk.


PARTS = (CPU, NETWORK, DISK, GARBAGE_COLLECTION, PYTHON_WORKER, SCHEDULER, UNMEASURED)
"""The parts of a task's time."""

COMPUTING = (CPU, GARBAGE_COLLECTION, PYTHON_WORKER)
"""The parts that take a core. Python's are among them: a job whose work is in Python would look idle else."""

StageKey = tuple[int, int]
"""Number of a stage, and of its attempt."""


@dataclass(frozen=True, kw_only=True)
class ResourceUse:
    """The tasks of a run by stage.

    Attributes:
        stages: that had tasks, ascending; k of them.
        stage_of: position in `stages` of each task's, shape (tasks,).
        parts: seconds by each of `PARTS`, each of shape (tasks,); together the tasks' seconds.
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
        """What the tasks of each stage spent in some of `PARTS`, summed, shape (k,)."""
        return sum((self.summed(self.parts[part]) for part in parts), np.zeros(len(self.stages)))


def resource_use(log: EventLog) -> ResourceUse:
    """What the tasks of a run did with their time, failed attempts and second copies included."""
    stages, stage_of, tasks_of = _stages_of(log.task_columns)
    pythonic = python_stages(log.stages)
    in_python = np.array([stage in pythonic for stage in stages], dtype=np.bool_)
    return ResourceUse(
        stages=stages,
        stage_of=stage_of,
        parts=split_seconds(log.task_columns, in_python=in_python[stage_of]),
        parallelism=np.minimum(tasks_of, log.slots or most_at_once(log.task_columns)).astype(np.float64),
        in_python=in_python,
    )


def split_seconds(tasks: TaskColumns, *, in_python: BoolColumn) -> dict[str, FloatColumn]:
    """The parts of each task's time, each of shape (tasks,).

    What is measured in milliseconds may add up to more than a task took: each part gets at most what those
    before it have left.

    Args:
        tasks: the tasks.
        in_python: whether a task's stage hands its rows to Python: what is left of its running time then
            goes to the Python worker, where the log does not tell how long that took. Shape (tasks,).
    """
    left = np.maximum(0.0, tasks.seconds)
    python = np.where(np.isnan(tasks.python_seconds), np.where(in_python, np.inf, 0.0), tasks.python_seconds)
    delay = tasks.scheduler_delay_seconds + tasks.getting_result_seconds
    parts: dict[str, FloatColumn] = {}
    for part, seconds in (
        (SCHEDULER, delay),
        (CPU, tasks.cpu_seconds + tasks.deserialise_seconds + tasks.result_serialisation_seconds),
        (NETWORK, tasks.fetch_wait_seconds),
        (DISK, tasks.shuffle_write_seconds),
        (GARBAGE_COLLECTION, tasks.garbage_collection_seconds),
        (PYTHON_WORKER, python),
    ):
        parts[part] = np.clip(seconds, 0.0, left)
        left = left - parts[part]
    parts[UNMEASURED] = left
    return parts


def disk_bytes(tasks: TaskColumns) -> IntColumn:
    """What each task may have moved from or to disks, shape (tasks,).

    Input, output, what it wrote for later stages and read of earlier ones (from a disk of its own machine or
    of another), and what it spilled, which is written and read again. Much of that is only moved to and from
    the page cache: it is an upper bound.
    """
    shuffled = tasks.shuffle_written_bytes + tasks.shuffle_local_bytes + tasks.shuffle_remote_bytes
    moved: IntColumn = tasks.input_bytes + tasks.output_bytes + shuffled + 2 * tasks.disk_spilled_bytes
    return moved


def _stages_of(tasks: TaskColumns) -> tuple[tuple[StageKey, ...], IntColumn, IntColumn]:
    """The stages that had tasks, each task's among them, and how many each had."""
    pairs = np.column_stack([tasks.stage_id, tasks.stage_attempt])
    found, stage_of, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    return tuple((int(stage), int(attempt)) for stage, attempt in found), stage_of.reshape(-1), counts


# ---------------------------------------------------------------------------


FASTER_THAN_ITS_CAPACITY = 1.25
"""Where a stage moves its bytes so many times faster than the capacity allows, it did not use that resource:
its bytes were in the page cache, say. The capacity then tells nothing of it."""


@dataclass(frozen=True, kw_only=True)
class Ideal:
    """Ideal times of the stages of a run, in the order of `ResourceUse.stages`; columns of shape (stages,).

    Attributes:
        cpu: seconds that the cores need which the stage's tasks can use at once.
        moved: seconds that `NETWORK` and `DISK` need; NaN where no capacity is known, or the stage has
            shown that it does not apply.
        held: seconds that each of `PARTS` of the tasks' time holds those cores.
    """

    cpu: FloatColumn
    moved: dict[str, FloatColumn]
    held: dict[str, FloatColumn]


def ideal_seconds(
    log: EventLog, capacity: Capacity, use: ResourceUse | None = None
) -> dict[StageKey, dict[str, float]]:
    """The seconds that each stage needs at least of each resource; those not known are left out.

    Args:
        log: the run.
        capacity: of one of its machines.
        use: of the run, where it is at hand.
    """
    use = use or resource_use(log)
    ideal = ideal_times(log, capacity, use)
    return {stage: _known(ideal, place) for place, stage in enumerate(use.stages)}


def bottlenecks(log: EventLog, capacity: Capacity, use: ResourceUse | None = None) -> dict[StageKey, str]:
    """What each stage is bound by: `CPU`, `NETWORK`, `DISK`, or one of the things that tasks wait for.

    Where the capacity of network or disk is not known, the time that its tasks waited for it stands for its
    ideal time: that of a link that is never full is never the longest.
    """
    use = use or resource_use(log)
    ideal = ideal_times(log, capacity, use)
    return {stage: _longest(_contenders(ideal, place)) for place, stage in enumerate(use.stages)}


def bottlenecks_of_run(log: EventLog, capacity: Capacity, use: ResourceUse | None = None) -> Iterator[str]:
    """What the stages are bound by in which most of the time goes; then, were it not for that, and so on.

    None where there are no stages.
    """
    use = use or resource_use(log)
    ideal = ideal_times(log, capacity, use)
    stages = [_contenders(ideal, place) for place in range(len(use.stages))]
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


def ideal_seconds_of_run(
    log: EventLog, capacity: Capacity, use: ResourceUse | None = None
) -> dict[str, float]:
    """The seconds that all stages together need at least of each resource."""
    total: dict[str, float] = {}
    for of_stage in ideal_seconds(log, capacity, use).values():
        for resource, seconds in of_stage.items():
            total[resource] = total.get(resource, 0.0) + seconds
    return total


def unmeasured_seconds(log: EventLog, use: ResourceUse | None = None) -> dict[StageKey, float]:
    """The seconds that the tasks of each stage spent on what Spark does not measure, summed over tasks."""
    use = use or resource_use(log)
    return dict(zip(use.stages, use.seconds([UNMEASURED]).tolist(), strict=True))


def ideal_times(log: EventLog, capacity: Capacity, use: ResourceUse) -> Ideal:
    """The same as columns."""
    machines = max(1, len(log.machines))
    lasted = np.maximum(1e-3, _wall_seconds(log, use))
    moved = {}
    for resource, column, rate in (
        (NETWORK, log.task_columns.shuffle_remote_bytes, capacity.network_gigabytes_per_second),
        (DISK, disk_bytes(log.task_columns), capacity.disk_gigabytes_per_second),
    ):
        seconds = np.full(len(use.stages), np.nan)
        if rate is not None:
            needed = use.summed(column) / (machines * rate * 1e9)
            seconds = np.where(needed <= FASTER_THAN_ITS_CAPACITY * lasted, needed, np.nan)
        moved[resource] = seconds
    return Ideal(
        cpu=use.seconds(COMPUTING) / use.parallelism,
        moved=moved,
        held={part: use.summed(column) / use.parallelism for part, column in use.parts.items()},
    )


def _wall_seconds(log: EventLog, use: ResourceUse) -> FloatColumn:
    """From each stage's first launch to its last finish."""
    began = np.full(len(use.stages), np.inf)
    ended = np.full(len(use.stages), -np.inf)
    np.minimum.at(began, use.stage_of, log.task_columns.launched_at)
    np.maximum.at(ended, use.stage_of, log.task_columns.finished_at)
    lasted: FloatColumn = ended - began
    return lasted


def _known(ideal: Ideal, place: int) -> dict[str, float]:
    seconds = {CPU: float(ideal.cpu[place])}
    for resource, column in ideal.moved.items():
        if np.isfinite(column[place]):
            seconds[resource] = float(column[place])
    return seconds


def _contenders(ideal: Ideal, place: int) -> dict[str, float]:
    """What a stage may be bound by, with its seconds.

    Tasks that share their cores with others wait as long as they compute, or so: of unmeasured waiting, only
    what is more than that is told apart from computing.
    """
    seconds = {part: float(column[place]) for part, column in ideal.held.items()}
    seconds[UNMEASURED] = max(0.0, seconds[UNMEASURED] - seconds[CPU])
    return seconds | {
        resource: float(column[place])
        for resource, column in ideal.moved.items()
        if np.isfinite(column[place])
    }


def _longest(seconds: dict[str, float]) -> str:
    """The one with the most seconds; of several alike the one that can be bought rather than waited for."""
    order = (CPU, NETWORK, DISK, PYTHON_WORKER, UNMEASURED, SCHEDULER)
    return max(
        seconds, key=lambda part: (seconds[part], -order.index(part) if part in order else -len(order))
    )


# ---------------------------------------------------------------------------
# What a machine of a run's cluster can do: as measured by the probe, as stated, or as its tasks achieved.
#
# What tasks achieved says something of a capacity only while they waited for it: a link that was never full
# shows how little was asked of it, not what it could do. So only those moments count in which the tasks of a
# machine spent at least half of their time waiting for the resource; where there were none, the capacity is
# not known. A task's bytes are spread evenly over its time, so that what is found is a lower bound. Of disks
# nothing is found: what tasks write goes to the page cache first, and how fast that is says nothing of a
# disk.


STATED, ACHIEVED = "stated", "achieved"
"""Where a `Capacity` comes from; what a probe "measured" comes with the cluster."""

WAITING_SHARE = 0.5
"""A machine's tasks wait for a resource while they spend at least this share of their time on that."""

QUANTILE = 0.95
"""Of the rates at such moments: the highest are those of tasks so short that their times are rounded."""

SHORTEST_SECONDS = 1.0
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
    """By what the run's own tasks got of the network while they waited for it; None where none did."""
    use = use or resource_use(log)
    return Capacity(
        cores=cores_per_machine(log),
        network_gigabytes_per_second=_achieved(
            log, log.task_columns.shuffle_remote_bytes, use.parts[NETWORK]
        ),
        source=ACHIEVED,
    )


def _achieved(log: EventLog, moved_bytes: IntColumn, waited: FloatColumn) -> float | None:
    """The rate of one machine, in 10^9 bytes per second, while its tasks waited; None where none did."""
    rates, seconds = [np.empty(0)], [np.empty(0)]
    for rows in _rows_by_machine(log):
        if moved_bytes[rows].any():
            rate, length = _waiting_moments(log, rows, moved_bytes, waited)
            rates.append(rate)
            seconds.append(length)
    rate, length = np.concatenate(rates), np.concatenate(seconds)
    if length.sum() < SHORTEST_SECONDS:
        return None
    order = np.argsort(rate)
    passed = np.cumsum(length[order])
    place = min(int(np.searchsorted(passed, QUANTILE * passed[-1])), len(order) - 1)
    found = float(rate[order[place]]) / 1e9
    return found if found > 0 else None


def _waiting_moments(
    log: EventLog, rows: IntColumn, moved_bytes: IntColumn, waited: FloatColumn
) -> tuple[FloatColumn, FloatColumn]:
    """Bytes per second of one machine, and for how long, while its tasks waited; each of shape (moments,).

    What a machine does changes only where one of its tasks begins or ends.
    """
    began, ended = log.task_columns.launched_at[rows], log.task_columns.finished_at[rows]
    # Times come in milliseconds: a task of none would be infinitely fast.
    lasted = np.maximum(1e-3, ended - began)
    edges = np.concatenate([began, began + lasted])
    order = np.argsort(edges, kind="stable")
    lengths = np.diff(edges[order])

    def running(each: FloatColumn) -> FloatColumn:
        return np.cumsum(np.concatenate([each, -each])[order])[:-1]

    at_work = running(np.ones(len(rows)))
    waiting = running(waited[rows] / lasted) >= WAITING_SHARE * at_work
    counts = (lengths > 0) & (at_work > 0.5) & waiting
    return running(moved_bytes[rows] / lasted)[counts], lengths[counts]


def _rows_by_machine(log: EventLog) -> list[IntColumn]:
    """The places of each machine's tasks."""
    workers = {executor.number: executor.worker for executor in log.executors}
    names = sorted(set(workers.values()))
    place = {number: names.index(worker) for number, worker in workers.items()}
    machine = np.array([place.get(int(number), -1) for number in log.task_columns.executor], dtype=np.int64)
    return [np.flatnonzero(machine == index) for index in range(len(names))]
