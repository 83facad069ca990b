"""A run of an example DAG, task by task: its templates are rendered, its operators executed, without Airflow.

The training is made up; everything from the decision on is the DAG's own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from airflow.sdk import DAG

from airflow_provider_ernest.prediction.training import train
from tests import examples
from tests.airflow_versions import DagBag

EXAMPLES = Path(__file__).parents[3] / "dags"
RUNS = [(1, 0.02), (1, 0.1), (2, 0.05), (2, 0.1), (3, 0.1), (4, 0.05), (4, 0.1)]


def example(name: str) -> DAG:
    """An example DAG, parsed as Airflow does; skips where a provider that it is about is not installed."""
    bag = DagBag(EXAMPLES / f"{name}.py", safe_mode=False)
    for error in bag.import_errors.values():
        if "No module named 'airflow.providers." in error:
            pytest.skip(f"needs a provider: {error.strip().splitlines()[-1]}")
        pytest.fail(error)
    return bag.dags[name]


def seconds(executors: int, scale: float, speed: float = 1.0) -> float:
    """What the made-up job takes."""
    return 60.0 + 12_000.0 * scale / executors / speed + 2.0 * executors


def model(instance_type: str, *, speed: float = 1.0) -> dict[str, Any]:
    """What its training gives on a type of machine."""
    executors, scales = zip(*RUNS, strict=True)
    times = [seconds(count, scale, speed) for count, scale in RUNS]
    fields = {"startup_seconds": 5.0, "instance_type": instance_type}
    observations = examples.observe(executors=executors, scale=scales, seconds=times, **fields)
    return train(observations, job="nightly", instance_type=instance_type, method="relative").to_dict()


def handle(
    kind: str,
    instance_type: str,
    *,
    cores: int = 4,
    memory_megabytes: int = 10_240,
    executors: int = 4,
    price_per_hour: float | None = None,
) -> dict[str, Any]:
    """The cluster that it was trained on."""
    is_standalone = kind == "ec2"
    return examples.cluster(
        executors,
        each={"cores": cores, "memory_megabytes": memory_megabytes, "price_per_hour": price_per_hour},
        kind=kind,
        master_url="spark://10.0.0.1:7077" if is_standalone else "yarn",
        web_url="http://10.0.0.1:8080" if is_standalone else None,
        instance_type=instance_type,
        cores_per_machine=cores,
        spark_conn_id="spark_yarn" if kind == "existing" else None,
    ).to_dict()


class TaskInstance:
    """What an operator sees of its task instance."""

    run_id = "manual__2026-01-01T00:00:00+00:00"
    map_index = -1
    try_number = 1
    stats_tags: ClassVar[dict[str, str]] = {}

    def __init__(self, task: Any, xcoms: dict[tuple[str, str], Any]) -> None:
        self.task = task
        self.dag_id = task.dag.dag_id
        self.task_id = task.task_id
        self._xcoms = xcoms

    def xcom_pull(self, *, task_ids: str, key: str = "return_value", default: Any = None, **_: Any) -> Any:
        return self._xcoms.get((task_ids, key), default)

    def get_task_states(
        self, *, dag_id: str, task_ids: list[str], run_ids: list[str]
    ) -> dict[str, dict[str, str]]:
        """All tasks before the decision have succeeded."""
        return {run_id: dict.fromkeys(task_ids, "success") for run_id in run_ids}

    def xcom_push(self, key: str, value: Any) -> None:
        # As in the database: what is no JSON does not come out as it went in.
        self._xcoms[self.task_id, key] = json.loads(json.dumps(value))


class ExampleRun:
    """A run of an example, with the XComs of its tasks by task and key."""

    def __init__(self, name: str, *, variables: dict[str, str] | None = None, **params: Any) -> None:
        self.dag = example(name)
        self.params = {**self.dag.params.dump(), **params}
        self.variables = variables or {}
        self.xcoms: dict[tuple[str, str], Any] = {}

    def train(self, cluster: dict[str, Any], *, branch: str = "ernest", speed: float = 1.0) -> None:
        """Make up a training."""
        self.xcoms[f"{branch}.create_cluster", "return_value"] = cluster
        self.xcoms[f"{branch}.fit_model", "return_value"] = model(cluster["instance_type"], speed=speed)

    def decide(self) -> dict[str, Any]:
        """Run the task that decides; returns what it pushes."""
        self.run("ernest.choose_config")
        return {key: value for (task, key), value in self.xcoms.items() if task == "ernest.choose_config"}

    def rendered(self, task_id: str) -> Any:
        """The operator of a task with its templates rendered."""
        task = self.dag.get_task(task_id)
        task.render_template_fields(self.context(task))
        return task

    def run(self, task_id: str) -> Any:
        """Render and execute a task; its result is there for those behind it, too."""
        task = self.rendered(task_id)
        context = self.context(task)
        result = task.execute(context)
        context["ti"].xcom_push(key="return_value", value=result)
        return result

    def context(self, task: Any) -> dict[str, Any]:
        ti = TaskInstance(task, self.xcoms)
        return {
            "ti": ti,
            "task_instance": ti,
            "task": task,
            "dag": self.dag,
            "params": self.params,
            "run_id": ti.run_id,
            "var": {"value": self.variables},
        }
