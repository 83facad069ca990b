"""The predictor: an average over all sets of terms, weighted by how well each explains the runs.

A few runs seldom tell which terms a job has. Instead of choosing one set and being as sure of it as if
it were given, the predictor weighs every set (Bayesian model averaging; Hoeting et al. 1999) and every
other hypothesis of `evidence`, draws coefficients from the weighted whole, and predicts with all draws.
Their median is the prediction, their spread the interval. Each draw is a sum of non-negative terms, so
the parts of a prediction are still seconds of something.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.model.averaging.discrepancy import coordinates, correlation
from airflow_provider_ernest.model.averaging.evidence import LEAST_WORKERS, term_columns, weigh
from airflow_provider_ernest.model.averaging.posterior import draw
from airflow_provider_ernest.model.averaging.prior import AveragingPrior
from airflow_provider_ernest.model.averaging.repetitions import Points, merge_repetitions
from airflow_provider_ernest.model.intervals import mixture_quantiles, two_sided
from airflow_provider_ernest.model.parameters import FloatArray, machines_and_scale, positive_column
from airflow_provider_ernest.model.terms import DICTIONARY, basis, check_terms, iteration_factors

LEAST_POINTS = 3
"""Fixed and spreading work go through any two points: only a third one says anything about them."""

MOST_TERMS = 8
"""Sets of terms double with each; with eight a fit takes about a second."""

SMALLEST_SHARE = 0.05
"""A draw's terms never explain less of a point than this: the logarithm must stay finite."""


class TermAveraging:
    """Run time as a sum of terms of which it is not known which there are.

    Args:
        terms: names of p terms over whose subsets to average; see `terms.DICTIONARY`.
        prior: what is believed before the runs; None for `AveragingPrior()`.

    Attributes:
        coefficients_: after `fit`: mean seconds per unit of each term, shape (p,), none negative.
        probabilities_: of each term to be part of the model, shape (p,).
        driver_share_: the probability that one of the machines does no work.
        noise_: mean relative standard deviation of a single run.
        disturbed_: for each run the probability that it does not belong to the others, shape (runs,).

    Example:
        A job with 10 s of fixed work and 200 s of work that spreads, observed on small samples:

        >>> import numpy as np
        >>> machines = np.array([1, 2, 4, 8, 2, 8])
        >>> scale = np.array([0.1, 0.1, 0.1, 0.1, 0.05, 0.05])
        >>> seconds = 10 + 200 * scale / machines
        >>> averaging = TermAveraging().fit(machines=machines, scale=scale, seconds=seconds)
        >>> bool(abs(averaging.predict(machines=16, scale=1.0)[0] / 22.5 - 1) < 0.1)
        True
        >>> low, high = averaging.interval(machines=16, scale=1.0, level=0.95)
        >>> bool(low[0] < 22.5 < high[0])
        True
    """

    coefficients_: FloatArray
    probabilities_: FloatArray
    driver_share_: float
    noise_: float
    disturbed_: FloatArray

    def __init__(self, *, terms: Sequence[str] = DICTIONARY, prior: AveragingPrior | None = None) -> None:
        self.terms = terms
        self.prior = prior

    def fit(
        self,
        *,
        machines: ArrayLike,
        scale: ArrayLike,
        seconds: ArrayLike,
        workers: ArrayLike | None = None,
    ) -> Self:
        """Weigh the hypotheses by the runs.

        Args:
            machines: the number of machines of each run, shape (n,).
            scale: the share of the target input that each run read, shape (n,).
            seconds: the time of each run, shape (n,); runs of one configuration count by their median.
            workers: the machines that shared the work which spreads, shape (n,); by default all.

        Raises:
            InvalidParameterError: a value is not finite, or not above 0; the message gives its position.
            TooFewObservationsError: there are fewer than three distinct configurations.
            FitError: all runs used the same number of machines.
        """
        points = self._points(machines, scale, seconds, workers)
        if len(points.seconds) < LEAST_POINTS:
            raise TooFewObservationsError(
                f"{len(points.seconds)} distinct configurations say too little about a job.",
                remedy=f"Observe at least {LEAST_POINTS} pairs of machines and scale, better 5 to 8.",
            )
        if len(np.unique(points.machines)) == 1:
            raise FitError(
                f"All runs used {points.machines[0]:g} machines: how the time changes with their number "
                "cannot be told.",
                remedy="Observe runs on at least one other number of machines.",
            )
        return self._fit(points)

    def fit_undetermined(
        self,
        *,
        machines: ArrayLike,
        scale: ArrayLike,
        seconds: ArrayLike,
        workers: ArrayLike | None = None,
    ) -> Self:
        """Like `fit`, with whatever there is: what the runs leave open is as the prior has it.

        Cross-validation needs it where one run is left out.
        """
        return self._fit(self._points(machines, scale, seconds, workers))

    def predict(
        self,
        *,
        machines: ArrayLike,
        scale: ArrayLike,
        workers: ArrayLike | None = None,
        iteration_ratio: float = 1.0,
    ) -> FloatArray:
        """Median seconds of runs, shape (n,).

        Args:
            machines: n numbers of machines, or one for all runs.
            scale: n shares of the target input, or one for all runs.
            workers: the machines that share the work which spreads, likewise; by default all.
            iteration_ratio: what all terms but the fixed one are multiplied by.

        Raises:
            FitError: the predictor has not been fitted.
            InvalidParameterError: a value does not fit.
        """
        log_seconds, _ = self._drawn(machines, scale, workers, iteration_ratio)
        return np.asarray(np.exp(np.median(log_seconds, axis=0)), dtype=np.float64)

    def interval(
        self,
        *,
        machines: ArrayLike,
        scale: ArrayLike,
        level: float,
        workers: ArrayLike | None = None,
        iteration_ratio: float = 1.0,
    ) -> tuple[FloatArray, FloatArray]:
        """Seconds that a single run lies between with probability `level`, shapes (n,).

        The arguments are those of `predict`; `level` is between 0 and 1.
        """
        log_seconds, spreads = self._drawn(machines, scale, workers, iteration_ratio)
        low, high = mixture_quantiles(log_seconds, spreads, two_sided(level))
        return np.exp(low), np.exp(high)

    def contributions(
        self,
        *,
        machines: ArrayLike,
        scale: ArrayLike,
        workers: ArrayLike | None = None,
        iteration_ratio: float = 1.0,
    ) -> FloatArray:
        """The seconds of each prediction that each term explains, shape (n, p); they add up to it.

        The share of a term is its mean share over the draws. The arguments are those of `predict`.
        """
        parts = self._parts(machines, scale, workers, iteration_ratio)
        shares = (parts / parts.sum(axis=-1, keepdims=True)).mean(axis=0)
        predicted = self.predict(
            machines=machines, scale=scale, workers=workers, iteration_ratio=iteration_ratio
        )
        return np.asarray(shares * predicted[:, None], dtype=np.float64)

    def _points(
        self, machines: ArrayLike, scale: ArrayLike, seconds: ArrayLike, workers: ArrayLike | None
    ) -> Points:
        names = check_terms(self.terms)
        if len(names) > MOST_TERMS:
            raise InvalidParameterError(
                "terms", names, f"are {len(names)}", remedy=f"Average over at most {MOST_TERMS} terms."
            )
        machine_column, scale_column = machines_and_scale(machines=machines, scale=scale)
        seconds_column = positive_column("seconds", seconds)
        if len(seconds_column) != len(machine_column):
            raise InvalidParameterError(
                "seconds",
                seconds_column.tolist(),
                f"has {len(seconds_column)} values for {len(machine_column)} runs",
                remedy="Pass the seconds of each run.",
            )
        worker_column = machine_column if workers is None else positive_column("workers", workers)
        return merge_repetitions(
            machines=machine_column,
            scale=scale_column,
            seconds=seconds_column,
            workers=np.broadcast_to(worker_column, machine_column.shape),
        )

    def _fit(self, points: Points) -> Self:
        prior = self.prior or AveragingPrior()
        self._evidence = weigh(points, check_terms(self.terms), prior)
        self._draws = draw(self._evidence)
        self.coefficients_ = self._draws.coefficients.mean(axis=0)
        self.probabilities_ = self._draws.included.mean(axis=0)
        self.driver_share_ = float(self._evidence.driver_machines[self._draws.driver].mean())
        self.noise_ = float(np.array(prior.noise)[self._draws.noise].mean())
        outside = self._evidence.outside[self._draws.outside].mean(axis=0)
        self.disturbed_ = outside[points.point_of_run]
        return self

    def _parts(
        self, machines: ArrayLike, scale: ArrayLike, workers: ArrayLike | None, iteration_ratio: float
    ) -> FloatArray:
        """Seconds of each draw, run and term, shape (k, n, p)."""
        if not hasattr(self, "_draws"):
            raise FitError("This predictor has seen no runs yet.", remedy="Call fit first.")
        names = check_terms(self.terms)
        machine_column, scale_column = machines_and_scale(machines=machines, scale=scale)
        worker_column = machine_column if workers is None else positive_column("workers", workers)
        columns = np.array(
            [
                basis(
                    names,
                    machines=machine_column,
                    scale=scale_column,
                    workers=np.maximum(worker_column - driver, LEAST_WORKERS),
                )
                for driver in self._evidence.driver_machines
            ]
        )
        factors = iteration_factors(names, iteration_ratio)
        return np.asarray(
            columns[self._draws.driver] * (self._draws.coefficients * factors)[:, None, :], dtype=np.float64
        )

    def _drawn(
        self, machines: ArrayLike, scale: ArrayLike, workers: ArrayLike | None, iteration_ratio: float
    ) -> tuple[FloatArray, FloatArray]:
        """Means and standard deviations of the logarithm of each draw's and run's seconds, (k, n) each."""
        parts = self._parts(machines, scale, workers, iteration_ratio)
        evidence, draws, prior = self._evidence, self._draws, self.prior or AveragingPrior()
        machine_column, scale_column = machines_and_scale(machines=machines, scale=scale)
        there = coordinates(prior, machines=machine_column, scale=scale_column)
        here = coordinates(prior, machines=evidence.points.machines, scale=evidence.points.scale)
        together = correlation(here, there)
        residuals = self._residuals()
        deviation, variance = np.zeros(parts.shape[:2]), np.zeros(parts.shape[:2])
        hypotheses = np.column_stack([draws.outside, draws.discrepancy, draws.noise])
        for outside, level, noise in np.unique(hypotheses, axis=0):
            these = (hypotheses == (outside, level, noise)).all(axis=1)
            covariance = prior.discrepancy[level] ** 2 * together
            weights = evidence.precisions[outside, level, noise] @ covariance
            deviation[these] = residuals[these] @ weights
            left = prior.discrepancy[level] ** 2 - (covariance * weights).sum(axis=0)
            variance[these] = np.maximum(left, 0.0) + prior.noise[noise] ** 2
        return np.log(parts.sum(axis=-1)) + deviation, np.sqrt(variance)

    def _residuals(self) -> FloatArray:
        """What each draw's terms leave of the logarithms of the points' seconds, shape (k, n)."""
        evidence = self._evidence
        columns = np.array(
            [
                term_columns(check_terms(self.terms), evidence.points, driver)
                for driver in evidence.driver_machines
            ]
        )
        shares = columns[self._draws.driver] / evidence.reference[:, None]
        explained = np.einsum("knp,kp->kn", shares, self._draws.coefficients)
        return np.asarray(
            evidence.deviations - np.log(np.maximum(explained, SMALLEST_SHARE)), dtype=np.float64
        )
