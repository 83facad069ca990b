"""What users state in a DAG file, and what Airflow hands over for execution."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.settings import DesignBounds, SampledInput, SizingGoal, SparkJob


def spark_job(application: Any = "job.py", *, args: tuple[str, ...] = (), **fields: Any) -> SparkJob:
    """The job "enrich", which names its sample."""
    return SparkJob(
        **{
            "name": "enrich",
            "application": str(application),
            "application_args": ["{{ sample.input }}", *args],
            **fields,
        }
    )


def sampled(path: Any = __file__, **fields: Any) -> SampledInput:
    """An input that is there."""
    return SampledInput(path=str(path), **fields)


def group_arguments(**changes: Any) -> dict[str, Any]:
    """Of an `ErnestTaskGroup` for the job "enrich" on four local machines."""
    return {
        "job": spark_job(),
        "input": SampledInput(path="/data/flights", partitions=100),
        "bounds": DesignBounds(max_executors=4),
        "cluster": LocalClusterSpec(machines=4),
        "goal": SizingGoal(deadline_seconds=60, max_executors=4, price_per_hour=1),
        **changes,
    }


def rendered(operator: BaseOperator, **settings: Any) -> Any:
    """As Airflow hands an operator over: these fields of its settings were templates, and are rendered."""
    for name, fields in settings.items():
        if fields:
            setattr(operator, name, {**getattr(operator, name), **fields})
    return operator
