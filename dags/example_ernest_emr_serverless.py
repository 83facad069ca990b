"""Sizes a Spark job for Amazon EMR Serverless; the stock operator runs it with the chosen number of workers.

The sample runs are steps of a small EMR job flow, where the number and type of machines are known. Each
machine of the decision becomes a worker with as many cores and at least its memory. Bring your own job:
``jobs/job.py`` in the bucket is called with the folders of its input and its output.

Requirements: EMR's default roles (``aws emr create-default-roles``), able to read and write the bucket, the
Airflow connection ``aws_default`` with a region, on the workers
``pip install "airflow-provider-ernest[ec2,s3]"``, the Airflow variables ``emr_serverless_application`` (id of
an application of type Spark) and ``emr_serverless_role`` (ARN of its jobs' role), and the environment
variable of Airflow ``ERNEST_EXAMPLE_BUCKET``: the bucket of all files (default: s3://my-bucket).
"""

from __future__ import annotations

import os
from typing import Any

from airflow.providers.amazon.aws.operators.emr import EmrServerlessStartJobOperator
from airflow.sdk import DAG, Param, task

from airflow_provider_ernest import (
    Billing,
    DesignBounds,
    EmrJobFlow,
    ErnestTaskGroup,
    SampledInput,
    SizingGoal,
    SparkJob,
)

BUCKET = os.environ.get("ERNEST_EXAMPLE_BUCKET", "s3://my-bucket")
JOB_FLOW = {
    "Name": "ernest",
    "ReleaseLabel": "emr-7.5.0",
    "Applications": [{"Name": "Spark"}],
    "LogUri": f"{BUCKET}/logs/emr",
    "ServiceRole": "EMR_DefaultRole",
    "JobFlowRole": "EMR_EC2_DefaultRole",
    "Instances": {
        "InstanceGroups": [
            {"InstanceRole": "MASTER", "InstanceType": "m5.xlarge", "InstanceCount": 1},
            {"InstanceRole": "CORE", "InstanceType": "m5.xlarge", "InstanceCount": 4},
        ],
        "KeepJobFlowAliveWhenNoSteps": True,
    },
    "AutoTerminationPolicy": {"IdleTimeout": 900},
    "Tags": [{"Key": "ernest:deployment", "Value": os.environ.get("AIRFLOW__ERNEST__DEPLOYMENT", "ernest")}],
}

with DAG(
    "example_ernest_emr_serverless",
    schedule=None,
    doc_md=__doc__,
    tags=["ernest", "example"],
    params={
        "deadline_seconds": Param(3600, type="number", description="The production run must end within."),
        "price_per_hour": Param(
            0.27, type="number", description="Dollars for one worker of 4 vCPUs and 11 GB, and hour."
        ),
    },
):
    # [START ernest]
    job = SparkJob(
        name="nightly",
        application=f"{BUCKET}/jobs/job.py",
        application_args=["{{ sample.input }}", f"{BUCKET}/samples/{{{{ ti.map_index }}}}"],
    )
    ernest = ErnestTaskGroup(
        job=job,
        input=SampledInput(path=f"{BUCKET}/input"),
        bounds=DesignBounds(max_executors=4),
        cluster=EmrJobFlow(
            job_flow=JOB_FLOW,
            machines=4,
            instance_type="m5.xlarge",
            cores_per_machine=4,
            release_label="emr-7.5.0",
            event_log_uri=f"{BUCKET}/logs/spark",
        ),
        goal=SizingGoal(
            deadline_seconds="{{ params.deadline_seconds }}",
            price_per_hour="{{ params.price_per_hour }}",
            max_executors=20,
            # The driver has a worker of its own, 5 GB larger.
            billing=Billing(boot_seconds=90, master_price_per_hour="{{ params.price_per_hour * 1.1 }}"),
        ),
    )

    @task
    def job_driver(sized: dict[str, Any]) -> dict[str, Any]:
        """The production run, with the chosen number and size of workers."""
        return {
            "sparkSubmit": {
                "entryPoint": job.application,
                "entryPointArguments": [f"{BUCKET}/input", f"{BUCKET}/output"],
                "sparkSubmitParameters": sized["sparkSubmitParameters"],
            }
        }

    production = EmrServerlessStartJobOperator(
        task_id="production",
        application_id="{{ var.value.emr_serverless_application }}",
        execution_role_arn="{{ var.value.emr_serverless_role }}",
        job_driver=job_driver(ernest.config["emr_serverless"]),
        # 8 hours; the operator's default is 25 minutes.
        waiter_delay=60,
        waiter_max_attempts=8 * 60,
    )
    ernest >> production
    # [END ernest]
