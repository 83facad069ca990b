"""What the extended Amdahl model remembers: running sums of a fixed size (for `amdahl`)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from airflow_provider_ernest.exceptions import FitError, TooFewObservationsError
from airflow_provider_ernest.model.amdahl.sums import AmdahlState as AmdahlState
from airflow_provider_ernest.model.parameters import FloatArray

SAME = 1e-9
"""Predictor values that differ by less than this share of the larger are one."""

LARGEST_CONDITION = 1e12
"""Of the running sums, scaled: beyond it they have lost the polynomial to rounding."""


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
