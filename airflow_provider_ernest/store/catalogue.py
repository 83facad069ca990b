"""The catalogue: what a store holds, listed without reading all of its files.

It lies in a folder of the store's root whose name no job's folder has. It is made of the documents and can
be made again, so a damaged one may be deleted: a mark says that it knows all documents, and the first
reader that finds none, or finds torn lines, looks through the store and writes what is missing, and the
mark. Writers add to it only: no task is held up by how much the store holds. That a document was removed
is a line of its own, so that readers that have seen the document see it go.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from airflow_provider_ernest.documents import DecisionRecord, Model, ModelMark, ProductionRun, new_id
from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError, StoreError
from airflow_provider_ernest.json_document import SCHEMA, Document
from airflow_provider_ernest.store.files import (
    Content,
    content_of,
    create_whole,
    decode_json,
    delete,
    files,
    in_threads,
    is_settled,
    safe_name,
    store_errors,
)
from airflow_provider_ernest.store.stored_documents import (
    DECISIONS,
    MARKS,
    MODELS,
    PRODUCTION,
    SHELVES,
    OnSetAside,
    Place,
    Shelf,
    ignore,
)

# ---------------------------------------------------------------------------
# What the catalogue of a store says of each thing in it.


MODEL, DECISION, PRODUCTION_RUN, MARK = "model", "decision", "production", "mark"

PROBABLE = 0.5
"""A term that the job more probably has not is not listed: averaged models have a share of all."""


@dataclass(frozen=True, kw_only=True)
class CatalogueEntry(Document):
    """A model, a decision, a production run or a mark in a few words.

    Attributes:
        kind: `MODEL`, `DECISION`, `PRODUCTION_RUN` or `MARK`.
        id: unique among those of its kind, job and instance type; sorts by time.
        job: the user's name of the job.
        instance_type: the machines' type.
        at: when it was made, ISO 8601 with UTC offset.
        dag_id: the DAG whose task made it; None outside Airflow.
        model_id: the model, or the one that was decided or predicted by.
        method: of a model, see `predictors.METHODS`.
        terms: of a model, those that the job more probably has than not.
        median_error_percent: of a model's leave-one-out errors.
        max_error_percent: the largest of them.
        observations: how many a model was fitted to.
        warnings: how many come with a model or a decision.
        artifact: path of a model's JAR or .py file.
        artifact_sha256: hash of the JAR or .py file.
        machines: decided or run on.
        seconds: that a production run took, from submission to end.
        predicted_seconds: of a decision or a production run.
        is_unusual: whether a production run's time was outside what was nearly certain.
        is_unlikely: whether it was outside what was likely.
        base_model_id: the model of sample runs alone that a model goes on from.
        learned_from: how many production runs a model has learned from.
        cause: of a mark, see `records.ModelMark`.
        reason: of a mark.
    """

    kind: str
    id: str
    job: str
    instance_type: str
    at: str
    dag_id: str | None = None
    model_id: str | None = None
    method: str = ""
    terms: tuple[str, ...] = ()
    median_error_percent: float | None = None
    max_error_percent: float | None = None
    observations: int = 0
    warnings: int = 0
    artifact: str | None = None
    artifact_sha256: str | None = None
    machines: int | None = None
    seconds: float | None = None
    predicted_seconds: float | None = None
    is_unusual: bool = False
    is_unlikely: bool = False
    base_model_id: str | None = None
    learned_from: int = 0
    cause: str = ""
    reason: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is one of: two entries of one key are of one thing."""
        return self.id, self.kind, self.job, self.instance_type


def entry_of(document: Model | DecisionRecord | ProductionRun | ModelMark) -> CatalogueEntry:
    """What the catalogue says of a document."""
    if isinstance(document, Model):
        return _of_model(document)
    if isinstance(document, DecisionRecord):
        return _of_decision(document)
    if isinstance(document, ModelMark):
        return _of_mark(document)
    return CatalogueEntry(
        kind=PRODUCTION_RUN,
        id=document.production_id,
        job=document.job,
        instance_type=document.instance_type,
        at=document.recorded_at,
        dag_id=document.origin.dag_id if document.origin else None,
        model_id=document.model_id,
        artifact_sha256=document.artifact_sha256,
        machines=document.machines,
        seconds=document.seconds,
        predicted_seconds=document.predicted_seconds,
        is_unusual=document.is_unusual,
        is_unlikely=document.is_unlikely,
    )


def _of_model(model: Model) -> CatalogueEntry:
    return CatalogueEntry(
        kind=MODEL,
        id=model.model_id,
        job=model.job,
        instance_type=model.instance_type,
        at=model.created_at,
        dag_id=model.origin.dag_id if model.origin else None,
        model_id=model.model_id,
        method=model.method,
        terms=tuple(term.name for term in model.terms if term.probability >= PROBABLE),
        median_error_percent=model.validation.median_error_percent,
        max_error_percent=model.validation.max_error_percent,
        observations=len(model.observations),
        warnings=len(model.warnings),
        artifact=model.artifact,
        artifact_sha256=model.artifact_sha256,
        base_model_id=model.base_model_id,
        learned_from=len(model.learned_from),
    )


def _of_decision(record: DecisionRecord) -> CatalogueEntry:
    return CatalogueEntry(
        kind=DECISION,
        id=record.decision_id,
        job=record.job,
        instance_type=record.instance_type,
        at=record.decided_at,
        dag_id=record.origin.dag_id if record.origin else None,
        model_id=record.model_id,
        warnings=len(record.decision.warnings),
        artifact_sha256=record.artifact_sha256,
        machines=record.decision.config.machines,
        predicted_seconds=record.decision.predicted_seconds,
    )


def _of_mark(mark: ModelMark) -> CatalogueEntry:
    return CatalogueEntry(
        kind=MARK,
        id=mark.mark_id,
        job=mark.job,
        instance_type=mark.instance_type,
        at=mark.marked_at,
        dag_id=mark.origin.dag_id if mark.origin else None,
        model_id=mark.model_id,
        artifact_sha256=mark.artifact_sha256,
        cause=mark.cause,
        reason=mark.reason,
    )


# ---------------------------------------------------------------------------
# The lines that a catalogue is made of: that a thing is in the store, or that it is there no more.
#
# Lines have no order: writers know nothing of each other. So each says when it was written, and of the
# lines
# of one thing the latest counts. Lines without a time, of a look through the store or of an earlier version
# of this package, are older than all others.


Key = tuple[str, str, str, str]
"""Id, kind, job and instance type, as `CatalogueEntry.key`."""
KEY = ("id", "kind", "job", "instance_type")
"""Their names in a line."""

REMOVALS_KEPT = timedelta(days=30)
"""Who read a line before its thing was removed, and writes it again by merging, has long done so by then."""


class Line(NamedTuple):
    """What a line says.

    Attributes:
        key: the thing it is of.
        at: when it was written, ISO 8601 in UTC, so that later times sort last; empty where it does not say.
        entry: what is known of the thing; None where it was removed.
    """

    key: Key
    at: str
    entry: CatalogueEntry | None

    def is_later_than(self, other: Line) -> bool:
        """Whether this one counts; of two of the same moment the one that removes."""
        return (self.at, self.entry is None) > (other.at, other.entry is None)


def read_line(text: str) -> Line:
    """What a line says.

    Raises:
        InvalidDocumentError: it is none, or a newer version's.
    """
    data = decode_json(text)
    if not isinstance(data, dict) or not data.get("is_removed"):
        at = _text_in(data, "listed_at") if isinstance(data, dict) else ""
        if at:
            del data["listed_at"]
        entry = CatalogueEntry.from_dict(data)
        return Line(entry.key, at, entry)
    if data.get("schema") != SCHEMA:
        raise InvalidDocumentError(f"This line has schema {data.get('schema')!r}, that of another version.")
    name, kind, job, instance_type = (_text_in(data, field) for field in KEY)
    return Line((name, kind, job, instance_type), _text_in(data, "listed_at"), None)


def _text_in(data: dict[str, Any], field: str) -> str:
    text = data.get(field, "")
    if not isinstance(text, str):
        raise InvalidDocumentError(f"{field}={text!r} of a line is no text.")
    return text


def line_text(line: Line) -> str:
    """The line as it is written.

    Raises:
        StoreError: it holds text that no file can hold.
    """
    try:
        content = _removal(line.key) if line.entry is None else line.entry.to_dict()
        if line.at:
            content["listed_at"] = line.at
        return msgspec.json.encode(content).decode("utf-8")
    except UnicodeEncodeError as error:
        name, kind, *_ = line.key
        raise StoreError(f"The entry of {kind} {name!r} cannot be written: {error}") from error


def _removal(key: Key) -> dict[str, Any]:
    # Earlier versions of this package skip it with a warning: it lacks what an entry must have.
    names = dict(zip(KEY, key, strict=True))
    return {"schema": SCHEMA, "is_removed": True, **names}


def time_after(line: Line | None) -> str:
    """Now, or the moment after that line was written where the clock that it was written by is ahead."""
    now = _text(datetime.now(UTC))
    if line is None or line.at < now:
        return now
    try:
        return _text(datetime.fromisoformat(line.at) + timedelta(microseconds=1))
    except (ValueError, OverflowError, TypeError):
        # No time at all; what goes on from a text sorts after it.
        return f"{line.at}+"


def needed(lines: Sequence[Line], *, are_all: bool) -> list[int]:
    """The positions of those lines that must be kept when these are merged.

    A line that removes is kept as well as one that lists: what it removes may be in another file yet, that
    somebody is merging now.

    Args:
        lines: what is merged.
        are_all: whether there are no others. Removals of long ago can be forgotten then.
    """
    latest: dict[Key, int] = {}
    for position, line in enumerate(lines):
        other = latest.get(line.key)
        if other is None or line.is_later_than(lines[other]):
            latest[line.key] = position
    oldest = _text(datetime.now(UTC) - REMOVALS_KEPT)
    return sorted(
        position
        for position in latest.values()
        if lines[position].entry is not None or not are_all or lines[position].at >= oldest
    )


def _text(moment: datetime) -> str:
    # Always of the same length.
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


# ---------------------------------------------------------------------------
# Lines of text that many processes add to a folder at once, without locks, and that are read fast.
#
# Each line is a file of its own at first. A writer that finds many of them merges them: it writes one
# segment, whole, and deletes what went into it only then. So every line is in some file at every
# moment, at times in two. Files are never changed, so one that was read need not be read again.


log = logging.getLogger(__name__)

SEGMENT, SEGMENT_SUFFIX = "segment-", ".jsonl"
MOST_LOOSE = 256
"""With more files of one line each than these, they are merged."""
MOST_SEGMENTS = 64
"""With more segments than these, all are merged into one."""
COMPLETE = "complete"
"""A file of this name is the mark. No line's file is named so: those have a suffix."""
NO_MERGING = ".no-merging"
"""A file of this name says that files may not be deleted here: merging them would only make more of them."""
READERS = 16
"""Files read or deleted at once: an object store answers late, and many questions as late as one."""
ATTEMPTS = 100
"""How often a reader looks for where a merger moved what it wanted to read."""

Value = TypeVar("Value")
Value_contra = TypeVar("Value_contra", contravariant=True)


class Needed(Protocol[Value_contra]):
    """Tells which lines must be kept when these are merged, and whether these are all that there are."""

    def __call__(self, values: Sequence[Value_contra], /, *, are_all: bool) -> Sequence[int]:
        """The positions of those to keep."""
        ...


class MergedLines(Generic[Value]):
    """The lines in a folder, which may not be there yet.

    An object is for one thread; any number of objects and processes may use the folder.

    Args:
        folder: a `pathlib.Path`, or anything with its methods.
        read: what a line says; it raises InvalidDocumentError for a line that is none.
        needed: which of the lines that are merged must be kept, by position; all where it is None.
    """

    def __init__(
        self, folder: Any, read: Callable[[str], Value], *, needed: Needed[Value] | None = None
    ) -> None:
        self.folder = folder
        self._read = read
        self._needed = needed
        self._seen: set[str] = set()
        self._has_begun_anew = False
        self._torn: set[str] = set()

    @property
    def are_torn(self) -> bool:
        """Whether lines are missing for good: files of them end too early, and nobody is writing them."""
        return bool(self._torn)

    def delete_torn(self) -> None:
        """Delete those files. Their lines must have been written again.

        Raises:
            OSError: one cannot be deleted.
        """
        for name in sorted(self._torn):
            delete(self.folder / name)
        self._torn = set()

    @property
    def has_begun_anew(self) -> bool:
        """Whether the latest news are all that there is: nothing that was read before is there any more."""
        return self._has_begun_anew

    def forget(self) -> None:
        """Let everything be news again."""
        self._seen, self._torn = set(), set()

    def mark(self) -> None:
        """Leave a mark beside the lines, for all objects and processes. It means what its users agree on.

        Raises:
            OSError: it cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            create_whole(self.folder / COMPLETE, "All that the folder beside it holds is listed here.\n")
        except FileExistsError:
            log.debug("Another process has marked %s", self.folder)

    def is_marked(self) -> bool:
        """Whether there is a mark now."""
        return COMPLETE in (str(path.name) for path in files(self.folder))

    def is_new(self) -> bool:
        """Whether there is one line, and nothing else."""
        return len(files(self.folder)) == 1

    def add(self, name: str, line: str) -> None:
        """Add a line; adding it again is allowed. The name is for people who look into the folder.

        Raises:
            OSError: it cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(line.encode("utf-8")).hexdigest()[:16]
        try:
            create_whole(self.folder / f"{safe_name('name', name)}-{digest}.json", f"{line}\n")
        except FileExistsError:
            return
        try:
            self._merge_if_many()
        # The line is written; the next writer will merge. Object stores have errors of their own.
        except Exception as error:
            log.warning("The files in %s cannot be merged: %s", self.folder, error)

    def write_segment(self, lines: Iterable[str]) -> None:
        """Add many lines at once.

        Raises:
            OSError: they cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"{SEGMENT}{new_id(datetime.now(UTC))}{SEGMENT_SUFFIX}"
        create_whole(self.folder / name, "".join(f"{line}\n" for line in dict.fromkeys(lines)))

    def news(self) -> list[Value]:
        """What the lines say that this object has not read yet; some of it may come twice.

        A file or a line that cannot be read is skipped with a warning in the log, which names it.

        Raises:
            OSError: the folder cannot be listed.
        """
        found: list[Value] = []
        seen, gone, failed = set(self._seen), set[str](), set[str]()
        names: list[str] = []
        for attempt in range(ATTEMPTS):
            names = self._names()
            unread = [name for name in names if name not in seen and name not in failed]
            # A listing can miss what is moved while it is made: both the old name and the new one.
            if not unread and attempt:
                break
            for name, content in self._contents(unread):
                if isinstance(content, Content):
                    found += content.values
                    self._note(name, content, seen=seen, growing=failed)
                elif isinstance(content, FileNotFoundError) and name not in gone:
                    gone.add(name)
                else:
                    log.warning("Skipping %s, which cannot be read: %s", self.folder / name, content)
                    failed.add(name)
        self._has_begun_anew = bool(self._seen and names) and self._seen.isdisjoint(names)
        self._seen = seen.intersection(names)
        self._torn.intersection_update(names)
        return found

    def _note(self, name: str, content: Content[Value], *, seen: set[str], growing: set[str]) -> None:
        """Tell a file that was read from one that may be longer the next time."""
        if not content.is_torn:
            seen.add(name)
        elif is_settled(self.folder / name):
            seen.add(name)
            self._torn.add(name)
        else:
            growing.add(name)

    def _merge_if_many(self) -> None:
        names = self._names()
        loose = [name for name in names if not _is_segment(name)]
        if len(names) - len(loose) > MOST_SEGMENTS:
            chosen, more_than = names, MOST_SEGMENTS
        elif len(loose) > MOST_LOOSE:
            chosen, more_than = loose, MOST_LOOSE
        else:
            return
        if not (self.folder / NO_MERGING).exists():
            self._merge(chosen, more_than=more_than, are_all=chosen is names)

    def _merge(self, names: Sequence[str], *, more_than: int, are_all: bool) -> None:
        """One segment of all these files; those that cannot be read are left as they are."""
        readable = {
            name: content
            for name, content in self._contents(names)
            if isinstance(content, Content) and content.is_whole
        }
        # Others may have merged some in the meantime.
        if len(readable) <= more_than:
            return
        self.write_segment(
            self._kept(list(readable.values()), are_all=are_all and len(readable) == len(names))
        )
        first, *others = readable
        try:
            self._unlink(first)
        except OSError:
            create_whole(self.folder / NO_MERGING, "Delete this file when files may be deleted here.\n")
            raise
        in_threads(self._unlink, others, most=READERS)

    def _unlink(self, name: str) -> None:
        try:
            (self.folder / name).unlink()
        except FileNotFoundError:
            log.debug("Another process merged %s as well", name)

    def _kept(self, contents: Sequence[Content[Value]], *, are_all: bool) -> list[str]:
        lines = [line for content in contents for line in content.lines]
        if self._needed is None:
            return lines
        values = [value for content in contents for value in content.values]
        return [lines[position] for position in self._needed(values, are_all=are_all)]

    def _names(self) -> list[str]:
        return sorted(name for path in files(self.folder) if (name := str(path.name)) != COMPLETE)

    def _contents(self, names: Sequence[str]) -> list[tuple[str, Content[Value] | OSError]]:
        return list(zip(names, in_threads(self._content, names, most=READERS), strict=True))

    def _content(self, name: str) -> Content[Value] | OSError:
        return content_of(self.folder / name, self._read)


def _is_segment(name: str) -> bool:
    return name.startswith(SEGMENT) and name.endswith(SEGMENT_SUFFIX)


# ---------------------------------------------------------------------------
# What lies in a store, found without its catalogue: folder by folder and document by document.


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


# ---------------------------------------------------------------------------


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
