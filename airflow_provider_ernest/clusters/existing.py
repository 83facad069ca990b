"""A Spark cluster that somebody else starts and ends: standalone, YARN or Kubernetes.

Nothing is launched and nothing is ended here. All that is wanted is to know its machines: a standalone
master tells them at its web address; for the others they are declared.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from airflow_provider_ernest.clusters.base import EXISTING, ClusterHandle, Machine
from airflow_provider_ernest.exceptions import ClusterError, ClusterLostError, InvalidParameterError
from airflow_provider_ernest.json_document import Document

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.master import MasterState, RegisteredWorker

log = logging.getLogger(__name__)

_WEB_PORT = 8080
_ANSWER_SECONDS = 5.0
_STANDALONE = "spark://"
_DECLARED_ONLY = ("yarn", "k8s://")
_ADDRESSES = "Its host must be spark://HOST with a port, yarn, or k8s://https://HOST with a port."


@dataclass(frozen=True, kw_only=True)
class ExistingClusterSpec(Document):
    """What is known of a cluster that is there already.

    Attributes:
        spark_conn_id: the Airflow connection through which jobs are submitted.
        master_url: spark://host:port (several hosts separated by commas), "yarn" or k8s://...
        instance_type: name of its machines' type, for the model; None for the connection's id.
        machines: how many it has; None for as many as the standalone master counts on. It may have more.
        cores_per_machine: that each offers to an executor; None for what the master tells.
        memory_megabytes_per_machine: heap of an executor that fills a machine; None for what the master
            tells. YARN and Kubernetes add a tenth to it, at least 384 MB.
        web_url: http address of the standalone master's page; None to try port 8080 of its host.
        price_per_hour: dollars for a machine and hour; None where unknown.
        python: of PySpark's workers; None for what each machine finds by itself.
        driver_host: address at which its machines reach the Airflow worker; None to find it.

    Raises:
        InvalidParameterError: a master that has no machines, or a size below 1.
    """

    spark_conn_id: str
    master_url: str
    instance_type: str | None = None
    machines: int | None = None
    cores_per_machine: int | None = None
    memory_megabytes_per_machine: int | None = None
    web_url: str | None = None
    price_per_hour: float | None = None
    python: str | None = None
    driver_host: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be run on."""
        if not self.master_url.startswith((_STANDALONE, *_DECLARED_ONLY)):
            raise InvalidParameterError(
                "spark_conn_id",
                self.spark_conn_id,
                f"points at {self.master_url!r}, which is no cluster that runs can be sized on",
                remedy=_ADDRESSES,
            )
        if not all(map(_has_port, self.addresses)):
            raise InvalidParameterError(
                "spark_conn_id",
                self.spark_conn_id,
                f"points at {self.master_url!r}, which names no port",
                remedy=_ADDRESSES,
            )
        for name in ("machines", "cores_per_machine", "memory_megabytes_per_machine"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidParameterError(name, value, "is not a number of at least 1")

    @property
    def addresses(self) -> list[str]:
        """Of the masters (several of a standalone one's on standby), or of Kubernetes' API."""
        place = self.master_url.partition("://")[2]
        return place.split(",") if self.is_standalone else [place] if place else []

    @property
    def is_standalone(self) -> bool:
        """Whether a Spark standalone master runs it."""
        return self.master_url.startswith(_STANDALONE)


def _has_port(address: str) -> bool:
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        return bool(parts.hostname and parts.port)
    # Of a port that is no number, or none of a port.
    except ValueError:
        return False


class ExistingCluster:
    """A cluster that is used and left alone.

    Args:
        spec: what is known of it.
    """

    def __init__(self, spec: ExistingClusterSpec) -> None:
        self.spec = spec

    @classmethod
    def from_handle(cls, handle: ClusterHandle) -> ExistingCluster:
        """The cluster that a handle stands for.

        Raises:
            ClusterError: the handle is that of another kind of cluster.
        """
        if handle.kind != EXISTING or handle.spark_conn_id is None or not handle.machines:
            raise ClusterError(
                f"Cluster {handle.name} of kind {handle.kind!r} is none that was there already.",
                remedy="Pass the output of the task that looked it up unchanged.",
            )
        return cls(
            ExistingClusterSpec(
                spark_conn_id=handle.spark_conn_id,
                master_url=handle.master_url,
                instance_type=handle.instance_type,
                machines=len(handle.machines),
                cores_per_machine=handle.cores_per_machine,
                memory_megabytes_per_machine=handle.machines[0].memory_megabytes,
                web_url=handle.web_url,
                python=handle.python,
                driver_host=handle.driver_host,
            )
        )

    def start(self) -> ClusterHandle:
        """Look the cluster up. Nothing is launched.

        Raises:
            InvalidParameterError: nothing tells its machines, or they are smaller than declared.
            ClusterLostError: its master does not answer at the given web address, or counts on fewer machines
                than declared.
        """
        found = self._ask_master()
        if found is None:
            return self._handle(self._declared(), web_url=None)
        web_url, state = found
        return self._handle(self._registered(web_url, state), web_url=web_url)

    def terminate(self) -> str:
        """Leave it alone: whoever started it ends it. Returns that, for the log."""
        return f"nothing to do, it was there before ({self.spec.master_url}) and stays"

    def _ask_master(self) -> tuple[str, MasterState] | None:
        """Where the standalone master has its page, and its state; None where nothing answers."""
        from airflow_provider_ernest.spark.master import read_state

        if not self.spec.is_standalone:
            return None
        if self.spec.web_url:
            return self.spec.web_url, read_state(self.spec.web_url, timeout_seconds=_ANSWER_SECONDS)
        for address in self.spec.addresses:
            host, _, port = address.rpartition(":")
            web_url = f"http://{host}:{_WEB_PORT}"
            try:
                state = read_state(web_url, timeout_seconds=_ANSWER_SECONDS)
            except ClusterLostError as error:
                log.info("Not known from its master: %s", error.message)
                continue
            # Hosts have several names, but another port is another master's. One on standby has no workers.
            if state.master_url.rpartition(":")[2] == port and state.workers:
                return web_url, state
            log.info("What answers at %s is another master: %s", web_url, state.master_url)
        return None

    def _registered(self, web_url: str, state: MasterState) -> list[Machine]:
        alive = state.workers_alive
        wanted = self.spec.machines or 1
        if len(alive) < wanted:
            raise ClusterLostError(
                f"The master at {web_url} counts on {len(alive)} workers; machines={wanted} were declared.",
                remedy="Start the others, or declare fewer.",
            )
        cores, memory_megabytes = self._size(alive)
        return [
            self._machine(
                worker_id=worker.id, host=worker.host, cores=cores, memory_megabytes=memory_megabytes
            )
            for worker in alive
        ]

    def _size(self, alive: tuple[RegisteredWorker, ...]) -> tuple[int, int]:
        """What each machine offers: as declared, else what the smallest has."""
        least_cores = min(worker.cores for worker in alive)
        least_memory = min(worker.memory_megabytes for worker in alive)
        if least_cores < max(worker.cores for worker in alive):
            log.warning("Its workers differ in cores; %d of each are counted on", least_cores)
        for name, declared, offered in (
            ("cores_per_machine", self.spec.cores_per_machine, least_cores),
            ("memory_megabytes_per_machine", self.spec.memory_megabytes_per_machine, least_memory),
        ):
            if declared is not None and declared > offered:
                raise InvalidParameterError(
                    name, declared, f"is more than its smallest worker offers ({offered})"
                )
        return (
            self.spec.cores_per_machine or least_cores,
            self.spec.memory_megabytes_per_machine or least_memory,
        )

    def _declared(self) -> list[Machine]:
        spec = self.spec
        for name in ("machines", "cores_per_machine", "memory_megabytes_per_machine"):
            if getattr(spec, name) is None:
                also = " or give web_url, its master's page" if spec.is_standalone else ""
                raise InvalidParameterError(
                    name,
                    None,
                    f"leaves open what the cluster at {spec.master_url} has",
                    remedy=f"Declare machines, cores_per_machine and memory_megabytes_per_machine{also}.",
                )
        machine = self._machine(
            worker_id="",
            host="",
            cores=spec.cores_per_machine or 0,
            memory_megabytes=spec.memory_megabytes_per_machine or 0,
        )
        return [machine] * (spec.machines or 0)

    def _machine(self, *, worker_id: str, host: str, cores: int, memory_megabytes: int) -> Machine:
        return Machine(
            worker_id=worker_id,
            host=host,
            cores=cores,
            memory_megabytes=memory_megabytes,
            price_per_hour=self.spec.price_per_hour,
        )

    def _handle(self, machines: list[Machine], *, web_url: str | None) -> ClusterHandle:
        spec = self.spec
        return ClusterHandle(
            kind=EXISTING,
            name=spec.spark_conn_id,
            master_url=spec.master_url,
            web_url=web_url,
            machines=tuple(machines),
            instance_type=spec.instance_type or spec.spark_conn_id,
            cores_per_machine=machines[0].cores,
            spark_conn_id=spec.spark_conn_id,
            python=spec.python,
            driver_host=spec.driver_host,
        )
