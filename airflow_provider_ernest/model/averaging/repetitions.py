"""Runs of the same configuration as one point: their median, so that a straggling one does no harm.

Where they took now this time and now another, as with inputs of two shapes, the median is the time of
whichever came more often, and is far off at each of the others. Their mean on the logarithm is never that
far off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.model.parameters import FloatArray, IntArray

ALIKE = 1.25
"""Runs of one configuration whose times differ by more did not do the same work, or were disturbed."""

STRAGGLING_SHARE = 0.2
"""Of the runs of one configuration, at either end, and one of them at least: so few may be disturbed ones."""


@dataclass(frozen=True, kw_only=True)
class Points:
    """Distinct configurations that were run.

    Attributes:
        machines: shape (n,).
        workers: the machines that shared the work which spreads, shape (n,).
        scale: shape (n,).
        seconds: medians over the repetitions, of divided ones their mean on the logarithm; shape (n,).
        repetitions: how many runs each point stands for, shape (n,).
        agreeing: whether the runs of a point took as long as one another; not of a single run. Shape (n,).
        divided: whether they differ by more than `ALIKE` even without the fastest and the slowest
            `STRAGGLING_SHARE` of them: then none is typical of them. Shape (n,).
        point_of_run: for each run the position of its point, shape (runs,).
    """

    machines: FloatArray
    workers: FloatArray
    scale: FloatArray
    seconds: FloatArray
    repetitions: IntArray
    agreeing: NDArray[np.bool_]
    divided: NDArray[np.bool_]
    point_of_run: IntArray

    @property
    def noise_factors(self) -> FloatArray:
        """The standard deviation of each point's noise as a share of a single run's, squared.

        With 1/sqrt(k) instead of 1/k for the median of k runs: runs one after the other on the same
        machines share disturbances, so that they tell less than independent ones. Divided runs share none.
        """
        powers = np.where(self.divided, -1.0, -0.5)
        return np.asarray(self.repetitions.astype(np.float64) ** powers, dtype=np.float64)

    def at(self, which: NDArray[np.bool_]) -> Points:
        """The points where the mask of shape (n,) is true, and the runs that they stand for."""
        positions = np.cumsum(which) - 1
        return replace(
            self,
            point_of_run=positions[self.point_of_run[which[self.point_of_run]]],
            machines=self.machines[which],
            workers=self.workers[which],
            scale=self.scale[which],
            seconds=self.seconds[which],
            repetitions=self.repetitions[which],
            agreeing=self.agreeing[which],
            divided=self.divided[which],
        )


def merge_repetitions(
    *, machines: FloatArray, scale: FloatArray, seconds: FloatArray, workers: FloatArray
) -> Points:
    """The distinct (machines, scale, workers) of runs, each array of shape (runs,), in ascending order."""
    configurations, point_of_run, repetitions = np.unique(
        np.column_stack([machines, scale, workers]), axis=0, return_inverse=True, return_counts=True
    )
    point_of_run = point_of_run.ravel()
    of_points = [np.sort(seconds[point_of_run == point]) for point in range(len(configurations))]
    return Points(
        machines=configurations[:, 0],
        scale=configurations[:, 1],
        workers=configurations[:, 2],
        seconds=np.array([_middle(times) for times in of_points]),
        agreeing=np.array([len(times) > 1 and times[-1] <= ALIKE * times[0] for times in of_points]),
        divided=np.array([_is_divided(times) for times in of_points]),
        repetitions=repetitions,
        point_of_run=point_of_run,
    )


def _is_divided(ascending: FloatArray) -> bool:
    ends = max(1, int(STRAGGLING_SHARE * len(ascending)))
    inner = ascending[ends:-ends]
    return len(inner) > 1 and bool(inner[-1] > ALIKE * inner[0])


def _middle(ascending: FloatArray) -> float:
    middle = np.exp(np.log(ascending).mean()) if _is_divided(ascending) else np.median(ascending)
    return float(middle)
