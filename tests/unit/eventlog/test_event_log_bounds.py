"""Logs that were made to take much memory or time: what is kept of them is bounded, and that is told."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cramjam
import pytest
import zstandard

from airflow_provider_ernest.eventlog import files
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.eventlog.run_facts import read_run, run_metrics, run_seconds
from airflow_provider_ernest.eventlog.tables import EventLog
from airflow_provider_ernest.exceptions import EventLogError
from tests.unit.eventlog.event_log_texts import (
    REAL,
    block,
    ended,
    environment,
    executor,
    job,
    line,
    manager,
    stage,
    started,
    task,
    write,
)

SQL = "org.apache.spark.sql.execution.ui.SparkListener"
MEBIBYTE = 1 << 20
LONG = "\N{GRINNING FACE}" + "x" * 1000
"""A character of four bytes makes all of its text as wide."""


def read_within(path: Path, most_bytes: int) -> EventLog:
    read_event_log(REAL / "spark-4.0.1.zstd")  # what is imported for the first log is of no other
    tracemalloc.start()
    try:
        log = read_event_log(path)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < most_bytes, f"{peak_bytes / MEBIBYTE:.0f} MiB"
    return log


def query(kind: str, number: int, **fields: Any) -> dict[str, Any]:
    return {"Event": f"{SQL}{kind}", "executionId": number, "time": 105_000, **fields}


def plan(number: int) -> dict[str, Any]:
    metrics = [{"name": "time to build", "accumulatorId": number * 200 + each} for each in range(200)]
    return {"nodeName": "BroadcastExchange", "children": [], "metrics": metrics}


CACHED = block("rdd_4_0")

ENDLESS = {
    "jobs": lambda n: job(n),
    "stage ids of jobs": lambda n: job(0, *range(n * 1000, n * 1000 + 1000)),
    "the same stage ids": lambda n: job(n, *range(1000)),
    "stages": lambda n: stage(n, **{"Stage Name": LONG}),
    "parents of stages": lambda n: stage(n, **{"Parent IDs": list(range(1000, 2000))}),
    "scopes of stages": lambda n: stage(
        n, **{"RDD Info": [{"RDD ID": 0, "Name": f"{n} {each} {'x' * 500}"} for each in range(100)]}
    ),
    "executors": lambda n: executor(f"{n} {LONG}", host=LONG),
    "executors of tasks": lambda n: task(n, executor=f"{n} {LONG}"),
    "executors of blocks": lambda n: manager(f"{n} {LONG}"),
    "cached blocks": lambda n: block(f"rdd_4_{n}"),
    "cached data sets": lambda n: {
        **stage(0, completed=1),
        "Stage Info": {
            **stage(0, completed=1)["Stage Info"],
            "RDD Info": [
                {"RDD ID": n * 100 + each, "Storage Level": {"Use Memory": True}, "Number of Partitions": 1}
                for each in range(100)
            ],
        },
    },
    "queries": lambda n: query("SQLExecutionStart", n),
    "metrics of queries": lambda n: query("SQLExecutionStart", 0, sparkPlanInfo=plan(n)),
    "updates of queries": lambda n: query(
        "DriverAccumUpdates", 0, accumUpdates=[[n * 500 + each, 1] for each in range(500)]
    ),
    "properties": lambda n: environment(**{f"spark.{n}": LONG}),
}


@pytest.mark.parametrize("endless", ENDLESS)
def test_what_is_kept_of_a_log_is_bounded(endless: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A thousand lines take a small bound as many more would take the real one."""
    monkeypatch.setattr(files, "MOST_KEPT_BYTES", MEBIBYTE // 4)
    make, begins = ENDLESS[endless], [started(), query("SQLExecutionStart", 0)]
    path = write(tmp_path / "app-1", *begins, *map(make, range(1, 1000)), ended())

    log = read_within(path, 3 * MEBIBYTE)

    assert log.is_complete
    assert any("the rest was skipped" in warning for warning in log.warnings)
    assert log.unreadable_lines > 0


@pytest.mark.parametrize(
    "values",
    [
        b'{"Event":"SparkListenerJobStart","Job ID":1,"Stage IDs":[' + b"1000," * 400_000 + b"0]}\n",
        b'{"Event":"SparkListenerStageSubmitted","Stage Info":{"Stage ID":0,"RDD Info":['
        + b"{}," * 400_000
        + b"{}]}}\n",
        b'{"Event":"' + SQL.encode() + b'SQLExecutionStart","executionId":0,"time":1,"sparkPlanInfo":'
        b'{"children":[' + b"{}," * 400_000 + b"{}]}}\n",
    ],
    ids=["stage ids", "data sets", "nodes of a plan"],
)
def test_a_line_of_very_many_values_is_skipped(values: bytes, tmp_path: Path):
    """Decoded, it would take up to seventy times its length."""
    log = read_within(write(tmp_path / "app-1", started(), values, task(1), ended()), 16 * MEBIBYTE)

    assert (len(log.task_columns), log.jobs, log.stages, log.sql_executions) == (1, (), (), ())
    assert any("too long" in warning for warning in log.warnings)


def test_a_block_of_very_many_lines_is_taken_in_pieces(tmp_path: Path):
    """A few megabytes of Snappy were millions of lines at once."""
    text = line(started()) + b"no one\n" * 500_000 + line(ended())
    packed = bytes(cramjam.snappy.compress_raw(text))
    path = tmp_path / "app-1.snappy"
    header = b"\x82SNAPPY\x00" + bytes(8)
    path.write_bytes(header + len(packed).to_bytes(4, "big") + packed)

    log = read_within(path, 12 * MEBIBYTE)

    assert (log.is_complete, log.unreadable_lines) == (True, 500_000)


def test_blocks_larger_than_any_of_sparks_are_refused(tmp_path: Path):
    packed = bytes(cramjam.snappy.compress_raw(bytes(64 * MEBIBYTE)))
    path = tmp_path / "app-1.snappy"
    path.write_bytes(b"\x82SNAPPY\x00" + bytes(8) + len(packed).to_bytes(4, "big") + packed)

    with pytest.raises(EventLogError, match="no application starts in it"):
        read_within(path, 20 * MEBIBYTE)


def test_a_file_that_unpacks_to_very_much_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(files, "ALWAYS_UNPACKED_BYTES", 4 * MEBIBYTE)
    text = line(started()) + bytes(64 * MEBIBYTE) + b"\n" + line(task(1))
    path = tmp_path / "app-1.zstd"
    path.write_bytes(zstandard.ZstdCompressor().compress(text))

    log = read_event_log(path)

    assert len(log.task_columns) == 0
    assert any("unpacks to more than 2,000 times its length" in warning for warning in log.warnings)


def test_a_bomb_takes_little_memory(tmp_path: Path):
    """A hundred kilobytes that hold 120 MB without an end of line, and then more of the log."""
    bomb = tmp_path / "app-1.gz"
    with gzip.open(bomb, "wb") as packer:
        packer.write(line(started()))
        for _ in range(30):
            packer.write(b"x" * (4 * MEBIBYTE))
        packer.write(b"\n" + line(task(1)) + line(ended()))

    log = read_within(bomb, 40 * MEBIBYTE)

    assert (len(log.task_columns), log.is_complete) == (1, True)
    assert any("too long" in warning for warning in log.warnings)


def test_very_many_members_of_gzip_are_not_copied_for_each(tmp_path: Path):
    empty = gzip.compress(b"", mtime=0)
    path = tmp_path / "app-1.gz"
    path.write_bytes(empty * 20_000 + gzip.compress(line(started()) + line(ended())) + empty * 3)

    assert read_within(path, 8 * MEBIBYTE).is_complete


@pytest.mark.parametrize(
    "tasks",
    [list(map(task, range(6))), [task(1, reason="Resubmitted")] * 6],
    ids=["apart", "told again"],
)
def test_more_lines_of_tasks_than_allowed_are_refused(tasks, tmp_path: Path):
    path = write(tmp_path / "app-1", started(), *tasks, ended())

    assert read_event_log(path, most_tasks=6).is_complete
    with pytest.raises(EventLogError, match="more than 5 tasks"):
        read_event_log(path, most_tasks=5)


def test_other_applications_are_told_of_so_many_times(tmp_path: Path):
    others = [started(**{"App ID": f"app-{number} {LONG}"}) for number in range(200)]
    log = read_within(write(tmp_path / "app-1", started(), *others), 8 * MEBIBYTE)

    assert log.application_id == "app-1"
    assert 1 < len([each for each in log.warnings if "app-" in each]) <= len(log.warnings) < 110
    assert max(map(len, log.warnings)) < 700


HUGE = 10**21
NUMBERS = {
    "start": started(Timestamp=HUGE),
    "end": ended(HUGE),
    "log": {"Event": "SparkListenerLogStart", "Spark Version": HUGE},
    "executor": executor(9, at=HUGE),
    "cores": executor(9, cores=HUGE),
    "many cores": executor(9, cores=2**40),
    "removal": {"Event": "SparkListenerExecutorRemoved", "Timestamp": HUGE, "Executor ID": "0"},
    "job": job(0, at=HUGE),
    "job id": job(HUGE),
    "stage ids": job(0, HUGE),
    "execution": job(0, **{"spark.sql.execution.id": "9" * 5000}),
    "stage": stage(0, completed=HUGE),
    "stage's tasks": stage(0, **{"Number of Tasks": HUGE}),
    "attempt": stage(0, attempt=HUGE),
    "partitions": stage(0, completed=106_001, **{"RDD Info": [{"RDD ID": HUGE}]}),
    "launch": task(9, at=HUGE),
    "finish": task(9, until=HUGE),
    "index": task(9, Index=HUGE),
    "run": task(9, metrics={"Executor Run Time": HUGE}),
    "bytes": task(9, metrics={"Input Metrics": {"Bytes Read": HUGE}}),
    "accumulable": task(9, Accumulables=[{"Name": "time to run Python workers", "Update": "9" * 5000}]),
    "update": query("DriverAccumUpdates", 0, accumUpdates=[[1, HUGE]]),
    "query": query("SQLExecutionStart", 7, time=HUGE),
    "query's end": query("SQLExecutionEnd", 0, time=HUGE),
    "block": {**CACHED, "Block Updated Info": {**CACHED["Block Updated Info"], "Memory Size": HUGE}},
    "memory": {**manager(LONG), "Maximum Memory": HUGE},
    "cpus": environment(**{"spark.task.cpus": "9" * 5000}),
}


@pytest.mark.parametrize("odd", NUMBERS)
@pytest.mark.parametrize(
    "huge", ["1000000000000000000000", "1e400", "1" + "0" * 400, "-1000000000000000000000"]
)
def test_numbers_that_no_spark_writes_spoil_nothing_else(odd: str, huge: str, tmp_path: Path):
    whole = [started(), query("SQLExecutionStart", 0), executor(0), job(1, 1), task(1)]
    text = json.dumps(NUMBERS[odd], separators=(",", ":")).replace(str(HUGE), huge)
    path = write(tmp_path / "app-1", *whole, text.encode() + b"\n", ended())

    log, run = read_event_log(path), read_run(path)

    assert (log.started_at, log.ended_at) == (100.0, 160.0)
    assert (log.slots, run_seconds(run, 1)) == (2, 59.0)
    assert 1 in log.task_columns.task_id
    assert run_metrics(run).to_dict()
    assert json.dumps([job.job_id for job in log.jobs])


def odd_lines() -> Iterator[bytes]:
    """Without any of an event's fields, and with each of another type."""
    for event in (started(), ended(), executor(0), job(0), stage(0), task(0), CACHED, manager(LONG), plan(0)):
        for name in event:
            for value in (None, [], {}, "x", 1.5, True):
                yield line({**event, name: value})


def test_fields_of_another_type_spoil_nothing(tmp_path: Path):
    odd = [each for each in odd_lines() if b"ApplicationEnd" not in each]
    log = read_event_log(write(tmp_path / "app-1", started(), executor(0), *odd, ended()))

    assert (log.application_id, log.is_complete) == ("app-1", True)
