"""How long a run would take on other machines.

Its tasks, changed as `changed_tasks` says, are replayed: stages, slots and the time of the driver keep their
order, and the ratio of that replay to one of the run as it was scales the time measured.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.clarity.monotasks import (
    COMPUTING,
    WAITING_SHARE,
    ResourceUse,
    disk_bytes,
    ideal_times,
    resource_use,
)
from airflow_provider_ernest.clarity.replay import Replayed, replay
from airflow_provider_ernest.eventlog.tables import EventLog, ExecutorRow
from airflow_provider_ernest.eventlog.tasks import FloatColumn, IntColumn
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.run_profile import DISK, NETWORK, PYTHON_WORKER, UNMEASURED, Capacity, WhatIf
from airflow_provider_ernest.words import counted

# ---------------------------------------------------------------------------
# What other machines a run is imagined on, as factors and as words.


@dataclass(frozen=True, kw_only=True)
class Change:
    """Other machines than those of the run; what is not told stays as it was.

    Attributes:
        cpu: how many times as fast a core is.
        network: how many times as fast the network of a machine is.
        disk: how many times as fast the disks of a machine are together.
        machines: how many there are; None for as many as there were.
        cores: tasks that a machine runs at once; None for as many as it did.
        name: what to call it; made of the rest where it is empty.
    """

    cpu: float = 1.0
    network: float = 1.0
    disk: float = 1.0
    machines: int | None = None
    cores: int | None = None
    name: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no machine."""
        for name in ("cpu", "network", "disk"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise InvalidParameterError(
                    name, value, "is not a finite number above 0", remedy="Give how many times as fast it is."
                )
        for name in ("machines", "cores"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value == int(value) >= 1):
                raise InvalidParameterError(name, value, "is not a whole number of at least 1")

    @property
    def words(self) -> str:
        """The change in words, such as "half the network, 8 cores a machine"."""
        if self.name:
            return self.name
        parts = [
            f"{_times(factor)}{thing}"
            for factor, thing in (
                (self.cpu, "the speed of a core"),
                (self.network, "the network"),
                (self.disk, "the disks"),
            )
            if factor != 1.0
        ]
        if self.cores is not None:
            parts.append(f"{counted(self.cores, 'core')} a machine")
        if self.machines is not None:
            parts.append(counted(self.machines, "machine"))
        return ", ".join(parts) or "the same machines"


def to_machines(
    capacity: Capacity,
    other: Capacity,
    *,
    cpu: float = 1.0,
    machines: int | None = None,
    name: str = "",
) -> Change:
    """The change from machines of one capacity to those of another.

    Args:
        capacity: of the run's machines.
        other: of those imagined. Where one of the two does not tell of the network or the disks, these
            count as the same.
        cpu: how many times as fast a core of theirs is.
        machines: how many; None for as many.
        name: of the instance type, say.
    """
    return Change(
        cpu=cpu,
        network=_ratio(other.network_gigabytes_per_second, capacity.network_gigabytes_per_second),
        disk=_ratio(other.disk_gigabytes_per_second, capacity.disk_gigabytes_per_second),
        cores=None if other.cores == capacity.cores else other.cores,
        machines=machines,
        name=name,
    )


def _ratio(new: float | None, old: float | None) -> float:
    return new / old if new and old else 1.0


def _times(factor: float) -> str:
    named = {2.0: "twice ", 0.5: "half "}
    return named.get(factor, f"{factor:g} times ")


# ---------------------------------------------------------------------------
# How long each task of a run would take on other machines, by what it used and waited for.
#
# The thesis scales a stage's measured time by the ratio of its longest ideal times, new over old: its
# monotasks overlap their use of one resource with that of the others. Spark's tasks do so less well, and much
# of their time is no use of a resource. So here a stage's time on other networks or disks is
#
# its time  x  longer of (bytes' new ideal time, the rest)  /  longer of (bytes' ideal time, the rest)
#
# where the rest is all of its tasks' time in which they did not wait for these bytes; and it is no longer
# than the rest and the bytes' new time one after the other. `docs/clarity.md` has both rules beside real
# runs. Where no capacity is known, so that there is no ideal time, the time that tasks waited is scaled: less
# is then foretold of slower machines than may come. Waiting that no resource explains stays what it was.


@dataclass(frozen=True, kw_only=True)
class _Moving:
    """Bytes that each stage moves by one resource; columns of shape (stages,), or (tasks,) where it says so.

    Attributes:
        waited: seconds of each task that it waited for them, (tasks,).
        byte_count: of each task, (tasks,).
        needed: the stage's ideal seconds; NaN where not known.
        ratio: how many times as long they will need.
        is_full: whether tasks that wait for a resource of unknown capacity wait for their turn. A network
            that is full shows in what they achieve (see `capacities`), full disks do not.
    """

    waited: FloatColumn
    byte_count: IntColumn
    needed: FloatColumn
    ratio: float
    is_full: bool


def changed_task_seconds(
    log: EventLog, capacity: Capacity, change: Change, use: ResourceUse | None = None
) -> FloatColumn:
    """The seconds that each task would take, shape (tasks,); see the module.

    On another number of machines a task has the same share of its machine's network and disks; what then
    comes from other machines is for the replay.
    """
    use = use or resource_use(log)
    parallelism = use.parallelism
    if change.cores is not None:
        slots = max(1, len(log.machines)) * change.cores
        parallelism = np.minimum(use.summed(np.ones(len(log.task_columns))), slots)
    moving = _all_moving(log, capacity, change, use)
    total: FloatColumn = np.maximum(0.0, log.task_columns.seconds)
    computing = sum((use.parts[part] for part in COMPUTING), np.zeros(len(total)))
    sooner = computing - computing / change.cpu
    seconds = total - sooner
    for each in moving:
        rest = seconds - each.waited
        seconds = rest + _new_waiting(each, use, use.summed(total), use.summed(rest), parallelism)
    return seconds


def _all_moving(log: EventLog, capacity: Capacity, change: Change, use: ResourceUse) -> tuple[_Moving, ...]:
    """What the tasks move by network and by disk."""
    ideal = ideal_times(log, capacity, use)
    network = _Moving(
        waited=use.parts[NETWORK],
        byte_count=log.task_columns.shuffle_remote_bytes,
        needed=ideal.moved[NETWORK],
        ratio=1.0 / change.network,
        is_full=False,
    )
    return (
        network,
        _Moving(
            waited=use.parts[DISK] + _waiting_for_input(log, use, ideal.moved[DISK]),
            byte_count=disk_bytes(log.task_columns),
            needed=ideal.moved[DISK],
            ratio=1.0 / change.disk,
            is_full=True,
        ),
    )


def _waiting_for_input(log: EventLog, use: ResourceUse, needed: FloatColumn) -> FloatColumn:
    """Unmeasured waiting of tasks that read input, as far as the known time of the disks explains it.

    Spark does not measure the time of reading.
    """
    reads = use.summed(log.task_columns.input_bytes) > 0
    written = use.summed(use.parts[DISK]) / use.parallelism
    unmeasured = np.where(log.task_columns.input_bytes > 0, use.parts[UNMEASURED], 0.0)
    of_stage = use.summed(unmeasured) / use.parallelism
    explained = np.where(reads & np.isfinite(needed), np.maximum(0.0, needed - written), 0.0)
    share = np.divide(
        np.minimum(explained, of_stage), of_stage, out=np.zeros_like(of_stage), where=of_stage > 0
    )
    waiting: FloatColumn = unmeasured * share[use.stage_of]
    return waiting


def _new_waiting(
    moving: _Moving, use: ResourceUse, total: FloatColumn, rest: FloatColumn, parallelism: FloatColumn
) -> FloatColumn:
    """Seconds that each task will wait for its bytes, shape (tasks,).

    Args:
        moving: the bytes.
        use: the tasks by stage.
        total: each stage's seconds as it is, summed over its tasks, shape (stages,).
        rest: what all else will take than waiting for them, likewise.
        parallelism: tasks of each stage that will run at once.
    """
    waited = use.summed(moving.waited)
    known = np.isfinite(moving.needed)
    # What tasks mostly waited for was full, though it gave less than its rate: headers and the like.
    full = waited >= WAITING_SHARE * total
    needed = np.where(full, np.maximum(moving.needed, waited / use.parallelism), moving.needed)
    needed = np.where(known, np.minimum(needed, total / use.parallelism), 0.0)
    by_capacity = parallelism * _stage_waiting(
        waited / parallelism, needed, moving.ratio, rest=rest / parallelism
    )
    turns = parallelism / use.parallelism if moving.is_full else 1.0
    new = np.where(known, by_capacity, waited * moving.ratio * turns)
    more = np.maximum(0.0, new - waited)
    kept = np.divide(np.minimum(new, waited), waited, out=np.ones_like(waited), where=waited > 0)
    has_bytes = use.summed(moving.byte_count)[use.stage_of] > 0
    share = _share_of_stage(np.where(has_bytes, moving.byte_count, moving.waited), use)
    seconds: FloatColumn = moving.waited * kept[use.stage_of] + share * more[use.stage_of]
    return seconds


def _stage_waiting(
    waited: FloatColumn, needed: FloatColumn, ratio: float, *, rest: FloatColumn
) -> FloatColumn:
    """Seconds that a stage's slots will wait where its bytes need `ratio` times as long, shape (stages,).

    Args:
        waited: seconds that they wait as it is.
        needed: the bytes' ideal time as it is.
        ratio: how many times as long the bytes will need.
        rest: seconds of all else that they will do.
    """
    # Faster or more cores are done sooner, and wait for the bytes then.
    waits = np.maximum(waited, needed - rest)
    longest, new_longest = np.maximum(rest, needed), np.maximum(rest, needed * ratio)
    growth = np.divide(new_longest, longest, out=np.ones_like(longest), where=longest > 0)
    one_by_one = ratio * np.maximum(needed, waits)
    waiting: FloatColumn = np.clip((rest + waits) * growth - rest, 0.0, one_by_one)
    return waiting


def _share_of_stage(column: FloatColumn, use: ResourceUse) -> FloatColumn:
    """Each task's part of what its stage has of something, shape (tasks,); 0 where it has none."""
    of_stage = use.summed(column)[use.stage_of]
    return np.divide(column, of_stage, out=np.zeros_like(of_stage), where=of_stage > 0)


# ---------------------------------------------------------------------------


TELLING_SHARE = 0.05
"""Of the tasks' time: less in Python workers changes no answer so much that it must be told."""


def what_if(log: EventLog, capacity: Capacity, change: Change, use: ResourceUse | None = None) -> WhatIf:
    """The run on other machines.

    Args:
        log: the run.
        capacity: of one of its machines.
        change: what is different.
        use: of the run, where it is at hand.

    Raises:
        EventLogError: no task ended.
    """
    return what_ifs(log, capacity, [change], use)[0]


def what_ifs(
    log: EventLog,
    capacity: Capacity,
    changes: Iterable[Change],
    use: ResourceUse | None = None,
    *,
    as_it_was: Replayed | None = None,
) -> tuple[WhatIf, ...]:
    """The same for several changes; the run as it was is replayed once, unless it is at hand.

    Raises:
        EventLogError: no task ended.
    """
    run = _Run(log, capacity, use or resource_use(log), as_it_was or replay(log))
    return tuple(run.imagined(change) for change in changes)


def default_what_ifs(
    log: EventLog,
    capacity: Capacity,
    others: Mapping[str, Capacity] | None = None,
    use: ResourceUse | None = None,
    as_it_was: Replayed | None = None,
) -> tuple[WhatIf, ...]:
    """What is worth asking of any run: other networks and disks where it used them, more and faster cores.

    Args:
        log: the run.
        capacity: of one of its machines.
        others: further machines by name, such as instance types, of stated capacities.
        use: of the run, where it is at hand.
        as_it_was: its replay without any change, likewise.

    Raises:
        EventLogError: no task ended.
    """
    changes = [Change(cpu=2.0), Change(cores=2 * capacity.cores, name="twice the cores a machine")]
    if log.task_columns.shuffle_remote_bytes.any():
        changes += [Change(network=2.0), Change(network=0.5)]
    if disk_bytes(log.task_columns).any():
        changes.append(Change(disk=2.0))
    changes += [to_machines(capacity, other, name=name) for name, other in (others or {}).items()]
    return what_ifs(log, capacity, changes, use, as_it_was=as_it_was)


class _Run:
    """A run, replayed as it was."""

    def __init__(self, log: EventLog, capacity: Capacity, use: ResourceUse, as_it_was: Replayed) -> None:
        self._log = log
        self._capacity = capacity
        self._use = use
        self._plan = as_it_was.plan
        self._replayed = as_it_was.seconds

    def imagined(self, change: Change) -> WhatIf:
        """The same with other tasks and slots."""
        log = self._log if change.cores is None else _with_cores(self._log, change.cores)
        seconds = changed_task_seconds(self._log, self._capacity, change, self._use)
        new = replay(log, machines=change.machines, task_seconds=seconds, plan=self._plan).seconds
        ratio = new / self._replayed if self._replayed > 0 else 1.0
        return WhatIf(
            change=self._words(change),
            seconds=max(0.0, self._log.ended_at - self._log.ready_at) * ratio,
            change_percent=100.0 * (ratio - 1.0),
        )

    def _words(self, change: Change) -> str:
        """The change, and which way it may be off."""
        doubts = [*self._doubts_of_cores(change), *self._doubts_of_rates(change)]
        return f"{change.words} ({'; '.join(doubts)})" if doubts else change.words

    def _doubts_of_cores(self, change: Change) -> Iterator[str]:
        """A Python worker that waits for a service does so on any core."""
        in_python = float(self._use.parts[PYTHON_WORKER].sum())
        if change.cpu != 1.0 and in_python >= TELLING_SHARE * float(self._log.task_columns.seconds.sum()) > 0:
            bound = "at best" if change.cpu > 1.0 else "at worst"
            yield f"{bound}: Python workers may wait rather than compute"

    def _doubts_of_rates(self, change: Change) -> Iterator[str]:
        """It is a lower bound where tasks may have used what they did not wait for."""
        slower = (
            (change.network, self._capacity.network_gigabytes_per_second, "the network's"),
            (change.disk, self._capacity.disk_gigabytes_per_second, "the disks'"),
        )
        unknown = [thing for factor, rate, thing in slower if factor < 1 and rate is None]
        if unknown:
            yield f"at least: {' and '.join(unknown)} rate is not known"


def _with_cores(log: EventLog, cores: int) -> EventLog:
    """The run as if each machine had other cores, of which its executors have the shares that they had."""
    slots_by_worker = log.slots_by_worker

    def changed(executor: ExecutorRow) -> ExecutorRow:
        slots = executor.cores // log.task_cores
        share = slots / slots_by_worker[executor.worker] if slots else 1.0
        return dataclasses.replace(executor, cores=max(1, round(cores * share)) * log.task_cores)

    return dataclasses.replace(log, executors=tuple(map(changed, log.executors)))
