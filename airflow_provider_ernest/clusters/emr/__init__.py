"""Sample runs as steps of a job flow of Amazon EMR. Production runs beside it, never in it."""

from __future__ import annotations

from typing import Any

from airflow_provider_ernest.clusters.base import Cluster, ClusterHandle, Kind, register


def _reopen(handle: ClusterHandle, clusters: Any, client: Any) -> Cluster:
    from airflow_provider_ernest.clusters.emr.job_flow import JobFlowInUse

    return JobFlowInUse(handle)


register("emr", Kind(reopen=_reopen))
