"""The life of a Spark cluster on EC2: launch, wait, measure, end.

AWS alone remembers a cluster: its machines are found by their tags. So starting one is reconciling what is
there with what is wanted, and may be repeated by any later attempt, in any process.
"""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.base import EC2
from airflow_provider_ernest.clusters.ec2 import ending
from airflow_provider_ernest.clusters.ec2.aws_errors import explained
from airflow_provider_ernest.clusters.ec2.ending import AttemptGuard, end_machines, terminate_cluster
from airflow_provider_ernest.clusters.ec2.identity import (
    TRY_TAG,
    Attempt,
    deployment_of,
    specification_digest,
)
from airflow_provider_ernest.clusters.ec2.instances import (
    TO_BE_ENDED,
    Instance,
    add_tags,
    masters,
    of_cluster,
    told_of_cluster,
    workers,
)
from airflow_provider_ernest.clusters.ec2.readiness import Readiness, ReadMaster, look, master_of
from airflow_provider_ernest.exceptions import ClusterError, ClusterLostError
from airflow_provider_ernest.spark.master import read_state

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
    from airflow_provider_ernest.clusters.ec2.launching import Launcher
    from airflow_provider_ernest.clusters.ec2.measuring import Probe
    from airflow_provider_ernest.clusters.ec2.preflight import Plan
    from airflow_provider_ernest.clusters.ec2.prices import PriceBook
    from airflow_provider_ernest.clusters.ec2.readiness import Watch
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec


# ---------------------------------------------------------------------------
# A cluster that is known by its handle alone, to whoever ends it in another process.


ClientMaker = Callable[[str], Any]
"""Makes a boto3 client of a service by its name ("ec2", "ssm"), with retries in mode "standard"."""


class RunningCluster:
    """A cluster on EC2 that is known by its handle.

    Args:
        handle: of the cluster.
        client: makes the boto3 clients.

    Raises:
        ClusterError: the handle is that of another kind of cluster.
        InvalidParameterError: its name is none that a cluster of this package has.
    """

    def __init__(self, handle: ClusterHandle, *, client: ClientMaker) -> None:
        if handle.kind != EC2:
            raise ClusterError(
                f"Cluster {handle.name} of kind {handle.kind!r} is not on EC2.",
                remedy="Pass the output of the task that started the EC2 cluster unchanged.",
            )
        deployment_of(handle.name)
        self.handle = handle
        self._client = client

    def start(self) -> ClusterHandle:
        """It has been started already: see that its machines are there.

        Raises:
            ClusterLostError: some have ended.
        """
        found = of_cluster(self._client("ec2"), self.handle.name)
        there = {instance.id for instance in found if instance.usable}
        if not self._instance_ids <= there:
            lost = ", ".join(sorted(self._instance_ids - there))
            raise ClusterLostError(
                f"Cluster {self.handle.name} has lost machines: {lost}.",
                remedy="Start it again by the task that started it.",
            )
        return self.handle

    def terminate(self) -> str:
        """End all machines of the cluster; see `EC2Cluster.terminate`.

        What came through XCom is not believed: a machine is ended for its tag, not for its id in the handle.
        """
        return terminate_cluster(self._client("ec2"), self.handle.name, awaited=self._instance_ids)

    @property
    def _instance_ids(self) -> set[str]:
        machines = (*self.handle.machines, self.handle.master)
        return {machine.instance_id for machine in machines if machine and machine.instance_id}


# ---------------------------------------------------------------------------
# The secret that a cluster's daemons and applications share.
#
# It is random, and it lives in the machines' user-data only: whoever may read that attribute of the
# master's
# machine (ec2:DescribeInstanceAttribute) can submit to the cluster. It is in no tag, log, file or XCom.


def cluster_secret(ec2: Any, cluster_name: str) -> str:
    """The secret of a running cluster. Do not log it, and keep it out of command lines.

    Needs the permissions ec2:DescribeInstances and ec2:DescribeInstanceAttribute.

    Args:
        ec2: a boto3 client.
        cluster_name: `ClusterHandle.name`.

    Raises:
        ClusterLostError: the cluster has no master any more.
        ClusterError, MissingResourceError: AWS does not answer, or a permission is missing.
    """
    master = master_of(of_cluster(ec2, cluster_name))
    if master is None:
        raise ClusterLostError(
            f"Cluster {cluster_name} has no master any more.", remedy="Start the cluster again."
        )
    return secret_of_master(ec2, master)


def secret_of_master(ec2: Any, master: Instance) -> str:
    """The secret in a master's user-data; raises as `cluster_secret`."""
    from airflow_provider_ernest.clusters.ec2.user_data import secret_of

    with explained("read the user-data of the master's machine"):
        answer = ec2.describe_instance_attribute(InstanceId=master.id, Attribute="userData")
    encoded = answer.get("UserData", {}).get("Value", "")
    return secret_of(base64.b64decode(encoded).decode())


# ---------------------------------------------------------------------------


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
        from airflow_provider_ernest.clusters.ec2.readiness import Watch

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
        from airflow_provider_ernest.clusters.ec2.launching import Fleet
        from airflow_provider_ernest.clusters.ec2.user_data import new_secret

        master = next(iter(masters(kept)), None)
        secret = secret_of_master(self._ec2, master) if master else new_secret()
        fleet = Fleet(spec=self.spec, plan=plan, launcher=launcher, ec2=self._ec2, secret=secret)
        fleet.launch_workers(master or fleet.launch_master(), present=workers(kept))


# ---------------------------------------------------------------------------
# What a new attempt does with the machines of earlier ones: take them over, or end them.


log = logging.getLogger(__name__)

_LEAST_SHARE_OF_LIFE = 0.5
_POLL_SECONDS = 1.0


def adopt_earlier(
    ec2: Any,
    attempt: Attempt,
    *,
    specification: str,
    time_to_live_seconds: float,
    expected: int,
    sleep: Callable[[float], None],
) -> tuple[list[Instance], datetime]:
    """Take over what earlier attempts have launched, and end what is of no use.

    Machines are of use that were asked for with the same specification, come or are there, and have more than
    half of their time to live left; workers only together with the master that they were launched for. They
    are tagged as this attempt's, so that a late end of the earlier one spares them.

    AWS may show for some seconds nothing of what an attempt has launched that was killed just now. So a
    later try looks again for `ending.SETTLE_SECONDS` before it takes too few machines for all there are.

    Args:
        ec2: a boto3 client.
        attempt: this one.
        specification: digest of what is wanted.
        time_to_live_seconds: of new machines.
        expected: how many machines a whole launch has.
        sleep: waits between two looks.

    Returns:
        The machines taken over, a master and its workers or nothing; and what time it is, by AWS's clock.

    Raises:
        ClusterError, MissingResourceError: AWS does not answer, or a permission is missing.
    """
    found, now = _settled(ec2, attempt, expected=expected, sleep=sleep)
    useful = [
        instance
        for instance in found
        if instance.usable
        and instance.specification == specification
        and instance.expires_at is not None
        and (instance.expires_at - now).total_seconds() > _LEAST_SHARE_OF_LIFE * time_to_live_seconds
    ]
    kept = _of_one_master(useful)
    kept_ids = {instance.id for instance in kept}
    useless = [instance for instance in found if instance.id not in kept_ids]
    if useless:
        ids = [instance.id for instance in useless]
        log.info("Ending %d machines of earlier attempts: %s", len(ids), ", ".join(ids))
        end_machines(ec2, ids)
    if kept:
        ids = [instance.id for instance in kept]
        log.info("Taking over %d machines of earlier attempts: %s", len(ids), ", ".join(ids))
        add_tags(ec2, ids, {TRY_TAG: attempt.number})
    return kept, now


def _settled(
    ec2: Any, attempt: Attempt, *, expected: int, sleep: Callable[[float], None]
) -> tuple[list[Instance], datetime]:
    """The machines of earlier attempts, once AWS has had the time to show all of them."""
    deadline = time.monotonic() + (ending.SETTLE_SECONDS if attempt.identity.try_number > 1 else 0.0)
    while True:
        found, now = told_of_cluster(ec2, attempt.cluster_name, states=TO_BE_ENDED)
        if len(found) >= expected or time.monotonic() >= deadline:
            return found, now
        sleep(_POLL_SECONDS)


def _of_one_master(useful: Sequence[Instance]) -> list[Instance]:
    """The master launched last and the workers launched after it; those of another one look for that."""
    candidates = masters(useful)
    if not candidates:
        return []
    master = candidates[-1]
    return [master, *(worker for worker in workers(useful) if worker.launched_at >= master.launched_at)]
