"""What every kind of cluster has in common, as data and as a protocol.

A cluster is started in one task and ended in another, in another process and perhaps on another
host: all that is known of it travels in its `ClusterHandle`, by XCom. It holds no secrets: XComs are
shown to whoever may see the DAG.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Protocol

from airflow_provider_ernest.model.documents import Document
from airflow_provider_ernest.spark.bandwidth import Bandwidth

LOCAL = "local"
"""The kind of cluster that shares the Airflow worker's own machine; see `clusters.local`."""
EC2 = "ec2"
"""A Spark standalone cluster on machines of Amazon EC2; see `clusters.ec2`."""
EMR = "emr"
"""A job flow of Amazon EMR; see `clusters.emr`."""
EXISTING = "existing"
"""A cluster that somebody else starts and ends, known by an Airflow connection; see `clusters.existing`."""


@dataclass(frozen=True, kw_only=True)
class Machine(Document):
    """One worker host.

    Attributes:
        worker_id: as the Spark master registered it; "" where no standalone master tells.
        host: its address; "" where the cluster places executors as it likes.
        cores: that it offers to executors.
        memory_megabytes: that it offers to executors.
        instance_id: the cloud's name of it.
        market: "on-demand" or "spot".
        price_per_hour: in dollars; None where unknown.
        bandwidth: what the probe measured; None where it was not probed.
    """

    worker_id: str
    host: str
    cores: int
    memory_megabytes: int
    instance_id: str | None = None
    market: str | None = None
    price_per_hour: float | None = None
    bandwidth: Bandwidth | None = None


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
    """What a kind of cluster can do. Both verbs may be repeated."""

    def start(self) -> ClusterHandle:
        """Start the cluster and wait, bounded, until all of its machines are there."""

    def terminate(self) -> str:
        """End it; nothing to do is a success. Returns what was done, for the log."""
