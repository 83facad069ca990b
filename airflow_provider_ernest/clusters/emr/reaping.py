"""Finding and ending the job flows that nobody ended in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.ec2.aws_errors import explained
from airflow_provider_ernest.clusters.ec2.identity import CLUSTER_TAG, DEPLOYMENT_TAG
from airflow_provider_ernest.clusters.emr import job_flows

if TYPE_CHECKING:
    from datetime import datetime

_NAME_PREFIX = "ernest-"


@dataclass(frozen=True, kw_only=True)
class FoundJobFlow:
    """A live job flow that bears this package's tags.

    Attributes:
        id: EMR's.
        cluster_name: of the task that owns it.
        state: EMR's word.
        expires_at: by its tag; None where that cannot be read.
        expired: it should have ended.
        tags: all of them, such as ernest:dag and ernest:run.
    """

    id: str
    cluster_name: str
    state: str
    expires_at: datetime | None
    expired: bool
    tags: dict[str, str]


def find_job_flows(emr: Any, *, deployment: str | None) -> tuple[FoundJobFlow, ...]:
    """The live job flows that this package has started, the newest first.

    One request for each page of live job flows (ListClusters tells no tags), and one for each that has a
    name of ours. The tag decides: a name may be anyone's.

    Args:
        emr: a boto3 client of EMR, of the region to look through.
        deployment: whose; None for those of all deployments.

    Raises:
        ClusterError, MissingResourceError: AWS does not answer, or a permission is missing.
    """
    with explained("look for job flows of EMR"):
        return _find(emr, deployment)


def reap_job_flows(emr: Any, *, deployment: str | None, dry_run: bool) -> tuple[FoundJobFlow, ...]:
    """End the job flows whose time is over by AWS's clock, and make sure that they end.

    Args:
        emr: a boto3 client of EMR, of the region to look through.
        deployment: whose; None for those of all deployments.
        dry_run: only tell which ones would be ended.

    Returns:
        Those that were, or would be, ended.

    Raises:
        ClusterError: one of them would not end, or AWS does not answer.
        MissingResourceError: a permission is missing.
    """
    expired = tuple(one for one in find_job_flows(emr, deployment=deployment) if one.expired)
    if expired and not dry_run:
        with explained("end job flows of EMR"):
            job_flows.end(emr, [one.id for one in expired])
    return expired


def _find(emr: Any, deployment: str | None) -> tuple[FoundJobFlow, ...]:
    found = []
    prefix = _NAME_PREFIX if deployment is None else f"{_NAME_PREFIX}{deployment}-"
    for one in job_flows.live_job_flows(emr, lambda name: name.startswith(prefix)):
        job_flow = job_flows.describe(emr, one)
        tags = job_flows.tags_of(job_flow)
        state = job_flows.state_of(job_flow)
        is_meant = deployment in (None, tags.get(DEPLOYMENT_TAG))
        if not is_meant or CLUSTER_TAG not in tags or state not in job_flows.LIVE_STATES:
            continue
        expires_at = job_flows.expiry_of(job_flow)
        found.append(
            FoundJobFlow(
                id=one,
                cluster_name=tags[CLUSTER_TAG],
                state=state,
                expires_at=expires_at,
                expired=expires_at is not None and expires_at <= job_flow[job_flows.TOLD_AT],
                tags=tags,
            )
        )
    return tuple(found)
