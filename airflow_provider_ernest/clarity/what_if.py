"""How long a run would take on other machines.

Its tasks are changed by `changed_task_seconds` and replayed; the ratio of that replay to one of the run as
it was scales the measured time.
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

_TELLING_SHARE = 0.05  # of the tasks' time: less in Python workers hardly changes an answer


@dataclass(frozen=True, kw_only=True)
class Change:
    """Other machines than those of the run; the defaults change nothing."""

    cpu: float = 1.0  # how many times as fast a core is
    network: float = 1.0  # how many times as fast a machine's network is
    disk: float = 1.0  # how many times as fast a machine's disks together are
    machines: int | None = None  # how many there are
    cores: int | None = None  # tasks that a machine runs at once
    name: str = ""  # made from the rest if empty

    def __post_init__(self) -> None:
        """Refuse impossible machines."""
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
        times = {2.0: "twice ", 0.5: "half "}
        parts = [
            f"{times.get(factor, f'{factor:g} times ')}{thing}"
            for thing, factor in factors.items()
            if factor != 1.0
        ]
        if self.cores is not None:
            parts.append(f"{counted(self.cores, 'core')} a machine")
        if self.machines is not None:
            parts.append(counted(self.machines, "machine"))
        return ", ".join(parts) or "the same machines"


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
        if disk_bytes(log.task_columns).any():
            changes.append(Change(disk=2.0))
    return tuple(_imagined(log, capacity, change, use, as_it_was) for change in changes)


def _imagined(
    log: EventLog, capacity: Capacity, change: Change, use: ResourceUse, as_it_was: Replayed
) -> WhatIf:
    changed = log if change.cores is None else _with_cores(log, change.cores)
    seconds = changed_task_seconds(log, capacity, change, use)
    new = replay(changed, machines=change.machines, task_seconds=seconds, plan=as_it_was.plan).seconds
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
    slower = (
        (change.network, capacity.network_gigabytes_per_second, "the network's"),
        (change.disk, capacity.disk_gigabytes_per_second, "the disks'"),
    )
    unknown = [thing for factor, rate, thing in slower if factor < 1 and rate is None]
    if unknown:
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
    So here a stage's time on other networks or disks is

        its time  x  longer of (bytes' new ideal time, the rest)  /  longer of (bytes' ideal time, the rest)

    but no more than the rest plus the bytes' new time; the rest is the tasks' time without waiting for these
    bytes. `docs/explanation/clarity.md` compares both rules with real runs. If the capacity is unknown, the
    waiting is scaled, which predicts too little for slower machines. Waiting that no resource explains stays.

    On another number of machines a task keeps its share of its machine's network and disks; the replay counts
    what comes from other machines then.
    """
    use = use or resource_use(log)
    parallelism = use.parallelism
    if change.cores is not None:
        slots = max(1, len(log.machines)) * change.cores
        parallelism = np.minimum(use.summed(np.ones(len(log.task_columns))), slots)
    total: FloatColumn = np.maximum(0.0, log.task_columns.seconds)
    computing = sum((use.parts[part] for part in COMPUTING), np.zeros(len(total)))
    seconds = total - (computing - computing / change.cpu)
    needed = ideal_times(log, capacity, use).moved
    network = _Moving(
        waited=use.parts[NETWORK],
        byte_count=log.task_columns.shuffle_remote_bytes,
        needed=needed[NETWORK],
        ratio=1.0 / change.network,
        is_full=False,
    )
    disk = _Moving(
        waited=use.parts[DISK] + _waiting_for_input(log, use, needed[DISK]),
        byte_count=disk_bytes(log.task_columns),
        needed=needed[DISK],
        ratio=1.0 / change.disk,
        is_full=True,
    )
    for each in (network, disk):
        rest = seconds - each.waited
        seconds = rest + _new_waiting(each, use, use.summed(total), use.summed(rest), parallelism)
    return seconds


@dataclass(frozen=True, kw_only=True)
class _Moving:
    waited: FloatColumn  # seconds that each task waited for them, (tasks,)
    byte_count: IntColumn  # of each task, (tasks,)
    needed: FloatColumn  # each stage's ideal seconds, (stages,); NaN if unknown
    ratio: float  # how many times as long they will take
    # Whether tasks queue for a resource of unknown capacity: a full network shows in the rates achieved (see
    # `achieved_capacity`), full disks do not.
    is_full: bool


def _waiting_for_input(log: EventLog, use: ResourceUse, needed: FloatColumn) -> FloatColumn:
    """Unmeasured waiting of tasks that read input, as far as the disks' ideal time explains it."""
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

    By stage, with shape (stages,): the sum `total` of its tasks' seconds as they are, the `rest` that they
    will take without waiting for the bytes, and the `parallelism` that there will be.
    """
    waited = use.summed(moving.waited)
    known = np.isfinite(moving.needed)
    # A resource that tasks mostly waited for was full, though it gave less than its rate: headers and the
    # like.
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
    """Seconds that a stage's slots will wait if its bytes need `ratio` times as long, shape (stages,).

    They waited so long for bytes that `needed` an ideal time, and will do the `rest` beside.
    """
    # Faster or more cores are done sooner, and then wait for the bytes.
    waits = np.maximum(waited, needed - rest)
    growth = _quotient(np.maximum(rest, needed * ratio), np.maximum(rest, needed), default=1.0)
    one_by_one = ratio * np.maximum(needed, waits)
    waiting: FloatColumn = np.clip((rest + waits) * growth - rest, 0.0, one_by_one)
    return waiting


def _quotient(part: FloatColumn, whole: FloatColumn, *, default: float) -> FloatColumn:
    return np.divide(part, whole, out=np.full_like(whole, default), where=whole > 0)
