"""Event logs of several files, in folders, and elsewhere than on this machine."""

from __future__ import annotations

import builtins
import gzip
import shutil
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import fsspec
import pytest
from moto import mock_aws

from airflow_provider_ernest import places
from airflow_provider_ernest.eventlog import files
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.exceptions import EventLogError
from airflow_provider_ernest.places import FileSystemPlace, S3ByBoto3, place_of
from tests.unit.eventlog.event_log_texts import REAL, ended, line, real_text, started, task, write

APPLICATION = "application_1700000000000_0001"


@pytest.fixture
def rolled(tmp_path: Path) -> Path:
    """Twelve files of two tasks each; the names would sort 1, 10, 11, 12, 2."""
    folder = tmp_path / f"eventlog_v2_{APPLICATION}_1"
    folder.mkdir()
    (folder / f"appstatus_{APPLICATION}_1").touch()
    for number in range(1, 13):
        events = [task(2 * number), task(2 * number + 1)]
        events = [started(**{"App ID": None}), *events] if number == 1 else events
        write(file_of(folder, number), *events, *([ended()] if number == 12 else []))
    return folder


def file_of(folder: Path, number: int) -> Path:
    return folder / f"events_{number}_{APPLICATION}_1"


def test_files_are_read_in_the_order_of_their_numbers(rolled: Path):
    log = read_event_log(rolled)

    assert log.task_columns.task_id.tolist() == list(range(2, 26))
    assert (log.application_id, log.is_complete, log.warnings) == (APPLICATION, True, ())


def test_missing_files_are_told_whatever_number_a_name_tells(rolled: Path):
    """All files between would be more than any memory holds."""
    file_of(rolled, 5).unlink()
    write(rolled / f"events_{10**18}_{APPLICATION}_1", task(100))
    tracemalloc.start()
    log = read_event_log(rolled)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert log.task_columns.task_id[-2:].tolist() == [25, 100]
    assert "Its files number 5, 13, 14, 15, 16 and more are missing." in log.warnings
    assert peak_bytes < 20 << 20


def test_a_folder_of_too_many_files_is_refused(rolled: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "MOST_FILES", 12)

    with pytest.raises(EventLogError, match="holds more than 12 files"):
        read_event_log(rolled)


PACKED = {"17-15": [task(2)], "17-00": [started(), task(1)], "18-00": [task(3)]}


@pytest.mark.parametrize(
    ("packed", "last", "tasks"),
    [(PACKED, [task(4), ended()], [1, 2, 3, 4]), ({}, [started(), task(4), ended()], [4])],
    ids=["packed ones and the last", "the last alone"],
)
def test_the_files_of_databricks_are_one_log(packed, last, tasks: list[int], tmp_path: Path):
    """Each is packed when its quarter of an hour is over; `eventlog` is the last."""
    folder = tmp_path / "eventlog" / "0114-160012-abc123_10_0_0_7" / "4711"
    folder.mkdir(parents=True)
    for minute, events in packed.items():
        text = b"".join(map(line, events))
        (folder / f"eventlog-2022-01-14--{minute}.gz").write_bytes(gzip.compress(text))
    write(folder / "eventlog", *last)
    log = read_event_log(folder)

    assert log.task_columns.task_id.tolist() == tasks
    assert (log.application_id, log.is_complete, log.warnings) == ("app-1", True, ())
    with pytest.raises(EventLogError, match="holds no event log"):
        read_event_log(tmp_path)


def test_a_compact_file_stands_for_those_before_and_its_own(rolled: Path):
    """As the History Server leaves them, before it has removed what it compacted."""
    compact = rolled / f"events_6_{APPLICATION}_1.compact"
    write(compact, started(), task(100))
    log = read_event_log(rolled)

    assert log.task_columns.task_id.tolist() == [100, *range(14, 26)]
    assert any("compacted" in warning for warning in log.warnings)
    for number in range(1, 7):
        file_of(rolled, number).unlink()
    assert read_event_log(rolled).task_columns.task_id.tolist() == log.task_columns.task_id.tolist()


def test_a_line_that_was_cut_off_does_not_spoil_the_next_file(rolled: Path):
    text = file_of(rolled, 3).read_bytes()
    file_of(rolled, 3).write_bytes(text[:-30])
    log = read_event_log(rolled)

    assert log.task_columns.task_id.tolist() == [*range(2, 7), *range(8, 26)]
    assert log.unreadable_lines == 1


def test_a_folder_that_holds_one_log_is_as_good_as_the_log(rolled: Path, tmp_path: Path):
    assert len(read_event_log(tmp_path).task_columns) == 24

    write(tmp_path / "app-2", started(), ended())
    with pytest.raises(
        EventLogError, match=r"holds 2 event logs: app-2, eventlog_v2_.*Give the event log of one"
    ):
        read_event_log(tmp_path)


def test_a_local_log_is_found_also_when_its_application_has_ended_meanwhile(tmp_path: Path):
    path = write(tmp_path / "app-1", started(), ended())

    for address in (str(path), f"file://{path}", f"file:{path}", tmp_path / "app-1.inprogress"):
        assert read_event_log(address).is_complete


def test_addresses_are_opened_by_fsspec(rolled: Path, tmp_path: Path):
    bucket = f"memory://logs-{tmp_path.name}"
    fsspec.filesystem("memory").put(f"{rolled}/", f"{bucket}/{rolled.name}", recursive=True)
    assert len(read_event_log(f"{bucket}/{rolled.name}/").task_columns) == 24
    with pytest.raises(EventLogError, match="absent"):
        read_event_log(f"{bucket}/absent")


def test_airflows_paths_are_read(rolled: Path):
    sdk = pytest.importorskip("airflow.sdk")

    assert len(read_event_log(sdk.ObjectStoragePath(f"file://{REAL}/spark-3.5.5.zstd")).task_columns) == 28
    assert len(read_event_log(sdk.ObjectStoragePath(f"file://{rolled}")).task_columns) == 24


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, rolled: Path) -> Iterator[Any]:
    """The same on S3, where moto answers; without s3fs."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setattr(places, "find_spec", lambda _: None)
    with mock_aws():
        client = boto3.client("s3")
        client.create_bucket(Bucket="acme-bucket")
        client.put_object(Bucket="acme-bucket", Key="spark/", Body=b"")
        client.put_object(
            Bucket="acme-bucket", Key="spark/app-2.lz4", Body=(REAL / "spark-3.5.5.lz4").read_bytes()
        )
        for file in rolled.iterdir():
            key = f"spark/{rolled.name}/{file.name}"
            client.put_object(Bucket="acme-bucket", Key=key, Body=file.read_bytes())
        yield client


def test_s3_is_read_without_s3fs(s3: Any, rolled: Path):
    assert len(read_event_log("s3://acme-bucket/spark/app-2.lz4").task_columns) == 28
    assert len(read_event_log(f"s3a://acme-bucket/spark/{rolled.name}/").task_columns) == 24
    with pytest.raises(EventLogError, match=r"s3://acme-bucket/spark/absent: there is no such object"):
        read_event_log("s3://acme-bucket/spark/absent")
    with pytest.raises(EventLogError, match="holds 2 event logs"):
        read_event_log("s3://acme-bucket/spark")


def test_s3_is_read_by_the_connection_that_is_named(s3: Any, monkeypatch: pytest.MonkeyPatch):
    hook = pytest.importorskip("airflow.providers.amazon.aws.hooks.s3").S3Hook
    asked = []

    def connection(self: Any) -> Any:
        asked.append(self.aws_conn_id)
        return s3

    monkeypatch.setattr(hook, "get_conn", connection)

    assert len(read_event_log("s3://my_aws@acme-bucket/spark/app-2.lz4").task_columns) == 28
    assert asked == ["my_aws"]
    found = next(
        place for place in place_of("s3://my_aws@acme-bucket/spark").iterdir() if "app" in place.name
    )
    assert str(found) == "s3://my_aws@acme-bucket/spark/app-2.lz4", "so that it can be read again"


@pytest.mark.parametrize(
    "address", ["abfss://logs@account.dfs.core.windows.net/spark/app-1", "ftp://me:hunter2@host/spark/app-1"]
)
def test_the_container_and_the_user_of_other_addresses_are_no_connection(
    monkeypatch: pytest.MonkeyPatch, address: str
):
    asked = []
    monkeypatch.setattr(places, "filesystem_of", lambda path: asked.append(path) or (NoFiles(), path))

    place_of(address)

    assert asked == [address]


class NoFiles:
    def invalidate_cache(self) -> None:
        """As file systems of fsspec can."""


def test_a_network_that_fails_midway_is_no_log_that_was_cut_off(s3: Any):
    class Broken(S3ByBoto3):
        def open(self, path: str, mode: str) -> Any:
            opened = super().open(path, mode)
            first = opened.thing.read(20_000)
            answers = iter([lambda: first, lambda: 1 / 0])
            opened.thing.read = lambda size: next(answers)()
            return opened

    path = "acme-bucket/spark/app-2.lz4"
    with pytest.raises(EventLogError, match=r"Cannot read the event log s3://acme-bucket/spark/app-2\.lz4"):
        read_event_log(FileSystemPlace(Broken(s3), path, f"s3://{path}"))


@pytest.mark.parametrize(
    ("codec", "library"), [("zstd", "zstandard"), ("lz4", "cramjam"), ("snappy", "cramjam")]
)
def test_a_library_that_is_missing_is_named(codec: str, library: str, monkeypatch: pytest.MonkeyPatch):
    imported = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == library:
            raise ModuleNotFoundError(f"No module named {library!r}", name=library)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        EventLogError, match=rf"spark-3\.5\.5\.{codec} is compressed.*pip install {library}\."
    ):
        read_event_log(REAL / f"spark-3.5.5.{codec}")


def test_codecs_may_change_from_file_to_file(tmp_path: Path):
    """The application was begun again with other settings, or a part was packed later."""
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    shutil.copy(REAL / "spark-3.5.5.snappy", folder / "events_1_app-1.snappy")
    (folder / "events_2_app-1").write_bytes(real_text())

    assert len(read_event_log(folder).task_columns) == 56
