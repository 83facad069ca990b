"""The model as an estimator: non-negative least squares on the terms (Ernest, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.model.identifiability import runs_to_add, undetermined_terms
from airflow_provider_ernest.model.parameters import FloatArray, machines_and_scale, positive_column
from airflow_provider_ernest.model.terms import ERNEST, basis, check_terms, quoted

WEIGHTINGS = ("relative", "absolute")
"""How the errors of runs count: as a share of the run's time, or in seconds (the original)."""


class ErnestRegression:
    """Run time as a sum of terms with non-negative coefficients.

    Args:
        terms: names of p terms; see `terms.TERMS`.
        weighting: "relative" counts the error of a run as a share of its time (run times vary by
            per cent, so long runs must not drown short ones), "absolute" in seconds, as the original.

    Attributes:
        coefficients_: after `fit`: seconds per unit of each term, shape (p,), none negative.

    Example:
        A job with 10 s of fixed work and 200 s of work that spreads, observed on small samples:

        >>> import numpy as np
        >>> machines = np.array([1, 2, 4, 8, 2, 8])
        >>> scale = np.array([0.1, 0.1, 0.1, 0.1, 0.05, 0.05])
        >>> seconds = 10 + 200 * scale / machines
        >>> regression = ErnestRegression().fit(machines=machines, scale=scale, seconds=seconds)
        >>> regression.predict(machines=[16, 64], scale=1.0).round(3).tolist()
        [22.5, 13.125]
    """

    coefficients_: FloatArray

    def __init__(self, *, terms: Sequence[str] = ERNEST, weighting: str = "relative") -> None:
        self.terms = terms
        self.weighting = weighting

    def fit(self, *, machines: ArrayLike, scale: ArrayLike, seconds: ArrayLike) -> Self:
        """Estimate the coefficients.

        Args:
            machines: the number of machines of each run, shape (n,).
            scale: the share of the target input that each run read, shape (n,).
            seconds: the time of each run, shape (n,).

        Raises:
            InvalidParameterError: a value is not finite, or not above 0; the message gives its position.
            TooFewObservationsError: there are fewer runs than terms.
            FitError: the runs cannot tell some of the terms apart; the message says which, and what to add.
        """
        rows, seconds_column = self._observed(machines=machines, scale=scale, seconds=seconds)
        self._check_determined(rows, machines=machines, scale=scale)
        self.coefficients_ = self._solve(rows, seconds_column)
        return self

    def fit_undetermined(self, *, machines: ArrayLike, scale: ArrayLike, seconds: ArrayLike) -> Self:
        """Like `fit`, where the runs need not determine the terms.

        Non-negative least squares has a solution all the same, with as few terms as it takes, but
        other coefficients would fit as well. Cross-validation needs it where one run is left out.
        """
        self.coefficients_ = self._solve(*self._observed(machines=machines, scale=scale, seconds=seconds))
        return self

    def predict(self, *, machines: ArrayLike, scale: ArrayLike) -> FloatArray:
        """Seconds of runs, shape (n,).

        Args:
            machines: n numbers of machines, or one for all runs.
            scale: n shares of the target input, or one for all runs.

        Raises:
            FitError: the regression has not been fitted.
            InvalidParameterError: a value does not fit.
        """
        if not hasattr(self, "coefficients_"):
            raise FitError("This regression has no coefficients yet.", remedy="Call fit first.")
        rows = basis(self.terms, machines=machines, scale=scale)
        return np.asarray(rows @ self.coefficients_, dtype=np.float64)

    def _observed(
        self, *, machines: ArrayLike, scale: ArrayLike, seconds: ArrayLike
    ) -> tuple[FloatArray, FloatArray]:
        """The basis of the runs, shape (n, p), and their seconds, shape (n,), all checked."""
        if self.weighting not in WEIGHTINGS:
            raise InvalidParameterError(
                "weighting", self.weighting, "is unknown", remedy=f"Use one of {quoted(WEIGHTINGS)}."
            )
        rows = basis(self.terms, machines=machines, scale=scale)
        seconds_column = positive_column("seconds", seconds)
        if len(seconds_column) != len(rows):
            raise InvalidParameterError(
                "seconds",
                seconds_column.tolist(),
                f"has {len(seconds_column)} values for {len(rows)} runs",
                remedy="Pass the seconds of each run.",
            )
        return rows, seconds_column

    def _check_determined(self, rows: FloatArray, *, machines: ArrayLike, scale: ArrayLike) -> None:
        terms = check_terms(self.terms)
        if len(rows) < len(terms):
            raise TooFewObservationsError(
                f"{len(rows)} observations cannot determine {len(terms)} terms: {quoted(terms)}.",
                remedy=f"Observe at least {len(terms)} runs, better {len(terms) + 2}, or name fewer terms.",
            )
        undetermined = undetermined_terms(rows, terms)
        if undetermined:
            machine_column, scale_column = machines_and_scale(machines=machines, scale=scale)
            raise FitError(
                f"The {len(rows)} observations cannot tell the terms {quoted(undetermined)} apart.",
                remedy=runs_to_add(undetermined, machines=machine_column, scale=scale_column),
            )

    def _solve(self, rows: FloatArray, seconds: FloatArray) -> FloatArray:
        weights = 1.0 / seconds if self.weighting == "relative" else np.ones_like(seconds)
        weighted = rows * weights[:, None]
        # Columns of one length: the active set method compares their gradients with one tolerance.
        lengths = np.linalg.norm(weighted, axis=0)
        lengths = np.where(lengths > 0, lengths, 1.0)
        try:
            solution, _ = nnls(weighted / lengths, seconds * weights)
        except RuntimeError as error:
            raise FitError(f"Non-negative least squares did not converge: {error}.") from error
        return np.asarray(solution / lengths, dtype=np.float64)
