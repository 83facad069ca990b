"""The model as an estimator: non-negative least squares on the terms (Ernest, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.model.identifiability import runs_to_add, undetermined_terms
from airflow_provider_ernest.model.intervals import two_sided
from airflow_provider_ernest.model.least_squares import non_negative_least_squares
from airflow_provider_ernest.model.parameters import FloatArray, machines_and_scale, seconds_of_runs
from airflow_provider_ernest.model.terms import ERNEST, basis, check_terms, iteration_factors, quoted

WEIGHTINGS = ("relative", "absolute")
"""How the errors of runs count: as a share of the run's time, or in seconds (the original)."""

LEAST_NOISE = 0.01
"""Relative: no run time is exact, even where the terms go through all of the few observed ones."""

MOST_DISTANT = 700.0
"""The exponential of more is no number."""


class ErnestRegression:
    """Run time as a sum of terms with non-negative coefficients.

    Args:
        terms: names of p terms; see `terms.TERMS`.
        weighting: "relative" counts the error of a run as a share of its time (run times vary by
            per cent, so long runs must not drown short ones), "absolute" in seconds, as the original.

    Attributes:
        coefficients_: after `fit`: seconds per unit of each term, shape (p,), none negative.

    Example:
        A job with 10 s of fixed work and 200 s of work that spreads, observed on small samples:

        >>> import numpy as np
        >>> machines = np.array([1, 2, 4, 8, 2, 8])
        >>> scale = np.array([0.1, 0.1, 0.1, 0.1, 0.05, 0.05])
        >>> seconds = 10 + 200 * scale / machines
        >>> regression = ErnestRegression().fit(machines=machines, scale=scale, seconds=seconds)
        >>> regression.predict(machines=[16, 64], scale=1.0).round(3).tolist()
        [22.5, 13.125]
    """

    coefficients_: FloatArray

    def __init__(self, *, terms: Sequence[str] = ERNEST, weighting: str = "relative") -> None:
        self.terms = terms
        self.weighting = weighting

    def fit(
        self,
        *,
        machines: ArrayLike,
        scale: ArrayLike,
        seconds: ArrayLike,
        workers: ArrayLike | None = None,
    ) -> Self:
        """Estimate the coefficients.

        Args:
            machines: the number of machines of each run, shape (n,).
            scale: the share of the target input that each run read, shape (n,).
            seconds: the time of each run, shape (n,).
            workers: the machines that shared the work which spreads, shape (n,); by default all.

        Raises:
            InvalidParameterError: a value is not finite, or not above 0; the message gives its position.
            TooFewObservationsError: there are fewer runs than terms.
            FitError: the runs cannot tell some of the terms apart; the message says which, and what to add.
                Or they leave a sum of terms by which runs take no time.
        """
        rows, seconds_column = self._observed(machines, scale, seconds, workers)
        self._check_determined(rows, machines=machines, scale=scale)
        self._fit(rows, seconds_column)
        self._check_all_take_time(rows, seconds_column, machines=machines, scale=scale)
        return self

    def fit_undetermined(
        self,
        *,
        machines: ArrayLike,
        scale: ArrayLike,
        seconds: ArrayLike,
        workers: ArrayLike | None = None,
    ) -> Self:
        """Like `fit`, where the runs need not determine the terms.

        Non-negative least squares has a solution all the same, with as few terms as it takes, but
        other coefficients would fit as well. Cross-validation needs it where one run is left out.
        """
        return self._fit(*self._observed(machines, scale, seconds, workers))

    def predict(
        self,
        *,
        machines: ArrayLike,
        scale: ArrayLike,
        workers: ArrayLike | None = None,
        iteration_ratio: float = 1.0,
    ) -> FloatArray:
        """Seconds of runs, shape (n,).

        Args:
            machines: n numbers of machines, or one for all runs.
            scale: n shares of the target input, or one for all runs.
            workers: the machines that share the work which spreads, likewise; by default all.
            iteration_ratio: what all terms but the fixed one are multiplied by.

        Raises:
            FitError: the regression has not been fitted.
            InvalidParameterError: a value does not fit.
        """
        return np.asarray(
            self._rows(machines, scale, workers, iteration_ratio) @ self.coefficients_, dtype=np.float64
        )

    def contributions(
        self,
        *,
        machines: ArrayLike,
        scale: ArrayLike,
        workers: ArrayLike | None = None,
        iteration_ratio: float = 1.0,
    ) -> FloatArray:
        """The seconds of each prediction that each term explains, shape (n, p); see `predict`."""
        rows = self._rows(machines, scale, workers, iteration_ratio)
        return np.asarray(rows * self.coefficients_, dtype=np.float64)

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

        The classical interval of least squares (Student's t) of the terms that are not 0, on the
        logarithm of the time so that it cannot become negative. It believes that the job has these
        terms and no others, and so is too narrow more often than it says; `averaging` knows better.
        The arguments are those of `predict`; `level` is between 0 and 1.
        """
        _, upper = two_sided(level)
        seconds, spread = self._log_spread(self._rows(machines, scale, workers, iteration_ratio))
        distance = self._on_logarithm(stdtrit(self._degrees_of_freedom, upper) * spread)
        return seconds * np.exp(-distance), seconds * np.exp(distance)

    def probability_within(
        self,
        *,
        machines: ArrayLike,
        scale: ArrayLike,
        limits: ArrayLike,
        workers: ArrayLike | None = None,
        iteration_ratio: float = 1.0,
    ) -> FloatArray:
        """The probability that a single run takes no longer than `limits`, shape (n,); see `interval`.

        Args:
            machines: n numbers of machines, or one for all runs.
            scale: n shares of the target input, or one for all runs.
            limits: n times in seconds, above 0.
            workers: see `predict`.
            iteration_ratio: see `predict`.
        """
        seconds, spread = self._log_spread(self._rows(machines, scale, workers, iteration_ratio))
        distance = self._from_logarithm(np.log(np.asarray(limits, dtype=np.float64) / seconds)) / spread
        return np.asarray(stdtr(self._degrees_of_freedom, distance), dtype=np.float64)

    def _on_logarithm(self, relative: FloatArray) -> FloatArray:
        """How far errors of so many times the prediction reach on its logarithm, none below 0.

        An error in seconds may be many times a short run's prediction. The exponential of that would be no
        number; beyond an error as large as the prediction, bounds therefore grow as the error does.
        """
        if self.weighting == "relative":
            return relative
        folded = np.where(relative > 1.0, 1.0 + np.log(np.maximum(relative, 1.0)), relative)
        return np.asarray(folded, dtype=np.float64)

    def _from_logarithm(self, distance: FloatArray) -> FloatArray:
        """The inverse of `_on_logarithm`, for both signs."""
        if self.weighting == "relative":
            return distance
        size = np.abs(distance)
        # Limits of 0 and infinity are asked for, too: no matter how far beyond, they are certain.
        beyond = np.exp(np.minimum(np.maximum(size, 1.0) - 1.0, MOST_DISTANT))
        return np.asarray(np.sign(distance) * np.where(size > 1.0, beyond, size), dtype=np.float64)

    def _log_spread(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Predicted seconds, and the scale of Student's t on their logarithm, shape (n,) each."""
        seconds = rows @ self.coefficients_
        active = rows[:, self.coefficients_ > 0] / seconds[:, None]
        noise = np.ones_like(seconds) if self.weighting == "relative" else 1.0 / seconds
        variance = (active @ self._inverse_information * active).sum(axis=1) + noise**2
        return seconds, self._noise * np.sqrt(variance)

    def _rows(
        self, machines: ArrayLike, scale: ArrayLike, workers: ArrayLike | None, iteration_ratio: float
    ) -> FloatArray:
        if not hasattr(self, "coefficients_"):
            raise FitError("This regression has no coefficients yet.", remedy="Call fit first.")
        rows = basis(self.terms, machines=machines, scale=scale, workers=workers)
        return np.asarray(
            rows * iteration_factors(check_terms(self.terms), iteration_ratio), dtype=np.float64
        )

    def _observed(
        self, machines: ArrayLike, scale: ArrayLike, seconds: ArrayLike, workers: ArrayLike | None
    ) -> tuple[FloatArray, FloatArray]:
        """The basis of the runs, shape (n, p), and their seconds, shape (n,), all checked."""
        if self.weighting not in WEIGHTINGS:
            raise InvalidParameterError(
                "weighting", self.weighting, "is unknown", remedy=f"Use one of {quoted(WEIGHTINGS)}."
            )
        rows = basis(self.terms, machines=machines, scale=scale, workers=workers)
        return rows, seconds_of_runs(seconds, len(rows))

    def _check_determined(self, rows: FloatArray, *, machines: ArrayLike, scale: ArrayLike) -> None:
        terms = check_terms(self.terms)
        if len(rows) < len(terms):
            raise TooFewObservationsError(
                f"{len(rows)} observations cannot determine {len(terms)} terms: {quoted(terms)}.",
                remedy=f"Observe at least {len(terms)} runs, better {len(terms) + 2}, or name fewer terms.",
            )
        undetermined = undetermined_terms(rows, terms)
        if undetermined:
            machine_column, scale_column = machines_and_scale(machines=machines, scale=scale)
            raise FitError(
                f"The {len(rows)} observations cannot tell the terms {quoted(undetermined)} apart.",
                remedy=runs_to_add(undetermined, machines=machine_column, scale=scale_column),
            )

    def _check_all_take_time(
        self, rows: FloatArray, seconds: FloatArray, *, machines: ArrayLike, scale: ArrayLike
    ) -> None:
        """Refuse a sum of terms that is 0 at a run, or at one on a single machine."""
        explained = rows @ self.coefficients_
        machine_column, scale_column = machines_and_scale(machines=machines, scale=scale)
        alone = basis(self.terms, machines=1.0, scale=scale_column) @ self.coefficients_
        if explained.min() > 0 and alone.min() > 0:
            return
        worst = int(np.argmax(np.abs(explained / seconds - 1.0)))
        raise FitError(
            "By the least squares of these runs "
            + (
                "some of them take no time"
                if explained.min() <= 0
                else "a run on one machine takes no time: nothing is left of fixed work and work that spreads"
            )
            + f". Furthest off is the run on {machine_column[worst]:g} machines at scale "
            f"{scale_column[worst]:g}: {explained[worst]:.4g} s for {seconds[worst]:.4g} s.",
            remedy="Look at that run and observe it again, or let errors count by their share of the run's "
            'time: use the method "averaging" or "relative".',
        )

    def _fit(self, rows: FloatArray, seconds: FloatArray) -> Self:
        weights = 1.0 / seconds if self.weighting == "relative" else np.ones_like(seconds)
        weighted = rows * weights[:, None]
        self.coefficients_ = non_negative_least_squares(weighted, seconds * weights)
        residual = np.linalg.norm(weighted @ self.coefficients_ - seconds * weights)
        active = weighted[:, self.coefficients_ > 0]
        self._degrees_of_freedom = max(1, len(seconds) - active.shape[1])
        least = LEAST_NOISE * (1.0 if self.weighting == "relative" else float(np.mean(seconds)))
        self._noise = max(least, float(residual) / np.sqrt(self._degrees_of_freedom))
        self._inverse_information = np.linalg.pinv(active.T @ active)
        return self
