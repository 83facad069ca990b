"""Sizes a Spark job on one machine: sample runs, a model, a decision, then the production run.

The job joins the 336,776 flights that left New York in 2013 with the weather at their departure
(``jobs/enrich_flights.py``), an ordinary Spark application that knows nothing of Ernest. The cluster is
local: all you need is Spark.
"""

from __future__ import annotations

import os
from pathlib import Path

from airflow.sdk import DAG, Param, task

from airflow_provider_ernest import (
    DesignBounds,
    ErnestSparkSubmitOperator,
    ErnestTaskGroup,
    LocalClusterSpec,
    SampledInput,
    SizingGoal,
    SparkJob,
)

JOBS = Path(__file__).parent / "jobs"
DATA = Path(os.environ.get("ERNEST_EXAMPLE_DATA", "~/ernest-example")).expanduser()
INPUT_FILES = 336

with DAG(
    "example_ernest_local",
    schedule=None,
    doc_md=__doc__,
    tags=["ernest", "example"],
    params={
        "deadline_seconds": Param(120, type="number", description="The production run must end within."),
        "price_per_hour": Param(0.35, type="number", description="Dollars for one machine and hour."),
    },
) as dag:

    @task
    def prepare_input() -> None:
        """Write one file of flights for each partition."""
        import runpy

        runpy.run_path(str(JOBS / "prepare_flights.py"))["prepare"](DATA, files=INPUT_FILES)

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
            # Starts faster: on two cores, full JIT compilation takes longer than these short tasks.
            "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        },
    )
    ernest = ErnestTaskGroup(
        job=job,
        input=SampledInput(path=f"{DATA}/flights"),
        bounds=DesignBounds(max_executors=4, max_scale=0.1, min_scale=0.025, max_runs=7),
        cluster=LocalClusterSpec(machines=6),
        goal=SizingGoal(
            deadline_seconds="{{ params.deadline_seconds }}",
            price_per_hour="{{ params.price_per_hour }}",
            max_executors=6,
            # Runs on a laptop disturb each other more than runs on separate machines.
            on_inadequate="warn",
        ),
    )
    production = ErnestSparkSubmitOperator(
        task_id="enrich_all_flights",
        application=job.application,
        application_args=[f"{DATA}/flights", f"{DATA}/report", "--weather-csv", f"{DATA}/weather.csv"],
        # The job's own conf with the chosen size. Do not set num_executors, executor_cores, executor_memory
        # or total_executor_cores here: spark-submit would prefer them.
        conf=ernest.job_conf(),
        cluster=ernest.cluster,
        # Record the run and its prediction; the model learns from it.
        decision=ernest.decision,
    )
    prepare_input() >> ernest >> production >> ernest.teardown
    # [END ernest]
