"""The model store: models, and what was decided by them and came of it, under any path-like root.

All files are JSON and written once; see `stored_documents` for where they lie. A catalogue beside
them lists them fast.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from airflow_provider_ernest.exceptions import InvalidDocumentError, StoreError
from airflow_provider_ernest.model.bottlenecks import BottleneckReport, ProfileRecord
from airflow_provider_ernest.model.document import Document
from airflow_provider_ernest.model.identity import moment_of, new_id_after
from airflow_provider_ernest.model.records import DecisionRecord, ModelMark, ObservationRecord, ProductionRun
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.storage.catalogue import FOLDER
from airflow_provider_ernest.model.storage.catalogue_entry import entry_of
from airflow_provider_ernest.model.storage.store_reader import StoreReader
from airflow_provider_ernest.model.storage.stored_documents import (
    BOTTLENECKS,
    DECISIONS,
    MARKS,
    MODELS,
    OBSERVATIONS,
    PRODUCTION,
    PROFILES,
    SHELVES,
    UNLISTED,
    Listed,
    Shelf,
    type_folder,
)
from airflow_provider_ernest.model.storage.stored_documents import OBSERVATION as OBSERVATION
from airflow_provider_ernest.model.storage.stored_files import store_errors

log = logging.getLogger(__name__)


class ModelStore(StoreReader):
    """Models, decisions and production runs by job and instance type.

    On a local file system a file appears whole or not at all, also when the machine dies; object
    stores promise that of each write.

    Args:
        root: a `pathlib.Path`, or anything with its methods, such as Airflow's `ObjectStoragePath`.
    """

    def __init__(self, root: Any) -> None:
        super().__init__(root)
        self._has_learned_removals = False

    def save(self, model: Model) -> Any:
        """Write a model. Repeating it is allowed, overwriting another is not.

        Where it is written and cannot be listed in the catalogue, a warning in the log says so.

        Returns:
            The path of its file.

        Raises:
            StoreError: the model cannot be written or read back, or another one has its id.
        """
        return self._save(MODELS, model)

    def newest_of_its_job(self, model: Model) -> Model:
        """A new model with an id that sorts behind those of its job and type of machine, to be saved.

        Ids begin with the time by the clock that they were given by. Where that is behind the clock of the
        newest model's maker, the new one would count as the older of the two.

        Raises:
            StoreError: the store cannot be read.
        """
        folder = type_folder(self.root, model.job, model.instance_type)
        with store_errors(f"The models in {folder} cannot be listed"):
            names = [str(path.name) for path in MODELS.newest_first(folder)]
        newest = next((moment for name in names if (moment := moment_of(name))), None)
        own = moment_of(model.model_id)
        if newest is None or own is None or own > newest:
            return model
        return replace(model, model_id=new_id_after(newest) or model.model_id)

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

    def save_profile(self, record: ProfileRecord) -> Any:
        """Write where the time of a run went; see `save`. The catalogue does not list it."""
        return PROFILES.write(self.root, record)

    def save_bottlenecks(self, report: BottleneckReport) -> Any:
        """Write what binds a job; see `save`. The catalogue does not list it."""
        return BOTTLENECKS.write(self.root, report)

    def save_any(self, document: Document) -> Any:
        """Write any document that a store keeps, as `save` does, and list it even if it was removed before.

        Raises:
            InvalidDocumentError: no store keeps documents of its kind.
            StoreError: as of `save`.
        """
        shelf: Shelf[Any] | None = next((one for one in SHELVES if one.form is type(document)), None)
        if shelf is None:
            raise InvalidDocumentError(f"A model store keeps no {type(document).__name__} documents.")
        if shelf in UNLISTED.values():
            return shelf.write(self.root, document)
        self._learn_removals()
        return self._save(shelf, document)

    def list_again(self, document: Document) -> None:
        """List a stored document that its writer, killed meanwhile, has not listed; nothing where it is.

        Nor of what the catalogue does not list; see `stored_documents.UNLISTED`.

        Raises:
            StoreError: the catalogue cannot be read or written.
        """
        if not isinstance(document, Model | DecisionRecord | ProductionRun | ModelMark):
            return
        self._learn_removals()
        entry = entry_of(document)
        if not self._catalogue.is_listed(entry.key):
            self._catalogue.add_found([entry])

    def remove(self, kind: str, *, job: str, instance_type: str, document_id: str) -> bool:
        """Delete a document for good, and list it no more. Nothing else is deleted with it.

        Where it is deleted and the catalogue cannot be written, a warning in the log says so; removing it
        again tries that again.

        Args:
            kind: of the catalogue's, or of `stored_documents.UNLISTED`.
            job: the user's name of the job.
            instance_type: the machines' type.
            document_id: of the document.

        Returns:
            Whether there was anything of it.

        Raises:
            InvalidParameterError: there is no such kind, or an empty name.
            StoreError: it cannot be deleted.
        """
        return self._removal.remove(kind, job, instance_type, document_id)

    def _learn_removals(self) -> None:
        """Once: what is saved after that is listed whatever the clock was that it was removed by."""
        if self._has_learned_removals:
            return
        try:
            self._catalogue.entries()
        except StoreError as error:
            # The document can be saved nevertheless, and is listed unless clocks differ much.
            log.info("%s", error)
        self._has_learned_removals = True

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
