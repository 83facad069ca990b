"""A cluster that is known by its handle alone, to whoever ends it in another process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.base import EC2
from airflow_provider_ernest.clusters.ec2.ending import terminate_cluster
from airflow_provider_ernest.clusters.ec2.identity import deployment_of
from airflow_provider_ernest.clusters.ec2.instances import of_cluster
from airflow_provider_ernest.exceptions import ClusterError, ClusterLostError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.base import ClusterHandle

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
