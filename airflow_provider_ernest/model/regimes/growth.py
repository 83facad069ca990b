"""How a figure that Spark reports of each run (tasks, cached bytes) grows with the input and the machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.model.least_squares import non_negative_least_squares
from airflow_provider_ernest.model.parameters import FloatArray
from airflow_provider_ernest.model.terms import basis


@dataclass(frozen=True, kw_only=True)
class Growth:
    """A sum of terms with coefficients of at least 0.

    Attributes:
        terms: names of p terms.
        coefficients: shape (p,), in the figure's unit.
        deviations: fitted over reported, less 1, shape (n,).
    """

    terms: tuple[str, ...]
    coefficients: FloatArray
    deviations: FloatArray

    def at(self, *, machines: FloatArray | float, scale: FloatArray | float) -> FloatArray:
        """The figure at n configurations, shape (n,)."""
        rows = basis(self.terms, machines=machines, scale=scale)
        return np.asarray(rows @ self.coefficients, dtype=np.float64)


def fit_growth(
    terms: Sequence[str], *, machines: FloatArray, scale: FloatArray, values: FloatArray
) -> Growth | None:
    """Non-negative least squares on relative errors.

    Args:
        terms: names of p terms.
        machines: of n runs.
        scale: of n runs.
        values: the figure of n runs, each above 0.

    Returns:
        The growth, None where the runs do not determine the terms.
    """
    rows = basis(terms, machines=machines, scale=scale) / values[:, np.newaxis]
    size = np.linalg.norm(rows, axis=0)
    if np.linalg.matrix_rank(rows / size, tol=1e-6) < len(terms):
        return None
    coefficients = non_negative_least_squares(rows, np.ones(values.size))
    return Growth(
        terms=tuple(terms), coefficients=coefficients, deviations=np.asarray(rows @ coefficients - 1.0)
    )
