"""What the sample runs may cost, and what is known of a production run before any run was made."""

import numpy as np
import pytest

from airflow_provider_ernest.design.costs import SHARE, ProductionRun, Spending, expected_production
from airflow_provider_ernest.documents import Design, Experiment
from airflow_provider_ernest.exceptions import DesignError, InvalidParameterError

LONG = ProductionRun(seconds=1200.0, machine_seconds=12_000.0)
SHORT = ProductionRun(seconds=1199.0, machine_seconds=12_000.0)


def spending(**changes) -> Spending:
    return Spending(**{"options": {}, "production": LONG, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"production": SHORT},
        {"production": None},
        {"budget": 3.0},
        {"options": {"run_overhead": 1.0}},
        {"cost": "seconds", "options": {"full_seconds_on_one_machine": 12_000.0}},
    ],
)
def test_nothing_is_bounded_that_was_not_where_production_is_short_or_the_user_says_otherwise(changes):
    asked = spending(**changes)
    (only,) = asked.allowances()

    assert not asked.is_frugal
    assert (only.budget, only.min_scale) == (changes.get("budget"), 0.01)


def test_beside_long_production_ever_larger_shares_are_tried_before_the_usual_design():
    *frugal, usual = spending().allowances()

    shares = [allowance.budget.share for allowance in frugal]
    assert shares == sorted(shares)
    assert len(set(shares)) == len(shares) > 3
    assert shares[0] < SHARE, "runs cost more than planned, too"
    assert {allowance.min_scale for allowance in frugal} == {0.001}
    assert (usual.budget, usual.min_scale, usual.cost.unit) == (None, 0.01, "cheapest runs")


def test_the_first_allowance_that_allows_a_design_is_taken():
    tried = []

    def plan(allowance):
        tried.append(allowance)
        if len(tried) < 3:
            raise DesignError("too dear")
        return allowance

    every = spending().allowances()
    assert spending().planned(plan).budget == every[2].budget
    assert len(tried) == 3


def test_where_none_allows_a_design_the_last_says_why():
    def plan(allowance):
        raise DesignError("usual" if allowance.budget is None else "frugal")

    with pytest.raises(DesignError, match="usual"):
        spending().planned(plan)


def test_an_error_that_no_money_mends_is_not_tried_again():
    tried = []

    def plan(allowance):
        tried.append(allowance)
        raise InvalidParameterError("partitions", 0, "is wrong")

    with pytest.raises(InvalidParameterError):
        spending().planned(plan)
    assert len(tried) == 1


def test_a_share_of_the_users_is_the_only_one_and_kept_to():
    (only,) = spending(share=0.3, production=SHORT).allowances()

    assert only.budget.share == 0.3
    assert only.cost.unit == "machine seconds"


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
