"""The runs that a design may choose from: whole partitions, and enough of them for all cores."""

import numpy as np
import pytest

from airflow_provider_ernest.design.candidates import enumerate_candidates, were_made
from airflow_provider_ernest.exceptions import DesignError, InvalidParameterError
from tests.examples import observe

BOUNDS = {"max_executors": 16, "min_scale": 0.01, "max_scale": 0.1, "partitions": 1000}


def test_every_candidate_lies_within_the_bounds_and_fills_its_cores():
    candidates = enumerate_candidates(**BOUNDS, min_executors=2, executor_cores=4)

    assert set(candidates.executors.tolist()) == set(range(2, 17))
    assert candidates.scale.min() >= 0.01
    assert candidates.scale.max() == pytest.approx(0.1)
    assert np.all(candidates.partitions >= 4 * candidates.executors)
    assert len(candidates) == len(candidates.executors) == len(candidates.scale) == len(candidates.partitions)


def test_scales_are_whole_partitions_and_each_run_comes_once():
    candidates = enumerate_candidates(max_executors=3, min_scale=0.05, max_scale=0.5, partitions=30)

    np.testing.assert_allclose(candidates.scale * 30, candidates.partitions)
    points = set(zip(candidates.executors.tolist(), candidates.partitions.tolist(), strict=True))
    assert len(points) == len(candidates)
    assert set(candidates.partitions.tolist()) == set(range(2, 16))
    # In spite of binary fractions: 0.07 * 100 is a little more than 7.
    candidates = enumerate_candidates(max_executors=1, min_scale=0.07, max_scale=0.29, partitions=100)
    assert (candidates.partitions.min(), candidates.partitions.max()) == (7, 29)


def test_scales_spread_by_their_ratios_differ_little_where_they_are_small():
    bounds = {**BOUNDS, "min_scale": 0.001, "partitions": 10_000}
    scales = np.unique(enumerate_candidates(**bounds, by_ratio=True).scale)

    assert (scales.min(), scales.max()) == pytest.approx((0.001, 0.1))
    assert np.all(scales[1:] / scales[:-1] < 1.35)
    assert np.median(scales) < 0.02 < np.median(enumerate_candidates(**bounds).scale)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"max_executors": 0}, "max_executors=0"),
        ({"min_scale": float("nan")}, "min_scale=nan"),
        ({"min_scale": 0.2}, "Raise max_scale to 0.2"),
        ({"partitions": 0}, "partitions=0"),
        ({"executor_cores": -1}, "executor_cores=-1"),
        ({"scale_steps": 0}, "scale_steps=0"),
    ],
)
def test_bounds_that_cannot_be_are_named(change, named):
    with pytest.raises(InvalidParameterError, match=named):
        enumerate_candidates(**{**BOUNDS, **change})


def test_the_bound_to_raise_is_named_and_raising_it_works():
    bounds = {"max_executors": 4, "min_scale": 0.01, "max_scale": 0.02, "partitions": 100}
    with pytest.raises(DesignError, match=r"Raise max_scale to 0\.04 or more"):
        enumerate_candidates(**bounds, executor_cores=4)

    assert len(enumerate_candidates(**{**bounds, "max_scale": 0.04}, executor_cores=4)) == 1


def test_an_input_of_too_few_partitions_is_named():
    with pytest.raises(DesignError, match="Store the input in at least 16 partitions"):
        enumerate_candidates(
            min_executors=2, max_executors=4, min_scale=0.1, max_scale=1.0, partitions=8, executor_cores=8
        )


def test_runs_made_are_told_by_what_they_nearly_read():
    """A sample of 5 % may really read 5.02 %, but not 6 %."""
    candidates = enumerate_candidates(max_executors=2, min_scale=0.05, max_scale=0.06, partitions=100)
    points = list(zip(candidates.executors.tolist(), candidates.scale.tolist(), strict=True))
    observed = observe(executors=[2, 2, 1, 3], scale=[0.0502, 0.05, 0.06, 0.05], seconds=[1.0] * 4)

    made = dict(zip(points, were_made(candidates, observed).tolist(), strict=True))

    assert made == {(1, 0.05): False, (2, 0.05): True, (1, 0.06): True, (2, 0.06): False}


def test_ranges_say_where_the_candidates_lie_by_number_of_machines():
    bounds = {"min_executors": 2, "max_executors": 4, "min_scale": 0.01, "max_scale": 0.1, "partitions": 100}
    candidates = enumerate_candidates(**bounds, executor_cores=2, scale_steps=100)

    assert [
        (each.executors, each.lowest_scale, each.highest_scale, each.candidates)
        for each in candidates.ranges()
    ] == [
        (2, 0.04, 0.1, 7),
        (3, 0.06, 0.1, 5),
        (4, 0.08, 0.1, 3),
    ]
