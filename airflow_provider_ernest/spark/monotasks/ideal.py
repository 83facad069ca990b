"""How long each stage would take at least on each resource, and which of them binds it.

After Ousterhout's thesis (UCB/EECS-2017-158), chapter on reasoning about performance with monotasks: the
ideal time of a stage on a resource is its total use of it over the cluster's capacity, and the stage is bound
by the resource whose ideal time is longest. Spark's tasks are no monotasks: use of CPU and of network is
known from their metrics, use of disks only roughly (see `resource_use.disk_bytes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.log_reading.tables import EventLog, FloatColumn
from airflow_provider_ernest.spark.monotasks.resource_use import (
    COMPUTING,
    CPU,
    DISK,
    NETWORK,
    PYTHON_WORKER,
    SCHEDULER,
    UNMEASURED,
    ResourceUse,
    StageKey,
    disk_bytes,
    resource_use,
)

Capacity = run_profile.Capacity

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
        (NETWORK, log.tasks.shuffle_remote_bytes, capacity.network_gigabytes_per_second),
        (DISK, disk_bytes(log.tasks), capacity.disk_gigabytes_per_second),
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
    np.minimum.at(began, use.stage_of, log.tasks.launched_at)
    np.maximum.at(ended, use.stage_of, log.tasks.finished_at)
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
