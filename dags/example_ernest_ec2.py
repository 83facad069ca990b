"""Sizes a Spark job on machines of Amazon EC2, and runs it in production on those that are paid for already.

The job is that of ``example_ernest_local``. Its input lies where both the Airflow workers and the machines
read it, such as a file system of EFS mounted at ``ERNEST_EXAMPLE_DATA``.

It needs Airflow's connection ``aws_default`` with a region, and in the environment of Airflow:

- ``ERNEST_EC2_LAUNCH_TEMPLATE``: name of a launch template with image, subnet, security groups and instance
  profile (default: ernest-spark). Image: Linux with Java 17, Python and Spark in /opt/spark.
- ``ERNEST_EC2_INSTANCE_TYPE``: of the workers (default: m5.large).
- ``ERNEST_EC2_MACHINES``: workers for the sample runs (default: 4).

``example_ernest_reaper`` ends, once an hour, whatever should have ended and did not.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG, Param

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.operators.reap_clusters import ReapClustersOperator
from airflow_provider_ernest.operators.spark_submit import ErnestSparkSubmitOperator
from airflow_provider_ernest.specification import DesignBounds, SampledInput, SizingGoal, SparkJob
from airflow_provider_ernest.task_group import ErnestTaskGroup

JOBS = Path(__file__).parent / "jobs"
DATA = os.environ.get("ERNEST_EXAMPLE_DATA", "/mnt/ernest-example")
MACHINES = int(os.environ.get("ERNEST_EC2_MACHINES", "4"))

with DAG(
    "example_ernest_ec2",
    schedule=None,
    doc_md=__doc__,
    tags=["ernest", "example"],
    params={
        "deadline_seconds": Param(600, type="number", description="The production run must end within."),
        "most_machines": Param(16, type="integer", description="Machines that production may have."),
    },
):
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
    )
    ernest = ErnestTaskGroup(
        job=job,
        input=SampledInput(path=f"{DATA}/flights"),
        bounds=DesignBounds(max_machines=MACHINES, max_scale=0.1),
        cluster=EC2ClusterSpec(
            machines=MACHINES,
            instance_type=os.environ.get("ERNEST_EC2_INSTANCE_TYPE", "m5.large"),
            launch_template=os.environ.get("ERNEST_EC2_LAUNCH_TEMPLATE", "ernest-spark"),
            time_to_live_seconds=2 * 3600,
        ),
        cluster_options={"deferrable": True},
        resize_for_production=True,
        goal=SizingGoal(
            deadline_seconds="{{ params.deadline_seconds }}",
            max_machines="{{ params.most_machines }}",
        ),
        parallel_runs=2,
    )
    production = ErnestSparkSubmitOperator(
        task_id="enrich_all_flights",
        cluster=ernest.cluster,
        application=job.application,
        application_args=[f"{DATA}/flights", f"{DATA}/report", "--weather-csv", f"{DATA}/weather.csv"],
        conf=ernest.config["spark_conf"],
    )
    ernest >> production >> ernest.teardown
    # [END ernest]

# [START reaper]
with DAG(
    "example_ernest_reaper",
    schedule="@hourly",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=True,
    tags=["ernest", "example"],
):
    ReapClustersOperator(task_id="reap_clusters", regions="{{ var.value.get('ernest_regions', '') }}")
# [END reaper]
