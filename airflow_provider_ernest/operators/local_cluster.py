"""Setup: an embedded Spark cluster on the Airflow worker's own machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.locations import folder, task_path
from airflow_provider_ernest.operators.task_context import failure_pushed, no_vain_retries
from airflow_provider_ernest.settings.templates import as_template, settings_of
from airflow_provider_ernest.settings.values import optional_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.local import LocalCluster


class LocalClusterOperator(BaseOperator):
    """Start a real Spark standalone cluster of small workers; use it ``.as_setup()``.

    Returns the `ClusterHandle` document. `TerminateClusterOperator`, its time to live, its idle limit or the
    end of its keeper process ends the cluster.

    Submitting needs the cluster's secret. This package's operators read it from a file that only the task's
    user may read; give it to a stock operator: ``properties_file=create.output["properties_file"]``.

    Args:
        spec: a `LocalClusterSpec`, or a mapping of its fields; both may hold templates.
        spark_conn_id: Airflow connection whose host and port the master listens at, so that stock operators
            find it; None for the `master_port` of `spec`.

    Raises:
        InvalidParameterError, MissingResourceError: impossible sizes, no Java, no such connection.
        ClusterStartError: it did not become ready; nothing is left running then.
    """

    template_fields: Sequence[str] = ("spec", "spark_conn_id")
    ui_color = "#e4dcf2"

    def __init__(
        self,
        *,
        spec: LocalClusterSpec | Mapping[str, Any],
        spark_conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.spec = as_template(LocalClusterSpec, spec, "spec")
        self.spark_conn_id = spark_conn_id
        self._cluster: LocalCluster | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Start the cluster, or adopt the one that an earlier try of this task started."""
        from airflow_provider_ernest.clusters.local import CLIENT_FILE, LocalCluster

        with no_vain_retries(), failure_pushed(context):
            spec = settings_of(LocalClusterSpec, self.spec, "spec")
            if conn_id := optional_text(self.spark_conn_id):
                spec = replace(spec, master_port=_port_of(conn_id))
            # A retry must find what the try before it left behind.
            path = task_path(context)
            self._cluster = LocalCluster(spec, name="-".join(path.parts), directory=folder("clusters") / path)
            handle = self._cluster.start()
        context["ti"].xcom_push(key="properties_file", value=str(self._cluster.directory / CLIENT_FILE))
        self.log.info(
            "Spark %s at %s, %d machines; ends itself at %s at the latest",
            handle.name,
            handle.master_url,
            len(handle.machines),
            handle.expires_at,
        )
        return handle.to_dict()

    def on_kill(self) -> None:
        """End what was started so far."""
        if self._cluster is not None:
            self._cluster.terminate()


def _port_of(spark_conn_id: str) -> int:
    from airflow_provider_ernest.spark.submit import master_address

    host, port = master_address(spark_conn_id)
    if host not in ("127.0.0.1", "localhost"):
        raise InvalidParameterError(
            "spark_conn_id",
            spark_conn_id,
            f"points at {host}, and a local cluster listens at 127.0.0.1 only",
            remedy="Use a connection of its own, spark://127.0.0.1:PORT.",
        )
    return port
