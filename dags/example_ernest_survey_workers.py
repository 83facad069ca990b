"""Surveys all jobs each week by their event logs, which several workers read, and tells what has changed.

Each mapped task reads its share of the logs and keeps what they tell in a folder that all workers mount: a
log is read once, and next week only new ones are. The survey finds them there, profiles a few runs of each
job, and is kept in the model store, whose pages show it. Its log tells what changed since last week.

Requirements, as environment variables of Airflow's workers:

- ``SPARK_EVENT_LOGS``: the cluster's ``spark.eventLog.dir``, such as s3a://logs/spark.
- ``ERNEST_SURVEY_CACHE``: the shared folder (default: /mnt/shared/ernest).
"""

from __future__ import annotations

import os

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, task

LOGS = os.environ.get("SPARK_EVENT_LOGS", "/var/log/spark-events")
CACHE = os.environ.get("ERNEST_SURVEY_CACHE", "/mnt/shared/ernest")
SHARES = 8

with DAG(
    "example_ernest_survey_workers",
    schedule=None,  # "@weekly"
    doc_md=__doc__,
    tags=["ernest", "example"],
):
    # [START ernest]
    @task
    def read(share: int) -> int:
        from airflow_provider_ernest.history.reading import in_processes
        from airflow_provider_ernest.history.scan import LogFinder, Scan

        logs = [str(log.place) for log in LogFinder().find([LOGS])][share::SHARES]
        return sum(1 for _ in Scan(logs, reader=in_processes(1), cache=CACHE))

    survey = BashOperator(
        task_id="survey",
        bash_command='ernest survey "$LOGS" --cache "$CACHE" --price 0.192 --store',
        env={"LOGS": LOGS, "CACHE": CACHE},
        append_env=True,
    )
    read.expand(share=list(range(SHARES))) >> survey
    # [END ernest]
