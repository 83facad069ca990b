"""The operator of EMR, through the amazon provider's connection; moto answers."""

from __future__ import annotations

import json
from dataclasses import replace

import boto3
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from moto import mock_aws

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.emr.spec import EmrClusterSpec
from airflow_provider_ernest.exceptions import ClusterStartError, InvalidParameterError
from airflow_provider_ernest.operators.emr_cluster import EmrClusterOperator
from airflow_provider_ernest.operators.terminate_cluster import TerminateClusterOperator

SPEC = {
    "machines": 2,
    "instance_type": "m5.xlarge",
    "release_label": "emr-7.5.0",
    "log_uri": "s3://ernest-logs/emr",
    "event_log_uri": "s3://ernest-logs/spark",
}


@pytest.fixture(autouse=True)
def aws(monkeypatch):
    extra = {"region_name": "eu-west-1"}
    login = {"conn_type": "aws", "login": "testing", "password": "testing", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_AWS_DATA", json.dumps(login))
    with mock_aws():
        yield


def states() -> list[str]:
    emr = boto3.client("emr", "eu-west-1", aws_access_key_id="testing", aws_secret_access_key="testing")
    return [one["Status"]["State"] for one in emr.list_clusters()["Clusters"]]


def operator(spec=SPEC, **changes) -> EmrClusterOperator:
    return EmrClusterOperator(task_id="cluster", spec=spec, **{"aws_conn_id": "aws_data", **changes})


@pytest.mark.parametrize("spec", [{**SPEC, "machines": "2"}, EmrClusterSpec(**SPEC)])
def test_it_is_started_and_ended_through_its_connection(context, spec):
    handle = ClusterHandle.from_dict(operator(spec).execute(context))

    assert (handle.kind, handle.region, handle.aws_conn_id) == ("emr", "eu-west-1", "aws_data")
    assert len(handle.machines) == 2
    assert states() == ["WAITING"]
    TerminateClusterOperator(task_id="end", cluster=handle.to_dict()).execute(context)
    assert states() == ["TERMINATED"]


def test_a_retry_adopts(context):
    first = operator().execute(context)
    context["ti"].try_number = 2
    assert operator().execute(context)["name"] == first["name"]
    assert states() == ["WAITING"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"spec": {**SPEC, "instance_type": "m5.tiny"}}, r"m5.tiny"),
        ({"aws_conn_id": "nowhere"}, r"no Airflow connection 'nowhere'"),
    ],
)
def test_what_cannot_work_is_not_retried(context, changes, named):
    with pytest.raises(AirflowFailException, match=named):
        operator(**changes).execute(context)
    assert states() == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"machines": 0}, r"machines=0"),
        ({"machines": "many"}, r"machines='many' is not a finite number"),
        ({"market": "spot"}, r"spec='market' is unknown"),
        ({"bootstrap_actions": [{"name": "setup", "path": "/tmp/x"}]}, r"'/tmp/x' is not on S3"),
    ],
)
def test_what_cannot_work_is_refused_with_the_dag_file_and_when_it_is_rendered(context, changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        operator({**SPEC, **changes})
    starting = operator()
    starting.spec = {**SPEC, **changes}
    with pytest.raises(AirflowFailException, match=named):
        starting.execute(context)


def test_a_template_is_left_for_the_task_and_checked_there(context):
    starting = operator({**SPEC, "machines": "{{ params.machines }}", "tags": {"team": "{{ params.team }}"}})
    starting.render_template_fields({**context, "params": {"machines": 2, "team": "data"}})
    assert len(starting.execute(context)["machines"]) == 2
    with pytest.raises(AirflowFailException, match=r"machines=.* is still a template"):
        operator({**SPEC, "machines": "{{ params.machines }}"}).execute(context)


def test_a_killed_task_leaves_nothing_alive(context, monkeypatch):
    from airflow_provider_ernest.clusters.emr import cluster

    starting, describe = operator(), cluster.describe

    def killed(emr, job_flow_id):
        monkeypatch.setattr(cluster, "describe", describe)
        starting.on_kill()
        found = describe(emr, job_flow_id)
        return replace(found, description={**found.description, "Status": {"State": "STARTING"}})

    monkeypatch.setattr(cluster, "describe", killed)
    with pytest.raises(ClusterStartError, match="was ended while it started"):
        starting.execute(context)
    assert states() == ["TERMINATED"]


def test_a_kill_before_anything_was_asked_starts_nothing(context, monkeypatch):
    from airflow_provider_ernest.operators import locations

    starting, identity = operator(), locations.cluster_identity

    def killed(*args, **options):
        starting.on_kill()
        return identity(*args, **options)

    monkeypatch.setattr(locations, "cluster_identity", killed)
    with pytest.raises(ClusterStartError, match="was ended while it started"):
        starting.execute(context)
    assert states() == []
