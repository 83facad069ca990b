from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_ernest.clusters.ec2.identity import ROLE_TAG
from airflow_provider_ernest.clusters.ec2.reaping import find_clusters, reap
from airflow_provider_ernest.clusters.ec2.spec_checks import MAX_TIME_TO_LIVE_SECONDS
from airflow_provider_ernest.exceptions import ClusterError


@pytest.fixture
def now():
    return datetime.now(UTC)


@pytest.fixture
def clusters(bed):
    """Two clusters of different tasks; their names."""
    names = []
    for task_id in ("one", "two"):
        cluster = bed.cluster()
        attempt = type(cluster._attempt).of_start(bed.identity(task_id=task_id))
        cluster._attempt = cluster._guard.attempt = attempt
        cluster.launch()
        names.append(attempt.cluster_name)
    return names


def of(bed, name):
    return {machine.instance_id for machine in bed.api.live_instances(cluster=name)}


def test_clusters_are_told_by_their_tags(bed, clusters, now):
    found = find_clusters(bed.client(), now=now)
    assert {cluster.name for cluster in found} == set(clusters)
    (first,) = [cluster for cluster in found if cluster.name == clusters[0]]
    assert (first.dag_id, first.run_id, first.task_id) == ("sizing", "manual", "one")
    assert first.states == {"running": 5}
    assert set(first.instance_ids) == of(bed, clusters[0])
    assert first.instance_types == ("m5.large",)
    assert first.overdue == ()
    life = datetime.fromisoformat(first.earliest_expiry) - now
    assert abs(life - timedelta(seconds=7200)) < timedelta(seconds=300)
    assert first.earliest_expiry == first.latest_expiry


def test_only_what_is_overdue_is_ended(bed, clusters, now):
    bed.api.expire(*of(bed, clusters[0]))
    (reaped,) = reap(bed.client(), now=now)
    assert reaped.name == clusters[0]
    assert len(reaped.overdue) == 5
    assert not of(bed, clusters[0])
    assert len(of(bed, clusters[1])) == 5
    assert reap(bed.client(), now=now) == []


def test_each_machine_counts_for_itself(bed, clusters, now):
    overdue, *others = sorted(of(bed, clusters[0]))
    bed.api.expire(overdue)
    reap(bed.client(), now=now)
    assert of(bed, clusters[0]) == set(others)


def test_a_dry_run_only_tells(bed, clusters, now):
    bed.api.expire(*of(bed, clusters[0]))
    (told,) = reap(bed.client(), now=now, dry_run=True)
    assert set(told.overdue) == of(bed, clusters[0])
    assert len(bed.live()) == 10


def test_machines_get_the_grace_to_end_themselves(bed, clusters, now):
    expiries = [c.latest_expiry for c in find_clusters(bed.client(), now=now)]
    just_expired = datetime.fromisoformat(max(expiries)) + timedelta(seconds=60)
    assert reap(bed.client(), now=just_expired, grace_seconds=600) == []
    assert len(reap(bed.client(), now=just_expired, grace_seconds=0)) == 2
    assert not bed.live()


@pytest.mark.parametrize("value", ["", "soon", "2026-13-01"])
def test_an_unreadable_expiry_is_reported_and_ended_after_the_longest_time_to_live(
    bed, clusters, value, caplog, now
):
    spoilt = sorted(of(bed, clusters[0]))[0]
    bed.client().create_tags(Resources=[spoilt], Tags=[{"Key": "ernest:expires-at", "Value": value}])
    assert reap(bed.client(), now=now) == []
    assert spoilt in caplog.text
    longest = timedelta(seconds=MAX_TIME_TO_LIVE_SECONDS)
    before, later = now + longest - timedelta(hours=1), now + longest + timedelta(hours=1)
    assert reap(bed.client(), now=before, grace_seconds=1e7) == [], "its cluster may still be in use"
    (reaped,) = [c for c in reap(bed.client(), now=later, grace_seconds=1e7) if c.name == clusters[0]]
    assert reaped.overdue == reaped.unreadable == (spoilt,)
    assert len(bed.live()) == 9


def test_machines_of_others_are_not_seen(bed, now):
    bed.client().run_instances(ImageId=bed.api.image_id, InstanceType="m5.large", MinCount=1, MaxCount=1)
    assert find_clusters(bed.client(), now=now) == []


def test_machines_of_job_flows_are_left_to_emr(bed, clusters, now):
    # EMR hands the tags of a job flow on to its machines, and would replace those that are ended one by one.
    ids = of(bed, clusters[0])
    bed.client().create_tags(Resources=list(ids), Tags=[{"Key": ROLE_TAG, "Value": "emr"}])
    bed.api.expire(*ids)
    assert reap(bed.client(), now=now) == []
    assert of(bed, clusters[0]) == ids


def test_an_error_of_aws_is_one_of_ours(bed, now):
    bed.api.fail("DescribeInstances", code="RequestLimitExceeded", status=503)
    with pytest.raises(ClusterError):
        reap(bed.client(), now=now)
