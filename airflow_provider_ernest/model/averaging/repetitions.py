"""Runs of the same configuration as one point: their median, so that a straggling one does no harm."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.model.parameters import FloatArray, IntArray

ALIKE = 1.25
"""Runs of one configuration whose times differ by more did not do the same work, or were disturbed."""


@dataclass(frozen=True, kw_only=True)
class Points:
    """Distinct configurations that were run.

    Attributes:
        machines: shape (n,).
        workers: the machines that shared the work which spreads, shape (n,).
        scale: shape (n,).
        seconds: medians over the repetitions, shape (n,).
        repetitions: how many runs each point stands for, shape (n,).
        agreeing: whether the runs of a point took as long as one another; not of a single run. Shape (n,).
        point_of_run: for each run the position of its point, shape (runs,).
    """

    machines: FloatArray
    workers: FloatArray
    scale: FloatArray
    seconds: FloatArray
    repetitions: IntArray
    agreeing: NDArray[np.bool_]
    point_of_run: IntArray

    @property
    def noise_factors(self) -> FloatArray:
        """The standard deviation of each point's noise as a share of a single run's, squared.

        With 1/sqrt(k) instead of 1/k for the median of k runs: runs one after the other on the same
        machines share disturbances, so that they tell less than independent ones.
        """
        return np.asarray(1.0 / np.sqrt(self.repetitions), dtype=np.float64)

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
        )


def merge_repetitions(
    *, machines: FloatArray, scale: FloatArray, seconds: FloatArray, workers: FloatArray
) -> Points:
    """The distinct (machines, scale, workers) of runs, each array of shape (runs,), in ascending order."""
    configurations, point_of_run, repetitions = np.unique(
        np.column_stack([machines, scale, workers]), axis=0, return_inverse=True, return_counts=True
    )
    point_of_run = point_of_run.ravel()
    of_points = [seconds[point_of_run == point] for point in range(len(configurations))]
    return Points(
        machines=configurations[:, 0],
        scale=configurations[:, 1],
        workers=configurations[:, 2],
        seconds=np.array([np.median(times) for times in of_points]),
        agreeing=np.array([len(times) > 1 and times.max() <= ALIKE * times.min() for times in of_points]),
        repetitions=repetitions,
        point_of_run=point_of_run,
    )
