"""DAGs of the integration tests: several types of machines, and what happens when their training fails."""

from __future__ import annotations

import os

from airflow.sdk import DAG

from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.operators.local_cluster import LocalClusterOperator
from airflow_provider_ernest.operators.spark_submit import ErnestSparkSubmitOperator
from airflow_provider_ernest.operators.terminate_cluster import TerminateClusterOperator
from airflow_provider_ernest.settings import DesignBounds, SampledInput, SizingGoal, SparkJob
from airflow_provider_ernest.task_group import ErnestTaskGroup

APPLICATION = os.environ["ERNEST_TEST_APPLICATION"]
INPUT = os.environ["ERNEST_TEST_INPUT"]
CONF = {
    "spark.ui.enabled": "false",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def sizing(dag_id: str, *, clusters: list[LocalClusterSpec], goal: SizingGoal) -> DAG:
    """Train on each type, and run production on a new cluster of the chosen size and type."""
    with DAG(dag_id, schedule=None) as dag:
        ernest = ErnestTaskGroup(
            job=SparkJob(
                name=dag_id,
                application=APPLICATION,
                # Each of 24 partitions takes a second: what machines with two cores halve.
                application_args=["{{ sample.input }}", "--hold-task-seconds=1"],
                conf=CONF,
            ),
            input=SampledInput(path=INPUT, partitions=24),
            bounds=DesignBounds(max_machines=2, min_scale=0.2, max_scale=0.7, max_runs=4),
            cluster=clusters,
            # One that never starts is waited for once.
            cluster_options={"retries": 0},
            goal=goal,
        )
        create = LocalClusterOperator(
            task_id="production_cluster",
            spec=LocalClusterSpec(
                machines=ernest.config["machines"],
                instance_type=ernest.config["instance_type"],
                cores_per_machine=2,
                memory_megabytes_per_machine=1024,
            ),
        ).as_setup()
        production = ErnestSparkSubmitOperator(
            task_id="production",
            application=APPLICATION,
            application_args=[INPUT, "--hold-task-seconds=1"],
            cluster=create.output,
            decision=ernest.decision,
            conf=ernest.job_conf(),
        )
        end = TerminateClusterOperator(task_id="end_production_cluster", cluster=create.output)
        end.as_teardown(setups=create)
        ernest >> create >> production >> end
    return dag


ONE_CORE = LocalClusterSpec(machines=2, memory_megabytes_per_machine=512, instance_type="one-core")
TWO_CORES = LocalClusterSpec(
    machines=2, cores_per_machine=2, memory_megabytes_per_machine=512, instance_type="two-core"
)

two_types = sizing(
    "two_types",
    clusters=[ONE_CORE, TWO_CORES],
    goal=SizingGoal(
        deadline_seconds=600,
        objective="fastest",
        price_per_hour={"one-core": 1.0, "two-core": 1.2},
        max_machines=2,
        on_inadequate="warn",
    ),
)

nothing_usable = sizing(
    "nothing_usable",
    clusters=[
        LocalClusterSpec(machines=2, instance_type="never-there", start_timeout_seconds=0.01),
        TWO_CORES,
    ],
    goal=SizingGoal(
        deadline_seconds=600,
        price_per_hour=1.0,
        max_machines=2,
        # No model of real runs is as exact as that.
        max_error_percent=1e-9,
        fallback_machines=1,
        fallback_instance_type="two-core",
    ),
)
