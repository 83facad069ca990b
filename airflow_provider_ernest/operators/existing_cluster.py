"""Setup: an existing Spark cluster, known by an Airflow connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import BaseOperator, Context

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.operators.task_context import failure_pushed, no_vain_retries
from airflow_provider_ernest.settings import ConnectedCluster
from airflow_provider_ernest.settings.values import as_template, settings_of


class ExistingClusterOperator(BaseOperator):
    """Look up a cluster that somebody else starts and ends. Nothing is launched, culled or ended.

    The executors that a standalone master can give (one a worker) are read from its page if that answers;
    those of YARN, Kubernetes and of a master without a page are declared. A secret shared by the cluster's
    processes belongs in the submitter's properties file (SPARK_CONF_DIR) or in the job's ``submit_options``.

    Returns the `ClusterHandle` document; `TerminateClusterOperator` does nothing on it.

    Args:
        spec: a `ConnectedCluster`, or a mapping of its fields; both may hold templates.

    Raises:
        InvalidParameterError, MissingResourceError: no such connection, one that runs cannot be sized on, or
            executors about which nothing is known (no retry).
        ClusterLostError: the master does not answer, or has fewer workers than executors are declared.
    """

    template_fields: Sequence[str] = ("spec",)
    ui_color = "#e4dcf2"

    def __init__(self, *, spec: ConnectedCluster | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spec = as_template(ConnectedCluster, spec, "spec")

    def execute(self, context: Context) -> dict[str, Any]:
        """Look the cluster up."""
        from airflow_provider_ernest.clusters.existing import look_up

        with no_vain_retries(), failure_pushed(context):
            spec = settings_of(ConnectedCluster, self.spec, "spec")
            master = master_of_connection(spec.spark_conn_id, event_logs=spec.event_log_uri)
            handle = look_up(spec, master)
        self.log.info(
            "Spark at %s: %d machines of %d cores%s",
            handle.master_url,
            len(handle.machines),
            handle.cores_per_machine,
            "" if handle.web_url else ", as declared",
        )
        return handle.to_dict()


def master_of_connection(spark_conn_id: str, *, event_logs: str | None = None) -> str:
    """Return the master that a connection points at, as spark-submit gets it.

    `event_logs` is the folder that drivers on the cluster write their event logs to.

    Raises:
        InvalidParameterError: it is not a Spark connection, or runs drivers where they cannot be observed.
        MissingResourceError: there is no such connection, or Kubernetes support is not installed.
    """
    from airflow_provider_ernest.spark.remote_driver import require_observable_driver
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
        # This is how the spark provider reports that its optional import failed.
        raise MissingResourceError(
            f"Connection {spark_conn_id!r} points at Kubernetes, and the spark provider lacks a package: "
            f"{error}.",
            remedy="Install it: pip install apache-airflow-providers-cncf-kubernetes.",
        ) from error
    require_observable_driver(hook, event_logs=event_logs)
    # Taken from the hook, so that both always mean the same master.
    return str(hook._connection["master"])
