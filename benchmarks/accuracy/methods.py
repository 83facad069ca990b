"""The methods of prediction that are compared; the last are those of this package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.prediction.amdahl import ExtendedAmdahl
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.prior import pooled_prior, with_counted_executors
from airflow_provider_ernest.prediction.regression import ErnestRegression
from airflow_provider_ernest.prediction.terms import ERNEST, OPTEX
from benchmarks.accuracy.runs import Runs

Interval = tuple[FloatArray, FloatArray]
"""Bounds in seconds, both of shape (n,)."""


class Forecast(Protocol):
    """A fitted method."""

    def predict(self, *, executors: FloatArray, scale: FloatArray) -> FloatArray:
        """Seconds, shape (n,)."""

    def interval(self, *, executors: FloatArray, scale: FloatArray, level: float) -> Interval | None:
        """What a run keeps to with probability `level`; None if the method has no intervals."""


class Method(Protocol):
    """A way to predict run times from a few runs of one job."""

    name: str

    def fit(self, runs: Runs) -> Forecast:
        """Learn from runs; refused with an `ErnestError` where they do not determine the method."""


@runtime_checkable
class PooledMethod(Protocol):
    """A method that also learns from the other jobs of the deployment."""

    name: str

    def pool(self, jobs: Sequence[Runs]) -> Method:
        """The method for the jobs of one deployment, given the training runs of each."""


AnyMethod = Method | PooledMethod


def pool(method: AnyMethod, jobs: Sequence[Runs]) -> Method:
    """The method, having seen the training runs of all jobs of a deployment if it wants to."""
    return method.pool(jobs) if isinstance(method, PooledMethod) else method


@dataclass
class PointForecast:
    """A fitted method without intervals: of machines and scale it gives seconds."""

    seconds: Callable[[FloatArray, FloatArray], Any]

    def predict(self, *, executors: FloatArray, scale: FloatArray) -> FloatArray:
        """Seconds, shape (n,)."""
        return np.asarray(self.seconds(executors, scale), dtype=np.float64)

    def interval(self, *, executors: FloatArray, scale: FloatArray, level: float) -> None:
        """None."""


@dataclass
class LeastSquares:
    """The package's non-negative least squares; where runs leave several fits open, one of them."""

    name: str
    terms: Sequence[str] = tuple(ERNEST)
    weighting: str = "relative"

    def fit(self, runs: Runs) -> ErnestRegression:
        """Learn from runs."""
        regression = ErnestRegression(terms=tuple(self.terms), weighting=self.weighting)
        return regression.fit_undetermined(executors=runs.executors, scale=runs.scale, seconds=runs.seconds)


ORIGINAL = LeastSquares("original Ernest", weighting="absolute")


class OnlineAmdahl:
    """The package's own online form: the polynomial from the fewest machines, alpha from the most."""

    name = "Amdahl, online"

    def fit(self, runs: Runs) -> PointForecast:
        """One run after the other; of degree 0 where the fewest machines saw a single scale."""
        scales = np.unique(runs.scale[runs.executors == runs.executors.min()])
        model = ExtendedAmdahl(degree=min(1, len(scales) - 1))
        for count, share, seconds in zip(runs.executors, runs.scale, runs.seconds, strict=True):
            model.add(x=float(share), processors=int(count), seconds=float(seconds))
        return PointForecast(lambda executors, scale: model.predict(x=scale, processors=executors))


class RandomForest:
    """100 trees on machines, scale and their logarithms: what needs no idea of Spark."""

    name = "random forest"

    def fit(self, runs: Runs) -> PointForecast:
        """Learn from runs."""
        forest = RandomForestRegressor(n_estimators=100, random_state=0)
        forest.fit(self._features(runs.executors, runs.scale), runs.seconds)
        return PointForecast(lambda executors, scale: forest.predict(self._features(executors, scale)))

    def _features(self, executors: FloatArray, scale: FloatArray) -> FloatArray:
        return np.column_stack([executors, scale, np.log(executors), np.log(scale)])


@dataclass
class LocalRegression:
    """A line through the neighbourhood of each prediction.

    Attributes:
        bandwidth: of the Gaussian kernel, as a share of the range of the training runs.
    """

    bandwidth: float
    name: str = "local regression"

    least_share = 0.05
    """No prediction falls below this share of the shortest training run: a line may cross zero."""

    def fit(self, runs: Runs) -> PointForecast:
        """Keep the runs."""
        points = np.column_stack([runs.executors, runs.scale])
        span = np.ptp(points, axis=0)
        span = np.where(span > 0, span, 1.0)

        def seconds(executors: FloatArray, scale: FloatArray) -> FloatArray:
            targets = np.column_stack([executors, scale])
            found = [self._one((points - target) / span, runs.seconds) for target in targets]
            return np.asarray(np.maximum(found, self.least_share * runs.seconds.min()), dtype=np.float64)

        return PointForecast(seconds)

    def _one(self, offsets: FloatArray, seconds: FloatArray) -> float:
        squares = (offsets**2).sum(axis=1) / self.bandwidth**2
        # Relative to the nearest run, so that far outside not all weights vanish.
        weights = np.exp(-0.5 * (squares - squares.min()))
        rows = np.column_stack([np.ones(len(offsets)), offsets])
        weighted = rows * weights[:, None]
        # A trace of ridge on the slopes: where one run outweighs all others they are open.
        ridge = 1e-6 * np.diag([0.0, 1.0, 1.0])
        return float(np.linalg.solve(rows.T @ weighted + ridge, weighted.T @ seconds)[0])


class Bell:
    """Ernest's original model or local linear regression, by the leave-one-out error in seconds.

    As Thamsen et al. 2016 combine a parametric with a non-parametric model.
    """

    name = "Bell"
    bandwidths = (0.1, 0.2, 0.4, 0.8, 1.6)

    fewest_runs = 4
    """With fewer, leave-one-out cannot tell the models apart, and the parametric one is taken."""

    def fit(self, runs: Runs) -> Forecast:
        """Choose, then fit to all runs."""
        options: list[Method] = [ORIGINAL, *map(LocalRegression, self.bandwidths)]
        if len(runs) < self.fewest_runs:
            options = [ORIGINAL]
        return min(options, key=lambda method: self._left_out_error(method, runs)).fit(runs)

    def _left_out_error(self, method: Method, runs: Runs) -> float:
        """Mean absolute error of the runs, each predicted from all the others."""
        errors = []
        for position in range(len(runs)):
            one = runs.at([position])
            fitted = method.fit(runs.at(np.arange(len(runs)) != position))
            predicted = fitted.predict(executors=one.executors, scale=one.scale)
            errors.append(abs(float(predicted[0] - one.seconds[0])))
        return float(np.mean(errors))


OURS = "ours"
"""The predictor as a DAG uses it: it knows the other jobs of the deployment from the model store."""


@dataclass
class Averaging:
    """The package's averaging of terms, from the runs of one job alone."""

    name: str = "ours, one job alone"
    prior: AveragingPrior = field(default_factory=AveragingPrior)

    def fit(self, runs: Runs) -> TermAveraging:
        """Learn from runs; if they read samples of one input, no other shape is feared."""
        prior = replace(self.prior, other_shape=0.0) if runs.of_one_input else self.prior
        prior = with_counted_executors(prior) if runs.is_counted else prior
        return TermAveraging(prior=prior).fit_undetermined(
            executors=runs.executors, scale=runs.scale, seconds=runs.seconds
        )


class RowAveraging:
    """The averaging of terms from the runs of one job, told what a row of each input holds."""

    name = "ours, told the rows"

    def fit(self, runs: Runs) -> TermAveraging:
        """Learn from runs on inputs of any shape."""
        return TermAveraging(prior=AveragingPrior(other_shape=0.0)).fit_undetermined(
            executors=runs.executors,
            scale=runs.scale,
            seconds=runs.seconds,
            row_width=1.0 if runs.row_width is None else runs.row_width,
        )


@dataclass
class PooledAveraging:
    """The averaging of terms, with a prior learned from all jobs of the deployment.

    Attributes:
        of_one_input: the runs of a job are known to be samples of one input, as those that a DAG makes.
    """

    name: str = OURS
    of_one_input: bool = False

    def pool(self, jobs: Sequence[Runs]) -> Method:
        """The method for the jobs of one deployment, given the training runs of each."""
        prior = pooled_prior([job.observations() for job in jobs])
        known = replace(prior, other_shape=0.0) if self.of_one_input else prior
        return Averaging(name=self.name, prior=known)


def all_methods() -> list[AnyMethod]:
    """The methods that are compared; the last is ours."""
    return [
        ORIGINAL,
        LeastSquares("Ernest, relative"),
        LeastSquares("OptEx form", terms=OPTEX),
        OnlineAmdahl(),
        Bell(),
        RandomForest(),
        Averaging(),
        PooledAveraging(),
    ]
