"""Teardown: end a cluster, whichever operator of this package started it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.task_context import no_vain_retries
from airflow_provider_ernest.settings.values import document, number, optional_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.settings.templates import Number

PERSISTENCE: dict[str, Any] = {
    # About eight hours of retries. A first try after the machines' expiry finds none, and succeeds.
    "retries": 100,
    "retry_delay": timedelta(seconds=15),
    # Doubles the delay. Airflow before 3.2 takes only a boolean.
    "retry_exponential_backoff": True if BaseOperator.retry_exponential_backoff is False else 2.0,
    "max_retry_delay": timedelta(minutes=5),
    # Machines cost money while it waits for a slot; by Airflow's rule a task at a DAG's end comes last.
    "weight_rule": "absolute",
    "priority_weight": 10_000,
}
"""Arguments of each teardown. Its own arguments override them, a DAG's ``default_args`` do not."""


class TerminateClusterOperator(BaseOperator):
    """End a cluster; use it ``.as_teardown(setups=create)``.

    A cluster that has ended already is a success. Cloud machines are found by the cluster's tag, so those
    that a resize added end too.

    If the cluster cannot be ended, it retries after 15 s, later every five minutes, for eight hours: longer
    than machines live by default. It comes first among the tasks that wait for a slot of its pool.

    Args:
        cluster: the `ClusterHandle` document, output of the operator that started the cluster.
        kwargs: those of any operator; they override the retries and the priority, and a DAG's
            ``default_args`` do not.

    Raises:
        InvalidParameterError: the handle is invalid or none of this package's (no retry).
        ClusterError: machines still live; names them.
    """

    template_fields: Sequence[str] = ("cluster",)
    ui_color = "#e4dcf2"

    def __init__(self, *, cluster: Any, **kwargs: Any) -> None:
        super().__init__(**{**PERSISTENCE, **kwargs})
        self.cluster = cluster

    @classmethod
    def partial(cls, **kwargs: Any) -> Any:
        """Airflow takes no arguments of a mapped task from the constructor."""
        return super().partial(**{**PERSISTENCE, **kwargs})

    def execute(self, context: Context) -> None:
        """End the cluster and say what was done."""
        from airflow_provider_ernest.clusters.base import ClusterHandle, terminate
        from airflow_provider_ernest.hooks.aws import aws_clients
        from airflow_provider_ernest.operators.task_context import folder

        with no_vain_retries():
            handle = ClusterHandle.from_dict(document("cluster", self.cluster))
            clusters, clients = folder("clusters"), aws_clients(handle.aws_conn_id, handle.region)
        try:
            told = terminate(handle, clusters=clusters, client=clients)
        except InvalidParameterError as error:
            # Retry on every error, since machines cost money, except on an invalid handle.
            if error.parameter == "cluster":
                with no_vain_retries():
                    raise
            raise
        self.log.info("Spark %s: %s", handle.name, told)


class ReapClustersOperator(BaseOperator):
    """End the machines on EC2 whose tags say that they should have ended.

    Each machine ends itself at its expiry. This is for those that could not; run it hourly in a DAG of its
    own. ``ernest reap`` does the same from a shell. Machines that are not this package's are never touched.
    Expiry goes by AWS's clock.

    Returns a summary: ``machines`` (how many were ended), ``clusters`` by region, and ``dry_run``.

    Args:
        regions: AWS regions to look through; None for that of the connection.
        grace_seconds: how long after its expiry a machine may take to end itself.
        dry_run: only list what would be ended.
        all_deployments: also end what other Airflow deployments in the account started; see
            ``[ernest] deployment``.
        aws_conn_id: Airflow connection of AWS; None for boto3's own credentials.

    Raises:
        ClusterError: machines of some region may live on; those of the others have been ended.
    """

    template_fields: Sequence[str] = (
        "regions",
        "grace_seconds",
        "is_dry_run",
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
        all_deployments: bool | str = False,
        aws_conn_id: str | None = "aws_default",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.regions = regions
        self.grace_seconds = grace_seconds
        # BaseOperator has a method of the parameter's name.
        self.is_dry_run = dry_run
        self.all_deployments = all_deployments
        self.aws_conn_id = aws_conn_id

    def execute(self, context: Context) -> dict[str, Any]:
        """Find and end them, region by region."""
        from airflow_provider_ernest.clusters.ec2.ending import reap_regions
        from airflow_provider_ernest.hooks.aws import aws_clients
        from airflow_provider_ernest.operators.task_context import configured_deployment
        from airflow_provider_ernest.settings.values import texts, truth

        with no_vain_retries():
            conn_id = optional_text(self.aws_conn_id)
            regions = texts("regions", self.regions) or (aws_clients(conn_id, None)("ec2").meta.region_name,)
            every = truth("all_deployments", self.all_deployments)
            report = reap_regions(
                {region: aws_clients(conn_id, region) for region in regions},
                deployment=None if every else configured_deployment(),
                grace_seconds=number("grace_seconds", self.grace_seconds),
                dry_run=truth("dry_run", self.is_dry_run),
            )
            for line in report.lines():
                self.log.info("%s", line)
            report.raise_failures()
        return report.summary()
