"""Keep the fast machines of a cluster, end the others, and give the handle of what remains."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_provider_ernest.clusters.base import ClusterHandle, CulledMachine, Machine
from airflow_provider_ernest.clusters.culling import choose_culled, warnings_after
from airflow_provider_ernest.clusters.ec2.assembly import make_handle, match_workers, scored
from airflow_provider_ernest.clusters.ec2.ending import end_machines
from airflow_provider_ernest.clusters.ec2.instances import COMING_OR_THERE, TO_BE_ENDED, Instance
from airflow_provider_ernest.clusters.ec2.readiness import ask_master, master_of
from airflow_provider_ernest.clusters.ec2.waiting import Watch
from airflow_provider_ernest.exceptions import ClusterLostError
from airflow_provider_ernest.spark.bandwidth import Bandwidth
from airflow_provider_ernest.spark.master import MasterState

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.prices import PriceBook
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

Probe = Callable[[ClusterHandle], Mapping[str, Bandwidth]]
"""Measures the machines of a cluster; the keys are their addresses."""

# The master counts a worker as dead when its connection ends, at the latest when its heartbeats stop.
_FORGET_SECONDS = 90.0
_MASTER_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class Assembler:
    """Makes a cluster of the machines that are alive.

    Attributes:
        spec: what was asked for; its `machines` remain.
        watch: how the cluster is looked at.
        prices: None where they are not to be known.
        probe: None to measure nothing.
        aws_conn_id: the Airflow connection through which it was launched.
        scores: what was measured before, by address.
    """

    spec: EC2ClusterSpec
    watch: Watch
    prices: PriceBook | None
    probe: Probe | None
    aws_conn_id: str | None
    scores: Mapping[str, Bandwidth]

    def assemble(self) -> ClusterHandle:
        """Measure, choose, end the others, and wait until the master has noticed.

        Raises:
            ClusterLostError: too few machines are left, or the master is gone.
            ClusterStartError: the attempt was abandoned.
            ClusterError, MissingResourceError: AWS does not answer, or a permission is missing.
        """
        handle = self._handle_of_all()
        if self.probe is not None and self.spec.probe_rounds > 0:
            handle = self._measured(handle)
        culled = self._choose(handle.machines)
        gone = {entry.machine.host for entry in culled}
        kept = tuple(machine for machine in handle.machines if machine.host not in gone)
        self._require_enough(kept)
        for entry in culled:
            self.watch.log.info(
                "Ending %s (%s): %s", entry.machine.instance_id, entry.machine.host, entry.reason
            )
        for warning in warnings_after(kept, floor=self.spec.cull_floor):
            self.watch.log.warning("%s", warning)
        self._end_all_but(handle.master, kept)
        instances = self.watch.instances(COMING_OR_THERE)
        return replace(self._handle(instances, kept), culled=tuple(culled))

    def _handle_of_all(self) -> ClusterHandle:
        instances, state = self._observe()
        machines = match_workers(instances, state, prices=self.prices)
        return self._handle(instances, scored(machines, self.scores))

    def _handle(self, instances: Sequence[Instance], machines: Sequence[Machine]) -> ClusterHandle:
        return make_handle(
            self.spec,
            self.watch.cluster_name,
            instances=instances,
            machines=machines,
            prices=self.prices,
            region=self.watch.ec2.meta.region_name,
            aws_conn_id=self.aws_conn_id,
        )

    def _observe(self) -> tuple[list[Instance], MasterState]:
        deadline = time.monotonic() + _MASTER_SECONDS
        while True:
            self.watch.guard.check()
            instances = self.watch.instances(COMING_OR_THERE)
            state, problem = ask_master(instances, self.watch.read_master)
            if state is not None:
                return instances, state
            if master_of(instances) is None or time.monotonic() > deadline:
                raise ClusterLostError(
                    f"The master of cluster {self.watch.cluster_name} is lost: {problem}.",
                    remedy="Start the cluster again.",
                )
            self.watch.guard.sleep(self.watch.poll_seconds)

    def _measured(self, handle: ClusterHandle) -> ClusterHandle:
        """The machines that are there after the probe, with what it measured.

        All must take part, so a machine that ends meanwhile spoils it: the others are measured anew.
        """
        while True:
            measured = self._measure(handle)
            now_there = self._handle_of_all()
            if measured or len(now_there.machines) >= len(handle.machines):
                return replace(now_there, machines=scored(now_there.machines, measured))
            self.watch.log.warning(
                "Measuring again without the machines that were lost: %d of %d are left.",
                len(now_there.machines),
                len(handle.machines),
            )
            handle = now_there

    def _measure(self, handle: ClusterHandle) -> Mapping[str, Bandwidth]:
        assert self.probe is not None
        try:
            measured = self.probe(handle)
        except Exception as error:
            self.watch.guard.check()  # it failed because its machines were ended
            self.watch.log.warning(
                "THE BANDWIDTH PROBE FAILED, so slow machines may be among those that are kept: %s", error
            )
            return {}
        self.watch.guard.check()
        return measured

    def _choose(self, machines: Sequence[Machine]) -> list[CulledMachine]:
        keep = self.spec.machines
        smallest = min(self.spec.smallest_machines, keep)
        return choose_culled(machines, keep=keep, floor=self.spec.cull_floor, smallest=smallest)

    def _require_enough(self, kept: Sequence[Machine]) -> None:
        if len(kept) < self.spec.smallest_machines:
            raise ClusterLostError(
                f"{len(kept)} workers of cluster {self.watch.cluster_name} are left of the "
                f"{self.spec.smallest_machines} that are needed at least.",
                remedy="Start it again; where spot instances are taken away so soon, take on-demand ones.",
            )
        if len(kept) < self.spec.machines:
            self.watch.log.warning("Going on with %d workers of %d.", len(kept), self.spec.machines)

    def _end_all_but(self, master: Machine | None, kept: Sequence[Machine]) -> None:
        """End everything else with the cluster's tag, lost launches included."""
        keepers = {machine.instance_id for machine in (*kept, *([master] if master else []))}
        hosts = {machine.host for machine in kept}
        deadline = time.monotonic() + _FORGET_SECONDS
        while True:
            found = self.watch.instances(TO_BE_ENDED)
            end_machines(self.watch.ec2, [i.id for i in found if i.id not in keepers])
            state, _ = ask_master(found, self.watch.read_master)
            dying = {worker.host for worker in state.workers_alive} - hosts if state else set()
            if state is not None and not dying:
                return
            if time.monotonic() > deadline:
                self.watch.log.warning("The master still counts on ended machines: %s", ", ".join(dying))
                return
            self.watch.guard.sleep(self.watch.poll_seconds)
