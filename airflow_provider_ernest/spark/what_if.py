"""How long a run would take on other machines, by what its tasks used and waited for.

The thesis scales a stage's measured time by the ratio of its longest ideal times, new over old: its
monotasks overlap their use of one resource with that of the others. Spark's tasks do so less well, and much
of their time is no use of a resource. So here a stage's time on other networks or disks is

    its time  x  longer of (bytes' new ideal time, the rest)  /  longer of (bytes' ideal time, the rest)

where the rest is all of its tasks' time in which they did not wait for these bytes; and it is no longer than
the rest and the bytes' new time one after the other. `docs/clarity.md` has both rules beside real runs. Where
no capacity is known, so that there is no ideal time, the time that tasks waited is scaled: less is then
foretold of slower machines than may come. Waiting that no resource explains stays what it was.

The tasks, so changed, are replayed: stages, slots and the driver's time keep their order, and the ratio of
the two replays scales the time measured.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.log_reading.tables import EventLog, FloatColumn, IntColumn
from airflow_provider_ernest.spark.machine_change import Change, to_machines
from airflow_provider_ernest.spark.monotasks import ideal_times
from airflow_provider_ernest.spark.replay.plan import plan_of
from airflow_provider_ernest.spark.replay.replaying import replay
from airflow_provider_ernest.spark.resource_use import (
    COMPUTING,
    DISK,
    NETWORK,
    UNMEASURED,
    ResourceUse,
    disk_bytes,
    resource_use,
)

Capacity = run_profile.Capacity
WhatIf = run_profile.WhatIf


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Moving:
    """Bytes that each stage moves by one resource; columns of shape (stages,), or (tasks,) where it says so.

    Attributes:
        waited: seconds of each task that it waited for them, (tasks,).
        byte_count: of each task, (tasks,).
        needed: the stage's ideal seconds; NaN where not known.
        ratio: how many times as long they will need.
    """

    waited: FloatColumn
    byte_count: IntColumn
    needed: FloatColumn
    ratio: float


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
    return _Run(log, capacity, use or resource_use(log)).imagined(change)


def default_what_ifs(
    log: EventLog,
    capacity: Capacity,
    others: Mapping[str, Capacity] | None = None,
    use: ResourceUse | None = None,
) -> tuple[WhatIf, ...]:
    """What is worth asking of any run: other networks and disks where it used them, more and faster cores.

    Args:
        log: the run.
        capacity: of one of its machines.
        others: further machines by name, such as instance types, of stated capacities.
        use: of the run, where it is at hand.

    Raises:
        EventLogError: no task ended.
    """
    changes = [Change(cpu=2.0), Change(cores=2 * capacity.cores, name="twice the cores a machine")]
    if log.tasks.shuffle_remote_bytes.any():
        changes += [Change(network=2.0), Change(network=0.5)]
    if disk_bytes(log.tasks).any():
        changes.append(Change(disk=2.0))
    changes += [to_machines(capacity, other, name=name) for name, other in (others or {}).items()]
    run = _Run(log, capacity, use or resource_use(log))
    return tuple(run.imagined(change) for change in changes)


class _Run:
    """A run, replayed as it was."""

    def __init__(self, log: EventLog, capacity: Capacity, use: ResourceUse) -> None:
        self._log = log
        self._capacity = capacity
        self._use = use
        self._plan = plan_of(log)
        self._replayed = replay(log, plan=self._plan).seconds

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
        """The change; that it is a lower bound where tasks may have used what they did not wait for."""
        slower = (
            (change.network, self._capacity.network_gigabytes_per_second, "the network's"),
            (change.disk, self._capacity.disk_gigabytes_per_second, "the disks'"),
        )
        unknown = [thing for factor, rate, thing in slower if factor < 1 and rate is None]
        if not unknown:
            return change.words
        return f"{change.words} (at least: {' and '.join(unknown)} rate is not known)"


def changed_task_seconds(
    log: EventLog, capacity: Capacity, change: Change, use: ResourceUse | None = None
) -> FloatColumn:
    """The seconds that each task would take, shape (tasks,); see the module.

    On another number of machines a task has the same share of its machine's network and disks; what then
    comes from other machines is for the replay.
    """
    use = use or resource_use(log)
    slots = max(1, len(log.machines)) * (change.cores or capacity.cores)
    parallelism = np.minimum(use.summed(np.ones(len(log.tasks))), slots)
    moving = _all_moving(log, capacity, change, use)
    total: FloatColumn = np.maximum(0.0, log.tasks.seconds)
    computing = sum((use.parts[part] for part in COMPUTING), np.zeros(len(total)))
    sooner = computing - computing / change.cpu
    seconds = total - sooner
    for each in moving:
        rest = total - each.waited
        waiting = _new_waiting(each, use, use.summed(rest), use.summed(rest - sooner), parallelism)
        seconds = seconds - each.waited + waiting
    return seconds


def _all_moving(log: EventLog, capacity: Capacity, change: Change, use: ResourceUse) -> tuple[_Moving, ...]:
    """What the tasks move by network and by disk."""
    ideal = ideal_times(log, capacity, use)
    network = _Moving(
        waited=use.parts[NETWORK],
        byte_count=log.tasks.shuffle_remote_bytes,
        needed=ideal.moved[NETWORK],
        ratio=1.0 / change.network,
    )
    return (
        network,
        _Moving(
            waited=use.parts[DISK] + _waiting_for_input(log, use, ideal.moved[DISK]),
            byte_count=disk_bytes(log.tasks),
            needed=ideal.moved[DISK],
            ratio=1.0 / change.disk,
        ),
    )


def _waiting_for_input(log: EventLog, use: ResourceUse, needed: FloatColumn) -> FloatColumn:
    """Unmeasured waiting of tasks that read input, as far as the known time of the disks explains it.

    Spark does not measure the time of reading.
    """
    reads = use.summed(log.tasks.input_bytes) > 0
    written = use.summed(use.parts[DISK]) / use.parallelism
    unmeasured = np.where(log.tasks.input_bytes > 0, use.parts[UNMEASURED], 0.0)
    of_stage = use.summed(unmeasured) / use.parallelism
    explained = np.where(reads & np.isfinite(needed), np.maximum(0.0, needed - written), 0.0)
    share = np.divide(
        np.minimum(explained, of_stage), of_stage, out=np.zeros_like(of_stage), where=of_stage > 0
    )
    waiting: FloatColumn = unmeasured * share[use.stage_of]
    return waiting


def _new_waiting(
    moving: _Moving, use: ResourceUse, rest: FloatColumn, new_rest: FloatColumn, parallelism: FloatColumn
) -> FloatColumn:
    """Seconds that each task will wait for its bytes, shape (tasks,).

    Args:
        moving: the bytes.
        use: the tasks by stage.
        rest: each stage's other seconds, summed over its tasks, shape (stages,).
        new_rest: what these will be.
        parallelism: tasks of each stage that will run at once.
    """
    waited = use.summed(moving.waited)
    known = np.isfinite(moving.needed)
    needed = np.where(known, np.minimum(moving.needed, (rest + waited) / use.parallelism), 0.0)
    by_capacity = parallelism * _stage_waiting(
        waited / parallelism, needed, moving.ratio, rest=new_rest / parallelism
    )
    new = np.where(known, by_capacity, waited * moving.ratio)
    more = np.maximum(0.0, new - waited)
    kept = np.divide(np.minimum(new, waited), waited, out=np.ones_like(waited), where=waited > 0)
    moved = use.summed(moving.byte_count)[use.stage_of]
    share = np.divide(moving.byte_count, moved, out=np.zeros(len(moved)), where=moved > 0)
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


def _with_cores(log: EventLog, cores: int) -> EventLog:
    """The run as if each machine had other cores."""
    executors = tuple(
        dataclasses.replace(executor, cores=cores * log.task_cores) for executor in log.executors
    )
    return dataclasses.replace(log, executors=executors)
