"""Non-negative least squares that does not give up."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear, nnls

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
