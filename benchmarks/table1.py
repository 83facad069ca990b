"""Table 1 of the paper (Venkataraman et al.: Ernest, NSDI 2016): its models of eight MLlib jobs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.terms import ERNEST, basis

TABLE_1: dict[str, dict[str, float]] = {
    "spearman": {"1": 0.0, "scale/executors": 4887.10, "executors": 0.0, "log(executors)": 4.14},
    "classification": {"1": 0.80, "scale/executors": 211.18, "executors": 0.01, "log(executors)": 0.90},
    "pca": {"1": 6.86, "scale/executors": 208.44, "executors": 0.02, "log(executors)": 0.0},
    "naive bayes": {"1": 0.0, "scale/executors": 307.48, "executors": 0.0, "log(executors)": 1.00},
    "summary statistics": {"1": 0.42, "scale/executors": 39.02, "executors": 0.0, "log(executors)": 0.07},
    "regression": {"1": 0.64, "scale/executors": 630.93, "executors": 0.09, "log(executors)": 1.50},
    "als": {"1": 28.62, "scale/executors": 3361.89, "executors": 0.0, "log(executors)": 0.0},
    "kmeans": {"1": 0.0, "scale/executors": 149.58, "executors": 0.05, "log(executors)": 0.54},
}
"""The coefficients of each job's terms, in seconds."""


def seconds_of(job: str, *, executors: ArrayLike, scale: ArrayLike) -> FloatArray:
    """What the paper's model of a job gives for n runs, shape (n,)."""
    coefficients = np.array([TABLE_1[job][term] for term in ERNEST])
    return np.asarray(basis(ERNEST, executors=executors, scale=scale) @ coefficients, dtype=np.float64)
