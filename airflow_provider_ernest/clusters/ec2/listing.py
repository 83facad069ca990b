"""Clusters in lines of text, the same in task logs and on the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.reaping import TaggedCluster

_HEADING = ("cluster", "region", "machines", "type", "age", "expires", "owner")
_UNKNOWN = "?"


def cluster_table(
    found: Mapping[str, Sequence[TaggedCluster]],
    *,
    prices_per_hour: Mapping[tuple[str, str], float | None] | None = None,
) -> list[str]:
    """One line for each cluster: its machines that live, and whose it is.

    Args:
        found: the clusters by region.
        prices_per_hour: dollars for one machine, by region and instance type, to show what each cluster
            costs; the master is taken for a machine of the workers' type.
    """
    rows = [
        (
            cluster.name,
            region,
            _machines(cluster),
            " ".join(cluster.instance_types) or _UNKNOWN,
            _span(_told_at(cluster) - datetime.fromisoformat(cluster.launched_at)),
            _expiry(cluster),
            f"{cluster.dag_id or _UNKNOWN} {cluster.task_id or _UNKNOWN} {cluster.run_id or _UNKNOWN}",
            *([] if prices_per_hour is None else [_cost(cluster, region, prices_per_hour)]),
        )
        for region, clusters in found.items()
        for cluster in clusters
    ]
    heading = _HEADING if prices_per_hour is None else (*_HEADING, "about $ per hour")
    widths = [max(len(row[column]) for row in (heading, *rows)) for column in range(len(heading))]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in (heading, *rows)
    ]


def _machines(cluster: TaggedCluster) -> str:
    others = {state: count for state, count in cluster.states.items() if state != "running"}
    told = "".join(f", {count} {state}" for state, count in sorted(others.items()))
    return f"{cluster.states.get('running', 0)} running{told}"


def _told_at(cluster: TaggedCluster) -> datetime:
    return datetime.fromisoformat(cluster.told_at)


def _expiry(cluster: TaggedCluster) -> str:
    if cluster.earliest_expiry is None:
        return "its tag cannot be read"
    left = datetime.fromisoformat(cluster.earliest_expiry) - _told_at(cluster)
    return f"in {_span(left)}" if left > timedelta() else f"{_span(-left)} ago"


def _cost(
    cluster: TaggedCluster, region: str, prices_per_hour: Mapping[tuple[str, str], float | None]
) -> str:
    prices = [prices_per_hour.get((region, name)) for name in cluster.instance_types]
    known = [price for price in prices if price is not None]
    if not known or len(known) < len(prices):
        return _UNKNOWN
    return f"{len(cluster.instance_ids) * sum(known) / len(known):.2f}"


def _span(span: timedelta) -> str:
    minutes = round(span.total_seconds() / 60)
    return f"{minutes} min" if abs(minutes) < 120 else f"{minutes / 60:.1f} h"
