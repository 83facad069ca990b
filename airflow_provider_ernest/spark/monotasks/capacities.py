"""What a machine of a run's cluster can do: as measured by the probe, as stated, or as its tasks achieved.

What tasks achieved says something of a capacity only while they waited for it: a link that was never full
shows how little was asked of it, not what it could do. So only those moments count in which the tasks of a
machine spent at least half of their time waiting for the resource; where there were none, the capacity is
not known. A task's bytes are spread evenly over its time, so that what is found is a lower bound. Of disks
nothing is found: what tasks write goes to the page cache first, and how fast that is says nothing of a disk.
"""

from __future__ import annotations

import numpy as np

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.log_reading.tables import EventLog, FloatColumn, IntColumn
from airflow_provider_ernest.spark.monotasks.resource_use import NETWORK, ResourceUse, resource_use

Capacity = run_profile.Capacity

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
        network_gigabytes_per_second=_achieved(log, log.tasks.shuffle_remote_bytes, use.parts[NETWORK]),
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
    began, ended = log.tasks.launched_at[rows], log.tasks.finished_at[rows]
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
    machine = np.array([place.get(int(number), -1) for number in log.tasks.executor], dtype=np.int64)
    return [np.flatnonzero(machine == index) for index in range(len(names))]
