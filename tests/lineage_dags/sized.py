"""A DAG that sizes a job without machines: its cluster and its runs are made up.

Run as a program, it runs the DAG as often as it is told, and writes the states of the tasks as JSON; a second
run finds the model of the first. It stands outside tests/unit because it replaces what operators do: no other
test may import it, and pytest imports all modules there for their doctests.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

if "WITHOUT_OPENLINEAGE" in os.environ:
    # Airflow goes by the packages that are installed: the provider cannot be hidden, its client can.
    sys.modules["openlineage"] = None  # type: ignore[assignment]

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.documents.runs import Experiment, Observation
from airflow_provider_ernest.operators.cluster import LocalClusterOperator, TerminateClusterOperator
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.settings import DesignBounds, SampledInput, SizingGoal, SparkJob
from airflow_provider_ernest.spark.machines import Machine
from airflow_provider_ernest.task_group import ErnestTaskGroup

HOME = Path(os.environ["AIRFLOW_HOME"])
INPUT = HOME / "input.csv"


def create(self: LocalClusterOperator, context: Any) -> dict[str, Any]:
    machine = {"cores": 1, "memory_megabytes": 900, "price_per_hour": 0.1}
    executors = tuple(Machine(worker_id=f"worker-{n}", host=f"127.0.1.{n + 1}", **machine) for n in range(4))
    return ClusterHandle(
        kind="local",
        name="made-up",
        master_url="spark://127.0.0.1:7077",
        instance_type=self.spec["instance_type"],
        machines=executors,
    ).to_dict()


def sample(self: SampleRunOperator, context: Any) -> dict[str, Any]:
    run = Experiment.from_dict(self.experiment)
    seconds = 2.0 + 120.0 * run.scale / run.executors + 1.5 * run.executors
    return Observation(
        index=run.index,
        executors=run.executors,
        scale=run.scale,
        seconds=seconds,
        startup_seconds=5.0,
        instance_type=self.cluster["instance_type"],
    ).to_dict()


LocalClusterOperator.execute = create
SampleRunOperator.execute = sample
TerminateClusterOperator.execute = lambda self, context: None


with DAG("sized", schedule=None) as dag:
    ernest = ErnestTaskGroup(
        job=SparkJob(name="enrich", application=__file__, application_args=["{{ sample.input }}"]),
        input=SampledInput(path=str(INPUT), partitions=100),
        bounds=DesignBounds(max_executors=4, max_runs=5),
        cluster=LocalClusterSpec(machines=4, instance_type="m5.large"),
        goal=SizingGoal(deadline_seconds=60, max_executors=4, price_per_hour=0.1),
    )
    ernest >> EmptyOperator(task_id="production")

if __name__ == "__main__":
    INPUT.write_text("a,b\n1,2\n")
    states = []
    for _ in range(int(sys.argv[2])):
        run = dag.test()
        states.append({task.task_id: str(task.state) for task in run.get_task_instances()})
    Path(sys.argv[1]).write_text(json.dumps(states))
