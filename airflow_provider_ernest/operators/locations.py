"""Where models, event logs, staged samples and the state of local clusters are kept.

Each lies below AIRFLOW_HOME/ernest unless ``[ernest]`` of Airflow's configuration names another place for it:
``store``, ``event_logs``, ``staging``, ``clusters``.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_ernest.hooks.aws import aws_clients
from airflow_provider_ernest.hooks.store_location import configured, store_root
from airflow_provider_ernest.operators.task_context import origin_of

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity


def folder(kind: str) -> Path:
    """The local folder for a kind of things."""
    return Path(configured(kind)).expanduser().absolute()


def event_logs(context: Context) -> Path:
    """Create the folder for the event logs of this try of this task."""
    logs = folder("event_logs") / attempt_path(context)
    logs.mkdir(parents=True, exist_ok=True)
    return logs


def staging(context: Context) -> Path:
    """The folder for samples of this task, the same for all of its tries; not created."""
    return folder("staging") / task_path(context)


def attempt_path(context: Context) -> Path:
    """Unique for this try of this task instance, and safe in file systems and Hadoop paths."""
    path = task_path(context)
    return path.with_name(f"{path.name}-try{context['ti'].try_number}")


def task_path(context: Context) -> Path:
    """The same for all tries of this task instance, so that each finds what the one before left."""
    task = origin_of(context)
    mapped = f"-{task.map_index}" if task.map_index >= 0 else ""
    return Path(path_name(task.dag_id)) / path_name(task.run_id) / f"{path_name(task.task_id)}{mapped}"


def path_name(text: str) -> str:
    """A readable file name for any text, distinct for distinct texts. Hadoop paths bear no colon."""
    safe = re.sub(r"[^A-Za-z0-9_.-]", "-", text).lstrip(".")[:100]
    return safe if safe == text else f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def cluster_secret(handle: ClusterHandle) -> str | None:
    """Return the secret that a cluster's processes share, None if they share none. Airflow masks it in logs.

    Raises:
        ClusterLostError: the cluster is no longer there.
    """
    from airflow.sdk.log import mask_secret

    from airflow_provider_ernest.clusters.local_spec import LOCAL

    if handle.kind == LOCAL:
        from airflow_provider_ernest.clusters.local import LocalCluster

        secret = LocalCluster.from_handle(handle, below=folder("clusters")).secret()
    elif handle.authenticates:
        from airflow_provider_ernest.clusters.ec2 import cluster

        secret = cluster.cluster_secret(aws_clients(handle.aws_conn_id, handle.region)("ec2"), handle.name)
    else:
        return None
    mask_secret(secret)
    return secret


def configured_deployment() -> str:
    """Return this Airflow's id: ``[ernest] deployment``, else one made once in the model store.

    Raises:
        StoreError: none is configured, and the store cannot be read or written.
    """
    from airflow.providers.common.compat.sdk import conf

    from airflow_provider_ernest.store.exclusive import deployment_of_store

    configured = str(conf.get("ernest", "deployment", fallback="") or "").strip()
    return configured or deployment_of_store(store_root())


def cluster_identity(context: Context, *, deployment: str | None = None) -> ClusterIdentity:
    """Return the task instance as owner of the machines that it launches.

    `deployment` is the one in whose name an earlier part of the task launched; None for the configured one.
    """
    from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity

    return ClusterIdentity(deployment=deployment or configured_deployment(), **vars(origin_of(context)))
