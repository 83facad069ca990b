"""Which of the points may not belong to the others: short of memory, or disturbed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.model.averaging.prior import AveragingPrior
from airflow_provider_ernest.model.averaging.repetitions import Points
from airflow_provider_ernest.model.least_squares import non_negative_least_squares
from airflow_provider_ernest.model.parameters import FloatArray

POINTS_LEFT = 4
"""Points that must be left in the common regime: from fewer nothing can be told apart."""

POINTS_TO_SUSPECT = 6
"""With fewer points a single one cannot be told from the shape of the whole."""

SUSPECTS = 2
"""How many single points are suspected."""

MIN_SECONDS_SHARE = 1e-9


def suspicions(
    points: Points, columns: FloatArray, prior: AveragingPrior
) -> tuple[list[NDArray[np.bool_]], FloatArray]:
    """The sets of points that may not belong to the others, with their prior probabilities.

    The first set is empty. Then come the points with the most data for each machine (and those with
    the two most): where memory runs short, time grows out of proportion. Last come the single points
    that the others predict worst.

    Args:
        points: n points.
        columns: their term values, shape (n, p).
        prior: gives the probabilities.

    Returns:
        h masks of shape (n,), and the probabilities, shape (h,), with sum 1.
    """
    none = np.zeros(len(points.seconds), dtype=bool)
    sets, probabilities = [none], [0.0]
    for mask, probability in zip(memory_cuts(points), prior.memory_cut, strict=False):
        if probability > 0:
            sets.append(mask)
            probabilities.append(probability)
    for suspect in _conspicuous(points.seconds, columns) if prior.disturbed_run > 0 else []:
        sets.append(np.arange(len(none)) == suspect)
        probabilities.append(prior.disturbed_run)
    probabilities[0] = max(1.0 - sum(probabilities), 0.05)
    return sets, np.array(probabilities) / sum(probabilities)


def memory_cuts(points: Points) -> list[NDArray[np.bool_]]:
    """The points with the most data for each machine, then those with the two most, and so on."""
    load = (points.scale / points.machines).round(12)
    levels = np.unique(load)[::-1]
    masks = [load >= levels[cut] for cut in range(len(levels) - 2)]
    return [mask for mask in masks if (~mask).sum() >= POINTS_LEFT]


def _conspicuous(seconds: FloatArray, columns: FloatArray) -> list[int]:
    """The points with the largest relative errors when they are predicted from the others."""
    count = len(seconds)
    if count < POINTS_TO_SUSPECT:
        return []
    errors = np.empty(count)
    for left_out in range(count):
        rest = np.arange(count) != left_out
        coefficients = non_negative_least_squares(columns[rest] / seconds[rest, None], np.ones(count - 1))
        predicted = max(float(columns[left_out] @ coefficients), MIN_SECONDS_SHARE * seconds[left_out])
        errors[left_out] = abs(np.log(seconds[left_out] / predicted))
    return [int(position) for position in np.argsort(-errors, kind="stable")[:SUSPECTS]]
