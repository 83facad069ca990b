"""Sizes a Spark job for Amazon EMR Serverless; the stock operator runs it with as many workers as decided on.

The sample runs are steps of a small job flow of EMR, since only on machines of one type is it known how many
there are. A machine of the decision becomes a worker with as many cores and at least its memory. The job is
yours: ``jobs/job.py`` of the bucket, called with the folders of its input and its output.

It needs EMR's default roles (``aws emr create-default-roles``), which must be able to read and write the
bucket, Airflow's connection ``aws_default`` with a region, on the workers
``pip install "airflow-provider-ernest[ec2,s3]"``, two Airflow variables, ``emr_serverless_application`` (the
id of an application of type Spark) and ``emr_serverless_role`` (the ARN of the role that its jobs have), and
in the environment of Airflow ``ERNEST_EXAMPLE_BUCKET``: where all files lie (default: s3://my-bucket).
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
        bounds=DesignBounds(max_machines=4),
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
            max_machines=20,
            # The driver has a worker of its own, larger by 5 GB.
            billing=Billing(boot_seconds=90, master_price_per_hour="{{ params.price_per_hour * 1.1 }}"),
        ),
    )

    @task
    def job_driver(sized: dict[str, Any]) -> dict[str, Any]:
        """The production run, with workers of the number and size decided on."""
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
        # In 8 hours; the operator's own patience ends after 25 minutes.
        waiter_delay=60,
        waiter_max_attempts=8 * 60,
    )
    ernest >> production
    # [END ernest]
