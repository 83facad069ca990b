"""A job flow of EMR that somebody else starts and ends, as EMR describes it: found ready, and left alone."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.ec2.aws_errors import Meaning, code_of, explained, meaning_of, time_of
from airflow_provider_ernest.clusters.emr.spec import EMR
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterLostError,
    ClusterStartError,
    InvalidParameterError,
)
from airflow_provider_ernest.spark.machines import Machine
from airflow_provider_ernest.words import duration

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.emr.spec import EmrJobFlow

log = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")

READY_STATES = ("WAITING", "RUNNING")
_COMING_STATES = ("STARTING", "BOOTSTRAPPING", *READY_STATES)
POLL_SECONDS = 15.0
"""Between two questions for a starting job flow's state; EMR throttles those who ask more often."""

_SLICE_SECONDS = 0.25
_MEGABYTES_PER_GIGABYTE = 1024
_YARN_SHARE = 0.75
_APPLICATION_MASTER_MEGABYTES = 1024
_EXECUTOR_OVERHEAD = 0.1
_LEAST_OVERHEAD_MEGABYTES = 384


def look_up(
    spec: EmrJobFlow,
    *,
    emr: Any,
    aws_conn_id: str | None = None,
    is_killed: Callable[[], bool] = lambda: False,
    poll_seconds: float = POLL_SECONDS,
) -> ClusterHandle:
    """Wait until a job flow takes steps, and tell its machines.

    `is_killed` is asked often whether to wait no longer. The name in the handle is the job flow's id, the
    directory where event logs are written.

    Raises:
        InvalidParameterError: it is not as stated, or runs several steps at once.
        MissingResourceError: a permission is missing.
        ClusterStartError: it does not become ready; with what EMR says of it.
        ClusterLostError: it has fewer machines than stated.
        ClusterError: EMR does not know it, or does not answer.
    """
    with explained("look up a job flow of EMR"):
        job_flow = _wait_until_ready(emr, spec, is_killed=is_killed, poll_seconds=poll_seconds)
        _require(spec, job_flow)  # first: EMR lists no groups of a job flow that has fleets
        cores = running_instances(emr, job_flow.id, "CORE")
        masters = running_instances(emr, job_flow.id, "MASTER")
        _require_machines(spec, job_flow, cores)
        types = {spec.instance_type, *(one["InstanceType"] for one in masters)}
        rooms = executor_rooms(emr, spec.release_label, types)
    room = rooms[spec.instance_type]
    worker = replace(
        room,
        cores=spec.cores_per_machine or room.cores,
        memory_megabytes=spec.memory_megabytes_per_machine or room.memory_megabytes,
        price_per_hour=spec.price_per_hour,
    )
    expires_at = job_flow.as_of + timedelta(seconds=spec.time_to_live_seconds)
    return ClusterHandle(
        kind=EMR,
        name=job_flow.id,
        master_url="yarn",
        machines=tuple(_identified(worker, one) for one in cores),
        instance_type=spec.instance_type,
        cores_per_machine=worker.cores,
        expires_at=expires_at.isoformat(timespec="seconds"),
        directory=spec.event_log_uri.rstrip("/"),
        python=spec.python,
        aws_conn_id=aws_conn_id,
        region=emr.meta.region_name,
        master=_identified(rooms[masters[0]["InstanceType"]], masters[0]) if masters else None,
    )


def _wait_until_ready(
    emr: Any, spec: EmrJobFlow, *, is_killed: Callable[[], bool], poll_seconds: float
) -> JobFlow:
    name, state, began = str(spec.job_flow_id), "", time.monotonic()
    while True:
        waited = time.monotonic() - began
        if is_killed():
            raise ClusterStartError(f"The task was ended while job flow {name} started.")
        job_flow = unless_busy(lambda: describe(emr, name))
        if job_flow is not None:
            if job_flow.state != state:
                state = job_flow.state
                log.info("Job flow %s: %s after %s", name, state, duration(round(waited)))
            if state in READY_STATES:
                return job_flow
            if state not in _COMING_STATES:
                raise ClusterStartError(f"Job flow {name} ended before it was ready: {job_flow.why}.")
        if waited >= spec.start_timeout_seconds:
            raise ClusterStartError(
                f"Job flow {name} was not ready after {duration(round(waited))} (last: {state or 'none'}).",
                remedy="Raise start_timeout_seconds, or look at the bootstrap actions' logs.",
            )
        until = time.monotonic() + poll_seconds
        while not is_killed() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _SLICE_SECONDS))


def _require(spec: EmrJobFlow, job_flow: JobFlow) -> None:
    """Refuse a job flow whose sample runs would share machines, or that is not as stated."""
    described = job_flow.description
    at_once, release = described.get("StepConcurrencyLevel", 1), described.get("ReleaseLabel")
    if described.get("InstanceCollectionType") == "INSTANCE_FLEET":
        raise InvalidParameterError(
            "job_flow_id", job_flow.id, "has instance fleets", remedy="Use instance groups, of one type each."
        )
    if at_once > 1:
        raise InvalidParameterError(
            "job_flow_id",
            job_flow.id,
            f"runs {at_once} steps at once: sample runs would share machines, and take longer for it",
            remedy="Set its StepConcurrencyLevel to 1.",
        )
    if release != spec.release_label:
        raise InvalidParameterError(
            "release_label", spec.release_label, f"is not that of job flow {job_flow.id}, which is {release}"
        )


def _require_machines(spec: EmrJobFlow, job_flow: JobFlow, cores: list[dict[str, Any]]) -> None:
    if others := {one["InstanceType"] for one in cores} - {spec.instance_type}:
        raise InvalidParameterError(
            "instance_type",
            spec.instance_type,
            f"is not what job flow {job_flow.id} has: {', '.join(sorted(others))}",
            remedy="State its type, all core instances of one type: a model is one of a type.",
        )
    if len(cores) < spec.machines:
        raise ClusterLostError(
            f"Job flow {job_flow.id} has {len(cores)} core instances, and machines={spec.machines}."
        )


@dataclass(frozen=True)
class JobFlow:
    """A job flow, as EMR describes it, for two months after its end."""

    description: Mapping[str, Any]
    """DescribeCluster's."""
    as_of: datetime
    """When EMR gave it, by AWS's clock; with time zone."""

    @property
    def id(self) -> str:
        """EMR's."""
        return str(self.description["Id"])

    @property
    def state(self) -> str:
        """EMR's word."""
        return str(self.description["Status"]["State"])

    @property
    def why(self) -> str:
        """Why it came into its state, in EMR's words, and where its logs lie."""
        reason = self.description["Status"].get("StateChangeReason") or {}
        words = ": ".join(str(reason[part]) for part in ("Code", "Message") if reason.get(part))
        logs = f"; logs below {self.description['LogUri']}" if self.description.get("LogUri") else ""
        return f"{words or 'EMR tells no reason'}{logs}"

    def seconds_until(self, moment: str | None) -> float:
        """By AWS's clock, until a moment in ISO 8601; 0 where there is none."""
        if moment is None:
            return 0.0
        return (datetime.fromisoformat(moment) - self.as_of.astimezone(UTC)).total_seconds()


def describe(emr: Any, job_flow_id: str) -> JobFlow:
    """What EMR says of a job flow; a ClusterError if it knows none."""
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
    return JobFlow(answer["Cluster"], time_of(answer))


def unless_busy(ask: Callable[[], _Answer]) -> _Answer | None:
    """The answer; None where AWS does not answer, or asks to come again later: EMR throttles early."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return ask()
    except (BotoCoreError, ClientError) as error:
        if meaning_of(error) is not Meaning.BUSY:
            raise
        return None


def running_instances(emr: Any, job_flow_id: str, group: str) -> list[dict[str, Any]]:
    """The running instances of a job flow's group, "CORE" or "MASTER"."""
    pages = emr.get_paginator("list_instances").paginate(
        ClusterId=job_flow_id, InstanceGroupTypes=[group], InstanceStates=["RUNNING"]
    )
    return [instance for page in pages for instance in page["Instances"]]


def _identified(machine: Machine, instance: Mapping[str, Any]) -> Machine:
    return replace(
        machine,
        host=instance.get("PrivateIpAddress", ""),
        instance_id=instance.get("Ec2InstanceId"),
        market="spot" if instance.get("Market") == "SPOT" else "on-demand",
    )


def executor_rooms(emr: Any, release_label: str, types: Iterable[str]) -> dict[str, Machine]:
    """What one executor that fills a machine may take on some types, by EMR's ListSupportedInstanceTypes.

    EMR gives YARN three quarters of a machine's memory, and more on large ones (Amazon EMR Release Guide,
    "Task configuration": yarn.nodemanager.resource.memory-mb). On one of the machines the application
    master takes 1 GB of it, and each executor has a tenth of its heap beside it
    (spark.executor.memoryOverheadFactor), at least 384 MB. What remains is more than half, so that no two
    executors of a run come to lie on one machine.

    Raises:
        InvalidParameterError: the release does not support a type.
    """
    names = set(types)
    found: dict[str, Machine] = {}
    marker: dict[str, str] = {}
    while True:
        page = emr.list_supported_instance_types(ReleaseLabel=release_label, **marker)
        found |= {one["Type"]: _room(one) for one in page["SupportedInstanceTypes"] if one["Type"] in names}
        if not page.get("Marker") or names <= found.keys():
            break
        marker = {"Marker": page["Marker"]}
    if missing := sorted(names - found.keys()):
        raise InvalidParameterError(
            "instance_type",
            missing[0],
            f"is not a type that {release_label} supports in {emr.meta.region_name}",
            remedy="`aws emr list-supported-instance-types --release-label` lists those that it does.",
        )
    return found


def _room(facts: Mapping[str, Any]) -> Machine:
    yarn = _YARN_SHARE * facts["MemoryGB"] * _MEGABYTES_PER_GIGABYTE
    executor = yarn - _APPLICATION_MASTER_MEGABYTES
    heap = min(executor / (1 + _EXECUTOR_OVERHEAD), executor - _LEAST_OVERHEAD_MEGABYTES)
    return Machine(cores=int(facts["VCPU"]), memory_megabytes=int(heap))
