"""What is said of each step."""

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ernest.documents import ProductionRun
from airflow_provider_ernest.views.dag_run import RunRecord, groups_of
from airflow_provider_ernest.views.run import steps_of
from airflow_provider_ernest.views.run_documents import documents_of
from airflow_provider_ernest.web.answers import json_ready
from tests.unit.views.run_examples import NOW, decision, example_run, observation, row, rows


def steps(run: RunRecord) -> dict[tuple[str, int], dict[str, Any]]:
    """By the last part of the task's id and the map index."""
    (group,) = groups_of(run)
    told = json_ready(steps_of(group, [documents_of(run, branch) for branch in group.branches], now=NOW))
    return {(step["task_id"].rpartition(".")[2], step["map_index"]): step for step in told}


def says(run: RunRecord, task: str, map_index: int = -1) -> str:
    return steps(run)[task, map_index]["says"]


@pytest.mark.parametrize(
    ("task", "map_index", "sentence"),
    [
        ("design", -1, "4 runs of 54 candidates, efficiency 93 %."),
        ("create_cluster", -1, "4 machines of type m5.xlarge; 1 machine ended as too slow or too many."),
        ("sample_run", 1, "2 machines, 4.0 % of the input: 33 s and a start-up of 5 s."),
        ("fit_model", -1, "Error of 3.0 % (median) and 3.1 % (largest) over 4 runs."),
        ("choose_config", -1, "8 machines of type m5.xlarge: 10 min 30 s and $0.28 predicted."),
        ("production", -1, "It took 10 min; 10 min 30 s were predicted."),
        ("terminate_cluster", -1, "The cluster is ended."),
    ],
)
def test_what_came_of_it(task: str, map_index: int, sentence: str):
    assert says(example_run(), task, map_index) == sentence


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("failed", "its log says why"),
        ("upstream_failed", "a task before it failed"),
        ("skipped", "skipped"),
        ("running", "is running"),
        ("deferred", "waits"),
        ("up_for_retry", "will be tried again"),
        ("queued", "waits for a worker"),
        (None, "has not begun"),
        ("a state of the future", "has not begun"),
    ],
)
def test_what_has_not_succeeded(state: str | None, words: str):
    assert words in says(example_run(changed={"fit_model": {"state": state}}), "fit_model")


def test_how_often_it_was_tried():
    assert says(example_run(changed={"sample_run": {"try_number": 3}}), "sample_run", 0).endswith(
        "It took 3 attempts."
    )


def test_a_fallback_says_why():
    run = example_run()
    fallback = decision(predicted_seconds=None, fallback_reason="There is no model.").to_dict()
    run = replace(run, values={**run.values, ("ernest.choose_config", -1, "return_value"): fallback})
    assert (
        says(run, "choose_config")
        == "Fallback: the stated configuration, 8 machines of type m5.xlarge. There is no model."
    )


def test_a_wait_for_machines():
    run = example_run()
    waited = replace(observation(0), waited_seconds=90.0).to_dict()
    run = replace(run, values={**run.values, ("ernest.sample_run", 0, "return_value"): waited})
    assert "after 90 s of waiting for machines" in says(run, "sample_run", 0)


def test_a_cluster_of_somebody_else_is_not_ended():
    run = example_run()
    handle = {**run.values["ernest.create_cluster", -1, "return_value"], "kind": "existing"}
    run = replace(run, values={**run.values, ("ernest.create_cluster", -1, "return_value"): handle})
    assert "somebody else's" in says(run, "terminate_cluster")


def test_a_result_that_is_gone():
    assert "cannot be read here" in says(example_run(values={}), "fit_model")


def test_a_result_of_absurd_numbers():
    run = example_run()
    absurd = {**decision().to_dict(), "predicted_cost": -1.0}
    run = replace(run, values={**run.values, ("ernest.choose_config", -1, "return_value"): absurd})
    assert "cannot be told" in says(run, "choose_config")


def test_a_name_that_airflow_shows_is_shown():
    told = steps(example_run(changed={"choose_config": {"name": "ernest.choose_config"}}))
    assert told["sample_run", 1]["name"] == "2 machines, 4.00 %"
    # Without the group's id, which all of them bear.
    assert told["fit_model", -1]["name"] == "fit_model"
    assert told["choose_config", -1]["name"] == "choose_config"


def test_times_that_airflow_gives_to_what_never_ran_are_not_shown():
    run = example_run(changed={"fit_model": {"state": "upstream_failed"}})
    step = steps(run)["fit_model", -1]
    assert step["started_at"] is step["ended_at"] is step["seconds"] is None


def test_a_step_that_runs_takes_time_until_now():
    run = example_run(changed={"terminate_cluster": {"state": "running", "ended_at": None}})
    assert steps(run)["terminate_cluster", -1]["seconds"] == 90 * 60.0


def test_what_the_machines_of_a_step_cost():
    told = steps(example_run())
    # Six machines while the cluster formed; two machines for 38 s; eight for ten minutes.
    assert told["create_cluster", -1]["cost"] == pytest.approx(6 * 0.2 / 12)
    assert told["sample_run", 1]["cost"] == pytest.approx(2 * 0.2 * 38 / 3600)
    assert told["production", -1]["cost"] == pytest.approx(8 * 0.2 / 6)
    assert told["fit_model", -1]["cost"] is None


def test_a_clusters_operator_of_any_kind_is_a_cluster():
    for operator in ("LocalClusterOperator", "EmrClusterOperator", "ExistingClusterOperator"):
        tasks = tuple(
            replace(task, operator=operator) if task.operator == "EC2ClusterOperator" else task
            for task in rows()
        )
        assert steps(example_run(tasks=tasks))["create_cluster", -1]["kind"] == "cluster"


def test_a_task_of_another_provider_is_no_step():
    run = example_run(tasks=(*rows(), row("ernest.note", "BashOperator", 0, 1)))
    assert ("note", -1) not in steps(run)


def test_production_on_other_machines_than_decided_is_held_to_its_own_prediction():
    recorded = ProductionRun(
        id="1",
        at="2026-11-20T12:41:00+00:00",
        job="j",
        instance_type="m5.xlarge",
        machines=6,
        scale=1.0,
        seconds=590.0,
        predicted_seconds=900.0,
    )
    run = example_run()
    for predicted, sentence in (
        (900.0, "It took 9 min 50 s; 15 min were predicted."),
        (None, "It took 9 min 50 s."),
    ):
        pushed = replace(recorded, predicted_seconds=predicted).to_dict()
        told = replace(run, values={**run.values, ("production", -1, "production_run"): pushed})
        assert says(told, "production") == sentence
