"""How a job may deviate from every sum of terms: smoothly, by some per cent, over doublings.

A Gaussian process on the logarithm of the time, over the logarithms of machines and scale. Near the
runs that were made it takes up what the terms leave; away from them it returns to 0 with its full
standard deviation, so that intervals become wider outside the range of the observations.
"""

from __future__ import annotations

import numpy as np

from airflow_provider_ernest.model.averaging.prior import AveragingPrior
from airflow_provider_ernest.model.parameters import FloatArray


def coordinates(prior: AveragingPrior, *, machines: FloatArray, scale: FloatArray) -> FloatArray:
    """Configurations in units of the distances over which deviations change, shape (n, 2)."""
    return np.column_stack([np.log2(machines) / prior.machines_octaves, np.log2(scale) / prior.scale_octaves])


def correlation(these: FloatArray, those: FloatArray) -> FloatArray:
    """How far the deviations at two sets of coordinates, (n, 2) and (q, 2), go together: shape (n, q)."""
    distance_squared = ((these[:, None] - those[None]) ** 2).sum(axis=-1)
    return np.asarray(np.exp(-0.5 * distance_squared), dtype=np.float64)
