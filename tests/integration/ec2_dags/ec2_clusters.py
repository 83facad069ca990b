"""DAGs of the integration tests: clusters on the EC2 test bed, and what may happen to their runs."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, task

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.documents.runs import Experiment
from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator
from airflow_provider_ernest.operators.cluster import ReapClustersOperator, TerminateClusterOperator
from airflow_provider_ernest.operators.ec2_cluster import EC2ClusterOperator
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.operators.spark_submit import ErnestSparkSubmitOperator
from airflow_provider_ernest.settings import SampledInput, SizingGoal, SparkJob

FIELDS = {one.name for one in fields(EC2ClusterSpec)}
CLUSTER = json.loads(os.environ["ERNEST_TEST_EC2_CLUSTER"])
APPLICATION = os.environ["ERNEST_TEST_APPLICATION"]
INPUT = os.environ["ERNEST_TEST_INPUT"]
GATES = os.environ["ERNEST_TEST_GATES"]
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CONF = {
    "spark.ui.enabled": "false",
    "spark.executor.extraJavaOptions": JVM_OPTIONS,
    "spark.driver.extraJavaOptions": JVM_OPTIONS,
}
RETRIED = {"retries": 1, "retry_delay": timedelta(seconds=3)}


def create(dag_id: str, **arguments: Any) -> EC2ClusterOperator:
    """The setup. Its machines go on to boot when the test opens the gate of the DAG's name."""
    wait_at_gate = f"until [ -e {GATES}/{dag_id} ]; do sleep 0.2; done"
    spec = {
        **CLUSTER,
        "setup_script": wait_at_gate,
        **{name: arguments.pop(name) for name in FIELDS & arguments.keys()},
    }
    return EC2ClusterOperator(
        task_id="create", spec=EC2ClusterSpec(**spec), poll_seconds=1, **arguments
    ).as_setup()


def terminate(setup: EC2ClusterOperator) -> TerminateClusterOperator:
    return TerminateClusterOperator(task_id="terminate", cluster=setup.output).as_teardown(setups=setup)


def sample_run(
    task_id: str, setup: EC2ClusterOperator, *, machines: int, hold: str, **arguments: Any
) -> SampleRunOperator:
    return SampleRunOperator(
        task_id=task_id,
        experiment=Experiment(index=machines, executors=machines, scale=0.5, partitions=4).to_dict(),
        job=SparkJob(
            name="held",
            application=APPLICATION,
            application_args=["{{ sample.input }}", f"--hold-task-seconds={hold}"],
            conf=CONF,
        ),
        input=SampledInput(path=INPUT),
        cluster=setup.output,
        **arguments,
    )


def nothing_more(dag_id: str, **arguments: Any) -> DAG:
    """A cluster that is ended as soon as it is there."""
    with DAG(dag_id, schedule=None) as dag:
        setup = create(dag_id, **arguments)
        setup >> terminate(setup)
    return dag


with DAG("ec2_whole_loop", schedule=None) as whole_loop:
    started = create("ec2_whole_loop", deferrable=True, probe_rounds=1)
    sampled = sample_run("sample_run", started, machines=2, hold="0")
    chosen = ChooseConfigOperator(
        task_id="choose",
        model=None,
        job=SparkJob(name="count_lines", application=APPLICATION),
        goal=SizingGoal(deadline_seconds=600, max_executors=2, fallback_executors=2),
        cluster="{{ ti.xcom_pull(task_ids='create') | tojson }}",
        trigger_rule="all_done",
    )
    production = ErnestSparkSubmitOperator(
        task_id="production",
        application=APPLICATION,
        application_args=[INPUT],
        cluster=started.output,
        decision=chosen.output["record"],
        conf={**CONF, "spark.cores.max": 2},
    )
    started >> sampled >> chosen >> production >> terminate(started)

deferred = nothing_more("ec2_deferred", deferrable=True, **RETRIED)
in_a_worker = nothing_more("ec2_in_a_worker", deferrable=False, **RETRIED)
no_retry = nothing_more(
    "ec2_no_retry", deferrable=True, retries=0, start_timeout_seconds=1200, time_to_live_seconds=60 * 30
)

with DAG("ec2_times_out", schedule=None, dagrun_timeout=timedelta(seconds=150)) as times_out:

    @task
    def take_very_long() -> None:
        import time

        time.sleep(3600)

    # It has formed when the run times out, and then has not much longer to live.
    started = create("ec2_times_out", deferrable=True, machines=1, time_to_live_seconds=60 * 210)
    started >> take_very_long() >> terminate(started)

with DAG("ec2_interrupted", schedule=None) as interrupted:
    started = create("ec2_interrupted", deferrable=True, spot=True)
    on_one = sample_run(
        "on_one_machine", started, machines=1, hold="{{ 120 if ti.try_number == 1 else 0 }}", **RETRIED
    )
    on_two = sample_run("on_two_machines", started, machines=2, hold="0")
    started >> on_one >> on_two >> terminate(started)

with DAG("ec2_reaper", schedule=None) as reaper:
    ReapClustersOperator(task_id="reap", grace_seconds=0)
