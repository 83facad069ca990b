"""Retrains a job's model when its code changes: the change itself starts the run.

The triggerer watches the application's file (``jobs/enrich_flights.py``, as in ``example_ernest_local``).
When the file changes, the triggered run finds that the stored model is of the old code, marks it as stale and
makes new sample runs. The next run of the production DAG then finds a fresh model and makes none.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param, task

from airflow_provider_ernest import (
    DesignBounds,
    ErnestTaskGroup,
    LocalClusterSpec,
    SampledInput,
    SizingGoal,
    SparkJob,
    application_changed,
)

JOBS = Path(__file__).parent / "jobs"
DATA = Path(os.environ.get("ERNEST_EXAMPLE_DATA", "~/ernest-example")).expanduser()
INPUT_FILES = 336

# [START ernest]
job = SparkJob(
    name="enrich_flights",
    application=str(JOBS / "enrich_flights.py"),
    application_args=[
        "{{ sample.input }}",
        f"{DATA}/samples/{{{{ ti.map_index }}}}",
        "--weather-csv",
        f"{DATA}/weather.csv",
    ],
    conf={
        "spark.ui.enabled": "false",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    },
)
# If several DAGs use it, put it into a module that all of them import.
new_code = application_changed(job.name, job.application, poll_seconds=10)

with DAG(
    "example_ernest_retrain",
    schedule=[new_code],
    max_active_runs=1,
    doc_md=__doc__,
    tags=["ernest", "example"],
    params={
        "deadline_seconds": Param(900, type="number", description="The production run must end within."),
        "price_per_hour": Param(0.35, type="number", description="Dollars for one machine and hour."),
    },
) as dag:

    @task
    def prepare_input() -> None:
        """Write one file of flights for each partition."""
        import runpy

        runpy.run_path(str(JOBS / "prepare_flights.py"))["prepare"](DATA, files=INPUT_FILES)

    @task
    def tell(executors: int, triggering_asset_events: Any = None) -> None:
        """Print what started the run, and what the new model chose."""
        for event in (triggering_asset_events or {}).get(new_code, ()):
            change = event.extra["payload"]
            print(f"{change['application']}: {change['previous_sha256']} -> {change['sha256']}")
        print(f"The next run of production takes {executors} machines.")

    ernest = ErnestTaskGroup(
        job=job,
        input=SampledInput(path=f"{DATA}/flights"),
        bounds=DesignBounds(max_executors=3, max_scale=0.1, min_scale=0.02, max_runs=4),
        cluster=LocalClusterSpec(machines=3),
        goal=SizingGoal(
            deadline_seconds="{{ params.deadline_seconds }}",
            price_per_hour="{{ params.price_per_hour }}",
            max_executors=3,
            on_failure="most_probable",
            # Runs on a laptop disturb each other more than runs on separate machines.
            on_inadequate="warn",
        ),
    )
    prepare_input() >> ernest >> tell(ernest.config["executors"])
# [END ernest]
