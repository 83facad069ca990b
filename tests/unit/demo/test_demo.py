"""The printed comparison of a demonstration, and the run of the example that it comes from."""

import json
from types import SimpleNamespace

import pytest

from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.eventlog.tables import EventLog, ExecutorRow
from airflow_provider_ernest.operators.task_context import path_name
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import Billing
from benchmarks.demo.api import TaskInstance
from benchmarks.demo.example_run import PRODUCTION_TASK, ExampleRun
from benchmarks.demo.report import Outcome, report_lines
from tests import examples
from tests.choices import choice_of
from tests.unit.eventlog.logs import task_table

MACHINES = (1, 1, 2, 2, 3, 4, 4)
SCALES = (0.05, 0.1, 0.05, 0.1, 0.1, 0.05, 0.1)
RUN_ID = "manual__2026-01-01T00:00:00+00:00"


def seconds(machines, scale):
    return 2.0 + 120.0 * scale / machines + 1.5 * machines


@pytest.fixture
def outcome():
    """A run on three machines that took a quarter longer than the exactly known job should."""
    times = [seconds(m, s) for m, s in zip(MACHINES, SCALES, strict=True)]
    runs = examples.observe(machines=MACHINES, scale=SCALES, seconds=times, startup_seconds=5.0)
    model = train(runs, job="enrich", method="relative")
    offer = Offer(model=model, machines=range(1, 7), billing=Billing(price_per_hour=0.35))
    executor = {"host": "127.0.1.1", "cores": 1, "added_at": 100.0}
    return Outcome(
        design=examples.design(),
        model=model,
        decision=choice_of(offer, goal=examples.sizing_goal(deadline_seconds=60)).required(),
        production=EventLog(
            application_id="app-7",
            started_at=100.0,
            ended_at=100.0 + 1.25 * seconds(3, 1.0),
            executors=tuple(
                ExecutorRow(number=port, executor_id=str(port), worker=f"127.0.1.1:{port}", **executor)
                for port in range(3)
            ),
            task_columns=task_table(),
        ),
        bottlenecks=examples.bottleneck_report(),
        production_task_seconds=2 * (seconds(3, 1.0) + 5.0),
    )


def test_prediction_is_put_against_reality_with_signed_errors(outcome):
    lines = report_lines(outcome)

    assert any("app-7 on 3 machines" in line for line in lines)
    (run,) = (line for line in lines if line.startswith("all machines there"))
    assert run.split()[6:9] == ["46.5", "58.1", "-20.0%"]
    (task,) = (line for line in lines if line.startswith("whole task"))
    assert task.split()[4:7] == ["51.5", "103.0", "-50.0%"]


def finished(outcome, spark_conf):
    """A run whose decision has this Spark configuration, and whose production was tried twice."""
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


@pytest.mark.parametrize("is_stated", [True, False])
def test_the_log_of_production_is_found_where_its_operator_writes_it(outcome, tmp_path, is_stated):
    """Where the decision says, or in the folder of its last attempt."""
    of_attempts = tmp_path / "ernest" / "event_logs" / "example" / path_name(RUN_ID)
    folder = tmp_path / "told" if is_stated else of_attempts / f"{PRODUCTION_TASK}-try2"
    folder.mkdir(parents=True)
    start = {"Event": "SparkListenerApplicationStart", "App ID": "app-1", "App Name": "job"}
    event = json.dumps({**start, "Timestamp": 0, "User": "somebody"}, separators=(",", ":"))
    (folder / "app-1").write_text(event + "\n")

    conf = {"spark.eventLog.dir": str(folder)} if is_stated else {}
    found = finished(outcome, conf).outcome(tmp_path)

    assert found.production.application_id == "app-1"
    assert found.production_task_seconds == 12.5
    assert (found.decision, found.bottlenecks) == (outcome.decision, outcome.bottlenecks)
