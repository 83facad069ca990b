"""The extended Amdahl model (see `amdahl`) fitted to all runs at once.

The online model learns the sequential time from the runs on the fewest machines, and alpha from those
on the most. Where all runs are at hand each of them can tell of both: for a given alpha the law is
linear in the polynomial's coefficients, so non-negative least squares gives them, and alpha is searched.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from airflow_provider_ernest.exceptions import FitError, TooFewObservationsError
from airflow_provider_ernest.model.least_squares import non_negative_least_squares
from airflow_provider_ernest.model.parameters import (
    FloatArray,
    machines_and_scale,
    seconds_of_runs,
    whole_number,
)

STEPS = 50
"""Intervals of alpha between 0 and 1 that the best one is sought among before it is refined."""


class AmdahlRegression:
    """Run time as ``(alpha/machines + 1 - alpha) * polynomial(scale)``, errors relative to each run's time.

    Args:
        max_degree: of the polynomial; lower where there are too few different scales.

    Attributes:
        alpha_: after `fit`: the share of the work that spreads.
        coefficients_: after `fit`: of the sequential time in powers of scale, none negative.
    """

    alpha_: float
    coefficients_: FloatArray

    def __init__(self, *, max_degree: int = 1) -> None:
        self.max_degree = max_degree

    def fit(self, *, machines: ArrayLike, scale: ArrayLike, seconds: ArrayLike) -> Self:
        """Estimate alpha and the polynomial.

        Args:
            machines: the number of machines of each run, shape (n,).
            scale: the share of the target input that each run read, shape (n,).
            seconds: the time of each run, shape (n,).

        Raises:
            InvalidParameterError: a value is not finite, or not above 0.
            TooFewObservationsError: there are fewer runs than constants.
            FitError: all runs used the same number of machines.
        """
        counts, scales = machines_and_scale(machines=machines, scale=scale)
        column = seconds_of_runs(seconds, counts.size)
        degree = min(
            whole_number("max_degree", self.max_degree, minimum=0), max(0, np.unique(scales).size - 1)
        )
        if counts.size < degree + 2:
            raise TooFewObservationsError(
                f"{counts.size} observations cannot determine alpha and a polynomial of degree {degree}.",
                remedy=f"Observe at least {degree + 2} runs, or lower max_degree.",
            )
        if np.unique(counts).size < 2:
            raise FitError(
                f"All runs used {counts[0]:g} machines: they do not tell what more would do.",
                remedy="Observe a run on another number of machines.",
            )
        largest = scales.max()
        powers = np.arange(degree + 1)
        rows = (scales[:, None] / largest) ** powers / column[:, None]

        def solved(alpha: float) -> tuple[FloatArray, float]:
            shares = rows * (alpha / counts + 1 - alpha)[:, None]
            solution = non_negative_least_squares(shares, np.ones_like(column))
            return solution, float(np.linalg.norm(shares @ solution - 1.0))

        steps = np.linspace(0.0, 1.0, STEPS + 1)
        best = float(steps[np.argmin([solved(alpha)[1] for alpha in steps])])
        around = (max(0.0, best - 1 / STEPS), min(1.0, best + 1 / STEPS))
        refined = minimize_scalar(
            lambda alpha: solved(alpha)[1], bounds=around, method="bounded", options={"xatol": 1e-9}
        )
        self.alpha_ = min((best, float(refined.x)), key=lambda alpha: solved(alpha)[1])
        self.coefficients_ = solved(self.alpha_)[0] / largest**powers
        return self

    def predict(self, *, machines: ArrayLike, scale: ArrayLike) -> FloatArray:
        """Seconds of runs, shape (n,).

        Raises:
            FitError: the regression has not been fitted.
            InvalidParameterError: a value does not fit.
        """
        if not hasattr(self, "alpha_"):
            raise FitError("This regression has no coefficients yet.", remedy="Call fit first.")
        counts, scales = machines_and_scale(machines=machines, scale=scale)
        sequential = np.polynomial.polynomial.polyval(scales, self.coefficients_)
        return np.asarray((self.alpha_ / counts + 1 - self.alpha_) * sequential, dtype=np.float64)
