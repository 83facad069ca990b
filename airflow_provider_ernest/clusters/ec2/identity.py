"""Whose machines they are: names, tags and launch tokens.

A cluster's name is made of the task that owns it, so that any later attempt, the teardown and the
reaper find its machines by tag alone, even if nothing but AWS remembers the launch.
"""

from __future__ import annotations

import hashlib
import json
import re

from airflow_provider_ernest.documents.base import Document, Origin
from airflow_provider_ernest.exceptions import InvalidParameterError

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


class ClusterIdentity(Origin):
    """The task instance that owns a cluster.

    Raises:
        InvalidParameterError: `deployment` cannot be an id.
    """

    deployment: str
    """Of Airflow: tells its clusters from those of others in the same account and region, where DAG, run and
    task may bear the same names."""

    def __post_init__(self) -> None:
        """Refuse a deployment that the names of clusters cannot hold."""
        require_deployment(self.deployment)

    @property
    def cluster_name(self) -> str:
        """The same for all attempts of a task instance, distinct for distinct ones."""
        owner = "\0".join((self.dag_id, self.run_id, self.task_id, str(self.map_index)))
        return f"ernest-{self.deployment}-{hashlib.sha256(owner.encode()).hexdigest()[:20]}"

    def token(self, *request: object) -> str:
        """An idempotency token of RunInstances, the same for the same request of this attempt.

        The attempt's number is part of it, since after termination a token keeps returning the dead machines.
        """
        parts = (self.cluster_name, self.try_number, *request)
        return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def require_deployment(deployment: str) -> None:
    """Refuse what cannot be the id of a deployment: it goes into names, filters and policies."""
    if not re.fullmatch(_DEPLOYMENT, deployment):
        raise InvalidParameterError(
            "deployment",
            deployment,
            "cannot be the id of a deployment",
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
            "is not a name of a cluster that this package starts",
            remedy="Pass the output of the task that started the cluster unchanged.",
        )
    return found[1]


def tag_value(text: str) -> str:
    """The text with what AWS refuses in the values of tags replaced, and cut to what it allows."""
    return _TAG_VALUE_REFUSES.sub("_", text)[:_MAX_TAG_VALUE]


def specification_digest(spec: Document) -> str:
    """What tells whether the machines of an earlier attempt are those that are wanted now."""
    return hashlib.sha256(json.dumps(spec.to_dict(), sort_keys=True).encode()).hexdigest()[:32]
