"""The executors of an application: when they were there, and how many tasks they could run meanwhile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

DRIVER = "driver"
"""Spark's id of what runs the tasks of a local master, and holds no cached data elsewhere."""


@dataclass(frozen=True, kw_only=True)
class ExecutorRow:
    """One executor.

    Attributes:
        number: what the column `executor` of tasks says.
        executor_id: Spark's id of it.
        host: address of its machine.
        worker: address of the worker daemon (host:port) that runs it, the host where none is known; it tells
            machines apart.
        cores: that it brought.
        added_at: when it registered, seconds since the epoch.
        removed_at: when it went, likewise; None where it did not.
        removed_because: in Spark's words.
        is_lost: whether it went before the application had ended.
    """

    number: int
    executor_id: str
    host: str
    worker: str
    cores: int
    added_at: float
    removed_at: float | None = None
    removed_because: str = ""
    is_lost: bool = False

    def __str__(self) -> str:
        reason = self.removed_because.rstrip(".") or "no reason told"
        told = f" ({reason})" if self.removed_at is not None else ""
        return f"executor {self.executor_id} on machine {self.worker}{told}"


def machines_of(executors: Iterable[ExecutorRow]) -> tuple[ExecutorRow, ...]:
    """The first executor of each distinct worker, in the order in which they were added."""
    first: dict[str, ExecutorRow] = {}
    for executor in sorted(executors, key=lambda executor: executor.added_at):
        first.setdefault(executor.worker, executor)
    return tuple(first.values())


def most_slots(executors: Iterable[ExecutorRow], task_cores: int) -> int:
    """The most tasks that could run at once.

    Args:
        executors: those that share a machine count beside one another, those that follow one another do not.
        task_cores: that a task takes.
    """
    changes: list[tuple[float, int]] = []
    for executor in executors:
        slots = executor.cores // task_cores
        changes.append((executor.added_at, slots))
        if executor.removed_at is not None and executor.removed_at > executor.added_at:
            changes.append((executor.removed_at, -slots))
    # At one moment they go before others come.
    most = now = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most


def slots_by_worker(executors: Iterable[ExecutorRow], task_cores: int) -> dict[str, int]:
    """The most tasks that could run at once on each worker, in the order in which they came."""
    of_worker: dict[str, list[ExecutorRow]] = defaultdict(list)
    for executor in sorted(executors, key=lambda executor: executor.added_at):
        of_worker[executor.worker].append(executor)
    return {worker: most_slots(group, task_cores) for worker, group in of_worker.items()}


def all_there_at(added_at: Sequence[float], first_launch: float) -> float | None:
    """When the last of the machines was there that the first task waited for; None where there is none.

    Machines that come later, as under dynamic allocation, join work that is under way. Where none was there
    before that task, the log lacks its beginning: then it is when the first came.

    Args:
        added_at: when each machine came, seconds since the epoch.
        first_launch: when the first task was launched, likewise.
    """
    in_time = [moment for moment in added_at if moment <= first_launch]
    return max(in_time) if in_time else min(added_at, default=None)
