"""Where an event log lies: anything with a path's methods, whatever it is given as."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.spark.file_systems import filesystem_of

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
        from airflow_provider_ernest.spark.log_reading.s3_place import s3_place

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
