"""AWS Glue: the type and the number of a job run's workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.downstream.machines import only_group
from airflow_provider_ernest.downstream.memory import wanted_memory
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_provider_ernest.downstream.machines import MachineShape
    from airflow_provider_ernest.model.results import Decision

# "AWS Glue worker types", AWS Glue Developer Guide: vCPUs and gigabytes. The general ones come first.
_WORKERS = {
    "G.1X": (4, 16),
    "G.2X": (8, 32),
    "G.4X": (16, 64),
    "G.8X": (32, 128),
    "G.12X": (48, 192),
    "G.16X": (64, 256),
    "R.1X": (4, 32),
    "R.2X": (8, 64),
    "R.4X": (16, 128),
    "R.8X": (32, 256),
}
_MEGABYTES_PER_GIGABYTE = 1024
_DRIVERS = 1


def glue_workers(
    decision: Decision, shapes: Mapping[str, MachineShape], *, conf: Mapping[str, str]
) -> dict[str, Any]:
    """``WorkerType`` and ``NumberOfWorkers`` for StartJobRun: a worker for each machine and for the driver.

    Each worker runs one executor, but for the one with the driver ("Best practices to scale Apache Spark jobs
    and partition data with AWS Glue", AWS Big Data Blog). The type has as many cores as the machine;
    a general one (G) where its memory holds an executor as in the sample runs, else one with twice the memory
    (R). How much of it becomes heap is Glue's own affair, as are the other properties of executors. The
    number holds only where auto scaling (``--enable-auto-scaling``) is off.

    Args:
        decision: what was decided.
        shapes: of the types of machines, by name.
        conf: the job's properties.

    Raises:
        InvalidParameterError: no worker has as many cores and so much memory, or the decision is a mix.
        MissingResourceError: nothing tells the machines' cores or memory.
    """
    group = only_group(decision, shapes, target="Glue")
    shape = group.known_shape
    needed = wanted_memory(shape, conf).container_megabytes
    for worker_type, (cores, gigabytes) in _WORKERS.items():
        if cores == shape.cores and needed <= gigabytes * _MEGABYTES_PER_GIGABYTE:
            return {"WorkerType": worker_type, "NumberOfWorkers": group.machines + _DRIVERS}
    offered = ", ".join(f"{name} {cores}/{gigabytes}" for name, (cores, gigabytes) in _WORKERS.items())
    raise InvalidParameterError(
        "cores_per_machine",
        shape.cores,
        f"with {needed} MB for the executor is no worker of Glue (cores/GB: {offered})",
        remedy="Train on machines like one of them.",
    )
