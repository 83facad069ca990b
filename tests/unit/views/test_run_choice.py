"""What a run had to choose from, and whether its deadline was kept, on the pages of run and task."""

from __future__ import annotations

import pytest

from tests import examples
from tests.unit.views.dag_runs import (
    CHANCES,
    TYPE,
    alternatives,
    chosen_run,
    decision,
    example_run,
    group_of,
    production_run,
    pushing,
    record,
    refused_run,
    task_of,
)


@pytest.mark.parametrize("told", [group_of(refused_run()), task_of(refused_run(), "ernest.choose_config")])
def test_a_goal_out_of_reach_shows_the_nearest_and_what_there_was_to_choose_from(told):
    choice = told["choice"]
    assert "nothing meets the deadline of 3 min 20 s" in choice["out_of_reach"]
    assert "a deadline of 10 min 40 s (16 machines of m5.xlarge)" in choice["out_of_reach"]
    assert [row["machines"] for row in choice["rows"]] == [2, 4, 8, 16]
    assert [row["probability"] for row in choice["rows"]] == list(CHANCES.values())
    nearest = choice["rows"][-1]
    assert (nearest["roles"], nearest["is_chosen"]) == (["Nearest", "Fastest"], True)


def test_the_question_is_kept_for_the_link_to_the_model():
    question = group_of(refused_run())["choice"]["question"]
    assert question.pop("billing")["boot_seconds"] == 60.0
    assert question == {
        "scale": 1.3,
        "iterations": None,
        "deadline_seconds": 200.0,
        "budget_dollars": None,
        "objective": None,
        "confidence": 0.995,
        "min_machines": 2,
        "max_machines": 16,
    }
    assert group_of(chosen_run())["choice"]["question"]["deadline_seconds"] == 900.0


def test_the_chosen_stands_beside_the_runners_up():
    choice = task_of(chosen_run(), "ernest.choose_config")["choice"]
    assert choice["out_of_reach"] == ""
    roles = {row["machines"]: row["roles"] for row in choice["rows"]}
    assert roles[8][-1] == "Chosen" or "Chosen" in roles[8]
    assert "Fastest" in roles[16]
    assert roles[2] == []


def test_a_fallback_is_named_as_one():
    kept = record(
        decision=decision(
            alternatives=alternatives(0.995), probability=0.93, confidence=0.995, fallback_reason="Too slow."
        )
    )
    run = pushing(example_run(), "choose_config", kept.decision.to_dict())
    rows = task_of(run, "ernest.choose_config")["choice"]["rows"]
    assert {row["machines"]: row["roles"] for row in rows}[8] == ["Fallback"]


def test_of_very_many_only_those_with_a_role_are_shown():
    many = tuple(
        examples.alternative(machines, instance_type=TYPE, seconds=5000.0 / machines, cost=1.0 + machines)
        for machines in range(1, 60)
    )
    kept = record(decision=decision(alternatives=many))
    choice = task_of(
        pushing(example_run(), "choose_config", kept.decision.to_dict()), "ernest.choose_config"
    )["choice"]
    assert choice["considered"] == 59
    assert 0 < len(choice["rows"]) < 5
    assert all(row["roles"] for row in choice["rows"])


@pytest.mark.parametrize(("deadline", "kept"), [(600.0, True), (500.0, False), (None, None)])
def test_whether_production_kept_its_deadline(deadline, kept):
    run = pushing(
        chosen_run(deadline_seconds=deadline), "production", production_run().to_dict(), key="production_run"
    )
    assert group_of(run)["production"]["kept"] is kept
    assert group_of(run)["choice"]["latest_seconds"] == deadline


def test_other_tasks_show_no_choice():
    assert task_of(chosen_run(), "ernest.fit_model")["choice"] is None


def test_the_costs_of_the_steps_add_up_to_the_trainings():
    group = group_of(example_run())
    steps = [step["cost"] for step in group["steps"] if step["kind"] in ("cluster", "sample_run")]
    assert sum(steps) + group["training"]["idle_cost"] == pytest.approx(group["training"]["cost"])
    assert group["training"]["idle_cost"] > 0
