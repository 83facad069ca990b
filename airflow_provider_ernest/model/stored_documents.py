"""Where each kind of document lies in a store, and how it is written and read: one JSON file each.

Layout: ``root / job / instance type / model id.json``, and what is kept beside the models in folders
of its own there, ``decisions``, ``production``, ``observations`` and ``marks``. Names are percent-encoded,
for they are the user's: a job may be called "../x". Ids sort by time, so the last name in a folder is the
newest.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec

from airflow_provider_ernest.exceptions import (
    ErnestError,
    InvalidDocumentError,
    InvalidParameterError,
    StoreError,
)
from airflow_provider_ernest.model.records import (
    DecisionRecord,
    ModelMark,
    ObservationRecord,
    ProductionRun,
)
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.whole_files import create_whole

log = logging.getLogger(__name__)

SUFFIX = ".json"
LONGEST_NAME = 200
"""File systems allow 255 bytes; some are left for the suffix and for a temporary name."""

Stored = TypeVar("Stored", Model, DecisionRecord, ProductionRun, ObservationRecord, ModelMark)

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
        id_field: its field that names each.
        folder: the folder of theirs under the instance type's; empty where they lie in that itself.
    """

    kind: str
    form: type[Stored]
    id_field: str
    folder: str = ""

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
            try:
                create_whole(path, text)
            except FileExistsError:
                if path.read_text(encoding="utf-8") != text:
                    raise
        return path

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
            InvalidDocumentError: there is none.
        """
        return self.form.from_dict(decode_json(text))

    def read_document(self, path: Any) -> Stored | None:
        """The document in the file; None, with a warning in the log that names it, where there is none.

        Raises:
            OSError: the file cannot be read.
        """
        try:
            return self.decode(path.read_text(encoding="utf-8"))
        except (InvalidDocumentError, UnicodeDecodeError, IsADirectoryError) as error:
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
        """The document as indented JSON that has been read back."""
        try:
            text = msgspec.json.format(msgspec.json.encode(document.to_dict()), indent=2).decode("utf-8")
            readable = self.decode(text) == document
        except (InvalidDocumentError, ValueError) as error:
            raise StoreError(f"{name} could not be read back: {error}") from error
        if not readable:
            raise StoreError(
                f"{name} could not be read back unchanged.", remedy="Check it for values such as NaN."
            )
        return text + "\n"


MODELS = Shelf(kind="model", form=Model, id_field="model_id")
DECISIONS = Shelf(kind="decision", form=DecisionRecord, id_field="decision_id", folder="decisions")
PRODUCTION = Shelf(kind="production run", form=ProductionRun, id_field="production_id", folder="production")
OBSERVATIONS = Shelf(
    kind="observation", form=ObservationRecord, id_field="observation_id", folder="observations"
)
MARKS = Shelf(kind="mark", form=ModelMark, id_field="mark_id", folder="marks")
SHELVES: tuple[Shelf[Any], ...] = (MODELS, DECISIONS, PRODUCTION, OBSERVATIONS, MARKS)


def type_folder(root: Any, job: str, instance_type: str) -> Any:
    """The folder of a job on a type of machine."""
    return root / safe_name("job", job) / safe_name("instance_type", instance_type)


@contextmanager
def store_errors(problem: str) -> Iterator[None]:
    """Make store errors that begin with the problem of whatever goes wrong with files or a storage's library.

    Other errors of this package pass: they tell of the user's values, and how to change them.
    """
    try:
        yield
    except (OSError, InvalidDocumentError) as error:
        raise StoreError(
            f"{problem}: {error}", remedy="Check the store's path, its permissions and its content."
        ) from error
    except ErnestError:
        raise
    except ImportError as error:
        raise StoreError(
            f"{problem}: {error}.",
            remedy="Install the package for this kind of storage, such as s3fs for s3:// and gcsfs for gs://.",
        ) from error
    # The libraries behind object stores raise errors of their own.
    except Exception as error:
        raise StoreError(
            f"{problem}: {type(error).__name__}: {error}",
            remedy="Check the store's address, the connection that it names and what that may do.",
        ) from error


def safe_name(parameter: str, name: str) -> str:
    """One path segment that no other name maps to, on any storage: no separators, never "." or ".."."""
    if not name:
        raise InvalidParameterError(parameter, name, "is empty", remedy="Give it a name.")
    encoded = quote(name, safe="", errors="surrogatepass")
    if encoded.startswith("."):
        encoded = "%2E" + encoded[1:]
    if len(encoded) > LONGEST_NAME:
        digest = hashlib.sha256(encoded.encode("ascii")).hexdigest()
        encoded = f"{encoded[: LONGEST_NAME - len(digest) - 1]}-{digest}"
    return encoded


def decode_json(text: str) -> Any:
    """What the JSON text says.

    Raises:
        InvalidDocumentError: it is no JSON.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidDocumentError(f"This is not JSON: {error}") from error


def files(folder: Any) -> list[Any]:
    """What the folder holds now, without files that are still being written; nothing where there is none."""
    # Airflow's paths stand before those that do the work, with file systems of their own.
    file_system = getattr(getattr(folder, "__wrapped__", folder), "fs", None)
    if file_system is not None:
        # Those of object stores remember listings, and so would never show what others write.
        file_system.invalidate_cache(folder.path)
    try:
        return _files(folder)
    except (FileNotFoundError, NotADirectoryError):
        # Another process may have made the folder just now.
        return _files(folder) if folder.exists() else []


def _files(folder: Any) -> list[Any]:
    return [path for path in folder.iterdir() if not str(path.name).startswith(".")]
