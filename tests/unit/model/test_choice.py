"""Choosing a configuration, with the saving of the paper as the worked example."""

import math

import pytest

from airflow_provider_ernest.exceptions import InfeasibleGoalError, InvalidParameterError
from airflow_provider_ernest.model.choice import Goal, choose
from airflow_provider_ernest.model.prediction import predict_interval
from airflow_provider_ernest.model.predictors import METHODS
from airflow_provider_ernest.model.results import Decision
from airflow_provider_ernest.model.training import train

from .paper import observe

HOUR = 3600.0


def model_with(
    *,
    fixed=0.0,
    spread=0.0,
    per_machine=0.0,
    startup=0.0,
    iterations=None,
    observed_up_to=16,
    method="relative",
):
    """A model trained on exact runs of a job with these coefficients, which "relative" finds exactly."""
    machines = [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= observed_up_to]
    machines += machines[:1]
    scale = [0.1] * (len(machines) - 1) + [0.05]
    seconds = [fixed + spread * s / m + per_machine * m for m, s in zip(machines, scale, strict=True)]
    return train(
        observe(
            machines=machines, scale=scale, seconds=seconds, startup_seconds=startup, iterations=iterations
        ),
        job="job",
        method=method,
        terms=("1", "scale/machines", "machines"),
        instance_type="r3.xlarge",
    )


def test_the_saving_of_the_paper_16_machines_where_64_cost_four_times_as_much():
    """Section 6.3: 40 iterations must end within an hour; machines cost 0.35 $ for each hour begun.

    An iteration may take 90 s. It takes 1,400 s on one machine and spreads, so that 16 machines need
    87.5 s. Two iterations on samples were observed.
    """
    model = model_with(spread=2 * 1400.0, iterations=2)

    decision = choose(
        model,
        goal=Goal(deadline_seconds=HOUR),
        machines=[4, 8, 16, 32, 45, 64],
        price_per_hour=0.35,
        iterations=40,
        billing_increment_seconds=HOUR,
    )

    assert decision.config.machines == 16
    assert decision.predicted_seconds == pytest.approx(40 * 87.5)
    assert decision.predicted_cost == pytest.approx(5.6)
    costs = {each.machines: each.cost for each in decision.alternatives}
    assert costs[64] == pytest.approx(22.4)
    assert [each.machines for each in decision.alternatives if not each.feasible] == [4, 8]


def test_billed_by_the_second_the_most_machines_that_spread_perfectly_cost_the_same():
    model = model_with(spread=2 * 1400.0, iterations=2)

    decision = choose(
        model, goal=Goal(deadline_seconds=HOUR), machines=[16, 64], price_per_hour=0.35, iterations=40
    )

    costs = [each.cost for each in decision.alternatives]
    assert costs[0] == pytest.approx(costs[1])


def test_the_fastest_within_a_budget():
    model = model_with(spread=36000.0, per_machine=10.0)

    decision = choose(
        model, goal=Goal(budget_dollars=12.0), machines=range(1, 101), price_per_hour=1.0, scale=1.0
    )

    within = [each for each in decision.alternatives if each.cost <= 12.0]
    assert decision.predicted_cost <= 12.0
    assert decision.predicted_seconds == min(each.seconds for each in within)
    assert 1 < decision.config.machines < 100


def test_start_up_counts_against_the_deadline_and_is_billed():
    quick = model_with(fixed=10.0, spread=3600.0, startup=0.0)
    slow = model_with(fixed=10.0, spread=3600.0, startup=200.0)
    ask = {"goal": Goal(deadline_seconds=1000.0), "machines": range(1, 17), "price_per_hour": 3600.0}

    assert choose(quick, **ask).config.machines == 4
    decision = choose(slow, **ask)
    assert decision.config.machines == 5
    assert decision.run_seconds == pytest.approx(730.0)
    assert decision.startup_seconds == 200.0
    assert decision.predicted_seconds == pytest.approx(930.0)
    assert decision.predicted_cost == pytest.approx(5 * 930.0)


def test_of_equal_costs_the_faster_one():
    # Billed by the hour, 1 machine for 4 hours and 4 machines for 1 hour cost the same.
    decision = choose(
        model_with(spread=4 * HOUR),
        goal=Goal(deadline_seconds=5 * HOUR),
        machines=[1, 2, 4],
        price_per_hour=1.0,
        billing_increment_seconds=HOUR,
    )

    assert {each.cost for each in decision.alternatives} == {4.0}
    assert decision.config.machines == 4


def test_of_equal_speed_the_cheaper_one():
    decision = choose(
        model_with(fixed=100.0), goal=Goal(budget_dollars=50.0), machines=[8, 2, 4], price_per_hour=1.0
    )

    assert decision.config.machines == 2


def test_each_machine_count_is_considered_once_in_order():
    decision = choose(
        model_with(spread=100.0), goal=Goal(deadline_seconds=1e6), machines=[8, 2, 8, 4], price_per_hour=1.0
    )

    assert [each.machines for each in decision.alternatives] == [2, 4, 8]


def test_a_minimum_is_billed():
    decision = choose(
        model_with(fixed=10.0),
        goal=Goal(deadline_seconds=60.0),
        machines=[2],
        price_per_hour=3600.0,
        minimum_billed_seconds=60.0,
    )

    assert decision.predicted_cost == pytest.approx(120.0)


def test_an_increment_that_is_just_filled_is_not_billed_twice():
    decision = choose(
        model_with(spread=0.3),
        goal=Goal(deadline_seconds=60.0),
        machines=[1],
        price_per_hour=3600.0,
        billing_increment_seconds=0.1,
    )

    assert decision.predicted_cost == pytest.approx(0.3)


def test_an_unreachable_deadline_names_the_fastest():
    # 3600/m + 10 m is least at 19 machines.
    with pytest.raises(InfeasibleGoalError, match=r"the fastest is 19 machines with 379\.5 s") as caught:
        choose(
            model_with(spread=3600.0, per_machine=10.0),
            goal=Goal(deadline_seconds=300.0),
            machines=range(1, 65),
            price_per_hour=1.0,
        )

    assert caught.value.best == pytest.approx(3600 / 19 + 190)
    assert "Extend the deadline" in caught.value.remedy


def test_an_unreachable_budget_names_the_cheapest():
    with pytest.raises(InfeasibleGoalError, match=r"at most 1 \$: the cheapest is 4 machines") as caught:
        choose(
            model_with(spread=2 * HOUR, per_machine=1.0),
            goal=Goal(budget_dollars=1.0),
            machines=[4, 8, 16],
            price_per_hour=1.0,
        )

    assert caught.value.best == pytest.approx(4 * math.ceil(HOUR / 2 + 4) / HOUR)


def test_a_choice_beyond_the_observations_says_so():
    model = model_with(spread=36000.0)

    decision = choose(model, goal=Goal(deadline_seconds=900.0), machines=[16, 64], price_per_hour=1.0)

    assert decision.config.machines == 64
    assert decision.warnings == ("64 machines: at most 16 were observed",)
    assert [each.extrapolates for each in decision.alternatives] == ["", decision.warnings[0]]


def test_the_decision_carries_the_models_errors_and_warnings():
    model = model_with(spread=100.0, observed_up_to=2)
    assert model.warnings

    decision = choose(model, goal=Goal(deadline_seconds=1e4), machines=[1, 2], price_per_hour=0.5)

    assert decision.warnings == model.warnings
    assert decision.error_percent == model.validation.median_error_percent
    assert decision.max_error_percent == model.validation.max_error_percent
    assert decision.model_id == model.model_id
    assert decision.config.instance_type == "r3.xlarge"
    assert decision.price_per_hour == 0.5
    assert decision.goal == "cheapest within 10,000 s"
    assert Decision.from_dict(decision.to_dict()) == decision


@pytest.mark.parametrize("method", METHODS)
def test_each_alternative_carries_what_its_run_lies_between(method):
    model = model_with(fixed=20.0, spread=3600.0, startup=200.0, method=method)

    decision = choose(
        model, goal=Goal(deadline_seconds=5000.0), machines=[4, 8, 32], price_per_hour=1.0, scale=0.5
    )

    for each in decision.alternatives:
        for shown, level in ((each.likely_seconds, 0.8), (each.nearly_certain_seconds, 0.95)):
            low, high = predict_interval(model, machines=each.machines, level=level, scale=0.5)
            assert shown == pytest.approx((low[0] + 200.0, high[0] + 200.0))
        assert each.nearly_certain_seconds[0] < each.likely_seconds[0] < each.seconds
        assert each.seconds < each.likely_seconds[1] < each.nearly_certain_seconds[1]
    (chosen,) = [each for each in decision.alternatives if each.machines == decision.config.machines]
    assert decision.likely_seconds == chosen.likely_seconds
    assert decision.nearly_certain_seconds == chosen.nearly_certain_seconds
    assert Decision.from_dict(decision.to_dict()) == decision


def test_more_iterations_move_the_interval_with_the_prediction():
    model = model_with(fixed=20.0, spread=3600.0, iterations=2)
    ask = {"goal": Goal(deadline_seconds=1e6), "machines": [8], "price_per_hour": 1.0}

    few, many = choose(model, **ask), choose(model, iterations=40, **ask)

    assert few.likely_seconds[1] < 1000 < many.likely_seconds[0] < 9020 < many.likely_seconds[1]


@pytest.mark.parametrize("method", METHODS)
def test_a_decision_may_stand_on_any_method(method):
    model = model_with(fixed=10.0, spread=3600.0, per_machine=0.05, method=method)

    decision = choose(
        model, goal=Goal(deadline_seconds=700.0), machines=[2, 3, 4, 6, 8, 12], price_per_hour=1.0
    )

    assert decision.config.machines == 6
    assert decision.predicted_seconds == pytest.approx(610.3, rel=0.05)


@pytest.mark.parametrize(
    "goal",
    [
        {},
        {"deadline_seconds": 1.0, "budget_dollars": 1.0},
        {"deadline_seconds": 0.0},
        {"deadline_seconds": math.nan},
        {"budget_dollars": -1.0},
        {"budget_dollars": math.inf},
    ],
)
def test_what_is_no_goal(goal):
    with pytest.raises(InvalidParameterError, match=r"deadline_seconds|budget_dollars"):
        Goal(**goal)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"price_per_hour": 0.0}, "price_per_hour=0.0"),
        ({"price_per_hour": math.nan}, "price_per_hour=nan"),
        ({"price_per_hour": None}, "price_per_hour=None"),
        ({"machines": []}, r"machines=\[\] is empty"),
        ({"machines": [4, 0]}, r"machines\[1\]=0"),
        ({"scale": -1.0}, "scale"),
        ({"billing_increment_seconds": 0.0}, "billing_increment_seconds=0.0"),
        ({"minimum_billed_seconds": -1.0}, "minimum_billed_seconds=-1.0"),
    ],
)
def test_parameters_that_cannot_be_are_named(change, named):
    usual = {"goal": Goal(deadline_seconds=60.0), "machines": [1, 2], "price_per_hour": 1.0}

    with pytest.raises(InvalidParameterError, match=named):
        choose(model_with(spread=10.0), **{**usual, **change})
