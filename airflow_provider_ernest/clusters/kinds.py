"""From a handle back to the cluster that it stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.base import EC2, EMR, EXISTING, LOCAL
from airflow_provider_ernest.exceptions import ClusterError

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_provider_ernest.clusters.base import Cluster, ClusterHandle


def reopen(
    handle: ClusterHandle, *, clusters: Path | None = None, client: Callable[[str], Any] | None = None
) -> Cluster:
    """The cluster of a handle, ready to be terminated from any process.

    Args:
        handle: of the cluster.
        clusters: the folder of local clusters; needed for these only.
        client: makes a boto3 client of an AWS service by its name, for the handle's region and with the
            rights of its Airflow connection; needed for clusters on EC2 and EMR only.

    Raises:
        ClusterError: no module of this package starts clusters of that kind, or what it needs is not given.
        InvalidParameterError: the handle is not as its kind of cluster has them.
    """
    if handle.kind == LOCAL:
        from airflow_provider_ernest.clusters.local import LocalCluster

        if clusters is None:
            raise ClusterError(
                f"Cluster {handle.name} is local, and nothing tells the folder of local clusters.",
                remedy="Use the operators of this package, or give `clusters`.",
            )
        return LocalCluster.from_handle(handle, below=clusters)
    if handle.kind == EXISTING:
        from airflow_provider_ernest.clusters.existing import ExistingCluster

        return ExistingCluster.from_handle(handle)
    if handle.kind in (EC2, EMR):
        return _reopen_on_aws(handle, client)
    raise ClusterError(
        f"No module of this package starts clusters of kind {handle.kind!r}.",
        remedy="Pass the output of a cluster operator of this package unchanged.",
    )


def _reopen_on_aws(handle: ClusterHandle, client: Callable[[str], Any] | None) -> Cluster:
    if client is None:
        raise ClusterError(
            f"Cluster {handle.name} is on AWS, and nothing was given to reach AWS by.",
            remedy="Use the operators of this package, or give `client`.",
        )
    if handle.kind == EC2:
        from airflow_provider_ernest.clusters.ec2.cluster import EC2Cluster

        return EC2Cluster.from_handle(handle, client=client)
    from airflow_provider_ernest.clusters.emr.cluster import EmrCluster

    return EmrCluster.from_handle(handle, client=client)
