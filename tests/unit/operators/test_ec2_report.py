from datetime import UTC, datetime

import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle, CulledMachine, Machine
from airflow_provider_ernest.operators.ec2_cluster import cluster_lines
from airflow_provider_ernest.spark.bandwidth import Bandwidth

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def machine(number: int, price_per_hour: float | None, **changes) -> Machine:
    fields = {
        "worker_id": "w",
        "host": f"10.0.0.{number}",
        "cores": 2,
        "memory_megabytes": 900,
        "market": "spot",
    }
    return Machine(**fields, instance_id=f"i-{number}", price_per_hour=price_per_hour, **changes)


def cluster(*, price_per_hour: float | None = 0.1, expires_at: str | None = "2026-01-01T14:00:00+00:00"):
    slow = Bandwidth(memory_gigabytes_per_second=6.04, network_gigabytes_per_second=None, score=0.6)
    return ClusterHandle(
        kind="ec2",
        name="ernest-1",
        master_url="spark://10.0.0.1:7077",
        region="eu-west-1",
        machines=(machine(2, price_per_hour), machine(3, 0.1)),
        master=machine(1, 0.3),
        expires_at=expires_at,
        culled=(CulledMachine(machine=machine(4, 0.1, bandwidth=slow), reason="the slowest"),),
    )


def test_what_it_costs_per_hour_and_at_most():
    told = "\n".join(cluster_lines(cluster(), now=NOW))
    assert "0.1000 dollars per hour for a worker, 0.5000 for all with the master" in told
    assert "at most 1.00 dollars from now until then" in told


def test_the_machines_that_were_ended_and_why():
    (row,) = (line for line in cluster_lines(cluster(), now=NOW) if line.startswith("i-4 "))
    assert row.split() == ["i-4", "10.0.0.4", "6.0", "-", "0.60", "the", "slowest"]


@pytest.mark.parametrize("expires_at", [None, "2026-01-01T14:00:00+00:00"])
def test_an_unknown_price_is_not_made_up(expires_at):
    told = "\n".join(cluster_lines(cluster(price_per_hour=None, expires_at=expires_at), now=NOW))
    assert "what it costs is unknown" in told
    assert "dollars" not in told
