"""What an Airflow connection says of a Spark cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.spark.submit import ErnestSubmitHook


def master_of_connection(spark_conn_id: str) -> str:
    """The master that a connection points at, as spark-submit would be told.

    Raises:
        InvalidParameterError: it is no connection of Spark's, or has its drivers run on the cluster.
        MissingResourceError: there is no such connection, or what Kubernetes needs is not installed.
    """
    from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
    from airflow_provider_ernest.spark.submit import ErnestSubmitHook, require_connection

    kind = require_connection(spark_conn_id).conn_type
    if kind not in ("spark", "k8s"):
        raise InvalidParameterError(
            "spark_conn_id",
            spark_conn_id,
            f"is a connection of type {kind!r}",
            remedy="Its type must be spark.",
        )
    try:
        hook = ErnestSubmitHook(spark_conn_id=spark_conn_id, conf={}, application_args=[], name="")
    except (NameError, RuntimeError) as error:
        # The spark provider's ways of saying that its optional import failed.
        raise MissingResourceError(
            f"Connection {spark_conn_id!r} points at Kubernetes, and the spark provider lacks a package: "
            f"{error}.",
            remedy="Install it: pip install apache-airflow-providers-cncf-kubernetes.",
        ) from error
    require_own_driver(hook)
    # What the hook makes of the connection, so that both always mean the same master.
    return str(hook._connection["master"])


def require_own_driver(hook: ErnestSubmitHook) -> None:
    """Refuse a driver on the cluster: its event log would lie there, and it would not end with the task.

    Raises:
        InvalidParameterError: the hook's deploy mode is another than "client".
    """
    from airflow_provider_ernest.exceptions import InvalidParameterError

    mode = hook._connection["deploy_mode"]
    if mode not in (None, "client"):
        raise InvalidParameterError(
            "deploy_mode",
            mode,
            "puts the driver where its run can neither be observed nor ended",
            remedy='Use "client", in submit_options as in the extra of the connection ("deploy-mode").',
        )


def require_same_master(hook: ErnestSubmitHook, handle: ClusterHandle) -> None:
    """Refuse to submit elsewhere than to the cluster of the handle, whose machines the run is sized for.

    Raises:
        InvalidParameterError: the handle's connection points, by now, at another master.
    """
    from airflow_provider_ernest.exceptions import InvalidParameterError

    master = str(hook._connection["master"])
    if master != handle.master_url:
        raise InvalidParameterError(
            "cluster",
            handle.name,
            f"was at {handle.master_url}, and its connection {handle.spark_conn_id!r} points at {master}",
            remedy="Clear the task that looked the cluster up, and pass its output unchanged.",
        )
