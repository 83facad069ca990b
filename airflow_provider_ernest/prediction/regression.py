"""The model as an estimator: non-negative least squares on the terms (Ernest, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog, lsq_linear, nnls
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.numbers import FloatArray, machines_and_scale, seconds_of_runs
from airflow_provider_ernest.prediction.terms import (
    ERNEST,
    basis,
    check_terms,
    iteration_factors,
    quoted,
    term_named,
)

# ---------------------------------------------------------------------------
# Fits with coefficients that are not negative: least squares that do not give up, and the smallest error.


STEPS_FOR_EACH_COLUMN = 30


def non_negative_least_squares(rows: FloatArray, values: FloatArray) -> FloatArray:
    """The coefficients, none negative, that bring ``rows @ coefficients`` closest to the values.

    The columns are scaled to one length: the active set method compares their gradients with one
    tolerance. Where columns are so alike that it goes in circles, an interior method takes over.

    Args:
        rows: shape (n, p), finite.
        values: shape (n,), finite.

    Returns:
        Shape (p,).

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

    Args:
        columns: the terms' values at the points, shape (n, p).
        seconds: shape (n,).

    Returns:
        The coefficients, shape (p,), and the factor, at least 1; infinity where the terms are all 0 at a
        point.
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


# ---------------------------------------------------------------------------
# Which terms a set of runs can tell apart, and which runs would help where it cannot.
#
# Runs on a single number of machines, for instance, cannot tell fixed work from overhead of each
# machine: both columns are constant there, and any split of the time between them fits equally well.


SMALLEST_SINGULAR_VALUE = 1e-6
"""Columns of unit length count as dependent below this: noise would be amplified a million times."""


def undetermined_terms(rows: FloatArray, terms: Sequence[str]) -> tuple[str, ...]:
    """The terms whose coefficients these runs leave open; none if the columns are independent.

    Args:
        rows: the runs' term values, shape (n, p).
        terms: the p terms' names.
    """
    lengths = np.linalg.norm(rows, axis=0)
    columns = rows / np.where(lengths > 0, lengths, 1.0)
    # Rows of zeros make the decomposition give all p directions when there are fewer runs than terms.
    padding = np.zeros((max(0, len(terms) - len(columns)), len(terms)))
    _, singular_values, directions = np.linalg.svd(np.vstack([columns, padding]), full_matrices=False)
    open_directions = directions[singular_values <= SMALLEST_SINGULAR_VALUE * singular_values[0]]
    involved = np.any(np.abs(open_directions) > SMALLEST_SINGULAR_VALUE, axis=0)
    return tuple(name for name, is_open in zip(terms, involved, strict=True) if is_open)


def runs_to_add(undetermined: Sequence[str], *, machines: FloatArray, scale: FloatArray) -> str:
    """What further runs would tell the terms apart, as a sentence.

    Args:
        undetermined: the result of `undetermined_terms`.
        machines: the numbers of machines of the runs there are, shape (n,).
        scale: their shares of the input, shape (n,).
    """
    counts = np.unique(machines)
    listed = _listed(counts)
    needed = sum(not _depends_on_scale(name) for name in undetermined)
    if counts.size < needed:
        return f"Use at least {needed} different numbers of machines (now: {listed})."
    if np.unique(scale).size == 1:
        return f"Use more than one scale (now: {scale[0]:g})."
    return f"Vary the scale and the number of machines independently of each other (machines now: {listed})."


def _listed(counts: FloatArray, most: int = 8) -> str:
    names = [f"{count:g}" for count in counts]
    return ", ".join(names if len(names) <= most else [*names[: most - 1], "...", names[-1]])


def _depends_on_scale(name: str) -> bool:
    column = term_named(name).column
    machines = np.array([2.0, 2.0])
    small, large = column(machines=machines, scale=np.array([0.1, 1.0]))
    return bool(small != large)


# ---------------------------------------------------------------------------
# Intervals from distributions of the logarithm of a run's seconds.


HALVINGS = 30
"""A billionth of the width between components is left: far below what drawing leaves open."""


def two_sided(level: float) -> tuple[float, float]:
    """The quantiles between which the share `level` of a distribution lies.

    Raises:
        InvalidParameterError: the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise InvalidParameterError("level", level, "is not between 0 and 1", remedy="Give 0.8 or 0.95, say.")
    return (1 - level) / 2, (1 + level) / 2


def mixture_quantiles(
    means: FloatArray, standard_deviations: FloatArray, probabilities: tuple[float, ...]
) -> FloatArray:
    """Quantiles of equal mixtures of normal distributions.

    A mixture's quantile lies between the least and the largest of its components' quantiles; there it
    is found by halving.

    Args:
        means: of k components for n mixtures, shape (k, n).
        standard_deviations: likewise, above 0.
        probabilities: q of them.

    Returns:
        Shape (q, n).
    """
    wanted = np.array(probabilities)[:, None]
    of_components = means + ndtri(wanted)[:, :, None] * standard_deviations
    low, high = of_components.min(axis=1), of_components.max(axis=1)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = ndtr((middle[:, None, :] - means) / standard_deviations).mean(axis=1) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2, dtype=np.float64)


def mixture_probabilities(
    means: FloatArray, standard_deviations: FloatArray, values: FloatArray
) -> FloatArray:
    """The probabilities that equal mixtures of normal distributions stay below values.

    Args:
        means: of k components for n mixtures, shape (k, n).
        standard_deviations: likewise, above 0.
        values: shape (n,).
    """
    return np.asarray(ndtr((values - means) / standard_deviations).mean(axis=0), dtype=np.float64)


def widened(
    seconds: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    *,
    level: float,
    factors: FloatArray,
    least_log_spreads: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Intervals that are wider by what is known besides the runs' times.

    Args:
        seconds: predictions, shape (n,).
        bounds: lower and upper bounds around them, shape (n,) each.
        level: the probability of lying between them.
        factors: by which each side's distance on the logarithm grows, shape (n,).
        least_log_spreads: the standard deviation of log(seconds) to assume at least, shape (n,).
    """
    low, high = bounds
    least = ndtri(two_sided(level)[1]) * least_log_spreads
    below = np.maximum(np.log(seconds / low) * factors, least)
    above = np.maximum(np.log(high / seconds) * factors, least)
    return seconds * np.exp(-below), seconds * np.exp(above)


def within_widened(
    seconds: FloatArray,
    limits: FloatArray,
    probability: Callable[[FloatArray], FloatArray],
    *,
    factors: FloatArray,
    least_log_spreads: FloatArray,
) -> FloatArray:
    """The probability that runs take no longer than `limits`, by the intervals of `widened`.

    Args:
        seconds: predictions, shape (n,).
        limits: seconds of at least 0, infinity among them, shape (n,).
        probability: of runs to take no longer than its argument before they are widened.
        factors: see `widened`.
        least_log_spreads: see `widened`.
    """
    # A limit of 0 is never kept; the tiniest number stands for it, as its logarithm is finite.
    distances = np.log(np.maximum(limits, np.finfo(np.float64).tiny) / seconds)
    narrow = probability(seconds * np.exp(distances / factors))
    wide = ndtr(distances / np.where(least_log_spreads > 0, least_log_spreads, 1.0))
    kept = np.where(distances >= 0, np.minimum(narrow, wide), np.maximum(narrow, wide))
    kept = np.where(least_log_spreads > 0, kept, narrow)
    return np.asarray(np.where(limits > 0, kept, 0.0), dtype=np.float64)


# ---------------------------------------------------------------------------


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
