"""What a cluster of 1,000 machines costs in AWS calls and seconds: ``python -m benchmarks.cluster_api``.

Launches, describes and ends clusters of 10, 100 and 1,000 workers against a plain EC2 endpoint on loopback
(moto behind the test bed's layer, which pages as AWS does). No machine boots, so the seconds are those of the
calls alone; what counts is that the calls do not grow with the machines, but for pages of 1,000.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from airflow_provider_ernest.clusters.ec2.cluster import EC2Cluster
from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
from airflow_provider_ernest.clusters.ec2.instances import of_cluster
from airflow_provider_ernest.clusters.ec2.readiness import Means
from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from tests.ec2_testbed import EC2Api

SIZES = (10, 100, 1000)


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one step of a cluster's life took."""

    name: str
    seconds: float
    calls: Counter[str]


def main() -> int:
    """Print one block for each size; returns the exit code."""
    print(__doc__)
    with EC2Api() as api:
        for size in SIZES:
            print(f"\n{size} workers and those to cull")
            print(f"{'step':10s} {'seconds':>8s} {'calls':>6s}  which")
            for step in _life(api, size):
                which = ", ".join(f"{count} {action}" for action, count in sorted(step.calls.items()))
                print(f"{step.name:10s} {step.seconds:8.2f} {step.calls.total():6d}  {which}")
        left = len(api.live_instances())
    print(f"\n{left} machines left alive")
    return 1 if left else 0


def _life(api: EC2Api, size: int) -> list[Step]:
    spec = EC2ClusterSpec(
        machines=size,
        instance_type="m5.large",
        image=api.image_id,
        subnets=api.subnet_ids,
        security_groups=(api.security_group_id,),
    )
    identity = ClusterIdentity(deployment="ours", dag_id="benchmark", run_id=str(size), task_id="create")
    cluster = EC2Cluster(spec, identity, Means(client=api.client))
    found: list[int] = []

    def describe() -> None:
        found.append(len(of_cluster(api.client("ec2"), cluster.name)))

    steps = [
        _step(api, "launch", cluster.launch),
        _step(api, "describe", describe),
        _step(api, "terminate", cluster.terminate),
    ]
    expected = 1 + spec.launched_machines
    assert found == [expected], f"{found} machines described, {expected} launched"
    return steps


def _step(api: EC2Api, name: str, action: Callable[[], object]) -> Step:
    api.forget_calls()
    began = time.perf_counter()
    action()
    seconds = time.perf_counter() - began
    return Step(name=name, seconds=seconds, calls=Counter(call.action for call in api.calls()))


if __name__ == "__main__":
    sys.exit(main())
