"""A Spark standalone cluster on machines of Amazon EC2."""

from __future__ import annotations

from typing import Any

from airflow_provider_ernest.clusters.base import ClusterHandle, Kind, register


def _terminate(handle: ClusterHandle, clusters: Any, client: Any) -> str:
    from airflow_provider_ernest.clusters.ec2.ending import terminate_cluster

    machines = (*handle.machines, handle.master)
    ids = {machine.instance_id for machine in machines if machine and machine.instance_id}
    return terminate_cluster(client("ec2"), handle.name, awaited=ids)


register("ec2", Kind(terminate=_terminate))
