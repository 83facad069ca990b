import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle, Machine


@pytest.fixture
def cluster_handle(tmp_path):
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
