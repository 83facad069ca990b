"""Ending what is overdue in several regions: one that fails must not protect the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import ClusterError, ErnestError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.reaping import TaggedCluster
    from airflow_provider_ernest.clusters.emr.reaping import FoundJobFlow


@dataclass(kw_only=True)
class ReapReport:
    """What was found overdue.

    Attributes:
        now: the time that counted; with time zone.
        dry_run: nothing was ended.
        clusters: on EC2 with overdue machines, by region.
        job_flows: of EMR whose time was over, by region.
        failures: why a region could not be reaped, by region.
    """

    now: datetime
    dry_run: bool
    clusters: dict[str, list[TaggedCluster]] = field(default_factory=dict)
    job_flows: dict[str, list[FoundJobFlow]] = field(default_factory=dict)
    failures: dict[str, ErnestError] = field(default_factory=dict)

    @property
    def machines(self) -> int:
        """How many machines on EC2 were overdue."""
        return sum(len(cluster.overdue) for found in self.clusters.values() for cluster in found)

    def summary(self) -> dict[str, Any]:
        """The report as JSON-compatible builtins."""
        return {
            "dry_run": self.dry_run,
            "machines": self.machines,
            "clusters": {region: [c.to_dict() for c in found] for region, found in self.clusters.items()},
            "job_flows": {
                region: [
                    {**asdict(one), "expires_at": one.expires_at.isoformat() if one.expires_at else None}
                    for one in found
                ]
                for region, found in self.job_flows.items()
            },
            "failures": {region: str(error) for region, error in self.failures.items()},
        }

    def lines(self) -> list[str]:
        """The report for people."""
        from airflow_provider_ernest.clusters.ec2.listing import cluster_table

        verb = "Would end" if self.dry_run else "Ended"
        reaped = [region for region in self.clusters if region not in self.failures]
        lines = [f"{verb} {self.machines} overdue machines on EC2 in {', '.join(reaped) or 'no region'}."]
        if self.machines:
            lines += cluster_table(self.clusters, now=self.now)
        for region, found in self.job_flows.items():
            lines += [f"{verb} job flow {one.id} ({one.cluster_name}) of EMR in {region}." for one in found]
        return lines

    def raise_failures(self) -> None:
        """Raise where a region could not be reaped.

        Raises:
            ClusterError: machines in it may live on.
        """
        if self.failures:
            told = "; ".join(f"{region}: {error}" for region, error in self.failures.items())
            raise ClusterError(f"Overdue machines may live on. {told}")


def reap_regions(
    clients: Mapping[str, Callable[[str], Any]],
    *,
    now: datetime,
    grace_seconds: float,
    dry_run: bool,
    include_emr: bool,
) -> ReapReport:
    """End what is overdue, region by region.

    Args:
        clients: what makes boto3's client of a service, by region.
        now: with time zone.
        grace_seconds: how long after its expiry a machine of EC2 may take to end itself.
        dry_run: only find out what would be ended.
        include_emr: job flows of EMR, too.
    """
    from airflow_provider_ernest.clusters.ec2.reaping import reap

    report = ReapReport(now=now, dry_run=dry_run)
    for region, client in clients.items():
        try:
            report.clusters[region] = reap(
                client("ec2"), now=now, grace_seconds=grace_seconds, dry_run=dry_run
            )
            if include_emr:
                from airflow_provider_ernest.clusters.emr.reaping import reap_job_flows

                report.job_flows[region] = list(reap_job_flows(client("emr"), now=now, dry_run=dry_run))
        except ErnestError as error:
            report.failures[region] = error
    return report
