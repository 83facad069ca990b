"""Where each record lies in a store, and how it is written and read: one JSON file each.

Layout: ``root / job / instance type / models / id.json``, likewise for the other folders of `FOLDERS`, and
``root / .surveys / id.json`` for surveys, which are of many jobs. Names are percent-encoded, since users
choose them: a job may be called "../x", and no job's folder starts with a dot. Ids sort by time: the last
name in a folder is the newest.

Each file has a digest, which shows what a disk or a copy has changed in it. It is no signature: whoever may
write to a store may write digests, too. A damaged file, torn in the middle of its JSON or changed since it
was stored, is moved to ``root / .set-aside``, with the folders that it lay in. Nothing there is ever
overwritten or read as a record.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any, NamedTuple, TypeVar

import msgspec

from airflow_provider_ernest.documents.base import Record, Stored
from airflow_provider_ernest.documents.decisions import DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model, ModelMark
from airflow_provider_ernest.documents.profiles import BottleneckReport, ProfileRecord
from airflow_provider_ernest.documents.runs import ObservationRecord
from airflow_provider_ernest.documents.surveys import Survey
from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError, StoreError
from airflow_provider_ernest.store.files import (
    changed_at,
    create_whole,
    decode_json,
    delete,
    files,
    files_below,
    forget_listing,
    is_settled,
    local_path,
    move_aside,
    safe_name,
    store_errors,
)
from airflow_provider_ernest.words import count

log = logging.getLogger(__name__)

Kept = TypeVar("Kept", bound=Record)
AnyStored = TypeVar("AnyStored", bound=Stored)

FOLDERS: dict[type[Record], str] = {
    Model: "models",
    DecisionRecord: "decisions",
    ProductionRun: "production",
    ObservationRecord: "observations",
    ModelMark: "marks",
    ProfileRecord: "profiles",
    BottleneckReport: "bottlenecks",
}
"""Where records of a class lie under the folder of an instance type."""

FORMS: dict[str, type[Record]] = {form.kind: form for form in FOLDERS}
_FORM_IN = {folder: form for form, folder in FOLDERS.items()}

SURVEYS, SET_ASIDE = ".surveys", ".set-aside"
SUFFIX = ".json"
DEPTH = 3
"""Of a record under its job's folder: the type of machine, the folder of its kind, the file."""
DIGEST = "digest"
"""Its field in the JSON, beside those of the record."""

BY_HAND = (
    "If it was edited on purpose, move it out of the store; `ernest fit FILE --store` makes a model of it."
)


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
        safe_name("job", job),
        safe_name("instance_type", instance_type),
        FOLDERS[form],
        f"{safe_name('id', record_id)}{SUFFIX}",
    )


def place_named(job: str, name: str) -> Place | None:
    """The place of a file by its job's folder and its path under that; None where no record lies."""
    parts = name.split("/")
    return Place(job, *parts) if len(parts) == DEPTH and parts[1] in _FORM_IN else None


def survey_path(root: Any, survey_id: str) -> Any:
    """The file of a survey in a store."""
    return root / SURVEYS / f"{safe_name('id', survey_id)}{SUFFIX}"


def folder_of(root: Any, form: type[Record], job: str, instance_type: str) -> Any:
    """Where the records of a class of a job on a type of machine lie."""
    return root / safe_name("job", job) / safe_name("instance_type", instance_type) / FOLDERS[form]


def newest_first(folder: Any) -> list[Any]:
    """The paths of the records in a folder."""
    return sorted(files(folder), key=lambda path: str(path.name), reverse=True)


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
    with store_errors(f"{name} cannot be written to {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        # What others have written since it was listed is not to be overwritten.
        forget_listing(path.parent)
        try:
            create_whole(path, text)
        except FileExistsError:
            if set_aside_if_damaged(root, path):
                create_whole(path, text)
            elif not _is_in(path, record):
                raise
    return path


def _encoded(record: Stored, name: str) -> str:
    """The document as JSON that has been read back."""
    try:
        encoded = msgspec.json.encode(sealed(record.to_dict()))
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
    """The document in a file's text; an `InvalidDocumentError` where there is none as it was stored."""
    return form.from_dict(without_digest(decode_json(text)))


def read(root: Any, form: type[AnyStored], path: Any) -> AnyStored | None:
    """The document in a file of a store; None, with a warning in the log, where the file holds none."""
    try:
        return decode(form, path.read_text(encoding="utf-8"))
    except (InvalidDocumentError, UnicodeDecodeError, IsADirectoryError) as error:
        if not set_aside_if_damaged(root, path):
            log.warning("Skipping %s, which is no %s: %s", path, form.words, error)
        return None


def read_or_skip(root: Any, form: type[AnyStored], path: Any) -> AnyStored | None:
    """The same; None, with a warning that names it, also where the file cannot be read."""
    try:
        return read(root, form, path)
    except OSError as error:
        log.warning("Skipping %s, which cannot be read: %s", path, error)
        return None


def is_misplaced(root: Any, place: Place, record: Record) -> bool:
    """Whether a record belongs elsewhere than where it was found; then a warning in the log names it."""
    try:
        # File systems that do not tell upper from lower case keep the first name of a folder.
        if [*map(str.casefold, place_of(record))] == [*map(str.casefold, place)]:
            return False
    except InvalidParameterError as error:
        log.warning("Skipping %s, which belongs nowhere: %s", place.path(root), error)
        return True
    log.warning("Skipping %s: it is a %s of another job or type of machine.", place.path(root), record.words)
    return True


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    """The data with its digest."""
    return {**data, DIGEST: _digest_of(data)}


def without_digest(data: Any) -> Any:
    """The data without its digest; an `InvalidDocumentError` where it has none, or that of something else."""
    if not isinstance(data, dict):
        raise InvalidDocumentError(f"A document must be a mapping, not {type(data).__name__}.")
    content = {name: value for name, value in data.items() if name != DIGEST}
    if DIGEST not in data:
        raise InvalidDocumentError("It has no digest, so this package did not store it.", remedy=BY_HAND)
    if data[DIGEST] != _digest_of(content):
        raise InvalidDocumentError(
            "Its content does not match its digest: it was changed after it was stored.", remedy=BY_HAND
        )
    return content


def _digest_of(data: dict[str, Any]) -> str:
    """SHA-256 of the JSON without white space, its fields in the order of their names."""
    return hashlib.sha256(msgspec.json.encode(data, order="sorted")).hexdigest()


def damage_in(content: bytes) -> str:
    """What is wrong with the content of a file, as a sentence; empty where somebody may have written it so.

    JSON that is nested too deeply to be read, or has no digest, counts as written so.
    """
    if not content.strip():
        return "It is empty."
    if not content.strip(b"\0"):
        return "It holds nothing but zeros."
    try:
        data = decode_json(content.decode("utf-8"))
    except UnicodeDecodeError:
        return f"It is not UTF-8 text ({count(len(content))} bytes)."
    except InvalidDocumentError as error:
        if isinstance(error.__cause__, RecursionError):
            return ""
        return f"It breaks off in the middle of its JSON ({count(len(content))} bytes)."
    if isinstance(data, dict) and DIGEST in data:
        try:
            without_digest(data)
        except InvalidDocumentError as error:
            return str(error)
    return ""


@dataclass(frozen=True, kw_only=True)
class SetAside:
    """A file that was set aside."""

    path: Any  # where it lies now
    problem: str  # what is wrong with it, and what to do about that
    at: str  # when it was set aside, ISO 8601 with UTC offset; empty where the storage does not tell


def set_aside_if_damaged(root: Any, path: Any) -> bool:
    """Set a file that could not be read aside if it is damaged; whether it is gone. Never raises."""
    # A storage's library may raise anything; the file is then left where it is, as on a read-only storage.
    try:
        if not str(path.name).endswith(SUFFIX):
            return False
        content = path.read_bytes()
        if not damage_in(content) or not is_settled(path):
            return False
        folders = [str(each.name) for each in takewhile(lambda each: each != root, path.parents)]
        folder = (root / SET_ASIDE).joinpath(*reversed(folders))
        folder.mkdir(parents=True, exist_ok=True)
        target = move_aside(path, folder)
        told = "%s was set aside: %s It is now %s; `ernest store list` names it."
        log.warning(told, path, _problem(content), target)
        content = target.read_bytes()
        if not damage_in(content):
            # Somebody has put a whole file there between reading and moving it.
            create_whole(path, content.decode("utf-8"))
            delete(target)
            return False
        return True
    except FileNotFoundError:
        return True
    except Exception as error:
        log.info("%s is damaged and cannot be moved: %s", path, error)
        return False


def list_set_aside(root: Any) -> list[SetAside]:
    """All files that were set aside, by name; a `StoreError` where they cannot be listed."""
    with store_errors(f"What was set aside in {root} cannot be listed"):
        folder = root / SET_ASIDE
        names = [
            *(f"{SURVEYS}/{name}" for name in files_below(folder / SURVEYS, depth=1)),
            *files_below(folder, depth=DEPTH + 1),
        ]
        return [_described(folder / name) for name in sorted(names)]


def _described(path: Any) -> SetAside:
    try:
        problem = _problem(path.read_bytes())
    except OSError as error:
        problem = f"It cannot be read: {error}."
    local = local_path(path)
    try:
        # A move leaves the time of modification, and changes that of the directory entry.
        moved = datetime.fromtimestamp(local.stat().st_ctime, UTC) if local is not None else changed_at(path)
    except OSError:
        moved = None
    return SetAside(path=path, problem=problem, at=moved.isoformat() if moved else "")


def _problem(content: bytes) -> str:
    damage = damage_in(content)
    if not damage:
        return "It is whole now. Move it back to where it was."
    return f"{damage} If you have an undamaged copy, put it where this file was, then delete this file."
