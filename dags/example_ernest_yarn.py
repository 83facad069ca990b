"""Sizes a Spark job on YARN; the stock ``SparkSubmitOperator`` runs it on as many nodes as were decided on.

The job is that of ``example_ernest_local``. Sample runs and production share a cluster that is there already.
A machine of the decision is one executor that takes a whole node: its cores, and the heap that YARN grants
there, are declared below, since YARN does not tell them.

It needs an Airflow connection ``spark_yarn`` (host ``yarn``, deploy mode ``client``), and in the environment
of Airflow:

- ``HADOOP_CONF_DIR``: the folder with the configuration of the cluster, without which Spark finds no YARN.
- ``ERNEST_EXAMPLE_DATA``: a folder that the workers and the nodes share (default: /mnt/ernest-example);
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
LOOK_UP = ["--weather-csv", f"{DATA}/weather.csv"]

with DAG(
    "example_ernest_yarn",
    schedule=None,
    doc_md=__doc__,
    tags=["ernest", "example"],
    params={
        "deadline_seconds": Param(300, type="number", description="The production run must end within."),
        "price_per_hour": Param(0.2, type="number", description="Dollars for one node and hour."),
    },
):
    # [START ernest]
    job = SparkJob(
        name="enrich_flights",
        application=str(JOBS / "enrich_flights.py"),
        application_args=["{{ sample.input }}", f"{DATA}/samples/{{{{ ti.map_index }}}}", *LOOK_UP],
    )
    nodes = ConnectedCluster(
        spark_conn_id="spark_yarn",
        machines=16,
        cores_per_machine=4,
        # A tenth more must fit into yarn.nodemanager.resource.memory-mb, and 1 GB for the application master.
        memory_megabytes_per_machine=10 * 1024,
        instance_type="m5.xlarge",
    )
    ernest = ErnestTaskGroup(
        job=job,
        input=SampledInput(path=f"{DATA}/flights"),
        bounds=DesignBounds(max_machines=4),
        cluster=nodes,
        goal=SizingGoal(
            deadline_seconds="{{ params.deadline_seconds }}",
            price_per_hour="{{ params.price_per_hour }}",
            max_machines=nodes.machines,
            # Off unless dynamic_allocation=True, which leaves it no choice but the decision.
        ),
    )
    production = SparkSubmitOperator(
        task_id="enrich_all_flights",
        conn_id="spark_yarn",
        application=job.application,
        application_args=[f"{DATA}/flights", f"{DATA}/report", *LOOK_UP],
        # The job's own conf, sized. No num_executors, executor_cores, executor_memory or total_executor_cores
        # beside it: spark-submit would prefer them.
        conf=ernest.job_conf("yarn_conf"),
    )
    ernest >> production
    # [END ernest]
