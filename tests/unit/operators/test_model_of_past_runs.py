"""A model of past runs alone, for which no cluster was started: what it decides and learns, and its reuse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import DownstreamTasksSkipped
from airflow.sdk import DAG

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.documents.decisions import Decision, DecisionRecord
from airflow_provider_ernest.documents.models import Model, training_dollars
from airflow_provider_ernest.hooks.store_location import model_store
from airflow_provider_ernest.operators.record_run import RecordRunOperator
from airflow_provider_ernest.prediction.predict import predict_seconds
from airflow_provider_ernest.settings import EventLogs, SampledInput, SizingGoal
from airflow_provider_ernest.task_group import ErnestTaskGroup
from tests import examples
from tests.unit.operators.stated import group_arguments, spark_job

CHECKED = {
    "cores_per_machine": 2,
    "memory_megabytes_per_machine": 6000,
    "price_per_hour": 0.04,
    "master_price_per_hour": 0.1,
    "market": "spot",
}
"""What the check of the cluster has found."""


PAST = {2: (0.95,), 4: (1.05,), 6: (0.97,), 8: (1.04, 0.96), 12: (1.03,)}
"""Numbers of machines, and how each run on them differed from what such runs take."""


def seconds(executors: int) -> float:
    return 100.0 + 1200.0 / executors


class Nightly:
    """Runs of a DAG on EC2 whose past runs are enough, task by task, with what they push."""

    def __init__(self, folder: Any, context: dict[str, Any], checked: dict[str, Any]) -> None:
        (folder / "job.py").write_text("print('a job')\n")
        (folder / "input").mkdir()
        (folder / "input" / "part-0").write_text("a line\n")
        self.store, self.context, self.checked = model_store(), context, checked
        with DAG("nightly", schedule=None) as self.dag:
            ErnestTaskGroup(
                **group_arguments(
                    job=spark_job(folder / "job.py"),
                    input=SampledInput(path=str(folder / "input"), partitions=100),
                    cluster=EC2ClusterSpec(
                        machines=4, instance_type="m5.large", launch_template="workers", spot=True
                    ),
                    goal=SizingGoal(deadline_seconds=400, allowed_executors=(2, 4, 6, 8, 12)),
                    history=EventLogs("/logs"),
                )
            )

    def run(self, task: str, **fields: Any) -> Any:
        """Execute a task with its own templates, but for what it is given."""
        operator = self.dag.task_dict[f"ernest.{task}"]
        for name, value in fields.items():
            setattr(operator, name, value)
        return operator.execute(self.context)

    @property
    def pushed(self) -> dict[str, Any]:
        pushed: dict[str, Any] = self.context["ti"].pushed
        return pushed

    def find(self) -> set[str]:
        """Look for a stored model; the ids of the tasks that it makes needless."""
        try:
            self.run("find_model")
        except DownstreamTasksSkipped as skipped:
            return {*skipped.tasks}
        return set()

    def fit(self) -> Model:
        """Of past runs, where the design has found them to be enough."""
        runs = [(count, noise) for count, noises in PAST.items() for noise in noises]
        past = examples.observe(
            executors=[count for count, _ in runs],
            scale=1.0,
            seconds=[noise * seconds(count) for count, noise in runs],
            startup_seconds=10.0,
            instance_type="m5.large",
            from_history=True,
        )
        fit = self.dag.task_dict["ernest.fit_model"]
        fit.training_begins_with = ()
        fields = {
            "observations": "[]",
            "history": json.dumps({"observations": [run.to_dict() for run in past], "notes": []}),
            "design": examples.design(experiments=(), past_runs=6, reason="They tell enough.").to_dict(),
            "cluster": "null",
            "conditions": json.dumps(self.pushed["conditions"]),
            "artifact_sha256": self.pushed["artifact_sha256"],
            "machine": {name: self.rendered(value) for name, value in fit.machine.items()},
        }
        return Model.from_dict(self.run("fit_model", **fields))

    def rendered(self, template: Any) -> Any:
        """Where only the check of the cluster has pushed anything."""
        if not isinstance(template, str):
            return template

        class TaskInstance:
            def xcom_pull(_, task_ids: str, key: str) -> Any:  # noqa: N805 - `self` is the one outside
                assert task_ids == "ernest.check_cluster"
                return self.checked[key]

        return self.dag.get_template_env().from_string(template).render(ti=TaskInstance())

    def choose(self, model: Model | None) -> Decision:
        fields = {
            "model": model and model.to_dict(),
            "cluster": "null",
            "training_failure": {"m5.large": ""},
            "executor_cores": {"m5.large": None},
            **{
                name: json.dumps(self.pushed.get(key, {}))
                for name, key in (
                    ("stored_models", "models"),
                    ("input_growth", "growth"),
                    ("reuse_reasons", "reasons"),
                )
            },
        }
        return Decision.from_dict(self.run("choose_config", **fields))

    def produce(self, factor: float) -> None:
        """Production takes so many times what its decision predicts."""
        record = DecisionRecord.from_dict(self.pushed["record"])
        took = factor * record.decision.predicted_seconds
        RecordRunOperator(task_id="record", decision=record.to_dict(), seconds=took).execute(self.context)


@pytest.fixture
def nightly(tmp_path, context):
    return Nightly(tmp_path, context, dict(CHECKED))


@pytest.fixture
def first(nightly) -> Model:
    """The model of the first DAG run."""
    nightly.find()
    return nightly.fit()


def test_it_is_billed_as_the_cluster_would_be_that_was_not_started(nightly, first):
    decision = nightly.choose(first)

    assert training_dollars(first) == 0.0
    assert decision.model_id == first.id
    assert decision.price_per_hour == 0.04
    assert (decision.billing.master_price_per_hour, decision.billing.market) == (0.1, "spot")
    assert decision.cost_parts.master > 0
    assert not any("master" in each for each in decision.warnings)
    assert nightly.pushed["spark_conf"]["spark.executor.memory"] == "6000m"


def test_a_master_of_unknown_price_is_said_not_to_count(nightly):
    nightly.checked["master_price_per_hour"] = None
    nightly.find()
    decision = nightly.choose(nightly.fit())

    assert decision.cost_parts.master == 0.0
    assert "The cost of the master of m5.large is unknown and not counted." in decision.warnings


def test_the_next_dag_run_reuses_it_without_a_cluster_at_the_same_prices(nightly, first):
    before = nightly.choose(first)
    needless = {each.removeprefix("ernest.") for each in nightly.find()}

    assert {"read_history", "check_cluster", "design", "create_cluster", "fit_model"} <= needless
    again = nightly.choose(None)
    assert again.model_id == first.id
    assert (again.price_per_hour, again.billing) == (before.price_per_hour, before.billing)
    assert again.config == before.config


def test_production_corrects_it_and_the_next_dag_run_decides_by_what_it_has_learned(nightly, first):
    chosen = nightly.choose(first).config.executors
    for _ in range(4):
        nightly.produce(1.06)
    nightly.find()

    (learned,) = (Model.from_dict(each) for each in nightly.pushed["models"].values())
    assert (learned.base_model_id, len(learned.learned_from)) == (first.id, 4)
    assert [run.from_history for run in learned.observations] == [True] * 6 + [False] * 4
    assert training_dollars(learned) == 0.0, "production is no training"
    then, now = (float(predict_seconds(each, executors=chosen, scale=1.0)[0]) for each in (first, learned))
    assert now > 1.02 * then
    decision = nightly.choose(None)
    assert decision.model_id == learned.id
    assert (decision.billing.master_price_per_hour, decision.billing.market) == (0.1, "spot")
