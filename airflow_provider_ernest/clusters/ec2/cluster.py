"""The life of a Spark cluster on EC2: launch, wait, measure, end; and its change of size.

Only AWS remembers a cluster: its machines are found by their tags. So a start reconciles what is there with
what is wanted, and any later try, in any process, may repeat it.
"""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.ec2 import ending
from airflow_provider_ernest.clusters.ec2.aws_errors import explained
from airflow_provider_ernest.clusters.ec2.ending import AttemptGuard, end_machines, terminate_cluster
from airflow_provider_ernest.clusters.ec2.identity import (
    TRY_TAG,
    deployment_of,
    specification_digest,
)
from airflow_provider_ernest.clusters.ec2.instances import (
    TO_BE_ENDED,
    Attempt,
    Instance,
    add_tags,
    master_of,
    masters,
    of_cluster,
    told_of_cluster,
    workers,
)
from airflow_provider_ernest.clusters.ec2.readiness import ClientMaker, Means, Readiness, Watch
from airflow_provider_ernest.clusters.ec2.spec import EC2
from airflow_provider_ernest.exceptions import ClusterError, ClusterLostError, InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
    from airflow_provider_ernest.clusters.ec2.launching import Launcher
    from airflow_provider_ernest.clusters.ec2.requests import Plan
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

log = logging.getLogger(__name__)

_LEAST_SHARE_OF_LIFE = 0.5
_POLL_SECONDS = 1.0


class _Launches:
    """What a cluster's start and its resize share: a try that launches machines into it."""

    def __init__(self, spec: EC2ClusterSpec, attempt: Attempt, means: Means) -> None:
        self.spec = spec
        self.name = attempt.cluster_name
        self._means = means
        self._guard = AttemptGuard(attempt, means.client)

    def abandon(self) -> None:
        """End this try's machines, from another thread or a signal handler. Quick: nothing is waited for.

        What it is doing meanwhile fails at its next step, and ends what else it has launched.
        """
        self._guard.abandon()

    def _checked(self) -> Plan:
        from airflow_provider_ernest.clusters.ec2.preflight import check_before_launch

        plan = check_before_launch(self.spec, ec2=self._guard.ec2, ssm=lambda: self._means.client("ssm"))
        self._guard.check()
        return plan

    def _launcher(
        self, plan: Plan, *, now: datetime, master: Instance | None, present: Sequence[Instance]
    ) -> Launcher:
        from airflow_provider_ernest.clusters.ec2.launching import Launcher
        from airflow_provider_ernest.clusters.ec2.user_data import new_secret

        return Launcher(
            self.spec,
            plan=plan,
            guard=self._guard,
            expires_at=now + timedelta(seconds=self.spec.time_to_live_seconds),
            secret=secret_of_master(self._guard.ec2, master) if master else new_secret(),
            present=[instance.id for instance in present],
        )


class EC2Cluster(_Launches):
    """A cluster on EC2 that a task instance starts.

    `launch`, `wait_until_ready` and `assemble` may run in different processes, with objects made of the same
    arguments. On failure, kills included, each ends all machines of the try and raises

    * InvalidParameterError, MissingResourceError: something cannot work; nothing was launched for it.
    * ClusterStartError: AWS has not enough machines, or they did not come.
    * ClusterLostError: too many ended meanwhile.
    * ClusterError: AWS does not answer.

    Args:
        spec: what to start.
        identity: of the task instance, with the number of its try.
        means: clients, prices, probe and log.
    """

    def __init__(self, spec: EC2ClusterSpec, identity: ClusterIdentity, means: Means) -> None:
        super().__init__(spec, Attempt.of_start(identity), means)
        self._watch = Watch(spec=spec, guard=self._guard, means=means)

    def start(self) -> ClusterHandle:
        """Launch what earlier tries have not, wait until the cluster is ready, and keep the fast machines."""
        with self._guard.ending_on_failure():
            deadline = time.monotonic() + self.spec.start_timeout_seconds
            self.launch()
            self.wait_until_ready(deadline)
            return self.assemble()

    def launch(self) -> None:
        """Check what the specification names, then launch what is missing of it; does not wait for boots."""
        with self._guard.ending_on_failure():
            plan = self._checked()
            kept, now = _adopt_earlier(self._guard, self.spec)
            master = next(iter(masters(kept)), None)
            launcher = self._launcher(plan, now=now, master=master, present=kept)
            launcher.launch_workers(master or launcher.launch_master(), present=workers(kept))
            launcher.wait_until_visible()

    def look(self) -> Readiness:
        """Look once how far it has come."""
        return self._watch.look()

    def wait_until_ready(self, deadline: float | None = None) -> None:
        """Wait until all launched workers are alive. At the deadline, those that are must be enough.

        The deadline is one of `time.monotonic`; None for the specification's time from now on. After it,
        looks once and decides.
        """
        if deadline is None:
            deadline = time.monotonic() + self.spec.start_timeout_seconds
        with self._guard.ending_on_failure():
            self._watch.wait_until_ready(deadline)

    def assemble(self) -> ClusterHandle:
        """Measure the workers, end the slowest and whatever is too many, and say what remains."""
        from airflow_provider_ernest.clusters.ec2.measuring import Assembler

        with self._guard.ending_on_failure():
            return Assembler(watch=self._watch, scores={}).assemble()

    def terminate(self) -> str:
        """End all machines of the cluster, of whichever attempt; see `ending.terminate_cluster`."""
        return terminate_cluster(self._guard.ec2, self.name)


def _adopt_earlier(guard: AttemptGuard, spec: EC2ClusterSpec) -> tuple[list[Instance], datetime]:
    """Take over the useful machines of earlier tries, and end the others.

    Useful are those of the same specification that are pending or running and have more than half of their
    time to live left; workers only with the master that they were launched for. They get this try's tag, so
    that a late end of the earlier one spares them. Returns a master and its workers, or nothing, and the time
    by AWS's clock.
    """
    found, now = _settled(guard, expected=1 + spec.launched_machines)
    digest, least_seconds = specification_digest(spec), _LEAST_SHARE_OF_LIFE * spec.time_to_live_seconds
    useful = [
        instance
        for instance in found
        if instance.usable
        and instance.specification == digest
        and instance.expires_at is not None
        and (instance.expires_at - now).total_seconds() > least_seconds
    ]
    kept = _of_one_master(useful)
    kept_ids = [instance.id for instance in kept]
    useless = [instance.id for instance in found if instance.id not in kept_ids]
    if useless:
        log.info("Ending %d machines of earlier attempts: %s", len(useless), ", ".join(useless))
        end_machines(guard.ec2, useless)
    if kept:
        log.info("Taking over %d machines of earlier attempts: %s", len(kept), ", ".join(kept_ids))
        add_tags(guard.ec2, kept_ids, {TRY_TAG: guard.attempt.number})
    return kept, now


def _settled(guard: AttemptGuard, *, expected: int) -> tuple[list[Instance], datetime]:
    """The machines of earlier tries.

    For some seconds AWS may not show what a killed try just launched. So a later try looks again for
    `ending.SETTLE_SECONDS` before it believes that there are too few.
    """
    is_first = guard.attempt.identity.try_number <= 1
    deadline = time.monotonic() + (0.0 if is_first else ending.SETTLE_SECONDS)
    while True:
        found, now = told_of_cluster(guard.ec2, guard.attempt.cluster_name, states=TO_BE_ENDED)
        if len(found) >= expected or time.monotonic() >= deadline:
            return found, now
        guard.sleep(_POLL_SECONDS)


def _of_one_master(useful: Sequence[Instance]) -> list[Instance]:
    """The master launched last and the workers launched after it; others look for another master."""
    candidates = masters(useful)
    if not candidates:
        return []
    master = candidates[-1]
    return [master, *(worker for worker in workers(useful) if worker.launched_at >= master.launched_at)]


class ClusterResize(_Launches):
    """Grows or shrinks a running cluster to a size, so that the next job uses machines already paid for.

    New machines have the old ones' type, join the same master, carry the cluster's tag, so that its teardown
    ends them too, and live as long as `spec` says from now on. If growing fails, they are ended and the old
    ones stay. Repeatable: machines of an earlier try count.

    Args:
        handle: of the running cluster.
        size: number of workers afterwards.
        spec: how new machines are launched; its number and type of machines do not count.
        identity: of the task instance that resizes, with the number of its try.
        means: clients, prices, probe and log. With a probe, old and new machines are measured together and
            the slowest are ended; without, the handle's scores decide.

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
        means: Means,
    ) -> None:
        if size < 1:
            raise InvalidParameterError("size", size, "is no number of workers", remedy="Give at least 1.")
        _require_ours(handle)
        super().__init__(
            _resized(spec, handle, size, probing=means.probe is not None),
            Attempt.of_resize(identity, handle.name),
            replace(means, aws_conn_id=handle.aws_conn_id),
        )
        self._handle = handle

    def run(self) -> ClusterHandle:
        """Resize it, and wait until it has the size; raises as `EC2Cluster`."""
        from airflow_provider_ernest.clusters.ec2.measuring import Assembler

        with self._guard.ending_on_failure():
            every = of_cluster(self._guard.ec2, self.name, states=())
            master = _require_master(every, self.name)
            present = [w for w in workers(every) if w.usable and w.instance_type == self.spec.instance_type]
            self._means.log.info("Cluster %s: %d workers to %d", self.name, len(present), self.spec.machines)
            grows = len(present) < self.spec.machines
            watch = Watch(
                spec=self.spec,
                guard=self._guard,
                means=self._means if grows else replace(self._means, probe=None),
                overlooked=frozenset(instance.id for instance in every if not instance.usable),
            )
            if grows:
                self._grow(watch, master, present, every=every)
            scores = {m.host: m.bandwidth for m in self._handle.machines if m.bandwidth is not None}
            handle = Assembler(watch=watch, scores=scores).assemble()
            return replace(handle, culled=(*self._handle.culled, *handle.culled))

    def _grow(
        self, watch: Watch, master: Instance, present: Sequence[Instance], *, every: Sequence[Instance]
    ) -> None:
        deadline = time.monotonic() + self.spec.start_timeout_seconds
        plan = self._checked()
        # The machines of earlier tries become this one's, so that it ends them if it fails.
        known = {machine.instance_id for machine in self._handle.machines}
        strays = [instance.id for instance in present if instance.id not in known]
        add_tags(self._guard.ec2, strays, {TRY_TAG: self._guard.attempt.number})
        launcher = self._launcher(plan, now=master.told_at, master=master, present=every)
        launcher.launch_workers(master, present=present)
        launcher.wait_until_visible()
        watch.wait_until_ready(deadline)


def _resized(spec: EC2ClusterSpec, handle: ClusterHandle, size: int, *, probing: bool) -> EC2ClusterSpec:
    smallest = spec.smallest_acceptable
    return replace(
        spec,
        machines=size,
        instance_type=handle.instance_type,
        fallback_instance_types=(),
        smallest_acceptable=smallest if smallest is not None and smallest <= size else None,
        probe_rounds=spec.probe_rounds if probing else 0,
        # Daemons and drivers must agree on these, as the running cluster has them.
        network_encryption=handle.encrypts,
        python=handle.python or spec.python,
        driver_host=handle.driver_host,
    )


class RunningCluster:
    """A cluster on EC2 known by its handle alone, to end it from another process.

    Raises:
        ClusterError: the handle is that of another kind of cluster.
        InvalidParameterError: its name is none of this package's.
    """

    def __init__(self, handle: ClusterHandle, *, client: ClientMaker) -> None:
        _require_ours(handle)
        self._handle = handle
        self._client = client

    def terminate(self) -> str:
        """End all machines with the cluster's tag; ids came through XCom and are not trusted."""
        machines = (*self._handle.machines, self._handle.master)
        ids = {machine.instance_id for machine in machines if machine and machine.instance_id}
        return terminate_cluster(self._client("ec2"), self._handle.name, awaited=ids)


def _require_ours(handle: ClusterHandle) -> None:
    if handle.kind != EC2:
        raise ClusterError(
            f"Cluster {handle.name} of kind {handle.kind!r} is not on EC2.",
            remedy="Pass the output of the task that started the EC2 cluster unchanged.",
        )
    deployment_of(handle.name)


# The secret that a cluster's daemons and applications share is random, and it lives in the machines'
# user-data only: whoever may read that attribute of the master's machine (ec2:DescribeInstanceAttribute) can
# submit to the cluster. It is in no tag, log, file or XCom.


def cluster_secret(ec2: Any, cluster_name: str) -> str:
    """The secret of a running cluster. Do not log it, and keep it out of command lines.

    Needs the permissions ec2:DescribeInstances and ec2:DescribeInstanceAttribute.

    Raises:
        ClusterLostError: the cluster has no master any more.
        ClusterError, MissingResourceError: AWS does not answer, or a permission is missing.
    """
    return secret_of_master(ec2, _require_master(of_cluster(ec2, cluster_name), cluster_name))


def secret_of_master(ec2: Any, master: Instance) -> str:
    """The secret in a master's user-data; raises as `cluster_secret`."""
    from airflow_provider_ernest.clusters.ec2.user_data import secret_of

    with explained("read the user-data of the master's machine"):
        answer = ec2.describe_instance_attribute(InstanceId=master.id, Attribute="userData")
    encoded = answer.get("UserData", {}).get("Value", "")
    return secret_of(base64.b64decode(encoded).decode())


def _require_master(instances: Sequence[Instance], cluster_name: str) -> Instance:
    master = master_of(instances)
    if master is None:
        raise ClusterLostError(
            f"Cluster {cluster_name} has no master any more.", remedy="Start the cluster again."
        )
    return master
