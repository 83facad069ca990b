"""Sizes a Spark job on Amazon EMR; Amazon's operators run it on a job flow of the chosen size and type.

The sample runs are steps of a small job flow, which Amazon's operators start and end around them. Production
gets its own job flow, in which each machine of the decision is a core instance with one executor. Bring your
own job: ``jobs/job.py`` in the bucket is called with the folders of its input and its output.

Requirements: EMR's default roles (``aws emr create-default-roles``), able to read and write the bucket, the
Airflow connection ``aws_default`` with a region, on the workers
``pip install "airflow-provider-ernest[ec2,s3]"``, and environment variables of Airflow:

- ``ERNEST_EXAMPLE_BUCKET``: the bucket of the job, its input and the logs (default: s3://my-bucket).
- ``ERNEST_EMR_SUBNET``: the subnet of the machines (default: the account's default).
- ``AIRFLOW__ERNEST__DEPLOYMENT``: value of the tag that the IAM policy asks for (default: ernest).
"""

from __future__ import annotations

import os
from typing import Any

from airflow.providers.amazon.aws.operators.emr import (
    EmrAddStepsOperator,
    EmrCreateJobFlowOperator,
    EmrTerminateJobFlowOperator,
)
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
SUBNET = os.environ.get("ERNEST_EMR_SUBNET")
RELEASE = "emr-7.5.0"
DEPLOYMENT = os.environ.get("AIRFLOW__ERNEST__DEPLOYMENT", "ernest")
MASTER = {"Name": "master", "InstanceRole": "MASTER", "InstanceType": "m5.xlarge", "InstanceCount": 1}
CORE = {"Name": "core", "InstanceRole": "CORE", "InstanceType": "m5.xlarge", "InstanceCount": 4}


def job_flow(groups: list[dict[str, Any]]) -> dict[str, Any]:
    """The job flow to create: a master and these machines."""
    return {
        "Name": "ernest",
        "ReleaseLabel": RELEASE,
        "Applications": [{"Name": "Spark"}],
        "LogUri": f"{BUCKET}/logs/emr",
        "ServiceRole": "EMR_DefaultRole",
        "JobFlowRole": "EMR_EC2_DefaultRole",
        "Instances": {
            "InstanceGroups": [MASTER, *groups],
            "KeepJobFlowAliveWhenNoSteps": True,
            **({"Ec2SubnetId": SUBNET} if SUBNET else {}),
        },
        # Ends an idle job flow even if this DAG run cannot.
        "AutoTerminationPolicy": {"IdleTimeout": 900},
        "Tags": [{"Key": "ernest:deployment", "Value": DEPLOYMENT}],
    }


with DAG(
    "example_ernest_emr",
    schedule=None,
    doc_md=__doc__,
    tags=["ernest", "example"],
    params={
        "deadline_seconds": Param(3600, type="number", description="The production run must end within."),
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
            job_flow=job_flow([CORE]),
            machines=4,
            instance_type="m5.xlarge",
            cores_per_machine=4,
            # Prices in us-east-1: the machine's, and EMR's on top.
            price_per_hour=0.192 + 0.048,
            release_label=RELEASE,
            event_log_uri=f"{BUCKET}/logs/spark",
        ),
        goal=SizingGoal(
            deadline_seconds="{{ params.deadline_seconds }}",
            max_executors=20,
            # Production's job flow starts for this run only, and has a master.
            billing=Billing(boot_seconds=420, master_price_per_hour=0.24),
        ),
    )

    @task
    def steps(arguments: list[str]) -> list[dict[str, Any]]:
        """The production run, with executors of the chosen size."""
        submit = ["spark-submit", "--deploy-mode", "client", *arguments]
        command = [*submit, job.application, f"{BUCKET}/input", f"{BUCKET}/output"]
        return [
            {
                "Name": "production",
                "ActionOnFailure": "CONTINUE",
                "HadoopJarStep": {"Jar": "command-runner.jar", "Args": command},
            }
        ]

    create = EmrCreateJobFlowOperator(
        task_id="create_job_flow",
        emr_conn_id=None,
        job_flow_overrides=task(job_flow)(ernest.config["emr_instance_groups"]),
    ).as_setup()
    production = EmrAddStepsOperator(
        task_id="production",
        job_flow_id=create.output,
        steps=steps(ernest.config["spark_arguments"]),
        wait_for_completion=True,
        # 8 hours; the operator's default is half an hour.
        waiter_delay=30,
        waiter_max_attempts=8 * 120,
    )
    end = EmrTerminateJobFlowOperator(task_id="end_job_flow", job_flow_id=create.output, retries=3)
    ernest >> create >> production >> end.as_teardown(setups=create)
    # [END ernest]
