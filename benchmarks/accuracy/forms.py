"""Parametric forms fitted by non-negative least squares: Ernest's, and that of OptEx."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.stats import t as student_t

from airflow_provider_ernest.model.parameters import FloatArray
from airflow_provider_ernest.model.regression import ErnestRegression
from airflow_provider_ernest.model.terms import basis

Columns = Callable[[FloatArray, FloatArray], FloatArray]
"""The columns of a form for machines and scale, shape (n, p)."""


@dataclass(frozen=True, kw_only=True)
class LinearForecast:
    """Coefficients on columns, with the usual interval of a regression.

    Attributes:
        columns: the form.
        coefficients: shape (p,).
        train_rows: the columns of the training runs, shape (n, p).
        train_seconds: their times, shape (n,).
        relative: whether the errors are shares of the times, not seconds.
        searched: how many further parameters the columns were found by.
    """

    columns: Columns
    coefficients: FloatArray
    train_rows: FloatArray
    train_seconds: FloatArray
    relative: bool
    searched: int = 0

    def predict(self, *, machines: FloatArray, scale: FloatArray) -> FloatArray:
        """Seconds, shape (n,)."""
        return np.asarray(self.columns(machines, scale) @ self.coefficients, dtype=np.float64)

    def interval(
        self, *, machines: FloatArray, scale: FloatArray, level: float
    ) -> tuple[FloatArray, FloatArray]:
        """Student's t on the terms that the fit kept, as if they had been the only ones.

        The residual variance has as many degrees of freedom as there are more runs than kept terms, at
        least one; the variance of a prediction adds that of the coefficients.
        """
        kept = self.coefficients > 0
        weights = 1.0 / self.train_seconds if self.relative else np.ones_like(self.train_seconds)
        residuals = (self.train_seconds - self.train_rows @ self.coefficients) * weights
        freedom = max(1, len(residuals) - int(kept.sum()) - self.searched)
        variance = float(residuals @ residuals) / freedom
        rows = self.columns(machines, scale)[:, kept]
        covariance = np.linalg.pinv((self.train_rows * weights[:, None])[:, kept])
        seconds = self.predict(machines=machines, scale=scale)
        noise = seconds**2 if self.relative else np.ones_like(seconds)
        spread = np.sqrt(variance * (noise + ((rows @ covariance) ** 2).sum(axis=1)))
        reach = float(student_t.ppf(0.5 + level / 2, freedom)) * spread
        return np.maximum(seconds - reach, 0.0), seconds + reach


class ErnestMethod:
    """Ernest's regression as this package has it, determined by the runs or not."""

    def __init__(self, name: str, *, terms: Sequence[str], weighting: str) -> None:
        self.name = name
        self.terms = tuple(terms)
        self.weighting = weighting

    def fit(self, *, machines: FloatArray, scale: FloatArray, seconds: FloatArray) -> LinearForecast:
        """Fit with as few terms as it takes where the runs leave several fits open."""
        regression = ErnestRegression(terms=self.terms, weighting=self.weighting)
        regression.fit_undetermined(machines=machines, scale=scale, seconds=seconds)
        return LinearForecast(
            columns=self._columns,
            coefficients=regression.coefficients_,
            train_rows=self._columns(machines, scale),
            train_seconds=seconds,
            relative=self.weighting == "relative",
        )

    def _columns(self, machines: FloatArray, scale: FloatArray) -> FloatArray:
        return basis(self.terms, machines=machines, scale=scale)


class Form:
    """Any columns, with relative errors."""

    def __init__(self, name: str, *, columns: Columns) -> None:
        self.name = name
        self.columns = columns

    def fit(self, *, machines: FloatArray, scale: FloatArray, seconds: FloatArray) -> LinearForecast:
        """Non-negative least squares of the relative errors."""
        rows = self.columns(machines, scale)
        coefficients, _ = relative_nnls(rows, seconds)
        return LinearForecast(
            columns=self.columns,
            coefficients=coefficients,
            train_rows=rows,
            train_seconds=seconds,
            relative=True,
        )


def optex_columns(machines: FloatArray, scale: FloatArray) -> FloatArray:
    """The closed form of OptEx at a fixed number of iterations (Sidhanta, Golab, Mukhopadhyay 2016).

    ``Tinit + Tprep``, ``n*iter*C``, ``iter*B/n`` and ``A*s/n``.
    """
    return np.column_stack([np.ones_like(machines), machines, 1 / machines, scale / machines])


def relative_nnls(rows: FloatArray, seconds: FloatArray) -> tuple[FloatArray, float]:
    """Coefficients, none negative, that make the sum of squared relative errors least; and its root."""
    weighted = rows / seconds[:, None]
    lengths = np.linalg.norm(weighted, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    solution, misfit = nnls(weighted / lengths, np.ones_like(seconds))
    return np.asarray(solution / lengths, dtype=np.float64), float(misfit)
