"""A DAG of the integration tests with a run for each of four days, which are caught up at the same time."""

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

DATA = os.environ["ERNEST_EXAMPLE_DATA"]

with DAG(
    "daily",
    schedule="@daily",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    end_date=datetime(2026, 1, 4, tzinfo=UTC),
    catchup=True,
):
    ErnestTaskGroup(
        job=SparkJob(
            name="daily enrichment",
            application=os.environ["ERNEST_TEST_APPLICATION"],
            application_args=[
                "{{ sample.input }}",
                f"{DATA}/daily/{{{{ run_id }}}}/{{{{ ti.map_index }}}}",
                "--weather-csv",
                f"{DATA}/weather.csv",
            ],
            conf={"spark.ui.enabled": "false"},
        ),
        input=SampledInput(path=f"{DATA}/flights"),
        bounds=DesignBounds(max_machines=2, max_scale=0.1, min_scale=0.02, max_runs=4),
        cluster=LocalClusterSpec(machines=2),
        goal=SizingGoal(
            deadline_seconds=900,
            price_per_hour=0.35,
            max_machines=2,
            on_failure="most_probable",
            on_inadequate="warn",
        ),
    )
