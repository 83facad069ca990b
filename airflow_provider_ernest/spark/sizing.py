"""The Spark properties that make an application run on exactly so many executors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings.values import count

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.runs import ExecutorBounds

INSTANCES = "spark.executor.instances"

SIZES = {
    "num_executors": INSTANCES,
    "executor_cores": "spark.executor.cores",
    "executor_memory": "spark.executor.memory",
    "total_executor_cores": "spark.cores.max",
}
"""Arguments of SparkSubmitHook that size a run. They win over the properties that they mean."""

TASK_PROPERTY = "spark.ernest.task"
"""Names the task that submitted a run, by `owner_of`: its event log is found by it among others."""


def kept_sizes(operator: Any) -> list[str]:
    """The `SIZES` that an operator like the stock `SparkSubmitOperator` keeps, as it was given them."""
    kept = {name: getattr(operator, f"_{name}", None) for name in SIZES}
    return [f"{name}={value!r}" for name, value in kept.items() if value is not None]


def refuse_sizes(options: Mapping[str, Any], *, within: str = "") -> None:
    """Refuse arguments of `SparkSubmitHook` that would win over the size of a run."""
    for name, means in SIZES.items():
        if options.get(name) is not None:
            raise InvalidParameterError(
                f"{within}[{name!r}]" if within else name,
                options[name],
                "would override the size that is decided on",
                remedy=f"Leave it out, or set {means} in conf if you size the run yourself.",
            )


def sizing_conf(
    *,
    executors: int,
    executor_cores: int | None,
    executors_wait_seconds: float = 1800.0,
    bounds: ExecutorBounds | None = None,
) -> dict[str, str]:
    """Properties for a run on exactly so many executors of so many cores, or of those that they have anyway.

    They serve a standalone master (``spark.cores.max``) and YARN or Kubernetes (``spark.executor.instances``)
    alike. No task starts before all executors are there (for `executors_wait_seconds`): Spark would begin
    with the first, and the time would be that of no known executor count. ``spark.locality.wait`` is 0
    because a small sample lies on one host and Spark's default of 3 s would keep the work there: four
    machines were slower than one.

    With `bounds` Spark allocates executors between them: tasks wait for the initial ones. A standalone master
    is told no ``spark.cores.max``, for which tasks would wait. Where there is no external shuffle service,
    Spark tracks which executors hold shuffle data ("Dynamic Resource Allocation", Spark documentation).
    """
    count("executors", executors)
    of_cores: dict[str, str] = {}
    if executor_cores is not None:
        of_cores["spark.executor.cores"] = str(count("executor_cores", executor_cores))
        if bounds is None:
            of_cores["spark.cores.max"] = str(executors * executor_cores)
    if bounds is None:
        allocation = {
            INSTANCES: str(executors),
            "spark.dynamicAllocation.enabled": "false",
        }
    else:
        allocation = {
            INSTANCES: str(bounds.initial),  # Spark begins with no fewer
            "spark.dynamicAllocation.enabled": "true",
            "spark.dynamicAllocation.minExecutors": str(bounds.minimum),
            "spark.dynamicAllocation.initialExecutors": str(bounds.initial),
            "spark.dynamicAllocation.maxExecutors": str(bounds.maximum),
            "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        }
    return {
        **allocation,
        **of_cores,
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{max(1, round(executors_wait_seconds))}s",
        "spark.locality.wait": "0s",
    }


def event_log_conf(directory: str) -> dict[str, str]:
    """Properties that make Spark write one plain event log file into `directory`."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": directory,
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        # In KiB; the default of 100 would hide the progress of short runs until their end.
        "spark.eventLog.buffer.kb": "1",
        "spark.eventLog.includeTaskMetricsAccumulators": "false",
        # Else nothing tells how much of a cached data set was in memory; the log grows by some per cent.
        "spark.eventLog.logBlockUpdates.enabled": "true",
    }
