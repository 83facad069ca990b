"""What every kind of cluster has in common, as data and as a protocol.

A cluster is started in one task and ended in another, in another process and perhaps on another
host: all that is known of it travels in its `ClusterHandle`, by XCom.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Protocol

from airflow_provider_ernest.model.documents import Document

LOCAL = "local"
"""The kind of cluster that shares the Airflow worker's own machine; see `clusters.local`."""


@dataclass(frozen=True, kw_only=True)
class Machine(Document):
    """One worker host as the Spark master registered it."""

    worker_id: str
    host: str
    cores: int
    memory_megabytes: int


@dataclass(frozen=True, kw_only=True)
class ClusterHandle(Document):
    """A running Spark standalone cluster.

    Attributes:
        kind: which cluster module started it; "local".
        name: unique among the clusters of that kind.
        master_url: spark://host:port.
        web_url: http address of the master's page and its /json/ state.
        machines: its workers.
        instance_type: their type.
        cores_per_machine: the cores of each of them.
        expires_at: ISO 8601; the cluster ends itself then at the latest.
        directory: where a local cluster keeps its state and logs.
    """

    kind: str
    name: str
    master_url: str
    web_url: str
    machines: tuple[Machine, ...]
    instance_type: str = "local"
    cores_per_machine: int = 1
    expires_at: str | None = None
    directory: str | None = None

    def spark_conf(self) -> dict[str, str]:
        """Properties that an application needs on these machines, whoever submits it."""
        conf = {"spark.executor.memory": f"{min(m.memory_megabytes for m in self.machines)}m"}
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
