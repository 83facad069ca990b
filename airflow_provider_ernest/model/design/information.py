"""The information that runs give on the coefficients of a model, and how good it is.

A run with term values a (a row of the basis) adds ``a a^T`` to the information matrix. The inverse
of that matrix is, up to the noise, the covariance of the estimated coefficients; A-optimal designs
minimise its trace, the sum of the coefficients' variances (Ernest, section 3.2; Boyd and
Vandenberghe, Convex Optimization, section 7.5).
"""

from __future__ import annotations

import numpy as np

from airflow_provider_ernest.model.parameters import FloatArray, IntArray

SINGULAR = 1e-12
"""A matrix counts as singular where its smallest eigenvalue is below this share of the largest."""


def normalised(rows: FloatArray, observed_rows: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Both sets of rows divided by the candidates' column means, as the original implementation does.

    It makes the variances of all coefficients count alike, whatever the unit of their terms.

    Args:
        rows: the candidates' term values, shape (n, p).
        observed_rows: those of the runs already made, shape (m, p), or none.

    Returns:
        Arrays of shape (n, p) and (m, p).
    """
    means = rows.mean(axis=0)
    means = np.where(means > 0, means, 1.0)
    observed = np.empty((0, rows.shape[1])) if observed_rows is None else observed_rows
    return rows / means, observed / means


def information_matrix(
    rows: FloatArray, weights: FloatArray | IntArray, observed_rows: FloatArray
) -> FloatArray:
    """The sum of ``weight * a a^T`` over the candidates plus ``a a^T`` over the runs already made.

    Args:
        rows: term values, shape (n, p).
        weights: how often, or with which share, each candidate is run, shape (n,).
        observed_rows: term values of the runs already made, shape (m, p).

    Returns:
        Array of shape (p, p).
    """
    return np.asarray((rows.T * weights) @ rows + observed_rows.T @ observed_rows, dtype=np.float64)


def a_criterion(information: FloatArray) -> float:
    """The trace of the inverse of an information matrix; infinite where it is singular."""
    eigenvalues = np.linalg.eigvalsh(information)
    if eigenvalues[0] <= SINGULAR * eigenvalues[-1]:
        return float("inf")
    return float(np.sum(1.0 / eigenvalues))
