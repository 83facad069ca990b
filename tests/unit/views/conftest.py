from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.views.stored import model


@pytest.fixture(scope="session")
def trained() -> Model:
    return model()


@pytest.fixture
def store(tmp_path: Path, trained: Model) -> ModelStore:
    """Of that model."""
    store = ModelStore(tmp_path)
    store.save(trained)
    return store
