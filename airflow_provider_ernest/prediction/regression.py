"""The model as an estimator: non-negative least squares on the terms (Ernest, section 3.1).

Below the estimator: fits with coefficients that are not negative, which terms runs can tell apart, and
intervals from distributions of the logarithm of a run's seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self, Unpack

import numpy as np
from scipy.optimize import linprog, lsq_linear, nnls
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.prediction.numbers import FloatArray, executors_and_scale, seconds_of_runs
from airflow_provider_ernest.prediction.terms import (
    ERNEST,
    ObservedColumns,
    RunColumns,
    basis,
    check_terms,
    quoted,
    term_named,
)
from airflow_provider_ernest.words import duration as seconds_in_words
from airflow_provider_ernest.words import plain

WEIGHTINGS = ("relative", "absolute")
"""How the errors of runs count: as a share of the run's time, or in seconds (the original)."""

LEAST_NOISE = 0.01
"""Relative: no run time is exact, even where the terms go through all of the few observed ones."""

LEAST_SHARE = 1e-6  # of a run's time: a term that explains less of each of them is there by rounding alone
CREDIBLE = {"relative": 10.0, "absolute": 1.0}
"""By weighting, the error as a multiple of the prediction up to which it is taken for one of its logarithm.
One in seconds never is one: from the prediction itself on it is taken for what it is."""

MOST_DISTANT = 700.0  # the exponential of more is no number


class ErnestRegression:
    """Run time as a sum of terms, of `terms.TERMS`, with non-negative coefficients.

    The weighting is "relative", which counts the error of a run as a share of its time (run times vary by per
    cent, so long runs must not drown short ones), or "absolute": in seconds, as the original.

    Example:
        A job with 10 s of fixed work and 200 s of work that spreads, observed on small samples:

        >>> import numpy as np
        >>> executors = np.array([1, 2, 4, 8, 2, 8])
        >>> scale = np.array([0.1, 0.1, 0.1, 0.1, 0.05, 0.05])
        >>> seconds = 10 + 200 * scale / executors
        >>> regression = ErnestRegression().fit(executors=executors, scale=scale, seconds=seconds)
        >>> regression.predict(executors=[16, 64], scale=1.0).round(3).tolist()
        [22.5, 13.125]
    """

    coefficients_: FloatArray  # after `fit`: seconds per unit of each term, (p,), none negative

    def __init__(self, *, terms: Sequence[str] = ERNEST, weighting: str = "relative") -> None:
        self.terms = terms
        self.weighting = weighting

    def fit(self, **runs: Unpack[ObservedColumns]) -> Self:
        """Estimate the coefficients.

        Raises:
            InvalidParameterError: a value is not finite, or not above 0; the message gives its position.
            TooFewObservationsError: there are fewer runs than terms.
            FitError: the runs cannot tell some of the terms apart, or by the terms a run takes no time.
        """
        rows, seconds = self._observed(runs)
        executors, scale = executors_and_scale(executors=runs["executors"], scale=runs["scale"])
        self._check_determined(rows, executors=executors, scale=scale)
        self._fit(rows, seconds)
        self._check_all_take_time(rows, seconds, executors=executors, scale=scale)
        return self

    def fit_undetermined(self, **runs: Unpack[ObservedColumns]) -> Self:
        """Like `fit`, where the runs need not determine the terms; see `shared_least_squares`."""
        rows, seconds = self._observed(runs)
        is_determined = not undetermined_terms(rows, check_terms(self.terms))
        return self._fit(rows, seconds, is_determined=is_determined)

    def predict(self, **runs: Unpack[RunColumns]) -> FloatArray:
        """Seconds of the runs that `terms.Runs` describes, shape (n,)."""
        return np.asarray(basis(self.terms, **runs) @ self.coefficients_, dtype=np.float64)

    def contributions(self, **runs: Unpack[RunColumns]) -> FloatArray:
        """The seconds of each prediction that each term explains, shape (n, p); see `predict`."""
        return np.asarray(basis(self.terms, **runs) * self.coefficients_, dtype=np.float64)

    def interval(self, *, level: float, **runs: Unpack[RunColumns]) -> tuple[FloatArray, FloatArray]:
        """Seconds that a single run lies between with probability `level`, 0 to 1, shapes (n,).

        The classical interval of least squares (Student's t) of the terms that are not 0, on the logarithm
        so that it cannot become negative. It believes in these terms alone, and so is too narrow more often
        than it says.
        """
        _, upper = two_sided(level)
        seconds, spread = self._log_spread(basis(self.terms, **runs))
        distance = self._on_logarithm(stdtrit(self._degrees_of_freedom, upper) * spread)
        return seconds * np.exp(-distance), seconds * np.exp(distance)

    def probability_within(self, *, limits: FloatArray, **runs: Unpack[RunColumns]) -> FloatArray:
        """The probability that a single run takes no longer than `limits` (seconds above 0), shape (n,)."""
        seconds, spread = self._log_spread(basis(self.terms, **runs))
        distance = self._from_logarithm(np.log(np.asarray(limits, dtype=np.float64) / seconds)) / spread
        return np.asarray(stdtr(self._degrees_of_freedom, distance), dtype=np.float64)

    def _on_logarithm(self, relative: FloatArray) -> FloatArray:
        """How far errors of so many times the prediction reach on its logarithm, none below 0.

        Far from the runs an error may be many times the prediction, whose exponential would be no number;
        beyond `CREDIBLE`, bounds therefore grow as the error does.
        """
        most = CREDIBLE[self.weighting]
        return np.minimum(relative, most) + np.log1p(np.maximum(relative - most, 0.0))

    def _from_logarithm(self, distance: FloatArray) -> FloatArray:
        """The inverse of `_on_logarithm`, for both signs."""
        most, size = CREDIBLE[self.weighting], np.abs(distance)
        # Limits of 0 and infinity are asked for, too: no matter how far beyond, they are certain.
        beyond = np.expm1(np.clip(size - most, 0.0, MOST_DISTANT))
        return np.asarray(np.sign(distance) * (np.minimum(size, most) + beyond), dtype=np.float64)

    def _log_spread(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Predicted seconds, and the scale of Student's t on their logarithm, shape (n,) each."""
        seconds = rows @ self.coefficients_
        active = rows[:, self.coefficients_ > 0] / seconds[:, None]
        noise = np.ones_like(seconds) if self.weighting == "relative" else 1.0 / seconds
        variance = (active @ self._inverse_information * active).sum(axis=1) + noise**2
        return seconds, self._noise * np.sqrt(variance)

    def _observed(self, runs: ObservedColumns) -> tuple[FloatArray, FloatArray]:
        if self.weighting not in WEIGHTINGS:
            raise InvalidParameterError(
                "weighting", self.weighting, "is unknown", remedy=f"Use one of {quoted(WEIGHTINGS)}."
            )
        rows = basis(
            self.terms, executors=runs["executors"], scale=runs["scale"], workers=runs.get("workers")
        )
        return rows, seconds_of_runs(runs["seconds"], len(rows))

    def _check_determined(self, rows: FloatArray, *, executors: FloatArray, scale: FloatArray) -> None:
        terms = check_terms(self.terms)
        if len(rows) < len(terms):
            raise TooFewObservationsError(
                f"{len(rows)} observations cannot determine {len(terms)} terms: {quoted(terms)}.",
                remedy=f"Observe at least {len(terms)} runs, better {len(terms) + 2}, or name fewer terms.",
            )
        undetermined = undetermined_terms(rows, terms)
        if undetermined:
            raise FitError(
                f"The {len(rows)} observations cannot tell the terms {quoted(undetermined)} apart.",
                remedy=runs_to_add(undetermined, executors=executors, scale=scale),
            )

    def _check_all_take_time(
        self, rows: FloatArray, seconds: FloatArray, *, executors: FloatArray, scale: FloatArray
    ) -> None:
        """Refuse a sum of terms that is 0 at a run, or at one of a single executor."""
        explained = rows @ self.coefficients_
        alone = basis(self.terms, executors=1.0, scale=scale) @ self.coefficients_
        if explained.min() > 0 and alone.min() > 0:
            return
        worst = int(np.argmax(np.abs(explained / seconds - 1.0)))
        raise FitError(
            "By the least squares of these runs one of them or a run of size 1 takes no time: nothing "
            "is left of fixed work and work that spreads. Furthest off is the run of "
            f"size {executors[worst]:g} at scale {plain(scale[worst])}: "
            f"{seconds_in_words(explained[worst])} for {seconds_in_words(seconds[worst])}.",
            remedy="Look at that run and observe it again, or let errors count by their share of the run's "
            'time: use the method "averaging" or "relative".',
        )

    def _fit(self, rows: FloatArray, seconds: FloatArray, *, is_determined: bool = True) -> Self:
        least_squares = non_negative_least_squares if is_determined else shared_least_squares
        weights = 1.0 / seconds if self.weighting == "relative" else np.ones_like(seconds)
        weighted = rows * weights[:, None]
        coefficients = least_squares(weighted, seconds * weights)
        is_seen = (rows * coefficients / seconds[:, None]).max(axis=0) > LEAST_SHARE
        self.coefficients_ = np.where(is_seen, coefficients, 0.0)
        residual = np.linalg.norm(weighted @ self.coefficients_ - seconds * weights)
        active = weighted[:, self.coefficients_ > 0]
        self._degrees_of_freedom = max(1, len(seconds) - active.shape[1])
        least = LEAST_NOISE * (1.0 if self.weighting == "relative" else float(np.mean(seconds)))
        self._noise = max(least, float(residual) / np.sqrt(self._degrees_of_freedom))
        self._inverse_information = np.linalg.pinv(active.T @ active)
        return self


STEPS_FOR_EACH_COLUMN = 30

RIDGE = 1e-5
"""What a coefficient costs, by its column's length: too little to change a fit that the rows determine."""


def shared_least_squares(rows: FloatArray, values: FloatArray) -> FloatArray:
    """As `non_negative_least_squares`, where the rows need not determine the coefficients.

    Of those that fit equally well the smallest are taken, by columns of unit length, so that rounding does
    not decide which: terms that the rows cannot tell apart share what they explain.
    """
    lengths = np.linalg.norm(rows, axis=0)
    small = RIDGE * np.diag(np.where(lengths > 0, lengths, 1.0))
    return non_negative_least_squares(np.vstack([rows, small]), np.append(values, np.zeros(len(lengths))))


def non_negative_least_squares(rows: FloatArray, values: FloatArray) -> FloatArray:
    """The coefficients, none negative, that bring ``rows @ coefficients`` closest to the values.

    The columns are scaled to one length: the active set method compares their gradients with one
    tolerance. Where columns are so alike that it goes in circles, an interior method takes over.

    Raises:
        FitError: neither method converges.
    """
    lengths = np.linalg.norm(rows, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    try:
        solution, _ = nnls(rows / lengths, values, maxiter=STEPS_FOR_EACH_COLUMN * rows.shape[1])
    except RuntimeError:
        result = lsq_linear(rows / lengths, values, bounds=(0.0, np.inf))
        if not result.success:
            raise FitError(f"Non-negative least squares did not converge: {result.message}") from None
        solution = result.x
    return np.asarray(solution / lengths, dtype=np.float64)


def nearest(columns: FloatArray, seconds: FloatArray) -> tuple[FloatArray, float]:
    """The sum of terms with the smallest largest error, and that error as a factor.

    With coefficients c, not negative, ``columns @ c`` lies within ``seconds / factor`` and
    ``seconds * factor`` at each point; as a linear programme, in ``factor * c`` and ``factor ** 2``.
    The factor is infinite where the terms are all 0 at a point.
    """
    shares = columns / seconds[:, None]
    lengths = shares.max(axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    shares = shares / lengths
    count, terms = shares.shape
    result = linprog(
        np.append(np.zeros(terms), 1.0),
        A_ub=np.block([[-shares, np.zeros((count, 1))], [shares, -np.ones((count, 1))]]),
        b_ub=np.append(-np.ones(count), np.zeros(count)),
        bounds=[(0.0, None)] * terms + [(1.0, None)],
    )
    if not result.success:
        return np.zeros(terms), float("inf")
    factor = float(np.sqrt(result.fun))
    return np.asarray(result.x[:-1] / lengths / factor, dtype=np.float64), factor


SMALLEST_SINGULAR_VALUE = 1e-6
"""Columns of unit length count as dependent below this: noise would be amplified a million times."""


def undetermined_terms(rows: FloatArray, terms: Sequence[str]) -> tuple[str, ...]:
    """The terms whose coefficients runs leave open, by their values, shape (n, p); none if independent.

    Runs on a single number of executors, for instance, cannot tell fixed work from overhead of each executor:
    both columns are constant there, and any split of the time between them fits equally well.
    """
    lengths = np.linalg.norm(rows, axis=0)
    columns = rows / np.where(lengths > 0, lengths, 1.0)
    # Rows of zeros make the decomposition give all p directions when there are fewer runs than terms.
    padding = np.zeros((max(0, len(terms) - len(columns)), len(terms)))
    _, singular_values, directions = np.linalg.svd(np.vstack([columns, padding]), full_matrices=False)
    open_directions = directions[singular_values <= SMALLEST_SINGULAR_VALUE * singular_values[0]]
    involved = np.any(np.abs(open_directions) > SMALLEST_SINGULAR_VALUE, axis=0)
    return tuple(name for name, is_open in zip(terms, involved, strict=True) if is_open)


MOST_LISTED = 8


def runs_to_add(undetermined: Sequence[str], *, executors: FloatArray, scale: FloatArray) -> str:
    """What further runs, beside those of shape (n,), would tell the terms apart, as a sentence."""
    counts = np.unique(executors)
    names = [f"{count:g}" for count in counts]
    listed = ", ".join(names if len(names) <= MOST_LISTED else [*names[: MOST_LISTED - 1], "...", names[-1]])
    two, small_and_large = np.array([2.0, 2.0]), np.array([0.1, 1.0])
    columns = [term_named(name).column(executors=two, scale=small_and_large) for name in undetermined]
    needed = sum(bool(small == large) for small, large in columns)
    if counts.size < needed:
        return f"Use at least {needed} different sizes (now: {listed})."
    if np.unique(scale).size == 1:
        return f"Use more than one scale (now: {plain(scale[0])})."
    return f"Vary the scale and the size independently of each other (sizes now: {listed})."


NEAR, STEPS = 1e-10, 60
"""The share of the width between components that a quantile is known to; halving alone takes half so many."""


def two_sided(level: float) -> tuple[float, float]:
    """The quantiles between which the share `level`, 0 to 1, of a distribution lies."""
    if not 0 < level < 1:
        raise InvalidParameterError("level", level, "is not between 0 and 1", remedy="Give 0.8 or 0.95, say.")
    return (1 - level) / 2, (1 + level) / 2


def mixture_quantiles(
    means: FloatArray,
    standard_deviations: FloatArray,
    probabilities: tuple[float, ...],
    *,
    weights: FloatArray,
) -> FloatArray:
    """The q quantiles of n mixtures of k normal distributions, (k, n), with k weights, shape (q, n).

    A mixture's quantile lies between the least and the largest of its components' quantiles; there it
    is found by Newton's method, or by halving where that would leave it.
    """
    wanted = np.array(probabilities)[:, None]
    of_components = means + ndtri(wanted)[:, :, None] * standard_deviations
    low, high = of_components.min(axis=1), of_components.max(axis=1)
    found, tolerance = np.tensordot(of_components, weights, axes=(1, 0)), NEAR * (high - low)
    for _ in range(STEPS):
        distances = (found[:, None, :] - means) / standard_deviations
        excess = np.tensordot(ndtr(distances), weights, axes=(1, 0)) - wanted
        slope = np.tensordot(np.exp(-0.5 * distances**2) / standard_deviations, weights, axes=(1, 0))
        low, high = np.where(excess < 0, found, low), np.where(excess < 0, high, found)
        nearer = found - excess * np.sqrt(2.0 * np.pi) / np.maximum(slope, np.finfo(float).tiny)
        is_within = (nearer >= low) & (nearer <= high)
        step, found = found, np.where(is_within, nearer, (low + high) / 2)
        if np.all(np.abs(found - step) <= tolerance):
            break
    return np.asarray(found, dtype=np.float64)


def mixture_probabilities(
    means: FloatArray, standard_deviations: FloatArray, values: FloatArray, *, weights: FloatArray
) -> FloatArray:
    """The probabilities that n mixtures, (k, n), with k weights stay below n values, shape (n,)."""
    # The weights' sum is 1 but for rounding, and no probability is above it.
    within = np.minimum(weights @ ndtr((values - means) / standard_deviations), 1.0)
    return np.asarray(within, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Widening:
    """What makes the intervals of n runs wider, by what is known besides the runs' times."""

    factors: FloatArray  # by which each side's distance on the logarithm grows, (n,)
    least_log_spreads: FloatArray  # the standard deviation of log(seconds) to assume at least, (n,)

    def interval(
        self, seconds: FloatArray, bounds: tuple[FloatArray, FloatArray], *, level: float
    ) -> tuple[FloatArray, FloatArray]:
        """The bounds around predictions, shape (n,) each, between which a run lies with `level`."""
        low, high = bounds
        least = ndtri(two_sided(level)[1]) * self.least_log_spreads
        below = np.maximum(np.log(seconds / low) * self.factors, least)
        above = np.maximum(np.log(high / seconds) * self.factors, least)
        return seconds * np.exp(-below), seconds * np.exp(above)

    def probability_within(
        self, seconds: FloatArray, limits: FloatArray, narrow: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        """The probability that runs take no longer than `limits`, shape (n,), infinite ones, too.

        `narrow` gives the probabilities of limits by the narrow intervals.
        """
        # A limit of 0 is never kept; the tiniest number stands for it, as its logarithm is finite.
        distances = np.log(np.maximum(limits, np.finfo(np.float64).tiny) / seconds)
        kept = narrow(seconds * np.exp(distances / self.factors))
        has_least = self.least_log_spreads > 0
        wide = ndtr(distances / np.where(has_least, self.least_log_spreads, 1.0))
        wider = np.where(distances >= 0, np.minimum(kept, wide), np.maximum(kept, wide))
        kept = np.where(has_least, wider, kept)
        return np.asarray(np.where(limits > 0, kept, 0.0), dtype=np.float64)
