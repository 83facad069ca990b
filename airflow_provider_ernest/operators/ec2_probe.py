"""The bandwidth probe of a cluster on EC2, from within the task that starts it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.operators.aws import cluster_secret

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
    from airflow_provider_ernest.spark.bandwidth import Bandwidth
    from airflow_provider_ernest.spark.submit import ErnestSubmitHook

START_SECONDS = 180.0
"""How long the start of the probe's application may take."""
ROUND_SECONDS = 60.0
"""How long one of its rounds may take, of which each takes some 10 s."""


def measure(
    handle: ClusterHandle,
    *,
    spec: EC2ClusterSpec,
    log: Any,
    on_submit: Callable[[ErnestSubmitHook], None],
) -> dict[str, Bandwidth]:
    """Measure all workers of a cluster; see `spark.probing.probe_bandwidth`.

    Args:
        handle: of the cluster.
        spec: how often to measure.
        log: of the task.
        on_submit: gets the hook by which a killed task can end the probe.
    """
    from airflow_provider_ernest.spark.probing import probe_bandwidth

    return probe_bandwidth(
        master_url=handle.master_url,
        conf=handle.spark_conf(),
        machines=len(handle.machines),
        cores_per_machine=handle.cores_per_machine,
        rounds=spec.probe_rounds,
        interval_seconds=spec.probe_interval_seconds,
        secret=cluster_secret(handle),
        timeout_seconds=START_SECONDS + spec.probe_rounds * (ROUND_SECONDS + spec.probe_interval_seconds),
        log=log,
        on_submit=on_submit,
    )
