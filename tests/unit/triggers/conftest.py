from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ernest.spark import artifact
from airflow_provider_ernest.store.store import ModelStore


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    """An application."""
    path = tmp_path / "jobs" / "job.jar"
    path.parent.mkdir()
    path.write_bytes(b"first")
    return path


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelStore:
    """The configured one, empty."""
    monkeypatch.setenv("AIRFLOW__ERNEST__STORE", str(tmp_path / "store"))
    return ModelStore(tmp_path / "store")


@pytest.fixture(autouse=True)
def settled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifact, "SETTLE_SECONDS", 0.0)
