"""The machines of a cluster: what each offers, what the bandwidth probe measured on it, how they compare."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_ernest.documents.base import Document


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
