"""Keep the fast machines of a cluster, end the others, and return the handle of the rest."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from airflow_provider_ernest.clusters.base import ClusterHandle, CulledMachine
from airflow_provider_ernest.clusters.ec2.ending import end_machines
from airflow_provider_ernest.clusters.ec2.instances import (
    COMING_OR_THERE,
    TO_BE_ENDED,
    Instance,
    master_of,
    workers,
)
from airflow_provider_ernest.clusters.ec2.readiness import Probe, Watch, ask_master, web_url
from airflow_provider_ernest.clusters.ec2.spec import EC2
from airflow_provider_ernest.clusters.ec2.user_data import MASTER_PORT
from airflow_provider_ernest.exceptions import ClusterLostError, InvalidParameterError
from airflow_provider_ernest.spark.machines import Bandwidth, Machine, relative_to_median
from airflow_provider_ernest.spark.master import MasterState
from airflow_provider_ernest.words import as_percent

# The master counts a worker as dead when its connection ends, at the latest when its heartbeats stop.
_FORGET_SECONDS = 90.0
_MASTER_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class Assembler:
    """Makes a cluster of the living machines; `scores` were measured before, by address."""

    watch: Watch
    scores: Mapping[str, Bandwidth]

    def assemble(self) -> ClusterHandle:
        """Measure, choose, end the others, and wait until the master has noticed.

        Raises:
            ClusterLostError: too few machines are left, or the master is gone.
        """
        spec, probe, log = self.watch.spec, self.watch.means.probe, self.watch.means.log
        handle = self._handle_of_all()
        if probe is not None and spec.probe_rounds > 0:
            handle = self._measured(handle, probe)
        smallest = min(spec.smallest_machines, spec.machines)
        culled = choose_culled(handle.machines, keep=spec.machines, floor=spec.cull_floor, smallest=smallest)
        gone = {one.machine.host for one in culled}
        kept = tuple(machine for machine in handle.machines if machine.host not in gone)
        self._require_enough(kept)
        for one in culled:
            log.info("Ending %s (%s): %s", one.machine.instance_id, one.machine.host, one.reason)
        for warning in warnings_after(kept, floor=spec.cull_floor):
            log.warning("%s", warning)
        self._end_all_but(handle.master, kept)
        instances = self.watch.instances(COMING_OR_THERE)
        return replace(self._handle(instances, kept), culled=tuple(culled))

    def _handle_of_all(self) -> ClusterHandle:
        instances, state = self._observe()
        return self._handle(instances, _scored(self._workers(instances, state), self.scores))

    def _observe(self) -> tuple[list[Instance], MasterState]:
        deadline = time.monotonic() + _MASTER_SECONDS
        while True:
            self.watch.guard.check()
            instances = self.watch.instances(COMING_OR_THERE)
            state, problem = ask_master(instances, self.watch.means.read_master)
            if state is not None:
                return instances, state
            if master_of(instances) is None or time.monotonic() > deadline:
                raise ClusterLostError(
                    f"The master of cluster {self.watch.cluster_name} is lost: {problem}.",
                    remedy="Start the cluster again.",
                )
            self.watch.guard.sleep(self.watch.means.poll_seconds)

    def _workers(self, instances: Sequence[Instance], state: MasterState) -> tuple[Machine, ...]:
        """The workers that both AWS and the Spark master know, matched by their private addresses.

        All are of the most frequent type: others can only be left over from a try that was cut off.
        """
        prices = self.watch.means.prices
        registered = {machine.host: machine for machine in state.machines}
        there = [i for i in workers(instances) if i.private_address in registered]
        kept_type = [name for name, _ in Counter(i.instance_type for i in there).most_common(1)]
        return tuple(
            replace(
                registered[one.private_address],
                instance_id=one.id,
                market=one.market,
                price_per_hour=prices.per_hour(one.instance_type, one.market, one.zone) if prices else None,
            )
            for one in there
            if one.usable and one.instance_type in kept_type
        )

    def _handle(self, instances: Sequence[Instance], machines: Sequence[Machine]) -> ClusterHandle:
        """Of a cluster of these workers; raises where the master's machine or all workers have ended."""
        spec, name = self.watch.spec, self.watch.cluster_name
        master = master_of(instances)
        if master is None or not machines:
            raise ClusterLostError(
                f"Cluster {name} has lost its {'workers' if master else 'master'}.",
                remedy="Look into the task's log and the EC2 console for why, and start it again.",
            )
        by_id = {instance.id: instance for instance in instances}
        kept = [by_id[machine.instance_id] for machine in machines if machine.instance_id]
        types = {instance.instance_type for instance in kept}
        expiries = [instance.expires_at for instance in (master, *kept) if instance.expires_at is not None]
        return ClusterHandle(
            kind=EC2,
            name=name,
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
            aws_conn_id=self.watch.means.aws_conn_id,
            region=self.watch.guard.ec2.meta.region_name,
            master=self._master(master),
        )

    def _master(self, master: Instance) -> Machine:
        # Not the price of a worker, which the user may have set.
        listed = self.watch.means.prices.listed_per_hour if self.watch.means.prices else None
        return Machine(
            host=master.private_address,
            cores=0,
            memory_megabytes=0,
            instance_id=master.id,
            market=master.market,
            price_per_hour=listed(master.instance_type, master.market, master.zone) if listed else None,
        )

    def _measured(self, handle: ClusterHandle, probe: Probe) -> ClusterHandle:
        """The machines that are there after the probe, with its measurements.

        All must take part: if a machine ends meanwhile, the others are measured anew.
        """
        while True:
            measured = self._measure(handle, probe)
            now_there = self._handle_of_all()
            if measured or len(now_there.machines) >= len(handle.machines):
                return replace(now_there, machines=_scored(now_there.machines, measured))
            self.watch.means.log.warning(
                "Measuring again without the machines that were lost: %d of %d are left.",
                len(now_there.machines),
                len(handle.machines),
            )
            handle = now_there

    def _measure(self, handle: ClusterHandle, probe: Probe) -> Mapping[str, Bandwidth]:
        try:
            measured = probe(handle)
        except Exception as error:
            self.watch.guard.check()  # it failed because its machines were ended
            self.watch.means.log.warning(
                "THE BANDWIDTH PROBE FAILED, so slow machines may be among those that are kept: %s", error
            )
            return {}
        self.watch.guard.check()
        return measured

    def _require_enough(self, kept: Sequence[Machine]) -> None:
        spec = self.watch.spec
        if len(kept) < spec.smallest_machines:
            raise ClusterLostError(
                f"{len(kept)} workers of cluster {self.watch.cluster_name} are left of the "
                f"{spec.smallest_machines} that are needed at least.",
                remedy="Start it again; where spot instances are taken away so soon, take on-demand ones.",
            )
        if len(kept) < spec.machines:
            self.watch.means.log.warning("Going on with %d workers of %d.", len(kept), spec.machines)

    def _end_all_but(self, master: Machine | None, kept: Sequence[Machine]) -> None:
        """End everything else with the cluster's tag, lost launches included."""
        keepers = {machine.instance_id for machine in (*kept, *([master] if master else []))}
        hosts = {machine.host for machine in kept}
        deadline = time.monotonic() + _FORGET_SECONDS
        while True:
            found = self.watch.instances(TO_BE_ENDED)
            end_machines(self.watch.guard.ec2, [i.id for i in found if i.id not in keepers])
            state, _ = ask_master(found, self.watch.means.read_master)
            dying = {machine.host for machine in state.machines} - hosts if state else set()
            if state is not None and not dying:
                return
            if time.monotonic() > deadline:
                self.watch.means.log.warning(
                    "The master still counts on ended machines: %s", ", ".join(dying)
                )
                return
            self.watch.guard.sleep(self.watch.means.poll_seconds)


def _scored(machines: Sequence[Machine], measured: Mapping[str, Bandwidth]) -> tuple[Machine, ...]:
    return tuple(
        replace(machine, bandwidth=measured.get(machine.host, machine.bandwidth)) for machine in machines
    )


def choose_culled(
    machines: Sequence[Machine], *, keep: int, floor: float, smallest: int
) -> list[CulledMachine]:
    """Return the machines to end, the slowest first, whatever their order in `machines`.

    Ernest paper (NSDI 2016), section 4.2: launch more machines than needed, measure, keep the fastest.

    First stragglers, whose score is below the floor, then unmeasured machines, then the rest, until `keep`
    remain. Stragglers that still remain are culled too, down to `smallest`.

    Raises:
        InvalidParameterError: `smallest` is not from 1 to `keep`.
    """
    if not 1 <= smallest <= keep:
        raise InvalidParameterError("smallest", smallest, f"is not from 1 to keep={keep}")
    judged = _judged(machines, floor)
    stragglers = sum(one.is_straggler for one in judged)
    surplus = max(0, len(judged) - keep)
    culled = max(surplus, min(stragglers, len(judged) - smallest))
    return [CulledMachine(machine=one.machine, reason=one.reason) for one in judged[:culled]]


def warnings_after(machines: Sequence[Machine], *, floor: float) -> tuple[str, ...]:
    """What to tell the user of stragglers, by this floor, among the machines that were kept."""
    return tuple(
        f"{one.machine.host} is slow and remains: {one.measured}, below the floor of {as_percent(floor)}. "
        "The others will wait for it, and the runs take longer than on ordinary machines."
        for one in _judged(machines, floor)
        if one.is_straggler
    )


class _Verdict(NamedTuple):
    """On one machine; the first in order is ended first."""

    order: tuple[int, float, str, str, str]
    machine: Machine
    is_straggler: bool
    measured: str
    reason: str


def _judged(machines: Sequence[Machine], floor: float) -> list[_Verdict]:
    """All machines against the median, each by the resource that limits it most."""
    bandwidths = {str(index): one.bandwidth for index, one in enumerate(machines) if one.bandwidth}
    memory = relative_to_median({key: each.memory_gigabytes_per_second for key, each in bandwidths.items()})
    network = relative_to_median(
        {
            key: each.network_gigabytes_per_second
            for key, each in bandwidths.items()
            if each.network_gigabytes_per_second is not None
        }
    )
    verdicts = []
    for index, machine in enumerate(machines):
        key, names = str(index), (machine.host, machine.worker_id, machine.instance_id or "")
        if key not in bandwidths:
            reason = "not needed: its bandwidth was not measured"
            verdicts.append(_Verdict((1, 0.0, *names), machine, False, "", reason))
            continue
        score = bandwidths[key].score
        is_straggler = score < floor
        resource = "network" if key in network and network[key] < memory[key] else "memory"
        measured = f"{resource} {as_percent(score)} of the median"
        reason = (
            f"{measured}, below the floor of {as_percent(floor)}: a straggler"
            if is_straggler
            else f"not needed: {measured}"
        )
        order = (0 if is_straggler else 2, score, *names)
        verdicts.append(_Verdict(order, machine, is_straggler, measured, reason))
    return sorted(verdicts, key=lambda one: one.order)
