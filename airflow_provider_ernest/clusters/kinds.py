"""From a handle back to the cluster that it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ernest.clusters.base import LOCAL
from airflow_provider_ernest.exceptions import ClusterError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.base import Cluster, ClusterHandle


def reopen(handle: ClusterHandle) -> Cluster:
    """The cluster of a handle, ready to be terminated from any process.

    Raises:
        ClusterError: no module of this package starts clusters of that kind.
    """
    if handle.kind == LOCAL:
        from airflow_provider_ernest.clusters.local import LocalCluster

        return LocalCluster.from_handle(handle)
    raise ClusterError(
        f"No module of this package starts clusters of kind {handle.kind!r}.",
        remedy="Pass the output of a cluster operator of this package unchanged.",
    )
