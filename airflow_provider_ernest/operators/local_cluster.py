"""Setup: an embedded Spark cluster on the Airflow worker's own machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.operators.task_context import failure_pushed, folder, no_vain_retries, task_path
from airflow_provider_ernest.settings.templates import as_template, settings_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.local import LocalCluster


class LocalClusterOperator(BaseOperator):
    """Start a real Spark standalone cluster of small workers; use it ``.as_setup()``.

    Returns the `ClusterHandle` document. `TerminateClusterOperator`, its time to live, its idle limit or the
    end of its keeper process ends the cluster.

    Submitting needs the cluster's secret. This package's operators read it from a file that only the task's
    user may read. For a stock operator, set `master_port`, use a connection ``spark://127.0.0.1:PORT``, and
    give it the secret: ``properties_file=create.output["properties_file"]``.

    Args:
        spec: a `LocalClusterSpec`, or a mapping of its fields; both may hold templates.

    Raises:
        InvalidParameterError, MissingResourceError: impossible sizes, no Java.
        ClusterStartError: it did not become ready; nothing is left running then.
    """

    template_fields: Sequence[str] = ("spec",)
    ui_color = "#e4dcf2"

    def __init__(self, *, spec: LocalClusterSpec | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spec = as_template(LocalClusterSpec, spec, "spec")
        self._cluster: LocalCluster | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Start the cluster, or adopt the one that an earlier try of this task started."""
        from airflow_provider_ernest.clusters.local import CLIENT_FILE, LocalCluster

        with no_vain_retries(), failure_pushed(context):
            spec = settings_of(LocalClusterSpec, self.spec, "spec")
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
