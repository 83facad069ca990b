"""Whether past runs alone are enough for a decision."""

import math
from random import Random

import pytest

from airflow_provider_ernest.design.known import distinct, sufficiency
from airflow_provider_ernest.settings import SizingGoal
from tests import examples


def past(executors, *, scales=(1.0,), repeated=1, noise=0.03):
    """Runs of other nights, each with its own bit of noise."""
    random = Random(7)
    runs = [(count, scale) for count in executors for scale in scales for _ in range(repeated)]
    return examples.observe(
        executors=[count for count, _ in runs],
        scale=[scale for _, scale in runs],
        seconds=[(20 + 900 * scale / count) * math.exp(random.gauss(0, noise)) for count, scale in runs],
        startup_seconds=5.0,
        instance_type="m5.large",
        from_history=True,
    )


def asked(runs, executors=range(4, 17), objective="cheapest", **limits):
    stated = {"allowed_executors": tuple(executors), "objective": objective, **limits}
    return sufficiency(runs, SizingGoal(**stated, max_error_percent=25.0))


def test_runs_of_several_sizes_are_enough():
    told = asked(past((4, 6, 8, 12, 16), scales=(0.9, 1.0)))

    assert told.is_enough
    assert told.reason.startswith("10 past runs of the job tell enough, and no sample run is made: ")
    assert "at worst, the prediction for" in told.reason


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        (past((4, 8)), "2 past runs of the job can be used; 6 tell enough"),
        (past((8,), repeated=20), "past runs had 8 executors, and nothing tells how the time changes"),
        (past((4, 8), repeated=10), "past runs had 4 or 8 executors, and nothing tells"),
    ],
)
def test_what_is_missing_is_said(runs, why):
    told = asked(runs)

    assert not told.is_enough
    assert told.reason.startswith(f"Sample runs are needed: {why}")


@pytest.mark.parametrize("sizes", [(8,), (4, 8)])
def test_one_or_two_sizes_are_enough_where_only_these_are_asked_for(sizes):
    runs = past(sizes, repeated=10, scales=(0.9, 1.0))
    assert asked(runs, executors=sizes).is_enough
    assert not asked(runs, executors=(8, 12)).is_enough


def test_far_from_all_past_runs_nothing_is_known_well_enough():
    told = asked(past((4, 5, 6), repeated=3), executors=range(4, 200), objective="fastest")

    assert not told.is_enough
    assert "is uncertain by" in told.reason


def test_sizes_that_cannot_be_chosen_need_not_be_known():
    """Nobody takes 100 machines where 8 surely keep the deadline, however little is known of 100."""
    runs = past((4, 6, 8, 12), scales=(0.9, 1.0))

    assert not asked(runs, executors=(8, 100)).is_enough or asked(runs, executors=(8,)).is_enough
    assert asked(runs, executors=(8, 400), deadline_seconds=3600.0).is_enough
    assert not asked(runs, executors=(8, 400), deadline_seconds=3600.0, objective="fastest").is_enough


def test_more_sample_runs_do_not_help_where_runs_scatter():
    assert asked(past((4, 6, 8, 12, 16), repeated=4, noise=0.3)).is_enough


def test_thirty_nights_of_one_size_count_as_one_run_of_a_design():
    runs = past((4, 8), scales=(0.95, 1.0, 1.05), repeated=5)

    assert sorted(run.executors for run in distinct(runs)) == [4, 8]
