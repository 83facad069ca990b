"""Amazon EMR on EC2: the instance groups of a job flow, and the properties of its steps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.decision.forms.machines import (
    HEAP,
    SLACK_MEGABYTES,
    filling,
    groups_of,
    megabytes,
    memory_of,
    only_group,
    overhead_factor,
    wanted_memory,
)
from airflow_provider_ernest.decision.forms.spark import sized_conf, spark_arguments
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.spark.sizing import bounded_allocation_conf, sizing_conf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_provider_ernest.decision.forms.machines import MachineShape
    from airflow_provider_ernest.documents.decisions import Decision

EC2_TYPE = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")
"""How Amazon names its types of machines: m5.large, u-6tb1.metal."""
SPOT = "spot"

_YARN_SHARE = 0.75


def instance_groups(decision: Decision) -> list[dict[str, Any]]:
    """The groups of the machines that work, for ``Instances.InstanceGroups`` of RunJobFlow.

    The type with the most machines becomes the CORE group, each further one a TASK group; EMR takes one of
    the first kind and 48 of the second ("Configure instance groups", Amazon EMR Management Guide). The MASTER
    group is yours. The market is that by which the decision counted the cost.

    Args:
        decision: what was decided.

    Raises:
        InvalidParameterError: a type that is none of Amazon's.
    """
    market = "SPOT" if decision.billing is not None and decision.billing.market == SPOT else "ON_DEMAND"
    groups = []
    for index, group in enumerate(groups_of(decision, {})):
        if not EC2_TYPE.fullmatch(group.instance_type):
            raise InvalidParameterError(
                "instance_type",
                group.instance_type,
                "is no type of machine that EMR could start",
                remedy="Train on such a type, or name it by instance_type of the cluster's specification.",
            )
        groups.append(
            {
                "Name": f"task {group.instance_type}" if index else "core",
                "InstanceRole": "TASK" if index else "CORE",
                "InstanceType": group.instance_type,
                "InstanceCount": group.machines,
                "Market": market,
            }
        )
    return groups


def step_arguments(
    decision: Decision,
    shapes: Mapping[str, MachineShape],
    *,
    conf: Mapping[str, str],
    dynamic_allocation: bool = False,
) -> list[str]:
    """Arguments of spark-submit in a step: one executor on each machine of one type.

    They are needed: EMR turns dynamic allocation on, and its own sizes of executors leave room for several
    on one machine ("Configure Spark", Amazon EMR Release Guide). Where the sample runs were made on EMR, the
    executors are as they were. A machine known from a standalone master has less to give here, since EMR
    leaves YARN three quarters of its memory ("Task configuration", there); 1 GB of it is kept for the
    application master. The driver belongs on the master (``--deploy-mode client``): on one of the machines
    it would take an executor's room.

    Raises:
        InvalidParameterError: executors would not come to lie on the machines as they should.
        MissingResourceError: nothing tells the machines' cores or memory.
    """
    groups = groups_of(decision, shapes)
    return spark_arguments(
        sized_conf(groups, conf=conf, dynamic_allocation=dynamic_allocation, room=_room_under_yarn)
    )


def _room_under_yarn(shape: MachineShape) -> int | None:
    whole = shape.whole_megabytes
    return None if whole is None else int(_YARN_SHARE * whole) - SLACK_MEGABYTES


# EMR Serverless: the sizes are those of "Understanding application behavior in EMR Serverless", the defaults
# those of "Spark job properties" (both Amazon EMR Serverless User Guide). Without properties of its own a job
# would begin with 3 executors of 4 cores and 14 GB, and dynamic allocation would add as many as it likes.


# Gigabytes of a worker by its vCPUs: least, most, and in steps of.
_SIZES = {1: (2, 8, 1), 2: (4, 16, 1), 4: (8, 30, 1), 8: (16, 60, 4), 16: (32, 120, 8)}
_DRIVER_CORES, _DRIVER_MEMORY = "spark.driver.cores", "spark.driver.memory"
_DRIVER_DEFAULTS = {_DRIVER_CORES: "4", _DRIVER_MEMORY: "14g"}
_MEGABYTES_PER_GIGABYTE = 1024
# Between double quotes a backslash keeps these from ending them or meaning something.
_TO_ESCAPE = str.maketrans({'"': '\\"', "\\": "\\\\"})


def emr_serverless(
    decision: Decision,
    shapes: Mapping[str, MachineShape],
    *,
    conf: Mapping[str, str],
    dynamic_allocation: bool = False,
) -> dict[str, Any]:
    """What a job run and its application need: one worker for each machine, and one for the driver.

    A worker has the machine's cores and the least memory of the allowed sizes that holds an executor as in
    the sample runs; the executor's heap then grows to fill it. The driver has EMR's default of 4 cores and
    14 GB where the job's properties say nothing else.

    Returns:
        ``sparkSubmitParameters``, the text for ``jobDriver.sparkSubmit`` of StartJobRun; and
        ``maximumCapacity`` for CreateApplication or UpdateApplication, just what the run takes. Nothing is
        said of ``initialCapacity``: workers that are kept warm are paid for while they are idle, too.

    Raises:
        InvalidParameterError: no worker has as many cores or so much memory, or the decision is a mix.
        MissingResourceError: nothing tells the machines' cores or memory.
    """
    group = only_group(decision, shapes, target="EMR Serverless")
    shape = group.known_shape
    gigabytes = _worker_gigabytes(
        "cores_per_machine", shape.cores, wanted_memory(shape, conf).container_megabytes
    )
    memory = filling(gigabytes * _MEGABYTES_PER_GIGABYTE, conf)
    driver = {name: conf.get(name, default) for name, default in _DRIVER_DEFAULTS.items()}
    driver_cores, driver_gigabytes = _driver_size(driver, conf)
    properties = {
        **conf,
        **driver,
        **sizing_conf(machines=group.machines, cores_per_machine=shape.cores),
        **(bounded_allocation_conf(machines=group.machines) if dynamic_allocation else {}),
        HEAP: f"{memory.heap_megabytes}m",
        # By this and not by the executors' own property, to which EMR might add it.
        "spark.emr-serverless.memoryOverheadFactor": f"{overhead_factor(conf):g}",
    }
    return {
        "sparkSubmitParameters": " ".join(f"--conf {_quoted(f'{k}={v}')}" for k, v in properties.items()),
        "maximumCapacity": {
            "cpu": f"{group.machines * shape.cores + driver_cores} vCPU",
            "memory": f"{group.machines * gigabytes + driver_gigabytes} GB",
        },
    }


def _driver_size(driver: Mapping[str, str], conf: Mapping[str, str]) -> tuple[int, int]:
    cores = driver[_DRIVER_CORES]
    if not cores.isdigit():
        raise InvalidParameterError(_DRIVER_CORES, cores, "is no whole number")
    heap = megabytes(_DRIVER_MEMORY, driver[_DRIVER_MEMORY])
    container = memory_of("driver", heap, conf).container_megabytes
    return int(cores), _worker_gigabytes(_DRIVER_CORES, int(cores), container)


def _worker_gigabytes(parameter: str, cores: int, container_megabytes: int) -> int:
    """The memory of the smallest worker with so many cores that holds a container."""
    if cores not in _SIZES:
        known = ", ".join(map(str, _SIZES))
        raise InvalidParameterError(
            parameter,
            cores,
            f"is no size of a worker of EMR Serverless, which has {known} vCPUs",
            remedy="Train on machines with as many cores.",
        )
    least, most, step = _SIZES[cores]
    for gigabytes in range(least, most + 1, step):
        if container_megabytes <= gigabytes * _MEGABYTES_PER_GIGABYTE:
            return gigabytes
    raise InvalidParameterError(
        parameter,
        cores,
        f"has at most {most} GB on EMR Serverless, and with its overhead an executor or driver of this job "
        f"takes {container_megabytes} MB",
        remedy="Lower its memory in the job's conf, for the sample runs and for production.",
    )


def _quoted(argument: str) -> str:
    """As EMR splits it again: at spaces, but for those between double quotes."""
    if argument and not any(sign.isspace() or sign in "\"'\\" for sign in argument):
        return argument
    return f'"{argument.translate(_TO_ESCAPE)}"'


# AWS Glue: the type and the number of a job run's workers.


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
