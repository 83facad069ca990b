"""Goals: what is one, how it reads, what it allows a run, and what no alternative beats."""

import math
from dataclasses import replace

import pytest

from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.documents.decisions import Alternative
from airflow_provider_ernest.settings import Billing
from tests.examples import sizing_goal


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        ({"deadline_seconds": 3600}, "best value within 1 h in 80 % of runs"),
        ({"budget_dollars": 2.5, "confidence": 0.95}, "best value within $2.50 in 95 % of runs"),
        (
            {"deadline_seconds": 60, "budget_dollars": 2, "objective": "fastest"},
            "fastest within 60 s and $2.00 in 80 % of runs",
        ),
        (
            {"deadline_seconds": 0.1 + 0.2, "confidence": 0.9999999},
            "best value within 0.3 s in 99.99999 % of runs",
        ),
        ({"deadline_seconds": 60, "objective": "cheapest"}, "cheapest within 60 s in 80 % of runs"),
        ({"objective": "balanced"}, "balanced"),
    ],
)
def test_a_goal_reads_as_a_sentence(goal, words):
    assert Goal(sizing_goal(**goal)).in_words == words


def test_the_limit_is_the_tighter_of_deadline_and_budget_less_the_boot():
    billing = Billing(price_per_hour=3600.0, boot_seconds=100.0)
    goal = Goal(sizing_goal(deadline_seconds=700.0, budget_dollars=4000.0, objective="fastest"))

    assert goal.limit_seconds(billing, executors=2) == pytest.approx(600.0)
    assert goal.limit_seconds(billing, executors=8) == pytest.approx(400.0)
    assert goal.limit_seconds(billing, executors=80) == 0.0
    assert Goal(sizing_goal(objective="fastest")).limit_seconds(billing, executors=2) == math.inf


@pytest.mark.parametrize(
    ("goal", "order"),
    [
        ({"deadline_seconds": 1.0}, [1, 2, 4]),
        ({"budget_dollars": 1.0}, [4, 2, 1]),
        ({"objective": "best_value"}, [1, 2, 4]),
        ({"objective": "fastest"}, [4, 2, 1]),
        ({"objective": "balanced"}, [2, 1, 4]),
    ],
)
def test_what_is_preferred(goal, order):
    alternatives = [
        Alternative(executors=executors, seconds=seconds, cost=cost, **EACH)
        for executors, seconds, cost in ((1, 100.0, 1.0), (2, 60.0, 1.2), (4, 50.0, 2.5))
    ]

    best = Goal(sizing_goal(**goal)).preference
    assert [one.executors for one in sorted(alternatives, key=best)] == order


EACH = {"instance_type": "m5.large", "feasible": True}
JUST_SURE = Alternative(executors=8, cost=1.0, seconds=100.0, probability=0.82, **EACH)
NEARLY_CERTAIN = Alternative(executors=9, cost=1.01, seconds=99.0, probability=0.97, **EACH)
CERTAIN = Alternative(executors=12, cost=1.11, seconds=90.0, probability=0.98, **EACH)


@pytest.mark.parametrize(
    ("objective", "order"),
    [
        (None, [NEARLY_CERTAIN, CERTAIN, JUST_SURE]),
        ("best_value", [NEARLY_CERTAIN, CERTAIN, JUST_SURE]),
        ("cheapest", [JUST_SURE, NEARLY_CERTAIN, CERTAIN]),
        ("fastest", [CERTAIN, NEARLY_CERTAIN, JUST_SURE]),
        ("balanced", [CERTAIN, NEARLY_CERTAIN, JUST_SURE]),
    ],
)
def test_only_the_best_value_counts_per_run_that_keeps_the_deadline(objective, order):
    """A cent more for fifteen points of certainty is good value; a tenth more for one point is none."""
    goal = sizing_goal(deadline_seconds=110.0, objective=objective)
    assert sorted([CERTAIN, JUST_SURE, NEARLY_CERTAIN], key=Goal(goal).preference) == order


def test_within_a_budget_the_best_value_counts_time_per_run_that_keeps_it():
    """Of two that are sure enough the faster one is left where it is much less sure, and barely faster."""
    barely_faster = Alternative(executors=10, cost=1.2, seconds=98.0, probability=0.81, **EACH)
    ordered = sorted(
        [JUST_SURE, barely_faster, NEARLY_CERTAIN], key=Goal(sizing_goal(budget_dollars=1.3)).preference
    )
    assert ordered == [NEARLY_CERTAIN, barely_faster, JUST_SURE]


def test_of_the_cheapest_the_faster_one_then_that_with_fewer_machines():
    more, fewer = (replace(JUST_SURE, executors=count) for count in (16, 8))
    faster = replace(JUST_SURE, seconds=50.0, executors=32)
    goal = sizing_goal(deadline_seconds=110.0, objective="cheapest")
    assert sorted([more, fewer, faster], key=Goal(goal).preference) == [faster, fewer, more]
