"""Intervals from distributions of the logarithm of a run's seconds."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.parameters import FloatArray

STRATA = 16
"""Each normal distribution of a mixture is stood for by so many of its quantiles."""


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

    Args:
        means: of k components for n mixtures, shape (k, n).
        standard_deviations: likewise.
        probabilities: q of them.

    Returns:
        Shape (q, n).
    """
    strata = norm.ppf((np.arange(STRATA) + 0.5) / STRATA)
    values = means[:, None, :] + standard_deviations[:, None, :] * strata[:, None]
    return np.asarray(
        np.quantile(values.reshape(-1, means.shape[1]), probabilities, axis=0), dtype=np.float64
    )


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
    least = norm.ppf(two_sided(level)[1]) * least_log_spreads
    below = np.maximum(np.log(seconds / low) * factors, least)
    above = np.maximum(np.log(high / seconds) * factors, least)
    return seconds * np.exp(-below), seconds * np.exp(above)
