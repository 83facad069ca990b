"""The tables of what real Spark wrote, of versions 3.3 to 4.3 and by each codec: see event_logs/README.md."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from airflow_provider_ernest.eventlog.files import open_lines
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.eventlog.tables import EventLog
from airflow_provider_ernest.exceptions import EventLogError
from tests.unit.eventlog.event_log_texts import REAL, real_text

ROLLED = next(REAL.glob("eventlog_v2_*"))
LOGS = {
    "3.3.4": REAL / "spark-3.3.4.lz4",
    "3.4.4": REAL / "spark-3.4.4.snappy",
    "3.5.5": REAL / "spark-3.5.5.zstd",
    "4.0.1": REAL / "spark-4.0.1.zstd",
    "4.2.0": ROLLED,
    "4.3.0": REAL / "spark-4.3.0.zstd",
}
CODECS = ("gz", "lz4", "snappy", "zstd")


@pytest.fixture(params=LOGS)
def log(request: pytest.FixtureRequest) -> EventLog:
    return read_event_log(LOGS[request.param])


def test_every_supported_version_is_read_whole(log: EventLog):
    assert log.spark in LOGS
    assert re.fullmatch(r"app-\d{14}-0000", log.application_id)
    assert (log.is_complete, log.warnings, log.unreadable_lines) == (True, (), 0)
    assert log.master == "local-cluster[2,1,1024]"
    assert log.started_at < log.ready_at < log.task_columns.launched_at.min()
    assert log.task_columns.finished_at.max() <= log.ended_at


def test_its_machines_are_told_apart(log: EventLog):
    """Both workers are on one host; each has its port."""
    assert [executor.cores for executor in log.executors] == [1, 1]
    assert len({executor.worker for executor in log.executors}) == 2
    assert set(np.unique(log.task_columns.executor)) == {0, 1}
    assert log.slots == 2


def test_a_task_that_failed_is_kept_as_such(log: EventLog):
    """Four attempts of one task of the last job, until Spark gave up."""
    failed = log.task_columns.only(~log.task_columns.succeeded)
    assert sorted(failed.attempt.tolist())[:4] == [0, 1, 2, 3]
    assert len(set(failed.stage_id.tolist())) == 1
    assert [job.succeeded for job in log.jobs].count(False) == 1
    failed_stage = next(stage for stage in log.stages if stage.failure)
    assert failed_stage.stage_id == failed.stage_id[0]
    assert "on purpose" in failed_stage.failure


def test_each_stage_belongs_to_a_job_and_names_its_parents(log: EventLog):
    jobs = {job.job_id: job for job in log.jobs}
    for stage in log.stages:
        assert stage.stage_id in jobs[stage.job_id].stage_ids
        assert stage.submitted_at is not None
        assert stage.completed_at is not None
        assert stage.tasks == (log.task_columns.stage_id == stage.stage_id).sum() or stage.failure
    assert any(stage.parents for stage in log.stages)
    scopes = {scope for stage in log.stages for scope in stage.scopes}
    assert {"reduceByKey", "WholeStageCodegen (1)"} <= scopes


def test_its_queries_are_told_with_the_time_of_their_broadcasts(log: EventLog):
    by_broadcast, by_shuffle = log.sql_executions
    assert by_broadcast.ended_at is not None
    assert 0.01 < by_broadcast.broadcast_seconds < by_broadcast.ended_at - by_broadcast.started_at
    assert by_shuffle.broadcast_seconds == 0
    assert [query.failed for query in log.sql_executions] == [False, False]
    assert {job.sql_execution_id for job in log.jobs} == {0, 1, None}


@pytest.mark.parametrize("codec", CODECS)
def test_all_codecs_of_spark_give_the_same_text_whatever_the_name(codec: str, tmp_path: Path):
    anonymous = tmp_path / "app-1"
    anonymous.write_bytes((REAL / f"spark-3.5.5.{codec}").read_bytes())

    assert b"".join(line + b"\n" for line in open_lines(anonymous)) == real_text()


def test_one_packed_by_lzf_is_refused_with_what_to_set(tmp_path: Path):
    packed = tmp_path / "app-1.lzf"
    packed.write_bytes(b"ZV\x01\x00\x04\x00\x05text")
    with pytest.raises(EventLogError, match="compressed by LZF") as refused:
        read_event_log(packed)
    assert "spark.eventLog.compression.codec" in (refused.value.remedy or "")


@pytest.mark.parametrize("codec", CODECS)
def test_what_came_before_the_damage_is_kept(codec: str, tmp_path: Path):
    """A driver was killed while it wrote, or a copy was cut off."""
    whole = (REAL / f"spark-3.5.5.{codec}").read_bytes()
    cut = tmp_path / f"app-1.{codec}.inprogress"
    cut.write_bytes(whole[: len(whole) * 3 // 4])

    log = read_event_log(cut)
    assert 0 < len(log.task_columns) < 28
    assert not log.is_complete
    assert log.ended_at >= log.task_columns.finished_at.max()
    assert log.warnings


@pytest.mark.parametrize("codec", CODECS)
def test_damage_in_the_middle_is_told(codec: str, tmp_path: Path):
    damaged = bytearray((REAL / f"spark-3.5.5.{codec}").read_bytes())
    middle = len(damaged) // 2
    damaged[middle : middle + 64] = b"\xff" * 64
    path = tmp_path / "damaged"
    path.write_bytes(damaged)

    log = read_event_log(path)
    assert log.application_id.startswith("app-2")
    assert log.warnings


@pytest.mark.parametrize("version", ["4.0.1", "4.3.0"])
def test_the_time_in_python_workers_is_read_where_spark_tells_it(version: str):
    """The time to start and initialise them is part of the time to run them, so it is not added."""
    log = read_event_log(REAL / f"spark-{version}-python.zstd")
    in_python = log.task_columns.python_seconds
    told = ~np.isnan(in_python)
    assert told.any()
    assert (in_python[told] > 0).any()
    assert (in_python[told] <= log.task_columns.seconds[told]).all()
    assert np.isnan(in_python[~told]).any(), "the tasks of the plain data set have no such metric"


def test_the_logs_tell_nothing_of_the_machine_that_they_were_made_on():
    names = {"/tmp/", "/home/", "/root", "/work/", "/usr/", "/opt/", "java.home", "user.name"}
    logs = [path for path in REAL.iterdir() if path.name != "README.md"]
    for path in logs:
        text = b"\n".join(open_lines(path)).decode()
        assert not [name for name in names if name in text]
        hosts = set(re.findall(r'"Host":"([^"]*)"', text))
        assert hosts <= {"localhost", "127.0.0.1"}
        users = set(re.findall(r'"User":"([^"]*)"', text))
        assert users == {"spark"}
    sizes = [file.stat().st_size for file in REAL.rglob("*") if file.is_file()]
    assert sum(sizes) < 600_000
