from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from moto import mock_aws

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.spark.machines import Machine
from tests.unit.spark_masters import Page, served_page


@pytest.fixture
def cluster_handle(tmp_path: Path) -> ClusterHandle:
    return ClusterHandle(
        kind="local",
        name="a cluster",
        master_url="spark://127.0.0.1:1",
        web_url="http://127.0.0.1:2",
        machines=tuple(
            Machine(worker_id=f"w{i}", host=f"127.0.1.{i}", cores=1, memory_megabytes=512) for i in (1, 2)
        ),
        expires_at="2026-01-01T00:00:00+00:00",
        directory=str(tmp_path / "cluster"),
    )


@pytest.fixture
def page() -> Iterator[Page]:
    """A standalone master's page."""
    with served_page() as page:
        yield page


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An account that moto keeps."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        yield
