"""How long each task of a run would take on other machines, by what it used and waited for.

The thesis scales a stage's measured time by the ratio of its longest ideal times, new over old: its
monotasks overlap their use of one resource with that of the others. Spark's tasks do so less well, and much
of their time is no use of a resource. So here a stage's time on other networks or disks is

    its time  x  longer of (bytes' new ideal time, the rest)  /  longer of (bytes' ideal time, the rest)

where the rest is all of its tasks' time in which they did not wait for these bytes; and it is no longer than
the rest and the bytes' new time one after the other. `docs/clarity.md` has both rules beside real runs. Where
no capacity is known, so that there is no ideal time, the time that tasks waited is scaled: less is then
foretold of slower machines than may come. Waiting that no resource explains stays what it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.log_reading.tables import EventLog, FloatColumn, IntColumn
from airflow_provider_ernest.spark.monotasks.capacities import WAITING_SHARE
from airflow_provider_ernest.spark.monotasks.ideal import ideal_times
from airflow_provider_ernest.spark.monotasks.machine_change import Change
from airflow_provider_ernest.spark.monotasks.resource_use import (
    COMPUTING,
    DISK,
    NETWORK,
    UNMEASURED,
    ResourceUse,
    disk_bytes,
    resource_use,
)

Capacity = run_profile.Capacity


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
        parallelism = np.minimum(use.summed(np.ones(len(log.tasks))), slots)
    moving = _all_moving(log, capacity, change, use)
    total: FloatColumn = np.maximum(0.0, log.tasks.seconds)
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
        byte_count=log.tasks.shuffle_remote_bytes,
        needed=ideal.moved[NETWORK],
        ratio=1.0 / change.network,
        is_full=False,
    )
    return (
        network,
        _Moving(
            waited=use.parts[DISK] + _waiting_for_input(log, use, ideal.moved[DISK]),
            byte_count=disk_bytes(log.tasks),
            needed=ideal.moved[DISK],
            ratio=1.0 / change.disk,
            is_full=True,
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
