"""Wires the sizing steps by hand, without the task group, so that you can put tasks of your own between them.

The job, its input and its goal are stated once and passed to the operators whole. The job is that of
``example_ernest_local``, on a local cluster that the sample runs and production share.
"""

from __future__ import annotations

import os
from pathlib import Path

from airflow.sdk import DAG, Param, task

from airflow_provider_ernest import (
    ChooseConfigOperator,
    DesignBounds,
    ErnestSparkSubmitOperator,
    ExperimentDesignOperator,
    FitModelOperator,
    LocalClusterOperator,
    LocalClusterSpec,
    SampledInput,
    SampleRunOperator,
    SizingGoal,
    SparkJob,
    TerminateClusterOperator,
)

JOBS = Path(__file__).parent / "jobs"
DATA = Path(os.environ.get("ERNEST_EXAMPLE_DATA", "~/ernest-example")).expanduser()

with DAG(
    "example_ernest_operators",
    schedule=None,
    doc_md=__doc__,
    tags=["ernest", "example"],
    params={"deadline_seconds": Param(90, type="number", description="The production run must end within.")},
) as dag:

    @task
    def prepare_input() -> None:
        """Write one file of flights for each partition."""
        import runpy

        runpy.run_path(str(JOBS / "prepare_flights.py"))["prepare"](DATA, files=336)

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
        conf={"spark.ui.enabled": "false"},
    )
    flights = SampledInput(path=f"{DATA}/flights")
    goal = SizingGoal(
        deadline_seconds="{{ params.deadline_seconds }}",
        price_per_hour=0.35,
        max_executors=4,
        on_inadequate="warn",
    )

    design = ExperimentDesignOperator(
        task_id="design",
        bounds=DesignBounds(max_executors=4, max_runs=7),
        input=flights,
        goal=goal,
        executor_cores=1,
    )
    create = LocalClusterOperator(task_id="create_cluster", spec=LocalClusterSpec(machines=4), retries=2)
    runs = SampleRunOperator.partial(
        task_id="sample_run",
        job=job,
        input=flights,
        cluster=create.output,
        max_active_tis_per_dagrun=1,
        retries=1,
    ).expand(experiment=design.output)
    fit = FitModelOperator(
        task_id="fit_model",
        job=job,
        input=flights,
        goal=goal,
        observations=runs.output,
        design=design.output["design"],
        # As text: a task that runs after failures must not come directly after a setup.
        cluster="{{ ti.xcom_pull(task_ids='create_cluster') | tojson }}",
        trigger_rule="all_done_min_one_success",
    )
    choose = ChooseConfigOperator(
        task_id="choose_config", job=job, goal=goal, model=fit.output, cluster=create.output
    )
    production = ErnestSparkSubmitOperator(
        task_id="production",
        application=job.application,
        application_args=[f"{DATA}/flights", f"{DATA}/report", "--weather-csv", f"{DATA}/weather.csv"],
        conf=choose.job_conf(),
        cluster=create.output,
        decision=choose.output["record"],
    )
    terminate = TerminateClusterOperator(task_id="terminate_cluster", cluster=create.output)
    terminate.as_teardown(setups=create)
    prepare_input() >> design >> create
    production >> terminate
    # [END ernest]
