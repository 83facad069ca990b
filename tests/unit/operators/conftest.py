from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_ernest.documents.runs import Experiment, Observation, RunConditions
from airflow_provider_ernest.operators import task_context
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.prediction.training import train
from tests import examples
from tests.unit.operators.stated import sampled, spark_job
from tests.unit.operators.submissions import SECRET, Submissions, lake

# One job whose time is known: 2 s fixed, 120 s of work that spreads, 1.5 s for each machine.
EXPERIMENTS = [(1, 0.05), (1, 0.1), (2, 0.05), (2, 0.1), (3, 0.1), (4, 0.05), (4, 0.1)]


def seconds(executors: int, scale: float) -> float:
    return 2.0 + 120.0 * scale / executors + 1.5 * executors


class RecordedTaskInstance:
    """What an operator sees of its task instance, keeping what it pushes."""

    dag_id = "nightly"
    run_id = "manual__2026-01-01T00:00:00+00:00"
    task_id = "ernest.step"
    map_index = -1
    try_number = 1

    def __init__(self) -> None:
        self.pushed: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value


@pytest.fixture
def ti() -> RecordedTaskInstance:
    return RecordedTaskInstance()


@pytest.fixture
def context(ti: RecordedTaskInstance, tmp_path, monkeypatch) -> dict[str, Any]:
    """A task's context, with an Airflow home of its own for what the operators keep."""
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    return {"ti": ti}


@pytest.fixture
def submissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Submissions:
    made = Submissions(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(
        task_context, "cluster_secret", lambda handle: SECRET if handle.authenticates else None
    )
    return made


@pytest.fixture
def sample_run(tmp_path: Path, submissions, context, monkeypatch: pytest.MonkeyPatch):
    """Makes a run on two machines of a cluster that is known by a connection; it may be stated otherwise."""
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", '{"conn_type": "spark", "host": "spark://127.0.0.1:7077"}')
    folder = tmp_path / "input"
    folder.mkdir()
    for number in range(4):
        (folder / f"part-{number}").write_text("a\n")
    (tmp_path / "job.py").touch()

    def make(*, native: bool = False, **fields: Any) -> SampleRunOperator:
        stated = {
            "experiment": Experiment(index=2, executors=2, scale=0.5, partitions=2).to_dict(),
            "job": spark_job(tmp_path / "job.py"),
            "input": sampled(folder),
            "cluster": lake(),
        }
        with DAG("nightly", schedule=None, render_template_as_native_obj=native):
            return SampleRunOperator(task_id="sample_run", **{**stated, **fields})

    return make


@pytest.fixture
def observations() -> list[Observation]:
    executors, scales = zip(*EXPERIMENTS, strict=True)
    times = [seconds(count, scale) for count, scale in EXPERIMENTS]
    return examples.observe(executors=executors, scale=scales, seconds=times, startup_seconds=5.0)


@pytest.fixture
def model(observations) -> dict[str, Any]:
    # Its terms are among the four that this method fits, so the model is exact.
    return train(
        observations, job="enrich", method="relative", conditions=RunConditions(executor_cores=1)
    ).to_dict()
