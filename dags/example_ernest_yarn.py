"""Sizes a Spark job on YARN; the stock ``SparkSubmitOperator`` runs it with the chosen number of executors.

The job is that of ``example_ernest_local``. Sample runs and production share an existing cluster. The
decision is a number of executors of the shape declared below: so many cores, and so much heap. YARN places
them on its nodes as it likes, also several on one. The model learns from production.

Requirements: an Airflow connection ``spark_yarn`` (host ``yarn``, deploy mode ``client``), and environment
variables of Airflow:

- ``HADOOP_CONF_DIR``: the folder with the cluster's configuration; without it Spark does not find YARN.
- ``ERNEST_EXAMPLE_DATA``: a folder that the workers and the nodes share (default: /mnt/ernest-example);
  ``example_ernest_local`` writes the input there, too.
- ``SPARK_EVENT_LOGS``: the cluster's ``spark.eventLog.dir``, such as hdfs:///spark-logs. Without it, the time
  of production is that of its task, with everything else that it did.
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
    RecordRunOperator,
    SampledInput,
    SizingGoal,
    SparkJob,
)

JOBS = Path(__file__).parent / "jobs"
DATA = Path(os.environ.get("ERNEST_EXAMPLE_DATA", "/mnt/ernest-example"))
EVENT_LOGS = os.environ.get("SPARK_EVENT_LOGS")
LOOK_UP = ["--weather-csv", f"{DATA}/weather.csv"]

with DAG(
    "example_ernest_yarn",
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
    )
    queue = ConnectedCluster(
        spark_conn_id="spark_yarn",
        # As many as the queue gives at least. YARN does not report that.
        executors=16,
        executor_cores=4,
        # The heap. With a tenth more (at least 384 MB) it is an executor's container, which must not be
        # larger than yarn.scheduler.maximum-allocation-mb, and must fit into
        # yarn.nodemanager.resource.memory-mb.
        executor_memory_megabytes=10 * 1024,
        instance_type="yarn-4-cores",
    )
    ernest = ErnestTaskGroup(
        job=job,
        input=SampledInput(path=f"{DATA}/flights"),
        bounds=DesignBounds(max_executors=4),
        cluster=queue,
        goal=SizingGoal(
            deadline_seconds="{{ params.deadline_seconds }}",
            price_per_hour="{{ params.price_per_hour }}",
            max_executors=queue.executors,
        ),
    )
    production = SparkSubmitOperator(
        task_id="enrich_all_flights",
        conn_id="spark_yarn",
        application=job.application,
        application_args=[f"{DATA}/flights", f"{DATA}/report", *LOOK_UP],
        # The job's own conf with the chosen size. Do not set num_executors, executor_cores, executor_memory
        # or total_executor_cores here: spark-submit would prefer them.
        conf=ernest.job_conf("yarn_conf"),
    )
    record = RecordRunOperator(
        task_id="record_run",
        decision=ernest.decision,
        production_task_id=production.task_id,
        application=job.application,
        event_log=EVENT_LOGS,
    )
    ernest >> production >> record
    # [END ernest]
