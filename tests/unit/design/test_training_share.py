"""What is known of a production run before any run was made."""

import numpy as np
import pytest

from airflow_provider_ernest.design.costs import ProductionRun, expected_production
from airflow_provider_ernest.documents import Design, Experiment
from airflow_provider_ernest.exceptions import InvalidParameterError


def design_of(*runs: tuple[int, float]) -> Design:
    """Of runs with so many machines and such a scale."""
    experiments = tuple(
        Experiment(index=index, machines=machines, scale=scale, partitions=100, weight=1.0, cost=1.0)
        for index, (machines, scale) in enumerate(runs)
    )
    return Design(
        experiments=experiments,
        terms=("1",),
        criterion="A",
        weighting="relative",
        efficiency=1.0,
        cost=1.0,
        budget=1.0,
        cost_unit="cheapest runs",
        candidates=len(runs),
        candidate_ranges=(),
    )


def test_a_production_run_takes_about_as_long_as_its_deadline_on_a_middling_number_of_machines():
    production = expected_production(machines=[2, 8, 32], deadline_seconds=1200.0)

    assert production.seconds == 1200.0
    assert production.machine_seconds == pytest.approx(1200.0 * 8)
    assert production.is_long


def test_a_guess_of_the_users_is_worth_more_than_the_deadline():
    guess = {"full_seconds_on_one_machine": 5000.0, "scale": 2.0, "machines": [10]}

    assert expected_production(**guess).seconds == pytest.approx(1000.0)
    assert expected_production(**guess, deadline_seconds=2000.0).seconds == 2000.0
    for known in (guess, {**guess, "deadline_seconds": 2000.0}):
        assert expected_production(**known).machine_seconds == pytest.approx(10_000.0)


@pytest.mark.parametrize(
    "said",
    [
        {"machines": [4]},
        {"machines": None, "deadline_seconds": 3600.0},
        {"machines": None, "full_seconds_on_one_machine": 3600.0},
    ],
)
def test_without_a_time_or_without_machines_nothing_is_known(said):
    assert expected_production(**said) is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"deadline_seconds": 0.0}, "target_deadline_seconds=0"),
        ({"full_seconds_on_one_machine": -1.0}, "full_seconds_on_one_machine=-1"),
        ({"scale": 0.0}, "target_scale=0"),
    ],
)
def test_what_cannot_be_is_named(changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        expected_production(machines=[4], **changes)


def test_the_share_counts_all_machines_that_are_billed_while_a_run_is_on():
    """Runs of 10 % of 10,000 machine seconds: 500 s on two machines, 250 s on four, and 30 s besides."""
    production = ProductionRun(seconds=1000.0, machine_seconds=20_000.0, scale=2.0)
    design = design_of((2, 0.1), (4, 0.1))

    own = production.cost_of_samples(billed_machines=0, run_overhead_seconds=30.0)
    whole = production.cost_of_samples(billed_machines=4, run_overhead_seconds=30.0)

    assert production.share_of(design, own) == pytest.approx((2 * 530 + 4 * 280) / 20_000)
    assert production.share_of(design, whole) == pytest.approx((4 * 530 + 4 * 280) / 20_000)
    np.testing.assert_allclose(whole.seconds(machines=np.array([2]), scale=np.array([0.1])), [530.0])
