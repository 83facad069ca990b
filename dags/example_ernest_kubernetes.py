"""Sizes a Spark job on Kubernetes; the stock ``SparkSubmitOperator`` runs it with the chosen number of pods.

The job is that of ``example_ernest_local``. Sample runs and production share an existing cluster. The
decision is a number of executors of the shape declared below. Each executor is a pod, and Kubernetes places
the pods on its nodes as it likes, also several on one.

Requirements: an Airflow connection ``spark_kubernetes`` (host ``k8s://https://HOST`` with a port, deploy mode
``client``), on the workers ``pip install apache-airflow-providers-cncf-kubernetes`` (the stock operator
refuses such a connection without it), and environment variables of Airflow:

- ``ERNEST_KUBERNETES_IMAGE``: the container image of Spark with Python (default: apache/spark:4.0.1-python3).
- ``ERNEST_EXAMPLE_DATA``: a folder that the workers and the pods share (default: /mnt/ernest-example);
  ``example_ernest_local`` writes the input there, too.
"""

from __future__ import annotations

import os
from pathlib import Path

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG, Param

from airflow_provider_ernest import (
    ConnectedCluster,
    DesignBounds,
    ErnestTaskGroup,
    SampledInput,
    SizingGoal,
    SparkJob,
)

JOBS = Path(__file__).parent / "jobs"
DATA = Path(os.environ.get("ERNEST_EXAMPLE_DATA", "/mnt/ernest-example"))
IMAGE = os.environ.get("ERNEST_KUBERNETES_IMAGE", "apache/spark:4.0.1-python3")
LOOK_UP = ["--weather-csv", f"{DATA}/weather.csv"]
SHARED = "spark.kubernetes.executor.volumes.hostPath.data"

with DAG(
    "example_ernest_kubernetes",
    schedule=None,
    doc_md=__doc__,
    tags=["ernest", "example"],
    params={
        "deadline_seconds": Param(300, type="number", description="The production run must end within."),
        "price_per_hour": Param(0.2, type="number", description="Dollars for one executor and hour."),
    },
):
    # [START ernest]
    job = SparkJob(
        name="enrich_flights",
        application=str(JOBS / "enrich_flights.py"),
        application_args=["{{ sample.input }}", f"{DATA}/samples/{{{{ ti.map_index }}}}", *LOOK_UP],
        conf={
            "spark.kubernetes.container.image": IMAGE,
            f"{SHARED}.mount.path": str(DATA),
            f"{SHARED}.options.path": str(DATA),
        },
    )
    pods = ConnectedCluster(
        spark_conn_id="spark_kubernetes",
        # As many as the nodes have room for at least. Spark cannot ask Kubernetes for that.
        executors=16,
        # A pod asks for these cores, and for this heap and a tenth more (at least 384 MB). Some node must
        # have that left of what Kubernetes can allocate there.
        executor_cores=3,
        executor_memory_megabytes=11 * 1024,
        instance_type="pod-3-cores",
    )
    ernest = ErnestTaskGroup(
        job=job,
        input=SampledInput(path=f"{DATA}/flights"),
        bounds=DesignBounds(max_executors=4),
        cluster=pods,
        goal=SizingGoal(
            deadline_seconds="{{ params.deadline_seconds }}",
            price_per_hour="{{ params.price_per_hour }}",
            max_executors=pods.executors,
        ),
    )
    production = SparkSubmitOperator(
        task_id="enrich_all_flights",
        conn_id="spark_kubernetes",
        application=job.application,
        application_args=[f"{DATA}/flights", f"{DATA}/report", *LOOK_UP],
        # The job's own conf with the chosen size. Do not set num_executors, executor_cores, executor_memory
        # or total_executor_cores here: spark-submit would prefer them.
        conf=ernest.job_conf("kubernetes_conf"),
    )
    ernest >> production
    # [END ernest]
