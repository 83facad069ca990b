"""Sizes a Databricks job by its past runs: nothing is started or paid for but production itself.

Databricks writes event logs where the job's cluster has a log delivery path. The fallback is the size of the
first runs, before any is known.

Requirements: the Airflow connection ``databricks_default``, a bucket that Airflow's workers can read, and the
environment variable ``ERNEST_EXAMPLE_BUCKET`` of Airflow (default: my-bucket).
"""

from __future__ import annotations

import os
from typing import Any

from airflow.providers.databricks.operators.databricks import DatabricksSubmitRunOperator
from airflow.sdk import DAG, task

from airflow_provider_ernest import ErnestTaskGroup, EventLogs, SizingGoal, SparkJob

BUCKET = os.environ.get("ERNEST_EXAMPLE_BUCKET", "my-bucket").removeprefix("s3://")


@task
def new_cluster(sized: dict[str, Any]) -> dict[str, Any]:
    """The cluster of the production run: the decision, and your own settings."""
    logs = {"s3": {"destination": f"s3://{BUCKET}/databricks-logs", "region": "eu-west-1"}}
    return {**sized, "spark_version": "16.4.x-scala2.12", "cluster_log_conf": logs}


with DAG("example_ernest_history_databricks", schedule=None, doc_md=__doc__, tags=["ernest", "example"]):
    # [START ernest]
    ernest = ErnestTaskGroup(
        job=SparkJob(name="enrich"),
        # The type is that of the workers: with it Databricks is told what to start from the first run on.
        history=EventLogs(f"s3://{BUCKET}/databricks-logs", instance_type="m5d.xlarge"),
        goal=SizingGoal(
            deadline_seconds=3600,
            max_executors=40,
            fallback_executors=10,
            fallback_instance_type="m5d.xlarge",
        ),
    )
    production = DatabricksSubmitRunOperator(
        task_id="production",
        new_cluster=new_cluster(ernest.config["databricks_cluster"]),
        spark_python_task={"python_file": f"s3://{BUCKET}/jobs/job.py"},
        timeout_seconds=8 * 3600,
    )
    ernest >> production
    # [END ernest]
