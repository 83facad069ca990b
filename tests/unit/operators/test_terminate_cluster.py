from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG

from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
from airflow_provider_ernest.exceptions import ClusterError, ErnestError, MissingResourceError
from airflow_provider_ernest.operators.cluster import ReapClustersOperator, TerminateClusterOperator
from tests import examples
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
