"""Setup: an EMR job flow whose steps are the sample runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.clusters.emr.spec import EmrJobFlow
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.task_context import failure_pushed, no_vain_retries
from airflow_provider_ernest.settings.templates import as_template, settings_of
from airflow_provider_ernest.settings.values import optional_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context


class EmrJobFlowOperator(BaseOperator):
    """Wait until an EMR job flow takes steps, and look up its machines. Starts and ends nothing.

    EmrCreateJobFlowOperator and EmrTerminateJobFlowOperator of Airflow's amazon provider start and end it.
    Returns the `ClusterHandle` document, named by the job flow's id.

    Args:
        spec: an `EmrJobFlow` with a `job_flow_id`, or a mapping of its fields; both may hold templates.
        aws_conn_id: the Airflow connection; None for boto3's own credentials.
        region_name: AWS region; None for that of the connection.

    Raises:
        InvalidParameterError: the job flow differs from what is stated, or runs several steps at once (no
            retry).
        MissingResourceError: no such connection, or a permission is missing (no retry).
        ClusterStartError: it did not become ready.
        ClusterLostError: it has fewer machines than stated.
    """

    template_fields: Sequence[str] = ("spec", "aws_conn_id", "region_name")
    ui_color = "#e4dcf2"

    def __init__(
        self,
        *,
        spec: EmrJobFlow | Mapping[str, Any],
        aws_conn_id: str | None = "aws_default",
        region_name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.spec = as_template(EmrJobFlow, spec, "spec")
        self.aws_conn_id = aws_conn_id
        self.region_name = region_name
        self._is_killed = False

    def execute(self, context: Context) -> dict[str, Any]:
        """Wait for it, and describe it."""
        from airflow_provider_ernest.clusters.emr.steps import look_up
        from airflow_provider_ernest.hooks.aws import aws_clients

        conn_id = optional_text(self.aws_conn_id)
        with no_vain_retries(), failure_pushed(context):
            spec = settings_of(EmrJobFlow, self.spec, "spec")
            if spec.job_flow_id is None:
                raise InvalidParameterError(
                    "job_flow_id",
                    None,
                    "names no job flow",
                    remedy="Start one by EmrCreateJobFlowOperator, and state its output.",
                )
            handle = look_up(
                spec,
                emr=aws_clients(conn_id, optional_text(self.region_name))("emr"),
                aws_conn_id=conn_id,
                is_killed=lambda: self._is_killed,
            )
        self.log.info(
            "EMR job flow %s in %s: %d machines of type %s; sample runs end at %s at the latest",
            handle.name,
            handle.region,
            len(handle.machines),
            handle.instance_type,
            handle.expires_at,
        )
        return handle.to_dict()

    def on_kill(self) -> None:
        """Wait no longer."""
        self._is_killed = True
