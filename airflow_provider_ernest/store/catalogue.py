"""The catalogue: what a store holds in a few words each, listed by folder.

The names of the files say what is there; they are the only truth. What the catalogue says of each document is
read from it once, and kept in one file a job in a folder of the store's root, so that a process need not read
all documents again. Readers write these summaries, writers of documents know nothing of them: a summary that
is old, damaged or deleted only makes its next reader read more. Documents never change, so what is kept of
one holds for as long as its file is listed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any

import msgspec

from airflow_provider_ernest.documents import DecisionRecord, Model, ModelMark, ProductionRun
from airflow_provider_ernest.exceptions import InvalidParameterError, StoreError
from airflow_provider_ernest.json_document import SCHEMA, Document
from airflow_provider_ernest.store.files import (
    changed_at,
    files,
    files_below,
    forget_listing,
    in_threads,
    replace_whole,
    safe_name,
    store_errors,
)
from airflow_provider_ernest.store.stored_documents import (
    DECISIONS,
    MARKS,
    MODELS,
    PRODUCTION,
    SHELVES,
    SUFFIX,
    Place,
    Shelf,
)

log = logging.getLogger(__name__)

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
        id=document.id,
        job=document.job,
        instance_type=document.instance_type,
        at=document.at,
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
        id=model.id,
        job=model.job,
        instance_type=model.instance_type,
        at=model.at,
        dag_id=model.origin.dag_id if model.origin else None,
        model_id=model.id,
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
        id=record.id,
        job=record.job,
        instance_type=record.instance_type,
        at=record.at,
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
        id=mark.id,
        job=mark.job,
        instance_type=mark.instance_type,
        at=mark.at,
        dag_id=mark.origin.dag_id if mark.origin else None,
        model_id=mark.model_id,
        artifact_sha256=mark.artifact_sha256,
        cause=mark.cause,
        reason=mark.reason,
    )


# ---------------------------------------------------------------------------
# The files of a store, folder by folder.


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
class _File:
    """A file that may hold a document."""

    root: Any
    shelf: Shelf[Any]
    place: Place

    @property
    def path(self) -> Any:
        path = self.root
        for part in filter(None, self.place):
            path = path / part
        return path


DEPTH = 3
"""Of a document under its job's folder: the type of machine, the shelf (none for models), the file."""
_SHELF_IN = {shelf.folder: shelf for shelf in SHELVES}


def _file(root: Any, job: str, name: str) -> _File | None:
    """The file of that name under the folder of a job; None where no document lies so."""
    parts = name.split("/")
    folder = parts[1] if len(parts) == DEPTH else ""
    if len(parts) == 1 or folder not in _SHELF_IN:
        return None
    return _File(root=root, shelf=_SHELF_IN[folder], place=(job, parts[0], folder, parts[-1]))


def all_documents(root: Any, *, on_skip: Callable[[Any], object] = lambda path: None) -> Iterator[Any]:
    """Every document in a store, job by job and shelf by shelf, oldest first in each.

    What cannot be read is skipped with a warning in the log, which names it.

    Args:
        root: the store's.
        on_skip: told, on any thread, the path of each file or folder that is skipped.

    Raises:
        OSError: the root cannot be listed.
    """

    def read(file: _File) -> Any:
        path = file.path
        document = file.shelf.read_or_skip(path)
        if document is None or _is_misplaced(file, document):
            on_skip(path)
            return None
        return document

    for job_folder in sorted(files(root), key=lambda folder: str(folder.name)):
        try:
            names = files_below(job_folder, depth=DEPTH)
        except OSError as error:
            log.warning("Skipping %s, which cannot be listed: %s", job_folder, error)
            on_skip(job_folder)
            continue
        files_of_job = (_file(root, str(job_folder.name), name) for name in names)
        found = sorted((file for file in files_of_job if file is not None), key=lambda file: file.place)
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


# ---------------------------------------------------------------------------
# The catalogue.


FOLDER = ".catalogue"
"""No job's folder has a name that begins with a dot."""
MOST_UNWRITTEN = 16
"""With more documents of a job than these that its summary does not know, it is written again."""
MOST_SECONDS_IN_LINE = 20.0
"""So long one thread waits for another one that reads it."""


@dataclass(kw_only=True)
class _Summary:
    """The file of a job: what is known of its documents, by their names under the job's folder."""

    schema: int = SCHEMA
    entries: dict[str, CatalogueEntry] = field(default_factory=dict)


# Made here, since msgspec must not learn of a class in several threads at once.
_SUMMARIES = msgspec.json.Decoder(_Summary)


@dataclass(kw_only=True)
class _Job:
    """What an object knows of a job.

    Attributes:
        entries: by the names of the documents under the job's folder.
        unwritten: of them so many are not in the summary, or were and are gone.
    """

    entries: dict[str, CatalogueEntry]
    unwritten: int = 0


class Catalogue:
    """Entries of all models, decisions, production runs and marks in a store.

    An object reads each document once: keep one where the entries are read often. Any number of threads may
    share it.

    Args:
        root: the store's, a `pathlib.Path` or anything with its methods.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self._jobs: dict[str, _Job] = {}
        self._refused: dict[Place, datetime | None] = {}
        self._sorted: list[CatalogueEntry] | None = None
        self._has_warned = False
        self._lock = Lock()

    def entries(self, job: str | None = None) -> list[CatalogueEntry]:
        """All entries, oldest first.

        A file that cannot be read is skipped with a warning in the log, which names it.

        Args:
            job: of this job alone; None for all.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._held(), store_errors(f"The documents in {self.root} cannot be listed"):
            wanted = None if job is None else safe_name("job", job)
            folders = [folder for folder in files(self.root) if wanted in (None, str(folder.name))]
            names = [str(folder.name) for folder in folders]
            listed = dict(zip(names, in_threads(self._listed, folders, most=READERS), strict=True))
            if job is None and self._jobs.keys() - listed.keys():
                self._jobs = {name: known for name, known in self._jobs.items() if name in listed}
                self._sorted = None
            self._read_new(listed)
            for name, found in listed.items():
                if found is not None:
                    self._settle(name, found)
            if job is None:
                if self._sorted is None:
                    self._sorted = _by_age(
                        entry for known in self._jobs.values() for entry in known.entries.values()
                    )
                return list(self._sorted)
            # Names that differ in case only share a folder on some file systems.
            entries = (entry for name in names for entry in self._jobs[name].entries.values())
            return _by_age(entry for entry in entries if entry.job == job)

    def forget(self, document: Model | DecisionRecord | ProductionRun | ModelMark) -> None:
        """Read a document anew, whose file was replaced by hand under the same name.

        Raises:
            StoreError: the summary of its job cannot be written.
        """
        shelf = SHELF_OF[entry_of(document).kind]
        job, *names = shelf.place_of(document)
        with self._held():
            if self._known(job).entries.pop("/".join(filter(None, names)), None) is not None:
                self._sorted = None
                with store_errors(f"The catalogue in {self.root / FOLDER} cannot be written"):
                    self._write(job)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """One reader at a time: what it reads the others know, too. Nobody waits long where storage hangs."""
        if not self._lock.acquire(timeout=MOST_SECONDS_IN_LINE):
            raise StoreError(
                f"Listing the documents in {self.root} takes more than {MOST_SECONDS_IN_LINE:g} s.",
                remedy="Try again; if it stays like that, check that the store's storage answers.",
            )
        try:
            yield
        finally:
            self._lock.release()

    def _listed(self, job_folder: Any) -> list[str] | None:
        """The names of the files under a job's folder; None, with a warning, where nobody can tell."""
        self._known(str(job_folder.name))
        try:
            return files_below(job_folder, depth=DEPTH)
        except OSError as error:
            log.warning("Skipping %s, which cannot be listed: %s", job_folder, error)
            return None

    def _known(self, job: str) -> _Job:
        """What is known of the job whose folder has that name."""
        if job not in self._jobs:
            path, entries = self._summary(job), {}
            try:
                forget_listing(path.parent)
                summary = _SUMMARIES.decode(path.read_bytes())
                entries = summary.entries if summary.schema == SCHEMA else {}
            except FileNotFoundError:
                log.debug("There is no %s yet", path)
            # It is damaged, or a newer version's, or cannot be read now: the documents tell the same.
            except Exception as error:
                log.info("%s is not used: %s", path, error)
            self._jobs[job], self._sorted = _Job(entries=entries), None
        return self._jobs[job]

    def _summary(self, job: str) -> Any:
        return self.root / FOLDER / f"{job}{SUFFIX}"

    def _read_new(self, listed: Mapping[str, Sequence[str] | None]) -> None:
        """Read the documents that are not known, by their jobs' folders and their names under those."""
        unread = [
            (job, name)
            for job, names in listed.items()
            for name in names or ()
            if name not in self._jobs[job].entries
        ]
        entries = in_threads(lambda each: self._entry(_file(self.root, *each)), unread, most=READERS)
        for (job, name), entry in zip(unread, entries, strict=True):
            if entry is not None:
                self._jobs[job].entries[name] = entry
                self._jobs[job].unwritten += 1
                self._sorted = None

    def _entry(self, file: _File | None) -> CatalogueEntry | None:
        """Of the document in a file; None, with a warning, where there is none, or it cannot be read now."""
        if file is None or file.shelf not in SHELF_OF.values():
            return None
        path = file.path
        try:
            # What is no document is looked at again only when somebody has written it again.
            changed = changed_at(path)
            if file.place in self._refused and self._refused[file.place] == changed:
                return None
            document = file.shelf.read_document(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("Skipping %s, which cannot be read: %s", path, error)
            return None
        if document is None or _is_misplaced(file, document):
            self._refused[file.place] = changed
            return None
        return entry_of(document)

    def _settle(self, job: str, found: Sequence[str]) -> None:
        """Forget what is there no more, and write for the other processes what has been read."""
        known = self._jobs[job]
        gone = known.entries.keys() - set(found)
        for name in gone:
            del known.entries[name]
            self._sorted = None
        if not gone and known.unwritten <= MOST_UNWRITTEN:
            return
        try:
            self._write(job)
        # The libraries behind object stores raise errors of their own.
        except Exception as error:
            if not self._has_warned:
                log.warning(
                    "The catalogue in %s cannot be written, so each process reads all documents: %s",
                    self.root / FOLDER,
                    error,
                )
            self._has_warned = True

    def _write(self, job: str) -> None:
        known, path = self._jobs[job], self._summary(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        summary = _Summary(entries=known.entries)
        replace_whole(path, msgspec.json.encode(summary).decode("utf-8"))
        known.unwritten = 0


def _by_age(entries: Iterable[CatalogueEntry]) -> list[CatalogueEntry]:
    return sorted(entries, key=lambda entry: entry.key)
