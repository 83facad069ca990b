"""What Airflow makes of trainings that fail: who runs, what ends, and whether production starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DAGS = Path(__file__).parents[1] / "failing_dags"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Runs of the DAGs of `branches` on an Airflow of their own, by DAG."""
    home = tmp_path_factory.mktemp("airflow")
    answer = home / "answer.json"
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }
    for command in (["-m", "airflow", "db", "migrate"], [str(DAGS / "branches.py"), str(answer)]):
        ended = subprocess.run(
            [sys.executable, *command], env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
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
