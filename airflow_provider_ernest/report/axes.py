"""From numbers to places on an axis, and the numbers that stand along it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

FEWEST_TICKS = 3

SHORTEST = 1e-3
"""An axis is no shorter."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis of a chart.

    Attributes:
        low, high: the numbers at its ends.
        start, end: where these are drawn, in pixels; the end may come before the start.
        ticks: numbers to be written along it.
        logarithmic: whether equal distances are equal ratios.
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """The pixel of a number; numbers beyond the ends are drawn at the ends."""
        scale: Callable[[float], float] = math.log if self.logarithmic else float
        inside = min(max(value, self.low), self.high)
        share = (scale(inside) - scale(self.low)) / (scale(self.high) - scale(self.low))
        return self.start + share * (self.end - self.start)


def logarithmic_axis(values: Sequence[float], *, start: float, end: float, margin: float = 1.15) -> Axis:
    """An axis around positive values, with ticks at 1, 2 and 5 times the powers of ten.

    Values that have no logarithm are left out: `Axis.place` draws them at the ends.
    """
    drawn = [value for value in values if math.isfinite(value) and value > 0]
    low, high = min(drawn) / margin, max(drawn) * margin
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [factor * 10.0**decade for decade in decades for factor in (1, 2, 5)]
    within = tuple(tick for tick in ticks if low <= tick <= high)
    if len(within) < FEWEST_TICKS:
        within = tuple(tick for tick in _round_numbers(low, high, least=5) if low <= tick <= high)
    return Axis(low=low, high=high, start=start, end=end, ticks=within, logarithmic=True)


def axis_from_zero(values: Sequence[float], *, start: float, end: float) -> Axis:
    """A linear axis from 0 to a round number above all values."""
    ticks = _round_numbers(0.0, max(values) * 1.05)
    return Axis(low=0.0, high=ticks[-1], start=start, end=end, ticks=ticks)


def axis_around(low: float, high: float, *, start: float, end: float) -> Axis:
    """A linear axis from 0, or a round number below what is less, to a round number above `high`."""
    low = min(low, 0.0)
    ticks = _round_numbers(low, max(high, low + SHORTEST))
    return Axis(low=ticks[0], high=ticks[-1], start=start, end=end, ticks=ticks)


def machines_axis(counts: Sequence[int], *, start: float, end: float) -> Axis:
    """A logarithmic axis with a band for each number of machines; ticks at doublings, or at few numbers all.

    The ends are those of the bands of the first and the last number; see `bands`.
    """
    edges = bands(counts)
    low, high = edges[0][0], edges[-1][1]
    doublings = tuple(2.0**power for power in range(14) if low <= 2.0**power <= high)
    enough = len(doublings) >= FEWEST_TICKS
    ticks = doublings if enough else tuple(float(count) for count in counts[:: max(1, len(counts) // 4)])
    return Axis(low=low, high=high, start=start, end=end, ticks=ticks, logarithmic=True)


def bands(counts: Sequence[int]) -> list[tuple[float, float]]:
    """For each of ascending numbers what lies nearer to it than to its neighbours, by ratio."""
    inner = [math.sqrt(left * right) for left, right in pairwise(counts)]
    first = counts[0] ** 2 / inner[0] if inner else counts[0] / 1.5
    last = counts[-1] ** 2 / inner[-1] if inner else counts[-1] * 1.5
    edges = [first, *inner, last]
    return list(pairwise(edges))


def _round_numbers(low: float, high: float, *, least: int = 4) -> tuple[float, ...]:
    """At least so many evenly spread round numbers, which reach from below `low` to above `high`."""
    rough = (high - low) / least
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough / 2)
    first, last = math.floor(low / step), math.ceil(high / step)
    return tuple(step * index for index in range(first, last + 1))
