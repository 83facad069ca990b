"""How long a run would take on other machines.

Its tasks, changed as `changed_task_seconds` says, are replayed: stages, slots and the time of the driver keep
their order, and the ratio of that replay to one of the run as it was scales the time measured.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
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
from airflow_provider_ernest.documents.profiles import (
    DISK,
    NETWORK,
    PYTHON_WORKER,
    UNMEASURED,
    Capacity,
    WhatIf,
)
from airflow_provider_ernest.eventlog.tables import EventLog, ExecutorRow, FloatColumn, IntColumn
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.words import counted

_TELLING_SHARE = 0.05
"""Of the tasks' time: less in Python workers changes no answer so much that it must be told."""


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
        factors = {
            "the speed of a core": self.cpu,
            "the network": self.network,
            "the disks": self.disk,
        }
        parts = [f"{_times(factor)}{thing}" for thing, factor in factors.items() if factor != 1.0]
        if self.cores is not None:
            parts.append(f"{counted(self.cores, 'core')} a machine")
        if self.machines is not None:
            parts.append(counted(self.machines, "machine"))
        return ", ".join(parts) or "the same machines"


def _times(factor: float) -> str:
    return {2.0: "twice ", 0.5: "half "}.get(factor, f"{factor:g} times ")


def what_if(log: EventLog, capacity: Capacity, change: Change) -> WhatIf:
    """The run on other machines; see `what_ifs`."""
    return what_ifs(log, capacity, [change])[0]


def what_ifs(
    log: EventLog,
    capacity: Capacity,
    changes: Iterable[Change] | None = None,
    *,
    use: ResourceUse | None = None,
    as_it_was: Replayed | None = None,
) -> tuple[WhatIf, ...]:
    """The run on several kinds of other machines.

    Args:
        log: the run.
        capacity: of one of its machines.
        changes: what is different; what is worth asking of any run where None.
        use: of the run, where it is at hand.
        as_it_was: its replay without any change, likewise.

    Raises:
        EventLogError: no task ended.
    """
    use, as_it_was = use or resource_use(log), as_it_was or replay(log)
    asked = _worth_asking(log, capacity) if changes is None else changes
    return tuple(_imagined(log, capacity, change, use, as_it_was) for change in asked)


def _worth_asking(log: EventLog, capacity: Capacity) -> list[Change]:
    """More and faster cores, other networks and disks where it used them."""
    changes = [Change(cpu=2.0), Change(cores=2 * capacity.cores, name="twice the cores a machine")]
    if log.task_columns.shuffle_remote_bytes.any():
        changes += [Change(network=2.0), Change(network=0.5)]
    if disk_bytes(log.task_columns).any():
        changes.append(Change(disk=2.0))
    return changes


def _imagined(
    log: EventLog, capacity: Capacity, change: Change, use: ResourceUse, as_it_was: Replayed
) -> WhatIf:
    """The same with other tasks and slots."""
    changed = log if change.cores is None else _with_cores(log, change.cores)
    seconds = changed_task_seconds(log, capacity, change, use)
    new = replay(changed, machines=change.machines, task_seconds=seconds, plan=as_it_was.plan).seconds
    ratio = new / as_it_was.seconds if as_it_was.seconds > 0 else 1.0
    doubts = [*_doubts_of_cores(log, change, use), *_doubts_of_rates(capacity, change)]
    return WhatIf(
        change=f"{change.words} ({'; '.join(doubts)})" if doubts else change.words,
        seconds=max(0.0, log.clean_seconds) * ratio,
        change_percent=100.0 * (ratio - 1.0),
    )


def _doubts_of_cores(log: EventLog, change: Change, use: ResourceUse) -> Iterator[str]:
    """A Python worker that waits for a service does so on any core."""
    in_python = float(use.parts[PYTHON_WORKER].sum())
    if change.cpu != 1.0 and in_python >= _TELLING_SHARE * float(log.task_columns.seconds.sum()) > 0:
        bound = "at best" if change.cpu > 1.0 else "at worst"
        yield f"{bound}: Python workers may wait rather than compute"


def _doubts_of_rates(capacity: Capacity, change: Change) -> Iterator[str]:
    """It is a lower bound where tasks may have used what they did not wait for."""
    slower = (
        (change.network, capacity.network_gigabytes_per_second, "the network's"),
        (change.disk, capacity.disk_gigabytes_per_second, "the disks'"),
    )
    unknown = [thing for factor, rate, thing in slower if factor < 1 and rate is None]
    if unknown:
        yield f"at least: {' and '.join(unknown)} rate is not known"


def _with_cores(log: EventLog, cores: int) -> EventLog:
    """The run as if each machine had other cores, of which its executors have the shares that they had."""

    def changed(executor: ExecutorRow) -> ExecutorRow:
        slots = log.slots_of(executor)
        share = slots / log.slots_by_worker[executor.worker] if slots else 1.0
        return dataclasses.replace(executor, cores=max(1, round(cores * share)) * log.task_cores)

    return dataclasses.replace(log, executors=tuple(map(changed, log.executors)))


def changed_task_seconds(
    log: EventLog, capacity: Capacity, change: Change, use: ResourceUse | None = None
) -> FloatColumn:
    """The seconds that each task would take on other machines by what it used and waited for, shape (tasks,).

    The thesis scales a stage's measured time by the ratio of its longest ideal times, new over old: its
    monotasks overlap their use of one resource with that of the others. Spark's tasks do so less well, and
    much of their time is no use of a resource. So here a stage's time on other networks or disks is

        its time  x  longer of (bytes' new ideal time, the rest)  /  longer of (bytes' ideal time, the rest)

    where the rest is all of its tasks' time in which they did not wait for these bytes; and it is no longer
    than the rest and the bytes' new time one after the other. `docs/explanation/clarity.md` has both rules
    beside real runs. Where no capacity is known, so that there is no ideal time, the time that tasks waited
    is scaled: less is then predicted of slower machines than may come. Waiting that no resource explains
    stays.

    On another number of machines a task has the same share of its machine's network and disks; what then
    comes from other machines is for the replay.
    """
    use = use or resource_use(log)
    parallelism = use.parallelism
    if change.cores is not None:
        slots = max(1, len(log.machines)) * change.cores
        parallelism = np.minimum(use.summed(np.ones(len(log.task_columns))), slots)
    total: FloatColumn = np.maximum(0.0, log.task_columns.seconds)
    computing = sum((use.parts[part] for part in COMPUTING), np.zeros(len(total)))
    seconds = total - (computing - computing / change.cpu)
    for each in _all_moving(log, capacity, change, use):
        rest = seconds - each.waited
        seconds = rest + _new_waiting(each, use, use.summed(total), use.summed(rest), parallelism)
    return seconds


@dataclass(frozen=True, kw_only=True)
class _Moving:
    """Bytes that each stage moves by one resource; columns of shape (stages,), or (tasks,) where it says so.

    Attributes:
        waited: seconds of each task that it waited for them, (tasks,).
        byte_count: of each task, (tasks,).
        needed: the stage's ideal seconds; NaN where not known.
        ratio: how many times as long they will need.
        is_full: whether tasks that wait for a resource of unknown capacity wait for their turn. A network
            that is full shows in what they achieve (see `achieved_capacity`), full disks do not.
    """

    waited: FloatColumn
    byte_count: IntColumn
    needed: FloatColumn
    ratio: float
    is_full: bool


def _all_moving(log: EventLog, capacity: Capacity, change: Change, use: ResourceUse) -> tuple[_Moving, ...]:
    """What the tasks move by network and by disk."""
    moved = ideal_times(log, capacity, use).moved
    return (
        _Moving(
            waited=use.parts[NETWORK],
            byte_count=log.task_columns.shuffle_remote_bytes,
            needed=moved[NETWORK],
            ratio=1.0 / change.network,
            is_full=False,
        ),
        _Moving(
            waited=use.parts[DISK] + _waiting_for_input(log, use, moved[DISK]),
            byte_count=disk_bytes(log.task_columns),
            needed=moved[DISK],
            ratio=1.0 / change.disk,
            is_full=True,
        ),
    )


def _waiting_for_input(log: EventLog, use: ResourceUse, needed: FloatColumn) -> FloatColumn:
    """Unmeasured waiting of tasks that read input, as far as the known time of the disks explains it.

    Spark does not measure the time of reading.
    """
    input_bytes = log.task_columns.input_bytes
    written = use.summed(use.parts[DISK]) / use.parallelism
    unmeasured = np.where(input_bytes > 0, use.parts[UNMEASURED], 0.0)
    of_stage = use.summed(unmeasured) / use.parallelism
    explains = (use.summed(input_bytes) > 0) & np.isfinite(needed)
    explained = np.where(explains, np.maximum(0.0, needed - written), 0.0)
    share = _quotient(np.minimum(explained, of_stage), of_stage, default=0.0)
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
    kept = _quotient(np.minimum(new, waited), waited, default=1.0)
    has_bytes = use.summed(moving.byte_count)[use.stage_of] > 0
    column = np.where(has_bytes, moving.byte_count, moving.waited)
    share = _quotient(column, use.summed(column)[use.stage_of], default=0.0)
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
    growth = _quotient(np.maximum(rest, needed * ratio), np.maximum(rest, needed), default=1.0)
    one_by_one = ratio * np.maximum(needed, waits)
    waiting: FloatColumn = np.clip((rest + waits) * growth - rest, 0.0, one_by_one)
    return waiting


def _quotient(part: FloatColumn, whole: FloatColumn, *, default: float) -> FloatColumn:
    """One over the other; the default where the other is 0."""
    return np.divide(part, whole, out=np.full_like(whole, default), where=whole > 0)
