"""What the sample runs may cost: as the user says, else little beside long production."""

import pytest

from airflow_provider_ernest.design.costs import SHARE, ProductionRun, Spending
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


def test_a_smallest_scale_of_the_users_holds_for_all():
    assert {allowance.min_scale for allowance in spending(min_scale=0.005).allowances()} == {0.005}


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


def test_the_users_dollars_are_the_unit_beside_long_production_too():
    options = {"full_seconds_on_one_machine": 12_000.0, "price_per_hour": 0.36}

    assert {each.cost.unit for each in spending(cost="dollars", options=options).allowances()} == {"dollars"}
