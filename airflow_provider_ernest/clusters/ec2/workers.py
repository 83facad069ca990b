"""Launching what a cluster is missing: its master, then its workers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.ec2.ending import end_machines
from airflow_provider_ernest.clusters.ec2.identity import MASTER, TRY_TAG, WORKER
from airflow_provider_ernest.clusters.ec2.instance_types import executor_memory_megabytes
from airflow_provider_ernest.clusters.ec2.instances import Instance, add_tags
from airflow_provider_ernest.clusters.ec2.launching import Launcher, PlaceRefusedError
from airflow_provider_ernest.clusters.ec2.placement import (
    WorkerPlacement,
    exhausted,
    launch_one,
    master_places,
    worker_places,
)
from airflow_provider_ernest.clusters.ec2.readiness import GIVEN_UP
from airflow_provider_ernest.clusters.ec2.user_data import master_user_data, worker_user_data
from airflow_provider_ernest.exceptions import ErnestError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.preflight import Plan
    from airflow_provider_ernest.clusters.ec2.requests import Place
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """Launches the machines of one cluster.

    Attributes:
        spec: of the cluster.
        plan: of the checks before the launch.
        launcher: of the attempt.
        ec2: a boto3 client.
        secret: that the cluster's processes share.
    """

    spec: EC2ClusterSpec
    plan: Plan
    launcher: Launcher
    ec2: Any
    secret: str

    def launch_master(self) -> Instance:
        """Launch the machine of the master.

        Raises:
            ClusterStartError: AWS has none; with what it said.
        """
        user_data = master_user_data(self.spec, secret=self.secret, expires_at=self.launcher.expires_at)

        def launch_at(place: Place, minimum: int, maximum: int) -> list[Instance]:
            return self.launcher.launch(MASTER, place, minimum=minimum, maximum=maximum, user_data=user_data)

        return launch_one(launch_at, master_places(self.spec))

    def launch_workers(self, master: Instance, *, present: Sequence[Instance] = ()) -> None:
        """Launch the workers that are missing, all of one type.

        Args:
            master: that they shall join.
            present: workers that are there already.

        Raises:
            ClusterStartError: fewer than the smallest acceptable number can be had of each type; with what
                AWS said. Those that could be had are ended.
        """
        refusals: list[PlaceRefusedError] = []
        for instance_type in self._types(present):
            alike = [worker for worker in present if worker.instance_type == instance_type]
            placement = self._place(master, instance_type, have=len(alike))
            refusals += placement.refusals
            number = len(alike) + len(placement.launched)
            if number >= self.spec.smallest_machines:
                self._give_up([worker for worker in present if worker.instance_type != instance_type])
                if placement.missing:
                    log.warning("Going on with %d workers of %d.", number, self.spec.machines)
                return
            log.warning("AWS has %d x %s of the %d wanted.", number, instance_type, self.spec.machines)
            self._give_up(placement.launched)
        raise exhausted(
            f"AWS has not {self.spec.smallest_machines} workers of {' or '.join(self.spec.instance_types)}",
            refusals,
        )

    def _types(self, present: Sequence[Instance]) -> list[str]:
        """The workers' types in the order of trying: first that of which the most are there already."""
        of_type = [worker.instance_type for worker in present]
        return sorted(self.spec.instance_types, key=lambda name: -of_type.count(name))

    def _place(self, master: Instance, instance_type: str, *, have: int) -> WorkerPlacement:
        user_data = self._worker_user_data(master, instance_type)

        def launch_at(place: Place, minimum: int, maximum: int) -> list[Instance]:
            return self.launcher.launch(WORKER, place, minimum=minimum, maximum=maximum, user_data=user_data)

        wanted = self.spec.machines
        total = wanted + self.spec.additional_machines
        placement = WorkerPlacement(launch_at, wanted=wanted, total=total, have=have)
        if placement.missing:
            placement.collect(worker_places(self.spec, instance_type))
        return placement

    def _worker_user_data(self, master: Instance, instance_type: str) -> str:
        facts = self.plan.instance_types[instance_type]
        memory = self.spec.memory_megabytes_per_machine or executor_memory_megabytes(facts)
        return worker_user_data(
            self.spec,
            secret=self.secret,
            expires_at=self.launcher.expires_at,
            master_host=master.private_address,
            cores=self.spec.cores_per_machine or facts.cores,
            memory_megabytes=memory,
        )

    def _give_up(self, instances: Sequence[Instance]) -> None:
        """End machines so that those who look at the cluster later do not take it for a failure."""
        ids = [instance.id for instance in instances]
        # First, since this attempt no longer owns what it has tagged as given up.
        end_machines(self.ec2, ids)
        try:
            add_tags(self.ec2, ids, {TRY_TAG: GIVEN_UP})
        except ErnestError as error:
            log.warning("Machines that are ended on purpose will be called ended by themselves: %s", error)
