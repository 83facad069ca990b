"""Where each kind of document lies in a store, and how it is written and read: one JSON file each.

Layout: ``root / job / instance type / model id.json``, and what is kept beside the models in folders
of its own there, ``decisions``, ``production``, ``observations``, ``marks``, ``profiles`` and
``bottlenecks``. Names are percent-encoded, for they are the user's: a job may be called "../x". Ids sort by
time, so the last name in a folder is the newest.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from airflow_provider_ernest.exceptions import InvalidDocumentError, StoreError
from airflow_provider_ernest.model.bottlenecks import BottleneckReport, ProfileRecord
from airflow_provider_ernest.model.records import (
    DecisionRecord,
    ModelMark,
    ObservationRecord,
    ProductionRun,
)
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.storage.digests import with_digest, without_digest
from airflow_provider_ernest.model.storage.set_aside import set_aside_if_damaged
from airflow_provider_ernest.model.storage.stored_files import decode_json as decode_json
from airflow_provider_ernest.model.storage.stored_files import files as files
from airflow_provider_ernest.model.storage.stored_files import forget_listing
from airflow_provider_ernest.model.storage.stored_files import safe_name as safe_name
from airflow_provider_ernest.model.storage.stored_files import store_errors as store_errors
from airflow_provider_ernest.model.storage.whole_files import create_whole

log = logging.getLogger(__name__)

SUFFIX = ".json"

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

OnSetAside = Callable[["Shelf[Any]", Any], None]
"""Told of a file of a shelf that was set aside."""


def ignore(shelf: Shelf[Any], path: Any) -> None:
    """Nobody keeps a list of what this file held."""


@dataclass(frozen=True, kw_only=True)
class Shelf(Generic[Stored]):
    """Documents of one kind in a store.

    Attributes:
        kind: the kind in words.
        form: their class.
        id_field: its field that names each.
        folder: the folder of theirs under the instance type's; empty where they lie in that itself.
        is_indented: whether people are to read the files; those of large documents are smaller without.
    """

    kind: str
    form: type[Stored]
    id_field: str
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
            f"{safe_name(self.id_field, document_id)}{SUFFIX}",
        )

    def place_of(self, document: Stored) -> Place:
        """Where the document lies."""
        return self.place(document.job, document.instance_type, getattr(document, self.id_field))

    def path(self, root: Any, job: str, instance_type: str, document_id: str) -> Any:
        """The file of the document with that id."""
        *_, name = self.place(job, instance_type, document_id)
        return self.in_folder(type_folder(root, job, instance_type)) / name

    def place_at(self, path: Any) -> Place:
        """Where a file of theirs lies."""
        type_folder = path.parent.parent if self.folder else path.parent
        return str(type_folder.parent.name), str(type_folder.name), self.folder, str(path.name)

    def root_of(self, path: Any) -> Any:
        """The root of the store that a file of theirs lies in."""
        type_folder = path.parent.parent if self.folder else path.parent
        return type_folder.parent.parent

    def write(self, root: Any, document: Stored) -> Any:
        """Write it, whole; repeating that is allowed, overwriting another is not. Returns its path.

        Raises:
            StoreError: it cannot be written or read back, or another one has its id.
        """
        name = f"{self.kind.capitalize()} {getattr(document, self.id_field)}"
        text = self._encode(document, name)
        path = self.path(root, document.job, document.instance_type, getattr(document, self.id_field))
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

    def read_document(self, path: Any, *, on_set_aside: OnSetAside = ignore) -> Stored | None:
        """The document in the file; None, with a warning in the log that names it, where there is none.

        Args:
            path: the file's.
            on_set_aside: called where the file was damaged and is not there any more.

        Raises:
            OSError: the file cannot be read.
        """
        try:
            return self.decode(path.read_text(encoding="utf-8"))
        except (InvalidDocumentError, UnicodeDecodeError, IsADirectoryError) as error:
            if set_aside_if_damaged(self.root_of(path), path):
                on_set_aside(self, path)
            else:
                log.warning("Skipping %s, which is no %s: %s", path, self.kind, error)
            return None

    def read_or_skip(self, path: Any, *, on_set_aside: OnSetAside = ignore) -> Stored | None:
        """The same; None, with a warning that names it, also where the file cannot be read."""
        try:
            return self.read_document(path, on_set_aside=on_set_aside)
        except OSError as error:
            log.warning("Skipping %s, which cannot be read: %s", path, error)
            return None

    def read_wanted(
        self, path: Any, job: str | None, instance_type: str, *, on_set_aside: OnSetAside = ignore
    ) -> Stored | None:
        """The same where it is one of that job (None: of any) on that type of machine."""
        document = self.read_or_skip(path, on_set_aside=on_set_aside)
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


MODELS = Shelf(kind="model", form=Model, id_field="model_id")
DECISIONS = Shelf(kind="decision", form=DecisionRecord, id_field="decision_id", folder="decisions")
PRODUCTION = Shelf(kind="production run", form=ProductionRun, id_field="production_id", folder="production")
OBSERVATIONS = Shelf(
    kind="observation", form=ObservationRecord, id_field="observation_id", folder="observations"
)
MARKS = Shelf(kind="mark", form=ModelMark, id_field="mark_id", folder="marks")
PROFILES = Shelf(
    kind="run profile", form=ProfileRecord, id_field="profile_id", folder="profiles", is_indented=False
)
BOTTLENECKS = Shelf(
    kind="bottleneck report", form=BottleneckReport, id_field="report_id", folder="bottlenecks"
)
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
