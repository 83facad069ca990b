"""Sizes a Spark job on Amazon EC2 and runs it in production on the machines of the sample runs.

The job is that of ``example_ernest_local``. Put its input and output on storage that both the Airflow workers
and the machines can read and write, such as EFS, mounted through an access point that maps all of them to one
user: Spark on the machines does not run as Airflow's user.

Requirements: the Airflow connection ``aws_default`` with a region, and environment variables of Airflow:

- ``ERNEST_EC2_CLUSTER``: your machines, as JSON with fields of ``EC2ClusterSpec``, such as
  ``{"instance_type": "m6i.large", "image": "ami-...", "subnets": ["subnet-..."],
  "security_groups": ["sg-..."]}``. Default: ``{"launch_template": "ernest-spark"}``, the name of a launch
  template with image, subnet, security groups and instance profile. Image: Linux with Java 17, Python and
  Spark in /opt/spark.
- ``ERNEST_EXAMPLE_DATA``: the folder for the input and the output (default: /mnt/ernest-example).
- ``ERNEST_EXAMPLE_LOGS``: the Spark event logs of past runs, such as ``s3a://bucket/spark-events``. Without
  it, the model learns from sample runs alone.

``example_ernest_reaper`` terminates once an hour any machine that should have ended and did not.
"""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG, Param, task

from airflow_provider_ernest import (
    DesignBounds,
    EC2ClusterSpec,
    ErnestSparkSubmitOperator,
    ErnestTaskGroup,
    EventLogs,
    ReapClustersOperator,
    SampledInput,
    SizingGoal,
    SparkJob,
)

JOBS = Path(__file__).parent / "jobs"
DATA = Path(os.environ.get("ERNEST_EXAMPLE_DATA", "/mnt/ernest-example"))
YOUR_MACHINES = json.loads(os.environ.get("ERNEST_EC2_CLUSTER", '{"launch_template": "ernest-spark"}'))
PAST_RUNS = os.environ.get("ERNEST_EXAMPLE_LOGS")
INPUT_FILES = 336
# The weather service is remote: ask for many flights at once.
LOOK_UP = ["--weather-csv", f"{DATA}/weather.csv", "--keys-per-request", "100", "--latency-seconds", "0.075"]

with DAG(
    "example_ernest_ec2",
    schedule=None,
    doc_md=__doc__,
    tags=["ernest", "example"],
    params={
        "deadline_seconds": Param(90, type="number", description="The production run must end within."),
        "most_machines": Param(16, type="integer", description="Machines that production may have."),
        "on_inadequate": Param(
            "fail", enum=["fail", "warn"], description="What to do with a model that predicts badly."
        ),
    },
):

    @task
    def prepare_input() -> None:
        """Write one file of flights for each partition."""
        import runpy

        runpy.run_path(str(JOBS / "prepare_flights.py"))["prepare"](DATA, files=INPUT_FILES)

    # [START ernest]
    cluster = EC2ClusterSpec(
        **{"machines": 4, "instance_type": "m5.large", "time_to_live_seconds": 2 * 3600, **YOUR_MACHINES}
    )
    job = SparkJob(
        name="enrich_flights",
        application=str(JOBS / "enrich_flights.py"),
        application_args=["{{ sample.input }}", f"{DATA}/samples/{{{{ ti.map_index }}}}", *LOOK_UP],
    )
    ernest = ErnestTaskGroup(
        job=job,
        input=SampledInput(path=f"{DATA}/flights"),
        # Past runs cost nothing: only missing sample runs are made, maybe none.
        history=EventLogs(PAST_RUNS, job="enrich_flights") if PAST_RUNS else None,
        bounds=DesignBounds(max_executors=cluster.machines, max_scale=0.1, min_scale=0.025, max_runs=7),
        cluster=cluster,
        cluster_options={"deferrable": True, "poll_seconds": 5},
        resize_for_production=True,
        goal=SizingGoal(
            deadline_seconds="{{ params.deadline_seconds }}",
            max_executors="{{ params.most_machines }}",
            on_inadequate="{{ params.on_inadequate }}",
        ),
    )
    production = ErnestSparkSubmitOperator(
        task_id="enrich_all_flights",
        cluster=ernest.cluster,
        decision=ernest.decision,
        application=job.application,
        application_args=[f"{DATA}/flights", f"{DATA}/report", *LOOK_UP],
        conf=ernest.job_conf(),
    )
    prepare_input() >> ernest >> production >> ernest.teardown
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
