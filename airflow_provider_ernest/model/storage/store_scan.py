"""What lies in a store, found without its catalogue: folder by folder and document by document."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.storage.catalogue_entry import (
    DECISION,
    MARK,
    MODEL,
    PRODUCTION_RUN,
    CatalogueEntry,
    entry_of,
)
from airflow_provider_ernest.model.storage.daemon_threads import in_threads
from airflow_provider_ernest.model.storage.stored_documents import (
    DECISIONS,
    MARKS,
    MODELS,
    PRODUCTION,
    SHELVES,
    OnSetAside,
    Place,
    Shelf,
    files,
    ignore,
)

log = logging.getLogger(__name__)

READERS = 16
"""Folders and files read at once: an object store answers late, and many questions as late as one."""
READ_TOGETHER = 256
"""Documents held in memory at once by those who go through all of them."""

SHELF_OF: dict[str, Shelf[Any]] = {
    MODEL: MODELS,
    DECISION: DECISIONS,
    PRODUCTION_RUN: PRODUCTION,
    MARK: MARKS,
}
"""Where what an entry of each kind tells of lies; beside these there are those of `UNLISTED`."""


@dataclass(frozen=True, kw_only=True)
class Scan:
    """What a scan has found.

    Attributes:
        entries: of each document that is there.
        is_whole: whether everything could be read. Files that are no documents count as read.
    """

    entries: list[CatalogueEntry]
    is_whole: bool


@dataclass(frozen=True, kw_only=True)
class _File:
    """A file that may hold a document."""

    path: Any
    shelf: Shelf[Any]
    place: Place


@dataclass(frozen=True, kw_only=True)
class _Read:
    """What a file told: the entry of its document, None where it holds none or cannot be read now."""

    entry: CatalogueEntry | None = None
    is_read: bool = True


class StoreScan:
    """Looks through a store. A file that an object has read once, or is told of, it does not read again.

    Args:
        root: the store's, a `pathlib.Path` or anything with its methods.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self._known: dict[Place, CatalogueEntry | None] = {}

    def scan(self, known: Iterable[CatalogueEntry]) -> Scan:
        """The documents that are there now. What cannot be read is skipped with a warning in the log.

        Args:
            known: entries whose documents need not be read.

        Raises:
            OSError: the root cannot be listed.
        """
        for entry in known:
            place = place_of(entry)
            if place is not None:
                self._known[place] = entry
        listed = in_threads(_listed, files(self.root), most=READERS)
        found = [file for of_job in listed for file in of_job or ()]
        unread = [file for file in found if file.place not in self._known]
        results = in_threads(_read, unread, most=READERS)
        for file, result in zip(unread, results, strict=True):
            if result.is_read:
                self._known[file.place] = result.entry
        entries = [self._known.get(file.place) for file in found]
        return Scan(
            entries=[entry for entry in entries if entry is not None],
            is_whole=None not in listed and all(result.is_read for result in results),
        )


def holds_only(root: Any, entry: CatalogueEntry) -> bool:
    """Whether a store holds the document of this entry and nothing else, by four listings at most.

    Raises:
        OSError: it cannot be listed.
    """
    place = place_of(entry)
    folder = root
    for name in filter(None, place or ()):
        if [str(path.name) for path in files(folder)] != [name]:
            return False
        folder = folder / name
    return place is not None


def all_documents(
    root: Any, *, on_set_aside: OnSetAside = ignore, on_skip: Callable[[Any], object] = lambda path: None
) -> Iterator[Any]:
    """Every document in a store, job by job and shelf by shelf, oldest first in each.

    What cannot be read is skipped with a warning in the log, which names it.

    Args:
        root: the store's.
        on_set_aside: told of files that were damaged.
        on_skip: told, on any thread, the path of each file or folder that is skipped.

    Raises:
        OSError: the root cannot be listed.
    """

    def read(file: _File) -> Any:
        document = file.shelf.read_or_skip(file.path, on_set_aside=on_set_aside)
        if document is None or _is_misplaced(file, document):
            on_skip(file.path)
            return None
        return document

    for job_folder in sorted(files(root), key=lambda folder: str(folder.name)):
        listed = _listed(job_folder, SHELVES)
        if listed is None:
            on_skip(job_folder)
            continue
        found = sorted(listed, key=lambda file: file.place)
        for first in range(0, len(found), READ_TOGETHER):
            documents = in_threads(read, found[first : first + READ_TOGETHER], most=READERS)
            yield from (document for document in documents if document is not None)


def _is_misplaced(file: _File, document: Any) -> bool:
    """Whether the document belongs elsewhere; then a warning in the log names it."""
    try:
        # File systems that do not tell upper from lower case keep the first name of a folder.
        if [*map(str.casefold, file.shelf.place_of(document))] == [*map(str.casefold, file.place)]:
            return False
    except InvalidParameterError as error:
        log.warning("Skipping %s, which belongs nowhere: %s", file.path, error)
        return True
    log.warning("Skipping %s: it is a %s of another job or type of machine.", file.path, file.shelf.kind)
    return True


def place_of(entry: CatalogueEntry) -> Place | None:
    """Where the document lies; None for an entry that can be of none."""
    shelf = SHELF_OF.get(entry.kind)
    try:
        return shelf.place(entry.job, entry.instance_type, entry.id) if shelf else None
    except InvalidParameterError:
        return None


def _listed(job_folder: Any, shelves: Sequence[Shelf[Any]] = tuple(SHELF_OF.values())) -> list[_File] | None:
    """The files of a job; None, with a warning, where they cannot be listed."""
    try:
        type_folders = files(job_folder) if job_folder.is_dir() else []
        return [
            _File(path=path, shelf=shelf, place=shelf.place_at(path))
            for type_folder in type_folders
            if type_folder.is_dir()
            for shelf in shelves
            for path in shelf.newest_first(type_folder)
        ]
    except OSError as error:
        log.warning("Skipping %s, which cannot be listed: %s", job_folder, error)
        return None


def _read(file: _File) -> _Read:
    try:
        document = file.shelf.read_document(file.path)
    except FileNotFoundError:
        return _Read()
    except OSError as error:
        log.warning("Skipping %s, which cannot be read: %s", file.path, error)
        return _Read(is_read=False)
    if document is None:
        return _Read()
    if _is_misplaced(file, document):
        return _Read()
    return _Read(entry=entry_of(document))
