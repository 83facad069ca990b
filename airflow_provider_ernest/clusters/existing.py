"""A Spark cluster that somebody else starts and ends: standalone, YARN or Kubernetes.

Nothing is launched and nothing is ended here. All that is wanted is to know its machines: a standalone
master lists them at its web address; for the others they are declared.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow_provider_ernest.clusters.base import Cluster, ClusterHandle, Kind, register
from airflow_provider_ernest.exceptions import ClusterError, ClusterLostError, InvalidParameterError
from airflow_provider_ernest.settings import ConnectedCluster
from airflow_provider_ernest.spark.machines import Machine

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.master import MasterState

log = logging.getLogger(__name__)

EXISTING = ConnectedCluster.kind

_WEB_PORT = 8080
_ANSWER_SECONDS = 5.0
_STANDALONE = "spark://"
_DECLARED_ONLY = ("yarn", "k8s://")
_SIZES = ("machines", "cores_per_machine", "memory_megabytes_per_machine")


class ExistingCluster:
    """A cluster that is used and left alone.

    Args:
        spec: what is known of it.
        master_url: of its connection: spark://host:port (several hosts separated by commas), "yarn" or k8s://...

    Raises:
        InvalidParameterError: a master that has no machines, or is named without its port.
    """

    def __init__(self, spec: ConnectedCluster, master_url: str) -> None:
        self.spec = spec
        self.master_url = master_url
        self._is_standalone = master_url.startswith(_STANDALONE)
        place = master_url.partition("://")[2]
        # Several of a standalone cluster's masters may be on standby; for Kubernetes it is that of its API.
        self._addresses = place.split(",") if self._is_standalone else [place] if place else []
        problem = ""
        if not master_url.startswith((_STANDALONE, *_DECLARED_ONLY)):
            problem = "which is no cluster that runs can be sized on"
        elif not all(map(_has_port, self._addresses)):
            problem = "which names no port"
        if problem:
            raise InvalidParameterError(
                "spark_conn_id",
                spec.spark_conn_id,
                f"points at {master_url!r}, {problem}",
                remedy="Its host must be spark://HOST with a port, yarn, or k8s://https://HOST with a port.",
            )

    @classmethod
    def from_handle(cls, handle: ClusterHandle) -> ExistingCluster:
        """The cluster of a handle, to be left alone.

        Raises:
            ClusterError: the handle is that of another kind of cluster.
        """
        if handle.kind != EXISTING or handle.spark_conn_id is None or not handle.machines:
            raise ClusterError(
                f"Cluster {handle.name} of kind {handle.kind!r} is none that was there already.",
                remedy="Pass the output of the task that looked it up unchanged.",
            )
        return cls(ConnectedCluster(spark_conn_id=handle.spark_conn_id), handle.master_url)

    def start(self) -> ClusterHandle:
        """Look the cluster up. Nothing is launched.

        Raises:
            InvalidParameterError: nothing tells its machines, or they are smaller than declared.
            ClusterLostError: its master does not answer at the given web address, or counts on fewer machines
                than declared.
        """
        found = self._ask_master()
        web_url, state = found or (None, None)
        machines = self._registered(str(web_url), state) if state else self._declared()
        spec = self.spec
        return ClusterHandle(
            kind=EXISTING,
            name=spec.spark_conn_id,
            master_url=self.master_url,
            web_url=web_url,
            machines=tuple(machines),
            instance_type=spec.instance_type or spec.spark_conn_id,
            cores_per_machine=machines[0].cores,
            spark_conn_id=spec.spark_conn_id,
            python=spec.python,
            driver_host=spec.driver_host,
        )

    def terminate(self) -> str:
        """Leave it alone: whoever started it ends it. Returns that, for the log."""
        return f"nothing to do, it was there before ({self.master_url}) and stays"

    def _ask_master(self) -> tuple[str, MasterState] | None:
        """Where the standalone master has its page, and its state; None where nothing answers."""
        from airflow_provider_ernest.spark.master import read_state

        if not self._is_standalone:
            return None
        if self.spec.web_url:
            return self.spec.web_url, read_state(self.spec.web_url, timeout_seconds=_ANSWER_SECONDS)
        for address in self._addresses:
            host, _, port = address.rpartition(":")
            web_url = f"http://{host}:{_WEB_PORT}"
            try:
                state = read_state(web_url, timeout_seconds=_ANSWER_SECONDS)
            except ClusterLostError as error:
                log.info("Not known from its master: %s", error.message)
                continue
            # Hosts have several names, but another port is another master's. One on standby has no workers.
            if state.master_url.rpartition(":")[2] == port and (state.machines or state.lost):
                return web_url, state
            log.info("What answers at %s is another master: %s", web_url, state.master_url)
        return None

    def _registered(self, web_url: str, state: MasterState) -> list[Machine]:
        alive = state.machines
        wanted = self.spec.machines or 1
        if len(alive) < wanted:
            raise ClusterLostError(
                f"The master at {web_url} counts on {len(alive)} workers; machines={wanted} were declared.",
                remedy="Start the others, or declare fewer.",
            )
        cores, memory_megabytes = self._size(alive)
        price = self.spec.price_per_hour
        return [
            replace(one, cores=cores, memory_megabytes=memory_megabytes, price_per_hour=price)
            for one in alive
        ]

    def _size(self, alive: tuple[Machine, ...]) -> tuple[int, int]:
        """What each machine offers: as declared, else what the smallest has."""
        cores, memory = self.spec.cores_per_machine, self.spec.memory_megabytes_per_machine
        least_cores = min(worker.cores for worker in alive)
        least_memory = min(worker.memory_megabytes for worker in alive)
        if least_cores < max(worker.cores for worker in alive):
            log.warning("Its workers differ in cores; %d of each are counted on", least_cores)
        for name, declared, offered in zip(
            _SIZES[1:], (cores, memory), (least_cores, least_memory), strict=True
        ):
            if declared is not None and declared > offered:
                raise InvalidParameterError(
                    name, declared, f"is more than its smallest worker offers ({offered})"
                )
        return cores or least_cores, memory or least_memory

    def _declared(self) -> list[Machine]:
        sizes = [getattr(self.spec, name) for name in _SIZES]
        if None in sizes:
            also = " or give web_url, its master's page" if self._is_standalone else ""
            raise InvalidParameterError(
                _SIZES[sizes.index(None)],
                None,
                f"leaves open what the cluster at {self.master_url} has",
                remedy=f"Declare machines, cores_per_machine and memory_megabytes_per_machine{also}.",
            )
        count, cores, memory_megabytes = sizes
        price = self.spec.price_per_hour
        return [Machine(cores=cores, memory_megabytes=memory_megabytes, price_per_hour=price)] * count


def _has_port(address: str) -> bool:
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        return bool(parts.hostname and parts.port)
    # Of a port that is no number, or none of a port.
    except ValueError:
        return False


def _reopen(handle: ClusterHandle, clusters: Any, client: Any) -> Cluster:
    return ExistingCluster.from_handle(handle)


register(EXISTING, Kind(reopen=_reopen, limits_production=lambda handle: True))
