"""Intervals from distributions of the logarithm of a run's seconds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.parameters import FloatArray

HALVINGS = 30
"""A billionth of the width between components is left: far below what drawing leaves open."""


def two_sided(level: float) -> tuple[float, float]:
    """The quantiles between which the share `level` of a distribution lies.

    Raises:
        InvalidParameterError: the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise InvalidParameterError("level", level, "is not between 0 and 1", remedy="Give 0.8 or 0.95, say.")
    return (1 - level) / 2, (1 + level) / 2


def mixture_quantiles(
    means: FloatArray, standard_deviations: FloatArray, probabilities: tuple[float, ...]
) -> FloatArray:
    """Quantiles of equal mixtures of normal distributions.

    A mixture's quantile lies between the least and the largest of its components' quantiles; there it
    is found by halving.

    Args:
        means: of k components for n mixtures, shape (k, n).
        standard_deviations: likewise, above 0.
        probabilities: q of them.

    Returns:
        Shape (q, n).
    """
    wanted = np.array(probabilities)[:, None]
    of_components = means + ndtri(wanted)[:, :, None] * standard_deviations
    low, high = of_components.min(axis=1), of_components.max(axis=1)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = ndtr((middle[:, None, :] - means) / standard_deviations).mean(axis=1) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2, dtype=np.float64)


def mixture_probabilities(
    means: FloatArray, standard_deviations: FloatArray, values: FloatArray
) -> FloatArray:
    """The probabilities that equal mixtures of normal distributions stay below values.

    Args:
        means: of k components for n mixtures, shape (k, n).
        standard_deviations: likewise, above 0.
        values: shape (n,).
    """
    return np.asarray(ndtr((values - means) / standard_deviations).mean(axis=0), dtype=np.float64)


def widened(
    seconds: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    *,
    level: float,
    factors: FloatArray,
    least_log_spreads: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Intervals that are wider by what is known besides the runs' times.

    Args:
        seconds: predictions, shape (n,).
        bounds: lower and upper bounds around them, shape (n,) each.
        level: the probability of lying between them.
        factors: by which each side's distance on the logarithm grows, shape (n,).
        least_log_spreads: the standard deviation of log(seconds) to assume at least, shape (n,).
    """
    low, high = bounds
    least = ndtri(two_sided(level)[1]) * least_log_spreads
    below = np.maximum(np.log(seconds / low) * factors, least)
    above = np.maximum(np.log(high / seconds) * factors, least)
    return seconds * np.exp(-below), seconds * np.exp(above)


def within_widened(
    seconds: FloatArray,
    limits: FloatArray,
    probability: Callable[[FloatArray], FloatArray],
    *,
    factors: FloatArray,
    least_log_spreads: FloatArray,
) -> FloatArray:
    """The probability that runs take no longer than `limits`, by the intervals of `widened`.

    Args:
        seconds: predictions, shape (n,).
        limits: seconds of at least 0, infinity among them, shape (n,).
        probability: of runs to take no longer than its argument before they are widened.
        factors: see `widened`.
        least_log_spreads: see `widened`.
    """
    # A limit of 0 is never kept; the tiniest number stands for it, as its logarithm is finite.
    distances = np.log(np.maximum(limits, np.finfo(np.float64).tiny) / seconds)
    narrow = probability(seconds * np.exp(distances / factors))
    wide = ndtr(distances / np.where(least_log_spreads > 0, least_log_spreads, 1.0))
    kept = np.where(distances >= 0, np.minimum(narrow, wide), np.maximum(narrow, wide))
    kept = np.where(least_log_spreads > 0, kept, narrow)
    return np.asarray(np.where(limits > 0, kept, 0.0), dtype=np.float64)
