"""Ending what is overdue in several regions: a region or service that fails must not protect the others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import ClusterError, ErnestError, MissingResourceError
from airflow_provider_ernest.owned_folders import runtime_folder, sweep

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.reaping import TaggedCluster
    from airflow_provider_ernest.clusters.emr.cluster import JobFlow


@dataclass(kw_only=True)
class ReapReport:
    """What was found overdue.

    Attributes:
        dry_run: nothing was ended.
        clusters: on EC2 with overdue machines, by region; without the regions where EC2 failed.
        job_flows: of EMR whose time was over, by region; without the regions where EMR failed.
        failures: why a service could not be reaped, by region and service ("EC2" or "EMR").
    """

    dry_run: bool
    clusters: dict[str, list[TaggedCluster]] = field(default_factory=dict)
    job_flows: dict[str, list[JobFlow]] = field(default_factory=dict)
    failures: dict[str, dict[str, ErnestError]] = field(default_factory=dict)

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
            "job_flows": {region: [c.to_dict() for c in found] for region, found in self.job_flows.items()},
            "failures": {region: _joined(errors) for region, errors in self.failures.items()},
        }

    def lines(self) -> list[str]:
        """The report for people."""
        from airflow_provider_ernest.clusters.ec2.reaping import cluster_table

        verb = "Would end" if self.dry_run else "Ended"
        lines = []
        if self.clusters:
            lines.append(f"{verb} {self.machines} overdue machines on EC2 in {', '.join(self.clusters)}.")
        if self.machines:
            lines += cluster_table(self.clusters)
        for region, found in self.job_flows.items():
            lines += [f"{verb} job flow {one.id} ({one.cluster_name}) of EMR in {region}." for one in found]
        return lines

    def raise_failures(self) -> None:
        """Raise where a service in a region could not be reaped.

        Raises:
            ClusterError: machines in it may live on.
        """
        if self.failures:
            joined = "; ".join(f"{region}: {_joined(errors)}" for region, errors in self.failures.items())
            raise ClusterError(f"Overdue machines may live on. {joined}")


def reap_regions(
    clients: Mapping[str, Callable[[str], Any]],
    *,
    deployment: str | None,
    grace_seconds: float,
    dry_run: bool,
    include_emr: bool,
) -> ReapReport:
    """End what is overdue, region by region; and remove secrets that killed tasks have left on this host.

    Args:
        clients: what makes boto3's client of a service, by region.
        deployment: what is whose; None for that of all deployments.
        grace_seconds: how long after its expiry a machine of EC2 may take to end itself, by AWS's clock.
        dry_run: only find out what would be ended.
        include_emr: job flows of EMR, too.
    """
    from airflow_provider_ernest.clusters.ec2.reaping import reap
    from airflow_provider_ernest.clusters.emr.cluster import reap_job_flows

    # A host without such a folder has none.
    with contextlib.suppress(MissingResourceError):
        sweep(runtime_folder(), dry_run=dry_run)
    report = ReapReport(dry_run=dry_run)
    for region, client in clients.items():
        failures: dict[str, ErnestError] = {}
        try:
            ec2 = _client_of("ec2", region, client)
            report.clusters[region] = reap(
                ec2, deployment=deployment, grace_seconds=grace_seconds, dry_run=dry_run
            )
        except ErnestError as error:
            failures["EC2"] = error
        try:
            if include_emr:
                emr = _client_of("emr", region, client)
                report.job_flows[region] = list(reap_job_flows(emr, deployment=deployment, dry_run=dry_run))
        except ErnestError as error:
            failures["EMR"] = error
        if failures:
            report.failures[region] = failures
    return report


def _client_of(service: str, region: str, client: Callable[[str], Any]) -> Any:
    try:
        return client(service)
    except ErnestError:
        raise
    # Beside botocore's errors and ValueError: those of Airflow's hooks, which nothing here may import.
    except Exception as error:
        problem = f"{type(error).__name__}: {error}".rstrip(".")
        raise ClusterError(
            f"No client of {service} could be made for region {region!r}: {problem}.",
            remedy="Name a region as AWS does, such as eu-west-1, and check connection and credentials.",
        ) from error


def _joined(errors: Mapping[str, ErnestError]) -> str:
    return "; ".join(f"{service}: {error}" for service, error in errors.items())
