"""Sizes a Spark job by its past runs: nothing is started or paid for but production itself.

Its event logs tell what it took on how many executors. Before its first run, it keeps the size that it has;
after one, other sizes are known by its replay; after runs on several, by a model. The job may read anything:
files, tables, a database. For Kubernetes, take ``ernest.job_conf("kubernetes_conf")`` and its connection.

Requirements: an Airflow connection ``spark_yarn`` (host ``yarn``), and environment variables of Airflow:

- ``SPARK_EVENT_LOGS``: the cluster's ``spark.eventLog.dir``, such as hdfs:///spark-logs or s3a://logs/spark.
- ``ERNEST_EXAMPLE_JOB``: the job's JAR or .py file (default: /opt/jobs/job.py).
"""

from __future__ import annotations

import os

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG, Param

from airflow_provider_ernest import ErnestTaskGroup, EventLogs, SizingGoal, SparkJob

LOGS = os.environ.get("SPARK_EVENT_LOGS", "hdfs:///spark-logs")

with DAG(
    "example_ernest_history",
    schedule=None,
    doc_md=__doc__,
    tags=["ernest", "example"],
    params={"deadline_seconds": Param(3600, type="number", description="The run must end within.")},
):
    # [START ernest]
    ernest = ErnestTaskGroup(
        # As its event logs name it, without dates and numbers; its conf is what production has today.
        job=SparkJob(name="enrich", conf={"spark.executor.cores": "4", "spark.executor.memory": "8g"}),
        history=EventLogs(LOGS),
        goal=SizingGoal(deadline_seconds="{{ params.deadline_seconds }}", max_executors=40),
    )
    production = SparkSubmitOperator(
        task_id="production",
        conn_id="spark_yarn",
        name="enrich",
        application=os.environ.get("ERNEST_EXAMPLE_JOB", "/opt/jobs/job.py"),
        # The job's conf with the chosen size. Do not set num_executors here: spark-submit would prefer it.
        conf=ernest.job_conf("yarn_conf"),
    )
    ernest >> production
    # [END ernest]
