"""How many of the machines a job can keep busy: its tasks against the slots that run them.

A stage of 16 tasks runs no faster on 64 slots than on 16. The event log tells the tasks of the stages in
which most of the time goes; how they grow (not at all, as with a fixed number of shuffle partitions, or with
the input, or with the machines, as Spark's default parallelism does) is read off the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.model.documents import Observation, RunMetrics
from airflow_provider_ernest.model.parameters import FloatArray, machines_and_scale
from airflow_provider_ernest.model.regimes.growth import Growth, fit_growth

_ONE_CAUSE = (("1",), ("scale",), ("machines",))
_MORE_CAUSES = (("1", "scale"), ("1", "scale", "machines"))
_SAME_SHARE = 0.1
"""Task counts that a growth explains within this share, or within a task, are explained."""
_UNEXPLAINED_SHARE = 0.5
"""Beyond this the runs contradict one another, and nothing is said of the tasks at other configurations."""


@dataclass(frozen=True, kw_only=True)
class Parallelism:
    """Tasks and slots of a job at other configurations.

    Attributes:
        slots_per_machine: tasks that one machine runs at once.
        growths: ways in which the tasks may grow, all of them in line with the runs.
    """

    slots_per_machine: float
    growths: tuple[Growth, ...]

    def tasks(self, *, machines: ArrayLike, scale: ArrayLike) -> FloatArray:
        """Tasks that can run at once, shape (n,), whole numbers of at least 1.

        Where the runs allow several ways of growth it is the one with most tasks: no limit is
        foreseen without evidence.
        """
        machine_column, scale_column = machines_and_scale(machines=machines, scale=scale)
        counts = [growth.at(machines=machine_column, scale=scale_column) for growth in self.growths]
        return np.asarray(np.maximum(1.0, np.round(np.max(counts, axis=0))), dtype=np.float64)

    def effective_machines(self, *, machines: ArrayLike, scale: ArrayLike) -> FloatArray:
        """Machines that would do as much if all their slots were always busy, shape (n,)."""
        machine_column, scale_column = machines_and_scale(machines=machines, scale=scale)
        tasks = self.tasks(machines=machine_column, scale=scale_column)
        slots = machine_column * self.slots_per_machine
        return np.asarray(tasks / self.slots_per_machine / _rounds(tasks / slots), dtype=np.float64)


def parallelism(observations: Sequence[Observation]) -> Parallelism | None:
    """What the runs tell of tasks and slots; None where they tell nothing, or contradict one another."""
    told = [(run, run.metrics) for run in observations if run.metrics is not None and _tells(run.metrics)]
    if not told:
        return None
    machines = np.array([run.machines for run, _ in told], dtype=np.float64)
    scale = np.array([run.scale for run, _ in told])
    tasks = np.array([metrics.dominant_stage_tasks for _, metrics in told], dtype=np.float64)
    slots = np.array([metrics.slots for _, metrics in told], dtype=np.float64)
    growths = _growths(machines, scale, tasks)
    if not growths:
        return None
    return Parallelism(slots_per_machine=float(np.median(slots / machines)), growths=growths)


def effective_machines(
    observations: Sequence[Observation], *, machines: ArrayLike, scale: ArrayLike
) -> FloatArray:
    """Machines that work counts on: those asked for, less what has no task to run.

    Terms of work that spreads take these; terms of overhead take the machines themselves. Runs and
    predictions are to be treated alike.

    Args:
        observations: the runs, those without metrics tell nothing.
        machines: n numbers of machines, or one.
        scale: n shares of the target input, or one.

    Returns:
        Array of shape (n,), each above 0 and at most `machines`; `machines` where nothing is known.

    Raises:
        InvalidParameterError: a value does not fit.
    """
    machine_column, scale_column = machines_and_scale(machines=machines, scale=scale)
    known = parallelism(observations)
    if known is None:
        return np.array(machine_column)
    return known.effective_machines(machines=machine_column, scale=scale_column)


def _tells(metrics: RunMetrics) -> bool:
    return bool(metrics.dominant_stage_tasks) and metrics.slots > 0


def _growths(machines: FloatArray, scale: FloatArray, tasks: FloatArray) -> tuple[Growth, ...]:
    """The simplest ways of growth that explain the task counts; none where nothing nearly does."""
    allowed = np.maximum(_SAME_SHARE, 0.6 / tasks)

    def fits(causes: Sequence[tuple[str, ...]]) -> list[Growth]:
        found = (fit_growth(terms, machines=machines, scale=scale, values=tasks) for terms in causes)
        return [growth for growth in found if growth is not None]

    simple = [growth for growth in fits(_ONE_CAUSE) if np.all(np.abs(growth.deviations) <= allowed)]
    if simple:
        return tuple(simple)
    several = fits(_MORE_CAUSES)
    for growth in several:
        if np.all(np.abs(growth.deviations) <= allowed):
            return (growth,)
    closest = min(several, key=_largest_deviation, default=None)
    if closest is None or _largest_deviation(closest) > _UNEXPLAINED_SHARE:
        return ()
    return (closest,)


def _largest_deviation(growth: Growth) -> float:
    return float(np.max(np.abs(growth.deviations)))


def _rounds(tasks_per_slot: FloatArray) -> FloatArray:
    """Rounds that the slots need, counted in tasks.

    Equal tasks need ``ceil(tasks_per_slot)`` rounds. Tasks of unequal length fill the gaps of the last
    round: then time goes with ``tasks_per_slot`` itself. Tasks are in between, so the mean is taken.
    """
    even = np.ceil(tasks_per_slot)
    uneven = np.maximum(1.0, tasks_per_slot)
    return np.asarray((even + uneven) / 2.0, dtype=np.float64)
