"""Chooses between two EC2 machine types and starts a production cluster of the chosen type and size.

The job and the requirements are those of ``example_ernest_ec2``. Each type is trained on a small cluster of
its own, which ends with the training. Production gets a new cluster, which ends with the run. Each machine of
the decision is a worker of that cluster; the master comes on top.

This DAG ignores the machine type and number in ``ERNEST_EC2_CLUSTER``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from airflow.sdk import DAG, Param, task

from airflow_provider_ernest import (
    Billing,
    DesignBounds,
    EC2ClusterOperator,
    EC2ClusterSpec,
    ErnestSparkSubmitOperator,
    ErnestTaskGroup,
    SampledInput,
    SizingGoal,
    SparkJob,
    TerminateClusterOperator,
)

JOBS = Path(__file__).parent / "jobs"
DATA = Path(os.environ.get("ERNEST_EXAMPLE_DATA", "/mnt/ernest-example"))
YOURS = json.loads(os.environ.get("ERNEST_EC2_CLUSTER", '{"launch_template": "ernest-spark"}'))
YOUR_MACHINES = {name: value for name, value in YOURS.items() if name not in ("machines", "instance_type")}
INPUT_FILES = 336
# The weather service is remote: ask for many flights at once.
LOOK_UP = ["--weather-csv", f"{DATA}/weather.csv", "--keys-per-request", "100", "--latency-seconds", "0.075"]

with DAG(
    "example_ernest_ec2_production",
    schedule=None,
    doc_md=__doc__,
    tags=["ernest", "example"],
    params={
        "deadline_seconds": Param(300, type="number", description="The production run must end within."),
        "most_machines": Param(16, type="integer", description="Machines that production may have."),
    },
):

    @task
    def prepare_input() -> None:
        """Write one file of flights for each partition."""
        import runpy

        runpy.run_path(str(JOBS / "prepare_flights.py"))["prepare"](DATA, files=INPUT_FILES)

    # [START ernest]
    job = SparkJob(
        name="enrich_flights",
        application=str(JOBS / "enrich_flights.py"),
        # Runs on both types happen at the same time and must not write to one folder.
        application_args=[
            "{{ sample.input }}",
            f"{DATA}/samples/{{{{ ti.task_id }}}}/{{{{ ti.map_index }}}}",
            *LOOK_UP,
        ],
    )
    ernest = ErnestTaskGroup(
        job=job,
        input=SampledInput(path=f"{DATA}/flights"),
        bounds=DesignBounds(max_executors=4, max_scale=0.1, min_scale=0.025, max_runs=7),
        cluster=[
            EC2ClusterSpec(machines=4, instance_type="m5.large", **YOUR_MACHINES),
            EC2ClusterSpec(machines=4, instance_type="c5.xlarge", **YOUR_MACHINES),
        ],
        goal=SizingGoal(
            deadline_seconds="{{ params.deadline_seconds }}",
            max_executors="{{ params.most_machines }}",
            confidence=0.95,
            # Production's machines boot for this run only.
            billing=Billing(boot_seconds=120),
        ),
    )
    create = EC2ClusterOperator(
        task_id="production_cluster",
        spec=EC2ClusterSpec(
            machines=ernest.config["machines"],
            instance_type=ernest.config["instance_type"],
            **YOUR_MACHINES,
        ),
        deferrable=True,
    ).as_setup()
    production = ErnestSparkSubmitOperator(
        task_id="enrich_all_flights",
        cluster=create.output,
        decision=ernest.decision,
        application=job.application,
        application_args=[f"{DATA}/flights", f"{DATA}/report", *LOOK_UP],
        conf=ernest.job_conf(),
    )
    end = TerminateClusterOperator(task_id="end_production_cluster", cluster=create.output, retries=3)
    prepare_input() >> ernest >> create >> production >> end.as_teardown(setups=create)
    # [END ernest]
