"""How quickly the driver gave tasks to free slots, beside what the tasks themselves took."""

from __future__ import annotations

import numpy as np

from airflow_provider_ernest.spark.log_reading.tables import (
    BoolColumn,
    EventLog,
    FloatColumn,
    IntColumn,
    TaskTable,
)


def freed_at(tasks: TaskTable) -> FloatColumn:
    """When each task's slot was free again: the driver fetches a large result after that."""
    return np.asarray(np.maximum(tasks.launched_at, tasks.finished_at - tasks.getting_result_seconds))


def slot_share(tasks: TaskTable) -> FloatColumn:
    """The share of each task's seconds that it took its slot for."""
    held = freed_at(tasks) - tasks.launched_at
    return np.asarray((held / np.maximum(tasks.seconds, 1e-9)).clip(0.0, 1.0))


def slots_by_executor(log: EventLog) -> dict[int, int]:
    """How many tasks each executor ran at once at most, by its number."""
    return {executor.number: max(1, executor.cores // log.task_cores) for executor in log.executors}


def most_at_once(tasks: TaskTable) -> int:
    """The most tasks that ran side by side; at least 1."""
    if not len(tasks):
        return 1
    times = np.concatenate([freed_at(tasks), tasks.launched_at])
    change = np.repeat([-1, 1], len(tasks))
    # At one moment slots become free before they are taken.
    order = np.lexsort((change, times))
    return max(1, int(np.cumsum(change[order]).max()))


class Launching:
    """Of one log: from a stage's submission to its first task, and from a slot's task to its next."""

    def __init__(self, log: EventLog) -> None:
        self._tasks = log.tasks
        self._slots_by_executor = slots_by_executor(log)
        self._times, is_full = self._occupation(log)
        numbers = np.arange(len(is_full))
        self._last_full = np.maximum.accumulate(np.where(is_full, numbers, -1))
        self._next_full = np.minimum.accumulate(np.where(is_full, numbers, len(numbers) - 1)[::-1])[::-1]
        self._gap_seconds, self._freed_before = self._gaps()

    def lag_seconds(self, submitted_at: float, first_launch: float) -> float:
        """What of the time between passed before all slots were taken, and after one was free again."""
        last_before = int(np.searchsorted(self._times, first_launch, side="left")) - 1
        last_full = int(self._last_full[last_before]) if last_before >= 0 else -1
        if last_full < 0:
            return max(0.0, first_launch - submitted_at)
        free_again = min(float(self._times[last_full + 1]), first_launch)
        if free_again <= submitted_at:
            return max(0.0, first_launch - submitted_at)
        at_submission = max(0, int(np.searchsorted(self._times, submitted_at, side="right")) - 1)
        taken = max(submitted_at, float(self._times[self._next_full[at_submission]]))
        return max(0.0, first_launch - free_again) + taken - submitted_at

    def dispatch_seconds(self, places: IntColumn, first_launch: float) -> float:
        """How long a slot of the stage stood idle on average before its next task of it.

        Args:
            places: of the stage's tasks.
            first_launch: of them.
        """
        tasks = self._tasks
        counts = (self._freed_before[places] >= first_launch) & (tasks.attempt[places] == 0)
        counts &= ~tasks.speculative[places]
        if not counts.any():
            return 0.0
        return max(0.0, float(self._gap_seconds[places][counts].mean()))

    def _occupation(self, log: EventLog) -> tuple[FloatColumn, BoolColumn]:
        """When slots were taken, freed, added or lost, and whether none was free then."""
        tasks = log.tasks
        added = np.array([executor.added_at for executor in log.executors])
        slots = np.array([self._slots_by_executor[executor.number] for executor in log.executors])
        lost = np.array([executor.removed_at or np.inf for executor in log.executors])
        if not len(added):
            added, slots, lost = np.array([-np.inf]), np.array([most_at_once(tasks)]), np.array([np.inf])
        times = np.concatenate([freed_at(tasks), added, lost, tasks.launched_at])
        change = np.concatenate([np.ones(len(tasks)), slots, -slots, -np.ones(len(tasks))])
        order = np.argsort(times, kind="stable")
        # The last is after all tasks.
        return np.append(times[order], np.inf), np.append(np.cumsum(change[order]) <= 0, False)

    def _gaps(self) -> tuple[FloatColumn, FloatColumn]:
        """For each task how long its slot had been free, and since when; -inf where it had never been taken.

        An executor of c slots gives its k-th task the slot that was freed as the (k - c)-th.
        """
        tasks = self._tasks
        gap, since = np.zeros(len(tasks)), np.full(len(tasks), -np.inf)
        freed = freed_at(tasks)
        for number, slots in self._slots_by_executor.items():
            places = np.flatnonzero(tasks.executor == number)
            places = places[np.lexsort((tasks.task_id[places], tasks.launched_at[places]))]
            later = places[slots:]
            before = np.sort(freed[places])[: len(later)]
            gap[later], since[later] = tasks.launched_at[later] - before, before
        return gap, since
