"""Spark's properties for a driver that runs beside its task, on whichever cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_provider_ernest.clusters.base import ClusterHandle


def driver_properties(handle: ClusterHandle, conf: Mapping[str, str]) -> dict[str, str]:
    """What an application needs on a cluster and its driver on this host, and the user's own, which win.

    Args:
        handle: the cluster.
        conf: the user's.

    Raises:
        ClusterLostError: there is no way to the master.
    """
    from airflow_provider_ernest.clusters.base import LOCAL
    from airflow_provider_ernest.spark.driver_address import driver_conf

    given = {**handle.spark_conf(), **conf}
    # A local cluster's handle says all of its drivers itself.
    return given if handle.kind == LOCAL else {**given, **driver_conf(handle.master_url, conf=given)}
