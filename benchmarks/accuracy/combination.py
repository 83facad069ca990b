"""Bell: a parametric or a non-parametric model, whichever cross-validation prefers (Thamsen et al. 2016)."""

from __future__ import annotations

import numpy as np

from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.terms import ERNEST
from benchmarks.accuracy.forms import LeastSquares
from benchmarks.accuracy.methods import Forecast, Method

BANDWIDTHS = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Of the kernel, as shares of the range that the training runs span."""

FEWEST_RUNS = 4
"""Below this leave-one-out leaves too little to tell the models apart, and the parametric one is taken."""

LEAST_SHARE = 0.05
"""No prediction falls below this share of the shortest training run: a line may cross zero."""


class LocalForecast:
    """A line through the neighbourhood of each prediction; without intervals.

    Args:
        runs: machines, scale and seconds of the training runs.
        bandwidth: of the Gaussian kernel, as a share of the range of the training runs.
    """

    def __init__(self, runs: tuple[FloatArray, FloatArray, FloatArray], *, bandwidth: float) -> None:
        machines, scale, self.seconds = runs
        self.points = np.column_stack([machines, scale])
        span = np.ptp(self.points, axis=0)
        self.span = np.where(span > 0, span, 1.0)
        self.bandwidth = bandwidth

    def predict(self, *, machines: FloatArray, scale: FloatArray) -> FloatArray:
        """Seconds, shape (n,)."""
        targets = np.column_stack([machines, scale])
        seconds = [self._predict_one(target) for target in targets]
        floor = LEAST_SHARE * float(self.seconds.min())
        return np.maximum(np.array(seconds, dtype=np.float64), floor)

    def _predict_one(self, target: FloatArray) -> float:
        offsets = (self.points - target) / self.span
        squares = (offsets**2).sum(axis=1) / self.bandwidth**2
        # Relative to the nearest run, so that far outside not all weights vanish.
        weights = np.exp(-0.5 * (squares - squares.min()))
        rows = np.column_stack([np.ones(len(offsets)), offsets])
        weighted = rows * weights[:, None]
        # A trace of ridge on the slopes: where one run outweighs all others they are open.
        ridge = 1e-6 * np.diag([0.0, 1.0, 1.0])
        return float(np.linalg.solve(rows.T @ weighted + ridge, weighted.T @ self.seconds)[0])

    def interval(self, *, machines: FloatArray, scale: FloatArray, level: float) -> None:
        """None."""


class LocalRegression:
    """Local linear regression with a given bandwidth."""

    name = "local regression"

    def __init__(self, bandwidth: float) -> None:
        self.bandwidth = bandwidth

    def fit(self, *, machines: FloatArray, scale: FloatArray, seconds: FloatArray) -> LocalForecast:
        """Keep the runs."""
        return LocalForecast((machines, scale, seconds), bandwidth=self.bandwidth)


class Bell:
    """Ernest's original model or local linear regression, by the leave-one-out error in seconds."""

    name = "Bell"

    def fit(self, *, machines: FloatArray, scale: FloatArray, seconds: FloatArray) -> Forecast:
        """Choose, then fit to all runs."""
        parametric = LeastSquares("Ernest", terms=ERNEST, weighting="absolute")
        options: list[Method] = [parametric, *(LocalRegression(bandwidth) for bandwidth in BANDWIDTHS)]
        if len(seconds) < FEWEST_RUNS:
            options = [parametric]
        best = min(options, key=lambda method: _left_out_error(method, machines, scale, seconds))
        return best.fit(machines=machines, scale=scale, seconds=seconds)


def _left_out_error(method: Method, machines: FloatArray, scale: FloatArray, seconds: FloatArray) -> float:
    """Mean absolute error of the runs, each predicted from all the others."""
    errors = []
    for position in range(len(seconds)):
        rest = np.arange(len(seconds)) != position
        fitted = method.fit(machines=machines[rest], scale=scale[rest], seconds=seconds[rest])
        one = slice(position, position + 1)
        predicted = fitted.predict(machines=machines[one], scale=scale[one])
        errors.append(abs(float(predicted[0]) - float(seconds[position])))
    return float(np.mean(errors))
