"""Spark properties that put executors on just the machines decided on, under YARN and Kubernetes.

A standalone master needs `spark.sizing.sizing_conf` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ernest.decision.forms.machines import (
    HEAP,
    OVERHEAD,
    REQUESTED_CORES,
    executors_on,
    groups_of,
)
from airflow_provider_ernest.spark.sizing import bounded_allocation_conf, sizing_conf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from airflow_provider_ernest.decision.forms.machines import MachineGroup, MachineShape
    from airflow_provider_ernest.documents.decisions import Decision

_NODE_MILLICORES_PER_CORE = 850
"""Kubernetes keeps some of a node's cores for itself and for what runs on every node. The rest is still more
than half, so that no two executors share one."""


def yarn_conf(
    decision: Decision,
    shapes: Mapping[str, MachineShape],
    *,
    conf: Mapping[str, str],
    dynamic_allocation: bool = False,
) -> dict[str, str]:
    """Properties for YARN: the job's own, and the sizing, which wins.

    For deploy mode "client": a driver on one of the machines would take an executor's room.

    Args:
        decision: what was decided.
        shapes: of the types of machines, by name.
        conf: the job's properties; the executors' memory and overhead are taken from there, where stated.
        dynamic_allocation: on, and bounded to the choice; see `bounded_allocation_conf`.

    Raises:
        InvalidParameterError: executors would not come to lie on the machines as they should.
        MissingResourceError: nothing tells the machines' cores or memory.
    """
    return sized_conf(
        groups_of(decision, shapes), conf=conf, dynamic_allocation=dynamic_allocation, room=_own_room
    )


def kubernetes_conf(
    decision: Decision,
    shapes: Mapping[str, MachineShape],
    *,
    conf: Mapping[str, str],
    dynamic_allocation: bool = False,
) -> dict[str, str]:
    """Properties for Kubernetes: the job's own, and the sizing, which wins.

    A pod asks for as many cores as those of the sample runs had, where they were made on Kubernetes or YARN.
    Of a machine that was known from a standalone master it asks for 85 %; ``spark.executor.cores``, how many
    tasks run at a time, are all of them. What the job's properties say of the pod's cores wins.

    In cluster mode, Spark would give jobs in Python or R four tenths of the heap beside it instead of one
    ("Running Spark on Kubernetes", spark.kubernetes.memoryOverheadFactor). The tenth is asked for here; set
    ``spark.executor.memoryOverheadFactor`` in the job's properties for another share.

    Arguments and errors are those of `yarn_conf`.
    """
    groups = groups_of(decision, shapes)
    sized = sized_conf(groups, conf=conf, dynamic_allocation=dynamic_allocation, room=_own_room)
    cores = sized["spark.executor.cores"]
    if any(group.known_shape.is_standalone for group in groups):
        cores = f"{int(cores) * _NODE_MILLICORES_PER_CORE}m"
    # Kubernetes has no shuffle service: where the defaults turn one on, no run would start.
    return {REQUESTED_CORES: cores, **sized, "spark.shuffle.service.enabled": "false"}


def spark_arguments(conf: Mapping[str, str]) -> list[str]:
    """Properties as arguments of spark-submit, each one an item: no shell reads them, and none is quoted."""
    return [argument for name, value in conf.items() for argument in ("--conf", f"{name}={value}")]


def sized_conf(
    groups: Sequence[MachineGroup],
    *,
    conf: Mapping[str, str],
    dynamic_allocation: bool,
    room: Callable[[MachineShape], int | None],
) -> dict[str, str]:
    """The job's properties and, over them, those of the executors; see `executors_on`."""
    executors = executors_on(groups, conf, room=room)
    return {
        **conf,
        **sizing_conf(machines=executors.count, cores_per_machine=executors.cores),
        **(bounded_allocation_conf(machines=executors.count) if dynamic_allocation else {}),
        HEAP: f"{executors.memory.heap_megabytes}m",
        OVERHEAD: f"{executors.memory.overhead_megabytes}m",
    }


def _own_room(shape: MachineShape) -> int | None:
    return shape.room_megabytes
