"""Fits with coefficients that are not negative: least squares that do not give up, and the smallest error."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog, lsq_linear, nnls

from airflow_provider_ernest.exceptions import FitError
from airflow_provider_ernest.model.parameters import FloatArray

STEPS_FOR_EACH_COLUMN = 30


def non_negative_least_squares(rows: FloatArray, values: FloatArray) -> FloatArray:
    """The coefficients, none negative, that bring ``rows @ coefficients`` closest to the values.

    The columns are scaled to one length: the active set method compares their gradients with one
    tolerance. Where columns are so alike that it goes in circles, an interior method takes over.

    Args:
        rows: shape (n, p), finite.
        values: shape (n,), finite.

    Returns:
        Shape (p,).

    Raises:
        FitError: neither method converges.
    """
    lengths = np.linalg.norm(rows, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    try:
        solution, _ = nnls(rows / lengths, values, maxiter=STEPS_FOR_EACH_COLUMN * rows.shape[1])
    except RuntimeError:
        result = lsq_linear(rows / lengths, values, bounds=(0.0, np.inf))
        if not result.success:
            raise FitError(f"Non-negative least squares did not converge: {result.message}") from None
        solution = result.x
    return np.asarray(solution / lengths, dtype=np.float64)


def nearest(columns: FloatArray, seconds: FloatArray) -> tuple[FloatArray, float]:
    """The sum of terms with the smallest largest error, and that error as a factor.

    With coefficients c, not negative, ``columns @ c`` lies within ``seconds / factor`` and
    ``seconds * factor`` at each point; as a linear programme, in ``factor * c`` and ``factor ** 2``.

    Args:
        columns: the terms' values at the points, shape (n, p).
        seconds: shape (n,).

    Returns:
        The coefficients, shape (p,), and the factor, at least 1; infinity where the terms are all 0 at a
        point.
    """
    shares = columns / seconds[:, None]
    lengths = shares.max(axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    shares = shares / lengths
    count, terms = shares.shape
    result = linprog(
        np.append(np.zeros(terms), 1.0),
        A_ub=np.block([[-shares, np.zeros((count, 1))], [shares, -np.ones((count, 1))]]),
        b_ub=np.append(-np.ones(count), np.zeros(count)),
        bounds=[(0.0, None)] * terms + [(1.0, None)],
    )
    if not result.success:
        return np.zeros(terms), float("inf")
    factor = float(np.sqrt(result.fun))
    return np.asarray(result.x[:-1] / lengths / factor, dtype=np.float64), factor
