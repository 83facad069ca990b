"""Runs of one configuration become one point."""

import numpy as np
import pytest

from airflow_provider_ernest.prediction.evidence import merge_repetitions


def merged(machines, scale, seconds, workers=None):
    columns = {"machines": machines, "scale": scale, "seconds": seconds, "workers": workers or machines}
    return merge_repetitions(**{name: np.array(column, dtype=float) for name, column in columns.items()})


def test_the_median_of_each_configuration():
    points = merged([4, 2, 4, 4, 2], [0.1, 0.1, 0.1, 0.2, 0.1], [8.0, 15.0, 80.0, 16.0, 14.0])

    assert points.machines.tolist() == [2.0, 4.0, 4.0]
    assert points.scale.tolist() == [0.1, 0.1, 0.2]
    assert points.seconds.tolist() == [14.5, 44.0, 16.0]
    assert points.repetitions.tolist() == [2, 2, 1]
    assert points.point_of_run.tolist() == [1, 0, 1, 2, 0]


def test_runs_with_other_workers_are_not_repetitions():
    assert len(merged([8, 8], [0.1, 0.1], [5.0, 6.0], workers=[8, 4]).seconds) == 2


def test_repetitions_make_a_point_surer_but_less_than_independent_runs_would():
    points = merged([2, 2, 2, 2, 4], [0.1] * 5, [10.0] * 5)

    assert points.noise_factors.tolist() == pytest.approx([0.5, 1.0])
    assert points.noise_factors[0] > 1 / 4


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ([100.0] * 5 + [200.0] * 3, 100.0 * 2 ** (3 / 8)),
        ([200.0, 100.0, 200.0, 100.0], 100.0 * 2**0.5),
        ([100.0, 100.0, 150.0, 150.0, 225.0, 225.0], 150.0),
        ([100.0] * 3 + [9000.0], 100.0),
        ([100.0] * 40 + [9000.0] * 10, 100.0),
        ([100.0] * 4 + [110.0] * 2, 100.0),
    ],
)
def test_where_no_time_is_typical_it_is_their_mean_on_the_logarithm(seconds, expected):
    """The median of a configuration with two times would be one of them, and wrong of all others."""
    points = merged([8] * len(seconds), [1.0] * len(seconds), seconds)

    assert points.seconds.tolist() == [pytest.approx(expected)]
    is_divided = expected != 100.0
    assert points.divided.tolist() == [is_divided]
    assert points.noise_factors[0] == pytest.approx(len(seconds) ** (-1.0 if is_divided else -0.5))
