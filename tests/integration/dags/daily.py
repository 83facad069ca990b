"""A DAG of the integration tests with a run for each of three days, which are caught up at the same time."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from airflow.sdk import DAG

from airflow_provider_ernest import (
    DesignBounds,
    ErnestTaskGroup,
    LocalClusterSpec,
    SampledInput,
    SizingGoal,
    SparkJob,
)

with DAG(
    "daily",
    schedule="@daily",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    end_date=datetime(2026, 1, 3, tzinfo=UTC),
    catchup=True,
):
    ErnestTaskGroup(
        job=SparkJob(
            name="daily",
            application=os.environ["ERNEST_TEST_APPLICATION"],
            application_args=["{{ sample.input }}", "--hold-task-seconds=0.2"],
            conf={"spark.ui.enabled": "false"},
        ),
        input=SampledInput(path=os.environ["ERNEST_TEST_INPUT"], partitions=24),
        bounds=DesignBounds(max_executors=2, min_scale=0.2, max_scale=0.7, max_runs=4),
        cluster=LocalClusterSpec(machines=2, memory_megabytes_per_machine=512),
        goal=SizingGoal(
            deadline_seconds=900,
            price_per_hour=0.35,
            max_executors=2,
            on_failure="most_probable",
            on_inadequate="warn",
        ),
    )
