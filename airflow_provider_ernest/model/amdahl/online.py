"""The extended Amdahl model: run time from a predictor value and processors, learnt online.

After Verstraaten, Scholz, "On Predicting the Impact of Resource Redistributions in Streaming
Applications". A predictor value x (the input's size: here the scale) gives the sequential time as a
polynomial of known degree k, and Amdahl's law shares it out::

    Tp(x) = alpha * Tseq(x)/p + (1 - alpha) * Tseq(x),    Tseq(x) = c0 + c1*x + ... + ck*x^k

The polynomial is the least squares solution from running sums, and

    alpha = (1 - Tp/Tseq) * p/(p - 1)

from the points at the highest processor count and predictor value. (The paper prints
``alpha = p/(1-p) * Tp/Tseq``, which does not follow from the law; this does.) What is kept has the
same size after a million points as after ten.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.exceptions import FitError, InvalidParameterError
from airflow_provider_ernest.model.amdahl.state import (
    AmdahlState,
    base_polynomial,
    base_seconds,
    emptied,
    with_highest,
    with_sums,
)
from airflow_provider_ernest.model.documents import Observation
from airflow_provider_ernest.model.parameters import (
    FloatArray,
    positive_column,
    positive_number,
    whole_number,
)


class ExtendedAmdahl:
    """The model as an online estimator in constant space.

    Points on the lowest processor count seen, usually 1, give the polynomial. Where 1 was never seen
    its place is taken by that count b: the law holds between any two counts, and from the ratio
    r = Tp/Tb follows ``alpha = (1 - r) / ((1 - 1/p) - r*(1 - 1/b))`` and
    ``Tseq = Tb / (alpha/b + 1 - alpha)``; for b = 1 these are the equations above. A point on a lower
    count than any before starts the polynomial anew, for no sum can be taken over both.

    Points on more processors count for alpha alone: those at the highest processor count, and of these
    the largest predictor value, are averaged; a higher point starts a new average, lower ones are
    ignored. Since they share their Tseq, the mean of their times is kept and alpha is worked out
    from the latest polynomial: the order of the points does not matter. alpha is kept within 0 and 1;
    beyond, the law would have times that are negative, or grow with the processors.

    Args:
        degree: k, of the sequential time in the predictor value.
        state: to go on from an earlier one; see `state`.

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
        """What to store between runs; ``ExtendedAmdahl(degree=state.degree, state=state)`` goes on."""
        return self._state

    def update(self, observation: Observation) -> None:
        """Learn from a run: its scale is the predictor value, its machines are the processors."""
        self.add(x=observation.scale, processors=observation.machines, seconds=observation.seconds)

    def add(self, *, x: float, processors: int, seconds: float) -> None:
        """Learn from one point.

        Args:
            x: the predictor value, above 0.
            processors: p, at least 1.
            seconds: the time it took.

        Raises:
            InvalidParameterError: a value does not fit; nothing was learnt from it.
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
            FitError: they lie too close together.
        """
        powers = np.arange(self._state.degree + 1)
        return np.ldexp(base_polynomial(self._state), -self._state.unit_exponent * powers)

    @property
    def alpha(self) -> float:
        """The share of the sequential time that spreads over the processors, 0..1.

        Raises:
            FitError: all points were on one processor count, or see `coefficients`.
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
        """Seconds of n points, shape (n,).

        Args:
            x: n predictor values, or one.
            processors: n processor counts, or one.

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
