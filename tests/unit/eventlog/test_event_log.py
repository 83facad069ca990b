"""The tables of hand-written logs: what is unusual, malformed or hostile in them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.exceptions import EventLogError
from tests.unit.eventlog.event_log_texts import (
    ended,
    environment,
    executor,
    job,
    job_end,
    line,
    stage,
    started,
    task,
    write,
)

SQL = "org.apache.spark.sql.execution.ui.SparkListener"


def test_units_are_seconds_and_bytes(tmp_path: Path):
    metrics = {
        "Executor Deserialize Time": 10,
        "Executor Run Time": 1500,
        "Executor CPU Time": 900_000_000,
        "Peak Execution Memory": 4096,
        "Result Size": 99,
        "JVM GC Time": 250,
        "Result Serialization Time": 3,
        "Disk Bytes Spilled": 7,
        "Shuffle Read Metrics": {
            "Fetch Wait Time": 40,
            "Remote Bytes Read": 2,
            "Local Bytes Read": 3,
            "Total Records Read": 4,
        },
        "Shuffle Write Metrics": {
            "Shuffle Write Time": 5_000_000,
            "Shuffle Bytes Written": 6,
        },
        "Input Metrics": {"Bytes Read": 11, "Records Read": 12},
        "Output Metrics": {"Bytes Written": 13, "Records Written": 14},
    }
    told = task(1, metrics=metrics, **{"Getting Result Time": 111_900})
    tasks = read_event_log(write(tmp_path / "app-1", started(), told)).task_columns

    expected = {
        "launched_at": 110.0,
        "finished_at": 112.0,
        "run_seconds": 1.5,
        "cpu_seconds": 0.9,
        "deserialise_seconds": 0.01,
        "result_serialisation_seconds": 0.003,
        "getting_result_seconds": 0.1,
        "garbage_collection_seconds": 0.25,
        "fetch_wait_seconds": 0.04,
        "shuffle_write_seconds": 0.005,
        "input_bytes": 11,
        "input_records": 12,
        "output_bytes": 13,
        "shuffle_remote_bytes": 2,
        "shuffle_local_bytes": 3,
        "shuffle_read_records": 4,
        "shuffle_written_bytes": 6,
        "disk_spilled_bytes": 7,
        "peak_execution_memory_bytes": 4096,
        "result_bytes": 99,
    }
    assert {name: getattr(tasks, name)[0] for name in expected} == expected


def test_python_operators_side_by_side_take_no_longer_than_their_task(tmp_path: Path):
    told = [{"Name": "time to run Python workers", "Update": "900"} for _ in range(2)]
    started_workers = {"Name": "time to start Python workers", "Update": "500"}
    log = write(
        tmp_path / "app-1",
        started(),
        task(1, metrics={"Executor Run Time": 2000}, Accumulables=[started_workers, *told]),
        task(2, metrics={"Executor Run Time": 1000}, Accumulables=told),
        task(3, metrics={"Executor Run Time": 1000}),
    )

    assert read_event_log(log).task_columns.python_seconds[:2].tolist() == [1.8, 1.0]
    assert np.isnan(read_event_log(log).task_columns.python_seconds[2])


@pytest.mark.parametrize(
    "malformed",
    [
        b"not json at all\n",
        b'{"Event":"SparkListenerTaskEnd"}\n',
        b'{"Event":"SparkListenerTaskEnd","Stage ID":"zero"}\n',
        line(task(10**30)),
        line(task(1))
        .replace(b'"10.0.0.1"', b'"\xff\xfe"')
        .replace(b'"Executor ID":"0"', b'"Executor ID":"\xff"'),
        b'{"Event":"SparkListenerJobStart","Job ID":null}\n',
        b'{"Event":"SparkListenerStageSubmitted","Stage Info":' + b"[" * 100_000 + b"\n",
        b'{"Event":"SparkListenerTaskEnd","deep":' + b'{"a":' * 100_000 + b"\n",
        b'{"Event":5}\n',
        b'{"Event":"' + SQL.encode() + b'DriverAccumUpdates","executionId":0,"accumUpdates":[1,[2]]}\n',
        b"\x00" * 1000 + b"\n",
    ],
    ids=lambda text: repr(text[:50]),
)
def test_what_is_malformed_is_counted_and_spoils_nothing(malformed: bytes, tmp_path: Path):
    query = {"Event": f"{SQL}SQLExecutionStart", "executionId": 0, "time": 105_000}
    of_the_future = {"Event": "SparkListenerOfTheFuture", "Timestamp": 1}
    told = [started(), query, of_the_future, malformed, task(7), ended()]
    log = read_event_log(write(tmp_path / "app-1", *told))

    assert (log.task_columns.task_id.tolist(), log.is_complete) == ([7], True)
    assert log.unreadable_lines == 1


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"hello\n", b"\x89PNG\r\n\x1a\n" + bytes(5000), line(task(1))),
        line(started(Timestamp=10**21)) + line(ended()),
    ],
    ids=["empty", "text", "picture", "no start", "a start that no calendar has"],
)
def test_a_file_in_which_no_application_starts_is_refused(content: bytes, tmp_path: Path):
    path = tmp_path / "app-1"
    path.write_bytes(content)

    with pytest.raises(EventLogError, match=r"app-1 is no event log of Spark.*spark\.eventLog\.enabled=true"):
        read_event_log(path)


def test_many_tasks_keep_their_order(tmp_path: Path):
    """More than fit into one part of the columns."""
    path = tmp_path / "app-1.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(line(started()))
        file.writelines(line(task(number, executor=str(number % 3))) for number in range(40_000))
        file.write(line(executor(2)))
    log = read_event_log(path)

    assert (log.task_columns.task_id == np.arange(40_000)).all()
    assert (log.task_columns.executor == np.where(np.arange(40_000) % 3 == 2, 0, -1)).all()


def test_of_two_copies_that_succeeded_the_first_counts(tmp_path: Path):
    slow, copy = task(1, until=115_000, Index=4), task(2, until=113_000, Index=4, Speculative=True)
    other_stage = task(3, stage=1, until=118_000, Index=4)
    log = read_event_log(write(tmp_path / "app-1", started(), copy, slow, other_stage, ended()))

    assert log.task_columns.succeeded.tolist() == [True, False, True]
    assert log.task_columns.speculative.tolist() == [True, False, False]


def test_a_stage_belongs_to_the_job_that_ran_it(tmp_path: Path):
    """Job 1 lists stage 0, too, but its data were there; stage 5 is run by the second job that lists it."""
    first = [job(0, 0, 1), stage(0), stage(0, completed=107_000), job_end(0)]
    others = [job(1, 0, 2, 5), job_end(1), job(2, 5, 6), stage(5)]
    log = read_event_log(write(tmp_path / "app-1", started(), *first, *others))

    assert {stage.stage_id: stage.job_id for stage in log.stages} == {0: 0, 5: 2}
    assert log.stages[0].completed_at == 107.0
    assert log.stages[1].completed_at is None


def test_properties_that_tell_of_secrets_are_dropped(tmp_path: Path):
    secret = {
        "spark.hadoop.fs.s3a.secret.key": "hidden",
        "spark.hadoop.fs.s3a.access.key": "hidden",
        "spark.hadoop.fs.azure.account.key.acme.dfs.core.windows.net": "hidden",
        "spark.hadoop.fs.azure.sas.container.acme": "hidden",
        "spark.ssl.keyStorePassword": "hidden",
        "spark.databricks.token": "hidden",
        "spark.executorEnv.AWS_SESSION_TOKEN": "hidden",
        "spark.my.credential": "hidden",
        "spark.executor.extraJavaOptions": "-Dpassword=hidden",
        "spark.jars.repositories": "https://me:hidden@there/repository",
    }
    told = {"spark.master": "spark://m:7077", "spark.task.cpus": "2", "spark.sql.shuffle.partitions": "8"}
    log = read_event_log(write(tmp_path / "app-1", started(), environment(**secret, **told)))

    assert "hidden" not in str(log.properties)
    assert told.items() <= log.properties.items()
    assert (log.master, log.task_cores) == ("spark://m:7077", 2)


def test_discretised_streams_are_told(tmp_path: Path):
    batch = job(0, 0, **{"spark.streaming.internal.batchTime": "1"})
    assert read_event_log(write(tmp_path / "app-1", started(), batch)).is_streaming
    assert not read_event_log(write(tmp_path / "app-2", started(), job(0, 0))).is_streaming


def test_whether_a_query_failed_is_told_by_its_end_or_by_its_jobs(tmp_path: Path):
    """Before Spark 3.4 the end of a query tells no error."""
    begins = [{"Event": f"{SQL}SQLExecutionStart", "executionId": each, "time": 105_000} for each in range(4)]
    errors = [{}, {}, {"errorMessage": ""}, {"errorMessage": "it broke"}]
    ends = [
        {"Event": f"{SQL}SQLExecutionEnd", "time": 110_000, "executionId": number, **error}
        for number, error in enumerate(errors)
    ]
    jobs = [job(number, **{"spark.sql.execution.id": str(number)}) for number in (1, 2)]
    jobs += [job_end(number, result="JobFailed") for number in (1, 2)]
    log = read_event_log(write(tmp_path / "app-1", started(), *begins, *jobs, *ends, ended()))

    assert [query.failed for query in log.sql_executions] == [False, True, False, True]
