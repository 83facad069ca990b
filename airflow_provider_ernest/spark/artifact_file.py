"""A file of an application wherever it lies: what its storage says of it, and its content, piece by piece."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from stat import S_ISREG
from typing import Any, Protocol

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.spark.file_systems import filesystem_of

S3_SCHEMES = ("s3://", "s3a://")
_HTTP_SCHEMES = ("http://", "https://")
_GONE = (404, 410)
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]*:/")

_VERSION_KEYS = {
    "etag",
    "versionid",
    "generation",
    "contentmd5",
    "md5hash",
    "crc32c",
    "digest",
    "lastmodified",
    "updated",
    "modified",
    "mtime",
    "created",
    "creationtime",
}
"""What tells one content from the next, in the words of fsspec's file systems without case and separators."""


class ArtifactFile(Protocol):
    """A file that can be watched."""

    def probe(self) -> str:
        """What its storage says of it without reading it; empty where that cannot tell a change.

        Raises:
            FileNotFoundError: it is not there.
            Exception: whatever the storage's library raises where it cannot be asked.
        """

    def open(self) -> AbstractContextManager[Any]:
        """Its content, to be read in pieces.

        Raises:
            FileNotFoundError: it is not there.
            Exception: whatever the storage's library raises where it cannot be asked.
        """


OpenS3 = Callable[[str], ArtifactFile | None]
"""The file at an s3 address by other means than s3fs, None where there are none."""


class LocalFile:
    """A file that this process's machine sees."""

    def __init__(self, path: str) -> None:
        self._path = Path(path).expanduser()

    def probe(self) -> str:
        """Size, times and inode: of the file that a link leads to."""
        status = self._path.stat()
        if not S_ISREG(status.st_mode):
            raise IsADirectoryError(f"{self._path} is no file")
        # The time of the last change of the inode: copies can be given the time of the original.
        return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"

    def open(self) -> AbstractContextManager[Any]:
        """The file, unbuffered: it is read in large pieces."""
        return self._path.open("rb", buffering=0)


class RemoteFile:
    """A file that fsspec reads.

    Raises:
        MissingResourceError: nothing installed reads this scheme.
    """

    def __init__(self, path: str) -> None:
        try:
            self._filesystem, self._place = filesystem_of(path)
        except ValueError as error:
            raise MissingResourceError(
                f"Nothing reads the application {path!r}: {error}.", remedy="Give another address of it."
            ) from error
        self._is_http = path.startswith(_HTTP_SCHEMES)

    def probe(self) -> str:
        """What the file system tells of its content, such as an ETag, and its size."""
        # Those of object stores remember what they have been told.
        self._filesystem.invalidate_cache()
        try:
            told = self._filesystem.info(self._place)
        except FileNotFoundError as error:
            # That of HTTP says so whatever was wrong.
            if self._is_http and error.__cause__ and getattr(error.__cause__, "status", None) not in _GONE:
                raise ConnectionError(f"{type(error.__cause__).__name__}: {error.__cause__}") from error
            raise
        if told.get("type") == "directory":
            raise IsADirectoryError(f"{self._place} is no file")
        return probe_of(told)

    def open(self) -> AbstractContextManager[Any]:
        """The content; by HTTP in one answer, since not every server gives parts."""
        options = {"block_size": 0} if self._is_http else {}
        opened: AbstractContextManager[Any] = self._filesystem.open(self._place, "rb", **options)
        return opened


def probe_of(told: Mapping[str, Any]) -> str:
    """The part of what a storage tells of a file that changes with its content; empty where none does."""
    plain = {key.lower().replace("-", "").replace("_", ""): value for key, value in told.items()}
    versions = [f"{key}={plain[key]}" for key in sorted(_VERSION_KEYS & plain.keys()) if plain[key]]
    return " ".join([f"size={plain.get('size')}", *versions]) if versions else ""


def local_path(path: str) -> str | None:
    """The path on this machine; None of an address, which Hadoop writes with one slash, too (hdfs:/lib)."""
    if path.startswith("file:/"):
        return path.removeprefix("file://").removeprefix("file:")
    return None if _ADDRESS.match(path) else path


def artifact_file(path: str, *, open_s3: OpenS3 | None = None) -> ArtifactFile:
    """The file at a path or address.

    Args:
        path: local, or of any scheme that fsspec knows.
        open_s3: what reads from S3; None for fsspec.

    Raises:
        MissingResourceError: nothing installed reads this scheme.
    """
    local = local_path(path)
    if local is not None:
        return LocalFile(local)
    by_other_means = open_s3(path) if open_s3 is not None and path.startswith(S3_SCHEMES) else None
    return by_other_means or RemoteFile(path)
