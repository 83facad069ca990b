"""Sample runs on clusters that somebody else starts, as the tasks of a training make them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from airflow_provider_ernest.documents.runs import Experiment, Observation
from airflow_provider_ernest.operators.existing_cluster import ExistingClusterOperator
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.operators.task_context import owner_of
from airflow_provider_ernest.settings import ConnectedCluster, SampledInput, SparkJob

APPLICATION = Path(__file__).parent / "jobs" / "count_lines.py"
SMALL = {
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.locality.wait": "0s",
}


class SampleRun:
    """A sample run of ``jobs/count_lines.py``: six of the input's 24 files.

    Args:
        spark_conn_id: the Airflow connection of the cluster.
        input_files: see the fixture.
        executors: how many.
        cores: of each.
        application: a path or an address.
        arguments: the application's, after its input.
        conf: further Spark properties.
        try_number: of the task.
        cluster: further fields of the `ConnectedCluster`.
        submit: options of spark-submit.
        changes: further arguments of the operator.
    """

    def __init__(
        self,
        spark_conn_id: str,
        input_files: Path,
        *,
        executors: int,
        cores: int = 1,
        application: str = str(APPLICATION),
        arguments: tuple[str, ...] = (),
        conf: Mapping[str, str] | None = None,
        try_number: int = 1,
        cluster: Mapping[str, Any] | None = None,
        submit: Mapping[str, Any] | None = None,
        **changes: Any,
    ) -> None:
        task = {"dag_id": "nightly", "run_id": "one", "task_id": "run", "map_index": -1}
        instance = SimpleNamespace(**task, try_number=try_number, xcom_push=lambda **pushed: None)
        self._context: Any = {"ti": instance}
        self.owner = owner_of(self._context)
        spec = ConnectedCluster(
            spark_conn_id=spark_conn_id,
            executors=executors,
            executor_cores=cores,
            executor_memory_megabytes=512,
            **(cluster or {}),
        )
        handle = ExistingClusterOperator(task_id="cluster", spec=spec).execute(self._context)
        self.operator = SampleRunOperator(
            task_id="run",
            experiment=Experiment(index=0, executors=executors, scale=0.25, partitions=6).to_dict(),
            job=SparkJob(
                name="count",
                application=application,
                application_args=["{{ sample.input }}", *arguments],
                conf={**SMALL, **(conf or {})},
                submit_options=submit or {},
            ),
            input=SampledInput(path=str(input_files)),
            cluster=handle,
            **changes,
        )

    def execute(self) -> Observation:
        """Run it to its end."""
        return Observation.from_dict(self.operator.execute(self._context))


def execute(*arguments: Any, **named: Any) -> None:
    """A sample run in a process of its own, by the arguments of `SampleRun`."""
    SampleRun(*arguments, **named).execute()
