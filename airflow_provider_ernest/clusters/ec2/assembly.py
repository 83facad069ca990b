"""From running machines to a cluster's handle: who is who, which are slow, which are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from airflow_provider_ernest.clusters.base import EC2, ClusterHandle, Machine
from airflow_provider_ernest.clusters.ec2.instances import Instance, workers
from airflow_provider_ernest.clusters.ec2.readiness import master_of, web_url
from airflow_provider_ernest.clusters.ec2.user_data import MASTER_PORT
from airflow_provider_ernest.exceptions import ClusterLostError
from airflow_provider_ernest.spark.bandwidth import Bandwidth
from airflow_provider_ernest.spark.master import MasterState

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.prices import PriceBook
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec


def match_workers(
    instances: Sequence[Instance], state: MasterState, *, prices: PriceBook | None
) -> tuple[Machine, ...]:
    """The workers that both AWS and the Spark master count on, matched by their private addresses.

    All are of one type, that of the most: others can only be left over from an attempt that was cut off.

    Args:
        instances: with the cluster's tag.
        state: of the Spark master.
        prices: None where they are not to be known.
    """
    registered = {worker.host: worker for worker in state.workers_alive}
    of_type = Counter(i.instance_type for i in workers(instances) if i.private_address in registered)
    kept_type = {name for name, _ in of_type.most_common(1)}
    return tuple(
        Machine(
            worker_id=registered[instance.private_address].id,
            host=instance.private_address,
            cores=registered[instance.private_address].cores,
            memory_megabytes=registered[instance.private_address].memory_megabytes,
            instance_id=instance.id,
            market=instance.market,
            price_per_hour=(
                prices.per_hour(instance.instance_type, instance.market, instance.zone) if prices else None
            ),
        )
        for instance in workers(instances)
        if instance.usable and instance.private_address in registered and instance.instance_type in kept_type
    )


def make_handle(
    spec: EC2ClusterSpec,
    cluster_name: str,
    *,
    instances: Sequence[Instance],
    machines: Sequence[Machine],
    prices: PriceBook | None,
    region: str,
    aws_conn_id: str | None,
) -> ClusterHandle:
    """The handle of a cluster of these workers.

    Args:
        spec: what was asked for.
        cluster_name: value of the machines' tag.
        instances: with the cluster's tag.
        machines: the workers, as `match_workers` gives them.
        prices: None where they are not to be known.
        region: of AWS.
        aws_conn_id: the Airflow connection through which it was launched.

    Raises:
        ClusterLostError: the master's machine or all workers have ended.
    """
    master = master_of(instances)
    if master is None or not machines:
        raise ClusterLostError(
            f"Cluster {cluster_name} has lost its {'workers' if master else 'master'}.",
            remedy="Look into the task's log and the EC2 console for why, and start it again.",
        )
    by_id = {instance.id: instance for instance in instances}
    types = {by_id[machine.instance_id].instance_type for machine in machines if machine.instance_id}
    return ClusterHandle(
        kind=EC2,
        name=cluster_name,
        master_url=f"spark://{master.private_address}:{MASTER_PORT}",
        web_url=web_url(master),
        machines=tuple(machines),
        instance_type=types.pop() if len(types) == 1 else spec.instance_type,
        cores_per_machine=min(machine.cores for machine in machines),
        expires_at=earliest_expiry([master, *(by_id[m.instance_id] for m in machines if m.instance_id)]),
        python=spec.python,
        authenticates=True,
        encrypts=spec.network_encryption,
        driver_host=spec.driver_host,
        aws_conn_id=aws_conn_id,
        region=region,
        master=_master_machine(master, prices),
    )


def earliest_expiry(instances: Sequence[Instance]) -> str | None:
    """ISO 8601; when the first of them ends itself; None where no tag can be read."""
    moments = [instance.expires_at for instance in instances if instance.expires_at is not None]
    first: datetime | None = min(moments, default=None)
    return first.isoformat(timespec="seconds") if first else None


def scored(machines: Sequence[Machine], measured: Mapping[str, Bandwidth]) -> tuple[Machine, ...]:
    """The machines with what the probe measured on them, found by their addresses."""
    return tuple(
        replace(machine, bandwidth=measured.get(machine.host, machine.bandwidth)) for machine in machines
    )


def _master_machine(master: Instance, prices: PriceBook | None) -> Machine:
    return Machine(
        worker_id="",
        host=master.private_address,
        cores=0,
        memory_megabytes=0,
        instance_id=master.id,
        market=master.market,
        # Not that of a worker, which the user may have set.
        price_per_hour=(
            prices.listed_per_hour(master.instance_type, master.market, master.zone) if prices else None
        ),
    )
