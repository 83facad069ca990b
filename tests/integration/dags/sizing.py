"""DAGs of the integration tests: what an Ernest DAG does when runs fail, hang, or cannot reach the goal."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

from airflow_provider_ernest import (
    DesignBounds,
    ErnestTaskGroup,
    LocalClusterSpec,
    SampledInput,
    SizingGoal,
    SparkJob,
)

APPLICATION = os.environ["ERNEST_TEST_APPLICATION"]
INPUT = os.environ["ERNEST_TEST_INPUT"]
CONF = {
    "spark.ui.enabled": "false",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def sizing(dag_id: str, *arguments: str, goal: SizingGoal, spark_conn_id: str, **changes):
    # Where the stock operator looks for the cluster.
    address = os.environ[f"AIRFLOW_CONN_{spark_conn_id.upper()}"]

    with DAG(dag_id, schedule=None) as dag:
        ernest = ErnestTaskGroup(
            job=SparkJob(
                name=dag_id,
                application=APPLICATION,
                application_args=["{{ sample.input }}", *arguments],
                conf=CONF,
            ),
            input=SampledInput(path=INPUT, partitions=24),
            bounds=DesignBounds(max_executors=3, min_scale=0.2, max_scale=0.6, max_runs=5, criterion="A"),
            cluster=LocalClusterSpec(
                machines=3, memory_megabytes_per_machine=512, master_port=urlsplit(address).port
            ),
            goal=goal,
            **changes,
        )
        production = SparkSubmitOperator(
            task_id="production",
            conn_id=spark_conn_id,
            application=APPLICATION,
            application_args=[INPUT],
            conf=ernest.job_conf(),
            properties_file=ernest.cluster["properties_file"],
        )
        ernest >> production >> ernest.teardown
    return dag


# 13 partitions on three machines always fail, 5 on one machine at the first try; the deadline is too short.
some_fail = sizing(
    "some_runs_fail",
    "--fail-if={{ sample.machines }}/{{ sample.partitions }}/{{ ti.try_number }}:3/13/1,3/13/2,1/5/1",
    goal=SizingGoal(
        deadline_seconds=0.5,
        price_per_hour=1.0,
        max_executors=3,
        fallback_executors=2,
        on_inadequate="warn",
    ),
    spark_conn_id="ernest_fails",
)

hangs = sizing(
    "runs_hang",
    "--hold-task-seconds=600",
    goal=SizingGoal(deadline_seconds=60, price_per_hour=1.0, max_executors=3),
    spark_conn_id="ernest_hangs",
    run_retries=0,
)
