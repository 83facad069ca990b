"""Whose machines they are: names, tags and launch tokens.

A cluster's name is made of the task that owns it, so that any later attempt, the teardown and the
reaper find its machines by tag alone, even if nothing but AWS remembers the launch.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.instances import Instance
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

CLUSTER_TAG = "ernest:cluster"
DEPLOYMENT_TAG = "ernest:deployment"
ROLE_TAG = "ernest:role"
TRY_TAG = "ernest:try"
EXPIRY_TAG = "ernest:expires-at"
SPEC_TAG = "ernest:specification"
MASTER = "master"
WORKER = "worker"

_MAX_TAG_VALUE = 256
_DEPLOYMENT = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,38}[A-Za-z0-9])?"
_CLUSTER_NAME = re.compile(rf"ernest-({_DEPLOYMENT})-[0-9a-f]{{20}}")
_TAG_VALUE_REFUSES = re.compile(r"[^\w\s+\-=.:/@]", re.UNICODE)


@dataclass(frozen=True, kw_only=True)
class ClusterIdentity:
    """The task instance that owns a cluster.

    Attributes:
        deployment: of Airflow, which tells its clusters from those of others in the same account and region,
            where DAG, run and task may bear the same names.
        dag_id, run_id, task_id: of the task that starts the cluster.
        map_index: of a mapped task, else -1.
        try_number: of its attempt.

    Raises:
        InvalidParameterError: `deployment` is none.
    """

    deployment: str
    dag_id: str
    run_id: str
    task_id: str
    map_index: int = -1
    try_number: int = 1

    def __post_init__(self) -> None:
        """Refuse a deployment that the names of clusters cannot hold."""
        require_deployment(self.deployment)

    @property
    def cluster_name(self) -> str:
        """The same for all attempts of a task instance, distinct for distinct ones."""
        owner = "\0".join((self.dag_id, self.run_id, self.task_id, str(self.map_index)))
        return f"ernest-{self.deployment}-{hashlib.sha256(owner.encode()).hexdigest()[:20]}"

    def token(self, *request: object) -> str:
        """An idempotency token of RunInstances: 64 characters, the same for the same request of this attempt.

        The attempt's number is part of it, since after termination a token keeps returning the dead machines.
        """
        parts = (self.cluster_name, self.try_number, *request)
        return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def require_deployment(deployment: str) -> None:
    """Refuse what cannot be the id of a deployment: it goes into names, filters and conditions of policies.

    Raises:
        InvalidParameterError: it is none.
    """
    if not re.fullmatch(_DEPLOYMENT, deployment):
        raise InvalidParameterError(
            "deployment",
            deployment,
            "is no id of a deployment",
            remedy='Write 1 to 40 letters, digits, ".", "_" and "-", such as "prod-eu", a letter or digit at '
            "each end.",
        )


def deployment_of(cluster_name: str) -> str:
    """The deployment that a cluster belongs to, by its name.

    Raises:
        InvalidParameterError: no cluster of this package bears such a name. To EC2's filters a name with
            "*" or "?" would mean the machines of all clusters.
    """
    found = _CLUSTER_NAME.fullmatch(cluster_name)
    if found is None:
        raise InvalidParameterError(
            "cluster",
            cluster_name,
            "is no name of a cluster that this package starts",
            remedy="Pass the output of the task that started the cluster unchanged.",
        )
    return found[1]


def tag_value(text: str) -> str:
    """The text with what AWS refuses in the values of tags replaced, and cut to what it allows."""
    return _TAG_VALUE_REFUSES.sub("_", text)[:_MAX_TAG_VALUE]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Who launches into which cluster: several attempts, of several tasks, can launch into one.

    Attributes:
        identity: the task instance that launches.
        cluster_name: value of the machines' cluster tag.
        number: value of their tag `TRY_TAG`, by which late kills spare a later attempt's machines.
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
        """The tags of a machine that it launches, and of its volumes.

        Args:
            role: `MASTER` or `WORKER`.
            expires_at: with time zone; when the machine ends itself.
            specification: digest of what the cluster was asked to be.
        """
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


def specification_digest(spec: EC2ClusterSpec) -> str:
    """What tells whether the machines of an earlier attempt are those that are wanted now."""
    return hashlib.sha256(json.dumps(spec.to_dict(), sort_keys=True).encode()).hexdigest()[:32]
