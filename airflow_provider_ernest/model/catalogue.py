"""The catalogue: what a store holds, listed without reading all of its files.

It lies in a folder of the store's root whose name no job's folder has. It is made of the documents and can
be made again, so a damaged one may be deleted: a mark says that it knows all documents, and the first
reader that finds none reads the documents one by one and writes what is missing, and the mark. Writers
add to it only: no task is held up by how much the store holds.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
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
from airflow_provider_ernest.model.store_scan import StoreScan, holds_only
from airflow_provider_ernest.model.stored_documents import decode_json, store_errors

__all__ = ["DECISION", "MODEL", "PRODUCTION_RUN", "Catalogue", "CatalogueEntry", "entry_of"]

log = logging.getLogger(__name__)

FOLDER = ".catalogue"
SECONDS_BETWEEN_SCANS = 60.0
"""Where the catalogue cannot be made whole, its readers look through the store no more often."""


class Catalogue:
    """Entries of all models, decisions and production runs in a store.

    Any number of threads and processes may add and read at once. An object reads each file once: keep
    one where the entries are read often.

    Args:
        root: the store's, a `pathlib.Path` or anything with its methods.
        clock: tells seconds that only grow.
    """

    def __init__(self, root: Any, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.root = root
        self._lines = MergedLines(root / FOLDER, _read)
        self._entries: dict[tuple[str, ...], CatalogueEntry] = {}
        self._scan = StoreScan(root)
        self._clock = clock
        self._scanned_at = -SECONDS_BETWEEN_SCANS
        self._has_warned = False
        self._lock = Lock()

    def add(self, entry: CatalogueEntry) -> None:
        """Add an entry; adding it again is allowed. Its document must be in the store already.

        Raises:
            StoreError: it cannot be written.
        """
        line = _line(entry)
        with store_errors(f"The catalogue in {self._lines.folder} cannot be written"):
            self._lines.add(f"{entry.id}-{entry.kind}", line)
        self._mark_if_new(entry)

    def entries(self) -> list[CatalogueEntry]:
        """All entries, oldest first.

        A file that cannot be read is skipped with a warning in the log, which names it.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._lock, store_errors(f"The catalogue in {self._lines.folder} cannot be read"):
            # Asked for first: who marks has written everything before.
            is_whole = self._lines.is_marked()
            for entry in self._lines.news():
                self._entries.setdefault(entry.key, entry)
            if not is_whole and self._clock() - self._scanned_at >= SECONDS_BETWEEN_SCANS:
                self._complete()
            return [self._entries[key] for key in sorted(self._entries)]

    def _mark_if_new(self, entry: CatalogueEntry) -> None:
        """Spare the readers of a new store the scan: whoever writes to it later, lists that."""
        try:
            if not self._lines.is_marked() and holds_only(self.root, entry):
                self._lines.mark()
        # The libraries behind object stores raise errors of their own.
        except Exception as error:
            log.info("The catalogue in %s is left to its first reader: %s", self._lines.folder, error)

    def _complete(self) -> None:
        """Look through the store, and write what is there for all others, too, where that is possible."""
        scan = self._scan.scan(self._entries.values())
        for entry in scan.entries:
            self._entries.setdefault(entry.key, entry)
        self._scanned_at = self._clock()
        if not scan.entries or not scan.is_whole:
            return
        try:
            # All of it, also what others have added: they may have been deleted since they were read.
            self._lines.write_segment(map(_line, scan.entries))
            self._lines.mark()
        # The libraries behind object stores raise errors of their own.
        except Exception as error:
            if not self._has_warned:
                log.warning(
                    "The catalogue in %s cannot be written, so each reader reads the whole store: %s",
                    self._lines.folder,
                    error,
                )
            self._has_warned = True


def _line(entry: CatalogueEntry) -> str:
    try:
        line = msgspec.json.encode(entry.to_dict()).decode("utf-8")
    except UnicodeEncodeError as error:
        raise StoreError(f"The entry of {entry.kind} {entry.id!r} cannot be written: {error}") from error
    return line


def _read(line: str) -> CatalogueEntry:
    return CatalogueEntry.from_dict(decode_json(line))
