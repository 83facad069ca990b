"""Runs of one configuration become one point."""

import numpy as np
import pytest

from airflow_provider_ernest.model.averaging.repetitions import merge_repetitions


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


def test_an_odd_one_out_of_three_does_not_count():
    assert merged([2, 2, 2], [0.1] * 3, [10.0, 900.0, 11.0]).seconds.tolist() == [11.0]


def test_runs_with_other_workers_are_not_repetitions():
    assert len(merged([8, 8], [0.1, 0.1], [5.0, 6.0], workers=[8, 4]).seconds) == 2


def test_repetitions_make_a_point_surer_but_less_than_independent_runs_would():
    points = merged([2, 2, 2, 2, 4], [0.1] * 5, [10.0] * 5)

    assert points.noise_factors.tolist() == pytest.approx([0.5, 1.0])
    assert points.noise_factors[0] > 1 / 4
