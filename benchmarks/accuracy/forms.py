"""Parametric forms fitted by non-negative least squares: Ernest's, and that of OptEx."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.regression import ErnestRegression


class LeastSquares:
    """The package's regression on given terms; where runs leave several fits open, one of them."""

    def __init__(self, name: str, *, terms: Sequence[str], weighting: str = "relative") -> None:
        self.name = name
        self.terms = tuple(terms)
        self.weighting = weighting

    def fit(self, *, machines: FloatArray, scale: FloatArray, seconds: FloatArray) -> ErnestRegression:
        """Learn from runs, all of shape (n,)."""
        regression = ErnestRegression(terms=self.terms, weighting=self.weighting)
        return regression.fit_undetermined(machines=machines, scale=scale, seconds=seconds)
