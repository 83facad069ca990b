"""Whose machines they are: names, tags and launch tokens.

A cluster's name is made of the task that owns it, so that any later attempt, the teardown and the
reaper find its machines by tag alone, even if nothing but AWS remembers the launch.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime

CLUSTER_TAG = "ernest:cluster"
ROLE_TAG = "ernest:role"
TRY_TAG = "ernest:try"
EXPIRY_TAG = "ernest:expires-at"
SPEC_TAG = "ernest:specification"
MASTER = "master"
WORKER = "worker"

LIVE_STATES = ("pending", "running", "stopping", "stopped", "shutting-down")
"""All states of an instance but terminated. A stopped one still costs its volume."""

_MAX_TAG_VALUE = 256
_TAG_VALUE_REFUSES = re.compile(r"[^\w\s+\-=.:/@]", re.UNICODE)


@dataclass(frozen=True, kw_only=True)
class ClusterIdentity:
    """The task instance that owns a cluster.

    Attributes:
        dag_id, run_id, task_id: of the task that starts the cluster.
        map_index: of a mapped task, else -1.
        try_number: of its attempt.
    """

    dag_id: str
    run_id: str
    task_id: str
    map_index: int = -1
    try_number: int = 1

    @property
    def cluster_name(self) -> str:
        """The same for all attempts of a task instance, distinct for distinct ones."""
        owner = "\0".join((self.dag_id, self.run_id, self.task_id, str(self.map_index)))
        return f"ernest-{hashlib.sha256(owner.encode()).hexdigest()[:20]}"

    def token(self, *request: object) -> str:
        """An idempotency token of RunInstances: 64 characters, the same for the same request of this attempt.

        The attempt's number is part of it, since after termination a token keeps returning the dead machines.

        Args:
            request: what tells this launch from the attempt's others, such as role, place and count.
        """
        parts = (self.cluster_name, self.try_number, *request)
        return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()

    def tags(self, *, role: str, expires_at: datetime, specification: str) -> dict[str, str]:
        """The tags of a machine and its volumes.

        Args:
            role: `MASTER` or `WORKER`.
            expires_at: with time zone; when the machine ends itself.
            specification: digest of what the cluster was asked to be.
        """
        values = {
            "Name": f"{self.cluster_name} {role}",
            CLUSTER_TAG: self.cluster_name,
            ROLE_TAG: role,
            TRY_TAG: str(self.try_number),
            EXPIRY_TAG: expires_at.isoformat(timespec="seconds"),
            SPEC_TAG: specification,
            "ernest:dag": self.dag_id,
            "ernest:run": self.run_id,
            "ernest:task": self.task_id,
            "ernest:map-index": str(self.map_index),
        }
        return {key: tag_value(value) for key, value in values.items()}


def tag_value(text: str) -> str:
    """The text with what AWS refuses in the values of tags replaced, and cut to what it allows."""
    return _TAG_VALUE_REFUSES.sub("_", text)[:_MAX_TAG_VALUE]
