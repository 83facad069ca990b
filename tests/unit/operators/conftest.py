from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.documents import Observation, RunConditions
from airflow_provider_ernest.operators import locations
from airflow_provider_ernest.prediction.training import train
from tests.unit.operators.submissions import SECRET, Submissions

# One job whose time is known: 2 s fixed, 120 s of work that spreads, 1.5 s for each machine.
EXPERIMENTS = [(1, 0.05), (1, 0.1), (2, 0.05), (2, 0.1), (3, 0.1), (4, 0.05), (4, 0.1)]


def seconds(machines: int, scale: float) -> float:
    return 2.0 + 120.0 * scale / machines + 1.5 * machines


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
    monkeypatch.setattr(locations, "cluster_secret", lambda handle: SECRET if handle.authenticates else None)
    return made


@pytest.fixture
def observations() -> list[Observation]:
    return [
        Observation(
            index=index,
            machines=machines,
            scale=scale,
            seconds=seconds(machines, scale),
            startup_seconds=5.0,
        )
        for index, (machines, scale) in enumerate(EXPERIMENTS)
    ]


@pytest.fixture
def model(observations) -> dict[str, Any]:
    # Its terms are among the four that this method fits, so the model is exact.
    return train(
        observations, job="enrich", method="relative", conditions=RunConditions(cores_per_machine=1)
    ).to_dict()
