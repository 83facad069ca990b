"""Surveys all Spark jobs each week, by their event logs, and tells what has changed since the week before.

Savings found, savings that a change of size has made (as measured by the runs since), jobs that take longer,
and jobs that will be late soon. The pages of Ernest show the survey. A notifier of your own, such as that of
Slack, goes into ``on_change`` with ``{{ ernest_change.job }}: {{ ernest_change.sentence }}`` as its text.

Requirements: environment variables of Airflow:

- ``SPARK_EVENT_LOGS``: the folder of the event logs, such as s3a://logs/spark or hdfs:///spark-logs.
"""

from __future__ import annotations

import os

from airflow.sdk import DAG, Param

from airflow_provider_ernest import EventLogs, SurveyOperator

with DAG(
    "example_ernest_survey",
    schedule="@weekly",
    catchup=False,
    doc_md=__doc__,
    tags=["ernest", "example"],
    params={"price_per_hour": Param(0.2, type="number", description="Dollars for one executor and hour.")},
):
    # [START ernest]
    SurveyOperator(
        task_id="survey",
        history=EventLogs(os.environ.get("SPARK_EVENT_LOGS", "hdfs:///spark-logs")),
        price_per_hour="{{ params.price_per_hour }}",
    )
    # [END ernest]
