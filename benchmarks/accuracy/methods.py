"""What a method of prediction is to the benchmark, and all that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.terms import ERNEST, OPTEX
from benchmarks.accuracy.runs import Runs


class Forecast(Protocol):
    """A fitted method."""

    def predict(self, *, machines: FloatArray, scale: FloatArray) -> FloatArray:
        """Seconds, shape (n,)."""

    def interval(
        self, *, machines: FloatArray, scale: FloatArray, level: float
    ) -> tuple[FloatArray, FloatArray] | None:
        """Bounds in seconds, both of shape (n,), that a run keeps to with probability `level`.

        None if the method has no intervals.
        """


class Method(Protocol):
    """A way to predict run times from a few runs of one job."""

    name: str

    def fit(self, *, machines: FloatArray, scale: FloatArray, seconds: FloatArray) -> Forecast:
        """Learn from runs, all of shape (n,)."""


@runtime_checkable
class RowMethod(Protocol):
    """A method that can be told more of the inputs than their scales."""

    def fit_rows(self, runs: Runs) -> Forecast:
        """Learn from runs."""


@runtime_checkable
class PooledMethod(Protocol):
    """A method that also learns from the other jobs of the deployment."""

    name: str

    def pool(self, jobs: Sequence[Runs]) -> Method:
        """The method for the jobs of one deployment, given the training runs of each."""


AnyMethod = Method | PooledMethod

ORIGINAL = "original Ernest"


def all_methods() -> list[AnyMethod]:
    """The methods that are compared; the last is ours."""
    from benchmarks.accuracy.amdahl import BatchAmdahl, OnlineAmdahl
    from benchmarks.accuracy.combination import Bell
    from benchmarks.accuracy.forms import LeastSquares
    from benchmarks.accuracy.ours import ours
    from benchmarks.accuracy.trees import gradient_boosting, random_forest

    return [
        LeastSquares(ORIGINAL, terms=ERNEST, weighting="absolute"),
        LeastSquares("Ernest, relative", terms=ERNEST),
        LeastSquares("OptEx form", terms=OPTEX),
        BatchAmdahl(),
        OnlineAmdahl(),
        Bell(),
        random_forest(),
        gradient_boosting(),
        *ours(),
    ]
