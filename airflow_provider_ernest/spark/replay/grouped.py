"""Medians of many small groups at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.spark.log_reading.tables import FloatColumn, IntColumn, TaskTable


def stage_numbers(tasks: TaskTable) -> IntColumn:
    """For each task a number that is the same for all of its stage's attempt, counted from 0."""
    keys = np.stack([tasks.stage_id, tasks.stage_attempt])
    return np.asarray(np.unique(keys, axis=1, return_inverse=True)[1]).reshape(-1)


def medians(values: NDArray[np.float64] | IntColumn, groups: IntColumn, count: int) -> FloatColumn:
    """The median of each group.

    Args:
        values: of shape (n,).
        groups: the group of each, from 0 to count - 1.
        count: of groups.

    Returns:
        Shape (count,); NaN for a group without values.
    """
    order = np.lexsort((values, groups))
    sorted_values = np.asarray(values, dtype=np.float64)[order]
    begins = np.searchsorted(groups[order], np.arange(count), side="left")
    sizes = np.bincount(groups, minlength=count)
    low, high = begins + np.maximum(0, sizes - 1) // 2, begins + sizes // 2
    found = np.full(count, np.nan)
    some = sizes > 0
    found[some] = (sorted_values[low[some]] + sorted_values[high[some]]) / 2.0
    return found
