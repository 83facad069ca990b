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
from numpy.typing import ArrayLike, NDArray

from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.model.averaging.contradiction import wrong_points
from airflow_provider_ernest.model.averaging.posterior import Posterior, Runs
from airflow_provider_ernest.model.averaging.prior import AveragingPrior
from airflow_provider_ernest.model.averaging.repetitions import Points, merge_repetitions
from airflow_provider_ernest.model.intervals import mixture_probabilities, mixture_quantiles, two_sided
from airflow_provider_ernest.model.parameters import FloatArray, seconds_of_runs
from airflow_provider_ernest.model.terms import DICTIONARY, check_terms

LEAST_POINTS = 3
"""Fixed and spreading work go through any two points: only a third one says anything about them."""

MOST_TERMS = 8
"""Sets of terms double with each; with eight a fit takes about a second."""


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
        apart_: the runs that contradict the others so much that they were left out, shape (runs,).

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
    apart_: NDArray[np.bool_]

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
            seconds: the time of each run, shape (n,); see `repetitions` for runs of one configuration.
            workers: the machines that shared the work which spreads, shape (n,); by default all.

        Raises:
            InvalidParameterError: a value is not finite, or not above 0; the message gives its position.
            TooFewObservationsError: there are fewer than three distinct configurations.
            FitError: all runs used the same number of machines, or they contradict each other.
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
        return self._fit(
            points, wrong_points(points, check_terms(self.terms), self.prior or AveragingPrior())
        )

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
        points = self._points(machines, scale, seconds, workers)
        try:
            wrong = wrong_points(points, check_terms(self.terms), self.prior or AveragingPrior())
        except FitError:
            wrong = np.zeros(len(points.seconds), dtype=bool)
        return self._fit(points, wrong)

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
        runs = Runs(machines=machines, scale=scale, workers=workers, iteration_ratio=iteration_ratio)
        log_seconds, _ = self._fitted().log_seconds(runs)
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
        runs = Runs(machines=machines, scale=scale, workers=workers, iteration_ratio=iteration_ratio)
        log_seconds, spreads = self._fitted().log_seconds(runs)
        low, high = mixture_quantiles(log_seconds, spreads, two_sided(level))
        return np.exp(low), np.exp(high)

    def probability_within(
        self,
        *,
        machines: ArrayLike,
        scale: ArrayLike,
        limits: ArrayLike,
        workers: ArrayLike | None = None,
        iteration_ratio: float = 1.0,
    ) -> FloatArray:
        """The probability that a single run takes no longer than `limits`, shape (n,).

        `limits` are n times in seconds, above 0; the other arguments are those of `predict`.
        """
        runs = Runs(machines=machines, scale=scale, workers=workers, iteration_ratio=iteration_ratio)
        log_seconds, spreads = self._fitted().log_seconds(runs)
        return mixture_probabilities(log_seconds, spreads, np.log(np.asarray(limits, dtype=np.float64)))

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
        runs = Runs(machines=machines, scale=scale, workers=workers, iteration_ratio=iteration_ratio)
        parts = self._fitted().parts(runs)
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
        asked = Runs(machines=machines, scale=scale, workers=workers)
        machine_column, scale_column, worker_column = asked.columns()
        seconds_column = seconds_of_runs(seconds, machine_column.size)
        return merge_repetitions(
            machines=machine_column, scale=scale_column, seconds=seconds_column, workers=worker_column
        )

    def _fit(self, points: Points, wrong: NDArray[np.bool_]) -> Self:
        prior = self.prior or AveragingPrior()
        self._posterior = Posterior(points.at(~wrong), terms=check_terms(self.terms), prior=prior)
        evidence, draws = self._posterior.evidence, self._posterior.draws
        self.coefficients_ = draws.coefficients.mean(axis=0)
        self.probabilities_ = draws.included.mean(axis=0)
        self.driver_share_ = float(evidence.driver_machines[draws.driver].mean())
        self.noise_ = float(np.array(prior.noise)[draws.noise].mean())
        disturbed = wrong.astype(np.float64)
        disturbed[~wrong] = evidence.outside[draws.outside].mean(axis=0)
        self.disturbed_, self.apart_ = disturbed[points.point_of_run], wrong[points.point_of_run]
        return self

    def _fitted(self) -> Posterior:
        if not hasattr(self, "_posterior"):
            raise FitError("This predictor has seen no runs yet.", remedy="Call fit first.")
        return self._posterior
