from __future__ import annotations

import json

import pytest

from airflow_provider_ernest import run_profile
from airflow_provider_ernest.clarity.profile import category_of
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.eventlog.tables import SqlExecutionRow
from tests.unit.eventlog.logs import START, event_log, job, stage, task

QUERY = SqlExecutionRow(execution_id=0, started_at=START)


def run(*stages, queried=(), **parts):
    """A run of a stage for each (library, seconds); `queried` are places of those that a query asked for."""
    return event_log(
        [task(number, seconds=seconds) for number, (_, seconds) in enumerate(stages)],
        stages=[
            stage(number, completed=seconds, library=library, job_id=number)
            for number, (library, seconds) in enumerate(stages)
        ],
        jobs=[
            job(number, stages=[number], sql_execution_id=0 if number in queried else None)
            for number in range(len(stages))
        ],
        sql_executions=[QUERY] if queried else [],
        **parts,
    )


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("ml", run_profile.MLLIB),
        ("mllib", run_profile.MLLIB),
        ("graphx", run_profile.GRAPHX),
        ("streaming", run_profile.STREAMING),
        ("", run_profile.CORE),
    ],
)
def test_the_library_that_asked_for_the_stages_tells(library, expected):
    assert category_of(run((library, 1.0))) == expected


def test_what_queries_asked_for_is_sql():
    assert category_of(run(("", 9.0), ("", 1.0), queried=[0])) == run_profile.SQL


def test_a_job_of_rdds_with_a_small_query_is_core():
    assert category_of(run(("", 1.0), ("", 9.0), queried=[0])) == run_profile.CORE


def test_learning_is_what_a_job_is_about_though_queries_read_its_data():
    assert category_of(run(("", 7.0), ("ml", 3.0), queried=[0])) == run_profile.MLLIB


def test_a_little_scaling_of_columns_makes_no_job_of_learning():
    assert category_of(run(("", 9.5), ("ml", 0.5), queried=[0])) == run_profile.SQL


def test_streams_are_known_by_their_batches():
    assert category_of(run(("ml", 9.0), is_streaming=True)) == run_profile.STREAMING


def test_an_application_without_tasks():
    assert category_of(event_log([], jobs=[])) == run_profile.CORE
    assert category_of(event_log([], jobs=[], sql_executions=[QUERY])) == run_profile.SQL


def logged_stage(call_site, **info):
    """A log of one stage, as Spark writes it; the reader gives its row."""
    return [
        {"Event": "SparkListenerApplicationStart", "App ID": "app-1", "Timestamp": 1_700_000_000_000},
        {
            "Event": "SparkListenerStageCompleted",
            "Stage Info": {
                "Stage ID": 0,
                "Stage Attempt ID": 0,
                "Stage Name": "treeAggregate at RDDLossFunction.scala:61",
                "Number of Tasks": 1,
                "RDD Info": [{"RDD ID": 1, "Name": "PythonRDD"}, {"RDD ID": 0, "Scope": '{"name":"map"}'}],
                "Parent IDs": [],
                "Details": call_site,
                "Submission Time": 1_700_000_000_000,
                "Completion Time": 1_700_000_001_000,
                **info,
            },
        },
    ]


@pytest.mark.parametrize(
    ("call_site", "library"),
    [
        (
            "org.apache.spark.rdd.RDD.treeAggregate(RDD.scala:1280)\n"
            "org.apache.spark.ml.optim.loss.RDDLossFunction.calculate(RDDLossFunction.scala:61)\n"
            "org.apache.spark.ml.classification.LogisticRegression.train(LogisticRegression.scala:522)",
            "ml",
        ),
        (
            "org.apache.spark.graphx.impl.GraphImpl.mapReduceTriplets(GraphImpl.scala:208)\nme.Job.main(J.scala:1)",
            "graphx",
        ),
        (
            "org.apache.spark.sql.execution.SQLExecution$.run(SQLExecution.scala:401)\nme.ml.Job.main(J.scala:1)",
            "",
        ),
        ("", ""),
    ],
)
def test_the_stack_trace_of_a_stage_tells_its_library(tmp_path, call_site, library):
    path = tmp_path / "app-1"
    path.write_text("\n".join(map(json.dumps, logged_stage(call_site))) + "\n")

    read = read_event_log(path).stages[0]

    assert read.library == library
    assert set(read.scopes) == {"PythonRDD", "map"}
