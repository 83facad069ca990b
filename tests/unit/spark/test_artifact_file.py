"""What storages tell of a file without reading it, and its content piece by piece."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import fsspec
import pytest

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.places import FileSystemPlace, file_at, probe_of
from tests.unit.spark.artifact_server import served_file


def content_of(path: str) -> bytes:
    with file_at(path).open() as file:
        return b"".join(iter(lambda: file.read(3), b""))


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_local_file_is_told_from_another_of_the_same_size_and_time(scheme, tmp_path: Path):
    path = tmp_path / "job.jar"
    path.write_bytes(b"first")
    file = file_at(f"{scheme}{path}")
    before = file.probe()
    assert before == file.probe()
    assert content_of(f"{scheme}{path}") == b"first"

    status = path.stat()
    path.write_bytes(b"other")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    rewritten = file.probe()
    assert rewritten != before, "the inode tells of a change that its times were made to hide"

    (tmp_path / "new.jar").write_bytes(b"third")
    shutil.copystat(path, tmp_path / "new.jar")
    (tmp_path / "new.jar").replace(path)
    assert file.probe() not in (before, rewritten)


def test_a_link_is_the_file_that_it_leads_to(tmp_path: Path):
    for name in ("v1.jar", "v2.jar"):
        (tmp_path / name).write_text(name)
    link = tmp_path / "current.jar"
    link.symlink_to("v1.jar")
    before = file_at(str(link)).probe()

    (tmp_path / "next").symlink_to("v2.jar")
    (tmp_path / "next").replace(link)
    assert file_at(str(link)).probe() != before
    assert content_of(str(link)) == b"v2.jar"


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("{tmp}/absent.jar", FileNotFoundError),
        ("memory://absent.jar", FileNotFoundError),
        ("{tmp}", IsADirectoryError),
        ("unheard-of://job.jar", MissingResourceError),
    ],
)
def test_what_is_no_file_is_said_to_be_none(path, error, tmp_path):
    with pytest.raises(error):
        file_at(path.format(tmp=tmp_path)).probe()


def test_any_file_system_of_fsspec_is_asked():
    memory = fsspec.filesystem("memory")
    memory.pipe("/watched/job.jar", b"first")
    file = file_at("memory://watched/job.jar")
    before = file.probe()
    assert before == file.probe() != ""
    memory.pipe("/watched/job.jar", b"other")
    assert file.probe() != before
    assert content_of("memory://watched/job.jar") == b"other"


def test_only_what_changes_with_the_content_is_believed():
    told = {"name": "a", "size": 3, "type": "file", "ETag": "x", "lease": "later", "mimetype": "text"}
    assert probe_of(told) == probe_of({**told, "lease": "other"})
    assert probe_of(told) != probe_of({**told, "ETag": "y"})
    assert probe_of(told) != probe_of({**told, "size": 4})
    assert (
        probe_of({"size": 3, "Last-Modified": "now"}) == probe_of({"size": 3, "last_modified": "now"}) != ""
    )
    assert probe_of({"size": 3, "name": "a"}) == "", "a size alone tells too little"


def test_by_http_the_headers_are_asked_for_and_the_content_comes_in_one_answer():
    with served_file(b"x" * 6_000_000) as served:
        file = file_at(served.url)
        before = file.probe()
        assert served.requests == ["HEAD"]
        served.content = b"y" * 6_000_000
        assert file.probe() != before
        served.requests.clear()
        with file.open() as content:
            sizes = [len(piece) for piece in iter(lambda: content.read(1 << 16), b"")]
        assert sum(sizes) == 6_000_000
        assert max(sizes) <= 1 << 16
        assert served.requests.count("GET") == 1


def test_a_server_may_refuse_to_tell_of_a_file():
    with served_file(b"content") as served:
        served.has_head = False
        assert "etag" in file_at(served.url).probe()
        served.has_etag = False
        assert file_at(served.url).probe() == "", "such files must be read"


def test_an_absent_page_is_absence_and_anything_else_is_trouble():
    with served_file(b"content") as served:
        file = file_at(served.url)
        served.status = 404
        with pytest.raises(FileNotFoundError):
            file.probe()
        served.status = 503
        with pytest.raises(ConnectionError, match=r"503"):
            file.probe()
        url = served.url
    with pytest.raises(ConnectionError):
        file_at(url).probe()


@pytest.mark.usefixtures("without_s3fs")
def test_s3_is_left_to_fsspec_where_nothing_else_reads_it():
    with pytest.raises(MissingResourceError, match=r"airflow-provider-ernest\[s3\]"):
        file_at("s3://bucket/job.jar", open_s3=lambda _: None)

    class Other:
        pass

    other: Any = Other()
    assert file_at("s3a://bucket/job.jar", open_s3=lambda _: other) is other
    assert isinstance(file_at("memory://job.jar", open_s3=lambda _: other), FileSystemPlace)
