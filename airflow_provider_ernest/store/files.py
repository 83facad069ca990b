"""Files of a store on any storage: how they are named and listed, and what goes wrong with them."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from inspect import signature
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from airflow_provider_ernest.exceptions import (
    ErnestError,
    InvalidDocumentError,
    InvalidParameterError,
    StoreError,
)

# ---------------------------------------------------------------------------
# Files that are never seen half-written, on whatever storage a path object stands for.


_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""How file systems without hard links (FAT, some network file systems) refuse them."""


def _unused(name: str) -> str:
    """A file's name that nobody else uses."""
    return f"{name}.{secrets.token_hex(4)}"


def create_whole(path: Any, text: str) -> None:
    """Write a new file (UTF-8) that appears whole or not at all, also when the machine dies meanwhile.

    On a local file system by a link to a file that is on the disk already; object stores promise as much of
    each write. The folder must exist. A FileExistsError where there is a file of that name.
    """
    local = local_path(path)
    if local is not None:
        _create_locally(local, text)
    elif path.exists():
        raise FileExistsError(f"{path} exists")
    else:
        path.write_text(text, encoding="utf-8")


def replace_whole(path: Any, text: str) -> None:
    """Write a file that can be made again, in place of an earlier one; nobody ever sees half of it.

    It does not wait for the disk: after a loss of power the file may be gone or torn.
    """
    local = local_path(path)
    if local is None:
        path.write_text(text, encoding="utf-8")
        return
    temporary = local.with_name(_unused(f".{local.name}"))
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(local)
    finally:
        temporary.unlink(missing_ok=True)


def local_path(path: Any) -> Path | None:
    """The path on the local file system that a path object stands for, None where on another storage."""
    protocol = getattr(path, "protocol", None)
    if protocol is None:
        return path if isinstance(path, Path) else None
    # Object store paths, too, were of pathlib's classes before universal_pathlib 0.3.
    return Path(path.path) if protocol in {"", "file", "local"} else None


def create_exclusively(path: Any, text: str) -> None:
    """As `create_whole`, for files that decide who is first: of several writers at once all but one fail.

    Raises:
        FileExistsError: there is a file of that name, or another writer has just begun one.
        StoreError: the storage has no safe way to exclude others.
    """
    local, file_system = local_path(path), _file_system(path)
    if local is not None:
        _create_locally(local, text, is_exclusive=True)
        return
    # Those of fsspec's storages that do not take it look first, and write then.
    if "mode" not in signature(getattr(type(file_system), "_pipe_file", replace_whole)).parameters:
        raise _no_exclusion(path, "cannot exclude other writers")
    _pipe_first(file_system, path, text)
    # A server that passes over conditions lets anybody be first, and again.
    with suppress(FileExistsError):
        _pipe_first(file_system, path, text)
        raise _no_exclusion(path, "does not heed the conditions of writes")


def _pipe_first(file_system: Any, path: Any, text: str) -> None:
    try:
        file_system.pipe_file(path.path, text.encode("utf-8"), mode="create")
    except OSError as error:
        if error.errno == errno.EBUSY:  # S3's answer to writers at the same moment
            raise FileExistsError(f"{path} is being written") from error
        if error.errno == errno.EINVAL:  # of servers that refuse conditions
            raise _no_exclusion(path, "refuses conditions of writes") from error
        raise


def _no_exclusion(path: Any, why: str) -> StoreError:
    return StoreError(
        f"The storage of {path} {why}.", remedy="A local file system with hard links can, and S3 of Amazon."
    )


def _create_locally(path: Path, text: str, *, is_exclusive: bool = False) -> None:
    """By a temporary file, which is linked under its name only when its content is on the disk."""
    temporary = path.with_name(_unused(f".{path.name}"))
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            path.hardlink_to(temporary)
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            if path.exists():
                raise FileExistsError(f"{path} exists") from error
            if is_exclusive:
                raise _no_exclusion(path, "has no hard links") from error
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    # The new name is on the disk only when the directory is.
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def delete(path: Any) -> bool:
    """Delete a file; whether there was one."""
    # Object stores delete what is not there without a word.
    if local_path(path) is None and not path.exists():
        return False
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True


LONGEST_NAME = 200
"""File systems allow 255 bytes; some are left for the suffix and for a temporary name."""


@contextmanager
def store_errors(problem: str) -> Iterator[None]:
    """Make a `StoreError`, which begins with the problem, of whatever goes wrong with files or storage.

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
    """Decode JSON; an `InvalidDocumentError` where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidDocumentError(f"This is not JSON: {error}") from error


def files(folder: Any) -> list[Any]:
    """What the folder holds now, without files that are still being written; nothing where there is none."""
    forget_listing(folder)
    try:
        found = list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        # Another process may have made the folder just now.
        found = list(folder.iterdir()) if folder.exists() else []
    return [path for path in found if not str(path.name).startswith(".")]


def forget_listing(folder: Any) -> None:
    """Drop what a storage remembers of a folder: a cached listing hides what others write."""
    file_system = _file_system(folder)
    if file_system is not None:
        file_system.invalidate_cache(folder.path)


def _file_system(path: Any) -> Any:
    """That of fsspec behind a path of an object store; None for others."""
    # Airflow's paths stand before those that do the work, with file systems of their own.
    return getattr(getattr(path, "__wrapped__", path), "fs", None)


def files_below(folder: Any, *, depth: int) -> list[str]:
    """The names of all files in a folder and those below it, such as "production/1.json" with a depth of 2.

    Names that begin with a dot, of folders or files, are left out; nothing where there is no such folder. An
    object store is asked once for all of it.
    """
    local = local_path(folder)
    if local is not None:
        return list(_local_files_below(str(local), "", depth))
    file_system = _file_system(folder)
    file_system.invalidate_cache(folder.path)
    prefix = f"{str(folder.path).rstrip('/')}/"
    paths = map(str, file_system.find(folder.path))
    names = [path.removeprefix(prefix) for path in paths if path.startswith(prefix)]
    hidden = re.compile(r"(^|/)(\.|/|$)")
    return [name for name in names if name.count("/") < depth and not hidden.search(name)]


def _local_files_below(folder: str, prefix: str, depth: int) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if not entry.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in found:
        if not entry.is_dir():
            yield prefix + entry.name
        elif depth > 1:
            yield from _local_files_below(entry.path, f"{prefix}{entry.name}/", depth - 1)


Part = TypeVar("Part")
Result = TypeVar("Result")


def in_threads(work: Callable[[Part], Result], parts: Sequence[Part], *, most: int) -> list[Result]:
    """The results of some work for each part, in the order of the parts, so many at most at a time.

    Not by an executor of `concurrent.futures`: storage may never answer, and the interpreter waits for an
    executor's threads when it ends. This pool's are daemons.
    """
    if not parts:
        return []
    with ThreadPool(min(most, len(parts))) as pool:
        return list(pool.imap(work, parts))
