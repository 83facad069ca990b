"""Files that are never seen half-written, on whatever storage a path object stands for."""

from __future__ import annotations

import errno
import os
import re
import secrets
from pathlib import Path
from typing import Any

NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""How file systems without hard links (FAT, some network file systems) refuse them."""
RANDOM_BYTES = 4
"""In the names of temporary files."""
TEMPORARY = re.compile(rf"\..+\.[0-9a-f]{{{2 * RANDOM_BYTES}}}")


def create_whole(path: Any, text: str) -> None:
    """Write a new file that appears whole or not at all, also when the machine dies meanwhile.

    On a local file system by a link to a file that is on the disk already; object stores promise as
    much of each write.

    Args:
        path: of a `pathlib.Path` or anything with its methods; its folder exists.
        text: written as UTF-8.

    Raises:
        FileExistsError: there is a file of that name.
        OSError: it cannot be written.
    """
    local = local_path(path)
    if local is not None:
        _create_locally(local, text)
    elif path.exists():
        raise FileExistsError(f"{path} exists")
    else:
        path.write_text(text, encoding="utf-8")


def is_temporary(name: str) -> bool:
    """Whether a file of that name is one that `create_whole` was still writing."""
    return TEMPORARY.fullmatch(name) is not None


def local_path(path: Any) -> Path | None:
    """The path on the local file system that a path object stands for, None where on another storage."""
    protocol = getattr(path, "protocol", None)
    if protocol is None:
        return path if isinstance(path, Path) else None
    # Object store paths, too, were of pathlib's classes before universal_pathlib 0.3.
    return Path(path.path) if protocol in {"", "file", "local"} else None


def _create_locally(path: Path, text: str) -> None:
    """By a temporary file, which is linked under its name only when its content is on the disk."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(RANDOM_BYTES)}")
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _name(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    # The new name is on the disk only when the directory is.
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _name(temporary: Path, path: Path) -> None:
    """Give the file its final name, unless that is taken."""
    try:
        path.hardlink_to(temporary)
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        if path.exists():
            raise FileExistsError(f"{path} exists") from error
        temporary.replace(path)


def move_whole(path: Any, target: Any) -> None:
    """Move a file to where there is none; at every moment it is whole in one of both places, or in both.

    Args:
        path: of a `pathlib.Path` or anything with its methods.
        target: on the same storage; its folder exists.

    Raises:
        FileExistsError: there is another file.
        FileNotFoundError: there is no file to move.
        OSError: it cannot be moved.
    """
    local, local_target = local_path(path), local_path(target)
    if local is not None and local_target is not None:
        _move_locally(local, local_target)
        return
    content = path.read_bytes()
    if not target.exists():
        target.write_bytes(content)
    elif target.read_bytes() != content:
        raise FileExistsError(f"{target} exists")
    path.unlink()


def _move_locally(path: Path, target: Path) -> None:
    try:
        target.hardlink_to(path)
    except FileExistsError:
        # Another process may be moving it at this moment.
        if not path.samefile(target):
            raise
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        if target.exists():
            raise FileExistsError(f"{target} exists") from error
        path.rename(target)
        return
    path.unlink(missing_ok=True)


def delete(path: Any) -> bool:
    """Delete a file; whether there was one.

    Raises:
        OSError: it cannot be deleted.
    """
    # Object stores delete what is not there without a word.
    if local_path(path) is None and not path.exists():
        return False
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True
