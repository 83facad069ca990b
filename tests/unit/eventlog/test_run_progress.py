"""Counting in logs that are still written: rolled over, as an application may have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ernest.eventlog.reading import EventLogProgress
from tests.unit.eventlog.event_log_texts import executor, line, started, task, write

COMPLETED = {"Event": "SparkListenerStageCompleted"}


@pytest.fixture
def rolled(tmp_path: Path) -> Path:
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    (folder / "appstatus_app-1.inprogress").touch()
    return folder


def test_a_log_that_is_rolled_over_is_followed_from_file_to_file(rolled: Path):
    progress = EventLogProgress()
    progress.read(rolled)
    assert str(progress) == "0 stages and 0 tasks finished"

    first = rolled / "events_1_app-1"
    odd = {"Event": "SparkListenerExecutorRemoved", "Timestamp": "x", "Executor ID": "1"}
    first.write_bytes(line(started()) + line(executor(1)) + line(odd) + line(task(1)))
    progress.read(rolled)
    assert (progress.executors, progress.tasks) == (1, 1)

    with first.open("ab") as more:
        more.write(line(task(2)))
    (rolled / "events_2_app-1").write_bytes(line(task(3)) + line(COMPLETED) + line(task(4))[:-9])
    progress.read(rolled)
    assert (progress.executors, progress.tasks, progress.stages) == (1, 3, 1)


def test_a_compressed_log_is_not_followed(tmp_path: Path):
    progress = EventLogProgress()
    progress.read(write(tmp_path / "app-1.zstd.inprogress", executor(1), task(1)))

    assert (progress.is_followed, progress.executors, progress.tasks) == (False, 0, 0)


def test_the_name_may_change_when_the_application_ends(tmp_path: Path):
    progress = EventLogProgress()
    log = tmp_path / "app-1.inprogress"
    log.write_bytes(line(started()) + line(task(1)))
    progress.read(log)
    progress.read(log.rename(tmp_path / "app-1"))
    progress.read(log)

    assert progress.tasks == 1
