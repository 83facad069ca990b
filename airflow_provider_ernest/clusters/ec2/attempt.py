"""Whose machines a launch makes: several attempts, of several tasks, can launch into one cluster."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from airflow_provider_ernest.clusters.ec2.identity import (
    CLUSTER_TAG,
    DEPLOYMENT_TAG,
    TRY_TAG,
    ClusterIdentity,
    deployment_of,
)

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.instances import Instance
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Who launches into which cluster.

    Attributes:
        identity: the task instance that launches.
        cluster_name: value of the machines' cluster tag.
        number: value of their tag `identity.TRY_TAG`, by which late kills spare a later attempt's machines.
    """

    identity: ClusterIdentity
    cluster_name: str
    number: str

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
        """The tags of a machine that it launches; see `ClusterIdentity.tags`."""
        tags = self.identity.tags(role=role, expires_at=expires_at, specification=specification)
        return {
            **tags,
            "Name": f"{self.cluster_name} {role}",
            CLUSTER_TAG: self.cluster_name,
            DEPLOYMENT_TAG: deployment_of(self.cluster_name),
            TRY_TAG: self.number,
        }


def specification_digest(spec: EC2ClusterSpec) -> str:
    """What tells whether the machines of an earlier attempt are those that are wanted now."""
    return hashlib.sha256(json.dumps(spec.to_dict(), sort_keys=True).encode()).hexdigest()[:32]
