"""Compositions of several machine types, against all compositions where they can be counted."""

import numpy as np
import pytest

from airflow_provider_ernest.decision.composition import Composition, MachineType, choose_composition
from airflow_provider_ernest.exceptions import InfeasibleGoalError
from airflow_provider_ernest.prediction.optex import JobProfile

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

    chosen = choose_composition(profile, deadline_seconds=deadline, machine_types=types)

    assert chosen.predicted_cost == pytest.approx(cost[seconds <= deadline * (1 + 1e-9)].min(), rel=1e-8)
    assert chosen.predicted_seconds <= deadline * (1 + 1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_no_composition_is_faster_within_the_budget(seed):
    profile, types, generator = some_problem(seed)
    seconds, cost = everything(profile, types)
    budget = float(cost.min() * generator.uniform(1.0, 4.0))

    chosen = choose_composition(profile, budget_dollars=budget, machine_types=types)

    assert chosen.predicted_seconds == pytest.approx(seconds[cost <= budget * (1 + 1e-9)].min(), rel=1e-8)
    assert chosen.predicted_cost <= budget * (1 + 1e-8)


def test_what_is_told_of_a_composition_belongs_together():
    types = types_of([0.35, 0.6], [1.0, 2.1], [3, 40])
    profile = job()

    chosen = choose_composition(profile, deadline_seconds=200.0, machine_types=types, startup_seconds=60.0)

    prices = {each.instance_type: each.price_per_hour for each in types}
    dollars_per_hour = sum(each.machines * prices[each.instance_type] for each in chosen.configurations)
    assert chosen.predicted_seconds == pytest.approx(60.0 + chosen.phases.total_seconds)
    assert chosen.predicted_cost == pytest.approx(dollars_per_hour / HOUR * chosen.predicted_seconds)
    assert chosen.machines == sum(each.machines for each in chosen.configurations)
    assert chosen.goal == "cheapest within 3 min 20 s"
    assert Composition.from_dict(chosen.to_dict()) == chosen


def test_a_deadline_that_is_just_met():
    profile, types = job(sharing=0.0), types_of([0.35], [1.0], [7])
    deadline = 33.0 + 4000.0 / 7

    assert choose_composition(profile, deadline_seconds=deadline, machine_types=types).machines == 7


def test_an_unreachable_deadline_names_the_fastest():
    types = types_of([0.35, 0.7], [1.0, 2.0], [10, 4])

    with pytest.raises(InfeasibleGoalError, match=r"within 100 s. Fastest: 10 type0 \+ 4 type1") as caught:
        choose_composition(job(), deadline_seconds=100.0, machine_types=types)

    assert caught.value.best == pytest.approx(everything(job(), types)[0].min())
    assert "Extend the deadline" in caught.value.remedy


def test_an_unreachable_budget_names_the_cheapest():
    types = types_of([0.35, 0.6], [1.0, 2.0], [10, 4])

    with pytest.raises(InfeasibleGoalError, match=r"at most \$0\.01. Cheapest: 1 type1") as caught:
        choose_composition(job(), budget_dollars=0.01, machine_types=types)

    assert caught.value.best == pytest.approx(everything(job(), types)[1].min())
    assert "Raise the budget" in caught.value.remedy


def test_where_the_fastest_just_meets_the_deadline_it_is_the_budget_that_is_too_small():
    types = types_of([0.35], [1.0], [7])
    limits = {"deadline_seconds": 33.0 + 4000.0 / 7, "budget_dollars": 0.01}

    with pytest.raises(InfeasibleGoalError, match=r"at most \$0\.01 and ends within .*Cheapest: 7 type0"):
        choose_composition(job(sharing=0.0), **limits, objective="cheapest", machine_types=types)
