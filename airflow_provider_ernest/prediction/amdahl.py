"""The extended Amdahl model: run time from a predictor value and a number of processors, learnt online.

Verstraaten, Scholz, "On Predicting the Impact of Resource Redistributions in Streaming Applications". A
predictor value x (the input's size; here the scale) gives the sequential time as a polynomial of known degree
k, and Amdahl's law divides it among the processors::

    Tp(x) = alpha * Tseq(x)/p + (1 - alpha) * Tseq(x),    Tseq(x) = c0 + c1*x + ... + ck*x^k

The polynomial is the least squares solution from running sums, and

    alpha = (1 - Tp/Tseq) * p/(p - 1)

from the points at the highest processor count and predictor value. (The paper prints ``alpha = p/(1-p) *
Tp/Tseq``, which does not follow from the law.)
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from airflow_provider_ernest.documents.models import AmdahlState
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.prediction.numbers import (
    FloatArray,
    machines_and_scale,
    positive_column,
    positive_number,
    seconds_of_runs,
    whole_number,
)
from airflow_provider_ernest.prediction.regression import non_negative_least_squares
from airflow_provider_ernest.words import counted
from airflow_provider_ernest.words import duration as seconds_in_words


class ExtendedAmdahl:
    """The model as an online estimator in constant space.

    Points on the lowest processor count seen, b, give the polynomial. If b is not 1, the law still holds
    between any two counts: with r = Tp/Tb, ``alpha = (1 - r) / ((1 - 1/p) - r*(1 - 1/b))`` and ``Tseq = Tb /
    (alpha/b + 1 - alpha)``. A point on a lower count starts the polynomial anew, because sums of two counts
    cannot be added.

    Points on more processors serve alpha alone. Those on the most processors, and among them those with the
    largest predictor value, are averaged; all lower ones are ignored. They share one Tseq, so the mean of
    their times is kept and alpha follows from the latest polynomial, whatever the order of the points. alpha
    is kept within 0 and 1, since beyond them times would be negative or grow with the processors.

    Args:
        degree: k, of the sequential time in the predictor value.
        state: to continue from an earlier one; see `state`.

    Example:
        90 % of the work spreads:

        >>> model = ExtendedAmdahl(degree=1)
        >>> for x in (1.0, 2.0, 4.0):
        ...     model.add(x=x, processors=1, seconds=10 + 20 * x)
        >>> model.add(x=4.0, processors=8, seconds=(0.9 / 8 + 0.1) * 90)
        >>> round(model.alpha, 6)
        0.9
        >>> model.predict(x=10.0, processors=[1, 30]).round(6).tolist()
        [210.0, 27.3]
    """

    def __init__(self, *, degree: int = 1, state: AmdahlState | None = None) -> None:
        degree = whole_number("degree", degree, minimum=0)
        empty = AmdahlState(
            degree=degree, power_sums=(0.0,) * (2 * degree + 1), time_sums=(0.0,) * (degree + 1)
        )
        self._state = empty if state is None else state
        if self._state.degree != degree:
            raise InvalidParameterError(
                "degree",
                degree,
                f"is not that of the state, {self._state.degree}",
                remedy="The sums of one degree do not give another: begin with a new model.",
            )

    @property
    def state(self) -> AmdahlState:
        """What to store; ``ExtendedAmdahl(degree=state.degree, state=state)`` continues from it."""
        return self._state

    def update(self, observation: Observation) -> None:
        """Learn from a run: its scale is the predictor value, its machines are the processors."""
        self.add(x=observation.scale, processors=observation.machines, seconds=observation.seconds)

    def add(self, *, x: float, processors: int, seconds: float) -> None:
        """Learn from one point.

        Raises:
            InvalidParameterError: a value is invalid; nothing was learnt from it.
        """
        x = positive_number("x", x)
        processors = whole_number("processors", processors)
        seconds = positive_number("seconds", seconds)
        self._state = with_highest(self._state, x=x, processors=processors, seconds=seconds)
        if not self._state.base_processors or processors < self._state.base_processors:
            self._state = emptied(self._state, base_processors=processors)
        if processors == self._state.base_processors:
            self._state = with_sums(self._state, x=x, seconds=seconds)

    @property
    def coefficients(self) -> FloatArray:
        """c0..ck of the time on the lowest processor count seen, shape (k + 1,), in powers of x.

        Raises:
            TooFewObservationsError: there are fewer different predictor values than coefficients.
            FitError: the predictor values are too close together.
        """
        powers = np.arange(self._state.degree + 1)
        return np.ldexp(base_polynomial(self._state), -self._state.unit_exponent * powers)

    @property
    def alpha(self) -> float:
        """The share of the sequential time that spreads over the processors, 0..1.

        Raises:
            FitError: all points were on one processor count; also as `coefficients`.
        """
        state = self._state
        base, most = state.base_processors, state.highest_processors
        if 0 < most <= base:
            raise FitError(
                f"All points were on {base} processors: they do not tell what more would do.",
                remedy="Observe a point on more processors.",
            )
        (seconds,) = base_seconds(state, np.array([state.highest_x])).tolist()
        ratio = state.highest_mean_seconds / seconds
        if ratio >= 1:
            return 0.0
        return float(min(1.0, (1 - ratio) / ((1 - 1 / most) - ratio * (1 - 1 / base))))

    def predict(self, *, x: ArrayLike, processors: ArrayLike) -> FloatArray:
        """Seconds of n points, shape (n,); either column may be a single value.

        Raises:
            TooFewObservationsError: there are fewer different predictor values than coefficients.
            FitError: alpha is not determined, or the polynomial is not above 0 at x.
            InvalidParameterError: a value does not fit.
        """
        x_column, counts = positive_column("x", x), positive_column("processors", processors, minimum=1.0)
        if x_column.size != counts.size and 1 not in (x_column.size, counts.size):
            raise InvalidParameterError(
                "x", x_column.tolist(), f"does not fit {counts.size} processor counts"
            )
        x_column, counts = np.broadcast_arrays(x_column, counts)
        base = self._state.base_processors
        seconds = base_seconds(self._state, x_column)
        if np.all(counts == base):
            return seconds
        alpha = self.alpha
        return np.asarray(seconds * (alpha / counts + 1 - alpha) / (alpha / base + 1 - alpha))


# The online model learns the sequential time from the runs on the fewest machines and alpha from those on the
# most. If all runs are at hand, each can tell about both: for a given alpha the law is linear in the
# polynomial's coefficients. So alpha is searched, and non-negative least squares gives the coefficients.


STEPS = 50
"""Intervals between 0 and 1 at whose ends alpha is tried before the best one is refined."""


class AmdahlRegression:
    """Run time as ``(alpha/machines + 1 - alpha) * polynomial(scale)``, errors relative to each run's time.

    Args:
        max_degree: of the polynomial; lower if there are too few different scales.

    Attributes:
        alpha_: after `fit`: the share of the work that spreads.
        coefficients_: after `fit`: of the sequential time in powers of scale, none negative.
    """

    alpha_: float
    coefficients_: FloatArray

    def __init__(self, *, max_degree: int = 1) -> None:
        self.max_degree = max_degree

    def fit(self, *, machines: ArrayLike, scale: ArrayLike, seconds: ArrayLike) -> Self:
        """Estimate alpha and the polynomial from n runs, columns of shape (n,).

        Raises:
            InvalidParameterError: a value is not finite, or not above 0.
            TooFewObservationsError: there are fewer runs than constants.
            FitError: all runs used the same number of machines.
        """
        counts, scales = machines_and_scale(machines=machines, scale=scale)
        column = seconds_of_runs(seconds, counts.size)
        degree = min(
            whole_number("max_degree", self.max_degree, minimum=0), max(0, np.unique(scales).size - 1)
        )
        if counts.size < degree + 2:
            raise TooFewObservationsError(
                f"{counts.size} observations cannot determine alpha and a polynomial of degree {degree}.",
                remedy=f"Observe at least {degree + 2} runs, or lower max_degree.",
            )
        if np.unique(counts).size < 2:
            raise FitError(
                f"All runs used {counted(int(counts[0]), 'machine')}: they do not tell what more would do.",
                remedy="Observe a run on another number of machines.",
            )
        largest = scales.max()
        powers = np.arange(degree + 1)
        rows = (scales[:, None] / largest) ** powers / column[:, None]

        def solved(alpha: float) -> tuple[FloatArray, float]:
            shares = rows * (alpha / counts + 1 - alpha)[:, None]
            solution = non_negative_least_squares(shares, np.ones_like(column))
            return solution, float(np.linalg.norm(shares @ solution - 1.0))

        steps = np.linspace(0.0, 1.0, STEPS + 1)
        best = float(steps[np.argmin([solved(alpha)[1] for alpha in steps])])
        around = (max(0.0, best - 1 / STEPS), min(1.0, best + 1 / STEPS))
        refined = minimize_scalar(
            lambda alpha: solved(alpha)[1], bounds=around, method="bounded", options={"xatol": 1e-9}
        )
        self.alpha_ = min((best, float(refined.x)), key=lambda alpha: solved(alpha)[1])
        self.coefficients_ = solved(self.alpha_)[0] / largest**powers
        return self

    def predict(self, *, machines: ArrayLike, scale: ArrayLike) -> FloatArray:
        """Seconds of runs, shape (n,).

        Raises:
            FitError: the regression has not been fitted.
            InvalidParameterError: a value is invalid.
        """
        if not hasattr(self, "alpha_"):
            raise FitError("This regression has no coefficients yet.", remedy="Call fit first.")
        counts, scales = machines_and_scale(machines=machines, scale=scale)
        sequential = np.polynomial.polynomial.polyval(scales, self.coefficients_)
        return np.asarray((self.alpha_ / counts + 1 - self.alpha_) * sequential, dtype=np.float64)


SAME = 1e-9
"""Predictor values that differ by less than this share of the larger one count as equal."""

LARGEST_CONDITION = 1e12
"""Condition of the scaled running sums beyond which rounding has destroyed the polynomial."""


def emptied(state: AmdahlState, *, base_processors: int) -> AmdahlState:
    """Drop the sums, for points on another processor count."""
    return replace(
        state,
        base_processors=base_processors,
        unit_exponent=0,
        power_sums=(0.0,) * len(state.power_sums),
        time_sums=(0.0,) * len(state.time_sums),
        distinct_x=(),
    )


def with_sums(state: AmdahlState, *, x: float, seconds: float) -> AmdahlState:
    """Add a point on the lowest processor count to the sums."""
    exponent = math.frexp(x)[1]
    if state.distinct_x:
        exponent = max(exponent, state.unit_exponent)
    # Powers of two: the change to a larger unit is exact.
    shift = state.unit_exponent - exponent
    u = math.ldexp(x, -exponent)
    distinct = state.distinct_x
    if len(distinct) <= state.degree and all(abs(x - each) > SAME * max(x, each) for each in distinct):
        distinct = (*distinct, x)
    return replace(
        state,
        unit_exponent=exponent,
        power_sums=tuple(math.ldexp(total, shift * j) + u**j for j, total in enumerate(state.power_sums)),
        time_sums=tuple(
            math.ldexp(total, shift * j) + u**j * seconds for j, total in enumerate(state.time_sums)
        ),
        distinct_x=distinct,
    )


def with_highest(state: AmdahlState, *, x: float, processors: int, seconds: float) -> AmdahlState:
    """Add a point to the mean of the highest ones, or replace them if it is higher."""
    same_x = abs(x - state.highest_x) <= SAME * max(x, state.highest_x)
    if processors == state.highest_processors and same_x:
        points = state.highest_points + 1
        mean = state.highest_mean_seconds + (seconds - state.highest_mean_seconds) / points
        return replace(state, highest_points=points, highest_mean_seconds=mean)
    if (processors, x) < (state.highest_processors, state.highest_x):
        return state
    return replace(
        state, highest_processors=processors, highest_x=x, highest_points=1, highest_mean_seconds=seconds
    )


def base_polynomial(state: AmdahlState) -> FloatArray:
    """The polynomial's coefficients in powers of u = x / 2**unit_exponent, shape (k + 1,).

    Raises:
        TooFewObservationsError: there are fewer different predictor values than coefficients.
        FitError: the predictor values are too close together.
    """
    needed, found = state.degree + 1, len(state.distinct_x)
    if not found:
        raise TooFewObservationsError("There is no point yet.", remedy=f"Observe at least {needed}.")
    if found < needed:
        raise TooFewObservationsError(
            f"{found} different predictor values on {state.base_processors} processors cannot determine a "
            f"polynomial of degree {state.degree}, which needs {needed}.",
            remedy=f"Observe {needed - found} more, or use a lower degree.",
        )
    powers = np.arange(needed)
    squares = np.array(state.power_sums)[powers[:, None] + powers[None, :]]
    lengths = np.sqrt(np.diag(squares))
    scaled = squares / np.outer(lengths, lengths)
    if not np.linalg.cond(scaled) < LARGEST_CONDITION:
        raise FitError(
            f"The predictor values lie too close together for a polynomial of degree {state.degree}.",
            remedy="Observe values that are further apart, or use a lower degree.",
        )
    return np.asarray(np.linalg.solve(scaled, np.array(state.time_sums) / lengths) / lengths)


def base_seconds(state: AmdahlState, x: FloatArray) -> FloatArray:
    """The polynomial at x, shape (n,): seconds on the lowest processor count seen.

    Raises:
        FitError: the polynomial is not determined, or not above 0 at x.
    """
    u = np.ldexp(x, -state.unit_exponent)
    seconds = np.polynomial.polynomial.polyval(u, base_polynomial(state))
    wrong = np.flatnonzero(~(seconds > 0))
    if wrong.size:
        position = int(wrong[0])
        raise FitError(
            f"The polynomial of degree {state.degree} gives {seconds_in_words(seconds[position])} at "
            f"x={x[position]:g}: it does not describe the job there.",
            remedy="Observe predictor values near it, or use a lower degree.",
        )
    return np.asarray(seconds, dtype=np.float64)
