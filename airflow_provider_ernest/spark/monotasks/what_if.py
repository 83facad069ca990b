"""How long a run would take on other machines.

Its tasks, changed as `changed_tasks` says, are replayed: stages, slots and the time of the driver keep their
order, and the ratio of that replay to one of the run as it was scales the time measured.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.log_reading.executor_rows import ExecutorRow
from airflow_provider_ernest.spark.log_reading.tables import EventLog
from airflow_provider_ernest.spark.monotasks.changed_tasks import changed_task_seconds
from airflow_provider_ernest.spark.monotasks.machine_change import Change, to_machines
from airflow_provider_ernest.spark.monotasks.resource_use import (
    PYTHON_WORKER,
    ResourceUse,
    disk_bytes,
    resource_use,
)
from airflow_provider_ernest.spark.replay.replaying import Replayed, replay

Capacity = run_profile.Capacity
WhatIf = run_profile.WhatIf

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
    if log.tasks.shuffle_remote_bytes.any():
        changes += [Change(network=2.0), Change(network=0.5)]
    if disk_bytes(log.tasks).any():
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
        if change.cpu != 1.0 and in_python >= TELLING_SHARE * float(self._log.tasks.seconds.sum()) > 0:
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
