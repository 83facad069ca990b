"""The operator that looks up a cluster; tests/integration runs jobs on one."""

from __future__ import annotations

import json

import pytest
from airflow.providers.apache.spark.hooks import spark_submit
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.cluster import TerminateClusterOperator
from airflow_provider_ernest.operators.existing_cluster import ExistingClusterOperator

DECLARED = {"machines": "3", "cores_per_machine": "4", "memory_megabytes_per_machine": "8000"}


def connection(monkeypatch, **fields) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_THERE", json.dumps({"conn_type": "spark", **fields}))


def look_up(context, **changes) -> ClusterHandle:
    spec = {"spark_conn_id": "spark_there", **DECLARED, **changes}
    operator = ExistingClusterOperator(task_id="cluster", spec=spec)
    return ClusterHandle.from_dict(operator.execute(context))


@pytest.mark.parametrize(
    ("fields", "master_url"),
    [
        ({"host": "yarn"}, "yarn"),
        ({"host": "k8s://https://10.0.0.9", "port": 6443}, "k8s://https://10.0.0.9:6443"),
    ],
)
def test_the_master_is_the_one_that_the_stock_operator_would_take(context, monkeypatch, fields, master_url):
    # Stands for the provider's optional import, which Kubernetes needs.
    monkeypatch.setattr(spark_submit, "kube_client", object(), raising=False)
    connection(monkeypatch, **fields)
    handle = look_up(context, instance_type="None", price_per_hour="0.5", python="")

    assert handle.master_url == master_url
    assert handle.instance_type == "spark_there"
    assert handle.python is None
    assert len(handle.machines) == 3
    assert handle.price_per_hour == pytest.approx(0.5)


def test_teardown_leaves_it_alone_and_says_so(context, monkeypatch, capsys):
    connection(monkeypatch, host="yarn")
    handle = look_up(context)
    TerminateClusterOperator(task_id="end", cluster=handle.to_dict()).execute(context)
    assert "it was there before (yarn) and stays" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"conn_type": "http", "host": "h"}, r"'spark_there' is a connection of type 'http'.*must be spark"),
        ({"host": "local[2]"}, r"points at 'local\[2\]', which is not a cluster"),
        (
            {"host": "yarn", "extra": {"deploy-mode": "cluster"}},
            r"deploy_mode='cluster' puts the driver on the cluster.*State event_log_uri",
        ),
        (
            {"host": "spark://m", "port": 7077, "extra": {"deploy-mode": "cluster"}},
            r"deploy_mode='cluster' puts the driver where its run can neither be observed nor ended",
        ),
    ],
)
def test_a_connection_that_cannot_work_is_not_retried(context, monkeypatch, fields, named):
    connection(monkeypatch, **fields)
    with pytest.raises(AirflowFailException, match=named):
        look_up(context)


def test_drivers_on_the_cluster_need_a_folder_for_their_event_logs(context, monkeypatch):
    extra = {"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": "http://rm:8088"}
    connection(monkeypatch, host="yarn", extra=extra)
    assert look_up(context, event_log_uri="hdfs://n/spark-logs").directory == "hdfs://n/spark-logs"
    with pytest.raises(InvalidParameterError, match=r"event_log_uri='logs' is neither an address nor"):
        look_up(context, event_log_uri="logs")


def test_a_missing_connection_is_named(context):
    with pytest.raises(AirflowFailException, match=r"no Airflow connection 'spark_there'.*YARN"):
        look_up(context)


@pytest.mark.skipif(hasattr(spark_submit, "kube_client"), reason="what Kubernetes needs is installed")
def test_what_kubernetes_needs_is_named(context, monkeypatch):
    connection(monkeypatch, host="k8s://https://10.0.0.9", port=6443)
    with pytest.raises(AirflowFailException, match=r"pip install apache-airflow-providers-cncf-kubernetes"):
        look_up(context)


def test_undeclared_machines_are_named(context, monkeypatch):
    connection(monkeypatch, host="yarn")
    with pytest.raises(AirflowFailException, match=r"executors=None leaves open"):
        look_up(context, machines="None")
