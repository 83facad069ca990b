"""DAGs whose production is a stock operator, recorded by a `RecordRunOperator` behind it.

Run as a program, it runs them all and writes the states of their tasks and what the store holds of each, as
JSON. The decisions are stated, not made: each DAG is a job of its own.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, BaseOperator

from airflow_provider_ernest.documents.decisions import Configuration, Decision, DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model, ModelMark
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.operators.record_run import RecordRunOperator
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.store.store import ModelStore

HOME = Path(os.environ["AIRFLOW_HOME"])
TOLD = HOME / "told"
APPLICATION = HOME / "job.py"


def told(context: Any) -> None:
    """As a user's callback: notes which model went stale, and why."""
    with TOLD.open("a") as file:
        mark = context["ernest_mark"]
        file.write(f"{mark.job}: {mark.cause}: {context['ti'].task_id}\n")


class Skipped(BaseOperator):
    def execute(self, context: Any) -> None:
        raise AirflowSkipException()


def a_decision(job: str, model_id: str | None = None, *, seconds: float = 3.0) -> dict[str, Any]:
    """4 machines, of which so many seconds are expected."""
    decision = Decision(
        config=Configuration(executors=4),
        goal="cheapest",
        predicted_seconds=seconds,
        likely_seconds=(0.5 * seconds, 2 * seconds),
        nearly_certain_seconds=(0.2 * seconds, 5 * seconds),
        startup_seconds=0.0,
        model_id=model_id,
    )
    return DecisionRecord(
        id=f"decision-{job}",
        at="2026-01-01T00:00:00+00:00",
        job=job,
        instance_type="local",
        decision=decision,
        scale=1.0,
        min_executors=1,
        max_executors=8,
        model_id=model_id,
    ).to_dict()


def recorded(
    dag_id: str, *, trigger_rule: str = "all_success", decision: Any = None, **given: Any
) -> tuple[DAG, RecordRunOperator]:
    with DAG(dag_id, schedule=None) as dag:
        record = RecordRunOperator(
            task_id="record_run",
            decision=decision or a_decision(dag_id),
            **{"production_task_id": "production", "application": str(APPLICATION), **given},
            on_stale=told,
            trigger_rule=trigger_rule,
        )
    return dag, record


by_duration, record = recorded("by_duration")
with by_duration:
    BashOperator(task_id="production", bash_command="sleep 2") >> record

stated, record = recorded("stated", seconds="{{ ti.xcom_pull(task_ids='production') }}", executors="3")
with stated:
    BashOperator(task_id="production", bash_command="echo 123.5") >> record

mapped, record = recorded("mapped")
with mapped:
    BashOperator.partial(task_id="production").expand(bash_command=["true", "true"]) >> record

skipped, record = recorded("skipped", trigger_rule="all_done")
with skipped:
    Skipped(task_id="production") >> record

failed, record = recorded("failed", trigger_rule="all_done")
with failed:
    BashOperator(task_id="production", bash_command="exit 1") >> record

unknown, record = recorded("unknown", production_task_id="production_elsewhere")
with unknown:
    BashOperator(task_id="production", bash_command="true") >> record

MODEL_FILE = HOME / "model_id"
MODEL_ID = MODEL_FILE.read_text() if MODEL_FILE.exists() else None

learning, record = recorded(
    "learning", decision=a_decision("learning", MODEL_ID, seconds=60.0), seconds="{{ params.seconds }}"
)
learning.params = {"seconds": 63.0}
with learning:
    BashOperator(task_id="production", bash_command="true") >> record


def a_model() -> str:
    """A model of the job that learns, in the store; its id."""
    grid = [(1, 0.05), (1, 0.1), (2, 0.05), (2, 0.1), (4, 0.1), (3, 0.08)]
    model = train(
        [
            Observation(index=index, executors=executors, scale=scale, seconds=10 + 200 * scale / executors)
            for index, (executors, scale) in enumerate(grid)
        ],
        job="learning",
    )
    ModelStore(HOME / "ernest" / "store").save(model)
    return model.id


def ran(dag: DAG, **run: Any) -> dict[str, Any]:
    """What came of a run of a DAG."""
    done = dag.test(**run)
    store = ModelStore(HOME / "ernest" / "store")
    runs: list[ProductionRun] = store.newest(ProductionRun, dag.dag_id, "local")
    return {
        "state": str(done.state),
        "tasks": {task.task_id: str(task.state) for task in done.get_task_instances()},
        "runs": [each.to_dict() for each in runs],
        "models": [model.to_dict() for model in store.newest(Model, dag.dag_id, "local")],
        "marks": [mark.to_dict() for mark in store.newest(ModelMark, dag.dag_id, "local")],
    }


if __name__ == "__main__":
    APPLICATION.write_text("abc")
    answer = {dag.dag_id: ran(dag) for dag in (by_duration, stated, mapped, skipped, failed, unknown)}
    MODEL_FILE.write_text(a_model())
    # Airflow reads the DAG anew; so does this program, to put the model's id into the decision.
    learning.get_task("record_run").decision = a_decision("learning", MODEL_FILE.read_text(), seconds=60.0)
    answer["learned"] = ran(learning)
    for _ in range(4):
        answer["drifted"] = ran(learning, run_conf={"seconds": 900.0})
    answer["told"] = TOLD.read_text().splitlines() if TOLD.exists() else []
    Path(sys.argv[1]).write_text(json.dumps(answer))
