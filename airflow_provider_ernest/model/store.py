"""The model store: models as JSON files under any path-like root, append-only.

Layout: ``root / job / instance type / model id.json``. Names are percent-encoded, for they are the
user's: a job may be called "../x". Model ids sort by time, so the last name in a folder is the newest.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError, StoreError
from airflow_provider_ernest.model.results import Model

log = logging.getLogger(__name__)

SUFFIX = ".json"
LONGEST_NAME = 200
"""File systems allow 255 bytes; some are left for the suffix and for a temporary name."""

NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""How file systems without hard links (FAT, some network file systems) refuse them."""


class ModelStore:
    """Models by job and instance type.

    Args:
        root: a `pathlib.Path`, or anything with its methods, such as Airflow's `ObjectStoragePath`.
    """

    def __init__(self, root: Any) -> None:
        self.root = root

    def save(self, model: Model) -> Any:
        """Write a model. Repeating it is allowed, overwriting another is not.

        On a local file system a file appears whole or not at all, also when the machine dies;
        object stores promise that of each write.

        Returns:
            The path of its file.

        Raises:
            StoreError: the model cannot be written or read back, or another one has its id.
        """
        path = self._path(model.job, model.instance_type, model.model_id)
        text = _encode(model)
        with _store_errors(f"Model {model.model_id} cannot be written to {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                _create(path, text)
            except FileExistsError:
                if path.read_text(encoding="utf-8") != text:
                    raise
        return path

    def history(self, job: str, instance_type: str) -> list[Model]:
        """All models of a job on a type of machine, newest last.

        A file that is no model of theirs is skipped with a warning in the log, which names it.

        Raises:
            StoreError: the store cannot be read.
        """
        folder = self._folder(job, instance_type)
        with _store_errors(f"The models in {folder} cannot be read"):
            paths = sorted(_files(folder), key=lambda path: str(path.name)) if folder.exists() else []
            models = [_read_or_skip(path, job, instance_type) for path in paths]
        return [model for model in models if model is not None]

    def latest(self, job: str, instance_type: str) -> Model | None:
        """The newest model of a job on a type of machine, None where there is none.

        Raises:
            StoreError: the store cannot be read.
        """
        folder = self._folder(job, instance_type)
        with _store_errors(f"The models in {folder} cannot be read"):
            if not folder.exists():
                return None
            for path in sorted(_files(folder), key=lambda path: str(path.name), reverse=True):
                model = _read_or_skip(path, job, instance_type)
                if model is not None:
                    return model
        return None

    def load(self, job: str, instance_type: str, model_id: str) -> Model:
        """One model.

        Raises:
            StoreError: it is not there or cannot be read.
        """
        path = self._path(job, instance_type, model_id)
        with _store_errors(f"There is no readable model {model_id} at {path}"):
            return _decode(path.read_text(encoding="utf-8"))

    def _folder(self, job: str, instance_type: str) -> Any:
        return self.root / _safe_name("job", job) / _safe_name("instance_type", instance_type)

    def _path(self, job: str, instance_type: str, model_id: str) -> Any:
        return self._folder(job, instance_type) / f"{_safe_name('model_id', model_id)}{SUFFIX}"


@contextmanager
def _store_errors(problem: str) -> Iterator[None]:
    try:
        yield
    except (OSError, InvalidDocumentError) as error:
        raise StoreError(
            f"{problem}: {error}", remedy="Check the store's path, its permissions and its content."
        ) from error


def _safe_name(parameter: str, name: str) -> str:
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


def _encode(model: Model) -> str:
    """The model as indented JSON that has been read back."""
    try:
        text = msgspec.json.format(msgspec.json.encode(model.to_dict()), indent=2).decode("utf-8") + "\n"
        readable = _decode(text) == model
    except (InvalidDocumentError, ValueError) as error:
        raise StoreError(f"Model {model.model_id} could not be read back: {error}") from error
    if not readable:
        raise StoreError(
            f"Model {model.model_id} could not be read back unchanged.",
            remedy="Check it for values such as NaN.",
        )
    return text


def _decode(text: str) -> Model:
    try:
        return Model.from_dict(msgspec.json.decode(text))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidDocumentError(f"This is not JSON: {error}") from error


def _files(folder: Any) -> Iterator[Any]:
    """The files in the folder, without those that are still being written."""
    return (path for path in folder.iterdir() if not str(path.name).startswith("."))


def _read_or_skip(path: Any, job: str, instance_type: str) -> Model | None:
    try:
        model = _decode(path.read_text(encoding="utf-8"))
    except (InvalidDocumentError, UnicodeDecodeError, IsADirectoryError) as error:
        log.warning("Skipping %s, which is no model: %s", path, error)
        return None
    # Names that differ in case only share a folder on some file systems.
    if (model.job, model.instance_type) != (job, instance_type):
        log.warning(
            "Skipping %s: it is a model of %r on %s, not of %r on %s.",
            path,
            model.job,
            model.instance_type,
            job,
            instance_type,
        )
        return None
    return model


def _create(path: Any, text: str) -> None:
    """Write a new file as a whole; FileExistsError where there is one."""
    local = _local_path(path)
    if local is not None:
        _create_locally(local, text)
    elif path.exists():
        raise FileExistsError(f"{path} exists")
    else:
        path.write_text(text, encoding="utf-8")


def _local_path(path: Any) -> Path | None:
    """The path on the local file system that a path object stands for, None where on another storage."""
    protocol = getattr(path, "protocol", None)
    if protocol is None:
        return path if isinstance(path, Path) else None
    # Object store paths, too, were of pathlib's classes before universal_pathlib 0.3.
    return Path(path.path) if protocol in {"", "file", "local"} else None


def _create_locally(path: Path, text: str) -> None:
    """By a temporary file, which is linked under its name only when its content is on the disk."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _name(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    # The new name is on the disk only when the directory is.
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _name(temporary: Path, path: Path) -> None:
    """Give the file its final name, unless that is taken."""
    try:
        path.hardlink_to(temporary)
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        if path.exists():
            raise FileExistsError(f"{path} exists") from error
        temporary.replace(path)
