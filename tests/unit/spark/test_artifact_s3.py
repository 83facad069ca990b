"""Files on S3 by boto3; moto answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.places import S3Address, S3Place


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        made = boto3.client("s3", region_name="us-east-1")
        made.create_bucket(Bucket="code")
        yield made


def test_what_s3_tells_changes_with_the_content(client):
    client.put_object(Bucket="code", Key="jobs/job.jar", Body=b"first")
    file = S3Place(client, "code", "jobs/job.jar")
    before = file.probe()
    assert before == file.probe()
    assert "etag" in before

    client.put_object(Bucket="code", Key="jobs/job.jar", Body=b"other")
    assert file.probe() != before
    with file.open() as content:
        assert [content.read(3), content.read(3), content.read(3)] == [b"oth", b"er", b""]


def test_what_is_not_there_is_absent(client):
    with pytest.raises(FileNotFoundError, match=r"s3://code/absent\.jar"):
        S3Place(client, "code", "absent.jar").probe()
    with pytest.raises(FileNotFoundError):
        S3Place(client, "code", "absent.jar").open()
    with pytest.raises(FileNotFoundError):
        S3Place(client, "no-such-bucket", "absent.jar").probe()


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("s3://code/jobs/job.jar", (None, "code", "jobs/job.jar")),
        ("s3a://code/job.jar", (None, "code", "job.jar")),
        ("s3://my_aws@code/job.jar", ("my_aws", "code", "job.jar")),
    ],
)
def test_the_parts_of_an_address(path, parts):
    assert S3Address.of(path) == parts


@pytest.mark.parametrize("path", ["s3://code", "s3://code/", "s3:///job.jar"])
def test_an_address_of_no_file_is_refused(path):
    with pytest.raises(InvalidParameterError, match=r"names no file"):
        S3Address.of(path)


def test_credentials_in_an_address_are_refused_and_not_shown():
    with pytest.raises(InvalidParameterError, match=r"holds credentials") as refusal:
        S3Address.of("s3://AKIA:hush@code/job.jar")
    assert "hush" not in str(refusal.value)
