"""Types of machines at the same dollars per hour."""

import pytest

from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.decision.same_cost import SameCost
from airflow_provider_ernest.decision.same_cost import same_cost as compared
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings import Billing
from tests.choices import choice_of
from tests.examples import sizing_goal

from .test_mixed import model_of

ANY = sizing_goal(objective="cheapest")


def same_cost(offers, **asked):
    return compared(offers, choice_of(offers, goal=ANY).alternatives, **asked)


def offer(name, price, *, work, machines=range(1, 41), **billing):
    return Offer(
        model=model_of(name, work=work), machines=machines, billing=Billing(price_per_hour=price, **billing)
    )


def of_row(row):
    return {each.instance_type: each.machines for each in row.types}


def test_at_a_rate_each_type_has_the_machines_that_it_pays_for():
    offers = [offer("m5.large", 0.1, work=4000.0), offer("m5.xlarge", 0.2, work=1900.0)]

    (row,) = same_cost(offers, dollars_per_hour=3.2)

    assert of_row(row) == {"m5.large": 32, "m5.xlarge": 16}
    small, large = row.types
    # By the times that the models were made with: 20 s, 0.4 s a machine, and the work.
    assert small.seconds == pytest.approx(20 + 0.4 * 32 + 4000 / 32, rel=1e-6)
    assert large.seconds == pytest.approx(20 + 0.4 * 16 + 1900 / 16, rel=1e-6)
    assert (small.is_fastest, large.is_fastest) == (False, True)
    assert row.fastest == large
    assert large.dollars == pytest.approx(3.2 / 3600 * large.seconds, rel=0.01)
    assert large.likely_seconds[0] < large.seconds < large.likely_seconds[1]
    assert small.extrapolates == "Extrapolated: only 1 to 16 machines were tried"
    assert SameCost.from_dict(row.to_dict()) == row


def test_the_nearest_number_is_hardly_dearer_than_the_rate():
    offers = [offer("m5.large", 0.1, work=4000.0), offer("p3.large", 0.306, work=900.0)]

    (row,) = same_cost(offers, dollars_per_hour=0.6)
    # Two of 0.306 are 2 % too dear, which is allowed; at 0.58 it would be 5.5 %.
    assert of_row(row) == {"m5.large": 6, "p3.large": 2}
    (row,) = same_cost(offers, dollars_per_hour=0.58)
    assert of_row(row)["p3.large"] == 1
    (row,) = same_cost(offers, dollars_per_hour=0.2)
    assert of_row(row) == {"m5.large": 2}


def test_without_a_rate_those_are_taken_at_which_the_types_differ_least():
    offers = [
        offer("m5.large", 0.1, work=4000.0),
        offer("c5.large", 0.15, work=2500.0),
        offer("r5.large", 0.25, work=1500.0),
    ]

    rows = same_cost(offers)

    rates = [row.dollars_per_hour for row in rows]
    assert rates == sorted(set(rates))
    assert 3 <= len(rates) <= 5
    for row in rows:
        true = [each.dollars_per_hour for each in row.types]
        assert len(true) == 3
        assert max(true) - min(true) <= 0.1 * row.dollars_per_hour
    # 3 $ are whole numbers of all three types.
    assert any(
        max(of) == pytest.approx(min(of)) for of in ([t.dollars_per_hour for t in r.types] for r in rows)
    )
    assert rates[-1] <= 4.0, "no type is compared where it has no machines left"


@pytest.mark.parametrize(("rate", "named"), [(0.05, "pays for no allowed number"), (-1.0, "finite number")])
def test_rates_that_cannot_be(rate, named):
    with pytest.raises(InvalidParameterError, match=named):
        same_cost([offer("m5.large", 0.1, work=4000.0)], dollars_per_hour=rate)
