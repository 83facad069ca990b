"""Files of a store on any storage: how they are named and listed, and what goes wrong with them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import msgspec

from airflow_provider_ernest.exceptions import (
    ErnestError,
    InvalidDocumentError,
    InvalidParameterError,
    StoreError,
)
from airflow_provider_ernest.model.storage.whole_files import local_path

LONGEST_NAME = 200
"""File systems allow 255 bytes; some are left for the suffix and for a temporary name."""
UNTOUCHED = timedelta(seconds=60)
"""A file that was written to more recently may still be growing: copying programs, unlike this package, write
a file under its final name. They set its time of modification to the original's only when it is whole."""


@contextmanager
def store_errors(problem: str) -> Iterator[None]:
    """Make store errors that begin with the problem of whatever goes wrong with files or a storage's library.

    Other errors of this package pass: they tell of the user's values, and how to change them.
    """
    try:
        yield
    except (OSError, InvalidDocumentError) as error:
        raise StoreError(
            f"{problem}: {error}", remedy="Check the store's path, its permissions and its content."
        ) from error
    except ErnestError:
        raise
    except ImportError as error:
        raise StoreError(
            f"{problem}: {error}.",
            remedy="Install the package for this kind of storage, such as s3fs for s3:// and gcsfs for gs://.",
        ) from error
    # The libraries behind object stores raise errors of their own.
    except Exception as error:
        raise StoreError(
            f"{problem}: {type(error).__name__}: {error}",
            remedy="Check the store's address, the connection that it names and what that may do.",
        ) from error


def safe_name(parameter: str, name: str) -> str:
    """One path segment that no other name maps to, on any storage: no separators, never "." or ".."."""
    if not name:
        raise InvalidParameterError(parameter, name, "is empty", remedy="Give it a name.")
    encoded = quote(name, safe="", errors="surrogatepass")
    if encoded.startswith("."):
        encoded = "%2E" + encoded[1:]
    if len(encoded) > LONGEST_NAME:
        digest = hashlib.sha256(encoded.encode("ascii")).hexdigest()
        encoded = f"{encoded[: LONGEST_NAME - len(digest) - 1]}-{digest}"
    return encoded


def decode_json(text: str) -> Any:
    """What the JSON text says.

    Raises:
        InvalidDocumentError: it is no JSON.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidDocumentError(f"This is not JSON: {error}") from error


def files(folder: Any) -> list[Any]:
    """What the folder holds now, without files that are still being written; nothing where there is none."""
    forget_listing(folder)
    try:
        return _files(folder)
    except (FileNotFoundError, NotADirectoryError):
        # Another process may have made the folder just now.
        return _files(folder) if folder.exists() else []


def forget_listing(folder: Any) -> None:
    """Let a storage ask anew what a folder holds: those of object stores remember listings.

    They would never show what others write, nor that a file of theirs is there.
    """
    file_system = _file_system(folder)
    if file_system is not None:
        file_system.invalidate_cache(folder.path)


def changed_at(path: Any) -> datetime | None:
    """When the content of a file was last written; None where the storage does not tell.

    Raises:
        OSError: there is no such file.
    """
    local = local_path(path)
    if local is not None:
        return datetime.fromtimestamp(local.stat().st_mtime, UTC)
    try:
        changed = _file_system(path).modified(path.path)
    except OSError:
        raise
    # Each storage's library says in a way of its own that it does not know.
    except Exception:
        return None
    return changed if isinstance(changed, datetime) and changed.tzinfo else None


def is_settled(path: Any) -> bool:
    """Whether a file has not been written to for a while, or is not there any more; also where nobody knows.

    Raises:
        OSError: that cannot be seen.
    """
    try:
        changed = changed_at(path)
    except FileNotFoundError:
        return True
    return changed is None or datetime.now(UTC) - changed >= UNTOUCHED


def _file_system(path: Any) -> Any:
    """That of fsspec behind a path of an object store; None for others."""
    # Airflow's paths stand before those that do the work, with file systems of their own.
    return getattr(getattr(path, "__wrapped__", path), "fs", None)


def is_whole_json(content: bytes) -> bool:
    """Whether that is the whole of some JSON text. What is nested too deeply to be read counts as whole."""
    try:
        msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeError):
        return False
    except RecursionError:
        return True
    return True


def _files(folder: Any) -> list[Any]:
    return [path for path in folder.iterdir() if not str(path.name).startswith(".")]
