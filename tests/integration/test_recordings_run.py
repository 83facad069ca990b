"""What a `RecordRunOperator` behind a stock operator records in a real Airflow, and what it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.airflow_homes import run_in_home

DAGS = Path(__file__).parents[1] / "recording_dags"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Runs of the DAGs of `recordings` on an Airflow of their own, by DAG."""
    home = tmp_path_factory.mktemp("airflow")
    answer = home / "answer.json"
    run_in_home(home, DAGS / "recordings.py", str(answer))
    ran: dict[str, Any] = json.loads(answer.read_text())
    return ran


def test_without_anything_else_the_time_is_that_of_the_task(runs):
    (run,) = runs["by_duration"]["runs"]

    assert run["seconds"] >= 2.0, "it slept as long"
    assert run["run_seconds"] is None
    assert (run["executors"], run["predicted_seconds"]) == (4, 3.0)
    assert run["origin"]["task_id"] == "record_run"


def test_what_is_stated_counts(runs):
    (run,) = runs["stated"]["runs"]

    assert (run["seconds"], run["executors"]) == (123.5, 3)


@pytest.mark.parametrize("dag_id", ["mapped", "skipped", "failed", "unknown"])
def test_a_task_that_was_no_such_run_is_not_recorded_and_fails_nothing(runs, dag_id):
    assert runs[dag_id]["runs"] == []
    assert runs[dag_id]["tasks"]["record_run"] == "success"


def test_the_model_learns_from_the_run(runs):
    base, learned = runs["learned"]["models"]
    (run,) = runs["learned"]["runs"]

    assert learned["base_model_id"] == base["id"]
    assert learned["learned_from"] == [run["id"]]
    assert learned["observations"][-1]["seconds"] == 63.0
    assert learned["origin"]["task_id"] == "record_run"


def test_drift_is_marked_and_told_once(runs):
    drifted = runs["drifted"]

    assert len(drifted["runs"]) == 5
    assert len(drifted["models"]) == 2, "nothing is learned from what may be drift"
    (mark,) = drifted["marks"]
    assert mark["cause"] == "unexplained"
    assert mark["model_id"] == drifted["models"][-1]["id"]
    assert runs["told"] == ["learning: unexplained: record_run"]
