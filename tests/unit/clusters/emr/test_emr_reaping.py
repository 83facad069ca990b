"""Job flows that nobody has ended are found by their tags, and ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_ernest.clusters.emr.cluster import EmrCluster
from airflow_provider_ernest.clusters.emr.reaping import find_job_flows, reap_job_flows
from airflow_provider_ernest.exceptions import ClusterError

from .conftest import identity, specification, states, throttled


@pytest.fixture
def handles(clients):
    """Two job flows that live for one and for three hours."""
    return [
        EmrCluster.to_start(
            specification(time_to_live_seconds=hours * 3600),
            identity=identity(task_id=f"lives for {hours}"),
            client=clients,
            poll_seconds=0.0,
        ).start()
        for hours in (1, 3)
    ]


def in_hours(hours: float) -> datetime:
    return datetime.now(UTC) + timedelta(hours=hours)


def test_what_is_alive_is_found_with_its_owner(emr, handles):
    found = find_job_flows(emr, now=in_hours(2))

    assert {one.id: one.expired for one in found} == {handles[0].name: True, handles[1].name: False}
    assert {one.tags["ernest:task"] for one in found} == {"lives for 1", "lives for 3"}
    assert found[0].state == "WAITING"


def test_only_what_has_expired_is_ended(emr, handles):
    assert [one.id for one in reap_job_flows(emr, now=in_hours(2), dry_run=True)] == [handles[0].name]
    assert states(emr) == ["WAITING", "WAITING"]

    assert [one.id for one in reap_job_flows(emr, now=in_hours(2), dry_run=False)] == [handles[0].name]
    assert states(emr) == ["TERMINATED", "WAITING"]
    assert reap_job_flows(emr, now=in_hours(2), dry_run=False) == ()


def test_a_foreign_job_flow_is_never_touched(emr, handles):
    """Not even one that has a name like ours, or a tag that is no time."""
    request = emr.called("run_job_flow")[0]
    emr.run_job_flow(**{**request, "Name": "ernest-of-someone-else", "Tags": []})
    timeless = [{"Key": "ernest:cluster", "Value": "x"}, {"Key": "ernest:expires-at", "Value": "soon"}]
    emr.run_job_flow(**{**request, "Name": "ernest-x", "Tags": timeless})

    reaped = reap_job_flows(emr, now=in_hours(9), dry_run=False)

    assert {one.id for one in reaped} == {handle.name for handle in handles}
    assert states(emr) == ["TERMINATED", "TERMINATED", "WAITING", "WAITING"]


def test_many_are_found_over_all_pages_and_ended_ten_at_a_time(emr, handles):
    request = emr.called("run_job_flow")[0]
    for _ in range(58):
        emr.run_job_flow(**request)

    assert len(reap_job_flows(emr, now=in_hours(2), dry_run=False)) == 59
    assert [len(call["JobFlowIds"]) for call in emr.called("terminate_job_flows")] == [10] * 5 + [9]
    assert states(emr) == ["TERMINATED"] * 59 + ["WAITING"]


def test_a_silent_aws_is_an_error_of_ours(emr, handles):
    emr.answers["describe_cluster"] = [throttled("DescribeCluster")]
    with pytest.raises(ClusterError, match=r"look for job flows of EMR.*ThrottlingException"):
        find_job_flows(emr, now=in_hours(2))
