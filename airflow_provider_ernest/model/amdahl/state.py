"""What the extended Amdahl model remembers: running sums of a fixed size (for `amdahl`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.model.documents import Document
from airflow_provider_ernest.model.parameters import FloatArray, number_not_negative, whole_number

SAME = 1e-9
"""Predictor values that differ by less than this share of the larger are one."""

LARGEST_CONDITION = 1e12
"""Of the running sums, scaled: beyond it they have lost the polynomial to rounding."""


@dataclass(frozen=True, kw_only=True)
class AmdahlState(Document):
    """All that `ExtendedAmdahl` remembers; its size depends on the degree alone.

    Attributes:
        degree: k, of the polynomial.
        base_processors: the lowest processor count seen; the polynomial is of the times on it.
        unit_exponent: predictor values are kept in units of 2**unit_exponent, so that the largest is
            between 0.5 and 1 and no power of it grows.
        power_sums: the sums of u^j over the points on `base_processors`, j = 0..2k; X^T X has them.
        time_sums: the sums of u^j * seconds, j = 0..k; this is X^T y.
        distinct_x: up to k + 1 different predictor values of these points.
        highest_processors: p of the highest point, the one with the most processors and of those with
            the largest predictor value.
        highest_x: x of it.
        highest_points: how many points lay there.
        highest_mean_seconds: the mean of their times.
    """

    degree: int
    base_processors: int = 0
    unit_exponent: int = 0
    power_sums: tuple[float, ...]
    time_sums: tuple[float, ...]
    distinct_x: tuple[float, ...] = ()
    highest_processors: int = 0
    highest_x: float = 0.0
    highest_points: int = 0
    highest_mean_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Refuse sums of another degree, and NaN."""
        degree = whole_number("degree", self.degree, minimum=0)
        for name, length in (("power_sums", 2 * degree + 1), ("time_sums", degree + 1)):
            sums = getattr(self, name)
            if len(sums) != length:
                raise InvalidParameterError(name, sums, f"must have {length} values for degree {degree}")
            for index, value in enumerate(sums):
                number_not_negative(f"{name}[{index}]", value)
        for name in ("highest_x", "highest_mean_seconds"):
            number_not_negative(name, getattr(self, name))


def emptied(state: AmdahlState, *, base_processors: int) -> AmdahlState:
    """Without sums, for points on another processor count."""
    return replace(
        state,
        base_processors=base_processors,
        unit_exponent=0,
        power_sums=(0.0,) * len(state.power_sums),
        time_sums=(0.0,) * len(state.time_sums),
        distinct_x=(),
    )


def with_sums(state: AmdahlState, *, x: float, seconds: float) -> AmdahlState:
    """With a point on the lowest processor count added to the sums."""
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
    """With a point counted among the highest, or in their place where it is higher."""
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
    """The polynomial's coefficients in powers of u, shape (k + 1,).

    Raises:
        TooFewObservationsError: there are fewer different predictor values than coefficients.
        FitError: they lie too close together.
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
            f"The polynomial of degree {state.degree} gives {seconds[position]:.4g} s at x={x[position]:g}: "
            "it does not describe the job there.",
            remedy="Observe predictor values near it, or use a lower degree.",
        )
    return np.asarray(seconds, dtype=np.float64)
