"""What every kind of cluster has in common, as data and as a protocol.

A cluster is started in one task and ended in another, in another process and perhaps on another
host: all that is known of it travels in its `ClusterHandle`, by XCom. It holds no secrets: XComs are
shown to whoever may see the DAG.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.exceptions import ClusterError
from airflow_provider_ernest.spark.machines import Machine

if TYPE_CHECKING:
    from pathlib import Path

LOCAL = "local"
"""The kind of cluster that shares the Airflow worker's own machine; see `clusters.local`."""
EC2 = "ec2"
"""A Spark standalone cluster on machines of Amazon EC2; see `clusters.ec2`."""
EMR = "emr"
"""A job flow of Amazon EMR; see `clusters.emr`."""
EXISTING = "existing"
"""A cluster that somebody else starts and ends, known by an Airflow connection; see `clusters.existing`."""


@dataclass(frozen=True, kw_only=True)
class CulledMachine(Document):
    """A machine that was launched and ended again before any job ran on it, and why."""

    machine: Machine
    reason: str


@dataclass(frozen=True, kw_only=True)
class ClusterHandle(Document):
    """A running Spark cluster.

    Attributes:
        kind: which cluster module knows it: "local", "ec2", "emr" or "existing".
        name: unique among the clusters of that kind.
        master_url: spark://host:port, or "yarn", or k8s://...
        web_url: http address of a standalone master's page and its /json/ state; None for other masters.
        machines: its workers, all of one type.
        instance_type: their type.
        cores_per_machine: the cores that each of them offers.
        expires_at: ISO 8601; the cluster ends itself then at the latest.
        directory: where a local cluster keeps its state and logs, or one of EMR its event logs (s3://...).
        spark_conn_id: the Airflow connection through which jobs are submitted, where that is the way.
        python: the Python of PySpark's workers on the machines; None for what each finds by itself.
        authenticates: its daemons and applications share a secret, which the tasks fetch when they need it.
        encrypts: what they exchange is encrypted, too.
        driver_host: address at which its machines reach the drivers; None to take the one of the route there.
        aws_conn_id: the Airflow connection through which it was launched.
        region: where.
        master: the machine that runs the Spark master, where it is one of its own.
        culled: machines that were launched in excess and ended again, the slowest first.
    """

    kind: str
    name: str
    master_url: str
    web_url: str | None = None
    machines: tuple[Machine, ...]
    instance_type: str = "local"
    cores_per_machine: int = 1
    expires_at: str | None = None
    directory: str | None = None
    spark_conn_id: str | None = None
    python: str | None = None
    authenticates: bool = False
    encrypts: bool = False
    driver_host: str | None = None
    aws_conn_id: str | None = None
    region: str | None = None
    master: Machine | None = None
    culled: tuple[CulledMachine, ...] = ()

    @property
    def price_per_hour(self) -> float | None:
        """Dollars for one worker and hour, the mean of its machines; None where one is unknown."""
        prices = [machine.price_per_hour for machine in self.machines]
        known = [price for price in prices if price is not None]
        return sum(known) / len(known) if known and len(known) == len(prices) else None

    @property
    def limits_production(self) -> bool:
        """Whether production can have no more machines than there are.

        A cluster on EC2 can grow, and production runs beside a job flow of EMR, never in it.
        """
        return self.kind in (LOCAL, EXISTING)

    @property
    def most_machines(self) -> int | None:
        """How many production can have; None where it can have more than there are.

        A local cluster that has ended limits nothing: the next one may be larger.
        """
        has_ended = self.kind == LOCAL and not self.master_url
        return len(self.machines) if self.limits_production and not has_ended else None

    @property
    def master_price_per_hour(self) -> float | None:
        """Dollars for the machine of its master; 0 where it has none of its own, None where unknown."""
        return self.master.price_per_hour if self.master else 0.0

    @property
    def market(self) -> str | None:
        """In which its machines were bought, of which a cluster may hold several; None where unknown."""
        return " and ".join(sorted({one.market for one in self.machines if one.market})) or None

    def spark_conf(self) -> dict[str, str]:
        """Properties that an application needs on these machines, whoever submits it."""
        conf = {"spark.executor.memory": f"{min(m.memory_megabytes for m in self.machines)}m"}
        if self.python:
            conf["spark.pyspark.python"] = self.python
        if self.authenticates:
            conf["spark.authenticate"] = "true"
        if self.encrypts:
            conf["spark.network.crypto.enabled"] = "true"
        if self.driver_host:
            conf["spark.driver.host"] = self.driver_host
        if self.kind == LOCAL:
            # Executors share the driver's machine: they must find the same Python packages, and
            # nobody else must find the driver.
            conf["spark.pyspark.python"] = sys.executable
            conf["spark.driver.host"] = conf["spark.driver.bindAddress"] = "127.0.0.1"
        return conf


class Cluster(Protocol):
    """A cluster that runs, or ran."""

    def terminate(self) -> str:
        """End it. Repeatable: nothing to do is a success. Returns what was done, for the log."""


def reopen(
    handle: ClusterHandle, *, clusters: Path | None = None, client: Callable[[str], Any] | None = None
) -> Cluster:
    """The cluster of a handle, ready to be terminated from any process.

    Args:
        handle: of the cluster.
        clusters: the folder of local clusters; needed for these only.
        client: makes a boto3 client of an AWS service by its name, for the handle's region and with the
            rights of its Airflow connection; needed for clusters on EC2 only.

    Raises:
        ClusterError: no module of this package starts clusters of that kind, or what it needs is not given.
        InvalidParameterError: the handle is not as its kind of cluster has them.
    """
    if handle.kind == LOCAL:
        from airflow_provider_ernest.clusters.local import LocalCluster

        if clusters is None:
            raise ClusterError(
                f"Cluster {handle.name} is local, and nothing tells the folder of local clusters.",
                remedy="Use the operators of this package, or give `clusters`.",
            )
        return LocalCluster.from_handle(handle, below=clusters)
    if handle.kind == EXISTING:
        from airflow_provider_ernest.clusters.existing import ExistingCluster

        return ExistingCluster.from_handle(handle)
    if handle.kind == EMR:
        from airflow_provider_ernest.clusters.emr.job_flow import JobFlowInUse

        return JobFlowInUse(handle)
    if handle.kind != EC2:
        raise ClusterError(
            f"No module of this package starts clusters of kind {handle.kind!r}.",
            remedy="Pass the output of a cluster operator of this package unchanged.",
        )
    if client is None:
        raise ClusterError(
            f"Cluster {handle.name} is on EC2, and nothing was given to reach AWS by.",
            remedy="Use the operators of this package, or give `client`.",
        )
    from airflow_provider_ernest.clusters.ec2.cluster import RunningCluster

    return RunningCluster(handle, client=client)
