"""The machines of a cluster: what each offers, what the bandwidth probe measured on it, how they compare.

A Spark standalone master tells of them at ``/json/`` of its web page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.exceptions import ClusterLostError


class Bandwidth(Document):
    """What the probe measured on one machine, in 10^9 bytes per second, and how that compares."""

    memory_gigabytes_per_second: float  # copied within memory by all cores together, read and written
    network_gigabytes_per_second: float | None  # the worse of sending and receiving; None with one machine
    score: float  # the worse of the two, each relative to the cluster's median machine: 1.0 is ordinary


class Machine(Document):
    """One worker host."""

    worker_id: str = ""  # as the Spark master registered it; "" where no standalone master tells
    host: str = ""  # its address; "" where the cluster places executors as it likes
    cores: int  # offered to executors, as the memory
    memory_megabytes: int
    instance_id: str | None = None  # in the cloud
    market: str | None = None  # "on-demand" or "spot"
    price_per_hour: float | None = None  # in dollars
    bandwidth: Bandwidth | None = None  # None where it was not probed


class Measurement(Document):
    """What one round of the probe measured on one machine, in 10^9 bytes per second."""

    host: str
    memory_windows: tuple[float, ...]  # the rate of each window; at least one
    sent: tuple[float, ...] = ()  # the rate of each transfer to another machine; none with a single machine
    received: tuple[float, ...] = ()  # the rate of each transfer from another machine


def rate(measurements: Iterable[Measurement]) -> dict[str, Bandwidth]:
    """The bandwidth of each host, of one measurement for each machine and round, in any order.

    Memory counts by its best window of all rounds: noise only lowers a rate. Network counts by the best
    transfer in each direction, since a slow partner is not the machine's fault, and then by the worse one.
    """
    rounds: dict[str, list[Measurement]] = {}
    for measurement in measurements:
        rounds.setdefault(measurement.host, []).append(measurement)
    memory = {
        host: max(window for one in several for window in one.memory_windows)
        for host, several in rounds.items()
    }
    network = {host: _network(several) for host, several in rounds.items()}
    memory_ratios = relative_to_median(memory)
    network_ratios = relative_to_median({host: value for host, value in network.items() if value is not None})
    return {
        host: Bandwidth(
            memory_gigabytes_per_second=memory[host],
            network_gigabytes_per_second=network[host],
            score=min(memory_ratios[host], network_ratios.get(host, memory_ratios[host])),
        )
        for host in rounds
    }


def relative_to_median(values: dict[str, float]) -> dict[str, float]:
    """Each value divided by the median of all; 1.0 where that is 0."""
    # Cluster handles hold what was measured, and DAG files load them: this only where machines are compared.
    from statistics import median

    middle = median(values.values()) if values else 0.0
    return {key: value / middle if middle > 0 else 1.0 for key, value in values.items()}


def _network(several: list[Measurement]) -> float | None:
    sent = [value for one in several for value in one.sent]
    received = [value for one in several for value in one.received]
    return min(max(sent), max(received)) if sent and received else None


@dataclass(frozen=True, kw_only=True)
class ActiveApplication:
    """An application that runs or waits, by Spark's id of it, and the cores granted to it so far."""

    id: str
    cores: int


@dataclass(frozen=True, kw_only=True)
class MasterState:
    """What the master knows."""

    master_url: str  # spark://host:port
    machines: tuple[Machine, ...]  # whose workers can take executors
    lost: tuple[str, ...] = ()  # hosts of workers that it has lost; it lists them for a while
    applications: tuple[ActiveApplication, ...] = ()  # that have not ended


def read_state(web_url: str, *, timeout_seconds: float) -> MasterState:
    """Ask a Spark standalone master for its state, by its page's address and never by a proxy.

    Raises:
        ClusterLostError: it cannot be reached in that time, or answers with something else.
    """
    # Here, since DAG files load the documents of this module.
    import http.client
    import urllib.error
    import urllib.request

    address = f"{web_url.rstrip('/')}/json/"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(address, timeout=timeout_seconds) as response:
            body = response.read()
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise ClusterLostError(
            f"The Spark master does not answer at {address}: {reason or type(error).__name__}.",
            remedy="Look in the cluster's logs for why it ended, and start it again.",
        ) from error
    try:
        return _parse(json.loads(body))
    except (ValueError, KeyError, TypeError) as error:
        raise ClusterLostError(
            f"The server at {address} is not a Spark standalone master: {type(error).__name__}: {error}.",
            remedy="Another server may have taken the address since; start the cluster again.",
        ) from error


def _parse(data: dict[str, Any]) -> MasterState:
    return MasterState(
        master_url=str(data["url"]),
        machines=tuple(
            Machine(
                worker_id=str(worker["id"]),
                host=str(worker["host"]),
                cores=int(worker["cores"]),
                memory_megabytes=int(worker["memory"]),
            )
            for worker in data["workers"]
            if worker["state"] == "ALIVE"
        ),
        lost=tuple(str(worker["host"]) for worker in data["workers"] if worker["state"] != "ALIVE"),
        applications=tuple(
            ActiveApplication(id=str(application["id"]), cores=int(application["cores"]))
            for application in data["activeapps"]
        ),
    )
