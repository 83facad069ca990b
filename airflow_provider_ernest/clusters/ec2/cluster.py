"""The life of a Spark cluster on EC2: launch, wait, measure, end.

AWS alone remembers a cluster: its machines are found by their tags. So starting one is reconciling what is
there with what is wanted, and may be repeated by any later attempt, in any process.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.ec2.attempt import Attempt, specification_digest
from airflow_provider_ernest.clusters.ec2.ending import terminate_cluster
from airflow_provider_ernest.clusters.ec2.guarding import AttemptGuard
from airflow_provider_ernest.clusters.ec2.instances import masters, workers
from airflow_provider_ernest.clusters.ec2.readiness import Readiness, ReadMaster, look
from airflow_provider_ernest.clusters.ec2.running import ClientMaker, RunningCluster
from airflow_provider_ernest.clusters.ec2.secret import cluster_secret
from airflow_provider_ernest.spark.master import read_state

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
    from airflow_provider_ernest.clusters.ec2.instances import Instance
    from airflow_provider_ernest.clusters.ec2.launching import Launcher
    from airflow_provider_ernest.clusters.ec2.measuring import Probe
    from airflow_provider_ernest.clusters.ec2.preflight import Plan
    from airflow_provider_ernest.clusters.ec2.prices import PriceBook
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
    from airflow_provider_ernest.clusters.ec2.waiting import Watch

__all__ = ["ClientMaker", "EC2Cluster", "RunningCluster", "cluster_secret"]

_log = logging.getLogger(__name__)


class EC2Cluster:
    """A cluster on EC2 that a task instance starts.

    `launch`, `wait_until_ready` and `assemble` may run in different processes, with objects made of the same
    arguments. Each ends all machines of the attempt when it fails.

    Args:
        spec: what to start.
        identity: of the task instance, with the number of the attempt.
        client: makes the boto3 clients.
        prices: None where they are not to be known.
        probe: measures the machines; None to measure none.
        read_master: reads the state of a Spark master.
        log: of the task.
        aws_conn_id: the Airflow connection behind `client`, for the handle.
        poll_seconds: between two looks.
    """

    def __init__(
        self,
        spec: EC2ClusterSpec,
        identity: ClusterIdentity,
        *,
        client: ClientMaker,
        prices: PriceBook | None = None,
        probe: Probe | None = None,
        read_master: ReadMaster = read_state,
        log: logging.Logger = _log,
        aws_conn_id: str | None = None,
        poll_seconds: float = 5.0,
    ) -> None:
        self.spec = spec
        self.name = identity.cluster_name
        self._client = client
        self._prices = prices
        self._probe = probe
        self._read_master = read_master
        self._log = log
        self._aws_conn_id = aws_conn_id
        self._poll_seconds = poll_seconds
        self._attempt = Attempt.of_start(identity)
        self._guard = AttemptGuard(self._attempt, client)
        self._ec2_client: Any = None

    @staticmethod
    def from_handle(handle: ClusterHandle, *, client: ClientMaker) -> RunningCluster:
        """The cluster that a handle stands for, to end it from another process.

        Raises:
            ClusterError: the handle is that of another kind of cluster.
        """
        return RunningCluster(handle, client=client)

    @property
    def workers_launched_at_most(self) -> int:
        """The workers that are asked for, additional ones included; `readiness.look` wants to know."""
        return self.spec.machines + self.spec.additional_machines

    def start(self) -> ClusterHandle:
        """Launch the cluster, wait until it is ready, and keep the fast machines.

        What earlier attempts have launched is taken over or ended. On any failure, kills included, all
        machines of this attempt are ended.

        Raises:
            InvalidParameterError, MissingResourceError: something cannot work; nothing was launched for it.
            ClusterStartError: AWS has not enough machines, or they did not come.
            ClusterLostError: too many ended meanwhile.
            ClusterError: AWS does not answer.
        """
        with self._guard.ending_on_failure():
            deadline = time.monotonic() + self.spec.start_timeout_seconds
            self.launch()
            self.wait_until_ready(deadline)
            return self.assemble()

    def launch(self) -> None:
        """Check what the specification names, then launch what is missing of it; does not wait for boots.

        Raises:
            as `start`.
        """
        from airflow_provider_ernest.clusters.ec2.adoption import adopt_earlier
        from airflow_provider_ernest.clusters.ec2.preflight import check_before_launch

        with self._guard.ending_on_failure():
            plan = check_before_launch(self.spec, ec2=self._ec2, ssm=lambda: self._client("ssm"))
            self._guard.check()
            kept, now = adopt_earlier(
                self._ec2,
                self._attempt,
                specification=specification_digest(self.spec),
                time_to_live_seconds=self.spec.time_to_live_seconds,
                expected=1 + self.workers_launched_at_most,
                sleep=self._guard.sleep,
            )
            launcher = self._launcher(
                plan, expires_at=now + timedelta(seconds=self.spec.time_to_live_seconds), present=kept
            )
            self._launch_missing(plan, launcher, kept)
            launcher.wait_until_visible()

    def look(self) -> Readiness:
        """Look once how far it has come.

        Raises:
            ClusterError, MissingResourceError: AWS does not answer, or a permission is missing.
        """
        return look(
            self._ec2,
            self.name,
            wanted=self.workers_launched_at_most,
            smallest=self.spec.smallest_machines,
            read_master=self._read_master,
        )

    def wait_until_ready(self, deadline: float | None = None) -> None:
        """Wait until all launched workers are alive. When the time is up, those that are must be enough.

        Args:
            deadline: of the clock `time.monotonic`; None for the specification's time from now on. One that
                has passed makes this look once and decide.

        Raises:
            as `start`.
        """
        if deadline is None:
            deadline = time.monotonic() + self.spec.start_timeout_seconds
        with self._guard.ending_on_failure():
            self._watch().wait_until_ready(
                wanted=self.workers_launched_at_most, smallest=self.spec.smallest_machines, deadline=deadline
            )

    def assemble(self) -> ClusterHandle:
        """Measure the workers, end the slowest and whatever is too many, and say what remains.

        Raises:
            as `start`.
        """
        from airflow_provider_ernest.clusters.ec2.measuring import Assembler

        with self._guard.ending_on_failure():
            return Assembler(
                spec=self.spec,
                watch=self._watch(),
                prices=self._prices,
                probe=self._probe,
                aws_conn_id=self._aws_conn_id,
                scores={},
            ).assemble()

    def abandon(self) -> None:
        """End this attempt's machines, from another thread or a signal handler. Quick: nothing is waited for.

        What `start` is doing meanwhile fails at its next step, and ends what else it has launched.
        """
        self._guard.abandon()

    def terminate(self) -> str:
        """End all machines of the cluster, whichever attempt launched them, and see that they end.

        Returns:
            What was done, for the log.

        Raises:
            ClusterError: some still live; names them.
            MissingResourceError: a permission is missing.
        """
        return terminate_cluster(self._ec2, self.name)

    @property
    def _ec2(self) -> Any:
        if self._ec2_client is None:
            self._ec2_client = self._client("ec2")
        return self._ec2_client

    def _watch(self) -> Watch:
        from airflow_provider_ernest.clusters.ec2.waiting import Watch

        return Watch(
            ec2=self._ec2,
            guard=self._guard,
            read_master=self._read_master,
            log=self._log,
            poll_seconds=self._poll_seconds,
        )

    def _launcher(self, plan: Plan, *, expires_at: datetime, present: Sequence[Instance]) -> Launcher:
        from airflow_provider_ernest.clusters.ec2.launching import Launcher

        return Launcher(
            self.spec,
            ec2=self._ec2,
            plan=plan,
            expires_at=expires_at,
            guard=self._guard,
            present=[instance.id for instance in present],
        )

    def _launch_missing(self, plan: Plan, launcher: Launcher, kept: list[Any]) -> None:
        from airflow_provider_ernest.clusters.ec2.secret import secret_of_master
        from airflow_provider_ernest.clusters.ec2.user_data import new_secret
        from airflow_provider_ernest.clusters.ec2.workers import Fleet

        master = next(iter(masters(kept)), None)
        secret = secret_of_master(self._ec2, master) if master else new_secret()
        fleet = Fleet(spec=self.spec, plan=plan, launcher=launcher, ec2=self._ec2, secret=secret)
        fleet.launch_workers(master or fleet.launch_master(), present=workers(kept))
