"""Where an event log lies: anything with a path's methods, whatever it is given as."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from airflow_provider_ernest.exceptions import MissingResourceError

# ---------------------------------------------------------------------------
# Where a path leads: the file system of its scheme, as far as its library is installed.


def filesystem_of(path: str) -> tuple[Any, str]:
    """The fsspec file system of a path, and the path in it.

    Args:
        path: local or of any fsspec scheme (s3a is read as s3).

    Raises:
        MissingResourceError: the library that reads this scheme is not installed.
        ValueError: fsspec does not know the scheme.
    """
    import fsspec

    # Hadoop calls "s3a" what everybody else calls "s3".
    address = f"s3://{path[6:]}" if path.startswith("s3a://") else path
    try:
        filesystem, root = fsspec.url_to_fs(address)
    except ImportError as error:
        problem = str(error).rstrip(".")
        raise MissingResourceError(
            f"The library that reads {path!r} cannot be imported: {problem}.", remedy=_remedy(address)
        ) from error
    return filesystem, root


def _remedy(address: str) -> str:
    if address.startswith("s3://"):
        return 'Install it on the Airflow workers: pip install "airflow-provider-ernest[s3]".'
    return "Install it on the Airflow workers."


# ---------------------------------------------------------------------------


_S3_SCHEMES = ("s3://", "s3a://")

_AZURE_SCHEMES = ("abfs", "abfss", "wasb", "wasbs")
"""Hadoop writes the container where Airflow has the connection: abfss://container@account.dfs.core..."""


class Place(Protocol):
    """What is asked of a path; `pathlib.Path` and Airflow's `ObjectStoragePath` are such."""

    @property
    def name(self) -> str:
        """The last part."""

    def is_dir(self) -> bool:
        """Whether it is a folder."""

    def iterdir(self) -> Iterator[Any]:
        """What a folder holds."""

    def open(self, mode: str) -> Any:
        """The content of a file."""


class FileSystemPlace:
    """A path on a file system of fsspec.

    Args:
        filesystem: of fsspec.
        path: on it.
        address: as the user writes it.
    """

    def __init__(self, filesystem: Any, path: str, address: str) -> None:
        self._filesystem = filesystem
        self._path = path
        self._address = address.rstrip("/")

    @property
    def name(self) -> str:
        """The last part."""
        return PurePosixPath(self._path).name

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return bool(self._filesystem.isdir(self._path))

    def iterdir(self) -> Iterator[FileSystemPlace]:
        """What a folder holds."""
        for path in self._filesystem.ls(self._path, detail=False):
            name = PurePosixPath(path).name
            yield FileSystemPlace(self._filesystem, path, f"{self._address}/{name}")

    def open(self, mode: str) -> Any:
        """The content of a file."""
        return self._filesystem.open(self._path, mode)

    def __str__(self) -> str:
        return self._address


def place_of(source: Any) -> Any:
    """The place that a user means.

    Args:
        source: a path, an address, or anything with a path's methods, which is returned as it is. An address
            may name an Airflow connection (s3://connection@bucket/key). Without s3fs S3 is read by boto3.

    Raises:
        MissingResourceError: nothing installed reads such an address.
    """
    if not isinstance(source, str):
        return source
    local = source.removeprefix("file://").removeprefix("file:")
    if "://" not in local:
        return Path(local).expanduser()
    scheme, _, rest = local.partition("://")
    user, has_user, host = rest.partition("/")[0].rpartition("@")
    if f"{scheme}://" in _S3_SCHEMES and ":" in user:
        raise MissingResourceError(
            f"Nothing takes the credentials in the address {local!r}.",
            remedy="Name an Airflow connection that has them: s3://connection@bucket/key.",
        )
    if local.startswith(_S3_SCHEMES) and not _has_s3fs():
        return s3_place(local)
    if has_user and ":" not in user and not (scheme in _AZURE_SCHEMES and "." in host):
        from airflow.sdk import ObjectStoragePath

        # Hadoop calls "s3a" what everybody else calls "s3".
        return ObjectStoragePath(f"s3://{local[6:]}" if local.startswith("s3a://") else local)
    try:
        filesystem, path = filesystem_of(local)
    except ValueError as error:
        raise MissingResourceError(
            f"Nothing reads the address {local!r}: {error}.", remedy="Give another address of the event log."
        ) from error
    filesystem.invalidate_cache()
    return FileSystemPlace(filesystem, path, local)


def _has_s3fs() -> bool:
    from importlib.util import find_spec

    return find_spec("s3fs") is not None


# ---------------------------------------------------------------------------
# A path on S3 by boto3, which the amazon provider brings: s3fs cannot be installed beside its newest.


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
