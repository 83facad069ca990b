import itertools
import math

import pytest

from airflow_provider_ernest.views.report.charts import axis_from_zero, bands, logarithmic_axis, machines_axis


@pytest.mark.parametrize(
    "values",
    [[1.0, 1000.0], [4.2, 7.9], [6.70, 6.71], [0.003, 0.9], [5.0], [99, 101], [1e-5, 1e8], [17.0, 23.0]],
)
def test_an_axis_holds_its_values_and_some_ticks(values: list[float]):
    axis = logarithmic_axis(values, start=0.0, end=100.0)
    assert all(axis.low < value < axis.high for value in values)
    assert len(axis.ticks) >= 2
    assert all(axis.low <= tick <= axis.high for tick in axis.ticks)
    assert list(axis.ticks) == sorted(set(axis.ticks))


def test_equal_ratios_are_equal_distances():
    axis = logarithmic_axis([1.0, 100.0], start=10.0, end=500.0)
    assert axis.place(4.0) - axis.place(2.0) == pytest.approx(axis.place(40.0) - axis.place(20.0))
    assert axis.place(axis.low) == 10.0
    assert axis.place(axis.high) == pytest.approx(500.0)


def test_what_has_no_place_is_drawn_at_the_ends():
    axis = logarithmic_axis([1.0, 100.0, 0.0, math.inf], start=10.0, end=500.0)
    assert axis.place(0.0) == axis.place(axis.low)
    assert axis.place(math.inf) == axis.place(axis.high)


@pytest.mark.parametrize("highest", [1e-6, 0.049, 1.0, 3.7, 99.0, 12345.0])
def test_an_axis_from_zero_ends_above_its_values_at_a_tick(highest: float):
    axis = axis_from_zero([highest, highest / 3], start=300.0, end=20.0)
    assert axis.low == axis.ticks[0] == 0.0
    assert axis.high == axis.ticks[-1] > highest
    assert 4 <= len(axis.ticks) <= 12
    assert axis.place(0.0) == 300.0


@pytest.mark.parametrize("counts", [[1], [7], [1, 2], [8, 16, 32], list(range(1, 65)), [5, 6, 7]])
def test_bands_touch_and_hold_their_numbers(counts: list[int]):
    edges = bands(counts)
    assert all(low < count < high for count, (low, high) in zip(counts, edges, strict=True))
    assert all(left[1] == right[0] for left, right in itertools.pairwise(edges))
    axis = machines_axis(counts, start=0.0, end=100.0)
    assert (axis.low, axis.high) == (edges[0][0], edges[-1][1])
    assert axis.ticks
