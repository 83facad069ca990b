"""What stands beside the chosen configuration, and which goals are nearest to one that is out of reach."""

from dataclasses import replace

import pytest

from airflow_provider_ernest.exceptions import InfeasibleGoalError
from airflow_provider_ernest.settings.bounds import METHODS
from airflow_provider_ernest.words import duration
from tests.choices import choice_of
from tests.unit.decision.test_deciding import goal_of, model_with, offer


def out_of_reach(offers, goal):
    with pytest.raises(InfeasibleGoalError) as caught:
        choice_of(offers, goal=goal).required()
    return caught.value


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("confidence", [0.3, 0.5, 0.8, 0.95])
def test_the_earliest_deadline_can_be_asked_for_and_not_much_less(method, confidence):
    offers = offer(
        model_with(fixed=10.0, spread=3600.0, per_executor=10.0, startup=30.0, method=method),
        executors=range(1, 33),
        boot_seconds=60.0,
    )
    goal = goal_of(deadline_seconds=300.0, confidence=confidence)

    error = out_of_reach(offers, goal)

    earliest = error.earliest_deadline
    keeping = choice_of(offers, goal=goal, deadline_seconds=earliest.limit).alternatives
    assert earliest.executors in {each.executors for each in keeping if each.feasible}
    assert f"a deadline of {duration(earliest.limit)} ({earliest.executors} machines of r3.xlarge)" in str(
        error
    )
    tighter = choice_of(offers, goal=goal, deadline_seconds=0.985 * earliest.limit)
    assert isinstance(tighter.error, InfeasibleGoalError)


@pytest.mark.parametrize("billed", [{}, {"increment_seconds": 60.0}, {"minimum_seconds": 600.0}])
def test_the_least_budget_can_be_asked_for_and_not_much_less(billed):
    offers = offer(
        model_with(spread=3600.0, per_executor=10.0, method="averaging"),
        executors=range(2, 33),
        master_price_per_hour=0.5,
        **billed,
    )
    goal = goal_of(budget_dollars=0.01, confidence=0.8)

    error = out_of_reach(offers, goal)

    least = error.least_budget
    assert f"a budget of ${least.limit}" in str(error)
    assert choice_of(offers, goal=goal, budget_dollars=least.limit).error is None
    assert choice_of(offers, goal=goal, budget_dollars=0.985 * least.limit).error is not None


def test_of_several_types_that_which_keeps_to_the_shortest_deadline():
    slow, fast = model_with(fixed=30.0, spread=3600.0), model_with(fixed=10.0, spread=1800.0)
    fast = replace(fast, instance_type="c5.xlarge")
    offers = [offer(slow, executors=[1, 2, 4, 8]), offer(fast, executors=[1, 2, 4])]

    earliest = out_of_reach(offers, goal_of(deadline_seconds=100.0)).earliest_deadline
    assert (earliest.executors, earliest.instance_type) == (4, "c5.xlarge")


def test_with_two_limits_each_is_told_as_far_as_the_other_allows():
    offers = offer(model_with(fixed=10.0, spread=3600.0, per_executor=10.0), executors=range(1, 33))
    asked = goal_of(deadline_seconds=450.0, budget_dollars=1.2, objective="balanced")

    nearest = out_of_reach(offers, asked)

    assert nearest.earliest_deadline.limit > 450.0
    assert nearest.least_budget.limit > 1.2
    assert choice_of(offers, goal=asked, deadline_seconds=nearest.earliest_deadline.limit).error is None
    assert choice_of(offers, goal=asked, budget_dollars=nearest.least_budget.limit).error is None

    hopeless = out_of_reach(offers, goal_of(deadline_seconds=1.0, budget_dollars=1e-6, objective="balanced"))
    assert hopeless.earliest_deadline is hopeless.least_budget is None
    assert "Possible:" not in str(hopeless)
