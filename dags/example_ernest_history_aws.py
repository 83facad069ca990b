"""Sizes Spark jobs on AWS by their past runs: steps of EMR, EMR Serverless and Glue, each by its event logs.

Nothing is started or paid for but production itself. The fallback is the size of the first runs, before any
is known. Glue writes event logs where ``--enable-spark-ui`` and ``--spark-event-logs-path`` are set, EMR and
EMR Serverless where ``spark.eventLog.dir`` or the S3 monitoring configuration name a bucket.

Requirements: the Airflow connection ``aws_default`` with a region, on the workers
``pip install "airflow-provider-ernest[s3]"``, and Airflow variables ``emr_job_flow``,
``emr_serverless_application`` and ``emr_serverless_role``; environment variables of Airflow:

- ``ERNEST_EXAMPLE_BUCKET``: the bucket of jobs and event logs (default: my-bucket).
- ``ERNEST_GLUE_ROLE``: name of the role that Glue runs with (default: AWSGlueServiceRole).
"""

from __future__ import annotations

import os
from typing import Any

from airflow.providers.amazon.aws.operators.emr import EmrAddStepsOperator, EmrServerlessStartJobOperator
from airflow.providers.amazon.aws.operators.glue import GlueJobOperator
from airflow.sdk import DAG, task

from airflow_provider_ernest import ErnestTaskGroup, EventLogs, SizingGoal, SparkJob

BUCKET = os.environ.get("ERNEST_EXAMPLE_BUCKET", "my-bucket").removeprefix("s3://")
JOB = f"s3://{BUCKET}/jobs/job.py"


@task
def steps(arguments: list[str]) -> list[dict[str, Any]]:
    """The step of the production run, with the decided size."""
    submit = ["spark-submit", "--deploy-mode", "client", *arguments, JOB]
    return [{"Name": "enrich", "HadoopJarStep": {"Jar": "command-runner.jar", "Args": submit}}]


@task
def job_driver(sized: dict[str, Any]) -> dict[str, Any]:
    """The job run of EMR Serverless, with the decided size."""
    return {"sparkSubmit": {"entryPoint": JOB, "sparkSubmitParameters": sized["sparkSubmitParameters"]}}


with DAG("example_ernest_history_aws", schedule=None, doc_md=__doc__, tags=["ernest", "example"]):
    # [START ernest]
    goal = SizingGoal(deadline_seconds=3600, max_executors=40, fallback_executors=10)
    conf = {"spark.executor.cores": "4", "spark.executor.memory": "8g"}

    on_emr = ErnestTaskGroup(
        group_id="ernest",
        job=SparkJob(name="enrich", conf=conf),
        history=EventLogs(f"s3://{BUCKET}/emr-logs"),
        goal=goal,
    )
    on_emr >> EmrAddStepsOperator(
        task_id="step_of_emr",
        job_flow_id="{{ var.value.emr_job_flow }}",
        steps=steps(on_emr.config["spark_arguments"]),
        wait_for_completion=True,
    )

    on_serverless = ErnestTaskGroup(
        group_id="ernest_serverless",
        job=SparkJob(name="enrich serverless", conf=conf),
        history=EventLogs(f"s3://{BUCKET}/serverless-logs"),
        goal=goal,
    )
    on_serverless >> EmrServerlessStartJobOperator(
        task_id="emr_serverless",
        application_id="{{ var.value.emr_serverless_application }}",
        execution_role_arn="{{ var.value.emr_serverless_role }}",
        job_driver=job_driver(on_serverless.config["emr_serverless"]),
    )

    on_glue = ErnestTaskGroup(
        group_id="ernest_glue",
        job=SparkJob(name="enrich glue", conf=conf),
        history=EventLogs(f"s3://{BUCKET}/glue-logs"),
        goal=goal,
    )
    on_glue >> GlueJobOperator(
        task_id="glue",
        job_name="enrich",
        script_location=JOB,
        iam_role_name=os.environ.get("ERNEST_GLUE_ROLE", "AWSGlueServiceRole"),
        create_job_kwargs={"GlueVersion": "5.0", "WorkerType": "G.1X", "NumberOfWorkers": 10},
        run_job_kwargs=on_glue.config["glue"],
        stop_job_run_on_kill=True,
    )
    # [END ernest]
