"""Table 1 of the paper (Venkataraman et al.: Ernest, NSDI 2016): its models of eight MLlib jobs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.terms import ERNEST, basis

TABLE_1: dict[str, dict[str, float]] = {
    "spearman": {"1": 0.0, "scale/machines": 4887.10, "machines": 0.0, "log(machines)": 4.14},
    "classification": {"1": 0.80, "scale/machines": 211.18, "machines": 0.01, "log(machines)": 0.90},
    "pca": {"1": 6.86, "scale/machines": 208.44, "machines": 0.02, "log(machines)": 0.0},
    "naive bayes": {"1": 0.0, "scale/machines": 307.48, "machines": 0.0, "log(machines)": 1.00},
    "summary statistics": {"1": 0.42, "scale/machines": 39.02, "machines": 0.0, "log(machines)": 0.07},
    "regression": {"1": 0.64, "scale/machines": 630.93, "machines": 0.09, "log(machines)": 1.50},
    "als": {"1": 28.62, "scale/machines": 3361.89, "machines": 0.0, "log(machines)": 0.0},
    "kmeans": {"1": 0.0, "scale/machines": 149.58, "machines": 0.05, "log(machines)": 0.54},
}
"""The coefficients of each job's terms, in seconds."""


def seconds_of(job: str, *, machines: ArrayLike, scale: ArrayLike) -> FloatArray:
    """What the paper's model of a job gives for n runs, shape (n,)."""
    coefficients = np.array([TABLE_1[job][term] for term in ERNEST])
    return np.asarray(basis(ERNEST, machines=machines, scale=scale) @ coefficients, dtype=np.float64)
