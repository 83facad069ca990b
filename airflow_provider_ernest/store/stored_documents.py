"""Where each kind of document lies in a store, and how it is written and read: one JSON file each.

Layout: ``root / job / instance type / model id.json``, and what is kept beside the models in folders
of its own there, ``decisions``, ``production``, ``observations``, ``marks``, ``profiles`` and
``bottlenecks``. Names are percent-encoded, for they are the user's: a job may be called "../x". Ids sort by
time, so the last name in a folder is the newest.
"""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import msgspec

from airflow_provider_ernest.documents import (
    BottleneckReport,
    DecisionRecord,
    Model,
    ModelMark,
    ObservationRecord,
    ProductionRun,
    ProfileRecord,
)
from airflow_provider_ernest.exceptions import InvalidDocumentError, StoreError
from airflow_provider_ernest.json_document import Document
from airflow_provider_ernest.store.files import (
    changed_at,
    create_whole,
    decode_json,
    files,
    forget_listing,
    is_settled,
    local_path,
    move_whole,
    safe_name,
    store_errors,
)

# ---------------------------------------------------------------------------
# The digest that each stored document bears: what a disk or a copy has changed in it is found on reading.
#
# It is no signature: whoever may write to a store may write digests, too.


DIGEST = "digest"
"""Its field in the JSON, beside those of the document."""

BY_HAND = (
    "If it was edited on purpose, move the file out of the store, delete its field `digest`, and import it: "
    "`ernest store import FILE`."
)


def with_digest(document: Document) -> dict[str, Any]:
    """The document as JSON-compatible builtins, with its digest."""
    return sealed(document.to_dict())


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    """The data with its digest."""
    return {**data, DIGEST: _digest_of(data)}


def without_digest(data: Any) -> Any:
    """What bore a digest, without it.

    Raises:
        InvalidDocumentError: it bears none, or that of something else.
    """
    if not isinstance(data, dict):
        raise InvalidDocumentError(f"A document must be a mapping, not {type(data).__name__}.")
    told = {name: value for name, value in data.items() if name != DIGEST}
    if DIGEST not in data:
        raise InvalidDocumentError("It bears no digest, so this package has not stored it.", remedy=BY_HAND)
    if data[DIGEST] != _digest_of(told):
        raise InvalidDocumentError(
            "Its content does not agree with its digest: it was changed after it was stored.", remedy=BY_HAND
        )
    return told


def damage_in(content: bytes) -> str:
    """What is wrong with the content of a file, as a sentence; empty where it can be what somebody wrote.

    What is nested too deeply to be read, and JSON that bears no digest, counts as that.
    """
    if not content.strip():
        return "It is empty."
    if not content.strip(b"\0"):
        return "It holds nothing but zeros."
    try:
        data = decode_json(content.decode("utf-8"))
    except UnicodeDecodeError:
        return f"It is not text of UTF-8, {len(content):,} bytes."
    except InvalidDocumentError as error:
        if isinstance(error.__cause__, RecursionError):
            return ""
        return f"It ends or breaks off in the middle of its JSON, {len(content):,} bytes."
    if isinstance(data, dict) and DIGEST in data:
        try:
            without_digest(data)
        except InvalidDocumentError as error:
            return str(error)
    return ""


def _digest_of(data: dict[str, Any]) -> str:
    """SHA-256 of the JSON without white space, its fields in the order of their names."""
    return hashlib.sha256(msgspec.json.encode(data, order="sorted")).hexdigest()


# ---------------------------------------------------------------------------
# Damaged files of a store: torn in the middle of their JSON, or changed since they were stored.
#
# They are moved to a folder of their own under the store's root, with the folders that they lay in:
# ``root / .set-aside / job / instance type / file``. Nothing there is ever overwritten or read as a
# document,
# and a name that starts with a dot is no job's.


log = logging.getLogger(__name__)

FOLDER = ".set-aside"
SUFFIX = ".json"
DEEPEST = 4
"""Folders that a document lies under at most: its job's, its instance type's, its shelf's."""
NAME = re.compile(r"(?P<original>.+\.json)(\.[0-9a-f]{8})?")


@dataclass(frozen=True, kw_only=True)
class SetAside:
    """A file that was set aside.

    Attributes:
        path: where it lies.
        original: where it lay.
        problem: what is wrong with it, and what to do about that.
        at: when it was set aside, as the storage tells: ISO 8601 with UTC offset; empty where it does not.
    """

    path: Any
    original: Any
    problem: str
    at: str


def set_aside_if_damaged(root: Any, path: Any) -> bool:
    """Set a file aside if it is torn, or does not agree with its digest. Never raises.

    Args:
        root: the store's.
        path: of a file that could not be read as a document.

    Returns:
        Whether it is gone: this process or another one has set it aside.
    """
    # A storage's library may raise anything; the file is then left where it is, as on a read-only storage.
    try:
        if not str(path.name).endswith(SUFFIX):
            return False
        content = path.read_bytes()
        if not damage_in(content) or not is_settled(path):
            return False
        target = set_aside(root, path, _problem(content))
        if not damage_in(target.read_bytes()):
            # Somebody has put a whole file there between reading and moving it.
            move_whole(target, path)
            return False
        return True
    except FileNotFoundError:
        return True
    except Exception as error:
        log.info("%s is damaged and cannot be moved: %s", path, error)
        return False


def set_aside(root: Any, path: Any, problem: str) -> Any:
    """Move a file of a store out of the way of its readers, and say so in a warning in the log.

    Args:
        root: the store's.
        path: the file's.
        problem: what is wrong with it, as a sentence.

    Returns:
        Its new path.

    Raises:
        FileNotFoundError: it is not there any more.
        OSError: it cannot be moved.
    """
    folders: list[str] = []
    folder = path.parent
    while folder != root and len(folders) < DEEPEST:
        folders.append(str(folder.name))
        folder = folder.parent
    target_folder = root / FOLDER
    for name in reversed(folders):
        target_folder = target_folder / name
    target_folder.mkdir(parents=True, exist_ok=True)
    target = target_folder / str(path.name)
    while True:
        try:
            move_whole(path, target)
            break
        except FileExistsError:
            target = target_folder / f"{path.name}.{secrets.token_hex(4)}"
    log.warning("%s was set aside: %s It is now %s; `ernest store` lists it.", path, problem, target)
    return target


def list_set_aside(root: Any) -> list[SetAside]:
    """All files that were set aside, by name.

    Raises:
        StoreError: they cannot be listed.
    """
    with store_errors(f"What was set aside in {root} cannot be listed"):
        return [_described(root, parts, path) for parts, path in _below(root / FOLDER, ())]


def _below(folder: Any, parts: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for path in sorted(files(folder), key=lambda path: str(path.name)):
        if len(parts) < DEEPEST and path.is_dir():
            yield from _below(path, (*parts, str(path.name)))
        else:
            yield parts, path


def _described(root: Any, parts: tuple[str, ...], path: Any) -> SetAside:
    original = root
    for part in parts:
        original = original / part
    name = NAME.fullmatch(str(path.name))
    original = original / (name["original"] if name else str(path.name))
    try:
        problem = _problem(path.read_bytes())
    except OSError as error:
        problem = f"It cannot be read: {error}."
    return SetAside(path=path, original=original, problem=problem, at=_moved_at(path))


def _moved_at(path: Any) -> str:
    local = local_path(path)
    try:
        # A move leaves the time of modification, and changes that of the directory entry.
        moved = datetime.fromtimestamp(local.stat().st_ctime, UTC) if local is not None else changed_at(path)
    except OSError:
        return ""
    return moved.isoformat() if moved else ""


def _problem(content: bytes) -> str:
    damage = damage_in(content)
    if not damage:
        return "It is whole now. Move it back to where it lay."
    return f"{damage} Import a whole copy if you have one (`ernest store import`), and delete it."


# ---------------------------------------------------------------------------


Stored = TypeVar(
    "Stored",
    Model,
    DecisionRecord,
    ProductionRun,
    ObservationRecord,
    ModelMark,
    ProfileRecord,
    BottleneckReport,
)

Listed = TypeVar("Listed", Model, DecisionRecord, ProductionRun, ModelMark)
"""Documents that the catalogue lists."""

Place = tuple[str, str, str, str]
"""Where a document lies under a store's root: the names of its job's folder, of its instance type's, of its
shelf's (empty where it has none) and of its file."""


@dataclass(frozen=True, kw_only=True)
class Shelf(Generic[Stored]):
    """Documents of one kind in a store.

    Attributes:
        kind: the kind in words.
        form: their class.
        folder: the folder of theirs under the instance type's; empty where they lie in that itself.
        is_indented: whether people are to read the files; those of large documents are smaller without.
    """

    kind: str
    form: type[Stored]
    folder: str = ""
    is_indented: bool = True

    def in_folder(self, type_folder: Any) -> Any:
        """Where they lie under the folder of an instance type."""
        return type_folder / self.folder if self.folder else type_folder

    def place(self, job: str, instance_type: str, document_id: str) -> Place:
        """Where the document with that id lies."""
        return (
            safe_name("job", job),
            safe_name("instance_type", instance_type),
            self.folder,
            f"{safe_name('id', document_id)}{SUFFIX}",
        )

    def place_of(self, document: Stored) -> Place:
        """Where the document lies."""
        return self.place(document.job, document.instance_type, document.id)

    def path(self, root: Any, job: str, instance_type: str, document_id: str) -> Any:
        """The file of the document with that id."""
        *_, name = self.place(job, instance_type, document_id)
        return self.in_folder(type_folder(root, job, instance_type)) / name

    def root_of(self, path: Any) -> Any:
        """The root of the store that a file of theirs lies in."""
        type_folder = path.parent.parent if self.folder else path.parent
        return type_folder.parent.parent

    def write(self, root: Any, document: Stored) -> Any:
        """Write it, whole; repeating that is allowed, overwriting another is not. Returns its path.

        Raises:
            StoreError: it cannot be written or read back, or another one has its id.
        """
        name = f"{self.kind.capitalize()} {document.id}"
        text = self._encode(document, name)
        path = self.path(root, document.job, document.instance_type, document.id)
        with store_errors(f"{name} cannot be written to {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            # What others have written since it was listed is not to be overwritten.
            forget_listing(path.parent)
            try:
                create_whole(path, text)
            except FileExistsError:
                if set_aside_if_damaged(root, path):
                    create_whole(path, text)
                elif not self._is_in(path, document):
                    raise
        return path

    def _is_in(self, path: Any, document: Stored) -> bool:
        """Whether a file holds the document."""
        try:
            return self.decode(path.read_text(encoding="utf-8")) == document
        except (InvalidDocumentError, UnicodeDecodeError):
            return False

    def newest_first(self, type_folder: Any) -> list[Any]:
        """The paths of those that lie under the folder of an instance type."""
        paths = files(self.in_folder(type_folder))
        beside = {shelf.folder for shelf in SHELVES}
        return sorted(
            (path for path in paths if str(path.name) not in beside),
            key=lambda path: str(path.name),
            reverse=True,
        )

    def decode(self, text: str) -> Stored:
        """The document in a file's text.

        Raises:
            InvalidDocumentError: there is none, or it is not as it was stored.
        """
        return self.of_data(decode_json(text))

    def of_data(self, data: Any) -> Stored:
        """The document in what JSON said; see `decode`."""
        return self.form.from_dict(without_digest(data))

    def read_document(self, path: Any) -> Stored | None:
        """The document in the file; None, with a warning in the log that names it, where there is none.

        Raises:
            OSError: the file cannot be read.
        """
        try:
            return self.decode(path.read_text(encoding="utf-8"))
        except (InvalidDocumentError, UnicodeDecodeError, IsADirectoryError) as error:
            if not set_aside_if_damaged(self.root_of(path), path):
                log.warning("Skipping %s, which is no %s: %s", path, self.kind, error)
            return None

    def read_or_skip(self, path: Any) -> Stored | None:
        """The same; None, with a warning that names it, also where the file cannot be read."""
        try:
            return self.read_document(path)
        except OSError as error:
            log.warning("Skipping %s, which cannot be read: %s", path, error)
            return None

    def read_wanted(self, path: Any, job: str | None, instance_type: str) -> Stored | None:
        """The same where it is one of that job (None: of any) on that type of machine."""
        document = self.read_or_skip(path)
        if document is None:
            return None
        # Names that differ in case only share a folder on some file systems.
        wanted = (document.job if job is None else job, instance_type)
        if (document.job, document.instance_type) != wanted:
            log.warning(
                "Skipping %s: it is a %s of %r on %s, not of %r on %s.",
                path,
                self.kind,
                document.job,
                document.instance_type,
                *wanted,
            )
            return None
        return document

    def _encode(self, document: Stored, name: str) -> str:
        """The document as JSON that has been read back."""
        try:
            encoded = msgspec.json.encode(with_digest(document))
            text = (msgspec.json.format(encoded, indent=2) if self.is_indented else encoded).decode("utf-8")
            if self.decode(text) != document:
                raise InvalidDocumentError("It would not be the same.")
        except ValueError as error:
            raise StoreError(
                f"{name} could not be read back unchanged: {error}", remedy="Check it for values such as NaN."
            ) from error
        return text + "\n"


MODELS = Shelf(
    kind="model",
    form=Model,
)
DECISIONS = Shelf(kind="decision", form=DecisionRecord, folder="decisions")
PRODUCTION = Shelf(kind="production run", form=ProductionRun, folder="production")
OBSERVATIONS = Shelf(kind="observation", form=ObservationRecord, folder="observations")
MARKS = Shelf(kind="mark", form=ModelMark, folder="marks")
PROFILES = Shelf(kind="run profile", form=ProfileRecord, folder="profiles", is_indented=False)
BOTTLENECKS = Shelf(kind="bottleneck report", form=BottleneckReport, folder="bottlenecks")
SHELVES: tuple[Shelf[Any], ...] = (
    MODELS,
    DECISIONS,
    PRODUCTION,
    OBSERVATIONS,
    MARKS,
    PROFILES,
    BOTTLENECKS,
)

OBSERVATION, PROFILE, BOTTLENECK_REPORT = "observation", "profile", "bottlenecks"
UNLISTED: dict[str, Shelf[Any]] = {
    OBSERVATION: OBSERVATIONS,
    PROFILE: PROFILES,
    BOTTLENECK_REPORT: BOTTLENECKS,
}
"""The kinds, beside the catalogue's, that it does not list: they are many, and asked for by job and type
alone."""


def type_folder(root: Any, job: str, instance_type: str) -> Any:
    """The folder of a job on a type of machine."""
    return root / safe_name("job", job) / safe_name("instance_type", instance_type)
