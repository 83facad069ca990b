"""The runs that an experiment design may choose from (Ernest, section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.documents.runs import CandidateRange, Experiment, Observation
from airflow_provider_ernest.exceptions import DesignError, InvalidParameterError
from airflow_provider_ernest.prediction.numbers import (
    FloatArray,
    IntArray,
    positive_number,
    rounded_up,
    whole_number,
)

ROUNDING_TOLERANCE = 1e-9  # shares like 0.07 are not exact: 0.07 * 100 is 7.000000000000001 partitions
SAME_SCALE = 0.01  # what a run really read may differ from what it was to read by this share


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """Runs that could be made, as columns of shape (n,)."""

    executors: IntArray
    scale: FloatArray  # shares of the target input
    partitions: IntArray  # the numbers of whole partitions that these shares are

    def __len__(self) -> int:
        """The number of runs."""
        return len(self.executors)

    def experiment(
        self, at: int, *, index: int, cost: float, iterations: int | None, weight: float = 0.0
    ) -> Experiment:
        """The run at a position, as one to be made."""
        return Experiment(
            index=index,
            executors=int(self.executors[at]),
            scale=float(self.scale[at]),
            partitions=int(self.partitions[at]),
            weight=float(weight),
            cost=float(cost),
            iterations=iterations,
        )

    def ranges(self) -> tuple[CandidateRange, ...]:
        """Where they lie, by number of executors; the fewest first."""
        return tuple(
            CandidateRange(
                executors=int(executors),
                lowest_scale=float(scales.min()),
                highest_scale=float(scales.max()),
                candidates=len(scales),
            )
            for executors in np.unique(self.executors)
            for scales in [self.scale[self.executors == executors]]
        )


def enumerate_candidates(
    *,
    min_executors: int = 1,
    max_executors: int,
    min_scale: float,
    max_scale: float,
    partitions: int,
    executor_cores: int = 1,
    scale_steps: int = 20,
    by_ratio: bool = False,
) -> Candidates:
    """All runs within the bounds that give every core a partition.

    Input is sampled in whole partitions, so scales are whole multiples of ``1/partitions`` (those of the
    whole target input) and at most 1: up to `scale_steps` of them, evenly spread between the bounds, or
    evenly by their ratios, so that small scales differ little where the bounds are far apart. A run is a
    candidate where its partitions are at least as many as its cores: with fewer it would tell nothing of so
    many executors.

    Returns:
        The candidates, ordered by scale and then executors.

    Raises:
        InvalidParameterError: a bound is invalid, or contradicts the other.
        DesignError: no run lies within the bounds.
    """
    min_executors = whole_number("min_executors", min_executors)
    max_executors = whole_number("max_executors", max_executors)
    partitions = whole_number("partitions", partitions)
    executor_cores = whole_number("executor_cores", executor_cores)
    least, most = _partition_bounds(min_scale=min_scale, max_scale=max_scale, partitions=partitions)
    steps = whole_number("scale_steps", scale_steps)
    # A single step is the upper bound: the larger sample tells more.
    spread = np.geomspace if by_ratio else np.linspace
    counts = np.unique(np.rint(spread(most, least, steps)).astype(np.int64))
    partition_column, executor_column = (
        grid.ravel()
        for grid in np.meshgrid(counts, np.arange(min_executors, max_executors + 1), indexing="ij")
    )
    enough = partition_column >= executor_cores * executor_column
    if not enough.any():
        cores = executor_cores * min_executors
        message = (
            f"At most {most} partitions are sampled, fewer than the {cores} cores of the smallest cluster."
        )
        remedy = f"Raise max_scale to {rounded_up(cores / partitions)} or more"
        if cores > partitions:
            remedy = f"Store the input in at least {cores} partitions (now: {partitions})"
        raise DesignError(message, remedy=f"{remedy}, or lower min_executors.")
    partition_column, executor_column = partition_column[enough], executor_column[enough]
    return Candidates(
        executors=executor_column, scale=partition_column / partitions, partitions=partition_column
    )


def were_made(candidates: Candidates, observed: Sequence[Observation]) -> NDArray[np.bool_]:
    """Which of n candidates were run, shape (n,)."""
    made = np.zeros(len(candidates), dtype=np.bool_)
    for run in observed:
        made |= (candidates.executors == run.executors) & np.isclose(
            candidates.scale, run.scale, rtol=SAME_SCALE, atol=0.0
        )
    return made


def _partition_bounds(*, min_scale: float, max_scale: float, partitions: int) -> tuple[int, int]:
    """The least and the most whole partitions between the two scales."""
    min_scale = positive_number("min_scale", min_scale)
    max_scale = positive_number("max_scale", max_scale)
    if max_scale < min_scale:
        raise InvalidParameterError(
            "max_scale",
            max_scale,
            f"is less than min_scale={min_scale}",
            remedy=f"Raise max_scale to {min_scale:g} or more.",
        )
    least = max(1, math.ceil(min_scale * partitions - ROUNDING_TOLERANCE))
    most = math.floor(max_scale * partitions + ROUNDING_TOLERANCE)
    if most < least:
        raise DesignError(
            f"No whole number of the {partitions} partitions lies between min_scale={min_scale:g} and "
            f"max_scale={max_scale:g}.",
            remedy=f"Raise max_scale to {rounded_up(least / partitions)} or more.",
        )
    return least, most
