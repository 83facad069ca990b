import socket
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_ernest.clusters.ec2 import ending
from airflow_provider_ernest.clusters.ec2.ending import (
    TaggedCluster,
    cluster_table,
    reap,
    reap_regions,
)
from airflow_provider_ernest.clusters.ec2.identity import ROLE_TAG
from airflow_provider_ernest.clusters.ec2.spec import MAX_TIME_TO_LIVE_SECONDS
from airflow_provider_ernest.exceptions import ClusterError
from airflow_provider_ernest.processes import runtime_folder


@pytest.fixture
def clusters(bed):
    """Two clusters of different tasks; their names."""
    names = []
    for task_id in ("one", "two"):
        cluster = bed.launched(identity=bed.identity(task_id=task_id))
        names.append(cluster.name)
    return names


def of(bed, name):
    return {machine.instance_id for machine in bed.api.live_instances(cluster=name)}


def test_each_cluster_is_a_line():
    told_at = datetime(2026, 1, 1, 12, tzinfo=UTC)
    cluster = TaggedCluster(
        name="ernest-1",
        deployment="ours",
        dag_id="s",
        run_id="m",
        task_id="",
        states={"stopped": 1, "running": 2},
        instance_ids=("i-0", "i-1", "i-2"),
        overdue=(),
        unreadable=(),
        earliest_expiry=(told_at + timedelta(minutes=119)).isoformat(),
        launched_at=(told_at - timedelta(hours=2)).isoformat(),
        told_at=told_at.isoformat(),
        instance_types=("m5.large", "m5.xl"),
    )
    over = (told_at - timedelta(minutes=5)).isoformat()
    found = {
        "us-east-1": [cluster, replace(cluster, name="ernest-22", earliest_expiry=over, instance_types=())],
        "eu-west-1": [replace(cluster, states={}, earliest_expiry=None, instance_types=("m5.large",))],
    }
    lines = [
        "cluster    region     machines              type            age  expires                 owner",
        "ernest-1   us-east-1  2 running, 1 stopped  m5.large m5.xl  2 h  in 1 h 59 min           s – m",
        "ernest-22  us-east-1  2 running, 1 stopped  –               2 h  5 min ago               s – m",
        "ernest-1   eu-west-1  0 running             m5.large        2 h  its tag cannot be read  s – m",
    ]
    assert cluster_table(found) == lines


def test_each_machine_counts_for_itself(bed, clusters):
    overdue, *others = sorted(of(bed, clusters[0]))
    bed.api.expire(overdue)
    reap(bed.client(), deployment="ours")
    assert of(bed, clusters[0]) == set(others)


@pytest.mark.parametrize("value", ["", "soon", "2026-13-01"])
def test_an_unreadable_expiry_is_reported_and_ended_after_the_longest_time_to_live(
    bed, clusters, value, caplog, monkeypatch
):
    spoilt = sorted(of(bed, clusters[0]))[0]
    bed.client().create_tags(Resources=[spoilt], Tags=[{"Key": "ernest:expires-at", "Value": value}])
    assert reap(bed.client(), deployment="ours") == []
    assert spoilt in caplog.text
    longest = timedelta(seconds=MAX_TIME_TO_LIVE_SECONDS)
    assert longest == ending.UNREADABLE_LIMIT, "before, its cluster may still be in use"
    monkeypatch.setattr(ending, "UNREADABLE_LIMIT", timedelta(seconds=-60))
    (reaped,) = reap(bed.client(), deployment="ours")
    assert reaped.overdue == reaped.unreadable == (spoilt,)
    assert len(bed.live()) == 9


def test_machines_of_job_flows_are_left_to_emr(bed, clusters):
    # EMR hands the tags of a job flow on to its machines, and would replace those that are ended one by one.
    ids = of(bed, clusters[0])
    bed.client().create_tags(Resources=list(ids), Tags=[{"Key": ROLE_TAG, "Value": "emr"}])
    bed.api.expire(*ids)
    assert reap(bed.client(), deployment="ours") == []
    assert of(bed, clusters[0]) == ids


@pytest.fixture
def _wrong_clock(monkeypatch, request):
    """A host whose clock goes wrong by some hours; AWS's is right."""

    class Wrong(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(hours=request.param)

    for module in ("aws_errors", "cluster", "ending"):
        monkeypatch.setattr(f"airflow_provider_ernest.clusters.ec2.{module}.datetime", Wrong, raising=False)


@pytest.mark.parametrize("_wrong_clock", [-3, 3], indirect=True)
@pytest.mark.usefixtures("_wrong_clock")
def test_it_is_the_clock_of_aws_that_counts(bed):
    """A host that is ahead would end living clusters, and one behind tag them as over before their time."""
    bed.launched()
    assert reap(bed.client(), deployment="ours", grace_seconds=0) == []
    assert len(bed.live()) == 5
    left = {datetime.fromisoformat(m.tags["ernest:expires-at"]) - datetime.now(UTC) for m in bed.live()}
    assert all(abs(life - timedelta(seconds=7200)) < timedelta(seconds=120) for life in left)


def test_the_machines_of_other_deployments_are_left_alone(bed, clusters):
    """Though DAG, run and task bear the same names there."""
    bed.launched(identity=replace(bed.identity(task_id="one"), deployment="theirs"))
    bed.api.expire(*bed.live_ids())
    assert len(reap(bed.client(), deployment="ours")) == 2
    assert {machine.tags["ernest:deployment"] for machine in bed.live()} == {"theirs"}
    assert len(reap(bed.client(), deployment=None)) == 1
    assert not bed.live()


@pytest.mark.parametrize("raised", [ValueError("bad endpoint"), RuntimeError("an error of Airflow")])
def test_a_client_that_cannot_be_made_does_not_protect_other_regions(bed, clusters, raised):
    bed.api.expire(*bed.live_ids())

    def broken(_):
        raise raised

    report = reap_regions(
        {"eu-west-1": broken, "us-east-1": bed.client}, deployment="ours", grace_seconds=300, dry_run=False
    )

    assert not bed.live()
    assert report.lines()[0] == "Ended 10 overdue machines on EC2 in us-east-1."
    assert str(raised) in report.summary()["failures"]["eu-west-1"]
    with pytest.raises(ClusterError, match=rf"eu-west-1.*{raised}"):
        report.raise_failures()


@pytest.mark.parametrize("dry_run", [True, False])
def test_secrets_that_killed_tasks_have_left_on_this_host_go(tmp_path, monkeypatch, dry_run):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    # No process has so high an id.
    left_over = runtime_folder() / f"{socket.gethostname()}.{2**31 - 1}.1700000000000.abc"
    left_over.mkdir()
    reap_regions({}, deployment=None, grace_seconds=0, dry_run=dry_run)
    assert left_over.exists() == dry_run
