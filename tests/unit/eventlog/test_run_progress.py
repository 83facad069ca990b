"""Counting in logs that are still written: rolled over and compressed, as an application may have them."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard

from airflow_provider_ernest.eventlog import reading as run_progress
from airflow_provider_ernest.eventlog.reading import EventLogProgress
from tests.unit.eventlog.event_log_texts import executor, line, started, task

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
    first.write_bytes(line(started()) + line(executor(1)) + line(task(1)))
    progress.read(rolled)
    assert (progress.executors, progress.tasks) == (1, 1)

    with first.open("ab") as more:
        more.write(line(task(2)))
    (rolled / "events_2_app-1").write_bytes(line(task(3)) + line(COMPLETED) + line(task(4))[:-9])
    progress.read(rolled)
    assert (progress.executors, progress.tasks, progress.stages) == (1, 3, 1)


def test_a_compressed_log_is_counted_once_however_often_it_is_read(
    rolled: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(run_progress, "REST_FACTOR", -1.0)
    progress = EventLogProgress()
    log = rolled / "events_1_app-1.zstd"
    pack = zstandard.ZstdCompressor().compress
    # Each flush ends a frame, and a line may go over two of them.
    second = line(task(2))
    log.write_bytes(pack(line(started()) + line(executor(1)) + line(task(1)) + second[:50]))
    for _ in range(3):
        progress.read(rolled)
    assert (progress.executors, progress.tasks) == (1, 1)

    log.write_bytes(log.read_bytes() + pack(second[50:] + line(COMPLETED)) + pack(line(task(3)))[:12])
    for _ in range(3):
        progress.read(rolled)
    assert (progress.executors, progress.tasks, progress.stages) == (1, 2, 1)


@pytest.mark.parametrize(
    "odd",
    [{"Event": "SparkListenerExecutorAdded"}, {"Event": "SparkListenerExecutorRemoved", "Timestamp": "x"}],
)
def test_an_odd_line_does_not_end_the_watch(tmp_path: Path, odd: dict[str, str]):
    progress = EventLogProgress()
    log = tmp_path / "app-1"
    log.write_bytes(line(executor(1)) + line({**odd, "Executor ID": "1"}) + line(task(1)))
    progress.read(log)

    assert progress.tasks == 1


def test_a_compressed_log_is_not_read_without_rest(tmp_path: Path):
    """It must be decompressed from its beginning: a long run would be nothing but that."""
    progress = EventLogProgress()
    log = tmp_path / "app-1.zstd.inprogress"
    pack = zstandard.ZstdCompressor().compress
    log.write_bytes(pack(line(task(1))))
    progress.read(log)
    progress._rests_until += 3600
    log.write_bytes(pack(line(task(1)) + line(task(2))))
    progress.read(log)

    assert progress.tasks == 1


def test_the_name_may_change_when_the_application_ends(tmp_path: Path):
    progress = EventLogProgress()
    log = tmp_path / "app-1.inprogress"
    log.write_bytes(line(started()) + line(task(1)))
    progress.read(log)
    progress.read(log.rename(tmp_path / "app-1"))
    progress.read(log)

    assert progress.tasks == 1
