"""A DAG of the integration tests: several types of machines, of which the better runs production."""

from __future__ import annotations

import os

from airflow.sdk import DAG

from airflow_provider_ernest import (
    DesignBounds,
    ErnestSparkSubmitOperator,
    ErnestTaskGroup,
    LocalClusterOperator,
    LocalClusterSpec,
    SampledInput,
    SizingGoal,
    SparkJob,
    TerminateClusterOperator,
)

APPLICATION = os.environ["ERNEST_TEST_APPLICATION"]
INPUT = os.environ["ERNEST_TEST_INPUT"]

# Trains on each type, and runs production on a new cluster of the chosen size and type.
with DAG("two_types", schedule=None):
    ernest = ErnestTaskGroup(
        job=SparkJob(
            name="two_types",
            application=APPLICATION,
            # Each of 24 partitions takes a second: what machines with two cores halve.
            application_args=["{{ sample.input }}", "--hold-task-seconds=1"],
            conf={
                "spark.ui.enabled": "false",
                "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
                "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            },
        ),
        input=SampledInput(path=INPUT, partitions=24),
        # Three runs, one in a second round, and none in the third, which is skipped.
        bounds=DesignBounds(max_executors=2, min_scale=0.2, max_scale=0.7, min_runs=4, max_runs=4, rounds=3),
        cluster=[
            LocalClusterSpec(
                machines=2, cores_per_machine=cores, memory_megabytes_per_machine=512, instance_type=name
            )
            for cores, name in ((1, "one-core"), (2, "two-core"))
        ],
        goal=SizingGoal(
            deadline_seconds=600,
            objective="fastest",
            price_per_hour={"one-core": 1.0, "two-core": 1.2},
            max_executors=2,
            on_inadequate="warn",
        ),
    )
    create = LocalClusterOperator(
        task_id="production_cluster",
        spec=LocalClusterSpec(
            machines=ernest.config["executors"],
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
