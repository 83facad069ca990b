"""Machines of a cluster in the test bed's API, without whatever launches them otherwise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow_provider_ernest.clusters.ec2.identity import MASTER, WORKER, ClusterIdentity
from airflow_provider_ernest.clusters.ec2.instances import Attempt
from tests.ec2_testbed import EC2Api

IDENTITY = ClusterIdentity(deployment="ours", dag_id="nightly", run_id="r1", task_id="ernest.create_cluster")


def launch(
    api: EC2Api,
    *,
    workers: int,
    identity: ClusterIdentity = IDENTITY,
    expires_in: timedelta = timedelta(hours=1),
) -> None:
    """A cluster's machines as a launch leaves them: tagged, one of them the master."""
    for role, count in ((MASTER, 1), (WORKER, workers)):
        expires_at = datetime.now(UTC) + expires_in
        tags = Attempt.of_start(identity).tags(role=role, expires_at=expires_at, specification="0" * 32)
        api.client("ec2").run_instances(
            ImageId=api.image_id,
            InstanceType="m5.large",
            SubnetId=api.subnet_ids[0],
            MinCount=count,
            MaxCount=count,
            TagSpecifications=[
                {
                    "ResourceType": "instance",
                    "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
                }
            ],
        )
