"""Amazon EMR Serverless: executors on workers of the sizes that it has.

The sizes are those of "Understanding application behavior in EMR Serverless", the defaults those of "Spark
job properties" (both Amazon EMR Serverless User Guide). Without properties of its own a job would begin with
3 executors of 4 cores and 14 GB, and dynamic allocation would add as many as it likes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.downstream.machines import only_group
from airflow_provider_ernest.downstream.memory import (
    HEAP,
    filling,
    megabytes,
    memory_of,
    overhead_factor,
    wanted_memory,
)
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.spark.sizing import bounded_allocation_conf, sizing_conf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_provider_ernest.downstream.machines import MachineShape
    from airflow_provider_ernest.model.results import Decision

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

    Args:
        decision: what was decided.
        shapes: of the types of machines, by name.
        conf: the job's properties.
        dynamic_allocation: on, and bounded to the choice.

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
