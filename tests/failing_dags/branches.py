"""DAGs over several types of machines, without machines: clusters and runs are made up, and some fail.

Run as a program, it runs them all and writes the states of their tasks, and what was done, as JSON. It stands
outside tests/unit because it replaces what operators do: no other test may import it, and pytest imports all
modules there for their doctests.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import DAG, BaseOperator

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.documents.decisions import DecisionRecord
from airflow_provider_ernest.documents.runs import Experiment, Observation
from airflow_provider_ernest.operators.bottleneck_report import BottleneckReportOperator
from airflow_provider_ernest.operators.cluster import LocalClusterOperator, TerminateClusterOperator
from airflow_provider_ernest.operators.experiment_design import NextRunsOperator
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.settings import DesignBounds, SampledInput, SizingGoal, SparkJob
from airflow_provider_ernest.spark.machines import Machine
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.task_group import ErnestTaskGroup

HOME = Path(os.environ["AIRFLOW_HOME"])
STORE = HOME / "ernest" / "store"
DONE = HOME / "done"
"""A file of what was done. Airflow reads this module anew for each task: it remembers nothing."""


def done(operator: BaseOperator, what: str) -> None:
    with DONE.open("a") as file:
        file.write(f"{operator.dag_id}: {what}\n")


def create(self: LocalClusterOperator, context: Any) -> dict[str, Any]:
    instance_type = self.spec["instance_type"]
    done(self, f"create {instance_type}")
    if instance_type == "unavailable":
        raise RuntimeError("no capacity")
    machine = {"cores": 1, "memory_megabytes": 900, "price_per_hour": 0.1}
    return ClusterHandle(
        kind="local",
        name=instance_type,
        master_url="spark://127.0.0.1:7077",
        instance_type=instance_type,
        machines=tuple(
            Machine(worker_id=f"worker-{index}", host=f"127.0.1.{index + 1}", **machine) for index in range(4)
        ),
    ).to_dict()


def sample(self: SampleRunOperator, context: Any) -> dict[str, Any]:
    experiment, instance_type = Experiment.from_dict(self.experiment), self.cluster["instance_type"]
    if instance_type == "broken":
        raise RuntimeError("the run failed")
    if self.task_id.endswith("sample_run_2"):
        done(self, "a run of the second round")
        if instance_type == "tiring":
            raise RuntimeError("the run failed")
    return Observation(
        index=experiment.index,
        executors=experiment.executors,
        scale=experiment.scale,
        seconds=2.0 + 120.0 * experiment.scale / experiment.executors + 1.5 * experiment.executors,
        startup_seconds=5.0,
        instance_type=instance_type,
    ).to_dict()


def terminate(self: TerminateClusterOperator, context: Any) -> None:
    done(self, f"end {self.cluster['instance_type']}")


report_really = BottleneckReportOperator.execute


def report(self: BottleneckReportOperator, context: Any) -> dict[str, Any] | None:
    if self.dag_id == "unreported":
        raise MemoryError("as if it were killed for its memory")
    return report_really(self, context)


choose_runs_really = NextRunsOperator.execute


def choose_runs(self: NextRunsOperator, context: Any) -> list[dict[str, Any]]:
    if self.dag_id == "killed_between_rounds":
        raise MemoryError("as if it were killed for its memory")
    return choose_runs_really(self, context)


BottleneckReportOperator.execute = report
NextRunsOperator.execute = choose_runs
LocalClusterOperator.execute = create
SampleRunOperator.execute = sample
TerminateClusterOperator.execute = terminate


class Production(BaseOperator):
    """Starts whatever became of the tasks before it, if its size can be read."""

    template_fields = ("conf",)

    def __init__(self, *, conf: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.conf = conf

    def execute(self, context: Any) -> None:
        done(self, f"production on {self.conf['spark.executor.instances']}")


class Prepare(BaseOperator):
    """What the input needs before anything: fails, or is skipped."""

    def __init__(self, *, end: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.end = end

    def execute(self, context: Any) -> None:
        raise AirflowSkipException() if self.end == "skipped" else RuntimeError("no input")


BOUNDS = DesignBounds(max_executors=4, max_runs=5)
IN_ROUNDS = DesignBounds(max_executors=4, rounds=3)
FOUR_IN_ROUNDS = DesignBounds(max_executors=4, min_runs=4, max_runs=4, rounds=3)
"""The fourth run is one of a second round."""


def sized(
    dag_id: str,
    *,
    types: tuple[str, ...] = ("good",),
    trigger_rule: str = "all_success",
    prepare: str = "",
    job: str | None = None,
    application: str = __file__,
    on_same_cluster: bool = False,
    bounds: DesignBounds = BOUNDS,
    **goal: Any,
) -> DAG:
    with DAG(dag_id, schedule=None) as dag:
        ernest = ErnestTaskGroup(
            job=SparkJob(
                name=job or dag_id, application=application, application_args=["{{ sample.input }}"]
            ),
            input=SampledInput(path=__file__, partitions=100),
            bounds=bounds,
            cluster=[LocalClusterSpec(machines=4, instance_type=name) for name in types],
            goal=SizingGoal(**{"deadline_seconds": 60, "max_executors": 4, "price_per_hour": 0.1, **goal}),
            cluster_options={"retries": 0},
            run_retries=0,
        )
        production = Production(task_id="production", conf=ernest.job_conf(), trigger_rule=trigger_rule)
        ernest >> production
        if on_same_cluster:
            production >> ernest.teardown
        if prepare:
            Prepare(task_id="prepare", end=prepare) >> ernest
    return dag


# Any size keeps to it, and any model is good enough: more runs are made only where they are asked for.
CLEAR = {"deadline_seconds": 6000, "max_error_percent": 1000}
BRANCHES: dict[str, Callable[[str], DAG]] = {
    "one_is_left": partial(sized, types=("broken", "unavailable", "good")),
    "none_is_left": partial(sized, types=("broken", "unavailable")),
    "eager": partial(sized, types=("broken",), trigger_rule="all_done"),
    "fallen_back": partial(sized, types=("unavailable",), fallback_executors=2),
    "unprepared": partial(sized, prepare="failed", fallback_executors=2),
    "not_wanted": partial(sized, types=("good", "better"), prepare="skipped", fallback_executors=2),
    "unreported": sized,
    # No model of runs that are not all alike is as exact as that.
    "inadequate": partial(
        sized,
        types=("unavailable", "good"),
        max_error_percent=1e-9,
        fallback_executors=1,
        fallback_instance_type="good",
    ),
    # Those of one job share its models, and are run in this order.
    "trained": partial(sized, job="reused"),
    "reused": partial(sized, job="reused"),
    "reused_on_its_cluster": partial(sized, job="reused", on_same_cluster=True),
    "reused_with_another": partial(sized, types=("good", "better"), job="reused"),
    "reused_by_both": partial(sized, types=("good", "better"), job="reused", fallback_executors=2),
    "reused_unless_prepared": partial(sized, job="reused", prepare="skipped"),
    "replaced": partial(sized, job="reused", application=json.__file__),
    "clear_at_once": partial(sized, bounds=IN_ROUNDS, **CLEAR),
    "clear_on_its_cluster": partial(sized, bounds=IN_ROUNDS, on_same_cluster=True, **CLEAR),
    "in_two_rounds": partial(sized, bounds=FOUR_IN_ROUNDS, **CLEAR),
    "second_round_fails": partial(sized, types=("tiring",), bounds=FOUR_IN_ROUNDS, **CLEAR),
    "first_round_fails": partial(
        sized, types=("broken",), bounds=FOUR_IN_ROUNDS, fallback_executors=2, **CLEAR
    ),
    "killed_between_rounds": partial(sized, bounds=FOUR_IN_ROUNDS, **CLEAR),
}
# Airflow reads this module anew for each task: with all of its DAGs, most of the time would go there.
if running := os.environ.get("ERNEST_BRANCH"):
    branch = BRANCHES[running](running)


def decisions(dag_id: str) -> list[DecisionRecord]:
    """Of a DAG, in favour of machines of the type "good"."""
    kept = [
        each for job in (dag_id, "reused") for each in ModelStore(STORE).newest(DecisionRecord, job, "good")
    ]
    return [each for each in kept if each.origin and each.origin.dag_id == dag_id]


if __name__ == "__main__":
    ran: dict[str, Any] = {}
    for name, build in BRANCHES.items():
        os.environ["ERNEST_BRANCH"] = name
        run = build(name).test()
        states = {task.task_id: str(task.state) for task in run.get_task_instances()}
        lines = [line.partition(": ") for line in DONE.read_text().splitlines()]
        was_done = [what for dag_id, _, what in lines if dag_id == name]
        ran[name] = {
            "state": str(run.state),
            "tasks": states,
            "done": was_done,
            "decided": [each.to_dict() for each in decisions(name)],
        }
    Path(sys.argv[1]).write_text(json.dumps(ran))
