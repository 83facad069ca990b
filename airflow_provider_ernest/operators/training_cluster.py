"""What a model keeps of its training cluster, which ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.ec2.spec import EC2
from airflow_provider_ernest.clusters.emr.spec import EMR
from airflow_provider_ernest.documents.models import TrainedMachine, TrainingCluster
from airflow_provider_ernest.settings.values import optional_number, optional_text, optional_whole_number
from airflow_provider_ernest.spark.machines import Machine

if TYPE_CHECKING:
    from collections.abc import Mapping


def training_cluster(handle: ClusterHandle) -> TrainingCluster:
    """The machines that a cluster kept, those that it culled, and its master."""
    culled = [_trained(one.machine, culled_because=one.reason or "not needed") for one in handle.culled]
    master = [_trained(handle.master, is_master=True)] if handle.master else []
    return TrainingCluster(
        kind=handle.kind,
        name=handle.name,
        instance_type=handle.instance_type,
        cores_per_machine=handle.cores_per_machine,
        price_per_hour=handle.price_per_hour,
        machines=(*map(_trained, handle.machines), *culled, *master),
        memory_megabytes_per_machine=min((one.memory_megabytes for one in handle.machines), default=None),
        master_price_per_hour=handle.master_price_per_hour,
        market=handle.market,
    )


def planned_cluster(machine: Mapping[str, Any]) -> TrainingCluster | None:
    """The machine of a `FitModelOperator` for which no cluster was started; None if its cores are unknown."""
    cores = optional_whole_number("cores_per_machine", machine.get("cores_per_machine"))
    if cores is None:
        return None
    return TrainingCluster(
        kind=str(machine["kind"]),
        name="",
        instance_type=str(machine["instance_type"]),
        cores_per_machine=cores,
        price_per_hour=optional_number("price_per_hour", machine.get("price_per_hour")),
        memory_megabytes_per_machine=optional_whole_number(
            "memory_megabytes_per_machine", machine.get("memory_megabytes_per_machine")
        ),
        # Other kinds run their drivers with Airflow, or beside the workers.
        master_price_per_hour=optional_number("master_price_per_hour", machine.get("master_price_per_hour"))
        if machine["kind"] in (EC2, EMR)
        else 0.0,
        market=optional_text(machine.get("market")),
    )


def _trained(machine: Machine, *, culled_because: str = "", is_master: bool = False) -> TrainedMachine:
    bandwidth = machine.bandwidth
    return TrainedMachine(
        host=machine.host,
        instance_id=machine.instance_id,
        memory_gigabytes_per_second=bandwidth.memory_gigabytes_per_second if bandwidth else None,
        network_gigabytes_per_second=bandwidth.network_gigabytes_per_second if bandwidth else None,
        score=bandwidth.score if bandwidth else None,
        culled_because=culled_because,
        price_per_hour=machine.price_per_hour,
        is_master=is_master,
    )


def remembered_handle(cluster: TrainingCluster) -> ClusterHandle | None:
    """An ended cluster with its machines' number, shape and price; None if their memory is unknown."""
    memory = cluster.memory_megabytes_per_machine
    if memory is None or not cluster.kept_machines:
        return None

    def machine(of: TrainedMachine) -> Machine:
        return Machine(
            cores=cluster.cores_per_machine,
            memory_megabytes=memory,
            price_per_hour=of.price_per_hour,
            market=cluster.market,
        )

    return ClusterHandle(
        kind=cluster.kind,
        name=cluster.name,
        master_url="",
        machines=tuple(map(machine, cluster.kept_machines)),
        instance_type=cluster.instance_type,
        cores_per_machine=cluster.cores_per_machine,
        master=next((machine(each) for each in cluster.machines if each.is_master), None),
    )
