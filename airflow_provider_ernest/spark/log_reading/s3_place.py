"""A path on S3 by boto3, which the amazon provider brings: s3fs cannot be installed beside its newest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from airflow_provider_ernest.exceptions import MissingResourceError


class S3Place:
    """A file or a folder on S3.

    Args:
        client: a boto3 client of S3.
        bucket: the bucket.
        key: of the file, or the prefix of the folder.
        connection: the Airflow connection that the client is of, which belongs to the address.
    """

    def __init__(self, client: Any, bucket: str, key: str, *, connection: str = "") -> None:
        self._client = client
        self._bucket = bucket
        self._key = key.strip("/")
        self._connection = connection

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self._key.rpartition("/")[2]

    def is_dir(self) -> bool:
        """Whether any key begins with this one and a slash."""
        found = self._client.list_objects_v2(Bucket=self._bucket, Prefix=self._prefix, MaxKeys=1)
        return bool(found.get("KeyCount"))

    def iterdir(self) -> Iterator[S3Place]:
        """The files and folders right below."""
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=self._prefix, Delimiter="/"
        )
        for page in pages:
            keys = [each["Key"] for each in page.get("Contents", ())]
            keys += [each["Prefix"] for each in page.get("CommonPrefixes", ())]
            for key in keys:
                if key != self._prefix:
                    yield S3Place(self._client, self._bucket, key, connection=self._connection)

    def open(self, mode: str) -> Any:
        """The content, as it arrives; `mode` is always to read bytes."""
        try:
            body = self._client.get_object(Bucket=self._bucket, Key=self._key)["Body"]
        except self._client.exceptions.NoSuchKey as error:
            raise FileNotFoundError("there is no such object") from error
        # As a context manager it would give what lies below it, which does not miss bytes that never came.
        return closing(body)

    def __str__(self) -> str:
        connection = f"{self._connection}@" if self._connection else ""
        return f"s3://{connection}{self._bucket}/{self._key}"

    @property
    def _prefix(self) -> str:
        return f"{self._key}/" if self._key else ""


def s3_place(address: str) -> S3Place:
    """The place at s3://[connection@]bucket/key; s3a, Hadoop's word for it, will do as well.

    Raises:
        MissingResourceError: neither s3fs nor what it takes instead is installed, or no bucket is named.
    """
    where, _, key = address.partition("://")[2].partition("/")
    connection, _, bucket = where.rpartition("@")
    if not bucket:
        raise MissingResourceError(
            f"The address {address!r} names no bucket.", remedy="Write s3://bucket/key."
        )
    try:
        client = _client(connection)
    except ImportError as error:
        raise MissingResourceError(
            f"The library that reads {address!r} cannot be imported: {error}.",
            remedy='Install it: pip install "airflow-provider-ernest[s3]", or [ec2] for boto3.',
        ) from error
    return S3Place(client, bucket, key, connection=connection)


def _client(connection: str) -> Any:
    if connection:
        from airflow.providers.amazon.aws.hooks.s3 import S3Hook

        return S3Hook(aws_conn_id=connection).get_conn()
    import boto3

    return boto3.client("s3")
