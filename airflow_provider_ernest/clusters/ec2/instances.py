"""The machines of a cluster as AWS tells of them, found by tag and never by remembered ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import airflow_provider_ernest.documents.base as documents
from airflow_provider_ernest.clusters.ec2.aws_errors import explained, time_of
from airflow_provider_ernest.clusters.ec2.identity import (
    CLUSTER_TAG,
    DEPLOYMENT_TAG,
    EXPIRY_TAG,
    MASTER,
    ROLE_TAG,
    SPEC_TAG,
    TRY_TAG,
    WORKER,
    ClusterIdentity,
    deployment_of,
    require_deployment,
    tag_value,
)
from airflow_provider_ernest.clusters.ec2.requests import ON_DEMAND, SPOT

COMING_OR_THERE = ("pending", "running")
TO_BE_ENDED = ("pending", "running", "stopping", "stopped")
"""States of an instance that somebody must still end: a stopped one costs its volume. One that is shutting
down is ending already."""
LIVE_STATES = (*TO_BE_ENDED, "shutting-down")
"""All states of an instance but terminated."""

# The most that DescribeInstances gives at once, and that CreateTags and TerminateInstances take with ease.
PAGE_SIZE = 1000


@dataclass(frozen=True, kw_only=True)
class Instance:
    """One machine that AWS knows. Times have time zones."""

    id: str
    state: str  # "pending", "running", "stopping", "stopped", "shutting-down" or "terminated"
    role: str  # `MASTER` or `WORKER`
    private_address: str  # "" once it has ended
    instance_type: str
    market: str  # "on-demand" or "spot"
    zone: str
    launched_at: datetime
    told_at: datetime  # when AWS told all this, by AWS's own clock
    ended_because: str = ""  # AWS's words for why it left the state "running"; "" where it did not
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def cluster_name(self) -> str:
        """The cluster that it belongs to."""
        return self.tags.get(CLUSTER_TAG, "")

    @property
    def attempt(self) -> str:
        """The attempt that it belongs to."""
        return self.tags.get(TRY_TAG, "")

    @property
    def specification(self) -> str:
        """Digest of what the cluster was asked to be."""
        return self.tags.get(SPEC_TAG, "")

    @property
    def expires_at(self) -> datetime | None:
        """When it ends itself; None where its tag cannot be read."""
        return documents.time_of(self.tags.get(EXPIRY_TAG, ""))

    @property
    def usable(self) -> bool:
        """Whether it comes or is there."""
        return self.state in COMING_OR_THERE


def of_cluster(ec2: Any, cluster_name: str, *, states: Sequence[str] = LIVE_STATES) -> list[Instance]:
    """All machines that carry a cluster's tag, by launch time. By ec2:DescribeInstances.

    They are in one of these states, or for empty `states` in any, ended ones included, which AWS forgets
    after about an hour.

    Raises:
        InvalidParameterError: no cluster of this package bears such a name.
        ClusterError, MissingResourceError: AWS does not answer, or a permission is missing.
    """
    return told_of_cluster(ec2, cluster_name, states=states)[0]


def told_of_cluster(
    ec2: Any, cluster_name: str, *, states: Sequence[str] = LIVE_STATES
) -> tuple[list[Instance], datetime]:
    """The same, and when AWS told it by its own clock, also where there are none; raises as `of_cluster`."""
    deployment_of(cluster_name)
    filters = [{"Name": f"tag:{CLUSTER_TAG}", "Values": [cluster_name]}]
    found, told_at = _described(ec2, filters, states, f"describe the machines of cluster {cluster_name}")
    # Filters match patterns: only what bears the very name is touched.
    return [instance for instance in found if instance.cluster_name == cluster_name], told_at


def of_all_clusters(ec2: Any, *, deployment: str | None) -> list[Instance]:
    """All machines in the region and account that belong to clusters of this package and must be ended.

    Of one deployment, or of all for None. Those of EMR's job flows are left out: they have the tag from EMR,
    which replaces what others end. Raises as `of_cluster`.
    """
    filters = [
        {"Name": "tag-key", "Values": [CLUSTER_TAG]},
        {"Name": f"tag:{ROLE_TAG}", "Values": [MASTER, WORKER]},
    ]
    if deployment is not None:
        require_deployment(deployment)
        filters.append({"Name": f"tag:{DEPLOYMENT_TAG}", "Values": [deployment]})
    found, _ = _described(ec2, filters, TO_BE_ENDED, "describe the machines of all clusters")
    return [i for i in found if deployment in (None, i.tags.get(DEPLOYMENT_TAG))]


def parse(facts: Mapping[str, Any], *, told_at: datetime) -> Instance:
    """An instance as RunInstances and DescribeInstances give it, and when AWS gave it."""
    tags = {tag["Key"]: tag.get("Value", "") for tag in facts.get("Tags", ())}
    reason = facts.get("StateReason", {}).get("Message") or facts.get("StateTransitionReason") or ""
    state = facts["State"]["Name"]
    return Instance(
        id=facts["InstanceId"],
        state=state,
        role=tags.get(ROLE_TAG, ""),
        private_address=facts.get("PrivateIpAddress") or "",
        instance_type=facts.get("InstanceType", ""),
        market=SPOT if facts.get("InstanceLifecycle") == SPOT else ON_DEMAND,
        zone=facts.get("Placement", {}).get("AvailabilityZone", ""),
        launched_at=facts["LaunchTime"],
        told_at=told_at,
        ended_because="" if state in COMING_OR_THERE else reason,
        tags=tags,
    )


def masters(instances: Iterable[Instance]) -> list[Instance]:
    """Those that run the Spark master."""
    return [instance for instance in instances if instance.role == MASTER]


def workers(instances: Iterable[Instance]) -> list[Instance]:
    """Those that run a Spark worker."""
    return [instance for instance in instances if instance.role == WORKER]


def master_of(instances: Iterable[Instance]) -> Instance | None:
    """The machine that runs the Spark master; None where none comes or is there."""
    return next((instance for instance in masters(instances) if instance.usable), None)


def add_tags(ec2: Any, ids: Sequence[str], tags: Mapping[str, str]) -> None:
    """Set tags of machines, by ec2:CreateTags; raises as `of_cluster`."""
    pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
    for first in range(0, len(ids), PAGE_SIZE):
        with explained("tag machines"):
            ec2.create_tags(Resources=list(ids[first : first + PAGE_SIZE]), Tags=pairs)


def _described(
    ec2: Any, filters: list[dict[str, Any]], states: Sequence[str], doing: str
) -> tuple[list[Instance], datetime]:
    if states:
        filters = [*filters, {"Name": "instance-state-name", "Values": list(states)}]
    with explained(doing):
        describe = ec2.get_paginator("describe_instances")
        pages = list(describe.paginate(Filters=filters, PaginationConfig={"PageSize": PAGE_SIZE}))
        found = [
            parse(facts, told_at=time_of(page))
            for page in pages
            for reservation in page["Reservations"]
            for facts in reservation["Instances"]
        ]
    return sorted(found, key=lambda instance: (instance.launched_at, instance.id)), time_of(pages[-1])


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Who launches into which cluster: several attempts, of several tasks, can launch into one."""

    identity: ClusterIdentity
    cluster_name: str
    number: str
    """Value of the machines' tag `TRY_TAG`, by which late kills spare a later attempt's machines."""

    @classmethod
    def of_start(cls, identity: ClusterIdentity) -> Attempt:
        """An attempt to start the task instance's own cluster."""
        return cls(identity=identity, cluster_name=identity.cluster_name, number=str(identity.try_number))

    @classmethod
    def of_resize(cls, identity: ClusterIdentity, cluster_name: str) -> Attempt:
        """An attempt to add machines to a cluster that another task has started."""
        number = f"{identity.cluster_name}.{identity.try_number}"
        return cls(identity=identity, cluster_name=cluster_name, number=number)

    def made(self, instance: Instance) -> bool:
        """Whether this attempt launched a machine or took it over."""
        return instance.cluster_name == self.cluster_name and instance.attempt == self.number

    def owns(self, instance: Instance) -> bool:
        """Whether this attempt ends a machine if it fails: its own, or one of an earlier try of its task.

        What those have left was left by a kill; and where this attempt fails before it has looked for it,
        nobody else may come.
        """
        task, _, number = self.number.rpartition(".")
        other_task, _, other_number = instance.attempt.rpartition(".")
        return (
            instance.cluster_name == self.cluster_name
            and other_task == task
            and other_number.isdecimal()
            and int(other_number) <= int(number)
        )

    def tags(self, *, role: str, expires_at: datetime, specification: str) -> dict[str, str]:
        """The tags of a machine that it launches, and of its volumes; `specification` is a digest."""
        values = {
            "Name": f"{self.cluster_name} {role}",
            CLUSTER_TAG: self.cluster_name,
            DEPLOYMENT_TAG: deployment_of(self.cluster_name),
            ROLE_TAG: role,
            TRY_TAG: self.number,
            EXPIRY_TAG: expires_at.isoformat(timespec="seconds"),
            SPEC_TAG: specification,
            "ernest:dag": self.identity.dag_id,
            "ernest:run": self.identity.run_id,
            "ernest:task": self.identity.task_id,
            "ernest:map-index": str(self.identity.map_index),
        }
        return {key: tag_value(value) for key, value in values.items()}
