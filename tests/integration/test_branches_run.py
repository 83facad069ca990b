"""What Airflow makes of trainings that fail or are not needed: who runs, what ends, if production does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.airflow_homes import run_in_home

DAGS = Path(__file__).parents[1] / "failing_dags"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Runs of the DAGs of `branches` on an Airflow of their own, by DAG."""
    home = tmp_path_factory.mktemp("airflow")
    answer = home / "answer.json"
    run_in_home(home, DAGS / "branches.py", str(answer))
    ran: dict[str, Any] = json.loads(answer.read_text())
    return ran


def test_each_type_is_tried_and_ended_and_one_that_is_left_decides(runs):
    run = runs["one_is_left"]

    assert run["done"] == [
        "create broken",
        "end broken",
        "create unavailable",
        "create good",
        "end good",
        "production on 3",
    ]
    assert run["tasks"]["ernest.broken.fit_model"] == "failed"
    assert run["tasks"]["ernest.unavailable.fit_model"] == "failed"
    assert run["tasks"]["ernest.choose_config"] == "success"
    assert run["state"] == "success"


def test_where_none_is_left_production_does_not_start(runs):
    run = runs["none_is_left"]

    assert run["done"] == ["create broken", "end broken", "create unavailable"]
    assert run["tasks"]["ernest.choose_config"] == "failed"
    assert run["tasks"]["production"] == "upstream_failed"
    assert run["state"] == "failed"


def test_production_that_starts_whatever_happened_fails_without_a_size(runs):
    run = runs["eager"]

    assert run["done"] == ["create broken", "end broken"]
    assert run["tasks"]["ernest.choose_config"] == "upstream_failed"
    assert run["tasks"]["production"] == "failed"
    assert run["state"] == "failed"


def test_a_fallback_is_taken_even_where_no_cluster_came_up(runs):
    run = runs["fallen_back"]

    assert run["done"] == ["create unavailable", "production on 2"]
    assert run["tasks"]["ernest.terminate_cluster"] == "upstream_failed", "there is nothing to end"
    assert run["state"] == "success"


def test_a_type_that_never_starts_and_a_model_too_bad_lead_to_the_stated_fallback(runs):
    run = runs["inadequate"]

    assert run["done"] == ["create unavailable", "create good", "end good", "production on 1"]
    assert run["tasks"]["ernest.unavailable.create_cluster"] == "failed"
    assert run["tasks"]["ernest.good.fit_model"] == "failed"
    assert run["state"] == "success"
    (decided,) = run["decided"]
    assert decided["decision"]["config"]["executors"] == 1
    for named in ("good", "leave-one-out", "unavailable"):
        assert named in decided["decision"]["fallback_reason"]


def test_no_fallback_is_taken_where_what_comes_before_has_failed(runs):
    """Production would run without the input that was to be prepared."""
    run = runs["unprepared"]

    assert run["done"] == []
    assert run["tasks"]["ernest.choose_config"] == "failed"
    assert run["tasks"]["production"] == "upstream_failed"
    assert run["state"] == "failed"


def test_where_the_training_is_skipped_so_is_production(runs):
    run = runs["not_wanted"]

    assert run["done"] == []
    assert run["tasks"]["ernest.choose_config"] == run["tasks"]["production"] == "skipped"
    assert run["state"] == "success"


def test_a_report_that_fails_is_no_concern_of_production_nor_of_the_run(runs):
    run = runs["unreported"]

    assert run["tasks"]["ernest.bottleneck_report"] == "failed"
    assert run["done"] == ["create good", "end good", "production on 3"]
    assert run["state"] == "success"


def test_a_training_without_profiles_is_reported_as_such(runs):
    assert runs["one_is_left"]["tasks"]["ernest.broken.bottleneck_report"] == "success", "it says so, no more"


TRAINING = ("design", "create_cluster", "sample_run", "fit_model", "bottleneck_report", "terminate_cluster")


def states(run: dict[str, Any], *names: str, group: str = "ernest") -> set[str]:
    return {run["tasks"][f"{group}.{name}"] for name in names}


def test_a_stored_model_spares_the_training_and_decides_the_same(runs):
    first, run = runs["trained"], runs["reused"]

    assert first["done"] == ["create good", "end good", "production on 3"]
    assert states(first, "find_model", *TRAINING, "choose_config") == {"success"}
    assert run["done"] == ["production on 3"]
    assert states(run, *TRAINING) == {"skipped"}
    assert states(run, "find_model", "choose_config") == {"success"}
    assert run["state"] == "success"


def test_production_on_the_trainings_cluster_has_it_without_a_training_too(runs):
    run = runs["reused_on_its_cluster"]

    assert run["done"] == ["create good", "production on 3", "end good"]
    assert states(run, "design", "sample_run", "fit_model", "bottleneck_report") == {"skipped"}
    assert states(run, "create_cluster", "choose_config", "terminate_cluster") == {"success"}
    (first,), (decided,) = runs["trained"]["decided"], run["decided"]
    assert decided["model_id"] == first["model_id"]
    assert "is reused: nothing that it depends on has changed" in decided["reuse"]


def test_only_the_types_without_a_model_are_trained(runs):
    run = runs["reused_with_another"]

    assert run["done"][:2] == ["create better", "end better"]
    assert states(run, "create_cluster", "sample_run", "fit_model", group="ernest.good") == {"skipped"}
    assert run["done"][2].startswith("production on")


def test_where_all_types_have_a_model_nothing_is_designed(runs):
    run = runs["reused_by_both"]

    assert [what for what in run["done"] if not what.startswith("production")] == []
    assert states(run, "good.design", "better.design") == {"skipped"}
    assert states(run, "choose_config") == {"success"}
    assert run["state"] == "success"


def test_what_is_skipped_before_the_training_skips_production_also_where_there_is_a_model(runs):
    run = runs["reused_unless_prepared"]

    assert run["done"] == []
    assert states(run, "find_model", "choose_config") == {"skipped"}


def test_another_application_is_trained_anew(runs):
    assert runs["replaced"]["done"] == ["create good", "end good", "production on 3"]


FURTHER = ("next_runs_2", "sample_run_2", "next_runs_3", "sample_run_3")


@pytest.mark.parametrize(
    ("dag_id", "done", "further"),
    [
        ("clear_at_once", ["end", "production"], ["success", "skipped", "skipped", "skipped"]),
        ("clear_on_its_cluster", ["production", "end"], ["success", "skipped", "skipped", "skipped"]),
        ("in_two_rounds", ["run", "end", "production"], ["success", "success", "success", "skipped"]),
        (
            "second_round_fails",
            ["run", "end", "production"],
            ["success", "failed", "upstream_failed", "upstream_failed"],
        ),
        ("first_round_fails", ["end", "production"], ["upstream_failed"] * 4),
        ("killed_between_rounds", ["end", "production"], ["failed", *["upstream_failed"] * 3]),
    ],
)
def test_whatever_becomes_of_further_rounds_the_cluster_ends_after_them_and_production_runs(
    runs, dag_id, done, further
):
    run = runs[dag_id]
    shown = {"a run of the second round": "run"}

    assert [shown.get(what, what.partition(" ")[0]) for what in run["done"]] == ["create", *done]
    assert [run["tasks"][f"ernest.{name}"] for name in FURTHER] == further
    assert states(run, "choose_config", "terminate_cluster") == {"success"}
    assert states(run, "fit_model") == {"failed" if dag_id == "first_round_fails" else "success"}
    assert run["state"] == "success"
