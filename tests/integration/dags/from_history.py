"""A DAG of the integration tests: past runs tell all, so that nothing is run to size production."""

from __future__ import annotations

import os

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from airflow_provider_ernest import (
    DesignBounds,
    ErnestTaskGroup,
    EventLogs,
    LocalClusterSpec,
    SampledInput,
    SizingGoal,
    SparkJob,
)

with DAG("from_history", schedule=None):
    ernest = ErnestTaskGroup(
        job=SparkJob(
            name="from_history",
            application=os.environ["ERNEST_TEST_APPLICATION"],
            application_args=["{{ sample.input }}"],
        ),
        input=SampledInput(path=os.environ["ERNEST_TEST_INPUT"], partitions=24),
        bounds=DesignBounds(max_executors=3, min_scale=0.3, max_scale=1.0),
        cluster=LocalClusterSpec(machines=3, cores_per_machine=2, memory_megabytes_per_machine=512),
        goal=SizingGoal(deadline_seconds=600, price_per_hour=1.0, max_executors=3),
        history=EventLogs(os.environ["ERNEST_TEST_HISTORY"], max_age_days=None),
    )
    ernest >> EmptyOperator(task_id="production")
