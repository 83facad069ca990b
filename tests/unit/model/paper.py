"""What the tests take from the paper (Ernest, NSDI 2016), and observations made of it."""

from collections.abc import Sequence

import numpy as np

from airflow_provider_ernest.model.documents import Observation
from airflow_provider_ernest.model.parameters import FloatArray
from airflow_provider_ernest.model.terms import ERNEST, basis

TABLE_1 = {
    "spearman": {"1": 0.0, "scale/machines": 4887.10, "machines": 0.0, "log(machines)": 4.14},
    "classification": {"1": 0.80, "scale/machines": 211.18, "machines": 0.01, "log(machines)": 0.90},
    "pca": {"1": 6.86, "scale/machines": 208.44, "machines": 0.02, "log(machines)": 0.0},
    "naive bayes": {"1": 0.0, "scale/machines": 307.48, "machines": 0.0, "log(machines)": 1.00},
    "summary statistics": {"1": 0.42, "scale/machines": 39.02, "machines": 0.0, "log(machines)": 0.07},
    "regression": {"1": 0.64, "scale/machines": 630.93, "machines": 0.09, "log(machines)": 1.50},
    "als": {"1": 28.62, "scale/machines": 3361.89, "machines": 0.0, "log(machines)": 0.0},
    "kmeans": {"1": 0.0, "scale/machines": 149.58, "machines": 0.05, "log(machines)": 0.54},
}
"""The coefficients of the paper's eight MLlib jobs, in seconds."""


def seconds_of(job: str, *, machines: Sequence[int], scale: Sequence[float] | float) -> FloatArray:
    """What the paper's model of a job gives for runs."""
    coefficients = np.array([TABLE_1[job][term] for term in ERNEST])
    return basis(ERNEST, machines=machines, scale=scale) @ coefficients


def observe(
    *, machines: Sequence[int], scale: Sequence[float] | float, seconds: Sequence[float], **fields: object
) -> list[Observation]:
    """Observations of runs; further fields are the same for all."""
    scales = [scale] * len(machines) if isinstance(scale, int | float) else scale
    return [
        Observation(index=index, machines=int(m), scale=float(s), seconds=float(t), **fields)
        for index, (m, s, t) in enumerate(zip(machines, scales, seconds, strict=True))
    ]
