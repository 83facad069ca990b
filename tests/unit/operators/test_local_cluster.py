from __future__ import annotations

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.local import LocalCluster
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.operators.cluster import LocalClusterOperator


def test_attempts_share_the_clusters_directory_and_mapped_tasks_do_not(context, ti, monkeypatch):
    started: list[LocalCluster] = []

    def start(self: LocalCluster):
        started.append(self)
        return ClusterHandle(kind="local", name=self.name, master_url="spark://127.0.0.1:1", machines=())

    monkeypatch.setattr(LocalCluster, "start", start)
    for ti.map_index, ti.try_number in [(0, 1), (0, 2), (1, 1), (-1, 1)]:
        LocalClusterOperator(task_id="create", spec=LocalClusterSpec(machines=1)).execute(context)

    directories = [cluster.directory for cluster in started]
    assert directories[0] == directories[1]
    assert len(set(directories)) == 3
    assert len({cluster.name for cluster in started}) == 3
    assert ti.pushed["properties_file"] == str(directories[-1] / "client.conf")
