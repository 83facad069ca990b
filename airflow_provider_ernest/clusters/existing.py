"""A Spark cluster that somebody else starts and ends: standalone, YARN or Kubernetes.

Nothing is launched and nothing is ended here. A standalone master lists its machines at its web address; of
the others it is declared how many executors of which shape they can give.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from airflow_provider_ernest.clusters.base import ClusterHandle, Kind, register
from airflow_provider_ernest.exceptions import ClusterLostError, InvalidParameterError
from airflow_provider_ernest.settings import ConnectedCluster
from airflow_provider_ernest.spark.machines import Machine, MasterState, read_state

log = logging.getLogger(__name__)

EXISTING = ConnectedCluster.kind

_WEB_PORT = 8080
_ANSWER_SECONDS = 5.0
_STANDALONE = "spark://"
_SIZES = ("executors", "executor_cores", "executor_memory_megabytes")


def look_up(spec: ConnectedCluster, master_url: str) -> ClusterHandle:
    """Find what a cluster can give, which is left alone.

    `master_url` is that of its connection: spark://host:port (several hosts separated by commas), "yarn" or
    k8s://...

    Raises:
        InvalidParameterError: a master without machines or port; nothing tells its machines; or they are
            smaller than declared.
        ClusterLostError: its master does not answer at the given web address, or has fewer machines than
            declared.
    """
    is_standalone = master_url.startswith(_STANDALONE)
    place = master_url.partition("://")[2]
    # Several of a standalone cluster's masters may be on standby; for Kubernetes it is that of its API.
    addresses = place.split(",") if is_standalone else [place] if place else []
    problem = ""
    if not master_url.startswith((_STANDALONE, "yarn", "k8s://")):
        problem = "which is not a cluster that runs can be sized on"
    elif not all(map(_has_port, addresses)):
        problem = "which names no port"
    if problem:
        raise InvalidParameterError(
            "spark_conn_id",
            spec.spark_conn_id,
            f"points at {master_url!r}, {problem}",
            remedy="Its host must be spark://HOST with a port, yarn, or k8s://https://HOST with a port.",
        )
    web_url, state = (_ask_master(spec, addresses) if is_standalone else None) or (None, None)
    machines = _registered(spec, str(web_url), state.machines) if state else _declared(spec, master_url)
    # A standalone master has a worker on each machine, and an executor takes what its smallest offers.
    alone = 1 if is_standalone else None
    return ClusterHandle(
        kind=EXISTING,
        name=spec.spark_conn_id,
        master_url=master_url,
        web_url=web_url,
        machines=tuple(machines),
        instance_type=spec.instance_type or spec.spark_conn_id,
        cores_per_machine=machines[0].cores,
        spark_conn_id=spec.spark_conn_id,
        python=spec.python,
        driver_host=spec.driver_host,
        directory=spec.event_log_uri,
        executors_per_machine=spec.executors_per_machine or alone,
    )


def _has_port(address: str) -> bool:
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        return bool(parts.hostname and parts.port)
    # The port is not a number, or is out of range.
    except ValueError:
        return False


def _ask_master(spec: ConnectedCluster, addresses: Sequence[str]) -> tuple[str, MasterState] | None:
    """Where the standalone master has its page, and its state; None where nothing answers."""
    if spec.web_url:
        return spec.web_url, read_state(spec.web_url, timeout_seconds=_ANSWER_SECONDS)
    for address in addresses:
        host, _, port = address.rpartition(":")
        web_url = f"http://{host}:{_WEB_PORT}"
        try:
            state = read_state(web_url, timeout_seconds=_ANSWER_SECONDS)
        except ClusterLostError as error:
            log.info("The master does not tell its machines: %s", error.message)
            continue
        # Hosts have several names, but another port is another master's. One on standby has no workers.
        if state.master_url.rpartition(":")[2] == port and (state.machines or state.lost):
            return web_url, state
        log.info("Another master answers at %s: %s", web_url, state.master_url)
    return None


def _registered(spec: ConnectedCluster, web_url: str, alive: Sequence[Machine]) -> list[Machine]:
    """The workers, each with what is declared, else with what the smallest has."""
    wanted = spec.executors or 1
    if len(alive) < wanted:
        raise ClusterLostError(
            f"The master at {web_url} has {len(alive)} workers; executors={wanted} were declared.",
            remedy="Start the others, or declare fewer.",
        )
    offered = min(worker.cores for worker in alive), min(worker.memory_megabytes for worker in alive)
    if offered[0] < max(worker.cores for worker in alive):
        log.warning("Its workers differ in cores; %d of each are counted on", offered[0])
    declared = spec.executor_cores, spec.executor_memory_megabytes
    for name, stated, least in zip(_SIZES[1:], declared, offered, strict=True):
        if stated is not None and stated > least:
            raise InvalidParameterError(name, stated, f"is more than its smallest worker offers ({least})")
    cores, memory = declared[0] or offered[0], declared[1] or offered[1]
    price = spec.executor_price_per_hour
    return [replace(one, cores=cores, memory_megabytes=memory, price_per_hour=price) for one in alive]


def _declared(spec: ConnectedCluster, master_url: str) -> list[Machine]:
    sizes = [getattr(spec, name) for name in _SIZES]
    if None in sizes:
        also = " or give web_url, its master's page" if master_url.startswith(_STANDALONE) else ""
        raise InvalidParameterError(
            _SIZES[sizes.index(None)],
            None,
            f"leaves open what the cluster at {master_url} has",
            remedy=f"Declare {', '.join(_SIZES[:2])} and {_SIZES[2]}{also}.",
        )
    count, cores, memory = sizes
    return [
        Machine(cores=cores, memory_megabytes=memory, price_per_hour=spec.executor_price_per_hour)
    ] * count


register(
    EXISTING,
    Kind(
        terminate=lambda handle, *_: f"nothing to do, it was there before ({handle.master_url}) and stays",
        limits_production=lambda handle: True,
    ),
)
