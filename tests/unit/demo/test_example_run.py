import json
from types import SimpleNamespace

import pytest

from airflow_provider_ernest.operators.locations import path_name
from benchmarks.demo.api import AirflowApiError, TaskInstance
from benchmarks.demo.example_run import PRODUCTION_TASK, ExampleRun

RUN_ID = "manual__2026-01-01T00:00:00+00:00"


@pytest.fixture
def finished(outcome):
    """Makes a run whose decision has this Spark configuration, and whose production was tried twice."""

    def make(spark_conf):
        documents = {
            ("ernest.design", "design"): outcome.design.to_dict(),
            ("ernest.fit_model", "return_value"): outcome.model.to_dict(),
            ("ernest.bottleneck_report", "return_value"): outcome.bottlenecks.to_dict(),
            ("ernest.choose_config", "return_value"): outcome.decision.to_dict(),
            ("ernest.choose_config", "spark_conf"): spark_conf,
        }
        production = TaskInstance(
            task_id=PRODUCTION_TASK,
            map_index=-1,
            name="",
            state="success",
            try_number=2,
            start=None,
            end=None,
            duration_seconds=12.5,
        )
        api = SimpleNamespace(xcom=lambda dag_id, run_id, task_id, key: documents[task_id, key])
        return ExampleRun(api=api, dag_id="example", run_id=RUN_ID, tasks=(production,), succeeded=True)

    return make


def write_event_log(folder, application_id):
    folder.mkdir(parents=True)
    start = {"Event": "SparkListenerApplicationStart", "App ID": application_id, "App Name": "job"}
    event = json.dumps({**start, "Timestamp": 0, "User": "somebody"}, separators=(",", ":"))
    (folder / application_id).write_text(event + "\n")


def test_a_stock_operator_logs_where_the_decision_says(finished, outcome, tmp_path):
    write_event_log(tmp_path / "told", "app-1")

    found = finished({"spark.eventLog.dir": str(tmp_path / "told")}).outcome(tmp_path)

    assert found.production.application_id == "app-1"
    assert found.production_task_seconds == 12.5
    assert found.decision == outcome.decision
    assert found.bottlenecks == outcome.bottlenecks


def test_ernests_operator_logs_in_a_folder_of_its_attempt(finished, tmp_path):
    logs = tmp_path / "ernest" / "event_logs" / "example" / path_name(RUN_ID)
    for attempt in (1, 2):
        write_event_log(logs / f"{PRODUCTION_TASK}-try{attempt}", f"app-{attempt}")

    assert finished({}).outcome(tmp_path).production.application_id == "app-2"


def test_a_production_run_without_a_log_is_told(finished, tmp_path):
    with pytest.raises(AirflowApiError, match=r"no event log"):
        finished({}).outcome(tmp_path)
