"""What storages tell of a file without reading it, and its content; moto answers for S3."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import boto3
import fsspec
import pytest
from moto import mock_aws

from airflow_provider_ernest import places
from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.hooks import aws
from airflow_provider_ernest.hooks.aws import s3_clients
from airflow_provider_ernest.places import S3ByBoto3, place_of, version_of
from airflow_provider_ernest.spark import artifact
from airflow_provider_ernest.spark.artifact import ArtifactWatch
from tests.unit.spark.artifact_server import served_file


def content_of(path: str) -> bytes:
    with place_of(path).open() as file:
        return b"".join(iter(lambda: file.read(3), b""))


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_local_file_is_told_from_another_of_the_same_size_and_time(scheme, tmp_path: Path):
    path = tmp_path / "job.jar"
    path.write_bytes(b"first")
    file = place_of(f"{scheme}{path}")
    before = file.entry().version
    assert before == file.entry().version
    assert content_of(f"{scheme}{path}") == b"first"

    status = path.stat()
    path.write_bytes(b"other")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    rewritten = file.entry().version
    assert rewritten != before, "the inode tells of a change that its times were made to hide"

    (tmp_path / "new.jar").write_bytes(b"third")
    shutil.copystat(path, tmp_path / "new.jar")
    (tmp_path / "new.jar").replace(path)
    replaced = file.entry().version
    assert replaced not in (before, rewritten)
    (tmp_path / "v2.jar").write_bytes(b"fours")
    (tmp_path / "next").symlink_to("v2.jar")
    (tmp_path / "next").replace(path)
    assert file.entry().version != replaced, "a link is the file that it leads to"


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("{tmp}/absent.jar", FileNotFoundError),
        ("unheard-of://job.jar", MissingResourceError),
    ],
)
def test_what_is_no_file_is_said_to_be_none(path, error, tmp_path):
    with pytest.raises(error):
        place_of(path.format(tmp=tmp_path)).entry()


def test_only_what_changes_with_the_content_is_believed():
    told = {"name": "a", "size": 3, "type": "file", "ETag": "x", "lease": "later", "mimetype": "text"}
    assert version_of(told) == version_of({**told, "lease": "other"})
    assert version_of(told) != version_of({**told, "ETag": "y"})
    assert version_of(told) != version_of({**told, "size": 4})
    assert (
        version_of({"size": 3, "Last-Modified": "now"})
        == version_of({"size": 3, "last_modified": "now"})
        != ""
    )
    assert version_of({"size": 3, "name": "a"}) == "", "a size alone tells too little"


def test_by_http_the_headers_are_asked_for_and_the_content_comes_in_one_answer():
    with served_file(b"x" * 6_000_000) as served:
        file = place_of(served.url)
        before = file.entry().version
        assert served.requests == ["HEAD"]
        served.content = b"y" * 6_000_000
        assert file.entry().version != before
        served.requests.clear()
        with file.open() as content:
            sizes = [len(piece) for piece in iter(lambda: content.read(1 << 16), b"")]
        assert sum(sizes) == 6_000_000
        assert max(sizes) <= 1 << 16
        assert served.requests.count("GET") == 1


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AIRFLOW_CONN_OTHER_AWS", "aws://key:secret@/?region_name=eu-west-1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        made = boto3.client("s3", region_name="us-east-1")
        made.create_bucket(Bucket="code")
        yield made


@pytest.mark.parametrize("path", ["s3://code/job.jar", "s3a://code/job.jar", "s3://other_aws@code/job.jar"])
def test_a_change_on_s3_is_found(client, path, monkeypatch):
    monkeypatch.setattr(artifact, "SETTLE_SECONDS", 0.0)
    client.put_object(Bucket="code", Key="job.jar", Body=b"first")
    watch = ArtifactWatch([path], s3_clients=s3_clients())
    watch.look()
    assert watch.look() == hashlib.sha256(b"first").hexdigest()
    client.put_object(Bucket="code", Key="job.jar", Body=b"other")
    watch.look()
    assert watch.look() == hashlib.sha256(b"other").hexdigest()


def test_a_listing_of_s3_tells_size_time_and_version_of_each(client):
    for key, body in (("logs/app-1", b"one"), ("logs/2026/app-2", b"two"), ("logs/", b"")):
        client.put_object(Bucket="code", Key=key, Body=body)
    folder = place_of("s3://code/logs", s3_clients=s3_clients())
    assert folder.entry().is_folder
    below, log = sorted(folder.entries(), key=lambda entry: entry.is_file)
    assert (below.is_folder, below.place.name) == (True, "2026")
    assert (log.is_file, log.size_bytes, str(log.place)) == (True, 3, "s3://code/logs/app-1")
    assert abs(log.modified_at - time.time()) < 3600
    assert log.place.entry() == replace(log, place=ANY)
    client.put_object(Bucket="code", Key="logs/app-1", Body=b"eno")
    assert log.place.entry().version != log.version


def test_without_the_amazon_provider_it_is_left_to_s3fs_and_without_that_to_boto3(client, monkeypatch):
    monkeypatch.setattr(aws, "find_spec", lambda _: None)
    memory = fsspec.filesystem("memory")
    monkeypatch.setattr(places, "filesystem_of", lambda path: (memory, path))
    for library, kind in (("s3fs", type(memory)), (None, S3ByBoto3)):
        monkeypatch.setattr(places, "find_spec", lambda _, library=library: library)
        place = place_of("s3a://code/job.jar", s3_clients=s3_clients())
        assert isinstance(place._filesystem, kind)
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(MissingResourceError, match=r"airflow-provider-ernest\[s3\]"):
        place_of("s3://code/job.jar", s3_clients=s3_clients())


def test_what_is_not_there_is_absent(client):
    for bucket in ("code", "no-such-bucket"):
        absent = place_of(f"s3://{bucket}/absent.jar", s3_clients=s3_clients())
        with pytest.raises(FileNotFoundError, match=rf"s3://{bucket}/absent\.jar"):
            absent.entry()
        with pytest.raises(FileNotFoundError):
            absent.open()
    with pytest.raises(IsADirectoryError, match="s3://code is no file"):
        ArtifactWatch(["s3://code"], s3_clients=s3_clients()).look()


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("s3://no_such_connection@code/job.jar", "no_such_connection"),
        ("s3:///job.jar", "names no bucket"),
        ("s3://AKIA:hush@code/job.jar", "contains credentials"),
    ],
)
def test_an_address_without_a_bucket_or_connection_is_refused_and_credentials_are_not_shown(
    client, path, problem
):
    with pytest.raises(MissingResourceError, match=problem) as refusal:
        place_of(path, s3_clients=s3_clients())
    assert "hush" not in str(refusal.value)
