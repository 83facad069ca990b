"""The last resort against machines that nobody ends: find them by tag, end those that are overdue."""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from airflow_provider_ernest.clusters.ec2.ending import end_machines
from airflow_provider_ernest.clusters.ec2.identity import DEPLOYMENT_TAG
from airflow_provider_ernest.clusters.ec2.instances import Instance, of_all_clusters, workers
from airflow_provider_ernest.clusters.ec2.spec import MAX_TIME_TO_LIVE_SECONDS
from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.exceptions import ClusterError, ErnestError, MissingResourceError
from airflow_provider_ernest.processes import runtime_folder, sweep
from airflow_provider_ernest.words import UNKNOWN, dollars, duration

log = logging.getLogger(__name__)

GRACE_SECONDS = 300.0
"""How long after its expiry a machine may take to end itself before it is called overdue."""

UNREADABLE_LIMIT = timedelta(seconds=MAX_TIME_TO_LIVE_SECONDS)
"""A machine whose expiry tag was removed or spoilt is overdue so long after its launch: no cluster may live
longer, and one that lives for less is not told from it."""


class TaggedCluster(Document):
    """A cluster as its machines' tags tell of it. Times are in ISO 8601.

    Attributes:
        dag_id, run_id, task_id: of the task that started it, as far as tags can hold them.
        states: how many of its machines are in each state.
        instance_ids: of its machines that have not ended.
        overdue: ids of those that are past their expiry by more than the grace.
        unreadable: ids of those whose expiry tag cannot be read.
        earliest_expiry, latest_expiry: None where no tag can be read.
        launched_at: of the oldest machine.
        told_at: what time it was by AWS's clock when it told all this.
        instance_types: of its workers.
    """

    name: str
    deployment: str
    dag_id: str
    run_id: str
    task_id: str
    states: Mapping[str, int]
    instance_ids: tuple[str, ...]
    overdue: tuple[str, ...]
    unreadable: tuple[str, ...]
    earliest_expiry: str | None
    latest_expiry: str | None
    launched_at: str
    told_at: str
    instance_types: tuple[str, ...]


def find_clusters(
    ec2: Any, *, deployment: str | None, grace_seconds: float = GRACE_SECONDS
) -> list[TaggedCluster]:
    """All clusters of this package in the client's account and region that have not ended, the oldest first.

    Those of one deployment, or of all for None. A machine is overdue `grace_seconds` after its expiry, by
    AWS's clock. Needs the permission ec2:DescribeInstances.
    """
    by_name: dict[str, list[Instance]] = {}
    for instance in of_all_clusters(ec2, deployment=deployment):
        by_name.setdefault(instance.cluster_name, []).append(instance)
    grace = timedelta(seconds=grace_seconds)
    return [_summary(name, instances, grace) for name, instances in by_name.items()]


def _summary(name: str, instances: Sequence[Instance], grace: timedelta) -> TaggedCluster:
    tags = instances[0].tags
    expiries = [instance.expires_at for instance in instances if instance.expires_at is not None]
    due = {
        i.id: i.expires_at + grace if i.expires_at else i.launched_at + UNREADABLE_LIMIT for i in instances
    }
    return TaggedCluster(
        name=name,
        deployment=tags.get(DEPLOYMENT_TAG, ""),
        dag_id=tags.get("ernest:dag", ""),
        run_id=tags.get("ernest:run", ""),
        task_id=tags.get("ernest:task", ""),
        states=dict(Counter(instance.state for instance in instances)),
        instance_ids=tuple(instance.id for instance in instances),
        overdue=tuple(instance.id for instance in instances if due[instance.id] < instance.told_at),
        unreadable=tuple(instance.id for instance in instances if instance.expires_at is None),
        earliest_expiry=min(expiries).isoformat(timespec="seconds") if expiries else None,
        latest_expiry=max(expiries).isoformat(timespec="seconds") if expiries else None,
        launched_at=instances[0].launched_at.isoformat(timespec="seconds"),
        told_at=instances[0].told_at.isoformat(timespec="seconds"),
        instance_types=tuple(sorted({w.instance_type for w in workers(instances) if w.instance_type})),
    )


def reap(
    ec2: Any, *, deployment: str | None, grace_seconds: float = GRACE_SECONDS, dry_run: bool = False
) -> list[TaggedCluster]:
    """End the machines that are overdue. Each counts for itself: a grown cluster has several expiries.

    A machine whose expiry tag cannot be read is reported at once, and ended only after `UNREADABLE_LIMIT`:
    before, its cluster may be in use. Its own timer does not depend on the tag.

    Needs the permissions ec2:DescribeInstances, ec2:TerminateInstances and, for protected machines,
    ec2:ModifyInstanceAttribute. Arguments and errors are those of `find_clusters`; a `dry_run` only says what
    would be ended. Returns the clusters that had overdue machines.
    """
    clusters = find_clusters(ec2, deployment=deployment, grace_seconds=grace_seconds)
    for cluster in clusters:
        if cluster.unreadable:
            ids = ", ".join(cluster.unreadable)
            log.warning("Cluster %s has machines with an unreadable expiry tag: %s", cluster.name, ids)
    overdue = [cluster for cluster in clusters if cluster.overdue]
    verb = "Would end" if dry_run else "Ending"
    for cluster in overdue:
        ids = ", ".join(cluster.overdue)
        log.info("%s %d overdue machines of cluster %s: %s", verb, len(cluster.overdue), cluster.name, ids)
    if not dry_run:
        end_machines(ec2, [instance_id for cluster in overdue for instance_id in cluster.overdue])
    return overdue


@dataclass(kw_only=True)
class ReapReport:
    """Clusters with overdue machines, and why regions could not be reaped; both by region."""

    dry_run: bool
    clusters: dict[str, list[TaggedCluster]] = field(default_factory=dict)
    failures: dict[str, ErnestError] = field(default_factory=dict)

    @property
    def machines(self) -> int:
        """How many machines were overdue."""
        return sum(len(cluster.overdue) for found in self.clusters.values() for cluster in found)

    def summary(self) -> dict[str, Any]:
        """The report as JSON-compatible builtins."""
        return {
            "dry_run": self.dry_run,
            "machines": self.machines,
            "clusters": {region: [c.to_dict() for c in found] for region, found in self.clusters.items()},
            "failures": {region: str(error) for region, error in self.failures.items()},
        }

    def lines(self) -> list[str]:
        """The report for people."""
        if not self.clusters:
            return []
        verb = "Would end" if self.dry_run else "Ended"
        told = f"{verb} {self.machines} overdue machines on EC2 in {', '.join(self.clusters)}."
        return [told, *(cluster_table(self.clusters) if self.machines else ())]

    def raise_failures(self) -> None:
        """Raise a ClusterError where a region could not be reaped: machines in it may live on."""
        if self.failures:
            joined = "; ".join(f"{region}: {error}" for region, error in self.failures.items())
            raise ClusterError(f"Overdue machines may live on. {joined}")


def reap_regions(
    clients: Mapping[str, Callable[[str], Any]],
    *,
    deployment: str | None,
    grace_seconds: float,
    dry_run: bool,
) -> ReapReport:
    """End what is overdue, region by region; and remove secrets that killed tasks have left on this host.

    A region that fails does not protect the others. `clients` are what makes boto3's client of a service, by
    region; the other arguments are those of `reap`.
    """
    # A host without such a folder has none.
    with contextlib.suppress(MissingResourceError):
        sweep(runtime_folder(), dry_run=dry_run)
    report = ReapReport(dry_run=dry_run)
    for region, client in clients.items():
        try:
            report.clusters[region] = reap(
                _client_of(region, client),
                deployment=deployment,
                grace_seconds=grace_seconds,
                dry_run=dry_run,
            )
        except ErnestError as error:
            report.failures[region] = error
    return report


def _client_of(region: str, client: Callable[[str], Any]) -> Any:
    try:
        return client("ec2")
    except ErnestError:
        raise
    # Beside botocore's errors and ValueError: those of Airflow's hooks, which nothing here may import.
    except Exception as error:
        problem = f"{type(error).__name__}: {error}".rstrip(".")
        raise ClusterError(
            f"No client of ec2 could be made for region {region!r}: {problem}.",
            remedy="Name a region as AWS does, such as eu-west-1, and check connection and credentials.",
        ) from error


def cluster_table(
    found: Mapping[str, Sequence[TaggedCluster]],
    *,
    prices_per_hour: Mapping[tuple[str, str], float | None] | None = None,
) -> list[str]:
    """One line for each cluster, in task logs and on the command line: its machines, and whose it is.

    `prices_per_hour` are dollars for one machine, by region and instance type, to show what each cluster
    costs; the master is taken for a machine of the workers' type.
    """
    rows: list[tuple[str, ...]] = [("cluster", "region", "machines", "type", "age", "expires", "owner")]
    costs = ["about $ per hour"]
    for region, clusters in found.items():
        for cluster in clusters:
            told_at = datetime.fromisoformat(cluster.told_at)
            rows.append(
                (
                    cluster.name,
                    region,
                    _machines(cluster),
                    " ".join(cluster.instance_types) or UNKNOWN,
                    _span(told_at - datetime.fromisoformat(cluster.launched_at)),
                    _expiry(cluster, told_at),
                    " ".join(each or UNKNOWN for each in (cluster.dag_id, cluster.task_id, cluster.run_id)),
                )
            )
            costs.append(_cost(cluster, region, prices_per_hour or {}))
    table = rows if prices_per_hour is None else [(*row, cost) for row, cost in zip(rows, costs, strict=True)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]


def _machines(cluster: TaggedCluster) -> str:
    others = sorted((state, count) for state, count in cluster.states.items() if state != "running")
    return f"{cluster.states.get('running', 0)} running" + "".join(f", {n} {state}" for state, n in others)


def _expiry(cluster: TaggedCluster, told_at: datetime) -> str:
    if cluster.earliest_expiry is None:
        return "its tag cannot be read"
    left = datetime.fromisoformat(cluster.earliest_expiry) - told_at
    return f"in {_span(left)}" if left > timedelta() else f"{_span(-left)} ago"


def _cost(cluster: TaggedCluster, region: str, prices: Mapping[tuple[str, str], float | None]) -> str:
    of_types = [prices.get((region, name)) for name in cluster.instance_types]
    known = [price for price in of_types if price is not None]
    if not known or len(known) < len(of_types):
        return UNKNOWN
    return dollars(len(cluster.instance_ids) * sum(known) / len(known))


def _span(span: timedelta) -> str:
    return duration(round(span.total_seconds()))
