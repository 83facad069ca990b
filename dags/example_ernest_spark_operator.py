"""Sizes a Spark job on Kubernetes; the stock ``SparkKubernetesOperator`` runs it with the Spark operator.

Sample runs are made by spark-submit in client mode on the same nodes, as in ``example_ernest_kubernetes``,
with the connection ``spark_kubernetes`` of that example. Production is a ``SparkApplication`` for Kubeflow's
Spark operator (``sparkoperator.k8s.io/v1beta2``), which must be installed in the cluster. Each executor of
the decision is a pod.

Requirements: on the workers ``pip install apache-airflow-providers-cncf-kubernetes``, the Airflow connection
``kubernetes_default``, and environment variables of Airflow:

- ``ERNEST_KUBERNETES_IMAGE``: the container image of Spark with Python, with the job in ``/opt/jobs``.
- ``ERNEST_EXAMPLE_BUCKET``: the bucket of input and output (default: my-bucket); the image must read
  ``s3a://``.
- ``ERNEST_EXAMPLE_JOB``: the job's file on the Airflow workers (default: /opt/jobs/job.py).
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from airflow.providers.cncf.kubernetes.operators.spark_kubernetes import SparkKubernetesOperator
from airflow.sdk import DAG, Param, task

from airflow_provider_ernest import (
    ConnectedCluster,
    DesignBounds,
    ErnestTaskGroup,
    SampledInput,
    SizingGoal,
    SparkJob,
)

BUCKET = os.environ.get("ERNEST_EXAMPLE_BUCKET", "my-bucket").removeprefix("s3://")
IMAGE = os.environ.get("ERNEST_KUBERNETES_IMAGE", "apache/spark:4.0.1-python3")
SPARK_VERSION = "4.0.1"

with DAG(
    "example_ernest_spark_operator",
    schedule=None,
    doc_md=__doc__,
    tags=["ernest", "example"],
    params={
        "deadline_seconds": Param(3600, type="number", description="The production run must end within."),
        "price_per_hour": Param(0.2, type="number", description="Dollars for one executor and hour."),
    },
):
    # [START ernest]
    job = SparkJob(
        name="nightly",
        application=os.environ.get("ERNEST_EXAMPLE_JOB", "/opt/jobs/job.py"),
        application_args=["{{ sample.input }}", f"s3a://{BUCKET}/samples/{{{{ ti.map_index }}}}"],
        conf={"spark.kubernetes.container.image": IMAGE},
    )
    ernest = ErnestTaskGroup(
        job=job,
        input=SampledInput(path=f"s3a://{BUCKET}/input"),
        bounds=DesignBounds(max_executors=4),
        cluster=ConnectedCluster(
            spark_conn_id="spark_kubernetes",
            executors=16,
            # For nodes with 4 cores and 16 GB, minus what Kubernetes reserves.
            executor_cores=3,
            executor_memory_megabytes=11 * 1024,
            instance_type="pod-3-cores",
        ),
        goal=SizingGoal(
            deadline_seconds="{{ params.deadline_seconds }}",
            price_per_hour="{{ params.price_per_hour }}",
            max_executors=16,
        ),
    )

    @task
    def application(sized: dict[str, str]) -> dict[str, Any]:
        """The SparkApplication: executors of the chosen size; the rest is your own."""
        sized = dict(sized)
        executor = {
            "instances": int(sized.pop("spark.executor.instances")),
            "cores": int(sized.pop("spark.executor.cores")),
            "coreRequest": sized.pop("spark.kubernetes.executor.request.cores"),
            "memory": sized.pop("spark.executor.memory"),
        }
        return {
            "apiVersion": "sparkoperator.k8s.io/v1beta2",
            "kind": "SparkApplication",
            "metadata": {"name": "nightly", "namespace": "default"},
            "spec": {
                "type": "Python",
                "mode": "cluster",
                "image": IMAGE,
                "sparkVersion": SPARK_VERSION,
                "mainApplicationFile": "local:///opt/jobs/job.py",
                "arguments": [f"s3a://{BUCKET}/input", f"s3a://{BUCKET}/output"],
                "sparkConf": sized,
                "driver": {"cores": 1, "memory": "2g", "serviceAccount": "spark"},
                "executor": executor,
            },
        }

    production = SparkKubernetesOperator(
        task_id="production",
        namespace="default",
        # A run that hangs would cost money without end.
        execution_timeout=timedelta(hours=8),
        template_spec=application(ernest.config["kubernetes_conf"]),
    )
    ernest >> production
    # [END ernest]
