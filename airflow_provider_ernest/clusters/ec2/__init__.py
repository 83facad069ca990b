"""A Spark standalone cluster on machines of Amazon EC2."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.base import Cluster, ClusterHandle, Kind, register
from airflow_provider_ernest.exceptions import ClusterError

if TYPE_CHECKING:
    from pathlib import Path


def _reopen(handle: ClusterHandle, clusters: Path | None, client: Callable[[str], Any] | None) -> Cluster:
    from airflow_provider_ernest.clusters.ec2.cluster import RunningCluster

    if client is None:
        raise ClusterError(
            f"Cluster {handle.name} is on EC2, and nothing was given to reach AWS by.",
            remedy="Use the operators of this package, or give `client`.",
        )
    return RunningCluster(handle, client=client)


register("ec2", Kind(reopen=_reopen))
