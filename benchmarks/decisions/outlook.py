"""What is predicted of the options, by the original and by the method of this package.

Both see the same training runs of each job, and none of those that are decided about. A job is fitted once,
whatever is asked then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np

from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.terms import ERNEST
from benchmarks.accuracy.evaluation import pool
from benchmarks.accuracy.forms import LeastSquares
from benchmarks.accuracy.methods import ORIGINAL, AnyMethod, Forecast, Method
from benchmarks.accuracy.ours import PooledAveraging
from benchmarks.accuracy.runs import Runs
from benchmarks.decisions.situations import Situation

SHORTEST_SECONDS = 1e-9
"""No run is as short: the probability is 0 where nothing is allowed."""


class ProbableForecast(Forecast, Protocol):
    """A forecast that tells probabilities."""

    def probability_within(
        self, *, machines: FloatArray, scale: FloatArray, limits: FloatArray
    ) -> FloatArray:
        """Of single runs to take no longer than so many seconds, shape (n,)."""


class Forecasts:
    """The fitted methods, one of each for every job.

    Args:
        samples: the training runs of each job; together they are one deployment.
        startup_seconds: what every run takes besides, before it begins to work.
        method: ours; None for the one that learns from all jobs of the deployment, and takes the runs for
            samples of one input, as those that a DAG decides by.
    """

    def __init__(
        self,
        samples: Sequence[Runs],
        *,
        startup_seconds: float = 0.0,
        method: AnyMethod | None = None,
    ) -> None:
        original = LeastSquares(ORIGINAL, terms=ERNEST, weighting="absolute")
        pooled = pool(method or PooledAveraging(of_one_input=True), samples)
        self._original = [_fit(original, runs) for runs in samples]
        self._ours = [cast(ProbableForecast, _fit(pooled, runs)) for runs in samples]
        self._startup_seconds = startup_seconds

    def outlook(self, situation: Situation) -> Outlook:
        """What is predicted of the options of a situation."""
        original, ours = np.empty((2, len(situation.options)))
        for job, rows in situation.by_model():
            machines, scale = situation.columns(rows)
            original[rows] = self._original[job].predict(machines=machines, scale=scale)
            ours[rows] = self._ours[job].predict(machines=machines, scale=scale)
        return Outlook(
            situation=situation,
            original_seconds=self._startup_seconds + original,
            seconds=self._startup_seconds + ours,
            forecasts=self._ours,
            startup_seconds=self._startup_seconds,
        )


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """Predictions of the n options of a situation.

    Attributes:
        situation: the options.
        original_seconds: by the original, shape (n,).
        seconds: by ours, medians, shape (n,).
        forecasts: ours, by the positions that the options name.
        startup_seconds: of every run; in all these seconds, but not in the forecasts.
    """

    situation: Situation
    original_seconds: FloatArray
    seconds: FloatArray
    forecasts: Sequence[ProbableForecast]
    startup_seconds: float = 0.0

    def probabilities(self, limits: FloatArray) -> FloatArray:
        """Of the options to take no longer than so many seconds.

        Args:
            limits: of each option under q questions, shape (q, n).

        Returns:
            Shape (q, n).
        """
        result = np.empty(limits.shape)
        for job, rows in self.situation.by_model():
            machines, scale = self.situation.columns(rows)
            asked = np.maximum(limits[:, rows] - self.startup_seconds, SHORTEST_SECONDS)
            probabilities = self.forecasts[job].probability_within(
                machines=np.tile(machines, len(asked)), scale=np.tile(scale, len(asked)), limits=asked.ravel()
            )
            result[:, rows] = probabilities.reshape(asked.shape)
        return result


def _fit(method: Method, runs: Runs) -> Forecast:
    return method.fit(machines=runs.machines, scale=runs.scale, seconds=runs.seconds)
