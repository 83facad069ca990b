from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ernest.store.store import ModelStore


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    """An application."""
    path = tmp_path / "jobs" / "job.jar"
    path.parent.mkdir()
    path.write_bytes(b"first")
    return path


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "store")
