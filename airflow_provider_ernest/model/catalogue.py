"""The catalogue: what a store holds, listed without reading all of its files.

It lies in a folder of the store's root whose name no job's folder has. It is made of the documents and can
be made again: where it is missing, as in stores that an earlier version of this package wrote, they
are read one by one, and the first writer writes it. So a damaged one may be deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from threading import Lock
from typing import Any

import msgspec

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.model.catalogue_entry import (
    DECISION,
    MODEL,
    PRODUCTION_RUN,
    CatalogueEntry,
    entry_of,
)
from airflow_provider_ernest.model.merged_lines import MergedLines
from airflow_provider_ernest.model.stored_documents import SHELVES, Shelf, decode_json, files, store_errors

__all__ = ["DECISION", "MODEL", "PRODUCTION_RUN", "Catalogue", "CatalogueEntry", "entry_of"]

log = logging.getLogger(__name__)

FOLDER = ".catalogue"


class Catalogue:
    """Entries of all models, decisions and production runs in a store.

    Any number of threads and processes may add and read at once. An object reads each file once: keep
    one where the entries are read often.

    Args:
        root: the store's, a `pathlib.Path` or anything with its methods.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self._lines = MergedLines(root / FOLDER, _read)
        self._entries: dict[tuple[str, ...], CatalogueEntry] = {}
        self._scanned: set[str] = set()
        self._lock = Lock()

    def add(self, entry: CatalogueEntry) -> None:
        """Add an entry; adding it again is allowed. Its document must be in the store already.

        Raises:
            StoreError: it cannot be written.
        """
        line = _line(entry)
        with store_errors(f"The catalogue in {self._lines.folder} cannot be written"):
            if self._lines.has_segments():
                self._lines.add(f"{entry.id}-{entry.kind}", line)
                return
            before = [_line(other) for other in _scan(self.root, set()) if other.key != entry.key]
            self._lines.write_segment([*before, line])

    def entries(self) -> list[CatalogueEntry]:
        """All entries, oldest first.

        A file that cannot be read is skipped with a warning in the log, which names it.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._lock, store_errors(f"The catalogue in {self._lines.folder} cannot be read"):
            for entry in self._lines.news():
                self._entries.setdefault(entry.key, entry)
            if not self._lines.has_read_segments():
                for entry in _scan(self.root, self._scanned):
                    self._entries.setdefault(entry.key, entry)
            return [self._entries[key] for key in sorted(self._entries)]


def _line(entry: CatalogueEntry) -> str:
    try:
        line = msgspec.json.encode(entry.to_dict()).decode("utf-8")
    except UnicodeEncodeError as error:
        raise StoreError(f"The entry of {entry.kind} {entry.id!r} cannot be written: {error}") from error
    return line


def _read(line: str) -> CatalogueEntry:
    return CatalogueEntry.from_dict(decode_json(line))


def _scan(root: Any, known: set[str]) -> Iterator[CatalogueEntry]:
    """The entries of all documents in the store whose paths are not known yet; they are so afterwards."""
    for job_folder in files(root):
        if not job_folder.is_dir():
            continue
        for type_folder in files(job_folder):
            if not type_folder.is_dir():
                continue
            for shelf in SHELVES:
                yield from _scan_shelf(root, shelf, type_folder, known)


def _scan_shelf(root: Any, shelf: Shelf[Any], type_folder: Any, known: set[str]) -> Iterator[CatalogueEntry]:
    for path in shelf.newest_first(type_folder):
        if str(path) in known:
            continue
        document = shelf.read_or_skip(path)
        known.add(str(path))
        if document is None:
            continue
        # File systems that do not tell upper from lower case keep the first name of a folder.
        if str(path).casefold() != str(shelf.path_of(root, document)).casefold():
            log.warning("Skipping %s: it is a %s of another job or type of machine.", path, shelf.kind)
            continue
        yield entry_of(document)
