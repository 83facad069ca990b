"""Temporary files that killed writers left in a store. Nobody reads them, and nothing is lost with them.

Neither readers nor writers sweep them: they would have to tell them from those of writers at work, and each
killed writer leaves one small file at most. `ernest store prune` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_provider_ernest.model.storage.catalogue import FOLDER
from airflow_provider_ernest.model.storage.stored_files import changed_at, files, store_errors
from airflow_provider_ernest.model.storage.whole_files import is_temporary, local_path

SAFE_AGE = timedelta(hours=1)
"""No writer takes that long for a file."""
DEEPEST = 3
"""Folders that a document lies in under the root."""


def leftovers(root: Any, older_than: timedelta = SAFE_AGE) -> list[Any]:
    """The paths of the temporary files in a store that have not been written to for so long, by name.

    On an object store there are none: what is written there appears whole.

    Raises:
        StoreError: the store cannot be listed.
    """
    if local_path(root) is None:
        return []
    newest = datetime.now(UTC) - older_than
    with store_errors(f"What killed writers left in {root} cannot be listed"):
        found = [*_temporary_files(root, DEEPEST), *_temporary_files(root / FOLDER, 0)]
        return [path for path in found if _is_before(path, newest)]


def _temporary_files(folder: Any, depth: int) -> Iterator[Any]:
    if not folder.is_dir():
        return
    yield from sorted(
        (path for path in folder.iterdir() if is_temporary(str(path.name))), key=lambda path: str(path.name)
    )
    if depth:
        for inner in sorted(files(folder), key=lambda path: str(path.name)):
            # Beside the folders of documents lie models, by far the most: they are no folders.
            if depth > 1 or not str(inner.name).endswith(".json"):
                yield from _temporary_files(inner, depth - 1)


def _is_before(path: Any, newest: datetime) -> bool:
    try:
        changed = changed_at(path)
    except FileNotFoundError:
        return False
    return changed is not None and changed <= newest
