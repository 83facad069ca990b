"""Applications on S3 are read with Airflow's connections; moto answers."""

from __future__ import annotations

import boto3
import pytest
from moto import mock_aws

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.hooks import aws
from airflow_provider_ernest.hooks.aws import s3_opener
from airflow_provider_ernest.spark.artifact import SETTLED, ArtifactWatch
from tests.unit.triggers.applications import sha256


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AIRFLOW_CONN_OTHER_AWS", "aws://key:secret@/?region_name=eu-west-1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="code")
        yield client


@pytest.mark.parametrize("path", ["s3://code/job.jar", "s3a://code/job.jar", "s3://other_aws@code/job.jar"])
def test_a_change_on_s3_is_found(bucket, path):
    bucket.put_object(Bucket="code", Key="job.jar", Body=b"first")
    watch = ArtifactWatch([path], settle_seconds=0, open_s3=s3_opener())
    watch.look()
    assert watch.look().sha256 == sha256(b"first")
    bucket.put_object(Bucket="code", Key="job.jar", Body=b"other")
    watch.look()
    look = watch.look()
    assert (look.state, look.sha256) == (SETTLED, sha256(b"other"))


def test_a_connection_that_there_is_not_is_named(bucket):
    with pytest.raises(MissingResourceError, match=r"no_such_connection"):
        s3_opener()("s3://no_such_connection@code/job.jar")


def test_without_the_amazon_provider_it_is_left_to_s3fs(monkeypatch):
    monkeypatch.setattr(aws, "find_spec", lambda _: None)
    assert s3_opener()("s3://code/job.jar") is None
