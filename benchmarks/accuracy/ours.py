"""The method of this package. The only place of the benchmark that says which it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.pooling import pooled_prior
from benchmarks.accuracy.methods import AnyMethod, Forecast, Method
from benchmarks.accuracy.runs import Runs

NAME = "ours"
"""The predictor as a DAG uses it: it knows the other jobs of the deployment from the model store."""

ALONE = "ours, one job alone"
TOLD_ROWS = "ours, told the rows"


@dataclass
class Averaging:
    """The averaging of terms, from the runs of one job alone."""

    name: str = ALONE
    prior: AveragingPrior | None = None

    def fit(self, *, machines: FloatArray, scale: FloatArray, seconds: FloatArray) -> Forecast:
        """Learn from runs, all of shape (n,)."""
        return TermAveraging(prior=self.prior).fit_undetermined(
            machines=machines, scale=scale, seconds=seconds
        )

    def fit_rows(self, runs: Runs) -> Forecast:
        """Learn from runs of which nothing is told but whether they read samples of one input."""
        prior = self.prior or AveragingPrior()
        known = replace(prior, other_shape=0.0) if runs.of_one_input else prior
        return TermAveraging(prior=known).fit_undetermined(
            machines=runs.machines, scale=runs.scale, seconds=runs.seconds
        )


@dataclass
class RowAveraging:
    """The averaging of terms from the runs of one job, told what a row of each input holds."""

    name: str = TOLD_ROWS

    def fit(self, *, machines: FloatArray, scale: FloatArray, seconds: FloatArray) -> Forecast:
        """Learn from runs on inputs of one shape, all of shape (n,)."""
        return Averaging().fit(machines=machines, scale=scale, seconds=seconds)

    def fit_rows(self, runs: Runs) -> Forecast:
        """Learn from runs on inputs of any shape."""
        return TermAveraging(prior=AveragingPrior(other_shape=0.0)).fit_undetermined(
            machines=runs.machines,
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

    name: str = NAME
    of_one_input: bool = False

    def pool(self, jobs: Sequence[Runs]) -> Method:
        """The method for the jobs of one deployment, given the training runs of each."""
        prior = pooled_prior([_observations(job) for job in jobs])
        known = replace(prior, other_shape=0.0) if self.of_one_input else prior
        return Averaging(name=self.name, prior=known)


def ours() -> tuple[AnyMethod, AnyMethod]:
    """The package's own predictor, for the first job of a deployment and for later ones."""
    return Averaging(), PooledAveraging()


def _observations(runs: Runs) -> list[Observation]:
    table = zip(runs.machines.tolist(), runs.scale.tolist(), runs.seconds.tolist(), strict=True)
    return [
        Observation(index=index, machines=int(machines), scale=scale, seconds=seconds)
        for index, (machines, scale, seconds) in enumerate(table)
    ]
