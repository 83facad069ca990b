"""The catalogue: what a store holds, listed without reading all of its files.

It lies in a folder of the store's root whose name no job's folder has. It is made of the documents and can
be made again, so a damaged one may be deleted: a mark says that it knows all documents, and the first
reader that finds none, or finds torn lines, looks through the store and writes what is missing, and the
mark. Writers add to it only: no task is held up by how much the store holds. That a document was removed
is a line of its own, so that readers that have seen the document see it go.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.model.storage.catalogue_entry import (
    DECISION,
    MODEL,
    PRODUCTION_RUN,
    CatalogueEntry,
    entry_of,
)
from airflow_provider_ernest.model.storage.catalogue_lines import (
    Key,
    Line,
    line_text,
    needed,
    read_line,
    time_after,
)
from airflow_provider_ernest.model.storage.merged_lines import MergedLines
from airflow_provider_ernest.model.storage.store_scan import Scan, StoreScan, holds_only, place_of
from airflow_provider_ernest.model.storage.stored_files import store_errors

__all__ = ["DECISION", "MODEL", "PRODUCTION_RUN", "Catalogue", "CatalogueEntry", "entry_of"]

log = logging.getLogger(__name__)

FOLDER = ".catalogue"
SECONDS_BETWEEN_SCANS = 60.0
"""Where the catalogue cannot be made whole, its readers look through the store no more often."""
MOST_SECONDS_IN_LINE = 20.0
"""So long one thread waits for another one that reads it."""


class Catalogue:
    """Entries of all models, decisions, production runs and marks in a store.

    Any number of threads and processes may add, remove and read at once. An object reads each file once:
    keep one where the entries are read often.

    Args:
        root: the store's, a `pathlib.Path` or anything with its methods.
        clock: tells seconds that only grow.
    """

    def __init__(self, root: Any, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.root = root
        self._lines = MergedLines(root / FOLDER, read_line, needed=needed)
        self._latest: dict[Key, Line] = {}
        self._sorted: list[CatalogueEntry] | None = []
        self._scan = StoreScan(root)
        self._clock = clock
        self._scanned_at = -SECONDS_BETWEEN_SCANS
        self._has_warned = False
        self._lock = Lock()

    def add(self, entry: CatalogueEntry) -> None:
        """Add an entry; adding it again is allowed. Its document must be in the store already.

        Where this object knows that the document was removed before, it is listed again.

        Raises:
            StoreError: it cannot be written.
        """
        self._write(Line(entry.key, time_after(self._latest.get(entry.key)), entry))
        self._mark_if_new(entry)

    def add_found(self, entries: Iterable[CatalogueEntry]) -> None:
        """List documents that were found in the store and are not listed: their writers were killed.

        Raises:
            StoreError: it cannot be read or written.
        """
        with self._held(), self._read_errors():
            self._take_news()
            missing = [entry for entry in entries if not self.is_listed(entry.key)]
            # Without a time: who removes one at this moment writes what counts more.
            known = ((entry, self._latest.get(entry.key)) for entry in missing)
            lines = [Line(entry.key, time_after(line) if line else "", entry) for entry, line in known]
        if lines:
            with store_errors(f"The catalogue in {self._lines.folder} cannot be written"):
                self._lines.write_segment(map(line_text, lines))

    def time_to_remove(self, key: Key) -> str:
        """The moment at which what is listed of a thing now ends. To be asked for before it is deleted.

        Raises:
            StoreError: the catalogue cannot be read.
        """
        with self._held(), self._read_errors():
            self._take_news()
            return time_after(self._latest.get(key))

    def remove(self, key: Key, *, at: str) -> bool:
        """List a thing no more, which is not in the store any more; nobody need have listed it.

        Args:
            key: the thing's, as `CatalogueEntry.key`.
            at: from `time_to_remove`. Who adds it again later is not affected.

        Returns:
            Whether it was listed.

        Raises:
            StoreError: that cannot be written. This object forgets the thing nevertheless.
        """
        line, known = Line(key, at, None), self._latest.get(key)
        with self._held():
            self._take([line])
        self._write(line)
        return known is not None and known.entry is not None

    def is_listed(self, key: Key) -> bool:
        """Whether this object has seen a thing listed, and not removed."""
        known = self._latest.get(key)
        return known is not None and known.entry is not None

    def entries(self) -> list[CatalogueEntry]:
        """All entries, oldest first.

        A file that cannot be read is skipped with a warning in the log, which names it.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._held(), self._read_errors():
            # Asked for first: who marks has written everything before.
            is_whole = self._lines.is_marked()
            self._take_news()
            is_whole = is_whole and not self._lines.are_torn
            if not is_whole and self._clock() - self._scanned_at >= SECONDS_BETWEEN_SCANS:
                self._complete()
            if self._sorted is None:
                listed = (self._latest[key].entry for key in sorted(self._latest))
                self._sorted = [entry for entry in listed if entry is not None]
            return list(self._sorted)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """One reader at a time: what it reads the others know, too. Nobody waits long where storage hangs."""
        if not self._lock.acquire(timeout=MOST_SECONDS_IN_LINE):
            raise StoreError(
                f"Reading the catalogue in {self._lines.folder} takes more than {MOST_SECONDS_IN_LINE:g} s.",
                remedy="Try again; if it stays like that, check that the store's storage answers.",
            )
        try:
            yield
        finally:
            self._lock.release()

    def _read_errors(self) -> Any:
        return store_errors(f"The catalogue in {self._lines.folder} cannot be read")

    def _write(self, line: Line) -> None:
        text, (name, kind, *_) = line_text(line), line.key
        with store_errors(f"The catalogue in {self._lines.folder} cannot be written"):
            self._lines.add(f"{name}-{kind}", text)

    def _take(self, lines: Iterable[Line]) -> None:
        """Let those lines count that are later than what is known."""
        for line in lines:
            known = self._latest.get(line.key)
            if known is None or line.is_later_than(known):
                self._latest[line.key] = line
                self._sorted = None

    def _take_news(self) -> None:
        news = self._lines.news()
        if self._lines.has_begun_anew:
            # Deleted and made again, perhaps without what was removed in the meantime.
            self._latest, self._sorted = {}, None
            self._scanned_at = -SECONDS_BETWEEN_SCANS
        self._take(news)

    def _mark_if_new(self, entry: CatalogueEntry) -> None:
        """Spare the readers of a new store the scan: whoever writes to it later, lists that."""
        try:
            if self._lines.is_new() and holds_only(self.root, entry):
                self._lines.mark()
        # The libraries behind object stores raise errors of their own.
        except Exception as error:
            log.info("The catalogue in %s is left to its first reader: %s", self._lines.folder, error)

    def _complete(self) -> None:
        """Look through the store, and write what is there for all others, too, where that is possible."""
        # What this object remembers may have been removed since, and the lines that said so deleted.
        self._lines.forget()
        lines = self._lines.news()
        self._latest, self._sorted = {}, None
        self._take(lines)
        listed = [line.entry for line in self._latest.values() if line.entry is not None]
        scan = self._scan.scan(listed)
        corrections = self._corrections(scan) if scan.is_whole else []
        self._take(corrections)
        self._take(Line(entry.key, "", entry) for entry in scan.entries)
        self._scanned_at = self._clock()
        if not scan.entries or not scan.is_whole:
            return
        try:
            # All of it, also what others have added: they may have been deleted since they were read.
            found = (self._latest[entry.key] for entry in scan.entries)
            self._lines.write_segment(map(line_text, [*found, *corrections]))
            self._lines.mark()
            self._lines.delete_torn()
        # The libraries behind object stores raise errors of their own.
        except Exception as error:
            if not self._has_warned:
                log.warning(
                    "The catalogue in %s cannot be written, so each reader reads the whole store: %s",
                    self._lines.folder,
                    error,
                )
            self._has_warned = True

    def _corrections(self, scan: Scan) -> list[Line]:
        """Where what a whole scan has found belies the lines that were read before it.

        The line that would have told may be lost, with a file that ends too early.
        """
        found = {entry.key: entry for entry in scan.entries}
        back = [line for key, line in self._latest.items() if line.entry is None and key in found]
        # Where no line is missing, nothing was removed without a line that says so.
        gone = [
            line
            for key, line in self._latest.items()
            if self._lines.are_torn and line.entry and place_of(line.entry) and key not in found
        ]
        return [Line(line.key, time_after(line), found.get(line.key)) for line in (*back, *gone)]
