"""A cluster that somebody else has started: looked up, measured, run on, and left alone."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.documents.runs import Experiment, Observation
from airflow_provider_ernest.operators.cluster import TerminateClusterOperator
from airflow_provider_ernest.operators.existing_cluster import ExistingClusterOperator
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.settings import ConnectedCluster, SampledInput, SparkJob
from airflow_provider_ernest.spark.machines import read_state
from tests.integration.conftest import secret_of

pytestmark = pytest.mark.spark

APPLICATION = Path(__file__).parent / "jobs" / "count_lines.py"
CONF = {
    "spark.ui.enabled": "false",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@pytest.fixture
def context(tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    task = {"dag_id": "nightly", "run_id": "one", "task_id": "run", "try_number": 1, "map_index": -1}
    return {"ti": SimpleNamespace(**task)}


def test_a_standalone_cluster_is_used_through_its_connection(
    cluster, input_files, context, tmp_path, monkeypatch
):
    # Its secret is known to whoever submits, as everything that all applications need there.
    defaults = f"spark.authenticate true\nspark.authenticate.secret {secret_of(cluster)}\n"
    (tmp_path / "spark-defaults.conf").write_text(defaults)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_THERE", cluster.master_url)
    look_up = ExistingClusterOperator(
        task_id="cluster",
        spec=ConnectedCluster(
            spark_conn_id="spark_there",
            web_url=cluster.web_url,
            instance_type="of the rack",
            python=sys.executable,
        ),
    )
    handle = ClusterHandle.from_dict(look_up.execute(context))

    assert handle.master_url == cluster.master_url
    assert {machine.host for machine in handle.machines} == {machine.host for machine in cluster.machines}
    assert handle.cores_per_machine == 1

    run = SampleRunOperator(
        task_id="run",
        experiment=Experiment(index=0, executors=2, scale=0.25, partitions=6).to_dict(),
        job=SparkJob(
            name="count", application=str(APPLICATION), application_args=["{{ sample.input }}"], conf=CONF
        ),
        input=SampledInput(path=str(input_files)),
        cluster=handle.to_dict(),
    )
    observation = Observation.from_dict(run.execute(context))

    assert len(set(observation.hosts)) == 2
    assert observation.instance_type == "of the rack"
    assert observation.metrics.tasks == 6

    TerminateClusterOperator(task_id="end", cluster=handle.to_dict()).execute(context)
    assert len(read_state(cluster.web_url, timeout_seconds=5).machines) == 3, "it is not ours to end"
