"""Damaged files of a store: torn in the middle of their JSON, or changed since they were stored.

They are moved to a folder of their own under the store's root, with the folders that they lay in:
``root / .set-aside / job / instance type / file``. Nothing there is ever overwritten or read as a document,
and a name that starts with a dot is no job's.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow_provider_ernest.model.storage.digests import damage_in
from airflow_provider_ernest.model.storage.stored_files import (
    changed_at,
    files,
    is_settled,
    store_errors,
)
from airflow_provider_ernest.model.storage.whole_files import local_path, move_whole

log = logging.getLogger(__name__)

FOLDER = ".set-aside"
SUFFIX = ".json"
DEEPEST = 4
"""Folders that a document lies under at most: its job's, its instance type's, its shelf's."""
NAME = re.compile(r"(?P<original>.+\.json)(\.[0-9a-f]{8})?")


@dataclass(frozen=True, kw_only=True)
class SetAside:
    """A file that was set aside.

    Attributes:
        path: where it lies.
        original: where it lay.
        problem: what is wrong with it, and what to do about that.
        at: when it was set aside, as the storage tells: ISO 8601 with UTC offset; empty where it does not.
    """

    path: Any
    original: Any
    problem: str
    at: str


def set_aside_if_damaged(root: Any, path: Any) -> bool:
    """Set a file aside if it is torn, or does not agree with its digest. Never raises.

    Args:
        root: the store's.
        path: of a file that could not be read as a document.

    Returns:
        Whether it is gone: this process or another one has set it aside.
    """
    # A storage's library may raise anything; the file is then left where it is, as on a read-only storage.
    try:
        if not str(path.name).endswith(SUFFIX):
            return False
        content = path.read_bytes()
        if not damage_in(content) or not is_settled(path):
            return False
        target = set_aside(root, path, _problem(content))
        if not damage_in(target.read_bytes()):
            # Somebody has put a whole file there between reading and moving it.
            move_whole(target, path)
            return False
        return True
    except FileNotFoundError:
        return True
    except Exception as error:
        log.info("%s is damaged and cannot be moved: %s", path, error)
        return False


def set_aside(root: Any, path: Any, problem: str) -> Any:
    """Move a file of a store out of the way of its readers, and say so in a warning in the log.

    Args:
        root: the store's.
        path: the file's.
        problem: what is wrong with it, as a sentence.

    Returns:
        Its new path.

    Raises:
        FileNotFoundError: it is not there any more.
        OSError: it cannot be moved.
    """
    folders: list[str] = []
    folder = path.parent
    while folder != root and len(folders) < DEEPEST:
        folders.append(str(folder.name))
        folder = folder.parent
    target_folder = root / FOLDER
    for name in reversed(folders):
        target_folder = target_folder / name
    target_folder.mkdir(parents=True, exist_ok=True)
    target = target_folder / str(path.name)
    while True:
        try:
            move_whole(path, target)
            break
        except FileExistsError:
            target = target_folder / f"{path.name}.{secrets.token_hex(4)}"
    log.warning("%s was set aside: %s It is now %s; `ernest store` lists it.", path, problem, target)
    return target


def list_set_aside(root: Any) -> list[SetAside]:
    """All files that were set aside, by name.

    Raises:
        StoreError: they cannot be listed.
    """
    with store_errors(f"What was set aside in {root} cannot be listed"):
        return [_described(root, parts, path) for parts, path in _below(root / FOLDER, ())]


def _below(folder: Any, parts: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for path in sorted(files(folder), key=lambda path: str(path.name)):
        if len(parts) < DEEPEST and path.is_dir():
            yield from _below(path, (*parts, str(path.name)))
        else:
            yield parts, path


def _described(root: Any, parts: tuple[str, ...], path: Any) -> SetAside:
    original = root
    for part in parts:
        original = original / part
    name = NAME.fullmatch(str(path.name))
    original = original / (name["original"] if name else str(path.name))
    try:
        problem = _problem(path.read_bytes())
    except OSError as error:
        problem = f"It cannot be read: {error}."
    return SetAside(path=path, original=original, problem=problem, at=_moved_at(path))


def _moved_at(path: Any) -> str:
    local = local_path(path)
    try:
        # A move leaves the time of modification, and changes that of the directory entry.
        moved = datetime.fromtimestamp(local.stat().st_ctime, UTC) if local is not None else changed_at(path)
    except OSError:
        return ""
    return moved.isoformat() if moved else ""


def _problem(content: bytes) -> str:
    damage = damage_in(content)
    if not damage:
        return "It is whole now. Move it back to where it lay, and delete the catalogue: it is made again."
    return f"{damage} Import a whole copy if you have one (`ernest store import`), and delete it."
