"""The last resort on a schedule: end the machines that are past their expiry, whoever launched them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.operators.failures import no_vain_retries
from airflow_provider_ernest.operators.rendered import number, optional_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.specification import Number


class ReapClustersOperator(BaseOperator):
    """End the machines on EC2 whose tags say that they should have ended.

    Each machine ends itself at its expiry. This is for those that could not, in a DAG of its own that runs
    once an hour or so; ``ernest reap`` does the same without Airflow. Other machines than those of this
    package are never touched. It is AWS's clock that counts, not the local one.

    Returns a summary: ``machines`` (how many were ended), ``clusters`` and ``job_flows`` by region, and
    ``dry_run``.

    Args:
        regions: AWS regions to look through; None for that of the connection.
        grace_seconds: how long after its expiry a machine may take to end itself.
        dry_run: end nothing, only list what would be ended.
        include_emr: job flows of EMR whose time is over, too.
        all_deployments: what other deployments of Airflow in the same account have started, too. By default
            only what bears the id of this one; see ``[ernest] deployment``.
        aws_conn_id: Airflow connection of AWS; None for the credentials that boto3 finds by itself.

    Raises:
        ClusterError: machines of some region may live on; those of the others have been ended.
    """

    template_fields: Sequence[str] = (
        "regions",
        "grace_seconds",
        "is_dry_run",
        "include_emr",
        "all_deployments",
        "aws_conn_id",
    )
    ui_color = "#e4dcf2"

    def __init__(
        self,
        *,
        regions: Sequence[str] | str | None = None,
        grace_seconds: Number = 300,
        dry_run: bool | str = False,
        include_emr: bool | str = False,
        all_deployments: bool | str = False,
        aws_conn_id: str | None = "aws_default",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.regions = regions
        self.grace_seconds = grace_seconds
        # BaseOperator has a method of the parameter's name.
        self.is_dry_run = dry_run
        self.include_emr = include_emr
        self.all_deployments = all_deployments
        self.aws_conn_id = aws_conn_id

    def execute(self, context: Context) -> dict[str, Any]:
        """Find and end them, region by region."""
        from airflow_provider_ernest.clusters.reaping import reap_regions
        from airflow_provider_ernest.operators.aws import aws_clients, configured_deployment
        from airflow_provider_ernest.stated import texts, truth

        with no_vain_retries():
            conn_id = optional_text(self.aws_conn_id)
            regions = texts("regions", self.regions) or (aws_clients(conn_id, None)("ec2").meta.region_name,)
            every = truth("all_deployments", self.all_deployments)
            report = reap_regions(
                {region: aws_clients(conn_id, region) for region in regions},
                deployment=None if every else configured_deployment(),
                grace_seconds=number("grace_seconds", self.grace_seconds),
                dry_run=truth("dry_run", self.is_dry_run),
                include_emr=truth("include_emr", self.include_emr),
            )
            for line in report.lines():
                self.log.info("%s", line)
            report.raise_failures()
        return report.summary()
