"""What cannot work is refused before anything is started, with the DAG file or by the first task."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG

from airflow_provider_ernest.clusters.emr.spec import EmrJobFlow
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.setting_checks import require_sample_named
from airflow_provider_ernest.settings import (
    Billing,
    ConnectedCluster,
    DesignBounds,
    EventLogs,
    Exploration,
    ModelSettings,
    Reuse,
    SampledInput,
    SizingGoal,
    SparkJob,
)
from airflow_provider_ernest.settings.values import settings_of
from airflow_provider_ernest.task_group import ErnestTaskGroup
from tests.unit.operators.stated import group_arguments

GOAL = {"deadline_seconds": 60, "max_executors": 4, "price_per_hour": 1}
JOB = {"name": "enrich", "application": "job.py", "application_args": ["{{ sample.input }}"]}
CONNECTED = {"spark_conn_id": "lake", "executors": 4, "executor_cores": 2}
EMR = EmrJobFlow(
    job_flow_id="j-1",
    machines=4,
    instance_type="m5.xlarge",
    release_label="emr-7.5.0",
    event_log_uri="s3://logs/spark",
    cores_per_machine=4,
)


@pytest.mark.parametrize(
    ("kind", "fields", "named"),
    [
        (SizingGoal, {**GOAL, "deadline_seconds": None}, "is no goal. Give exactly one"),
        (SizingGoal, {**GOAL, "budget_dollars": 2}, r"\(60, 2\) is two goals"),
        (SizingGoal, {**GOAL, "deadline_seconds": -90}, "^deadline_seconds=-90 is not above 0"),
        *(
            (SizingGoal, {**GOAL, "confidence": confidence}, "confidence=.*")
            for confidence in (95, 1.0, 0, float("nan"), None)
        ),
        (SizingGoal, {**GOAL, "price_per_hour": {"a": 0}}, r"price_per_hour\['a'\]=0 is not above 0"),
        (
            SizingGoal,
            {**GOAL, "objective": "cheap"},
            "objective='cheap' is unknown. Use one of best_value, cheapest",
        ),
        (SizingGoal, {**GOAL, "on_failure": "retry"}, "on_failure='retry' is unknown. Use one of fail, fall"),
        (
            SizingGoal,
            {**GOAL, "on_failure": "fallback"},
            "'fallback' has no number of executors to fall back to",
        ),
        (SizingGoal, {**GOAL, "scale": "large"}, "scale='large' is not a finite number"),
        (SizingGoal, {**GOAL, "fallback_executors": 5}, "fallback_executors=5 is outside the 1 to 4"),
        (SizingGoal, {**GOAL, "allow_mixed": "yes"}, "allow_mixed=.* is neither True nor False"),
        (SizingGoal, {**GOAL, "billing": {"boot_seconds": 1}}, "billing=.* is not of type Billing"),
        (Billing, {"expected_runs": 0}, "expected_runs=0 is not a number of at least 1"),
        (Billing, {"price_per_hour": 0.0}, r"price_per_hour=0\.0 .*Give the dollars"),
        (SampledInput, {"path": "/in", "sampling": "file"}, "sampling='file' is unknown. Use one of files"),
        (SampledInput, {"path": ""}, "path='' is not a text"),
        (SparkJob, {**JOB, "application_args": "--in /data"}, "application_args=.* is not a list of strings"),
        (SparkJob, {**JOB, "application_args": ["--top", 5]}, r"application_args\[1\]=5 is not a string"),
        (SparkJob, {**JOB, "conf": ["a=b"]}, "conf=.* is not a mapping"),
        (SparkJob, {**JOB, "iterations": 20}, "iterations=20 cannot be predicted .*sample_iterations"),
        (DesignBounds, {"max_executors": 4, "cost": "euro"}, "cost='euro' is unknown"),
        (
            DesignBounds,
            {"max_executors": 4, "cost": "dollars"},
            "full_seconds_on_one_machine=None is missing",
        ),
        (DesignBounds, {"max_executors": 4, "cost_options": {"price": 1}}, "cost_options='price' is unknown"),
        (DesignBounds, {"max_executors": 4, "criterion": "best"}, "criterion='best' is unknown"),
        (DesignBounds, {"max_executors": 4, "max_scale": 10}, "max_scale=10 is more than the whole input"),
        (DesignBounds, {"max_executors": 4, "min_scale": 0.5}, "min_scale=0.5 is more than max_scale=0.1"),
        (DesignBounds, {"max_executors": 4, "budget": 1, "budget_share": 1}, "is two budgets"),
        (DesignBounds, {"max_executors": 4, "rounds": 4}, "rounds=4 is not a number of 1 to 3"),
        (DesignBounds, {"max_executors": 4, "rounds": 2, "budget": 9}, "budget=9 cannot be .* rounds=2"),
        (
            DesignBounds,
            {"max_executors": 4, "rounds": 2, "criterion": "I"},
            "criterion='I' cannot be combined",
        ),
        (ModelSettings, {"method": "best"}, "method='best' is unknown"),
        (ModelSettings, {"terms": "executors"}, "terms='executors' is not a list of strings"),
        (ModelSettings, {"extension_terms": ["scale"]}, 'extension_terms=.* cannot be .*"averaging"'),
        (Exploration, {}, "dollars_per_month=None is missing: exploration without a limit of dollars"),
        (Exploration, {"dollars_per_month": 0}, "dollars_per_month=0 is not above 0"),
        (
            Exploration,
            {"dollars_per_month": 5, "excluded_days": ["someday"]},
            "excluded_days='someday' is neither a weekday nor a date",
        ),
        (Reuse, {"max_growth": 0.5}, "max_growth=0.5 is not a number of at least 1"),
        (Reuse, {"accept_unknown_application": "perhaps"}, "'perhaps' is neither True nor False"),
        (EventLogs, {"place": "/logs", "job": "a", "job_pattern": "b"}, "is two jobs"),
        (EventLogs, {"place": "/logs", "job_pattern": "("}, "is not a regular expression"),
        (EventLogs, {"place": "/logs", "most_runs": 0}, "most_runs=0"),
        (ConnectedCluster, {**CONNECTED, "executors": "4 or 5"}, "executors='4 or 5' is not"),
        (ConnectedCluster, {**CONNECTED, "node_cores": 1}, "executor_cores=2 is more than a node grants"),
        (
            ConnectedCluster,
            {**CONNECTED, "executor_memory_megabytes": 4000, "node_memory_megabytes": 4096},
            "executor_memory_megabytes=4000 is 4400 MB with what Spark adds, more than a node grants",
        ),
        (
            ConnectedCluster,
            {**CONNECTED, "price_per_machine_hour": 1, "price_per_core_hour": 1},
            "price_per_machine_hour=1 is a price beside price_per_core_hour",
        ),
        (
            ConnectedCluster,
            {**CONNECTED, "price_per_machine_hour": 1},
            "price_per_machine_hour=1 says .* only with executors_per_machine",
        ),
        (
            ConnectedCluster,
            {**CONNECTED, "price_per_core_hour": 1},
            "price_per_core_hour=1 says .* only with price_per_gigabyte_hour",
        ),
        (
            ConnectedCluster,
            {**CONNECTED, "price_per_core_hour": 1, "price_per_gigabyte_hour": 1},
            "price_per_core_hour=1 says .* only with executor_memory_megabytes",
        ),
        (ConnectedCluster, {**CONNECTED, "web_url": "lake:8080"}, "web_url='lake:8080' is not an http"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_the_dag_file(kind: Any, fields: dict[str, Any], named: str):
    with pytest.raises(InvalidParameterError, match=named):
        kind(**fields)


@pytest.mark.parametrize(
    ("stated", "reaction"),
    [
        ({}, "fail"),
        ({"fallback_executors": 4}, "fallback"),
        ({"fallback_executors": 4, "on_failure": "fail"}, "fail"),
        ({"on_failure": "most_probable"}, "most_probable"),
        ({"fallback_executors": "{{ params.size }}", "on_failure": "fallback"}, "fallback"),
    ],
)
def test_what_happens_where_nothing_can_be_chosen(stated: dict[str, Any], reaction: str):
    assert SizingGoal(**GOAL, **stated).reaction == reaction


def test_templates_are_left_for_the_tasks():
    text = "{{ params.x }}"
    SizingGoal(deadline_seconds=text, budget_dollars=text, max_executors=text, price_per_hour={"a": text})
    SampledInput(path=text, partitions=text, sampling=text, seed=text)
    DesignBounds(
        max_executors=text, max_scale=text, cost=text, criterion=text, cost_options={"price_per_hour": text}
    )
    ModelSettings(method=text, extension_terms=["scale"])
    Exploration(dollars_per_month=text, excluded_days=text, runs_per_month=text)
    Reuse(max_age_days=text, accept_unknown_application=text)


def group(**changes: Any) -> dict[str, Any]:
    """The tasks of a group."""
    with DAG("nightly", schedule=None) as dag:
        ErnestTaskGroup(**group_arguments(**changes))
    return dict(dag.task_dict)


ON_S3 = {
    "cluster": EMR,
    "input": SampledInput(path="s3://data/in", partitions=9),
    "job": SparkJob(**{**JOB, "application": "s3://jobs/job.py"}),
}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"cluster": {"executors": 4}}, r"cluster={'executors': 4} is not of type LocalClusterSpec or EC2"),
        ({"goal": GOAL}, "goal=.* is not of type SizingGoal"),
        ({"parallel_runs": 0}, "parallel_runs=0"),
        ({"run_timeout_seconds": 0}, "run_timeout_seconds=0"),
        (
            {"bounds": DesignBounds(max_executors=8)},
            r"max_executors=8 is more than the cluster will have \(4\)",
        ),
        (
            {"job": SparkJob(name="a", application="a.py")},
            r"application_args=\[\] names no {{ sample\.input }}",
        ),
        (
            {"input": SampledInput(path="/data", partitions=9, sampling="argument")},
            r"names no {{ sample\.scale }}",
        ),
        (
            {"goal": SizingGoal(max_executors=4, budget_dollars=3, price_per_hour={"m5.large": 1})},
            r"price_per_hour={'m5\.large': 1} does not say what a machine of type local costs",
        ),
        ({"goal": SizingGoal(**{**GOAL, "max_executors": 8})}, "max_executors=8 is outside the 1 to 4"),
        (
            {
                "bounds": DesignBounds(max_executors=4, budget_share=0.05),
                "goal": SizingGoal(max_executors=4, budget_dollars=1, price_per_hour=1),
            },
            'budget_share=0.05 has no meaning with cost="relative_time"',
        ),
        ({**ON_S3, "job": SparkJob(**JOB)}, "application='job.py' is a local path"),
        ({**ON_S3, "input": SampledInput(path="/data", partitions=9)}, "path='/data' is a local path"),
        (
            {**ON_S3, "job": replace(ON_S3["job"], submit_options={"verbose": True})},
            "submit_options='verbose' is not known to a step of EMR",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused_with_the_dag_file(changes: dict[str, Any], named: str):
    with pytest.raises(InvalidParameterError, match=named):
        group(**changes)


def test_addresses_with_one_slash_as_hadoop_takes_them_are_not_local():
    on_hdfs = {
        "job": SparkJob(
            **{**JOB, "application": "hdfs:/jobs/job.py"}, submit_options={"jars": "hdfs:/lib/a.jar"}
        ),
        "input": SampledInput(path="hdfs:/data", partitions=9),
    }
    assert group(**{**ON_S3, **on_hdfs})


@pytest.mark.parametrize(
    ("arguments", "sampling", "reads_all"),
    [
        (["--in={{sample['input']}}"], "files", False),
        (["{% for x in sample.input.split() %}{{ x }}{% endfor %}"], "first_rows", False),
        (["{{ sample | tojson }}"], "argument", False),
        (["{{ sample.partitions }}"], "argument", False),
        (["/data"], "files", True),
        (["/data"], "{{ params.sampling }}", False),
    ],
)
def test_arguments_that_read_no_more_than_the_sample(arguments: list[str], sampling: str, reads_all: bool):
    require_sample_named(arguments, sampling, reads_all=reads_all)


X = "{{ params.x }}"


def goal(**changes: Any) -> dict[str, Any]:
    return {"goal": SizingGoal(**{**GOAL, **changes})}


@pytest.mark.parametrize(
    ("changes", "rendered", "named"),
    [
        (goal(confidence=X), "95", "confidence=.* is not between 0 and 1"),
        (goal(deadline_seconds=X), "-9", ": deadline_seconds='-9' is not above 0"),
        (goal(deadline_seconds=X), "", "is no goal"),
        ({"input": SampledInput(path="/in", partitions=9, sampling=X)}, "file", "sampling='file' is unknown"),
        ({"bounds": DesignBounds(max_executors=X)}, "8", "max_executors=8 is more than the cluster"),
        ({"job": SparkJob(**JOB, submit_options={"verbos": True})}, "", "submit_options='verbos'"),
    ],
)
def test_what_only_a_task_can_see_fails_the_first_one(changes: dict[str, Any], rendered: str, named: str):
    """It comes ahead of the check and the start of any cluster."""
    find = group(**changes)["ernest.find_model"]
    assert find.upstream_task_ids == set()
    find.render_template_fields({"params": {"x": rendered}})

    with pytest.raises(AirflowFailException, match=named):
        find.execute({"ti": Mock()})


def test_event_logs_may_be_named_by_their_place_alone():
    assert EventLogs("s3a://bucket/logs") == EventLogs(place="s3a://bucket/logs")


@pytest.mark.parametrize(
    ("prices", "dollars"),
    [
        ({}, None),
        ({"price_per_hour": 0.25}, 0.25),
        ({"price_per_machine_hour": 0.6, "executors_per_machine": 3}, 0.2),
        ({"price_per_core_hour": 0.04, "price_per_gigabyte_hour": 0.005}, 2 * 0.04 + 4.4 * 0.005),
        ({"price_per_hour": "{{ params.price }}"}, "{{ params.price }}"),
        ({"price_per_machine_hour": "{{ params.price }}", "executors_per_machine": 3}, None),
    ],
)
def test_an_executor_costs_what_a_price_of_any_kind_says(prices: dict[str, Any], dollars: Any):
    cluster = ConnectedCluster(**CONNECTED, executor_memory_megabytes=4096, **prices)
    expected = pytest.approx(dollars, rel=1e-3) if isinstance(dollars, float) else dollars
    assert cluster.executor_price_per_hour == expected
    assert cluster.has_price == bool(prices)


def test_a_cluster_and_bounds_are_stated_by_the_names_of_earlier_versions_too():
    assert ConnectedCluster(spark_conn_id="lake", machines=4, cores_per_machine=2) == ConnectedCluster(
        spark_conn_id="lake", executors=4, executor_cores=2
    )
    assert SizingGoal(deadline_seconds=60, max_machines=4) == SizingGoal(deadline_seconds=60, max_executors=4)
    assert settings_of(DesignBounds, {"max_machines": 4}, "bounds") == DesignBounds(max_executors=4)
