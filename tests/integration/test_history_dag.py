"""A job sized by its past runs alone, in a real Airflow with real Sparks, from before its first run on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.eventlog.run_facts import read_run
from airflow_provider_ernest.history.observations import past_run
from tests.integration.airflow_homes import run_in_home

pytestmark = [pytest.mark.spark, pytest.mark.airflow]

DAGS = Path(__file__).parents[1] / "history_dags"
JOB = Path(__file__).parent / "jobs" / "count_lines.py"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark-events")


@pytest.fixture(scope="module")
def runs(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Three runs of the DAG, each of which finds the event logs of those before."""
    home = tmp_path_factory.mktemp("airflow")
    (home / "input").write_text("a line\n" * 10_000)
    (home / "conf").mkdir()
    (home / "conf" / "spark-defaults.conf").write_text(
        f"spark.eventLog.enabled true\nspark.eventLog.dir file://{logs}\nspark.ui.enabled false\n"
    )
    answer = home / "answer.json"
    run_in_home(
        home,
        DAGS / "sized_by_history.py",
        str(answer),
        ERNEST_TEST_LOGS=str(logs),
        ERNEST_TEST_APPLICATION=str(JOB),
        ERNEST_TEST_INPUT=str(home / "input"),
        SPARK_CONF_DIR=str(home / "conf"),
        AIRFLOW_CONN_SPARK_CLUSTER=json.dumps({"conn_type": "spark", "host": "local-cluster[2,1,1024]"}),
    )
    ran: list[dict[str, Any]] = json.loads(answer.read_text())
    return ran


def test_before_the_first_run_production_runs_as_it_did(runs):
    first = runs[0]
    assert set(first["states"].values()) == {"success"}
    assert first["decision"] is None
    assert len(first["logs"]) == 1


def test_after_it_other_sizes_are_known_by_its_replay(runs):
    second = runs[1]
    assert set(second["states"].values()) == {"success"}
    assert "Known by 1 past run on 2 machines: other sizes by replay alone." in second["decision"]["basis"]


def test_production_runs_on_what_is_decided_and_is_the_next_to_be_known(runs, logs):
    third = runs[2]
    assert set(third["states"].values()) == {"success"}
    assert "Known by 2 past runs" in third["decision"]["basis"]
    read = [past_run(read_run(str(logs / name)), event_log=name) for name in third["logs"]]
    by_start = sorted(read, key=lambda run: run.started_at)
    decided = [run["decision"]["config"]["executors"] for run in runs[1:]]
    assert [run.executors for run in by_start] == [2, *decided]
    assert {dict(run.sizes)["spark.executor.memory"] for run in by_start} == {"512m"}
