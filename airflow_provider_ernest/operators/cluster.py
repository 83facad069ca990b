"""Clusters that are started on this host, that Amazon's provider starts, and the end of any cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, Context

from airflow_provider_ernest.clusters.base import ClusterHandle, terminate
from airflow_provider_ernest.clusters.emr.spec import EmrJobFlow
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.hooks.aws import aws_clients
from airflow_provider_ernest.operators.task_context import (
    configured_deployment,
    failure_pushed,
    folder,
    no_vain_retries,
    task_path,
)
from airflow_provider_ernest.settings.values import (
    Number,
    as_template,
    document,
    number,
    optional_text,
    settings_of,
    texts,
    truth,
)

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.local import LocalCluster

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

    def execute(self, context: Context) -> dict[str, Any]:
        """Wait for it, and describe it."""
        from airflow_provider_ernest.clusters.emr.steps import look_up

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
    """End this deployment's machines on EC2 whose tags say that they should have ended.

    Each machine ends itself at its expiry. This is for those that could not; run it hourly in a DAG of its
    own. ``ernest reap`` does the same from a shell, also for other deployments in the account. Machines that
    are not this package's are never touched. Expiry goes by AWS's clock.

    Returns a summary: ``machines`` (how many were ended), ``clusters`` by region, and ``dry_run``.

    Args:
        regions: AWS regions to look through; None for that of the connection.
        grace_seconds: how long after its expiry a machine may take to end itself.
        dry_run: only list what would be ended.
        aws_conn_id: Airflow connection of AWS; None for boto3's own credentials.

    Raises:
        ClusterError: machines of some region may live on; those of the others have been ended.
    """

    template_fields: Sequence[str] = ("regions", "grace_seconds", "is_dry_run", "aws_conn_id")
    ui_color = "#e4dcf2"

    def __init__(
        self,
        *,
        regions: Sequence[str] | str | None = None,
        grace_seconds: Number = 300,
        dry_run: bool | str = False,
        aws_conn_id: str | None = "aws_default",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.regions = regions
        self.grace_seconds = grace_seconds
        # BaseOperator has a method of the parameter's name.
        self.is_dry_run = dry_run
        self.aws_conn_id = aws_conn_id

    def execute(self, context: Context) -> dict[str, Any]:
        """Find and end them, region by region."""
        from airflow_provider_ernest.clusters.ec2.ending import reap_regions

        with no_vain_retries():
            conn_id = optional_text(self.aws_conn_id)
            regions = texts("regions", self.regions) or (aws_clients(conn_id, None)("ec2").meta.region_name,)
            report = reap_regions(
                {region: aws_clients(conn_id, region) for region in regions},
                deployment=configured_deployment(),
                grace_seconds=number("grace_seconds", self.grace_seconds),
                dry_run=truth("dry_run", self.is_dry_run),
            )
            for line in report.lines():
                self.log.info("%s", line)
            report.raise_failures()
        return report.summary()
