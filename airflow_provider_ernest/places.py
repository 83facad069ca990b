"""A file or a folder somewhere: local, on S3, by HTTP, or wherever fsspec can read.

`place_of` makes a path-like object of what a user names; its `entry` tells a change of a file without
reading it. boto3 reads S3 where s3fs is not installed, which cannot be beside the newest amazon provider.
Files in a ZIP have addresses by the rule of fsspec: zip://folder/file::s3://bucket/logs.zip.
"""

from __future__ import annotations

import os
import re
import shutil
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from stat import S_ISDIR, S_ISREG
from tempfile import TemporaryFile
from typing import Any, Protocol
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from airflow_provider_ernest.exceptions import MissingResourceError

HTTP_SCHEMES = ("http://", "https://")
_ABSENT_ON_S3 = {"404", "NoSuchKey", "NoSuchBucket", "NotFound"}
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]*:/")

_AZURE_SCHEMES = ("abfs", "abfss", "wasb", "wasbs")
"""Hadoop writes the container where Airflow has the connection: abfss://container@account.dfs.core..."""

_OF_HISTORY_SERVER = re.compile(r"^https?://.*/api/v1/applications/[^/]+(/[^/]+)?/logs$")
_IN_ZIP, _BETWEEN = "zip://", "::"

_SCHEMES_WITH_USERS = ("http", "https", "ftp", "hdfs", "webhdfs")
"""What stands before the host there is a user, and elsewhere an Airflow connection."""

_VERSION_KEYS = {
    *("etag", "versionid", "generation", "contentmd5", "md5hash", "crc32c", "digest"),
    *("lastmodified", "updated", "modified", "mtime", "created", "creationtime"),
}
"""What tells one content from the next, in the words of fsspec's file systems without case and separators."""


def filesystem_of(path: str) -> tuple[Any, str]:
    """The fsspec file system of a path, and the path in it; s3a, as Hadoop says, is read as s3.

    Raises a `MissingResourceError` where the scheme's library is missing, a ValueError for unknown schemes.
    """
    import fsspec

    address = _as_s3(path)
    try:
        filesystem, root = fsspec.url_to_fs(address)
    except ImportError as error:
        extra = ': pip install "airflow-provider-ernest[s3]"' if address.startswith("s3://") else ""
        raise MissingResourceError(
            f"The library that reads {path!r} cannot be imported: {str(error).rstrip('.')}.",
            remedy=f"Install it on the Airflow workers{extra}.",
        ) from error
    return filesystem, root


def _as_s3(address: str) -> str:
    return f"s3://{address[6:]}" if address.startswith("s3a://") else address


class Place(Protocol):
    """A path to read from; `pathlib.Path` and Airflow's `ObjectStoragePath` are such."""

    @property
    def name(self) -> str:
        """The last part."""

    def is_dir(self) -> bool:
        """Whether it is a folder."""

    def iterdir(self) -> Iterator[Any]:
        """What a folder holds."""

    def open(self, mode: str) -> Any:
        """The content of a file."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a listing tells of a file or a folder, without a request for each."""

    place: Any
    is_folder: bool = False
    is_file: bool = False  # whether it can be read; neither is a broken link, a pipe or a device
    size_bytes: int = 0  # 0 where the storage does not tell
    modified_at: float | None = None  # seconds since the epoch; None where the storage does not tell
    # changes with a file's content as far as the storage tells; empty where it does not. A folder has
    # the same one by whatever links it is reached
    version: str = ""


S3Clients = Callable[[str], Any]
"""Makes boto3's S3 client for an Airflow connection (empty: none is named); None leaves S3 to fsspec."""


class LocalPlace:
    """A path that this process's machine sees."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path).expanduser()

    @property
    def name(self) -> str:
        """The last part."""
        return self._path.name

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return self._path.is_dir()

    def entry(self) -> Entry:
        """What the file system tells of it; an OSError where it is not there."""
        return self._told(self._path.stat())

    def entries(self) -> Iterator[Entry]:
        """What a folder holds; links are followed."""
        with os.scandir(self._path) as found:
            for each in found:
                place = LocalPlace(each.path)
                try:
                    yield place._told(each.stat())
                except OSError:
                    yield Entry(place=place)

    def iterdir(self) -> Iterator[Any]:
        """The same as places alone."""
        return (each.place for each in self.entries())

    def _told(self, status: os.stat_result) -> Entry:
        is_folder = S_ISDIR(status.st_mode)
        # The time of the last change of the inode: copies can be given the time of the original.
        changed = "" if is_folder else f" {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
        return Entry(
            place=self,
            is_folder=is_folder,
            is_file=S_ISREG(status.st_mode),
            size_bytes=status.st_size,
            modified_at=status.st_mtime,
            version=f"{status.st_dev} {status.st_ino}{changed}",
        )

    def open(self, mode: str = "rb") -> AbstractContextManager[Any]:
        """The content of a file."""
        return self._path.open(mode)

    def __str__(self) -> str:
        return str(self._path)


class FileSystemPlace:
    """A path on a file system of fsspec, with its address as the user writes it."""

    def __init__(self, filesystem: Any, path: str, address: str) -> None:
        self._filesystem = filesystem
        self._path = path
        self._address = address.rstrip("/")
        self._is_http = address.startswith(HTTP_SCHEMES)

    @property
    def name(self) -> str:
        """The last part."""
        return PurePosixPath(self._path).name

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return bool(self._filesystem.isdir(self._path))

    def entry(self) -> Entry:
        """What the file system tells of it."""
        return self._told(self._filesystem.info(self._path))

    def entries(self) -> Iterator[Entry]:
        """What a folder holds."""
        for told in self._filesystem.ls(self._path, detail=True):
            path = told["name"]
            # The mark that some object stores set for a folder is in it.
            if path.rstrip("/") != self._path.rstrip("/"):
                address = f"{self._address}/{PurePosixPath(path).name}"
                yield FileSystemPlace(self._filesystem, path, address)._told(told)

    def iterdir(self) -> Iterator[Any]:
        """The same as places alone."""
        return (each.place for each in self.entries())

    def _told(self, told: Mapping[str, Any]) -> Entry:
        is_folder = told.get("type") == "directory"
        return Entry(
            place=self,
            is_folder=is_folder,
            is_file=not is_folder,
            size_bytes=int(told.get("size") or 0),
            modified_at=_modified_at(told),
            version="" if is_folder else version_of(told),
        )

    def open(self, mode: str = "rb") -> Any:
        """The content of a file; by HTTP in one answer, since not every server gives parts."""
        options = {"block_size": 0} if self._is_http else {}
        return self._filesystem.open(self._path, mode, **options)

    def __str__(self) -> str:
        return self._address


def place_of(source: Any, *, s3_clients: S3Clients | None = None) -> Any:
    """The place that a user names by a path or an address; what has a path's methods is returned as it is.

    Args:
        source: an address may name an Airflow connection (s3://connection@bucket/key).
        s3_clients: what reads S3; None for s3fs, and for boto3 where that is not installed.

    Raises:
        MissingResourceError: nothing installed reads such an address.
    """
    if not isinstance(source, str):
        return source
    local = local_path(source)
    if local is not None:
        return LocalPlace(local)
    if source.startswith(_IN_ZIP):
        inside, _, archive = source.removeprefix(_IN_ZIP).partition(_BETWEEN)
        return ZipPlace(Archive(place_of(archive, s3_clients=s3_clients)), inside)
    if source.startswith(("s3://", "s3a://")):
        by_boto3 = _s3_place(source, s3_clients)
        if by_boto3:
            return by_boto3
    try:
        filesystem, path = _connected(source) or filesystem_of(source)
    except ValueError as error:
        raise MissingResourceError(
            f"No library reads the address {source!r}: {error}.", remedy="Give another address."
        ) from error
    filesystem.invalidate_cache()
    return FileSystemPlace(filesystem, path, source)


def local_path(path: str) -> str | None:
    """The path on this machine; None of an address, which Hadoop writes with one slash, too (hdfs:/lib)."""
    if path.startswith("file:"):
        return path.removeprefix("file://").removeprefix("file:")
    return None if _ADDRESS.match(path) else path


def _connected(address: str) -> tuple[Any, str] | None:
    """The file system of the Airflow connection that an address names, with the path on it."""
    scheme, _, rest = address.partition("://")
    connection, _, host = rest.partition("/")[0].rpartition("@")
    # With a colon it is a name and a password, which fsspec takes.
    is_user = ":" in connection or scheme in _SCHEMES_WITH_USERS
    if not connection or is_user or (scheme in _AZURE_SCHEMES and "." in host):
        return None
    from airflow.sdk import ObjectStoragePath

    path = ObjectStoragePath(_as_s3(address))
    return path.fs, path.path


def _s3_place(address: str, clients: S3Clients | None) -> FileSystemPlace | None:
    """The place at s3://[connection@]bucket/key by boto3; None where s3fs reads it."""
    where, _, key = address.partition("://")[2].partition("/")
    connection, _, bucket = where.rpartition("@")
    if ":" in connection:
        raise MissingResourceError(
            f"The address {f's3://...@{bucket}/{key}'!r} contains credentials, which are not used.",
            remedy="Name an Airflow connection that has them: s3://connection@bucket/key.",
        )
    if not bucket:
        raise MissingResourceError(
            f"The address {address!r} names no bucket.", remedy="Write s3://bucket/key."
        )
    client = clients(connection) if clients else None
    if client is None and find_spec("s3fs") is None:
        client = boto3_client(connection, address)
    if client is None:
        return None
    return FileSystemPlace(S3ByBoto3(client), f"{bucket}/{key.strip('/')}".rstrip("/"), _as_s3(address))


def boto3_client(connection: str, address: str) -> Any:
    """A client of S3, by the Airflow connection where one is named."""
    try:
        if connection:
            from airflow.providers.amazon.aws.hooks.s3 import S3Hook

            return S3Hook(aws_conn_id=connection).get_conn()
        import boto3
    except ImportError as error:
        raise MissingResourceError(
            f"The library that reads {address!r} cannot be imported: {error}.",
            remedy='Install it: pip install "airflow-provider-ernest[s3]", or [ec2] for boto3.',
        ) from error
    return boto3.client("s3")


class S3ByBoto3:
    """As much of a file system of fsspec as `FileSystemPlace` asks for; its paths are bucket/key."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def invalidate_cache(self) -> None:
        """Nothing is kept."""

    def isdir(self, path: str) -> bool:
        """Whether it is a bucket, or any key begins with this one and a slash."""
        bucket, _, key = path.partition("/")
        if not key:
            return True
        with _absence_told(path):
            found = self._client.list_objects_v2(Bucket=bucket, Prefix=f"{key}/", MaxKeys=1)
        return bool(found.get("KeyCount"))

    def info(self, path: str) -> dict[str, Any]:
        """What S3 tells of an object, by a HEAD request; where there is none it may be a folder."""
        bucket, _, key = path.partition("/")
        try:
            if key:
                with _absence_told(path):
                    told = self._client.head_object(Bucket=bucket, Key=key)
                return _object(path, told, told["ContentLength"])
        except FileNotFoundError:
            if not self.isdir(path):
                raise
        return {"name": path, "type": "directory"}

    def ls(self, path: str, *, detail: bool) -> Iterator[dict[str, Any]]:
        """What a folder holds, by one request for a thousand of them."""
        bucket, _, key = path.partition("/")
        prefix = f"{key}/" if key else ""
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Prefix=prefix, Delimiter="/"
        )
        for page in pages:
            for each in page.get("Contents", ()):
                yield _object(f"{bucket}/{each['Key']}", each, each["Size"])
            for each in page.get("CommonPrefixes", ()):
                yield {"name": f"{bucket}/{each['Prefix'].rstrip('/')}", "type": "directory"}

    def open(self, path: str, mode: str) -> AbstractContextManager[Any]:
        """The content, as it arrives; `mode` is always to read bytes."""
        bucket, _, key = path.partition("/")
        with _absence_told(path):
            body = self._client.get_object(Bucket=bucket, Key=key)["Body"]
        # As a context manager it would give what lies below it, which does not miss bytes that never came.
        return closing(body)


def _object(path: str, told: Mapping[str, Any], size: int) -> dict[str, Any]:
    """An object in fsspec's words, by what a listing tells of it, too."""
    return {"name": path, "size": size, "ETag": told.get("ETag"), "LastModified": told.get("LastModified")}


@contextmanager
def _absence_told(path: str) -> Iterator[None]:
    from botocore.exceptions import ClientError

    try:
        yield
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in _ABSENT_ON_S3:
            raise FileNotFoundError(f"there is no such object: s3://{path}") from error
        raise


class Archive:
    """A ZIP, opened once for all that is read of it, and closed when nothing refers to it any more."""

    def __init__(self, place: Any) -> None:
        self.place = place

    @cached_property
    def content(self) -> ZipFile:
        """The opened ZIP. Its list of files is at its end: a stream that cannot seek is copied first."""
        with ExitStack() as stack:
            file: Any = stack.enter_context(self.place.open("rb"))
            try:  # What comes by HTTP says that it can seek, and cannot.
                file.seek(0, os.SEEK_END)
                file.seek(0)
            except (OSError, ValueError):
                copy = stack.enter_context(TemporaryFile())
                shutil.copyfileobj(file, copy)
                file = copy
            opened = stack.enter_context(ZipFile(file))
            weakref.finalize(self, stack.pop_all().close)
        return opened

    @cached_property
    def folders(self) -> frozenset[str]:
        """The paths of its folders, which need not be in its list by themselves."""
        names = self.content.namelist()
        return frozenset(str(folder) for name in names for folder in PurePosixPath(f"{name}x").parents)

    @cached_property
    def state(self) -> tuple[str, float | None]:
        """What changes with its file, and when that was written."""
        told: Entry = self.place.entry()
        return told.version, told.modified_at


class ZipPlace:
    """A file or a folder in a ZIP; with an empty path the whole archive."""

    def __init__(self, archive: Archive, path: str = "") -> None:
        self._archive = archive
        self._path = path.strip("/")

    @property
    def name(self) -> str:
        """The last part."""
        return self._path.rpartition("/")[2]

    def is_dir(self) -> bool:
        """Whether it holds others."""
        return not self._path or self._path in self._archive.folders

    def iterdir(self) -> Iterator[ZipPlace]:
        """What a folder holds; the archive may be a path without `entry`."""
        start = f"{self._path}/" if self._path else ""
        names = self._archive.content.namelist()
        inside = (name.removeprefix(start).partition("/")[0] for name in names if name.startswith(start))
        for name in filter(None, dict.fromkeys(inside)):
            yield ZipPlace(self._archive, f"{start}{name}")

    def entry(self) -> Entry:
        """What the ZIP tells of it; a FileNotFoundError where it is not in there."""
        if self.is_dir():
            return Entry(place=self, is_folder=True)
        try:
            told = self._archive.content.getinfo(self._path)
        except KeyError as error:
            raise FileNotFoundError(f"there is no such file in the ZIP: {self._path}") from error
        version, modified_at = self._archive.state
        return Entry(
            place=self,
            is_file=True,
            size_bytes=told.compress_size if told.file_size else 0,
            modified_at=modified_at,
            version=f"{version} crc={told.CRC}",
        )

    def entries(self) -> Iterator[Entry]:
        """What a folder holds."""
        return (place.entry() for place in self.iterdir())

    def open(self, mode: str = "rb") -> Any:
        """The content of a file; `mode` is always to read bytes.

        Raises:
            MissingResourceError: its compression may unpack a small piece to all memory.
        """
        if self._archive.content.getinfo(self._path).compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise MissingResourceError(
                f"{self} is not compressed by Deflate, as ZIPs of event logs are.", remedy="Unpack the ZIP."
            )
        return self._archive.content.open(self._path)

    def __str__(self) -> str:
        return f"{_IN_ZIP}{self._path}{_BETWEEN}{self._archive.place}"


def is_zip(place: Place) -> bool:
    """Whether it is a ZIP, by its name or as Spark's history server gives event logs."""
    return place.name.endswith(".zip") or bool(_OF_HISTORY_SERVER.match(str(place)))


_MODIFIED_KEYS = ("mtime", "LastModified", "last_modified", "updated", "modified", "modificationTime")


def _modified_at(told: Mapping[str, Any]) -> float | None:
    """When a file was written last, in seconds since the epoch; None where that is not told as a moment."""
    moment = next((told[key] for key in _MODIFIED_KEYS if told.get(key)), None)
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            return None
    if isinstance(moment, datetime):
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    # HDFS counts milliseconds.
    return None if not isinstance(moment, int | float) else moment / (1000 if moment > 1e11 else 1)


def version_of(told: Mapping[str, Any]) -> str:
    """What of a storage's answer changes with the file's content; empty where nothing does."""
    plain = {key.lower().replace("-", "").replace("_", ""): value for key, value in told.items()}
    versions = [f"{key}={plain[key]}" for key in sorted(_VERSION_KEYS & plain.keys()) if plain[key]]
    return " ".join([f"size={plain.get('size')}", *versions]) if versions else ""
