"""What a task's log says of a cluster on EC2: what it is, what it costs, what was ended."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.base import ClusterHandle, Machine


def tell(handle: ClusterHandle, log: Any) -> None:
    """Log the cluster. Never fails: a setup that does so now would leave the cluster to its time to live."""
    try:
        for line in cluster_lines(handle, now=datetime.now(UTC)):
            log.info("%s", line)
    except Exception:
        log.exception("Cluster %s runs, and cannot be described", handle.name)


def cluster_lines(handle: ClusterHandle, *, now: datetime) -> list[str]:
    """The cluster, its costs and the machines that were ended again.

    Args:
        handle: of the cluster.
        now: with time zone.
    """
    markets = Counter(machine.market or "unknown market" for machine in handle.machines)
    lines = [
        f"Spark {handle.name} at {handle.master_url} in {handle.region}",
        f"{len(handle.machines)} workers of {handle.cores_per_machine} cores, {handle.instance_type} "
        f"({', '.join(f'{count} {market}' for market, count in sorted(markets.items()))})",
        *_costs(handle, now),
    ]
    if handle.culled:
        lines.append(
            f"ended again: {len(handle.culled)} of {len(handle.culled) + len(handle.machines)} workers"
        )
        lines.append("machine              address          memory GB/s  network GB/s  score  why")
        lines += [
            f"{one.machine.instance_id or '?':19s}  {one.machine.host:15s}  {_measured(one.machine)}  "
            f"{one.reason}"
            for one in handle.culled
        ]
    return lines


def _costs(handle: ClusterHandle, now: datetime) -> list[str]:
    machines = (*handle.machines, *([handle.master] if handle.master else []))
    prices = [machine.price_per_hour for machine in machines]
    known = [price for price in prices if price is not None]
    expiry = f"; it ends itself at {handle.expires_at}" if handle.expires_at else ""
    if len(known) < len(prices):
        return [f"what it costs is unknown{expiry}"]
    each = f"{handle.price_per_hour:.4f} dollars per hour for a worker" if handle.price_per_hour else ""
    total = sum(known)
    lines = [f"{each}, {total:.4f} for all with the master{expiry}"]
    if handle.expires_at:
        hours = (datetime.fromisoformat(handle.expires_at) - now).total_seconds() / 3600
        lines.append(f"at most {total * max(0.0, hours):.2f} dollars from now until then")
    return lines


def _measured(machine: Machine) -> str:
    bandwidth = machine.bandwidth
    if bandwidth is None:
        return f"{'-':>11s}  {'-':>12s}  {'-':>5s}"
    memory, network = bandwidth.memory_gigabytes_per_second, bandwidth.network_gigabytes_per_second
    sent = "-" if network is None else f"{network:.2f}"
    return f"{memory:11.1f}  {sent:>12s}  {bandwidth.score:5.2f}"
