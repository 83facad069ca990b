"""Sizes a Spark job for Databricks; the stock operator runs it on a new cluster of the chosen size.

Sample runs use EC2 machines of a type that Databricks offers, too. Each machine of the decision becomes a
worker of the new cluster; Databricks adds one for the driver. The Databricks runtime differs from the Spark
of the sample runs (with Photon it is much faster), so compare the first production runs with their
predictions. Bring your own job: it is called with the folders of its input and its output.

Requirements: the Airflow connections ``aws_default`` with a region and ``databricks_default``, on the workers
``pip install "airflow-provider-ernest[ec2,s3]" apache-airflow-providers-databricks``, and environment
variables of Airflow:

- ``ERNEST_EC2_CLUSTER``: the machines of the sample runs, see ``example_ernest_ec2``; they must be able to
  read ``s3a://``.
- ``ERNEST_EXAMPLE_BUCKET``: the bucket of the job, its input and its output (default: my-bucket).
- ``ERNEST_EXAMPLE_JOB``: the job's file on the Airflow workers (default: /opt/jobs/job.py).
"""

from __future__ import annotations

import json
import os
from typing import Any

from airflow.providers.databricks.operators.databricks import DatabricksSubmitRunOperator
from airflow.sdk import DAG, Param, task

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
    "example_ernest_databricks",
    schedule=None,
    doc_md=__doc__,
    tags=["ernest", "example"],
    params={
        "deadline_seconds": Param(3600, type="number", description="The production run must end within."),
        "price_per_hour": Param(
            0.33, type="number", description="Dollars for one worker and hour, its DBUs included."
        ),
    },
):
    # [START ernest]
    job = SparkJob(
        name="nightly",
        application=os.environ.get("ERNEST_EXAMPLE_JOB", "/opt/jobs/job.py"),
        application_args=["{{ sample.input }}", f"s3a://{BUCKET}/samples/{{{{ ti.map_index }}}}"],
    )
    ernest = ErnestTaskGroup(
        job=job,
        input=SampledInput(path=f"s3a://{BUCKET}/input"),
        bounds=DesignBounds(max_executors=4),
        cluster=EC2ClusterSpec(**{**YOUR_MACHINES, "machines": 4, "instance_type": "m5d.xlarge"}),
        goal=SizingGoal(
            deadline_seconds="{{ params.deadline_seconds }}",
            price_per_hour="{{ params.price_per_hour }}",
            max_executors=20,
            # The driver has a machine of its own, of the same type.
            billing=Billing(boot_seconds=300, master_price_per_hour="{{ params.price_per_hour }}"),
        ),
    )

    @task
    def new_cluster(sized: dict[str, Any]) -> dict[str, Any]:
        """The cluster of the production run: the decision, and your own settings."""
        return {
            **sized,
            "spark_version": "16.4.x-scala2.12",
            # The price above is for on-demand machines.
            "aws_attributes": {"availability": "ON_DEMAND"},
        }

    production = DatabricksSubmitRunOperator(
        task_id="production",
        new_cluster=new_cluster(ernest.config["databricks_cluster"]),
        spark_python_task={
            "python_file": f"s3://{BUCKET}/jobs/job.py",
            "parameters": [f"s3://{BUCKET}/input", f"s3://{BUCKET}/output"],
        },
        # Databricks itself sets no limit: a run that hangs would cost money without end.
        timeout_seconds=8 * 3600,
    )
    ernest >> production
    # [END ernest]
