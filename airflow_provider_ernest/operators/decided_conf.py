"""The Spark properties that a decision comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ernest.clusters.base import LOCAL
from airflow_provider_ernest.operators.locations import event_logs
from airflow_provider_ernest.spark.sizing import event_log_conf, sizing_conf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.base import ClusterHandle


def decided_conf(
    machines: int,
    *,
    cores_per_machine: int,
    handle: ClusterHandle | None,
    conf: Mapping[str, str],
    context: Context,
) -> dict[str, str]:
    """What a cluster needs, the user's own properties, and the sizing; each wins over what is before it.

    Args:
        machines: that were decided on.
        cores_per_machine: of each.
        handle: of the cluster that production runs on, if it is there already.
        conf: the user's.
        context: of the task that decides.
    """
    return {
        **(handle.spark_conf() if handle else {}),
        # Only a driver on this machine can write into a folder of it.
        **(event_log_conf(str(event_logs(context))) if handle and handle.kind == LOCAL else {}),
        **conf,
        **sizing_conf(machines=machines, cores_per_machine=cores_per_machine),
    }
