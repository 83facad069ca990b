"""Setup: a Spark cluster on EC2 without its slowest machines; also preflight check and resize."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, Context

import airflow_provider_ernest.words as words
from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.ec2.identity import WORKER, deployment_of, specification_digest
from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.exceptions import ClusterStartError, InvalidParameterError
from airflow_provider_ernest.hooks.aws import aws_clients
from airflow_provider_ernest.operators.task_context import (
    cluster_identity,
    cluster_secret,
    failure_pushed,
    is_deferrable,
    no_vain_retries,
)
from airflow_provider_ernest.settings.values import (
    Number,
    as_template,
    document,
    number,
    optional_text,
    settings_of,
    whole_number,
)
from airflow_provider_ernest.spark.machines import Bandwidth

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.cluster import ClusterResize, EC2Cluster
    from airflow_provider_ernest.clusters.ec2.prices import PriceBook
    from airflow_provider_ernest.clusters.ec2.readiness import Means
    from airflow_provider_ernest.spark.submit import ErnestSubmitHook

NOT_GIVEN: Any = object()
"""Default of `cluster`: the DAG file does not mention one."""

PROBE_START_SECONDS = 180.0
"""Limit for the start of the probe's application."""
PROBE_ROUND_SECONDS = 60.0
"""Limit for one round of the probe; a round takes about 10 s."""


class EC2ClusterOperator(BaseOperator):
    """Start a Spark standalone cluster on EC2 and end its slowest machines; use it ``.as_setup()``.

    Launches a machine for the master, the workers and a few spares, measures the bandwidth of their memory
    and network, and ends the slowest until `spec.machines` remain. Returns the `ClusterHandle` document.

    `TerminateClusterOperator` ends the cluster. Whatever happens, each machine shuts itself down after
    `spec.time_to_live_seconds`. If this task fails, is killed or times out, it ends what it launched; the
    next try takes over or ends what an earlier one left.

    For a cluster of the decided size, use ``EC2ClusterSpec(machines=ernest.config["machines"],
    instance_type=ernest.config["instance_type"], ...)``.

    With `cluster` and `size` it resizes that cluster instead and returns its new handle. New machines are
    launched by `spec`, whose own number and type of machines do not count.

    Args:
        spec: the `EC2ClusterSpec`, a mapping of its fields, or a template that renders to one. Its fields may
            hold templates, except `setup_script`, in which Jinja would misread the shell's ``${#...}``.
        cluster: `ClusterHandle` document of the cluster to resize. If it is given but turns out to be
            missing, the task fails: a resize never starts a new cluster.
        size: number of workers after the resize.
        aws_conn_id: Airflow connection of AWS; None for boto3's own credentials.
        region_name: AWS region; None for that of the connection. A resize takes both from the cluster.
        deferrable: wait for the machines in the triggerer; None for ``[operators] default_deferrable``. A
            resize does not defer.
        poll_seconds: between two looks at the machines while deferred.

    Raises:
        InvalidParameterError, MissingResourceError: the request is impossible (no retry).
        ClusterStartError: AWS has too few such machines, or Spark did not start in time; with the console
            output of a machine that did not boot.
        ClusterError: AWS does not answer, or machines could not be ended: names them.
    """

    template_fields: Sequence[str] = ("spec", "cluster", "size", "aws_conn_id", "region_name")
    ui_color = "#e4dcf2"

    def __init__(
        self,
        *,
        spec: EC2ClusterSpec | Mapping[str, Any] | str,
        cluster: Any = NOT_GIVEN,
        size: Number | None = None,
        aws_conn_id: str | None = "aws_default",
        region_name: str | None = None,
        deferrable: bool | None = None,
        poll_seconds: float = 15,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        # Decided by the DAG file: a missing cluster must not become a new one that nobody ends.
        self._is_resize = cluster is not NOT_GIVEN
        if size is not None and not self._is_resize:
            raise InvalidParameterError(
                "size",
                size,
                "is that of no cluster",
                remedy="Give the cluster that is to have this size; that of a new one is spec.machines.",
            )
        self.spec: Any = as_template(EC2ClusterSpec, spec, "spec")
        self.setup_script = self.spec.pop("setup_script", "") if isinstance(self.spec, dict) else ""
        self.cluster = cluster if self._is_resize else None
        self.size = size
        self.aws_conn_id = aws_conn_id
        self.region_name = region_name
        self.deferrable = deferrable
        self.poll_seconds = poll_seconds
        self._opened: EC2Cluster | ClusterResize | None = None
        self._probe_hook: ErnestSubmitHook | None = None
        self._is_killed = False

    def execute(self, context: Context) -> dict[str, Any]:
        """Start the cluster and wait, here or in the triggerer; or resize one."""
        from airflow_provider_ernest.triggers.ec2_cluster import EC2ClusterReadyTrigger

        with no_vain_retries(), failure_pushed(context):
            if self._is_resize:
                return self._logged(self._open_resize(context).run())
            opened = self._open(self._spec(), context)
            if not is_deferrable(self.deferrable):
                return self._logged(opened.start())
            # Made before anything is launched: afterwards nothing of it can fail. Its time limit begins now.
            trigger = EC2ClusterReadyTrigger(
                cluster_name=opened.name,
                try_number=context["ti"].try_number,
                spec=opened.spec.to_dict(),
                deadline=time.time() + opened.spec.start_timeout_seconds,
                poll_seconds=number("poll_seconds", self.poll_seconds),
                aws_conn_id=optional_text(self.aws_conn_id),
                region_name=optional_text(self.region_name),
            )
            opened.launch()
            if self._is_killed:
                opened.terminate()
                raise ClusterStartError("The task was ended while its machines were launched.")
        self.defer(trigger=trigger, method_name="execute_complete")
        raise AssertionError("deferring does not return")

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Make a cluster of the machines that the trigger waited for, or end them and say why."""
        with no_vain_retries(), failure_pushed(context):
            if event["reason"]:
                self.log.error("The wait has ended: %s", event["reason"])
            # What was launched counts, not what the templates render to by now.
            spec = EC2ClusterSpec.from_dict(event["spec"])
            opened = self._open(spec, context, deployment=deployment_of(event["cluster_name"]))
            # Does not wait: goes on with enough machines, else shows consoles, ends all and raises.
            opened.wait_until_ready(deadline=time.monotonic())
            return self._logged(opened.assemble())

    def on_kill(self) -> None:
        """End what was launched so far, and a running probe. Quick: AWS is asked, nothing is waited for."""
        self._is_killed = True
        if self._opened is not None:
            self._opened.abandon()
        if self._probe_hook is not None:
            self._probe_hook.end()

    def _spec(self) -> EC2ClusterSpec:
        spec = settings_of(EC2ClusterSpec, self.spec, "spec")
        return replace(spec, setup_script=self.setup_script or spec.setup_script)

    def _open(self, spec: EC2ClusterSpec, context: Context, *, deployment: str | None = None) -> EC2Cluster:
        """A cluster not launched yet, or what an earlier try or part of this task launched."""
        from airflow_provider_ernest.clusters.ec2.cluster import EC2Cluster

        identity = cluster_identity(context, deployment=deployment)
        means = self._means(spec, optional_text(self.aws_conn_id), optional_text(self.region_name))
        opened = EC2Cluster(spec, identity, means)
        self._watch_over(opened)
        return opened

    def _open_resize(self, context: Context) -> ClusterResize:
        from airflow_provider_ernest.clusters.ec2.cluster import ClusterResize

        handle = ClusterHandle.from_dict(document("cluster", self.cluster))
        size, spec, identity = whole_number("size", self.size), self._spec(), cluster_identity(context)
        means = self._means(spec, handle.aws_conn_id, handle.region)
        resize = ClusterResize(handle, size, spec=spec, identity=identity, means=means)
        self._watch_over(resize)
        return resize

    def _watch_over(self, opened: EC2Cluster | ClusterResize) -> None:
        """Let a kill end it, also one that came before."""
        self._opened = opened
        if self._is_killed:
            opened.abandon()

    def _means(self, spec: EC2ClusterSpec, aws_conn_id: str | None, region_name: str | None) -> Means:
        from airflow_provider_ernest.clusters.ec2.readiness import Means

        clients = aws_clients(aws_conn_id, region_name)
        prices = price_book(clients("ec2"), aws_conn_id=aws_conn_id, override_per_hour=spec.price_per_hour)
        return Means(
            client=clients,
            aws_conn_id=aws_conn_id,
            prices=prices,
            probe=partial(self._measure, spec),
            log=self.log,
        )

    def _measure(self, spec: EC2ClusterSpec, handle: ClusterHandle) -> dict[str, Bandwidth]:
        """Measure all workers; a kill ends the probe, also one that came before."""
        from airflow_provider_ernest.clusters.probe import probe_bandwidth

        def submitted(hook: ErnestSubmitHook) -> None:
            self._probe_hook = hook
            if self._is_killed:
                hook.end()

        rounds_seconds = spec.probe_rounds * (PROBE_ROUND_SECONDS + spec.probe_interval_seconds)
        return probe_bandwidth(
            handle,
            rounds=spec.probe_rounds,
            interval_seconds=spec.probe_interval_seconds,
            secret=cluster_secret(handle),
            timeout_seconds=PROBE_START_SECONDS + rounds_seconds,
            on_submit=submitted,
        )

    def _logged(self, handle: ClusterHandle) -> dict[str, Any]:
        """Log the cluster. Never fails: a failing setup would leave it running until its time to live."""
        try:
            for line in cluster_lines(handle, now=datetime.now(UTC)):
                self.log.info("%s", line)
        except Exception:
            self.log.exception("Cluster %s runs, and cannot be described", handle.name)
        return handle.to_dict()


class EC2PreflightOperator(EC2ClusterOperator):
    """Check against AWS what `EC2ClusterOperator` would launch with the same arguments. Launches nothing.

    Image, instance types, subnets, security groups and launch template must exist, fit each other and not be
    open to the world, and a dry run of the launch must be allowed. Returns and pushes ``cores_per_machine``,
    ``memory_megabytes_per_machine``, ``price_per_hour`` of a worker and ``master_price_per_hour`` (dollars;
    None if AWS does not tell), and ``market`` (of the workers).

    Raises:
        InvalidParameterError, MissingResourceError: something does not exist, does not fit, or is forbidden
            (no retry).
        ClusterError: AWS does not answer.
    """

    def execute(self, context: Context) -> dict[str, Any]:
        """Ask AWS."""
        with no_vain_retries(), failure_pushed(context):
            facts = self._facts(self._spec(), context)
        for key, value in facts.items():
            context["ti"].xcom_push(key=key, value=value)
        return facts

    def _facts(self, spec: EC2ClusterSpec, context: Context) -> dict[str, Any]:
        from airflow_provider_ernest.clusters.ec2.instances import Attempt
        from airflow_provider_ernest.clusters.ec2.preflight import check_before_launch, require_launch_right
        from airflow_provider_ernest.clusters.ec2.requests import ON_DEMAND, SPOT

        conn_id = optional_text(self.aws_conn_id)
        clients = aws_clients(conn_id, optional_text(self.region_name))
        ec2 = clients("ec2")
        plan = check_before_launch(spec, ec2=ec2, ssm=lambda: clients("ssm"))
        tags = Attempt.of_start(cluster_identity(context)).tags(
            role=WORKER, expires_at=datetime.now(UTC), specification=specification_digest(spec)
        )
        require_launch_right(spec, plan, ec2=ec2, tags=tags)
        cores, memory = plan.offered(spec, spec.instance_type)
        prices = price_book(ec2, aws_conn_id=conn_id, override_per_hour=spec.price_per_hour)
        market = SPOT if spec.spot else ON_DEMAND
        price = prices.per_hour(spec.instance_type, market)
        self.log.info(
            "%s in %s: %d cores and %d MB of memory for executors, %s per hour",
            spec.instance_type,
            ec2.meta.region_name,
            cores,
            memory,
            "an unknown number of dollars" if price is None else words.dollars(price),
        )
        return {
            "cores_per_machine": cores,
            "memory_megabytes_per_machine": memory,
            "price_per_hour": price,
            "master_price_per_hour": prices.listed_per_hour(
                spec.master_instance_type or spec.instance_type, ON_DEMAND
            ),
            "market": market,
        }


def price_book(ec2: Any, *, aws_conn_id: str | None, override_per_hour: float | None) -> PriceBook:
    """Prices of the client's region; `override_per_hour` is for a worker, whatever AWS says."""
    from airflow_provider_ernest.clusters.ec2.prices import PRICING_REGION, PriceBook

    return PriceBook(
        ec2=ec2,
        pricing=lambda: aws_clients(aws_conn_id, PRICING_REGION)("pricing"),
        region=ec2.meta.region_name,
        override_per_hour=override_per_hour,
    )


def cluster_lines(handle: ClusterHandle, *, now: datetime) -> list[str]:
    """What a task's log says of a cluster: its type and costs. `now` has a time zone."""
    machines = (*handle.machines, *([handle.master] if handle.master else []))
    prices = [machine.price_per_hour for machine in machines]
    cost = "what it costs is unknown"
    if None not in prices:
        total = sum(price or 0.0 for price in prices)
        cost = f"{words.dollars(total)} per hour with the master"
        if handle.expires_at:
            hours = (datetime.fromisoformat(handle.expires_at) - now).total_seconds() / 3600
            cost += f", at most {words.dollars(total * max(0.0, hours))} until it ends itself"
    return [
        f"Spark {handle.name} at {handle.master_url} in {handle.region}, until {handle.expires_at} at most",
        f"{len(handle.machines)} workers of {handle.cores_per_machine} cores, {handle.instance_type} "
        f"({handle.market or 'unknown market'}): {cost}",
    ]
