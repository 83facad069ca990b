"""Setup: a cluster of Amazon EMR for the sample runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.clusters.emr.spec import EmrClusterSpec
from airflow_provider_ernest.operators.task_context import failure_pushed, no_vain_retries
from airflow_provider_ernest.stated import as_template, optional_text, settings_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.emr.cluster import EmrCluster


class EmrClusterOperator(BaseOperator):
    """Start a job flow of EMR; use it ``.as_setup()``. Its sample runs are steps, one at a time.

    A retry takes over what an earlier attempt has started. Teardown ends it; where that does not come, EMR
    ends it once it is idle, and `spec.time_to_live_seconds` bounds every step.

    Returns the `ClusterHandle` document, with the job flow's id as its name.

    Args:
        spec: what to start: an `EmrClusterSpec`, or a mapping of its fields; both may hold templates.
        aws_conn_id: the Airflow connection; None for the credentials that boto3 finds by itself.
        region_name: AWS region; None for that of the connection.

    Raises:
        InvalidParameterError: a specification that cannot work, or that AWS refuses (no retry).
        MissingResourceError: no such connection, or a permission is missing (no retry).
        ClusterStartError: it did not become ready; nothing is left running then.
    """

    template_fields: Sequence[str] = ("spec", "aws_conn_id", "region_name")
    ui_color = "#e4dcf2"

    def __init__(
        self,
        *,
        spec: EmrClusterSpec | Mapping[str, Any],
        aws_conn_id: str | None = "aws_default",
        region_name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.spec = as_template(EmrClusterSpec, spec, "spec")
        self.aws_conn_id = aws_conn_id
        self.region_name = region_name
        self._cluster: EmrCluster | None = None
        self._is_killed = False

    def execute(self, context: Context) -> dict[str, Any]:
        """Start the job flow, or adopt the one that an earlier attempt of this task started."""
        from airflow_provider_ernest.clusters.emr.cluster import EmrCluster
        from airflow_provider_ernest.hooks.aws import aws_clients
        from airflow_provider_ernest.operators.locations import cluster_identity

        aws_conn_id = optional_text(self.aws_conn_id)
        with no_vain_retries(), failure_pushed(context):
            self._cluster = EmrCluster(
                settings_of(EmrClusterSpec, self.spec, "spec"),
                cluster_identity(context),
                client=aws_clients(aws_conn_id, optional_text(self.region_name)),
                aws_conn_id=aws_conn_id,
            )
            if self._is_killed:
                self._cluster.abandon()
            handle = self._cluster.start()
        self.log.info(
            "EMR job flow %s in %s: %d machines of type %s; its steps end at %s at the latest",
            handle.name,
            handle.region,
            len(handle.machines),
            handle.instance_type,
            handle.expires_at,
        )
        return handle.to_dict()

    def on_kill(self) -> None:
        """Ask EMR to end what was started so far; there is no time to wait for it."""
        self._is_killed = True
        if self._cluster is not None:
            self._cluster.abandon()
