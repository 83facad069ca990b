"""Sizes a Spark job for AWS Glue; the stock ``GlueJobOperator`` runs it with the chosen number of workers.

The sample runs use EC2 machines with the cores and memory of a worker: m5.xlarge is like G.1X. Each machine
of the decision becomes such a worker, and Glue gets one more for the driver. Glue runs Spark with its own
settings, so compare the first production runs with their predictions. Bring your own job: it is called with
``--input`` and ``--output``, the folders of its input and its output.

Requirements: the Airflow connection ``aws_default`` with a region, on the workers
``pip install "airflow-provider-ernest[ec2,s3]"``, and environment variables of Airflow:

- ``ERNEST_EC2_CLUSTER``: the machines of the sample runs, see ``example_ernest_ec2``; they must be able to
  read ``s3a://``.
- ``ERNEST_EXAMPLE_BUCKET``: the bucket of the job, its input and its output (default: my-bucket).
- ``ERNEST_EXAMPLE_JOB``: the job's file on the Airflow workers (default: /opt/jobs/job.py).
- ``ERNEST_GLUE_ROLE``: name of the role that Glue runs with (default: AWSGlueServiceRole).
"""

from __future__ import annotations

import json
import os

from airflow.providers.amazon.aws.operators.glue import GlueJobOperator
from airflow.sdk import DAG, Param

from airflow_provider_ernest import (
    Billing,
    DesignBounds,
    EC2ClusterSpec,
    ErnestTaskGroup,
    SampledInput,
    SizingGoal,
    SparkJob,
)

BUCKET = os.environ.get("ERNEST_EXAMPLE_BUCKET", "my-bucket").removeprefix("s3://")
YOUR_MACHINES = json.loads(os.environ.get("ERNEST_EC2_CLUSTER", '{"launch_template": "ernest-spark"}'))

with DAG(
    "example_ernest_glue",
    schedule=None,
    doc_md=__doc__,
    tags=["ernest", "example"],
    params={
        "deadline_seconds": Param(3600, type="number", description="The production run must end within."),
        "price_per_hour": Param(0.44, type="number", description="Dollars for one worker G.1X and hour."),
    },
):
    # [START ernest]
    job = SparkJob(
        name="nightly",
        application=os.environ.get("ERNEST_EXAMPLE_JOB", "/opt/jobs/job.py"),
        application_args=[
            "--input={{ sample.input }}",
            f"--output=s3a://{BUCKET}/samples/{{{{ ti.map_index }}}}",
        ],
    )
    ernest = ErnestTaskGroup(
        job=job,
        input=SampledInput(path=f"s3a://{BUCKET}/input"),
        bounds=DesignBounds(max_executors=4),
        cluster=EC2ClusterSpec(**{**YOUR_MACHINES, "machines": 4, "instance_type": "m5.xlarge"}),
        goal=SizingGoal(
            deadline_seconds="{{ params.deadline_seconds }}",
            price_per_hour="{{ params.price_per_hour }}",
            max_executors=20,
            # The driver's worker costs as much as any other.
            billing=Billing(boot_seconds=60, master_price_per_hour="{{ params.price_per_hour }}"),
        ),
    )
    production = GlueJobOperator(
        task_id="production",
        job_name="ernest-production",
        script_location=f"s3://{BUCKET}/jobs/job.py",
        script_args={"--input": f"s3://{BUCKET}/input", "--output": f"s3://{BUCKET}/output"},
        iam_role_name=os.environ.get("ERNEST_GLUE_ROLE", "AWSGlueServiceRole"),
        # For the job's definition, which is created once; each run overrides it.
        create_job_kwargs={"GlueVersion": "5.0", "WorkerType": "G.1X", "NumberOfWorkers": 2},
        run_job_kwargs=ernest.config["glue"],
        # Otherwise a run continues, and costs money, after its task has ended.
        stop_job_run_on_kill=True,
    )
    ernest >> production
    # [END ernest]
