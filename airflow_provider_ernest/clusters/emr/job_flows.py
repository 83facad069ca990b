"""Finding job flows of EMR, and ending them so that it is sure."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.ec2.aws_clock import time_of
from airflow_provider_ernest.clusters.ec2.aws_errors import Meaning, code_of, meaning_of
from airflow_provider_ernest.clusters.ec2.identity import CLUSTER_TAG, EXPIRY_TAG, deployment_of
from airflow_provider_ernest.exceptions import ClusterError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

LIVE_STATES = ("STARTING", "BOOTSTRAPPING", "RUNNING", "WAITING")
"""The states of a job flow that costs money and is not on its way to its end."""
READY_STATES = ("WAITING", "RUNNING")
TOLD_AT = "ErnestToldAt"
"""Key of the time, by AWS's clock, at which a description was given; EMR itself has none of that name."""
END_SECONDS = 120.0
"""How long EMR may take to say that a job flow is ending."""

_JOB_FLOWS_PER_CALL = 10
_POLL_SECONDS = 2.0


def live_job_flows(emr: Any, is_wanted: Callable[[str], bool]) -> list[str]:
    """The ids of the job flows that have not been ended and have a name that is wanted, the newest first."""
    pages = emr.get_paginator("list_clusters").paginate(ClusterStates=list(LIVE_STATES))
    found = [one for page in pages for one in page["Clusters"] if is_wanted(one["Name"])]
    found.sort(key=lambda one: one["Status"]["Timeline"]["CreationDateTime"], reverse=True)
    return [one["Id"] for one in found]


def describe(emr: Any, job_flow_id: str) -> dict[str, Any]:
    """What EMR says of a job flow, ended ones included, for two months; and as `TOLD_AT` when it said so.

    Raises:
        ClusterError: EMR does not know it.
    """
    from botocore.exceptions import ClientError

    try:
        answer = emr.describe_cluster(ClusterId=job_flow_id)
    except ClientError as error:
        if code_of(error) != "InvalidRequestException":
            raise
        raise ClusterError(
            f"EMR in {emr.meta.region_name} knows no job flow {job_flow_id}.",
            remedy="Look whether connection and region are those that started it.",
        ) from error
    return {**answer["Cluster"], TOLD_AT: time_of(answer)}


def require_ours(job_flow: dict[str, Any]) -> str:
    """The name of the cluster that a job flow is, by name and tag.

    Args:
        job_flow: as `describe` tells it.

    Raises:
        InvalidParameterError: this package has not started it: whoever named it must not reach it by that.
    """
    name = tags_of(job_flow).get(CLUSTER_TAG, "")
    if name != job_flow.get("Name"):
        raise InvalidParameterError(
            "cluster",
            job_flow["Id"],
            "is no job flow that this package has started",
            remedy="Pass the output of the task that started the cluster unchanged.",
        )
    deployment_of(name)
    return name


def time_at_aws(emr: Any) -> datetime:
    """What time it is by AWS's clock; with time zone."""
    return time_of(emr.list_clusters(ClusterStates=["STARTING"]))


def state_of(job_flow: dict[str, Any]) -> str:
    """The state of a job flow as DescribeCluster tells it."""
    return str(job_flow["Status"]["State"])


def tags_of(job_flow: dict[str, Any]) -> dict[str, str]:
    """The tags of a job flow as DescribeCluster tells them."""
    return {tag["Key"]: tag.get("Value", "") for tag in job_flow.get("Tags", ())}


def expiry_of(job_flow: dict[str, Any]) -> datetime | None:
    """When a job flow expires by its tag; None where that does not tell."""
    try:
        expires_at = datetime.fromisoformat(tags_of(job_flow)[EXPIRY_TAG])
    except (KeyError, ValueError):
        return None
    return expires_at if expires_at.tzinfo else None


def seconds_left(job_flow: dict[str, Any]) -> float:
    """Seconds until a job flow expires, by AWS's clock; 0 where its tag does not tell when.

    Args:
        job_flow: as `describe` tells it.
    """
    expires_at = expiry_of(job_flow)
    return (expires_at - job_flow[TOLD_AT]).total_seconds() if expires_at else 0.0


def why_changed(job_flow: dict[str, Any]) -> str:
    """Why a job flow came into its state, in EMR's words, and where its logs lie."""
    reason = job_flow["Status"].get("StateChangeReason") or {}
    told = [str(reason[part]) for part in ("Code", "Message") if reason.get(part)]
    logs = f"; logs below {job_flow['LogUri']}" if job_flow.get("LogUri") else ""
    return f"{': '.join(told) or 'EMR tells no reason'}{logs}"


def request_end(emr: Any, job_flow_ids: Sequence[str]) -> None:
    """Ask EMR to end job flows, without waiting."""
    for first in range(0, len(job_flow_ids), _JOB_FLOWS_PER_CALL):
        emr.terminate_job_flows(JobFlowIds=list(job_flow_ids[first : first + _JOB_FLOWS_PER_CALL]))


def end(
    emr: Any,
    job_flow_ids: Sequence[str],
    *,
    wait_seconds: float = END_SECONDS,
    pause: Callable[[float], object] = time.sleep,
) -> None:
    """End job flows and wait until EMR says of each that it is ending: from then on nothing keeps it.

    Raises:
        ClusterError: one of them is still alive; its id is named.
    """
    request_end(emr, job_flow_ids)
    deadline = time.monotonic() + wait_seconds
    alive = list(job_flow_ids)
    while True:
        alive = _still_alive(emr, alive)
        if not alive:
            return
        if time.monotonic() >= deadline:
            raise ClusterError(
                f"EMR was asked to end {', '.join(alive)}, and has not begun after {wait_seconds:.0f} s.",
                remedy="See whether somebody protected it from termination, and end it in EMR's console.",
            )
        pause(_POLL_SECONDS)


def is_busy(error: Exception) -> bool:
    """Whether AWS did not answer, or only asks to come again later: EMR throttles early."""
    return meaning_of(error) is Meaning.BUSY


def _still_alive(emr: Any, job_flow_ids: Iterable[str]) -> list[str]:
    from botocore.exceptions import BotoCoreError, ClientError

    alive = []
    for job_flow_id in job_flow_ids:
        try:
            if state_of(describe(emr, job_flow_id)) in LIVE_STATES:
                alive.append(job_flow_id)
        except (BotoCoreError, ClientError) as error:
            if not is_busy(error):
                raise
            alive.append(job_flow_id)
        except ClusterError:  # one that has just been started, which EMR does not describe yet
            alive.append(job_flow_id)
    return alive
