"""Make a running cluster larger or smaller: the next job can use machines that are paid for already."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.ec2.cluster import ClientMaker, RunningCluster
from airflow_provider_ernest.clusters.ec2.ending import AttemptGuard
from airflow_provider_ernest.clusters.ec2.identity import TRY_TAG, Attempt
from airflow_provider_ernest.clusters.ec2.instances import Instance, add_tags, of_cluster, workers
from airflow_provider_ernest.clusters.ec2.readiness import ReadMaster, master_of
from airflow_provider_ernest.exceptions import ClusterLostError, InvalidParameterError
from airflow_provider_ernest.spark.master import read_state

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
    from airflow_provider_ernest.clusters.ec2.measuring import Probe
    from airflow_provider_ernest.clusters.ec2.prices import PriceBook
    from airflow_provider_ernest.clusters.ec2.readiness import Watch
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

_log = logging.getLogger(__name__)


class ClusterResize:
    """Grows or shrinks a running cluster to a size.

    New machines are of the type of the old ones, join the same master, carry the cluster's tag, so that its
    teardown ends them too, and live as long as `spec` says from now on. Where growing fails, they are ended,
    and the old ones stay. Repeating it is safe: what an earlier attempt has launched is counted.

    Args:
        handle: of the running cluster.
        size: workers that it shall have.
        spec: how new machines are launched; the number and type of its machines do not count.
        identity: of the task instance that resizes, with the number of its attempt.
        client: makes the boto3 clients.
        prices: None where they are not to be known.
        probe: measures old and new machines together, so that the slowest are ended; None to measure none,
            then the scores that the handle has decide which are ended.
        read_master: reads the state of a Spark master.
        log: of the task.
        poll_seconds: between two looks.

    Raises:
        InvalidParameterError: a size that is not positive.
        ClusterError: the handle is that of another kind of cluster.
    """

    def __init__(
        self,
        handle: ClusterHandle,
        size: int,
        *,
        spec: EC2ClusterSpec,
        identity: ClusterIdentity,
        client: ClientMaker,
        prices: PriceBook | None = None,
        probe: Probe | None = None,
        read_master: ReadMaster = read_state,
        log: logging.Logger = _log,
        poll_seconds: float = 5.0,
    ) -> None:
        if size < 1:
            raise InvalidParameterError("size", size, "is no number of workers", remedy="Give at least 1.")
        self._handle = RunningCluster(handle, client=client).handle
        self._spec = _resized(spec, handle, size, probing=probe is not None)
        self._client = client
        self._ec2: Any = None
        self._prices = prices
        self._probe = probe
        self._read_master = read_master
        self._log = log
        self._poll_seconds = poll_seconds
        self._guard = AttemptGuard(Attempt.of_resize(identity, handle.name), client)

    def run(self) -> ClusterHandle:
        """Resize it, and wait until it has the size.

        Raises:
            ClusterLostError: the cluster has no master any more.
            InvalidParameterError, MissingResourceError: something cannot work.
            ClusterStartError: AWS has not enough machines, or they did not come.
            ClusterError: AWS does not answer.
        """
        with self._guard.ending_on_failure():
            self._ec2 = self._client("ec2")
            every = of_cluster(self._ec2, self._handle.name, states=())
            master = master_of(every)
            if master is None:
                raise ClusterLostError(
                    f"Cluster {self._handle.name} has no master any more.", remedy="Start the cluster again."
                )
            watch = self._watch(every)
            present = [w for w in workers(every) if w.usable and w.instance_type == self._spec.instance_type]
            self._log.info(
                "Cluster %s: %d workers to %d", master.cluster_name, len(present), self._spec.machines
            )
            grows = len(present) < self._spec.machines
            if grows:
                self._grow(watch, master, present, every=every)
            return self._assemble(watch, probe=self._probe if grows else None)

    def abandon(self) -> None:
        """End the machines that this attempt has launched; see `EC2Cluster.abandon`."""
        self._guard.abandon()

    def _grow(
        self, watch: Watch, master: Instance, present: list[Instance], *, every: list[Instance]
    ) -> None:
        from airflow_provider_ernest.clusters.ec2.cluster import secret_of_master
        from airflow_provider_ernest.clusters.ec2.launching import Fleet, Launcher
        from airflow_provider_ernest.clusters.ec2.preflight import check_before_launch

        deadline = time.monotonic() + self._spec.start_timeout_seconds
        plan = check_before_launch(self._spec, ec2=self._ec2, ssm=lambda: self._client("ssm"))
        self._adopt(present)
        launcher = Launcher(
            self._spec,
            ec2=self._ec2,
            plan=plan,
            expires_at=master.told_at + timedelta(seconds=self._spec.time_to_live_seconds),
            guard=self._guard,
            present=[instance.id for instance in every],
        )
        secret = secret_of_master(self._ec2, master)
        fleet = Fleet(spec=self._spec, plan=plan, launcher=launcher, ec2=self._ec2, secret=secret)
        fleet.launch_workers(master, present=present)
        launcher.wait_until_visible()
        watch.wait_until_ready(
            wanted=self._spec.machines + self._spec.additional_machines,
            smallest=self._spec.smallest_machines,
            deadline=deadline,
        )

    def _adopt(self, present: list[Instance]) -> None:
        """Make the machines of earlier attempts this one's, so that it ends them if it fails."""
        known = {machine.instance_id for machine in self._handle.machines}
        strays = [instance.id for instance in present if instance.id not in known]
        add_tags(self._ec2, strays, {TRY_TAG: self._guard.attempt.number})

    def _assemble(self, watch: Watch, *, probe: Probe | None) -> ClusterHandle:
        from airflow_provider_ernest.clusters.ec2.measuring import Assembler

        scores = {m.host: m.bandwidth for m in self._handle.machines if m.bandwidth is not None}
        handle = Assembler(
            spec=self._spec,
            watch=watch,
            prices=self._prices,
            probe=probe,
            aws_conn_id=self._handle.aws_conn_id,
            scores=scores,
        ).assemble()
        return replace(handle, culled=(*self._handle.culled, *handle.culled))

    def _watch(self, every: list[Instance]) -> Watch:
        from airflow_provider_ernest.clusters.ec2.readiness import Watch

        return Watch(
            ec2=self._ec2,
            guard=self._guard,
            read_master=self._read_master,
            log=self._log,
            poll_seconds=self._poll_seconds,
            overlooked=frozenset(instance.id for instance in every if not instance.usable),
        )


def resize(
    handle: ClusterHandle,
    size: int,
    *,
    spec: EC2ClusterSpec,
    identity: ClusterIdentity,
    client: ClientMaker,
    **options: Any,
) -> ClusterHandle:
    """Resize a cluster in one call; see `ClusterResize`, which a task uses that may be killed meanwhile."""
    return ClusterResize(handle, size, spec=spec, identity=identity, client=client, **options).run()


def _resized(spec: EC2ClusterSpec, handle: ClusterHandle, size: int, *, probing: bool) -> EC2ClusterSpec:
    smallest = spec.smallest_acceptable
    return replace(
        spec,
        machines=size,
        instance_type=handle.instance_type,
        fallback_instance_types=(),
        smallest_acceptable=smallest if smallest is not None and smallest <= size else None,
        probe_rounds=spec.probe_rounds if probing else 0,
        # What the daemons and the drivers agree on is the running cluster's matter.
        network_encryption=handle.encrypts,
        python=handle.python or spec.python,
        driver_host=handle.driver_host,
    )
