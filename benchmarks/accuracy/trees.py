"""Plain ensembles of regression trees (scikit-learn, its default settings): what needs no idea of Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

from airflow_provider_ernest.prediction.numbers import FloatArray


class TreeForecast:
    """A fitted ensemble; without intervals."""

    def __init__(self, ensemble: Any) -> None:
        self.ensemble = ensemble

    def predict(self, *, machines: FloatArray, scale: FloatArray) -> FloatArray:
        """Seconds, shape (n,)."""
        return np.asarray(self.ensemble.predict(features(machines, scale)), dtype=np.float64)

    def interval(self, *, machines: FloatArray, scale: FloatArray, level: float) -> None:
        """None."""


class Trees:
    """An ensemble on machines, scale and their logarithms."""

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self.name = name
        self.make = make

    def fit(self, *, machines: FloatArray, scale: FloatArray, seconds: FloatArray) -> TreeForecast:
        """Fit to the seconds."""
        return TreeForecast(self.make().fit(features(machines, scale), seconds))


def features(machines: FloatArray, scale: FloatArray) -> FloatArray:
    """Shape (n, 4)."""
    return np.column_stack([machines, scale, np.log(machines), np.log(scale)])


def random_forest() -> Trees:
    """100 trees."""
    return Trees("random forest", lambda: RandomForestRegressor(n_estimators=100, random_state=0))


def gradient_boosting() -> Trees:
    """100 stages of depth 3."""
    return Trees("gradient boosting", lambda: GradientBoostingRegressor(random_state=0))
