"""Job flows that nobody has ended are found by their tags, and ended."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_ernest.clusters.emr.cluster import EmrCluster, find_job_flows, reap_job_flows
from airflow_provider_ernest.exceptions import ClusterError

from .conftest import identity, specification, states, throttled


@pytest.fixture
def handles(emr, clients):
    """Two job flows: one whose time is over, and one that lives for three hours."""
    found = [
        EmrCluster(
            specification(time_to_live_seconds=hours * 3600),
            identity(task_id=f"lives for {hours}"),
            client=clients,
            poll_seconds=0.0,
        ).start()
        for hours in (1, 3)
    ]
    expire(emr, found[0])
    return found


def expire(emr, handle) -> None:
    """Put the expiry that the request named an hour into the past, for its repetitions, too."""
    over = {"Key": "ernest:expires-at", "Value": (datetime.now(UTC) - timedelta(hours=1)).isoformat()}
    emr.add_tags(ResourceId=handle.name, Tags=[over])
    for request in emr.called("run_job_flow"):
        if request["Name"] == emr.describe_cluster(ClusterId=handle.name)["Cluster"]["Name"]:
            request["Tags"] = [over if tag["Key"] == over["Key"] else tag for tag in request["Tags"]]


def test_what_is_alive_is_found_with_its_owner(emr, handles):
    found = find_job_flows(emr, deployment="ours")

    assert {one.id: one.is_expired for one in found} == {handles[0].name: True, handles[1].name: False}
    assert {one.tags["ernest:task"] for one in found} == {"lives for 1", "lives for 3"}
    assert found[0].state == "WAITING"


def test_only_what_has_expired_is_ended(emr, handles):
    assert [one.id for one in reap_job_flows(emr, deployment="ours", dry_run=True)] == [handles[0].name]
    assert states(emr) == ["WAITING", "WAITING"]

    assert [one.id for one in reap_job_flows(emr, deployment="ours", dry_run=False)] == [handles[0].name]
    assert states(emr) == ["TERMINATED", "WAITING"]
    assert reap_job_flows(emr, deployment="ours", dry_run=False) == ()


def test_a_foreign_job_flow_is_never_touched(emr, handles):
    """Not even one that has a name like ours, or a tag that is no time."""
    request = emr.called("run_job_flow")[0]
    emr.run_job_flow(**{**request, "Name": "ernest-of-someone-else", "Tags": []})
    timeless = [{"Key": "ernest:cluster", "Value": "x"}, {"Key": "ernest:expires-at", "Value": "soon"}]
    emr.run_job_flow(**{**request, "Name": "ernest-x", "Tags": timeless})

    expire(emr, handles[1])
    reaped = reap_job_flows(emr, deployment="ours", dry_run=False)

    assert {one.id for one in reaped} == {handle.name for handle in handles}
    assert states(emr) == ["TERMINATED", "TERMINATED", "WAITING", "WAITING"]


def test_many_are_found_over_all_pages_and_ended_ten_at_a_time(emr, handles):
    request = emr.called("run_job_flow")[0]
    for _ in range(58):
        emr.run_job_flow(**request)

    assert len(reap_job_flows(emr, deployment="ours", dry_run=False)) == 59
    assert [len(call["JobFlowIds"]) for call in emr.called("terminate_job_flows")] == [10] * 5 + [9]
    assert states(emr) == ["TERMINATED"] * 59 + ["WAITING"]


def test_a_silent_aws_is_an_error_of_ours(emr, handles):
    emr.answers["describe_cluster"] = [throttled("DescribeCluster")]
    with pytest.raises(ClusterError, match=r"look for job flows of EMR.*ThrottlingException"):
        find_job_flows(emr, deployment="ours")


def test_the_job_flows_of_other_deployments_are_left_alone(emr, clients, handles):
    theirs = EmrCluster(
        specification(),
        replace(identity(task_id="lives for 1"), deployment="ours-too"),
        client=clients,
        poll_seconds=0.0,
    ).start()
    expire(emr, theirs)
    assert [one.id for one in reap_job_flows(emr, deployment="ours", dry_run=False)] == [handles[0].name]
    assert {one.id for one in reap_job_flows(emr, deployment=None, dry_run=False)} == {theirs.name}


@pytest.mark.parametrize("hours", [-3, 3])
def test_it_is_the_clock_of_aws_that_counts(emr, clients, monkeypatch, hours):
    class Wrong(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(hours=hours)

    monkeypatch.setattr("airflow_provider_ernest.clusters.emr.cluster.datetime", Wrong)
    handle = EmrCluster(specification(), identity(), client=clients, poll_seconds=0.0).start()
    life = datetime.fromisoformat(handle.expires_at) - datetime.now(UTC)
    assert abs(life - timedelta(seconds=7200)) < timedelta(seconds=60)
    assert reap_job_flows(emr, deployment="ours", dry_run=False) == ()
