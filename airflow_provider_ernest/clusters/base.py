"""What every kind of cluster has in common.

A cluster is started in one task and ended in another, in another process and perhaps on another host: all
that is known of it travels in its `ClusterHandle`, by XCom. It holds no secrets, since whoever may see the
DAG may see XComs.

To add a kind, say "toaster", write a module or package ``clusters/toaster`` that calls ``register("toaster",
Kind(...))`` on import. Its specification, data that costs a DAG file nothing, goes into
`task_group.OPERATORS` with the operator that starts it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.exceptions import ClusterError
from airflow_provider_ernest.spark.machines import Machine


class CulledMachine(Document):
    """A machine that was launched and ended again before any job ran on it, and why."""

    machine: Machine
    reason: str


class ClusterHandle(Document):
    """A running Spark cluster.

    Attributes:
        kind: the module of clusters that knows it, such as "local" or "ec2".
        master_url: spark://host:port, "yarn" or k8s://...
        web_url: http address of a standalone master's page and its /json/ state; None for other masters.
        machines: its workers, all of one type.
        expires_at: ISO 8601; the cluster ends itself then at the latest.
        directory: a local cluster's state and logs; of others the folder of event logs, where they have one.
        spark_conn_id: the Airflow connection through which jobs are submitted, if any.
        python: the Python of PySpark's workers on the machines; None for each machine's default.
        authenticates: its daemons and applications share a secret, which the tasks fetch when they need it.
        encrypts: what they exchange is encrypted, too.
        driver_host: address at which its machines reach the drivers; None for that of the route there.
        aws_conn_id: the Airflow connection through which it was launched.
        master: the machine that runs only the Spark master, if any.
        culled: machines that were launched in excess and ended again, the slowest first.
        executors_per_machine: how many each machine holds; None where the cluster places them as it likes,
            and `machines` has one entry for each executor that it can give.
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
    executors_per_machine: int | None = 1

    @classmethod
    def of_schema_1(cls, data: dict[str, Any]) -> dict[str, Any]:
        """The same: machines are machines here."""
        return data

    @property
    def price_per_hour(self) -> float | None:
        """Dollars for one worker and hour, the mean of its machines; None if one is unknown."""
        prices = [machine.price_per_hour for machine in self.machines]
        known = [price for price in prices if price is not None]
        return sum(known) / len(known) if known and len(known) == len(prices) else None

    @property
    def most_machines(self) -> int | None:
        """Most machines that production can have; None if it can have more than there are."""
        return len(self.machines) if kind_of(self).limits_production(self) else None

    @property
    def master_price_per_hour(self) -> float | None:
        """Dollars per hour for its master's machine; 0 if it has none of its own, None if unknown."""
        return self.master.price_per_hour if self.master else 0.0

    @property
    def market(self) -> str | None:
        """Markets in which its machines were bought, such as "spot"; None if unknown."""
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
        return {**conf, **kind_of(self).spark_conf()}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """How a kind of cluster differs from others."""

    terminate: Callable[[ClusterHandle, Path, Callable[[str], Any]], str]
    limits_production: Callable[[ClusterHandle], bool] = lambda handle: False
    """Whether production can have no more machines than this cluster has."""
    spark_conf: Callable[[], Mapping[str, str]] = dict
    """Properties that an application needs there, beside those of the handle."""


_KINDS: dict[str, Kind] = {}


def register(name: str, kind: Kind) -> None:
    """Make a kind of cluster known; called by the module ``clusters.NAME`` when it is imported."""
    _KINDS[name] = kind


def kind_of(handle: ClusterHandle) -> Kind:
    """Return the kind of a cluster; imports its module on first use. A ClusterError if there is none."""
    name = handle.kind
    module = f"{__package__}.{name}"
    if name not in _KINDS and name.isidentifier():
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
    if name not in _KINDS:
        raise ClusterError(
            f"No module of this package starts clusters of kind {name!r}.",
            remedy="Pass the output of a cluster operator of this package unchanged.",
        )
    return _KINDS[name]


def terminate(handle: ClusterHandle, *, clusters: Path, client: Callable[[str], Any]) -> str:
    """End a cluster, from any process; returns what was done, for the log. Nothing to do is a success.

    `clusters` is the folder of local clusters; `client` makes a boto3 client of an AWS service by its name,
    for the handle's region and Airflow connection.

    Raises:
        ClusterError: the cluster still lives, or no module of this package starts clusters of that kind.
        InvalidParameterError: the handle is not as its kind of cluster has them.
    """
    return kind_of(handle).terminate(handle, clusters, client)
