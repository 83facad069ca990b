"""The model store: models, and what was decided by them and came of it, under any path-like root.

All files are JSON and written once; see `stored_documents` for where they lie. A catalogue beside
them lists them fast.
"""

from __future__ import annotations

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
from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError
from airflow_provider_ernest.json_document import Document
from airflow_provider_ernest.store.catalogue import (
    READERS,
    SHELF_OF,
    Catalogue,
    all_documents,
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
    Shelf,
    Stored,
    set_aside_if_damaged,
    type_folder,
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
            yield from all_documents(self.root, on_skip=on_skip)

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
                set_aside_if_damaged(self.root, path)
                raise

    def _newest(
        self, shelf: Shelf[Stored], job: str, instance_type: str, *, limit: int | None
    ) -> list[Stored]:
        return list(islice(self._each_newest(shelf, job, instance_type), limit))[::-1]

    def _each_newest(self, shelf: Shelf[Stored], job: str, instance_type: str) -> Iterator[Stored]:
        folder = type_folder(self.root, job, instance_type)
        with store_errors(f"The {shelf.kind}s in {folder} cannot be read"):
            for path in shelf.newest_first(folder):
                document = shelf.read_wanted(path, job, instance_type)
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

    def save(self, model: Model) -> Any:
        """Write a model. Repeating it is allowed, overwriting another is not.

        Returns:
            The path of its file.

        Raises:
            StoreError: the model cannot be written or read back, or another one has its id.
        """
        return MODELS.write(self.root, model)

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
        own = moment_of(model.id)
        if newest is None or own is None or own > newest:
            return model
        return replace(model, id=new_id_after(newest) or model.id)

    def save_decision(self, record: DecisionRecord) -> Any:
        """Write a decision; see `save`."""
        return DECISIONS.write(self.root, record)

    def save_production(self, run: ProductionRun) -> Any:
        """Write a production run; see `save`."""
        return PRODUCTION.write(self.root, run)

    def save_observation(self, record: ObservationRecord) -> Any:
        """Write a sample run that was observed; see `save`. The catalogue does not list it."""
        return OBSERVATIONS.write(self.root, record)

    def save_mark(self, mark: ModelMark) -> Any:
        """Write a mark beside a model; see `save`."""
        return MARKS.write(self.root, mark)

    def save_profile(self, record: ProfileRecord) -> Any:
        """Write where the time of a run went; see `save`. The catalogue does not list it."""
        return PROFILES.write(self.root, record)

    def save_bottlenecks(self, report: BottleneckReport) -> Any:
        """Write what binds a job; see `save`. The catalogue does not list it."""
        return BOTTLENECKS.write(self.root, report)

    def save_any(self, document: Document) -> Any:
        """Write any document that a store keeps, as `save` does, also one that was edited by hand.

        Raises:
            InvalidDocumentError: no store keeps documents of its kind.
            StoreError: as of `save`.
        """
        shelf: Shelf[Any] | None = next((one for one in SHELVES if one.form is type(document)), None)
        if shelf is None:
            raise InvalidDocumentError(f"A model store keeps no {type(document).__name__} documents.")
        path = shelf.write(self.root, document)
        if isinstance(document, Model | DecisionRecord | ProductionRun | ModelMark):
            self._catalogue.forget(document)
        return path

    def remove(self, kind: str, *, job: str, instance_type: str, document_id: str) -> bool:
        """Delete a document for good. Nothing else is deleted with it.

        Args:
            kind: of the catalogue's, or of `stored_documents.UNLISTED`.
            job: the user's name of the job.
            instance_type: the machines' type.
            document_id: of the document.

        Returns:
            Whether it was there.

        Raises:
            InvalidParameterError: there is no such kind, or an empty name.
            StoreError: it cannot be deleted.
        """
        shelf = UNLISTED.get(kind) or SHELF_OF.get(kind)
        if shelf is None:
            kinds = ", ".join([*SHELF_OF, *UNLISTED])
            raise InvalidParameterError(
                "kind", kind, "is no kind of documents", remedy=f"Use one of {kinds}."
            )
        path = shelf.path(self.root, job, instance_type, document_id)
        with store_errors(f"The {shelf.kind} in {path} cannot be deleted"):
            forget_listing(path.parent)
            return delete(path)
