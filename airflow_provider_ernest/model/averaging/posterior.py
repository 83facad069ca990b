"""What the draws say of a run: the seconds of each term, and the distribution of their sum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.model.averaging.discrepancy import coordinates, correlation
from airflow_provider_ernest.model.averaging.draws import Draws, draw
from airflow_provider_ernest.model.averaging.evidence import (
    LEAST_WORKERS,
    Evidence,
    weigh,
)
from airflow_provider_ernest.model.averaging.prior import AveragingPrior
from airflow_provider_ernest.model.averaging.repetitions import Points
from airflow_provider_ernest.model.parameters import FloatArray, column_for_runs, machines_and_scale
from airflow_provider_ernest.model.terms import basis, iteration_factors

SMALLEST_SHARE = 0.05
"""A draw's terms never explain less of a point than this: the logarithm must stay finite."""


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Runs that are asked about.

    Attributes:
        machines: n numbers of machines, or one for all.
        scale: n shares of the target input, or one for all.
        workers: the machines that share the work which spreads, likewise; None for all.
        iteration_ratio: what all terms but the fixed one are multiplied by.
    """

    machines: ArrayLike
    scale: ArrayLike
    workers: ArrayLike | None = None
    iteration_ratio: float = 1.0

    def columns(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Machines, scale and workers, shape (n,) each.

        Raises:
            InvalidParameterError: a value does not fit, or the lengths differ.
        """
        machines, scale = machines_and_scale(machines=self.machines, scale=self.scale)
        if self.workers is None:
            return machines, scale, machines
        return machines, scale, column_for_runs("workers", self.workers, machines.size)


class Posterior:
    """k draws from the hypotheses about a job, given its points.

    Args:
        points: n points.
        terms: names of p terms.
        prior: what is believed before.

    Attributes:
        evidence: the hypotheses.
        draws: what was drawn from them.
    """

    evidence: Evidence
    draws: Draws

    def __init__(self, points: Points, *, terms: tuple[str, ...], prior: AveragingPrior) -> None:
        self.terms = terms
        self.prior = prior
        self.evidence = weigh(points, terms, prior)
        self.draws = draw(self.evidence)

    def parts(self, runs: Runs) -> FloatArray:
        """Seconds of each draw, run and term, shape (k, q, p)."""
        machines, scale, workers = runs.columns()
        columns = np.array(
            [
                basis(
                    self.terms,
                    machines=machines,
                    scale=scale,
                    workers=np.maximum(workers - driver, LEAST_WORKERS),
                )
                for driver in self.evidence.driver_machines
            ]
        )
        coefficients = self.draws.coefficients * iteration_factors(self.terms, runs.iteration_ratio)
        return np.asarray(columns[self.draws.driver] * coefficients[:, None, :], dtype=np.float64)

    def log_seconds(self, runs: Runs) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the logarithm of a single run's seconds, by draw and run: (k, q)."""
        machines, scale, _ = runs.columns()
        points = self.evidence.points
        together = correlation(
            coordinates(self.prior, machines=points.machines, scale=points.scale),
            coordinates(self.prior, machines=machines, scale=scale),
        )
        residuals = self._residuals()
        deviation, variance = np.zeros((2, len(residuals), len(machines)))
        hypotheses = np.column_stack([self.draws.outside, self.draws.discrepancy, self.draws.noise])
        for outside, discrepancy, noise in np.unique(hypotheses, axis=0):
            these = (hypotheses == (outside, discrepancy, noise)).all(axis=1)
            level = self.prior.discrepancy[discrepancy] ** 2
            weights = self.evidence.precisions[outside, discrepancy, noise] @ (level * together)
            deviation[these] = residuals[these] @ weights
            left = level - (level * together * weights).sum(axis=0)
            variance[these] = np.maximum(left, 0.0) + self.prior.noise[noise] ** 2
        return np.log(self.parts(runs).sum(axis=-1)) + deviation, np.sqrt(variance)

    def _residuals(self) -> FloatArray:
        """What each draw's terms leave of the logarithms of the points' seconds, shape (k, n)."""
        shares = self.evidence.columns[self.draws.driver] / self.evidence.reference[:, None]
        explained = np.einsum("knp,kp->kn", shares, self.draws.coefficients)
        return np.asarray(
            self.evidence.deviations - np.log(np.maximum(explained, SMALLEST_SHARE)), dtype=np.float64
        )
