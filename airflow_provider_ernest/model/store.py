"""The model store: models, and what was decided by them and came of it, under any path-like root.

All files are JSON and written once; see `stored_documents` for where they lie. A catalogue beside
them lists them fast.
"""

from __future__ import annotations

import logging
from itertools import islice
from typing import Any

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.model.catalogue import FOLDER, Catalogue
from airflow_provider_ernest.model.catalogue_entry import entry_of
from airflow_provider_ernest.model.records import DecisionRecord, ModelMark, ObservationRecord, ProductionRun
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.stored_documents import (
    DECISIONS,
    MARKS,
    MODELS,
    OBSERVATIONS,
    PRODUCTION,
    Listed,
    Shelf,
    Stored,
    files,
    safe_name,
    store_errors,
    type_folder,
)

log = logging.getLogger(__name__)


class ModelStore:
    """Models, decisions and production runs by job and instance type.

    On a local file system a file appears whole or not at all, also when the machine dies; object
    stores promise that of each write.

    Args:
        root: a `pathlib.Path`, or anything with its methods, such as Airflow's `ObjectStoragePath`.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self._catalogue = Catalogue(root)

    @property
    def catalogue(self) -> Catalogue:
        """What the store holds, in a few words each."""
        return self._catalogue

    def save(self, model: Model) -> Any:
        """Write a model. Repeating it is allowed, overwriting another is not.

        Where it is written and cannot be listed in the catalogue, a warning in the log says so.

        Returns:
            The path of its file.

        Raises:
            StoreError: the model cannot be written or read back, or another one has its id.
        """
        return self._save(MODELS, model)

    def save_decision(self, record: DecisionRecord) -> Any:
        """Write a decision; see `save`."""
        return self._save(DECISIONS, record)

    def save_production(self, run: ProductionRun) -> Any:
        """Write a production run; see `save`."""
        return self._save(PRODUCTION, run)

    def save_observation(self, record: ObservationRecord) -> Any:
        """Write a sample run that was observed; see `save`. The catalogue does not list it."""
        return OBSERVATIONS.write(self.root, record)

    def save_mark(self, mark: ModelMark) -> Any:
        """Write a mark beside a model; see `save`."""
        return self._save(MARKS, mark)

    def history(self, job: str, instance_type: str) -> list[Model]:
        """All models of a job on a type of machine, newest last.

        A file that is no model of theirs is skipped with a warning in the log, which names it.

        Raises:
            StoreError: the store cannot be read.
        """
        return self._newest(MODELS, job, instance_type, limit=None)

    def decisions(self, job: str, instance_type: str, *, limit: int | None = None) -> list[DecisionRecord]:
        """The newest decisions for a job on a type of machine, newest last.

        A file that is no decision of theirs is skipped with a warning in the log, which names it.

        Args:
            job: the user's name of the job.
            instance_type: the machines' type.
            limit: at most so many; None for all.

        Raises:
            StoreError: the store cannot be read.
        """
        return self._newest(DECISIONS, job, instance_type, limit=limit)

    def productions(self, job: str, instance_type: str, *, limit: int | None = None) -> list[ProductionRun]:
        """The newest production runs of a job on a type of machine, newest last; see `decisions`."""
        return self._newest(PRODUCTION, job, instance_type, limit=limit)

    def observations(
        self, job: str, instance_type: str, *, limit: int | None = None
    ) -> list[ObservationRecord]:
        """The newest sample runs of a job on a type of machine, newest last; see `decisions`."""
        return self._newest(OBSERVATIONS, job, instance_type, limit=limit)

    def marks(self, job: str, instance_type: str) -> list[ModelMark]:
        """All marks of a job's models on a type of machine, newest last; see `decisions`."""
        return self._newest(MARKS, job, instance_type, limit=None)

    def latest(self, job: str, instance_type: str) -> Model | None:
        """The newest model of a job on a type of machine, None where there is none.

        Raises:
            StoreError: the store cannot be read.
        """
        return next(iter(self._newest(MODELS, job, instance_type, limit=1)), None)

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
        with store_errors(f"The models in {self.root} cannot be read"):
            for paths in self._newest_first(safe_name("instance_type", instance_type)):
                if len(models) >= limit:
                    break
                readable = (MODELS.read_wanted(path, None, instance_type) for path in paths)
                model = next((model for model in readable if model is not None), None)
                if model is not None and model.job != other_than:
                    models.append(model)
        return models

    def load(self, job: str, instance_type: str, model_id: str) -> Model:
        """One model.

        Raises:
            StoreError: it cannot be read, or is not there: then its cause is a FileNotFoundError.
        """
        return self._load(MODELS, job, instance_type, model_id)

    def decision(self, job: str, instance_type: str, decision_id: str) -> DecisionRecord:
        """One decision; see `load`."""
        return self._load(DECISIONS, job, instance_type, decision_id)

    def production(self, job: str, instance_type: str, production_id: str) -> ProductionRun:
        """One production run; see `load`."""
        return self._load(PRODUCTION, job, instance_type, production_id)

    def _load(self, shelf: Shelf[Stored], job: str, instance_type: str, document_id: str) -> Stored:
        path = shelf.path(self.root, job, instance_type, document_id)
        with store_errors(f"There is no readable {shelf.kind} {document_id} at {path}"):
            return shelf.decode(path.read_text(encoding="utf-8"))

    def _save(self, shelf: Shelf[Listed], document: Listed) -> Any:
        path = shelf.write(self.root, document)
        try:
            self._catalogue.add(entry_of(document))
        except StoreError as error:
            log.warning(
                "The %s in %s is stored, but not listed. Delete the folder %s of the store: it is made "
                "again, of all documents. %s",
                shelf.kind,
                path,
                FOLDER,
                error,
            )
        return path

    def _newest(
        self, shelf: Shelf[Stored], job: str, instance_type: str, *, limit: int | None
    ) -> list[Stored]:
        folder = type_folder(self.root, job, instance_type)
        with store_errors(f"The {shelf.kind}s in {folder} cannot be read"):
            read = (shelf.read_wanted(path, job, instance_type) for path in shelf.newest_first(folder))
            newest = list(islice((document for document in read if document is not None), limit))
        return newest[::-1]

    def _newest_first(self, type_name: str) -> list[list[Any]]:
        """For each job the paths of its models on a type of machine; newest first, jobs and paths alike."""
        folders = [folder / type_name for folder in files(self.root)]
        of_jobs = [MODELS.newest_first(folder) for folder in folders if folder.is_dir()]
        return sorted(filter(None, of_jobs), key=lambda paths: str(paths[0].name), reverse=True)
