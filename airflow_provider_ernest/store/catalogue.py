"""Where the records of a store lie, how they are written and read, and the catalogue that lists them.

Each is one JSON file: ``root / job / instance type / models / id.json``, likewise for the other folders of
`FOLDERS`, and ``root / .surveys / id.json`` for surveys, which are of many jobs. Names are percent-encoded,
since users choose them: a job may be called "../x", and no job's folder starts with a dot. Ids sort by time:
the last name in a folder is the newest. A file that holds no document that this version understands is
skipped with a warning, and stays.

The names of the files say what is there; they are the only truth. What the catalogue says of each record is
read from it once, and kept in one summary file per job, so that a process need not read all records again.
Readers write these summaries, writers of records know nothing of them: if one is old, damaged or deleted,
its next reader only reads more. Records never change, so an entry holds as long as its file is listed.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from operator import attrgetter
from statistics import median
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import msgspec

import airflow_provider_ernest.store.files as storage
from airflow_provider_ernest.documents.base import SCHEMA, Document, Record, Stored
from airflow_provider_ernest.documents.decisions import DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model, ModelMark, training_dollars
from airflow_provider_ernest.documents.profiles import BottleneckReport, ProfileRecord
from airflow_provider_ernest.documents.surveys import Survey
from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError, StoreError

log = logging.getLogger(__name__)

Kept = TypeVar("Kept", bound=Record)
AnyStored = TypeVar("AnyStored", bound=Stored)

FOLDERS: dict[type[Record], str] = {
    Model: "models",
    DecisionRecord: "decisions",
    ProductionRun: "production",
    ModelMark: "marks",
    ProfileRecord: "profiles",
    BottleneckReport: "bottlenecks",
}
"""Where records of a class lie under the folder of an instance type."""

FORMS: dict[str, type[Record]] = {form.kind: form for form in FOLDERS}
_FORM_IN = {folder: form for form, folder in FOLDERS.items()}

SURVEYS = ".surveys"
SUFFIX = ".json"
DEPTH = 3
"""Of a record under its job's folder: the type of machine, the folder of its kind, the file."""


class Place(NamedTuple):
    """Where a record lies under a store's root: the names of its three folders, and of its file."""

    job: str
    instance_type: str
    folder: str
    file: str

    @property
    def form(self) -> type[Record]:
        """The class of what lies there."""
        return _FORM_IN[self.folder]

    @property
    def name(self) -> str:
        """The path under the job's folder."""
        return "/".join(self[1:])

    def path(self, root: Any) -> Any:
        """The file in a store."""
        return root / self.job / self.instance_type / self.folder / self.file


def place_of(record: Record) -> Place:
    """Where a record lies; see `place`."""
    return place(type(record), record.job, record.instance_type, record.id)


def place(form: type[Record], job: str, instance_type: str, record_id: str) -> Place:
    """Where the record of that class and id lies; an `InvalidParameterError` where a name is empty."""
    return Place(
        storage.safe_name("job", job),
        storage.safe_name("instance_type", instance_type),
        FOLDERS[form],
        f"{storage.safe_name('id', record_id)}{SUFFIX}",
    )


def place_named(job: str, name: str) -> Place | None:
    """The place of a file by its job's folder and its path under that; None where no record lies."""
    parts = name.split("/")
    return Place(job, *parts) if len(parts) == DEPTH and parts[1] in _FORM_IN else None


def survey_path(root: Any, survey_id: str) -> Any:
    """The file of a survey in a store."""
    return root / SURVEYS / f"{storage.safe_name('id', survey_id)}{SUFFIX}"


def folder_of(root: Any, form: type[Record], job: str, instance_type: str) -> Any:
    """Where the records of a class of a job on a type of machine lie."""
    return (
        root
        / storage.safe_name("job", job)
        / storage.safe_name("instance_type", instance_type)
        / FOLDERS[form]
    )


def newest_first(folder: Any) -> list[Any]:
    """The paths of the records in a folder."""
    return sorted(storage.files(folder), key=lambda path: str(path.name), reverse=True)


def write(root: Any, record: Stored) -> Any:
    """Write a document, whole; repeating that is allowed, overwriting another is not. Returns its path.

    Raises:
        InvalidDocumentError: no store keeps documents of its kind.
        StoreError: it cannot be written or read back, or another one has its id.
    """
    if isinstance(record, Survey):
        path = survey_path(root, record.id)
    elif isinstance(record, Record) and type(record) in FOLDERS:
        path = place_of(record).path(root)
    else:
        raise InvalidDocumentError(f"A model store keeps no {type(record).__name__} documents.")
    name = f"{record.words.capitalize()} {record.id}"
    text = _encoded(record, name)
    with storage.store_errors(f"{name} cannot be written to {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        # What others have written since it was listed is not to be overwritten.
        storage.forget_listing(path.parent)
        try:
            storage.create_whole(path, text)
        except FileExistsError:
            if not _is_in(path, record):
                raise
    return path


def _encoded(record: Stored, name: str) -> str:
    """The document as JSON that has been read back."""
    try:
        encoded = msgspec.json.encode(record.to_dict())
        # People read the files; those of profiles are large, and smaller without.
        is_indented = not isinstance(record, ProfileRecord)
        text = (msgspec.json.format(encoded, indent=2) if is_indented else encoded).decode("utf-8")
        if decode(type(record), text) != record:
            raise InvalidDocumentError("It would not be the same.")
    except ValueError as error:
        raise StoreError(
            f"{name} could not be read back unchanged: {error}", remedy="Check it for values such as NaN."
        ) from error
    return text + "\n"


def _is_in(path: Any, record: Stored) -> bool:
    try:
        return decode(type(record), path.read_text(encoding="utf-8")) == record
    except (InvalidDocumentError, UnicodeDecodeError):
        return False


def decode(form: type[AnyStored], text: str) -> AnyStored:
    """The document in a file's text; an `InvalidDocumentError` where there is none."""
    return form.from_dict(storage.decode_json(text))


def read(form: type[AnyStored], path: Any, level: int = logging.WARNING) -> AnyStored | None:
    """The document in a file; None, which is logged at that level, where the file holds none."""
    try:
        return decode(form, path.read_text(encoding="utf-8"))
    except (InvalidDocumentError, UnicodeDecodeError, IsADirectoryError) as error:
        log.log(level, "Skipping %s, which is no %s: %s", path, form.words, error)
        return None


def read_or_skip(form: type[AnyStored], path: Any) -> AnyStored | None:
    """The same; None, with a warning that names it, also where the file cannot be read."""
    try:
        return read(form, path)
    except OSError as error:
        log.warning("Skipping %s, which cannot be read: %s", path, error)
        return None


def is_misplaced(root: Any, place: Place, record: Record, level: int = logging.WARNING) -> bool:
    """Whether a record belongs elsewhere than where it was found, which is logged at that level."""
    try:
        # File systems that do not tell upper from lower case keep the first name of a folder.
        if [*map(str.casefold, place_of(record))] == [*map(str.casefold, place)]:
            return False
    except InvalidParameterError:  # without a name it belongs nowhere
        pass
    path, words = place.path(root), record.words
    log.log(level, "Skipping %s: it is a %s of another job or type of machine.", path, words)
    return True


MODEL, DECISION, PRODUCTION_RUN, MARK = Model.kind, DecisionRecord.kind, ProductionRun.kind, ModelMark.kind
LISTED = (Model, DecisionRecord, ProductionRun, ModelMark)
"""What the catalogue lists; other records are many, and asked for by job and type alone."""


class PastSize(Document):
    """The size at which most of a model's runs from the history ran."""

    executors: int
    seconds: float  # median, from submission to end
    runs: int


class CatalogueEntry(Document):
    """A model, a decision, a production run or a mark in a few words; fields as in the documents."""

    kind: str  # `MODEL`, `DECISION`, `PRODUCTION_RUN` or `MARK`
    id: str
    job: str
    instance_type: str
    at: str
    dag_id: str | None = None  # the DAG whose task made it; None outside Airflow
    model_id: str | None = None  # the model itself, or the one that was decided or predicted by
    method: str = ""
    terms: tuple[str, ...] = ()  # of a model, those that the job more probably has than not
    median_error_percent: float | None = None
    max_error_percent: float | None = None
    observations: int = 0  # how many
    warnings: int = 0  # how many
    artifact: str | None = None
    artifact_sha256: str | None = None
    executors: int | None = None  # decided or run on
    seconds: float | None = None
    predicted_seconds: float | None = None
    is_unusual: bool = False
    is_unlikely: bool = False
    base_model_id: str | None = None
    learned_from: int = 0  # how many production runs
    training_dollars: float | None = None  # None of a model that goes on from another: they are that one's
    past: PastSize | None = None
    price_per_hour: float | None = None  # of the cluster of a model, or of what was decided
    decision_id: str | None = None
    cost: float | None = None
    predicted_cost: float | None = None  # of a decision, without the training, as `cost` of a run
    latest_seconds: float | None = None
    confidence: float | None = None
    probability: float | None = None
    is_fallback: bool = False  # whether a decision keeps to no goal, see `Decision.fallback_reason`
    cause: str = ""
    reason: str = ""


_TOLD = tuple(each.name for each in fields(CatalogueEntry))


def entry_of(record: Record) -> CatalogueEntry:
    """What the catalogue says of a record."""
    said: dict[str, Any] = {name: getattr(record, name) for name in _TOLD if hasattr(record, name)}
    if isinstance(record, Model):
        said |= {
            "model_id": record.id,
            # Averaged models have a share of all terms.
            "terms": tuple(term.name for term in record.terms if term.probability >= 0.5),
            "median_error_percent": record.validation.median_error_percent,
            "max_error_percent": record.validation.max_error_percent,
            "observations": len(record.observations),
            "warnings": len(record.warnings),
            "learned_from": len(record.learned_from),
            "training_dollars": None if record.base_model_id else training_dollars(record),
            "past": past_size(record),
            "price_per_hour": record.cluster.price_per_hour if record.cluster else None,
        }
    elif isinstance(record, DecisionRecord):
        said |= {
            "warnings": len(record.decision.warnings),
            "executors": record.decision.config.executors,
            "predicted_seconds": record.decision.predicted_seconds,
            "predicted_cost": record.decision.predicted_run_cost,
            "probability": record.decision.probability,
            "price_per_hour": record.decision.price_per_hour,
            "is_fallback": record.decision.fallback_reason is not None,
        }
    return CatalogueEntry(dag_id=record.origin.dag_id if record.origin else None, **said)


def past_size(model: Model) -> PastSize | None:
    """The size at which most of its past runs ran; of those used equally the one used last."""
    past = [run for run in model.observations if run.from_history]
    if not past:
        return None
    counts = Counter(run.executors for run in past)
    # Oldest first: the last of the largest is the one used last.
    executors = max(reversed([run.executors for run in past]), key=lambda each: counts[each])
    there = [run.startup_seconds + run.seconds for run in past if run.executors == executors]
    return PastSize(executors=executors, seconds=median(there), runs=len(there))


READERS = 16
"""Folders and files read at once: an object store answers late, and many questions as late as one."""
READ_TOGETHER = 256
"""Records held in memory at once by those who go through all of them."""


def places(root: Any) -> Iterator[Place]:
    """Where all records of a store lie, by their files' names: job by job, oldest first in a folder."""
    for job_folder in sorted(storage.files(root), key=lambda folder: str(folder.name)):
        found = (place_named(str(job_folder.name), name) for name in _names_below(job_folder) or ())
        yield from sorted(place for place in found if place is not None)


def all_records(root: Any) -> Iterator[Record]:
    """Every record in a store, in the order of `places`; what cannot be read is skipped with a warning."""

    def read_place(place: Place) -> Record | None:
        record = read_or_skip(place.form, place.path(root))
        return None if record is None or is_misplaced(root, place, record) else record

    found = places(root)
    while some := list(islice(found, READ_TOGETHER)):
        records = storage.in_threads(read_place, some, most=READERS)
        yield from (record for record in records if record is not None)


def _names_below(job_folder: Any) -> list[str] | None:
    """The names of the files under a job's folder; None, with a warning, where nobody can tell."""
    try:
        return storage.files_below(job_folder, depth=DEPTH)
    except OSError as error:
        log.warning("Skipping %s, which cannot be listed: %s", job_folder, error)
        return None


FOLDER = ".catalogue"
"""No job's folder has a name that begins with a dot."""
MOST_UNWRITTEN = 16
"""With more records of a job than these that its summary does not know, it is written again."""


@dataclass(kw_only=True)
class _Summary:
    """The file of a job: entries by the names of the records under the job's folder."""

    schema: int = SCHEMA
    # the fields of its entries. With others it is of another version and not used, since what an entry lacks
    # would pass for what nobody knows
    told: tuple[str, ...] = ()
    entries: dict[str, CatalogueEntry] = field(default_factory=dict)


# Made here, since msgspec must not learn of a class in several threads at once.
_SUMMARIES = msgspec.json.Decoder(_Summary)

key_of = attrgetter("id", "kind", "job", "instance_type")
"""What an entry is one of: two of one key are of one thing. Sorts by age."""


class Catalogue:
    """Entries of all models, decisions, production runs and marks in a store.

    An object reads each record once: keep one where the entries are read often. Threads may share it.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        # By the names of the job's folder, and of the record under it.
        self._jobs: dict[str, dict[str, CatalogueEntry]] = {}
        self._unwritten: Counter[str] = Counter()
        self.unreadable: set[Place] = set()
        """Files that hold no document that is theirs to hold."""
        self._has_warned = False
        self._lock = Lock()

    def entries(self, job: str | None = None) -> list[CatalogueEntry]:
        """All entries, or those of a job, oldest first; unreadable files are skipped with a warning."""
        # One reader at a time: what it reads the others know, too.
        with self._lock, storage.store_errors(f"The documents in {self.root} cannot be listed"):
            wanted = None if job is None else storage.safe_name("job", job)
            folders = [folder for folder in storage.files(self.root) if wanted in (None, str(folder.name))]
            names = [str(folder.name) for folder in folders]
            listed = dict(zip(names, storage.in_threads(self._listed, folders, most=READERS), strict=True))
            self._read_new(listed)
            for name, found in listed.items():
                if found is not None:
                    self._settle(name, found)
            entries = [entry for name in names for entry in self._jobs[name].values()]
        # Names that differ in case only share a folder on some file systems.
        return sorted((entry for entry in entries if job in (None, entry.job)), key=key_of)

    def _listed(self, job_folder: Any) -> list[str] | None:
        """The names of the files under a job's folder; first its summary is read, where it was not before."""
        job = str(job_folder.name)
        if job not in self._jobs:
            self._jobs[job] = self._summary(job)
        return _names_below(job_folder)

    def _summary(self, job: str) -> dict[str, CatalogueEntry]:
        path = self.root / FOLDER / f"{job}{SUFFIX}"
        try:
            storage.forget_listing(path.parent)
            summary = _SUMMARIES.decode(path.read_bytes())
        except FileNotFoundError:
            return {}
        # It is damaged, or a newer version's, or cannot be read now: the records tell the same.
        except Exception as error:
            log.info("%s is not used: %s", path, error)
            return {}
        return summary.entries if (summary.schema, summary.told) == (SCHEMA, _TOLD) else {}

    def _read_new(self, listed: Mapping[str, Sequence[str] | None]) -> None:
        """Read the records that are not known, by their jobs' folders and their names under those."""
        unread = [
            place
            for job, names in listed.items()
            for name in names or ()
            if name not in self._jobs[job]
            and (place := place_named(job, name)) is not None
            and place.form in LISTED
        ]
        for place, entry in zip(unread, storage.in_threads(self._entry, unread, most=READERS), strict=True):
            if entry is not None:
                self._jobs[place.job][place.name] = entry
                self._unwritten[place.job] += 1

    def _entry(self, place: Place) -> CatalogueEntry | None:
        """Of the record at a place; None, with a warning, where there is none, or it cannot be read now."""
        path = place.path(self.root)
        # What is no record now may be one when it has been copied whole; once is told of it.
        level = logging.DEBUG if place in self.unreadable else logging.WARNING
        try:
            record = read(place.form, path, level)
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("Skipping %s, which cannot be read: %s", path, error)
            return None
        if record is None or is_misplaced(self.root, place, record, level):
            self.unreadable.add(place)
            return None
        self.unreadable.discard(place)
        return entry_of(record)

    def _settle(self, job: str, found: Sequence[str]) -> None:
        """Forget what is there no more, and write for the other processes what has been read."""
        known = self._jobs[job]
        gone = known.keys() - set(found)
        for name in gone:
            del known[name]
        if not gone and self._unwritten[job] <= MOST_UNWRITTEN:
            return
        path = self.root / FOLDER / f"{job}{SUFFIX}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            summary = _Summary(told=_TOLD, entries=known)
            storage.replace_whole(path, msgspec.json.encode(summary).decode("utf-8"))
            self._unwritten[job] = 0
        # The libraries behind object stores raise errors of their own.
        except Exception as error:
            if not self._has_warned:
                log.warning(
                    "The catalogue in %s cannot be written, so each process reads all documents: %s",
                    self.root / FOLDER,
                    error,
                )
            self._has_warned = True
