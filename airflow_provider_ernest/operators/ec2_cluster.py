"""Setup: a Spark cluster on machines of Amazon EC2, without the slowest of them; and its resize."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.clusters.ec2.identity import deployment_of
from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.exceptions import ClusterStartError
from airflow_provider_ernest.operators.ec2_size import NOT_GIVEN, size_of_new_cluster
from airflow_provider_ernest.operators.failures import no_vain_retries
from airflow_provider_ernest.operators.rendered import number, optional_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.clusters.ec2.cluster import EC2Cluster
    from airflow_provider_ernest.clusters.ec2.resizing import ClusterResize
    from airflow_provider_ernest.spark.submit import ErnestSubmitHook
    from airflow_provider_ernest.specification import Number
    from airflow_provider_ernest.triggers.ec2_cluster import EC2ClusterReadyTrigger

SPEC_FIELDS = tuple(one.name for one in fields(EC2ClusterSpec))


class EC2ClusterOperator(BaseOperator):
    """Start a Spark standalone cluster on EC2 and end its slowest machines; use it ``.as_setup()``.

    Launches one machine for the master, the workers and a few more of them, measures the bandwidth of their
    memory and network, and ends the slowest until `machines` remain. Returns the `ClusterHandle` document.

    `TerminateClusterOperator` ends the cluster. Whatever happens, each machine shuts itself down after
    `time_to_live_seconds`. Where this task fails, is killed or times out, it ends what it launched; another
    attempt takes over or ends what an earlier one left behind.

    With `size` alone, `machines` may be left out: ``EC2ClusterOperator(size=ernest.config["machines"],
    instance_type=ernest.config["instance_type"], ...)`` starts the cluster that production was sized for. As
    any, it is yours to end: ``TerminateClusterOperator(...).as_teardown(setups=create)``.

    With `cluster` and `size` it starts nothing but adds machines to that cluster, or ends some of it, until
    it has that size, and returns the handle of what it is then. Give it the other arguments with which the
    cluster was started: by them, new machines are launched.

    Args:
        machines ... driver_host: see `EC2ClusterSpec`, whose fields they are. All may be templates but
            `setup_script`, in which Jinja would misread the shell's ``${#...}``. Lists may be texts
            separated by commas.
        cluster: `ClusterHandle` document of the cluster to resize. Where it is given and turns out to be
            missing, the task fails: a resize never starts a cluster of its own.
        size: the number of workers that it, or the new cluster, shall have.
        aws_conn_id: Airflow connection of AWS; None for the credentials that boto3 finds by itself.
        region_name: AWS region; None for that of the connection. A resize takes connection and region of the
            cluster.
        deferrable: wait in the triggerer instead of a worker's slot, until the machines are there; None for
            ``[operators] default_deferrable``. A resize does not defer.
        poll_seconds: between two looks at the machines while deferred.

    Raises:
        InvalidParameterError, MissingResourceError: what was asked for cannot be had (no retry).
        ClusterStartError: AWS has too few such machines, or Spark did not form in time; says why, with the
            console output of a machine that did not boot.
        ClusterError: AWS does not answer, or machines could not be ended: names them.
    """

    template_fields: Sequence[str] = (
        *(name for name in SPEC_FIELDS if name != "setup_script"),
        "cluster",
        "size",
        "aws_conn_id",
        "region_name",
    )
    ui_color = "#e4dcf2"
    machines: Number | None
    smallest_acceptable: Number | None

    def __init__(
        self,
        *,
        machines: Number | None = None,
        instance_type: str | None = None,
        fallback_instance_types: Sequence[str] | str = (),
        master_instance_type: str | None = None,
        image: str | None = None,
        subnets: Sequence[str] | str = (),
        security_groups: Sequence[str] | str = (),
        instance_profile: str | None = None,
        key_name: str | None = None,
        spot: bool | str = False,
        on_demand_fallback: bool | str = True,
        launch_template: str | None = None,
        launch_template_version: str = "$Default",
        volume_gigabytes: Number | None = None,
        volume_type: str = "gp3",
        volume_key: str | None = None,
        public_address: bool | str = False,
        tags: Mapping[str, str] | None = None,
        setup_script: str = "",
        spark_user: str = "ernest",
        spark_distribution: str = "/opt/spark",
        spark_distribution_sha512: str | None = None,
        java_home: str | None = None,
        python: str = "python3",
        cores_per_machine: Number | None = None,
        memory_megabytes_per_machine: Number | None = None,
        time_to_live_seconds: Number = 7200,
        start_timeout_seconds: Number = 600,
        over_allocation: Number = 0.04,
        smallest_acceptable: Number | None = None,
        probe_rounds: Number = 2,
        probe_interval_seconds: Number = 30,
        cull_floor: Number = 0.85,
        network_encryption: bool | str = False,
        price_per_hour: Number | None = None,
        driver_host: str | None = None,
        cluster: Any = NOT_GIVEN,
        size: Number | None = None,
        aws_conn_id: str | None = "aws_default",
        region_name: str | None = None,
        deferrable: bool | None = None,
        poll_seconds: float = 15,
        **kwargs: Any,
    ) -> None:
        given = locals()
        super().__init__(**kwargs)
        # Each under its own name, as everywhere in Airflow.
        for name in SPEC_FIELDS:
            setattr(self, name, given[name])
        # By what the DAG file says, since a cluster that is missing, whatever made it so, must not become a
        # new one that nobody ends.
        self._is_resize = cluster is not NOT_GIVEN
        self._is_sized = size is not None
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
        with no_vain_retries():
            if self._is_resize:
                return self._told(self._resized(context))
            opened = self._open(self._spec(**self._sized()), context)
            if not self._is_deferrable():
                return self._told(opened.start())
            # Made before anything is launched: afterwards nothing of it can fail.
            trigger = self._trigger(opened, context)
            opened.launch()
            if self._is_killed:
                opened.terminate()
                raise ClusterStartError("The task was ended while its machines were launched.")
        self.defer(trigger=trigger, method_name="execute_complete")
        raise AssertionError("deferring does not return")

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Make a cluster of the machines that the trigger has waited for, or end them.

        Raises:
            ClusterStartError: they are not there; with what their consoles said.
        """
        with no_vain_retries():
            if event["reason"]:
                self.log.error("The wait has ended: %s", event["reason"])
            # What was launched counts, not what the templates render to by now.
            spec = EC2ClusterSpec.from_dict(event["spec"])
            opened = self._open(spec, context, deployment=deployment_of(event["cluster_name"]))
            # It waits no more: it goes on with enough machines, else it shows consoles, ends all and raises.
            opened.wait_until_ready(deadline=time.monotonic())
            return self._told(opened.assemble())

    def on_kill(self) -> None:
        """End what was launched so far, and a running probe. Quick: AWS is asked, nothing is waited for."""
        self._is_killed = True
        if self._opened is not None:
            self._opened.abandon()
        if self._probe_hook is not None:
            self._probe_hook.end()

    def _spec(self, **changes: Any) -> EC2ClusterSpec:
        from airflow_provider_ernest.operators.rendered_spec import spec_of

        values = {name: getattr(self, name) for name in SPEC_FIELDS}
        return spec_of(EC2ClusterSpec, {**values, **changes})

    def _sized(self) -> dict[str, Any]:
        """The number of workers of a new cluster, where `size` says it."""
        return {"machines": size_of_new_cluster(self.size, self.machines)} if self._is_sized else {}

    def _open(self, spec: EC2ClusterSpec, context: Context, *, deployment: str | None = None) -> EC2Cluster:
        from airflow_provider_ernest.operators.ec2_opening import cluster_to_start

        opened = cluster_to_start(
            spec,
            context,
            aws_conn_id=optional_text(self.aws_conn_id),
            region_name=optional_text(self.region_name),
            on_submit=self._probe_submits,
            log=self.log,
            deployment=deployment,
        )
        self._watch_over(opened)
        return opened

    def _resized(self, context: Context) -> ClusterHandle:
        from airflow_provider_ernest.operators.ec2_opening import resize_to_run

        resize = resize_to_run(
            self.cluster,
            context,
            size=self.size,
            smallest_acceptable=self.smallest_acceptable,
            spec_of=self._spec,
            on_submit=self._probe_submits,
            log=self.log,
        )
        self._watch_over(resize)
        return resize.run()

    def _watch_over(self, opened: EC2Cluster | ClusterResize) -> None:
        """From now on a kill reaches it; one that came before does so now."""
        self._opened = opened
        if self._is_killed:
            opened.abandon()

    def _probe_submits(self, hook: ErnestSubmitHook) -> None:
        self._probe_hook = hook
        if self._is_killed:
            hook.end()

    def _is_deferrable(self) -> bool:
        if self.deferrable is not None:
            return self.deferrable
        from airflow.providers.common.compat.sdk import conf

        return bool(conf.getboolean("operators", "default_deferrable", fallback=False))

    def _trigger(self, opened: EC2Cluster, context: Context) -> EC2ClusterReadyTrigger:
        from airflow_provider_ernest.triggers.ec2_cluster import EC2ClusterReadyTrigger

        return EC2ClusterReadyTrigger.of(
            opened,
            try_number=context["ti"].try_number,
            poll_seconds=number("poll_seconds", self.poll_seconds),
            aws_conn_id=optional_text(self.aws_conn_id),
            region_name=optional_text(self.region_name),
        )

    def _told(self, handle: ClusterHandle) -> dict[str, Any]:
        from airflow_provider_ernest.operators.ec2_report import tell

        tell(handle, self.log)
        return handle.to_dict()
