"""Compositions of several machine types, against all compositions where they can be counted."""

import numpy as np
import pytest

from airflow_provider_ernest.decision.composition import Composition, MachineType, choose_composition
from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.documents import Configuration
from airflow_provider_ernest.exceptions import InfeasibleGoalError, InvalidParameterError
from airflow_provider_ernest.prediction.optex import JobProfile, predict

HOUR = 3600.0


def job(*, fixed=33.0, sharing=0.1, work=4000.0):
    return JobProfile(
        initialisation_seconds=fixed,
        preparation_seconds=0.0,
        baseline_variable_sharing_seconds=sharing,
        baseline_communication_seconds=0.3 * work,
        unit_task_seconds=(0.7 * work,),
    )


def types_of(prices, speeds, most):
    return [
        MachineType(
            instance_type=f"type{index}",
            price_per_hour=float(price),
            relative_speed=float(speed),
            max_machines=int(count),
        )
        for index, (price, speed, count) in enumerate(zip(prices, speeds, most, strict=True))
    ]


def everything(profile, types):
    """Seconds and dollars of all compositions."""
    counts = np.indices([each.max_machines + 1 for each in types]).reshape(len(types), -1).T[1:]
    fixed, sharing, computation, communication = profile.coefficients
    speed = counts @ np.array([each.relative_speed for each in types])
    seconds = fixed + sharing * counts.sum(axis=1) + (computation + communication) / speed
    return seconds, seconds * (counts @ np.array([each.price_per_hour for each in types])) / HOUR


def some_problem(seed):
    """A job and types; in turn priced at random, by their speed, and nearly by their speed."""
    generator = np.random.default_rng(seed)
    count = int(generator.integers(1, 6))
    speeds = 2.0 ** np.arange(count) if seed % 3 == 1 else generator.uniform(0.5, 4, count)
    value = {
        0: generator.uniform(0.7, 1.4, count),
        1: np.ones(count),
        2: generator.uniform(0.99, 1.01, count),
    }
    most = generator.integers(1, {1: 60, 2: 30, 3: 12, 4: 7, 5: 5}[count], size=count)
    profile = job(
        fixed=float(generator.choice([0.0, 33.0])),
        sharing=float(generator.choice([0.0, 0.1, 3.0])),
        work=float(10 ** generator.uniform(1, 4)),
    )
    return profile, types_of(0.1 * speeds * value[seed % 3], speeds, most), generator


@pytest.mark.parametrize("seed", range(20))
def test_no_composition_is_cheaper_within_the_deadline(seed):
    profile, types, generator = some_problem(seed)
    seconds, cost = everything(profile, types)
    deadline = float(seconds.min() * generator.uniform(1.0, 2.5))

    chosen = choose_composition(profile, goal=Goal(deadline_seconds=deadline), machine_types=types)

    assert chosen.predicted_cost == pytest.approx(cost[seconds <= deadline * (1 + 1e-9)].min(), rel=1e-8)
    assert chosen.predicted_seconds <= deadline * (1 + 1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_no_composition_is_faster_within_the_budget(seed):
    profile, types, generator = some_problem(seed)
    seconds, cost = everything(profile, types)
    budget = float(cost.min() * generator.uniform(1.0, 4.0))

    chosen = choose_composition(profile, goal=Goal(budget_dollars=budget), machine_types=types)

    assert chosen.predicted_seconds == pytest.approx(seconds[cost <= budget * (1 + 1e-9)].min(), rel=1e-8)
    assert chosen.predicted_cost <= budget * (1 + 1e-8)


def test_what_is_told_of_a_composition_belongs_together():
    types = types_of([0.35, 0.6], [1.0, 2.1], [3, 40])
    profile = job()

    chosen = choose_composition(
        profile, goal=Goal(deadline_seconds=200.0), machine_types=types, startup_seconds=60.0
    )

    prices = {each.instance_type: each.price_per_hour for each in types}
    dollars_per_hour = sum(each.machines * prices[each.instance_type] for each in chosen.configurations)
    assert chosen.predicted_seconds == pytest.approx(60.0 + chosen.phases.total_seconds)
    assert chosen.predicted_cost == pytest.approx(dollars_per_hour / HOUR * chosen.predicted_seconds)
    assert chosen.machines == sum(each.machines for each in chosen.configurations)
    assert chosen.goal == "cheapest within 200 s"
    assert Composition.from_dict(chosen.to_dict()) == chosen


def test_with_one_type_it_is_the_papers_formula():
    """The cheapest number of machines within the deadline, of all that the closed form gives."""
    profile = job()
    counts = np.arange(1, 101)
    seconds = predict(profile, machines=counts, iterations=2, scale=0.5)
    within = seconds <= 150.0

    chosen = choose_composition(
        profile,
        goal=Goal(deadline_seconds=150.0),
        machine_types=types_of([0.35], [1.0], [100]),
        iterations=2,
        scale=0.5,
    )

    best = int(counts[within][np.argmin((counts * seconds)[within])])
    assert chosen.configurations == (Configuration(machines=best, instance_type="type0"),)
    assert chosen.predicted_seconds == pytest.approx(float(seconds[best - 1]))


def test_tighter_deadlines_take_more_machines_and_never_cost_less():
    types = types_of([0.35], [1.0], [100])
    chosen = [
        choose_composition(job(), goal=Goal(deadline_seconds=deadline), machine_types=types)
        for deadline in (1000.0, 500.0, 250.0, 150.0, 120.0, 100.0)
    ]

    machines = [each.machines for each in chosen]
    costs = [each.predicted_cost for each in chosen]
    assert machines == sorted(machines)
    assert machines[-1] > machines[0]
    assert costs == sorted(costs)


def test_tighter_deadlines_never_cost_less_with_several_types():
    types = types_of([0.35, 0.66, 1.5], [1.0, 2.0, 4.0], [30, 20, 20])

    costs = [
        choose_composition(job(), goal=Goal(deadline_seconds=deadline), machine_types=types).predicted_cost
        for deadline in (1000.0, 500.0, 250.0, 150.0, 120.0, 100.0, 80.0)
    ]

    assert costs == sorted(costs)


def test_larger_budgets_never_end_later():
    types = types_of([0.35, 0.66, 1.5], [1.0, 2.0, 4.0], [30, 20, 20])

    seconds = [
        choose_composition(job(), goal=Goal(budget_dollars=budget), machine_types=types).predicted_seconds
        for budget in (0.4, 0.45, 0.6, 1.0, 2.0)
    ]

    assert seconds == sorted(seconds, reverse=True)


def test_two_types_beat_each_alone_where_the_cheap_one_runs_out():
    types = types_of([0.1, 0.5], [1.0, 1.0], [10, 100])

    chosen = choose_composition(job(sharing=0.0), goal=Goal(deadline_seconds=300.0), machine_types=types)

    # 4,000 s of work in 267 s need 15 machines.
    assert {each.instance_type: each.machines for each in chosen.configurations} == {"type0": 10, "type1": 5}


def test_five_types_of_a_hundred_machines():
    """10^10 compositions: not dearer than any pair of types, and close to what no composition can beat."""
    speeds = np.array([1.0, 1.9, 3.7, 0.6, 2.8])
    prices = 0.1 * speeds * np.array([1.0, 0.98, 1.03, 1.01, 0.99])
    profile, types = job(work=40000.0), types_of(prices, speeds, [100] * 5)
    deadline = 250.0

    chosen = choose_composition(profile, goal=Goal(deadline_seconds=deadline), machine_types=types)

    assert chosen.predicted_seconds <= deadline * (1 + 1e-9)
    for first in range(5):
        for second in range(first + 1, 5):
            pair = [types[first], types[second]]
            seconds, cost = everything(profile, pair)
            within = seconds <= deadline
            if within.any():
                assert chosen.predicted_cost <= cost[within].min() * (1 + 1e-9)
    # Each unit of speed costs at least the cheapest price, for at least the time with the fewest machines.
    speed = np.linspace(40000.0 / (deadline - 33.0), 1000.0, 100_000)
    bound = (prices / speeds).min() * speed * (33.0 + 0.1 * speed / speeds.max() + 40000.0 / speed) / HOUR
    assert bound.min() <= chosen.predicted_cost <= 1.05 * bound.min()


def test_of_equal_costs_the_fewest_machines():
    # Twice the speed for twice the price, and nothing that counts machines.
    chosen = choose_composition(
        job(sharing=0.0),
        goal=Goal(deadline_seconds=533.0),
        machine_types=types_of([0.1, 0.2, 0.4], [1.0, 2.0, 4.0], [100, 100, 100]),
    )

    assert {each.instance_type: each.machines for each in chosen.configurations} == {"type2": 2}


def test_a_deadline_that_is_just_met():
    profile, types = job(sharing=0.0), types_of([0.35], [1.0], [7])
    deadline = 33.0 + 4000.0 / 7

    assert (
        choose_composition(profile, goal=Goal(deadline_seconds=deadline), machine_types=types).machines == 7
    )


def test_an_unreachable_deadline_names_the_fastest():
    types = types_of([0.35, 0.7], [1.0, 2.0], [10, 4])

    with pytest.raises(
        InfeasibleGoalError, match=r"within 100 s: the fastest is 10 type0 \+ 4 type1"
    ) as caught:
        choose_composition(job(), goal=Goal(deadline_seconds=100.0), machine_types=types)

    assert caught.value.best == pytest.approx(everything(job(), types)[0].min())
    assert "Extend the deadline" in caught.value.remedy


def test_an_unreachable_budget_names_the_cheapest():
    types = types_of([0.35, 0.6], [1.0, 2.0], [10, 4])

    with pytest.raises(InfeasibleGoalError, match=r"at most 0\.01 \$: the cheapest is 1 type1") as caught:
        choose_composition(job(), goal=Goal(budget_dollars=0.01), machine_types=types)

    assert caught.value.best == pytest.approx(everything(job(), types)[1].min())
    assert "Raise the budget" in caught.value.remedy


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"machine_types": []}, "machine_types.* is empty"),
        ({"machine_types": types_of([1.0], [1.0], [1]) * 2}, "names a type twice"),
        ({"iterations": 0}, "iterations=0"),
        ({"scale": -1.0}, r"scale=-1\.0"),
        ({"startup_seconds": -1.0}, r"startup_seconds=-1\.0"),
    ],
)
def test_parameters_that_cannot_be_are_named(changes, named):
    usual = {"goal": Goal(deadline_seconds=1e6), "machine_types": types_of([1.0], [1.0], [5])}

    with pytest.raises(InvalidParameterError, match=named):
        choose_composition(job(), **{**usual, **changes})


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"price_per_hour": 0.0}, "price_per_hour"),
        ({"relative_speed": -1.0}, "relative_speed"),
        ({"max_machines": 0}, "max_machines"),
    ],
)
def test_types_that_cannot_be(changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        MachineType(**{"instance_type": "m5.large", "price_per_hour": 1.0, **changes})
