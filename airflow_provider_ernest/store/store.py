"""The model store: models, and what was decided by them and came of it, under any path-like root.

All files are JSON and written once; see `stored_documents` for where they lie. A catalogue beside
them lists them fast.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from airflow_provider_ernest.documents import (
    BottleneckReport,
    DecisionRecord,
    Model,
    ModelMark,
    ObservationRecord,
    ProductionRun,
    ProfileRecord,
    moment_of,
    new_id_after,
)
from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError, StoreError
from airflow_provider_ernest.json_document import Document
from airflow_provider_ernest.store.catalogue import (
    FOLDER,
    READERS,
    SHELF_OF,
    Catalogue,
    Key,
    all_documents,
    entry_of,
    place_of,
    time_after,
)
from airflow_provider_ernest.store.files import (
    delete,
    files,
    forget_listing,
    in_threads,
    safe_name,
    store_errors,
)
from airflow_provider_ernest.store.stored_documents import (
    BOTTLENECKS,
    DECISIONS,
    MARKS,
    MODELS,
    OBSERVATIONS,
    PRODUCTION,
    PROFILES,
    SHELVES,
    SUFFIX,
    UNLISTED,
    Listed,
    Shelf,
    Stored,
    set_aside_if_damaged,
    type_folder,
)

# ---------------------------------------------------------------------------
# Documents that go, deleted for good or set aside as damaged: the catalogue lists them no more.


log = logging.getLogger(__name__)


class Removal:
    """Removes documents of a store.

    Args:
        root: the store's, a `pathlib.Path` or anything with its methods.
        catalogue: the store's.
    """

    def __init__(self, root: Any, catalogue: Catalogue) -> None:
        self.root = root
        self._catalogue = catalogue

    def remove(self, kind: str, job: str, instance_type: str, document_id: str) -> bool:
        """Delete a document; see `ModelStore.remove`."""
        shelf = UNLISTED.get(kind) or SHELF_OF.get(kind)
        if shelf is None:
            kinds = ", ".join([*SHELF_OF, *UNLISTED])
            raise InvalidParameterError(
                "kind", kind, "is no kind of documents", remedy=f"Use one of {kinds}."
            )
        path = shelf.path(self.root, job, instance_type, document_id)
        if kind in UNLISTED:
            return self._delete(shelf, path)
        key = (document_id, kind, job, instance_type)
        # Before it is deleted: who saves it again after that shall be listed.
        at = self._time_to_remove(key)
        was_listed, was_there = self._catalogue.is_listed(key), self._delete(shelf, path)
        if was_there or was_listed:
            self._unlist(shelf, path, key, at)
        return was_there or was_listed

    def unlist_file(self, shelf: Shelf[Any], path: Any) -> None:
        """List no more what lay in a file that was set aside; a warning says where that cannot be done."""
        place = shelf.place_at(path)
        try:
            for entry in self._catalogue.entries():
                if SHELF_OF.get(entry.kind) is shelf and place_of(entry) == place:
                    self._unlist(shelf, path, entry.key, self._time_to_remove(entry.key))
        except StoreError as error:
            log.warning("What lay in %s may still be listed: %s", path, error)

    def _time_to_remove(self, key: Key) -> str:
        try:
            return self._catalogue.time_to_remove(key)
        except StoreError as error:
            # What cannot be read now will be read when the storage is well again.
            log.warning("%s", error)
            return time_after(None)

    def _delete(self, shelf: Shelf[Any], path: Any) -> bool:
        with store_errors(f"The {shelf.kind} in {path} cannot be deleted"):
            forget_listing(path.parent)
            return delete(path)

    def _unlist(self, shelf: Shelf[Any], path: Any, key: Key, at: str) -> None:
        try:
            self._catalogue.remove(key, at=at)
        except StoreError as error:
            log.warning(
                "The %s in %s is gone, but still listed. Delete the folder %s of the store: it is made "
                "again, of all documents. %s",
                shelf.kind,
                path,
                FOLDER,
                error,
            )


# ---------------------------------------------------------------------------
# Reading from a model store: documents by job and type of machine, newest first, or by their ids.


class StoreReader:
    """What can be read from a store; see `store.ModelStore`.

    Args:
        root: a `pathlib.Path`, or anything with its methods, such as Airflow's `ObjectStoragePath`.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self._catalogue = Catalogue(root)
        self._removal = Removal(root, self._catalogue)

    @property
    def catalogue(self) -> Catalogue:
        """What the store holds, in a few words each."""
        return self._catalogue

    def all_documents(self, *, on_skip: Callable[[Any], object] = lambda path: None) -> Iterator[Document]:
        """Every document of all kinds, listed or not, job by job; read as they are asked for.

        What cannot be read is skipped with a warning in the log, which names it.

        Args:
            on_skip: told, on any thread, the path of what is skipped.

        Raises:
            StoreError: the store cannot be read.
        """
        with store_errors(f"The documents in {self.root} cannot be read"):
            yield from all_documents(self.root, on_set_aside=self._removal.unlist_file, on_skip=on_skip)

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

    def profiles(self, job: str, instance_type: str, *, limit: int | None = None) -> list[ProfileRecord]:
        """The newest profiles of a job's runs on a type of machine, newest last; see `decisions`."""
        return self._newest(PROFILES, job, instance_type, limit=limit)

    def profile_ids(self, job: str, instance_type: str, *, limit: int | None = None) -> list[str]:
        """The ids of the newest of them, newest first, by the names of their files alone.

        Raises:
            StoreError: the store cannot be read.
        """
        folder = type_folder(self.root, job, instance_type)
        with store_errors(f"The profiles in {folder} cannot be listed"):
            paths = PROFILES.newest_first(folder)[:limit]
        return [str(path.name).removesuffix(SUFFIX) for path in paths]

    def bottlenecks(
        self, job: str, instance_type: str, *, limit: int | None = None
    ) -> list[BottleneckReport]:
        """The newest reports of what binds a job on a type of machine, newest last; see `decisions`."""
        return self._newest(BOTTLENECKS, job, instance_type, limit=limit)

    def marks(self, job: str, instance_type: str) -> list[ModelMark]:
        """All marks of a job's models on a type of machine, newest last; see `decisions`."""
        return self._newest(MARKS, job, instance_type, limit=None)

    def latest(self, job: str, instance_type: str) -> Model | None:
        """The newest model of a job on a type of machine, None where there is none.

        Raises:
            StoreError: the store cannot be read.
        """
        return next(iter(self._newest(MODELS, job, instance_type, limit=1)), None)

    def newest_models(self, job: str, instance_type: str, *, limit: int | None = None) -> Iterator[Model]:
        """The models of a job on a type of machine, newest first, read as they are asked for.

        Raises:
            StoreError: the store cannot be read.
        """
        return islice(self._each_newest(MODELS, job, instance_type), limit)

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
                readable = (
                    MODELS.read_wanted(path, None, instance_type, on_set_aside=self._removal.unlist_file)
                    for path in paths
                )
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

    def profile(self, job: str, instance_type: str, profile_id: str) -> ProfileRecord:
        """The profile of one run; see `load`."""
        return self._load(PROFILES, job, instance_type, profile_id)

    def bottleneck_report(self, job: str, instance_type: str, report_id: str) -> BottleneckReport:
        """One report of what binds a job; see `load`."""
        return self._load(BOTTLENECKS, job, instance_type, report_id)

    def mark(self, job: str, instance_type: str, mark_id: str) -> ModelMark:
        """One mark; see `load`."""
        return self._load(MARKS, job, instance_type, mark_id)

    def _load(self, shelf: Shelf[Stored], job: str, instance_type: str, document_id: str) -> Stored:
        path = shelf.path(self.root, job, instance_type, document_id)
        with store_errors(f"There is no readable {shelf.kind} {document_id} at {path}"):
            forget_listing(path.parent)
            try:
                return shelf.decode(path.read_text(encoding="utf-8"))
            except (InvalidDocumentError, UnicodeDecodeError):
                if set_aside_if_damaged(self.root, path):
                    self._removal.unlist_file(shelf, path)
                raise

    def _newest(
        self, shelf: Shelf[Stored], job: str, instance_type: str, *, limit: int | None
    ) -> list[Stored]:
        return list(islice(self._each_newest(shelf, job, instance_type), limit))[::-1]

    def _each_newest(self, shelf: Shelf[Stored], job: str, instance_type: str) -> Iterator[Stored]:
        folder = type_folder(self.root, job, instance_type)
        with store_errors(f"The {shelf.kind}s in {folder} cannot be read"):
            for path in shelf.newest_first(folder):
                document = shelf.read_wanted(path, job, instance_type, on_set_aside=self._removal.unlist_file)
                if document is not None:
                    yield document

    def _newest_first(self, type_name: str) -> list[list[Any]]:
        """For each job the paths of its models on a type of machine; newest first, jobs and paths alike."""

        def models_in(job_folder: Any) -> list[Any]:
            folder = job_folder / type_name
            return MODELS.newest_first(folder) if folder.is_dir() else []

        of_jobs = in_threads(models_in, files(self.root), most=READERS)
        return sorted(filter(None, of_jobs), key=lambda paths: str(paths[0].name), reverse=True)


# ---------------------------------------------------------------------------


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
