"""Clusters on this host and of EMR, and the end of all kinds."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import boto3
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG
from moto import mock_aws

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
from airflow_provider_ernest.clusters.emr.spec import EmrJobFlow
from airflow_provider_ernest.clusters.local import LocalCluster
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ErnestError,
    InvalidParameterError,
    MissingResourceError,
)
from airflow_provider_ernest.operators.cluster import (
    EmrJobFlowOperator,
    LocalClusterOperator,
    ReapClustersOperator,
    TerminateClusterOperator,
)
from tests import examples
from tests.unit.clusters.emr.conftest import started
from tests.unit.ec2_machines import IDENTITY, launch


def cluster(kind: str = "ec2", **changes) -> dict:
    there = {"name": IDENTITY.cluster_name, "aws_conn_id": "aws_default", "region": "us-east-1"}
    return examples.cluster(1, **{"kind": kind, **there, **changes}).to_dict()


def terminate(cluster: dict) -> TerminateClusterOperator:
    return TerminateClusterOperator(task_id="terminate", cluster=cluster)


def test_ends_all_machines_with_the_clusters_tag_and_no_others(api, context, capsys):
    launch(api, workers=3)
    launch(
        api,
        workers=1,
        identity=ClusterIdentity(deployment="ours", dag_id="other", run_id="r", task_id="create"),
    )

    terminate(json.dumps(cluster())).execute(context)

    assert {m.tags["ernest:dag"] for m in api.live_instances()} == {"other"}
    assert IDENTITY.cluster_name in capsys.readouterr().out
    terminate(cluster()).execute(context)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("UnauthorizedOperation", "AWS refused to terminate i-"),
        ("InvalidParameterValue", "'terminate i-.* was refused by AWS"),
    ],
)
def test_machines_that_live_on_are_an_error_that_every_retry_tries_again(api, context, code, told):
    launch(api, workers=1)
    # Of a request that AWS calls wrong it is asked twice.
    api.fail("TerminateInstances", code=code, status=403, times=1 if "Unauthorized" in code else 2)
    with pytest.raises(ErnestError, match=told):
        terminate(cluster()).execute(context)
    assert len(api.live_instances()) == 2

    terminate(cluster()).execute(context)
    assert not api.live_instances()


def test_it_is_tried_again_for_hours_and_comes_first_whatever_the_dag_says():
    with DAG("nightly", schedule=None, default_args={"retries": 0, "weight_rule": "upstream"}):
        ends = terminate(cluster())
        mapped = TerminateClusterOperator.partial(task_id="each").expand(cluster=[cluster(), cluster()])
        once = TerminateClusterOperator(task_id="once", cluster=cluster(), retries=1)
        each_once = TerminateClusterOperator.partial(task_id="each_once", retries=1).expand(cluster=[])

    for teardown in (ends, mapped):
        assert teardown.retries * teardown.max_retry_delay >= timedelta(hours=8)
        assert teardown.retry_delay == timedelta(seconds=15)
        assert teardown.retry_exponential_backoff in (True, 2.0)
        assert "absolute" in str(teardown.weight_rule).lower()  # before Airflow 3.2 a strategy
        assert teardown.priority_weight > 1000
    assert once.retries == each_once.retries == 1


def test_a_local_handle_with_a_foreign_directory_removes_nothing(context, tmp_path):
    foreign = tmp_path / "home" / "scratch"
    foreign.mkdir(parents=True)
    forged = cluster("local", master_url="spark://127.0.0.1:7077", directory=str(foreign.parent))

    with pytest.raises(AirflowFailException, match=r"not below .*/ernest/clusters.*unchanged"):
        terminate(forged).execute(context)
    assert foreign.exists()


@pytest.mark.parametrize("kind", ["existing", "emr"])
def test_the_end_of_a_cluster_that_is_not_ours_is_left_to_its_owner(context, kind):
    terminate(cluster(kind, spark_conn_id="lake", aws_conn_id=None, region=None)).execute(context)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (None, r"cluster=.*Pass the output"),
        ("null", r"cluster=.*Pass the output"),
        (cluster(name="ernest-*"), r"cluster='.*\*' is not .*unchanged"),
    ],
)
def test_a_cluster_that_is_none_or_forged_is_not_tried_again(context, given, named):
    with pytest.raises(AirflowFailException, match=named):
        terminate(given).execute(context)


def test_a_connection_that_is_not_there_for_the_moment_is_looked_for_again(context):
    with pytest.raises(MissingResourceError, match="no Airflow connection 'nowhere'"):
        terminate(cluster("ec2", name=IDENTITY.cluster_name, aws_conn_id="nowhere")).execute(context)


@pytest.fixture
def clusters(api) -> None:
    launch(api, workers=1)
    launch(api, workers=2, identity=replace(IDENTITY, task_id="forgotten"), expires_in=timedelta(minutes=-30))


@pytest.mark.usefixtures("clusters")
def test_ends_what_is_overdue_and_says_whose_it_was(api, context, capsys):
    summary = ReapClustersOperator(task_id="reap").execute(context)

    assert json.loads(json.dumps(summary)) == summary
    assert summary["machines"] == 3
    assert len(api.live_instances()) == 2
    assert "forgotten" in capsys.readouterr().out


@pytest.mark.usefixtures("clusters")
def test_templates_may_render_everything_as_text(api, context):
    summary = ReapClustersOperator(
        task_id="reap",
        regions="us-east-1, us-west-2",
        dry_run="True",
        grace_seconds="60",
    ).execute(context)

    assert summary["dry_run"] is True
    assert list(summary["clusters"]) == ["us-east-1", "us-west-2"]
    assert len(api.live_instances()) == 5


@pytest.mark.usefixtures("clusters")
def test_a_grace_is_kept(api, context):
    assert ReapClustersOperator(task_id="reap", grace_seconds=3600).execute(context)["machines"] == 0
    with pytest.raises(AirflowFailException, match="grace_seconds='soon'"):
        ReapClustersOperator(task_id="reap", grace_seconds="soon").execute(context)


@pytest.mark.usefixtures("clusters")
@pytest.mark.parametrize("order", ["us-east-1, eu west 1", "eu west 1, us-east-1"])
def test_a_region_that_is_none_does_not_protect_the_others(api, context, order):
    with pytest.raises(ClusterError, match=r"Overdue machines may live on.*eu west 1"):
        ReapClustersOperator(task_id="reap", regions=order).execute(context)
    assert len(api.live_instances()) == 2


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


SPEC = {
    "machines": 3,
    "instance_type": "m5.xlarge",
    "release_label": "emr-7.5.0",
    "event_log_uri": "s3://ernest-logs/spark",
}


@pytest.fixture
def job_flow_id(monkeypatch):
    """Of one that somebody has started."""
    extra = {"region_name": "eu-west-1"}
    login = {"conn_type": "aws", "login": "testing", "password": "testing", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_AWS_DATA", json.dumps(login))
    key = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    with mock_aws():
        yield started(boto3.client("emr", "eu-west-1", **key))


def operator(spec, **changes) -> EmrJobFlowOperator:
    return EmrJobFlowOperator(task_id="cluster", spec=spec, **{"aws_conn_id": "aws_data", **changes})


@pytest.mark.parametrize("kind", [dict, EmrJobFlow])
def test_it_is_found_through_its_connection(context, job_flow_id, kind):
    handle = ClusterHandle.from_dict(operator(kind(**SPEC, job_flow_id=job_flow_id)).execute(context))

    assert (handle.kind, handle.region, handle.aws_conn_id) == ("emr", "eu-west-1", "aws_data")
    assert (handle.name, len(handle.machines)) == (job_flow_id, 3)


@pytest.mark.parametrize(
    ("changes", "options", "named"),
    [
        ({"release_label": "emr-6.1.0"}, {}, r"emr-6.1.0"),
        ({}, {"aws_conn_id": "nowhere"}, r"no Airflow connection 'nowhere'"),
        (
            {"job_flow_id": None, "job_flow": {"AutoTerminationPolicy": {"IdleTimeout": 60}}},
            {},
            "names no job",
        ),
    ],
)
def test_what_cannot_work_is_not_retried(context, job_flow_id, changes, options, named):
    with pytest.raises(AirflowFailException, match=named):
        operator({**SPEC, "job_flow_id": job_flow_id, **changes}, **options).execute(context)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"machines": "many"}, r"machines='many' is not a finite number"),
        ({"market": "spot"}, r"spec='market' is unknown"),
    ],
)
def test_what_cannot_work_is_refused_with_the_dag_file_and_when_it_is_rendered(context, changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        operator({**SPEC, "job_flow_id": "j-1", **changes})
    looking = operator({**SPEC, "job_flow_id": "j-1"})
    looking.spec = {**SPEC, "job_flow_id": "j-1", **changes}
    with pytest.raises(AirflowFailException, match=named):
        looking.execute(context)


def test_a_template_is_left_for_the_task_and_checked_there(context, job_flow_id):
    looking = operator({**SPEC, "job_flow_id": "{{ params.id }}", "machines": "{{ params.machines }}"})
    looking.render_template_fields({**context, "params": {"machines": 3, "id": job_flow_id}})
    assert len(looking.execute(context)["machines"]) == 3
    with pytest.raises(AirflowFailException, match=r"machines=.* is still a template"):
        operator({**SPEC, "job_flow_id": job_flow_id, "machines": "{{ params.machines }}"}).execute(context)
