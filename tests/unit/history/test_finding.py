import gzip
import json
import os
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile

import fsspec
import pytest

from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.history import scan
from airflow_provider_ernest.history.scan import ARCHIVE, EMPTY, HIDDEN, NO_FILE, NO_ZIP, OLD, LogFinder, Scan
from tests.unit.eventlog.event_log_texts import line
from tests.unit.history.past_logs import events_of, log_of


def found(*sources: Path | str, finder: LogFinder | None = None) -> list[str]:
    return [log.place for log in (finder or LogFinder()).find(map(str, sources))]


@pytest.fixture
def rolled(tmp_path: Path) -> Path:
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    events = events_of()
    (folder / "appstatus_app-1").touch()
    (folder / "events_1_app-1").write_bytes(b"".join(map(line, events[:5])))
    (folder / "events_2_app-1").write_bytes(b"".join(map(line, events[5:])))
    return folder


def test_a_log_that_is_rolled_over_is_one_and_each_of_its_files_changes_its_version(
    rolled: Path, tmp_path: Path
):
    assert found(tmp_path) == found(rolled) == [str(rolled)]
    (run,) = Scan([tmp_path])
    assert not run.failure
    (before,) = LogFinder().find([str(rolled)])
    assert before.size_bytes == sum(file.stat().st_size for file in rolled.iterdir())
    (rolled / "events_3_app-1").write_bytes(b"\n")
    (after,) = LogFinder().find([str(rolled)])
    assert after.version != before.version


def test_of_what_databricks_delivers_event_logs_are_read(tmp_path: Path):
    cluster = tmp_path / "0131-120000-abcdefgh"
    events = events_of(
        "Databricks Shell",
        **{
            "spark.databricks.clusterUsageTags.clusterName": "job-1234-run-5678-load",
            "spark.databricks.clusterUsageTags.clusterNodeType": "i3.xlarge",
        },
    )
    context = cluster / "eventlog" / "4302_10_0_0_1"
    context.mkdir(parents=True)
    (context / "eventlog-2026-01-31--12-00.gz").write_bytes(gzip.compress(b"".join(map(line, events[:5]))))
    # Its cluster is ended before the log is.
    (context / "eventlog").write_bytes(b"".join(map(line, events[5:-1])))
    for name in ("driver/stderr", "executor/app-1/0/stdout"):
        (cluster / name).parent.mkdir(parents=True, exist_ok=True)
        (cluster / name).write_text("something else\n")
    scanned = Scan([tmp_path])
    (run,) = scanned
    assert run.event_log == str(context)
    assert scanned.unread == {"no event log of Spark": 2}
    assert (run.failure, run.job, run.instance_type) == ("", "Databricks job 1234 load", "i3.xlarge")


def test_what_is_no_log_is_passed_over_by_the_reason(tmp_path: Path):
    log = log_of(tmp_path / "app-1")
    (tmp_path / "empty").touch()
    (tmp_path / ".app-1.crc").write_text("x")
    (tmp_path / "_temporary").mkdir()
    log_of(tmp_path / "_temporary" / "app-0")
    (tmp_path / "table.parquet").write_text("x")
    (tmp_path / "eventLogs-app-1.zip").write_bytes(b"PK")
    (tmp_path / "logs.tar.zst").write_bytes(b"x")
    (tmp_path / "app-1.xz").write_bytes(b"x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    finder = LogFinder()
    assert found(tmp_path, finder=finder) == [str(log)]
    assert finder.passed_over == {EMPTY: 1, ARCHIVE: 2, NO_ZIP: 1, HIDDEN: 3, NO_FILE: 2}


def zipped(path: Path, *folders: Path, method: int = ZIP_DEFLATED) -> Path:
    """A ZIP of all that these folders hold, with marks for folders, as the History Server makes it."""
    with ZipFile(path, "w", method) as archive:
        for folder in folders:
            for each in sorted(folder.rglob("*")):
                archive.write(each, each.relative_to(folder))
    return path


def test_a_zip_of_the_history_server_is_read_as_a_folder(rolled: Path, tmp_path: Path):
    logs = tmp_path / "zipped"
    logs.mkdir()
    of_one = zipped(logs / "eventLogs-app-1.zip", rolled.parent)
    for attempt in (1, 2):
        log_of(tmp_path / "attempts" / f"application_1_0001_{attempt}", application="application_1_0001")
    of_two = zipped(logs / "eventLogs-application_1_0001.zip", tmp_path / "attempts")
    assert set(found(logs)) == {
        f"zip://eventlog_v2_app-1::{of_one}",
        f"zip://application_1_0001_1::{of_two}",
        f"zip://application_1_0001_2::{of_two}",
    }
    runs = list(Scan([logs]))
    assert {run.application_id for run in runs} == {"app-1", "application_1_0001"}
    assert not any(run.failure for run in runs)
    assert read_event_log(of_one).application_id == "app-1"
    assert read_event_log(f"zip://application_1_0001_2::{of_two}").application_id == "application_1_0001"


class HistoryServer(BaseHTTPRequestHandler):
    """Spark's own, as far as it gives event logs: one application, by HTTP in one answer."""

    archive: bytes

    def do_GET(self) -> None:
        listed = [{"id": "app-1", "name": "etl", "attempts": [{"lastUpdatedEpoch": 1_800_000_000_000}]}]
        content = {
            "/api/v1/applications": json.dumps(listed).encode(),
            "/api/v1/applications/app-1/logs": self.archive,
        }.get(self.path)
        self.send_response(200 if content else 404)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content or b"")

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def history_server(tmp_path: Path):
    log = log_of(tmp_path / "kept" / "app-1")
    HistoryServer.archive = zipped(tmp_path / "logs.zip", log.parent).read_bytes()
    server = ThreadingHTTPServer(("127.0.0.1", 0), HistoryServer)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("path", ["", "/", "/api/v1/applications", "/api/v1/applications/app-1/logs"])
def test_the_logs_of_a_history_server_are_found(path: str, history_server: str):
    (run,) = Scan([history_server + path])
    assert (run.application_id, run.failure) == ("app-1", "")
    assert run.event_log == f"zip://app-1::{history_server}/api/v1/applications/app-1/logs"
    assert read_event_log(run.event_log).application_id == "app-1"
    if not path:
        assert found(history_server, finder=LogFinder(since=1_900_000_000)) == [], "written long ago"


def test_a_zip_that_changes_is_read_again(tmp_path: Path):
    log = log_of(tmp_path / "logs" / "app-1")
    archive = zipped(tmp_path / "app-1.zip", log.parent)
    (before,) = LogFinder().find([str(archive)])
    log_of(log, end=170_000)
    zipped(archive, log.parent)
    (after,) = LogFinder().find([str(archive)])
    assert (after.place, after.version != before.version) == (before.place, True)


def test_a_packing_that_may_take_all_memory_is_refused(tmp_path: Path):
    archive = zipped(tmp_path / "app-1.zip", log_of(tmp_path / "logs" / "app-1").parent, method=ZIP_LZMA)
    scanned = Scan([archive])
    assert list(scanned) == []
    (reason,) = scanned.unread
    assert "Deflate" in reason
    assert str(tmp_path) not in reason


def test_links_in_circles_and_overlapping_sources_are_gone_through_once(tmp_path: Path):
    log = log_of(tmp_path / "a" / "app-1")
    assert found(tmp_path, tmp_path / "a", log, tmp_path / "a" / "*") == [str(log)]
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert found(tmp_path) == [str(log)]
    assert found(tmp_path / "**") == [str(log)]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("2026", {"2026/app-2", "2026/deep/app-3"}),
        ("20?6/*", {"2026/app-2", "2026/deep/app-3"}),
        ("*/app-*", {"2025/app-1", "2026/app-2"}),
        ("**/app-[23]", {"2026/app-2", "2026/deep/app-3"}),
        ("**", {"2025/app-1", "2026/app-2", "2026/deep/app-3"}),
    ],
)
def test_globs_name_files_and_folders(pattern: str, names: set[str], tmp_path: Path):
    for name in ("2025/app-1", "2026/app-2", "2026/deep/app-3"):
        log_of(tmp_path / name)
    assert set(found(tmp_path / pattern)) == {str(tmp_path / name) for name in names}
    log = log_of(tmp_path / "app[1]" / "log")
    assert found(tmp_path / "app[1]") == [str(log)], "a name that looks like a glob"


def test_logs_written_before_the_time_asked_for_are_not_read(tmp_path: Path):
    old, new = log_of(tmp_path / "old"), log_of(tmp_path / "new")
    os.utime(old, (1000, 1000))
    finder = LogFinder(since=2000)
    assert found(tmp_path, finder=finder) == [str(new)]
    assert finder.passed_over == {OLD: 1}


def test_other_storage_is_listed_once_a_folder():
    memory = fsspec.filesystem("memory")
    for name in ("/finding/2026/app-1", "/finding/2026/app-2", "/finding/eventlog_v2_app-3/events_1_app-3"):
        memory.pipe_file(name, b"x")
    try:
        logs = list(LogFinder().find(["memory://finding"]))
        assert {log.place for log in logs} == {
            "memory://finding/2026/app-1",
            "memory://finding/2026/app-2",
            "memory://finding/eventlog_v2_app-3",
        }
        assert found("memory://finding/*/app-[1]") == ["memory://finding/2026/app-1"]
        (before, *_) = logs
        memory.pipe_file("/finding/2026/app-1", b"xy")
        (after, *_) = LogFinder().find(["memory://finding"])
        assert after.version != before.version
    finally:
        memory.rm("/finding", recursive=True)


def test_too_many_files_are_a_slip(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(scan, "MOST_ENTRIES", 3)
    for number in range(4):
        log_of(tmp_path / f"app-{number}")
    with pytest.raises(InvalidParameterError, match="more than 3 files"):
        found(tmp_path)


@pytest.mark.parametrize("source", ["nowhere", "nowhere*/x", "ftp9://x/y"])
def test_what_is_not_there_is_an_error(source: str, tmp_path: Path):
    with pytest.raises(MissingResourceError, match=re.escape(source)):
        found(source if ":" in source else tmp_path / source)
    with pytest.raises(MissingResourceError, match="Cannot connect"):
        found("http://127.0.0.1:9/spark-events/")


def test_names_that_are_no_text_are_read(tmp_path: Path):
    name = os.fsdecode(os.fsencode(str(tmp_path)) + b"/app-\xff")
    log_of(Path(name))
    (run,) = Scan([tmp_path])
    assert run.event_log == str(tmp_path / "app-\\udcff")
