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

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.documents.models import AmdahlState
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.prediction.numbers import (
    FloatArray,
    positive_column,
    positive_number,
    whole_number,
)
from airflow_provider_ernest.words import duration as seconds_in_words

SAME = 1e-9  # predictor values that differ by less than this share of the larger one count as equal
LARGEST_CONDITION = 1e12
"""Condition of the scaled running sums beyond which rounding has destroyed the polynomial."""


class ExtendedAmdahl:
    """The model as an online estimator in constant space.

    Points on the lowest processor count seen, b, give the polynomial. If b is not 1, the law still holds
    between any two counts: with r = Tp/Tb, ``alpha = (1 - r) / ((1 - 1/p) - r*(1 - 1/b))`` and ``Tseq = Tb /
    (alpha/b + 1 - alpha)``. A point on a lower count starts the polynomial anew, because sums of two counts
    cannot be added.

    Of points on more processors those on the most, and among them those with the largest predictor value, are
    averaged for alpha; they share one Tseq. alpha is kept within 0 and 1, since beyond them times would be
    negative or grow with the processors.

    The degree is k, of the sequential time in x; `state` is what to store and to continue from.

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
        if state is not None and state.degree != degree:
            raise InvalidParameterError(
                "degree",
                degree,
                f"is not that of the state, {state.degree}",
                remedy="The sums of one degree do not give another: begin with a new model.",
            )
        self.state = state or AmdahlState(
            degree=degree, power_sums=(0.0,) * (2 * degree + 1), time_sums=(0.0,) * (degree + 1)
        )

    def update(self, observation: Observation) -> None:
        """Learn from a run: its scale is the predictor value, its executors are the processors."""
        self.add(x=observation.scale, processors=observation.executors, seconds=observation.seconds)

    def add(self, *, x: float, processors: int, seconds: float) -> None:
        """Learn from one point; an InvalidParameterError refuses invalid values."""
        x = positive_number("x", x)
        processors = whole_number("processors", processors)
        seconds = positive_number("seconds", seconds)
        self._average_if_highest(x, processors, seconds)
        base = self.state.base_processors
        if not base or processors < base:
            self.state = replace(
                self.state,
                base_processors=processors,
                unit_exponent=0,
                power_sums=(0.0,) * len(self.state.power_sums),
                time_sums=(0.0,) * len(self.state.time_sums),
                distinct_x=(),
            )
        if processors == self.state.base_processors:
            self._add_to_sums(x, seconds)

    def _average_if_highest(self, x: float, processors: int, seconds: float) -> None:
        """Add a point to the mean of the highest ones, or replace them if it is higher."""
        state = self.state
        points, mean = 1, seconds
        if processors == state.highest_processors and _is_same(x, state.highest_x):
            x, points = state.highest_x, state.highest_points + 1
            mean = state.highest_mean_seconds + (seconds - state.highest_mean_seconds) / points
        elif (processors, x) < (state.highest_processors, state.highest_x):
            return
        self.state = replace(
            state,
            highest_processors=processors,
            highest_x=x,
            highest_points=points,
            highest_mean_seconds=mean,
        )

    def _add_to_sums(self, x: float, seconds: float) -> None:
        """Add a point on the lowest processor count to the sums, in powers of u = x / 2**unit_exponent."""
        state = self.state
        exponent = math.frexp(x)[1]
        if state.distinct_x:
            exponent = max(exponent, state.unit_exponent)
        # Powers of two: the change to a larger unit is exact.
        shift = state.unit_exponent - exponent
        u = math.ldexp(x, -exponent)
        distinct = state.distinct_x
        if len(distinct) <= state.degree and not any(_is_same(x, each) for each in distinct):
            distinct = (*distinct, x)
        self.state = replace(
            state,
            unit_exponent=exponent,
            power_sums=tuple(math.ldexp(total, shift * j) + u**j for j, total in enumerate(state.power_sums)),
            time_sums=tuple(
                math.ldexp(total, shift * j) + u**j * seconds for j, total in enumerate(state.time_sums)
            ),
            distinct_x=distinct,
        )

    @property
    def coefficients(self) -> FloatArray:
        """c0..ck of the time on the lowest processor count seen, shape (k + 1,), in powers of x.

        Raises:
            TooFewObservationsError: there are fewer different predictor values than coefficients.
            FitError: the predictor values are too close together.
        """
        powers = np.arange(self.state.degree + 1)
        return np.ldexp(self._polynomial(), -self.state.unit_exponent * powers)

    @property
    def alpha(self) -> float:
        """The share of the sequential time that spreads over the processors, 0..1.

        Raises:
            FitError: all points were on one processor count; also as `coefficients`.
        """
        state = self.state
        base, most = state.base_processors, state.highest_processors
        if 0 < most <= base:
            raise FitError(
                f"All points were on {base} processors: they do not tell what more would do.",
                remedy="Observe a point on more processors.",
            )
        (seconds,) = self._base_seconds(np.array([state.highest_x])).tolist()
        ratio = state.highest_mean_seconds / seconds
        if ratio >= 1:
            return 0.0
        return float(min(1.0, (1 - ratio) / ((1 - 1 / most) - ratio * (1 - 1 / base))))

    def predict(self, *, x: ArrayLike, processors: ArrayLike) -> FloatArray:
        """Seconds of n points, shape (n,); either column may be a single value.

        Raises:
            FitError: the coefficients or alpha are not determined, or the polynomial is not above 0 at x.
            InvalidParameterError: a value is invalid, or the lengths differ.
        """
        counts, x_column = positive_column("processors", processors, minimum=1.0), positive_column("x", x)
        if x_column.size != counts.size and 1 not in (x_column.size, counts.size):
            raise InvalidParameterError(
                "x", x_column.tolist(), f"does not fit {counts.size} processor counts"
            )
        x_column, counts = np.broadcast_arrays(x_column, counts)
        base = self.state.base_processors
        seconds = self._base_seconds(x_column)
        if np.all(counts == base):
            return seconds
        alpha = self.alpha
        return np.asarray(seconds * (alpha / counts + 1 - alpha) / (alpha / base + 1 - alpha))

    def _polynomial(self) -> FloatArray:
        """The polynomial's coefficients in powers of u, shape (k + 1,)."""
        state = self.state
        needed, found = state.degree + 1, len(state.distinct_x)
        if not found:
            raise TooFewObservationsError("There is no point yet.", remedy=f"Observe at least {needed}.")
        if found < needed:
            raise TooFewObservationsError(
                f"{found} different predictor values on {state.base_processors} processors cannot determine "
                f"a polynomial of degree {state.degree}, which needs {needed}.",
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

    def _base_seconds(self, x: FloatArray) -> FloatArray:
        """The polynomial at x, shape (n,): seconds on the lowest processor count seen."""
        u = np.ldexp(x, -self.state.unit_exponent)
        seconds = np.polynomial.polynomial.polyval(u, self._polynomial())
        wrong = np.flatnonzero(~(seconds > 0))
        if wrong.size:
            position = int(wrong[0])
            raise FitError(
                f"The polynomial of degree {self.state.degree} gives {seconds_in_words(seconds[position])} "
                f"at x={x[position]:g}: it does not describe the job there.",
                remedy="Observe predictor values near it, or use a lower degree.",
            )
        return np.asarray(seconds, dtype=np.float64)


def _is_same(one: float, other: float) -> bool:
    return abs(one - other) <= SAME * max(one, other)
