"""From a job flow that is ready to the handle that the sample runs get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.base import EMR, ClusterHandle, Machine
from airflow_provider_ernest.clusters.emr.job_flows import expiry_of
from airflow_provider_ernest.exceptions import ClusterStartError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.emr.instance_types import ExecutorRoom
    from airflow_provider_ernest.clusters.emr.spec import EmrClusterSpec


def handle_of(
    job_flow: dict[str, Any],
    spec: EmrClusterSpec,
    *,
    rooms: dict[str, ExecutorRoom],
    client: Any,
    aws_conn_id: str | None,
) -> ClusterHandle:
    """The handle of a job flow. Its name is the job flow's id, its directory where event logs are written.

    Args:
        job_flow: as DescribeCluster tells it.
        spec: what was asked for.
        rooms: of the types of workers and master.
        client: a boto3 client of EMR.
        aws_conn_id: the Airflow connection of that.

    Raises:
        ClusterStartError: fewer core instances run than were asked for.
    """
    room = rooms[spec.instance_type]
    cores = spec.cores_per_machine or room.cores
    memory_megabytes = spec.memory_megabytes_per_machine or room.memory_megabytes
    workers = [
        _machine(instance, cores, memory_megabytes, spec.price_per_hour)
        for instance in running_instances(client, job_flow["Id"], "CORE")
    ]
    if len(workers) < spec.machines:
        raise ClusterStartError(
            f"Job flow {job_flow['Id']} has {len(workers)} core instances; asked for were {spec.machines}."
        )
    at_master = rooms[spec.type_of_master]
    masters = running_instances(client, job_flow["Id"], "MASTER")
    expires_at = expiry_of(job_flow)
    return ClusterHandle(
        kind=EMR,
        name=job_flow["Id"],
        master_url="yarn",
        machines=tuple(workers),
        instance_type=spec.instance_type,
        cores_per_machine=cores,
        expires_at=expires_at.isoformat(timespec="seconds") if expires_at else None,
        directory=spec.event_log_uri.rstrip("/"),
        python=spec.python,
        aws_conn_id=aws_conn_id,
        region=client.meta.region_name,
        master=_machine(masters[0], at_master.cores, at_master.memory_megabytes, None) if masters else None,
    )


def running_instances(client: Any, job_flow_id: str, group: str) -> list[dict[str, Any]]:
    """The running instances of a job flow's group, "CORE" or "MASTER"."""
    pages = client.get_paginator("list_instances").paginate(
        ClusterId=job_flow_id, InstanceGroupTypes=[group], InstanceStates=["RUNNING"]
    )
    return [instance for page in pages for instance in page["Instances"]]


def _machine(
    instance: dict[str, Any], cores: int, memory_megabytes: int, price_per_hour: float | None
) -> Machine:
    return Machine(
        worker_id="",
        host=instance.get("PrivateIpAddress", ""),
        cores=cores,
        memory_megabytes=memory_megabytes,
        instance_id=instance.get("Ec2InstanceId"),
        market="on-demand",
        price_per_hour=price_per_hour,
    )
