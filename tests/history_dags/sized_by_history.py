"""A DAG of a user who has event logs and nothing else, ahead of the stock SparkSubmitOperator.

Run as a program, it runs the DAG three times and writes the states of its tasks and its decisions, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

from airflow_provider_ernest import ErnestTaskGroup, EventLogs, SizingGoal, SparkJob
from airflow_provider_ernest.documents.decisions import DecisionRecord
from airflow_provider_ernest.store.store import ModelStore

HOME = Path(os.environ["AIRFLOW_HOME"])
LOGS = Path(os.environ["ERNEST_TEST_LOGS"])

with DAG("sized_by_history", schedule=None) as dag:
    ernest = ErnestTaskGroup(
        job=SparkJob(name="count lines", conf={"spark.executor.memory": "512m", "spark.executor.cores": "1"}),
        history=EventLogs(str(LOGS)),
        goal=SizingGoal(deadline_seconds=600, max_executors=2),
    )
    production = SparkSubmitOperator(
        task_id="production",
        conn_id="spark_cluster",
        name="count lines",
        application=os.environ["ERNEST_TEST_APPLICATION"],
        application_args=[os.environ["ERNEST_TEST_INPUT"]],
        conf=ernest.job_conf(),
    )
    ernest >> production

if __name__ == "__main__":
    told = []
    for _ in range(3):
        run = dag.test()
        store = ModelStore(HOME / "ernest" / "store")
        decisions = store.newest(DecisionRecord, "count lines", "production")
        told.append(
            {
                "states": {task.task_id: str(task.state) for task in run.get_task_instances()},
                "decision": decisions[-1].decision.to_dict() if decisions else None,
                "logs": sorted(path.name for path in LOGS.iterdir()),
            }
        )
    Path(sys.argv[1]).write_text(json.dumps(told))
