"""The model store: models as JSON files under any path-like root, append-only.

Layout: ``root / job / instance type / model id.json``. Names are percent-encoded, for they are the
user's: a job may be called "../x". Model ids sort by time, so the last name in a folder is the newest.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import msgspec

from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError, StoreError
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.whole_files import create_whole

log = logging.getLogger(__name__)

SUFFIX = ".json"
LONGEST_NAME = 200
"""File systems allow 255 bytes; some are left for the suffix and for a temporary name."""


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
                create_whole(path, text)
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

    def latest_of_jobs(self, instance_type: str, *, limit: int, other_than: str | None = None) -> list[Model]:
        """The newest model of each job on a type of machine, newest first.

        A file that is no model on that type is skipped with a warning in the log, which names it.

        Args:
            instance_type: the machines' type.
            limit: at most so many models.
            other_than: a job to leave out.

        Raises:
            StoreError: the store cannot be read.
        """
        models: list[Model] = []
        with _store_errors(f"The models in {self.root} cannot be read"):
            for paths in self._newest_first(_safe_name("instance_type", instance_type)):
                if len(models) >= limit:
                    break
                readable = (_read_or_skip(path, None, instance_type) for path in paths)
                model = next((model for model in readable if model is not None), None)
                if model is not None and model.job != other_than:
                    models.append(model)
        return models

    def load(self, job: str, instance_type: str, model_id: str) -> Model:
        """One model.

        Raises:
            StoreError: it is not there or cannot be read.
        """
        path = self._path(job, instance_type, model_id)
        with _store_errors(f"There is no readable model {model_id} at {path}"):
            return _decode(path.read_text(encoding="utf-8"))

    def _newest_first(self, type_folder: str) -> list[list[Any]]:
        """For each job the paths of its models on a type of machine; newest first, jobs and paths alike."""
        if not self.root.exists():
            return []
        folders = [folder / type_folder for folder in _files(self.root)]
        of_jobs = [
            sorted(_files(folder), key=lambda path: str(path.name), reverse=True)
            for folder in folders
            if folder.is_dir()
        ]
        return sorted(filter(None, of_jobs), key=lambda paths: str(paths[0].name), reverse=True)

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
    """What the folder holds, without files that are still being written."""
    return (path for path in folder.iterdir() if not str(path.name).startswith("."))


def _read_or_skip(path: Any, job: str | None, instance_type: str) -> Model | None:
    """The model in the file, if it is one of that job (None: of any) on that type of machine."""
    try:
        model = _decode(path.read_text(encoding="utf-8"))
    except (InvalidDocumentError, UnicodeDecodeError, IsADirectoryError) as error:
        log.warning("Skipping %s, which is no model: %s", path, error)
        return None
    # Names that differ in case only share a folder on some file systems.
    wanted = (model.job if job is None else job, instance_type)
    if (model.job, model.instance_type) != wanted:
        log.warning(
            "Skipping %s: it is a model of %r on %s, not of %r on %s.",
            path,
            model.job,
            model.instance_type,
            *wanted,
        )
        return None
    return model
