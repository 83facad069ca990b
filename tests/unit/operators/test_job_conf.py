"""The properties of the job and those decided on, put together when production runs."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG
from airflow.sdk.execution_time import task_runner

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.choose_config import submission_warnings
from airflow_provider_ernest.operators.spark_submit import ErnestSparkSubmitOperator
from airflow_provider_ernest.operators.task_context import owner_of
from airflow_provider_ernest.spark.sizing import TASK_PROPERTY
from airflow_provider_ernest.task_group import ErnestTaskGroup
from tests.airflow_versions import MASKS_RENDERED_VALUES, DagSerialization
from tests.unit.operators.stated import group_arguments, spark_job

SECRET = "s3cr3t-of-the-lake"
CONF = {
    "spark.sql.shuffle.partitions": "{{ params.partitions }}",
    "spark.cores.max": "99",
    "spark.hadoop.fs.azure.account.key.lake": SECRET,
}
DECIDED = {"spark.cores.max": "12", "spark.executor.cores": "4"}


def dag_of(make: Any, **submitted: Any) -> DAG:
    """The group, and a task of the stock operator's kind that takes its conf as `make` says."""
    with DAG("nightly", schedule=None) as dag:
        ernest = ErnestTaskGroup(**group_arguments(job=spark_job(conf=CONF)))
        kind = submitted.pop("kind", SparkSubmitOperator)
        kind(task_id="production", conf=make(ernest), **submitted)
    return dag


class TaskInstance:
    """Of a run in which this was decided."""

    dag_id = "nightly"
    run_id = "run"
    task_id = "production"
    try_number = 1

    def __init__(self, decided: dict[str, Any]) -> None:
        self._decided = decided

    def xcom_pull(self, *, task_ids: str, key: str, default: Any = None, **_: Any) -> Any:
        assert task_ids == "ernest.choose_config"
        return self._decided.get(key, default)


def rendered(dag: DAG, decided: dict[str, Any]) -> Any:
    task = dag.get_task("production")
    task.render_template_fields({"ti": TaskInstance(decided), "params": {"partitions": 64}})
    return task


def test_in_a_dag_that_renders_to_objects_what_spark_is_given_stays_text():
    conf = {
        "spark.mine": "1.10",
        "spark.fraction": 0.6,
        "spark.yours": "{{ '0x10' }}",
        "spark.shuffle.compress": True,
    }
    with DAG("nightly", schedule=None, render_template_as_native_obj=True) as dag:
        ernest = ErnestTaskGroup(**group_arguments(job=spark_job(conf=conf)))
        ErnestSparkSubmitOperator(
            task_id="production", conf=ernest.job_conf(), application_args=['{"a": 1}', "{{ '1.10' }}"]
        )
    task = rendered(dag, {"spark_conf": DECIDED})

    assert task.application_args == ['{"a": 1}', "1.10"]
    # Livy takes neither fractions nor truth values.
    assert task.conf == {
        "spark.mine": "1.10",
        "spark.fraction": "0.6",
        "spark.yours": "0x10",
        "spark.shuffle.compress": "true",
        **DECIDED,
        TASK_PROPERTY: owner_of({"ti": TaskInstance({})}),
    }


def test_arguments_that_are_one_template_become_a_list_there():
    with DAG("nightly", schedule=None, render_template_as_native_obj=True) as dag:
        ErnestSparkSubmitOperator(task_id="production", application_args="{{ params.partitions }}")
    assert rendered(dag, {}).application_args == 64


@pytest.mark.parametrize("kind", [SparkSubmitOperator, ErnestSparkSubmitOperator])
@pytest.mark.parametrize("key", ["spark_conf", "yarn_conf", "kubernetes_conf"])
def test_production_gets_the_jobs_own_properties_and_over_them_the_size(kind, key):
    dag = dag_of(lambda ernest: ernest.job_conf(key), kind=kind)

    assert dag.get_task("production").upstream_task_ids == {"ernest.choose_config"}
    assert rendered(dag, {key: DECIDED}).conf == {
        **DECIDED,
        "spark.sql.shuffle.partitions": "64",
        "spark.hadoop.fs.azure.account.key.lake": SECRET,
        TASK_PROPERTY: owner_of({"ti": TaskInstance({})}),
    }


def test_mapped_production_gets_them_too():
    with dag_of(lambda ernest: ernest.job_conf()) as dag:
        SparkSubmitOperator.partial(
            task_id="each_region", application="job.py", conf=dag.get_task("production").conf
        ).expand(application_args=[["north"], ["south"]])

    DagSerialization.from_dict(DagSerialization.to_dict(dag))

    assert dag.get_task("each_region").upstream_task_ids == {"ernest.choose_config"}
    given = dag.get_task("each_region").partial_kwargs["conf"]
    assert SECRET not in f"{given} {given!r}"
    context = {"ti": TaskInstance({"spark_conf": DECIDED}), "params": {"partitions": 64}}
    assert given.resolve(context)["spark.sql.shuffle.partitions"] == "64"


@pytest.mark.parametrize(
    "make", [lambda ernest: ernest.job_conf(), lambda ernest: ernest.config["spark_conf"]]
)
def test_without_a_decision_nothing_is_submitted(make):
    with pytest.raises(Exception, match=r"spark_conf.* is not found"):
        rendered(dag_of(make), {})


def test_what_are_no_spark_properties_is_refused_when_the_dag_is_parsed():
    with pytest.raises(InvalidParameterError, match="key='glue' does not hold Spark properties"):
        dag_of(lambda ernest: ernest.job_conf("glue"))


def test_what_looks_like_a_secret_is_in_nothing_that_airflow_keeps_of_these_tasks():
    dag = dag_of(lambda ernest: ernest.job_conf())

    for name in ("production", "ernest.choose_config"):
        task = dag.get_task(name)
        kept = {field: str(getattr(task, field)) for field in task.template_fields}
        assert SECRET not in json.dumps(kept), "the DAG as Airflow serialises it"
    shown = task_runner._serialize_rendered_fields(rendered(dag, {"spark_conf": DECIDED}))
    assert SECRET not in json.dumps(shown) or not MASKS_RENDERED_VALUES, "the page of rendered templates"
    assert shown["conf"]["spark.sql.shuffle.partitions"] == "64"


@pytest.mark.parametrize(
    ("make", "submitted", "expected"),
    [
        (lambda ernest: ernest.job_conf("yarn_conf"), {}, []),
        (
            lambda ernest: ernest.job_conf("yarn_conf"),
            {"num_executors": 10, "executor_memory": "9g"},
            ["production keeps num_executors=10 and executor_memory='9g', which spark-submit prefers"],
        ),
        (lambda ernest: {"spark.ui.enabled": "false"}, {"num_executors": 10}, []),
        (lambda ernest: None, {"num_executors": 10}, []),
    ],
)
def test_production_that_would_not_run_as_decided_is_warned_of(make, submitted, expected):
    dag = dag_of(make, **submitted)
    warnings = submission_warnings(dag.tasks, choose="ernest.choose_config")

    assert len(warnings) == len(expected)
    for warning, pattern in zip(warnings, expected, strict=True):
        assert re.search(pattern, warning)
    assert SECRET not in str(warnings)
