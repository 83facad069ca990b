"""What tasks on clusters need of their context: clients of AWS, the secret, whose the machines are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ernest.hooks.aws import aws_clients

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity

__all__ = ["aws_clients", "cluster_identity", "cluster_secret", "configured_deployment", "mask"]


def cluster_secret(handle: ClusterHandle) -> str | None:
    """The secret that a cluster's processes share, for the tasks that submit to it. Airflow masks it in logs.

    Returns:
        None where the cluster's processes share none.

    Raises:
        ClusterLostError: the cluster is no longer there.
        InvalidParameterError: the handle is none that a local cluster has.
    """
    from airflow_provider_ernest.clusters.base import LOCAL

    if handle.kind == LOCAL:
        from airflow_provider_ernest.clusters.local import LocalCluster
        from airflow_provider_ernest.operators.locations import folder

        secret = LocalCluster.from_handle(handle, below=folder("clusters")).secret()
    elif handle.authenticates:
        from airflow_provider_ernest.clusters.ec2 import secret as secrets

        secret = secrets.cluster_secret(aws_clients(handle.aws_conn_id, handle.region)("ec2"), handle.name)
    else:
        return None
    mask(secret)
    return secret


def mask(secret: str) -> None:
    """Have Airflow replace a secret in all that this task logs."""
    from airflow.sdk.log import mask_secret

    mask_secret(secret)


def configured_deployment() -> str:
    """The id of this deployment of Airflow: ``[ernest] deployment``, else one made once in the model store.

    Raises:
        StoreError: none is configured, and the store cannot be read or written.
    """
    from airflow.providers.common.compat.sdk import conf

    from airflow_provider_ernest.model.storage.deployment import deployment_of_store
    from airflow_provider_ernest.store_location import store_root

    configured = str(conf.get("ernest", "deployment", fallback="") or "").strip()
    return configured or deployment_of_store(store_root())


def cluster_identity(context: Context, *, deployment: str | None = None) -> ClusterIdentity:
    """The task instance as the owner of the machines that it launches.

    Args:
        context: of the task.
        deployment: in whose name an earlier part of the task has launched; None for the configured one.

    Raises:
        InvalidParameterError: the configured deployment is none.
        StoreError: see `configured_deployment`.
    """
    from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity

    instance = context["ti"]
    map_index = getattr(instance, "map_index", None)
    return ClusterIdentity(
        deployment=deployment or configured_deployment(),
        dag_id=instance.dag_id,
        run_id=instance.run_id,
        task_id=instance.task_id,
        map_index=-1 if map_index is None else map_index,
        try_number=instance.try_number,
    )
