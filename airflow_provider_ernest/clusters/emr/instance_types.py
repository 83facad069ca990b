"""What a type of machine offers to Spark's executors under EMR's YARN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError

_MEGABYTES_PER_GIGABYTE = 1024
_YARN_SHARE = 0.75
_APPLICATION_MASTER_MEGABYTES = 1024
_EXECUTOR_OVERHEAD = 0.1
_LEAST_OVERHEAD_MEGABYTES = 384


@dataclass(frozen=True, kw_only=True)
class ExecutorRoom:
    """What one executor that fills a machine may take.

    Attributes:
        cores: vCPUs of the machine.
        memory_megabytes: heap of the executor.
    """

    cores: int
    memory_megabytes: int


def executor_rooms(emr: Any, release_label: str, names: set[str]) -> dict[str, ExecutorRoom]:
    """The room on machines of some types, by EMR's ListSupportedInstanceTypes.

    EMR gives YARN three quarters of a machine's memory, and more on large ones (Amazon EMR Release Guide,
    "Task configuration": yarn.nodemanager.resource.memory-mb). On one of the machines the application
    master takes 1 GB of it, and each executor has a tenth of its heap beside it
    (spark.executor.memoryOverheadFactor), at least 384 MB. What remains is more than half, so that no two
    executors of a run come to lie on one machine.

    Raises:
        InvalidParameterError: the release does not support a type.
    """
    found: dict[str, ExecutorRoom] = {}
    marker: dict[str, str] = {}
    while True:
        page = emr.list_supported_instance_types(ReleaseLabel=release_label, **marker)
        for facts in page["SupportedInstanceTypes"]:
            if facts["Type"] in names:
                found[facts["Type"]] = _room(facts)
        if not page.get("Marker") or names <= found.keys():
            break
        marker = {"Marker": page["Marker"]}
    for name in sorted(names - found.keys()):
        raise InvalidParameterError(
            "instance_type",
            name,
            f"is no type that {release_label} supports in {emr.meta.region_name}",
            remedy="`aws emr list-supported-instance-types --release-label` lists those that it does.",
        )
    return found


def _room(facts: dict[str, Any]) -> ExecutorRoom:
    yarn = _YARN_SHARE * facts["MemoryGB"] * _MEGABYTES_PER_GIGABYTE
    executor = yarn - _APPLICATION_MASTER_MEGABYTES
    heap = min(executor / (1 + _EXECUTOR_OVERHEAD), executor - _LEAST_OVERHEAD_MEGABYTES)
    return ExecutorRoom(cores=int(facts["VCPU"]), memory_megabytes=int(heap))
