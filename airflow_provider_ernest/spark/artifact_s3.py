"""A file on S3 by boto3, which the amazon provider brings: s3fs cannot be installed beside its newest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any, NamedTuple

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.spark.artifact import probe_of

_ABSENT = {"404", "NoSuchKey", "NoSuchBucket", "NotFound"}


class S3Address(NamedTuple):
    """Where a file lies on S3.

    Attributes:
        connection: the Airflow connection before the bucket, as in `ObjectStoragePath`; None for none.
        bucket: the bucket.
        key: the file in it.
    """

    connection: str | None
    bucket: str
    key: str

    @classmethod
    def of(cls, path: str) -> S3Address:
        """The parts of ``s3://[connection@]bucket/key``; s3a, Hadoop's word for it, will do as well.

        Raises:
            InvalidParameterError: it names no bucket or no file.
        """
        place, _, key = path.partition("://")[2].partition("/")
        connection, _, bucket = place.rpartition("@")
        if ":" in connection:
            raise InvalidParameterError(
                "application",
                f"s3://...@{bucket}/{key}",
                "holds credentials",
                remedy="Name an Airflow connection in their place: s3://connection@bucket/key.",
            )
        if not bucket or not key:
            raise InvalidParameterError(
                "application", path, "names no file on S3", remedy="Write s3://bucket/key."
            )
        return cls(connection or None, bucket, key)


class S3File:
    """A file on S3.

    Args:
        client: a boto3 client of S3.
        bucket: the bucket.
        key: the file in it.
    """

    def __init__(self, client: Any, *, bucket: str, key: str) -> None:
        self._client = client
        self._place = {"Bucket": bucket, "Key": key}

    def probe(self) -> str:
        """ETag, time, version and size, by a HEAD request."""
        with _absence_told(self._place):
            told = self._client.head_object(**self._place)
        return probe_of({**told, "size": told["ContentLength"]})

    def open(self) -> AbstractContextManager[Any]:
        """The content as it arrives."""
        with _absence_told(self._place):
            body: AbstractContextManager[Any] = closing(self._client.get_object(**self._place)["Body"])
        return body


@contextmanager
def _absence_told(place: dict[str, str]) -> Iterator[None]:
    from botocore.exceptions import ClientError

    try:
        yield
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in _ABSENT:
            raise FileNotFoundError(f"There is no s3://{place['Bucket']}/{place['Key']}") from error
        raise
