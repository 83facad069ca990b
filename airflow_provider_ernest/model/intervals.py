"""Intervals from distributions of the logarithm of a run's seconds."""

from __future__ import annotations

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
