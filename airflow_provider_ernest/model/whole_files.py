"""Files that are never seen half-written, on whatever storage a path object stands for."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path
from typing import Any

NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""How file systems without hard links (FAT, some network file systems) refuse them."""


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
    local = _local_path(path)
    if local is not None:
        _create_locally(local, text)
    elif path.exists():
        raise FileExistsError(f"{path} exists")
    else:
        path.write_text(text, encoding="utf-8")


def _local_path(path: Any) -> Path | None:
    """The path on the local file system that a path object stands for, None where on another storage."""
    protocol = getattr(path, "protocol", None)
    if protocol is None:
        return path if isinstance(path, Path) else None
    # Object store paths, too, were of pathlib's classes before universal_pathlib 0.3.
    return Path(path.path) if protocol in {"", "file", "local"} else None


def _create_locally(path: Path, text: str) -> None:
    """By a temporary file, which is linked under its name only when its content is on the disk."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
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
