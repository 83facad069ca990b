"""A store in one file, to move it, keep it or send it: writing such a file, and taking one into a store."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum, auto
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError, StoreError
from airflow_provider_ernest.model.archive.archive_lines import (
    SHELVES_BY_KIND,
    ArchiveReader,
    Header,
    Line,
    counted_at,
    document_line,
    kind_of,
)
from airflow_provider_ernest.model.storage.daemon_threads import in_threads
from airflow_provider_ernest.model.storage.stored_files import store_errors

if TYPE_CHECKING:
    from airflow_provider_ernest.model.store import ModelStore


BATCH, WRITERS = 32, 4
"""So many documents are in memory at once, and so many are written at once. Each writer may merge lines of
the catalogue, with threads of its own: many more of them take much memory and help little."""


MOST_NAMED = 1_000
"""So many conflicts, and so many lines that are no documents, are kept in memory; all are counted."""


class _Verdict(Enum):
    """What becomes of a line of an archive."""

    STORED = auto()
    PRESENT = auto()
    CONFLICT = auto()
    REFUSED = auto()


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A document that was not taken in.

    Attributes:
        line: its line in the file.
        name: its kind and id, where they are known.
        problem: why, as a sentence.
    """

    line: int
    name: str
    problem: str


@dataclass(kw_only=True)
class Imported:
    """What came of an import.

    Attributes:
        header: of the archive.
        stored: how many were written, by kind.
        present: how many were there already, by kind.
        conflicts: the first of those whose id the store has with other content, which was left as it is.
        conflict_count: how many there are.
        refused: the first of the lines that are no documents of the store.
        refused_count: how many there are.
        missing: how many documents the header counts that the file does not hold.
        damage: why the rest of the file cannot be read; empty where it ends as it should.
    """

    header: Header
    stored: Counter[str] = field(default_factory=Counter)
    present: Counter[str] = field(default_factory=Counter)
    conflicts: list[Refused] = field(default_factory=list)
    conflict_count: int = 0
    refused: list[Refused] = field(default_factory=list)
    refused_count: int = 0
    missing: int = 0
    damage: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether the store now holds all that the archive was made of."""
        return not (self.conflicts or self.refused or self.missing or self.damage)


def export_documents(
    documents: Iterable[Any],
    target: BinaryIO,
    *,
    is_compressed: bool,
    without_addresses: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Header:
    """Write an archive, in memory that does not grow with it.

    Args:
        documents: what goes into it.
        target: open for writing.
        is_compressed: by gzip.
        without_addresses: see `address_free`.
        progress: is told how many documents are done.

    Returns:
        Its header.

    Raises:
        OSError: it cannot be written.
    """
    from airflow_provider_ernest.model.archive.address_free import address_free

    counts = Counter(dict.fromkeys(SHELVES_BY_KIND, 0))
    # The header counts what follows it, which is known only at the end.
    with tempfile.TemporaryFile() as body:
        with gzip.GzipFile(fileobj=body, mode="wb", mtime=0) if is_compressed else nullcontext(body) as lines:
            for number, document in enumerate(documents, 1):
                lines.write(document_line(address_free(document) if without_addresses else document))
                counts[kind_of(document)] += 1
                progress(number)
        header = counted_at(datetime.now(UTC), counts, without_addresses=without_addresses)
        target.write(gzip.compress(header.line(), mtime=0) if is_compressed else header.line())
        body.seek(0)
        shutil.copyfileobj(body, target)
    return header


def import_archive(
    store: ModelStore, source: BinaryIO, *, progress: Callable[[int], None] = lambda done: None
) -> Imported:
    """Take an archive into a store. Repeating that changes nothing.

    Each document is checked as it is when it is read from a store, and lies where the store puts it, whatever
    the file says.

    Args:
        store: that it goes into.
        source: the archive, compressed or not, or a single document.
        progress: is told how many documents are done.

    Raises:
        InvalidDocumentError: this is no archive.
        StoreError: the store cannot be read or written. What was imported before stays.
    """
    reader = ArchiveReader(source)
    result = Imported(header=reader.header)
    lines, done = iter(reader), 0
    while batch := list(islice(lines, BATCH)):
        # Disks and object stores answer many at once about as late as one.
        verdicts = in_threads(lambda line: _take_in(store, line), batch, most=WRITERS)
        for line, (verdict, problem) in zip(batch, verdicts, strict=True):
            _count(line, verdict, problem, result)
        done += len(batch)
        progress(done)
    result.missing = max(0, sum(reader.header.documents.values()) - done)
    result.damage = reader.damage
    return result


def _take_in(store: ModelStore, line: Line) -> tuple[_Verdict, str]:
    """What becomes of a line, and what is wrong with it."""
    document = line.document
    if document is None:
        return _Verdict.REFUSED, line.problem
    try:
        present = _present(store, line)
        if present is None:
            store.save_any(document)
            return _Verdict.STORED, ""
    except InvalidParameterError as error:
        return _Verdict.REFUSED, str(error)
    except StoreError as error:
        if isinstance(error.__cause__, InvalidDocumentError):
            return _Verdict.REFUSED, str(error)
        if not isinstance(error.__cause__, FileExistsError):
            raise
        present = None
    if present == document:
        # An import that was killed may have left it unlisted.
        store.list_again(document)
        return _Verdict.PRESENT, ""
    where = f"{document.job!r} on {document.instance_type}"
    return _Verdict.CONFLICT, f"The store has another one of that id for {where}."


def _count(line: Line, verdict: _Verdict, problem: str, result: Imported) -> None:
    if verdict is _Verdict.STORED:
        result.stored[line.kind] += 1
    elif verdict is _Verdict.PRESENT:
        result.present[line.kind] += 1
    else:
        name = ""
        if line.document is not None:
            name = f"{line.kind} {getattr(line.document, SHELVES_BY_KIND[line.kind].id_field)}"
        if verdict is _Verdict.CONFLICT:
            result.conflict_count += 1
            named = result.conflicts
        else:
            result.refused_count += 1
            named = result.refused
        if len(named) < MOST_NAMED:
            named.append(Refused(line=line.number, name=name, problem=problem))


def _present(store: ModelStore, line: Line) -> Any:
    """What the store has in the document's place; None where that is nothing that can be read."""
    shelf, document = SHELVES_BY_KIND[line.kind], line.document
    path = shelf.path(store.root, document.job, document.instance_type, getattr(document, shelf.id_field))
    with store_errors(f"{path} cannot be read"):
        try:
            return shelf.decode(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError, InvalidDocumentError, UnicodeDecodeError):
            return None
