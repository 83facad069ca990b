"""The life of a Spark cluster on EC2: launch, wait, measure, cull, end; and its change of size.

Only AWS remembers a cluster: its machines are found by their tags. So a start reconciles what is there with
what is wanted, and any later try, in any process, may repeat it.
"""

from __future__ import annotations

import base64
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.ec2.aws_errors import explained
from airflow_provider_ernest.clusters.ec2.ending import (
    AttemptGuard,
    end_machines,
    settle_deadline,
    terminate_cluster,
)
from airflow_provider_ernest.clusters.ec2.identity import (
    TRY_TAG,
    ClusterIdentity,
    deployment_of,
    specification_digest,
)
from airflow_provider_ernest.clusters.ec2.instances import (
    COMING_OR_THERE,
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
from airflow_provider_ernest.clusters.ec2.launching import Launcher
from airflow_provider_ernest.clusters.ec2.readiness import (
    Means,
    Probe,
    Readiness,
    ask_master,
    console_lines,
    look,
    web_url,
)
from airflow_provider_ernest.clusters.ec2.requests import MASTER_PORT, WEB_PORT, Plan, new_secret, secret_of
from airflow_provider_ernest.clusters.ec2.spec import EC2, EC2ClusterSpec
from airflow_provider_ernest.clusters.probe import choose_culled, warnings_after
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterLostError,
    ClusterStartError,
    InvalidParameterError,
)
from airflow_provider_ernest.spark.machines import Bandwidth, Machine, MasterState

log = logging.getLogger(__name__)

_LEAST_SHARE_OF_LIFE = 0.5
_POLL_SECONDS = 1.0
# The master counts a worker as dead when its connection ends, at the latest when its heartbeats stop.
_FORGET_SECONDS = 90.0
_MASTER_SECONDS = 30.0
_BUSY_SECONDS = 60.0
_CONSOLES = 3
_LINES_IN_ERROR = 8

_Answer = TypeVar("_Answer")


class _Launches:
    """What a cluster's start and its resize share: a try that launches machines into it."""

    def __init__(self, spec: EC2ClusterSpec, attempt: Attempt, means: Means) -> None:
        self.spec = spec
        self.name = attempt.cluster_name
        self._means = means
        self._guard = AttemptGuard(attempt, means.client)
        self._overlooked: frozenset[str] = frozenset()
        """Ids of machines that had ended before this try began."""

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

    def _launch(
        self,
        plan: Plan,
        *,
        now: datetime,
        master: Instance | None,
        present: Sequence[Instance],
        every: Sequence[Instance],
    ) -> None:
        """Launch what is missing beside this master and the workers `present`; `every` machine may be old."""
        launcher = Launcher(
            self.spec,
            plan=plan,
            guard=self._guard,
            expires_at=now + timedelta(seconds=self.spec.time_to_live_seconds),
            secret=secret_of_master(self._guard.ec2, master) if master else new_secret(),
            present=[instance.id for instance in every],
        )
        launcher.launch_workers(master or launcher.launch_master(), present=present)
        launcher.wait_until_visible()

    def _instances(self, states: Sequence[str]) -> list[Instance]:
        """The cluster's machines in these states; see `instances.of_cluster`."""
        return self._patiently(lambda: of_cluster(self._guard.ec2, self.name, states=states))

    def _wait_until_ready(self, deadline: float) -> None:
        """Wait until all launched workers are alive; at the monotonic deadline those that are must suffice.

        Raises a ClusterStartError with what the machines said last.
        """
        last_message = ""
        while True:
            self._guard.check()
            readiness = self._patiently(
                lambda: look(self._guard.ec2, self.name, self.spec, overlooked=self._overlooked)
            )
            if readiness.message != last_message:
                self._means.log.info("Cluster %s: %s", self.name, readiness.message)
                last_message = readiness.message
            if readiness.ready:
                return
            if readiness.failed:
                raise self._failure(f"did not start: {readiness.failed}", readiness)
            if time.monotonic() >= deadline:
                break
            self._guard.sleep(min(self._means.poll_seconds, max(0.0, deadline - time.monotonic())))
        if not readiness.enough:
            raise self._failure(f"was not ready in time: {readiness.message}", readiness)
        late = readiness.waited_for
        self._means.log.warning(
            "The time is up; going on with %d workers, and ending %d that did not come: %s",
            *(readiness.alive, len(late), ", ".join(late)),
        )
        self._show_consoles(late)
        end_machines(self._guard.ec2, late)

    def _patiently(self, call: Callable[[], _Answer]) -> _Answer:
        """Call AWS, and again while it is busy: machines that boot or run are not ended for that."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                return call()
            except ClusterError as error:
                if time.monotonic() >= deadline:
                    raise
                self._means.log.warning("Trying again after: %s", error.message)
                self._guard.sleep(self._means.poll_seconds)

    def _failure(self, what: str, readiness: Readiness) -> ClusterStartError:
        self._guard.check()  # machines that were ended on purpose did not fail
        ended = [entry.split(" ", 1)[0] for entry in readiness.ended]
        suspects = [*ended, *readiness.waited_for] if readiness.failed else [*readiness.waited_for, *ended]
        last_words = self._show_consoles(suspects)
        remedy = "Look at what the machines said, in the task's log."
        if readiness.is_master_silent:
            remedy += (
                " If the master has booted: let the security groups admit this host to its ports "
                f"{MASTER_PORT} and {WEB_PORT}."
            )
        return ClusterStartError(f"Cluster {self.name} {what}.{last_words}", remedy=remedy)

    def _show_consoles(self, ids: Sequence[str]) -> str:
        """Log what up to three machines wrote to their consoles; returns the last lines for the error."""
        last_words = ""
        for instance_id in ids[:_CONSOLES]:
            lines = console_lines(self._guard.ec2, instance_id)
            told = "\n".join(lines) or "(nothing yet)"
            self._means.log.warning("Console of %s ends with:\n%s", instance_id, told)
            if lines and not last_words:
                last_words = f" {instance_id} said last:\n" + "\n".join(lines[-_LINES_IN_ERROR:]) + "\n"
        return last_words

    def _assemble(self, probe: Probe | None, scores: Mapping[str, Bandwidth]) -> ClusterHandle:
        """Make a cluster of the living machines: measure, choose, end the others, wait for the master.

        `scores` were measured before, by address. Raises a ClusterLostError where too few machines are left,
        or the master is gone.
        """
        spec, log, floor = self.spec, self._means.log, self.spec.cull_floor
        handle = self._handle_of_all(scores)
        if probe is not None and spec.probe_rounds > 0:
            handle = self._measured(handle, probe, scores)
        culled = choose_culled(
            handle.machines, keep=spec.machines, floor=floor, smallest=spec.smallest_machines
        )
        gone = {one.machine.host for one in culled}
        kept = tuple(machine for machine in handle.machines if machine.host not in gone)
        if len(kept) < spec.smallest_machines:
            raise ClusterLostError(
                f"{len(kept)} workers of cluster {self.name} are left, and at least {spec.smallest_machines} "
                "are needed.",
                remedy="Start it again; if spot instances are taken away so soon, use on-demand ones.",
            )
        if len(kept) < spec.machines:
            log.warning("Going on with %d workers of %d.", len(kept), spec.machines)
        for one in culled:
            log.info("Ending %s (%s): %s", one.machine.instance_id, one.machine.host, one.reason)
        for warning in warnings_after(kept, floor=floor):
            log.warning("%s", warning)
        self._end_all_but(handle.master, kept)
        return replace(self._handle(self._instances(COMING_OR_THERE), kept), culled=tuple(culled))

    def _handle_of_all(self, scores: Mapping[str, Bandwidth]) -> ClusterHandle:
        """Of the workers that both AWS and the Spark master know, matched by their private addresses.

        All are of the most frequent type: others can only be left over from a try that was cut off.
        """
        instances, state = self._observe()
        prices = self._means.prices
        registered = {machine.host: machine for machine in state.machines}
        there = [i for i in workers(instances) if i.private_address in registered]
        kept_type = [name for name, _ in Counter(i.instance_type for i in there).most_common(1)]
        machines = [
            replace(
                registered[one.private_address],
                instance_id=one.id,
                market=one.market,
                price_per_hour=prices.per_hour(one.instance_type, one.market, one.zone) if prices else None,
            )
            for one in there
            if one.usable and one.instance_type in kept_type
        ]
        return self._handle(instances, _scored(machines, scores))

    def _observe(self) -> tuple[list[Instance], MasterState]:
        deadline = time.monotonic() + _MASTER_SECONDS
        while True:
            self._guard.check()
            instances = self._instances(COMING_OR_THERE)
            state, problem = ask_master(instances)
            if state is not None:
                return instances, state
            if master_of(instances) is None or time.monotonic() > deadline:
                raise ClusterLostError(
                    f"The master of cluster {self.name} is lost: {problem}.",
                    remedy="Start the cluster again.",
                )
            self._guard.sleep(self._means.poll_seconds)

    def _handle(self, instances: Sequence[Instance], machines: Sequence[Machine]) -> ClusterHandle:
        """Of a cluster of these workers; raises where the master's machine or all workers have ended."""
        spec, means = self.spec, self._means
        master = master_of(instances)
        if master is None or not machines:
            raise ClusterLostError(
                f"Cluster {self.name} has lost its {'workers' if master else 'master'}.",
                remedy="Look for the reason in the task's log and the EC2 console, and start it again.",
            )
        by_id = {instance.id: instance for instance in instances}
        kept = [by_id[machine.instance_id] for machine in machines if machine.instance_id]
        types = {instance.instance_type for instance in kept}
        expiries = [instance.expires_at for instance in (master, *kept) if instance.expires_at is not None]
        # Not the price of a worker, which the user may have set.
        listed = means.prices.listed_per_hour if means.prices else None
        return ClusterHandle(
            kind=EC2,
            name=self.name,
            master_url=f"spark://{master.private_address}:{MASTER_PORT}",
            web_url=web_url(master),
            machines=tuple(machines),
            instance_type=types.pop() if len(types) == 1 else spec.instance_type,
            cores_per_machine=min(machine.cores for machine in machines),
            expires_at=min(expiries).isoformat(timespec="seconds") if expiries else None,
            python=spec.python,
            authenticates=True,
            encrypts=spec.network_encryption,
            driver_host=spec.driver_host,
            aws_conn_id=means.aws_conn_id,
            region=self._guard.ec2.meta.region_name,
            master=Machine(
                host=master.private_address,
                cores=0,
                memory_megabytes=0,
                instance_id=master.id,
                market=master.market,
                price_per_hour=listed(master.instance_type, master.market, master.zone) if listed else None,
            ),
        )

    def _measured(
        self, handle: ClusterHandle, probe: Probe, scores: Mapping[str, Bandwidth]
    ) -> ClusterHandle:
        """The machines that are there after the probe, with its measurements if it worked."""
        measured: Mapping[str, Bandwidth] = {}
        try:
            measured = probe(handle)
        except Exception as error:
            self._guard.check()  # it failed because its machines were ended
            self._means.log.warning(
                "THE BANDWIDTH PROBE FAILED, so slow machines may be among those that are kept: %s", error
            )
        self._guard.check()
        now_there = self._handle_of_all(scores)
        return replace(now_there, machines=_scored(now_there.machines, measured))

    def _end_all_but(self, master: Machine | None, kept: Sequence[Machine]) -> None:
        """End everything else with the cluster's tag, lost launches included."""
        keepers = {machine.instance_id for machine in (*kept, *([master] if master else []))}
        hosts = {machine.host for machine in kept}
        deadline = time.monotonic() + _FORGET_SECONDS
        while True:
            found = self._instances(TO_BE_ENDED)
            end_machines(self._guard.ec2, [i.id for i in found if i.id not in keepers])
            state, _ = ask_master(found)
            dying = {machine.host for machine in state.machines} - hosts if state else set()
            if state is not None and not dying:
                return
            if time.monotonic() > deadline:
                self._means.log.warning("The master still counts on ended machines: %s", ", ".join(dying))
                return
            self._guard.sleep(self._means.poll_seconds)


def _scored(machines: Sequence[Machine], measured: Mapping[str, Bandwidth]) -> tuple[Machine, ...]:
    return tuple(
        replace(machine, bandwidth=measured.get(machine.host, machine.bandwidth)) for machine in machines
    )


class EC2Cluster(_Launches):
    """A cluster on EC2 that a task instance starts.

    `launch`, `wait_until_ready` and `assemble` may run in different processes, with objects made of the same
    arguments. On failure, kills included, each ends all machines of the try and raises

    * InvalidParameterError, MissingResourceError: something cannot work; nothing was launched for it.
    * ClusterStartError: AWS does not have enough machines, or they did not come.
    * ClusterLostError: too many ended meanwhile.
    * ClusterError: AWS does not answer.
    """

    def __init__(self, spec: EC2ClusterSpec, identity: ClusterIdentity, means: Means) -> None:
        super().__init__(spec, Attempt.of_start(identity), means)

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
            kept, now = self._adopt_earlier()
            master = next(iter(masters(kept)), None)
            self._launch(plan, now=now, master=master, present=workers(kept), every=kept)

    def wait_until_ready(self, deadline: float) -> None:
        """Wait until all launched workers are alive; at the monotonic deadline, those that are must suffice.

        After the deadline, looks once and decides.
        """
        with self._guard.ending_on_failure():
            self._wait_until_ready(deadline)

    def assemble(self) -> ClusterHandle:
        """Measure the workers, end the slowest and whatever is too many, and say what remains."""
        with self._guard.ending_on_failure():
            return self._assemble(self._means.probe, {})

    def terminate(self) -> str:
        """End all machines of the cluster, of whichever attempt; see `ending.terminate_cluster`."""
        return terminate_cluster(self._guard.ec2, self.name)

    def _adopt_earlier(self) -> tuple[list[Instance], datetime]:
        """Take over the useful machines of earlier tries, and end the others.

        Useful are those of the same specification that are pending or running and have more than half of
        their time to live left; workers only with the master that they were launched for. They get this try's
        tag, so that a late end of the earlier one spares them. Returns a master and its workers, or nothing,
        and the time by AWS's clock.
        """
        guard, spec = self._guard, self.spec
        # For some seconds AWS may not show what a killed try just launched: a later try looks again.
        is_first = guard.attempt.identity.try_number <= 1
        deadline = time.monotonic() if is_first else settle_deadline()
        while True:
            found, now = told_of_cluster(guard.ec2, self.name, states=TO_BE_ENDED)
            if len(found) > spec.launched_machines or time.monotonic() >= deadline:
                break
            guard.sleep(_POLL_SECONDS)
        digest, least_seconds = specification_digest(spec), _LEAST_SHARE_OF_LIFE * spec.time_to_live_seconds
        useful = [
            instance
            for instance in found
            if instance.usable
            and instance.specification == digest
            and instance.expires_at is not None
            and (instance.expires_at - now).total_seconds() > least_seconds
        ]
        kept = masters(useful)[-1:]
        # Workers that were launched before the last master look for another one.
        kept += [worker for worker in workers(useful) if kept and worker.launched_at >= kept[0].launched_at]
        kept_ids = [instance.id for instance in kept]
        useless = [instance.id for instance in found if instance.id not in kept_ids]
        if useless:
            log.info("Ending %d machines of earlier attempts: %s", len(useless), ", ".join(useless))
            end_machines(guard.ec2, useless)
        if kept:
            log.info("Taking over %d machines of earlier attempts: %s", len(kept), ", ".join(kept_ids))
            add_tags(guard.ec2, kept_ids, {TRY_TAG: guard.attempt.number})
        return kept, now


class ClusterResize(_Launches):
    """Grows or shrinks a running cluster to a size, so that the next job uses machines already paid for.

    New machines have the old ones' type, join the same master, carry the cluster's tag, so that its teardown
    ends them too, and live as long as `spec` says from now on. If growing fails, they are ended and the old
    ones stay. Repeatable: machines of an earlier try count.

    Of `spec`, the number and type of machines do not count. If `means` have a probe, old and new machines are
    measured together and the slowest are ended; otherwise the handle's scores decide.

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
            raise InvalidParameterError("size", size, "is not a number of workers", remedy="Give at least 1.")
        if handle.kind != EC2:
            raise ClusterError(
                f"Cluster {handle.name} of kind {handle.kind!r} is not on EC2.",
                remedy="Pass the output of the task that started the EC2 cluster unchanged.",
            )
        deployment_of(handle.name)
        smallest = spec.smallest_acceptable
        resized = replace(
            spec,
            machines=size,
            instance_type=handle.instance_type,
            fallback_instance_types=(),
            smallest_acceptable=smallest if smallest is not None and smallest <= size else None,
            probe_rounds=spec.probe_rounds if means.probe is not None else 0,
            # Daemons and drivers must agree on these, as the running cluster has them.
            network_encryption=handle.encrypts,
            python=handle.python or spec.python,
            driver_host=handle.driver_host,
        )
        attempt = Attempt.of_resize(identity, handle.name)
        super().__init__(resized, attempt, replace(means, aws_conn_id=handle.aws_conn_id))
        self._before = handle

    def run(self) -> ClusterHandle:
        """Resize it, and wait until it has the size; raises as `EC2Cluster`."""
        spec, before = self.spec, self._before
        with self._guard.ending_on_failure():
            every = of_cluster(self._guard.ec2, self.name, states=())
            self._overlooked = frozenset(instance.id for instance in every if not instance.usable)
            master = _require_master(every, self.name)
            present = [w for w in workers(every) if w.usable and w.instance_type == spec.instance_type]
            self._means.log.info("Cluster %s: %d workers to %d", self.name, len(present), spec.machines)
            grows = len(present) < spec.machines
            if grows:
                deadline = time.monotonic() + spec.start_timeout_seconds
                plan = self._checked()
                # The machines of earlier tries become this one's, so that it ends them if it fails.
                known = {machine.instance_id for machine in before.machines}
                strays = [instance.id for instance in present if instance.id not in known]
                add_tags(self._guard.ec2, strays, {TRY_TAG: self._guard.attempt.number})
                self._launch(plan, now=master.told_at, master=master, present=present, every=every)
                self._wait_until_ready(deadline)
            scores = {m.host: m.bandwidth for m in before.machines if m.bandwidth is not None}
            handle = self._assemble(self._means.probe if grows else None, scores)
            return replace(handle, culled=(*before.culled, *handle.culled))


def cluster_secret(ec2: Any, cluster_name: str) -> str:
    """The secret of a running cluster. Do not log it, and keep it out of command lines.

    It is random, and lives in the machines' user-data only, in no tag, log, file or XCom: whoever may read
    that attribute of the master's machine can submit to the cluster.

    Needs the permissions ec2:DescribeInstances and ec2:DescribeInstanceAttribute. Raises a ClusterLostError
    if the cluster has no master any more.
    """
    return secret_of_master(ec2, _require_master(of_cluster(ec2, cluster_name), cluster_name))


def secret_of_master(ec2: Any, master: Instance) -> str:
    """The secret in a master's user-data; raises as `cluster_secret`."""
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
