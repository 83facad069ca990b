"""The model store: models, and what was decided by them and came of it, under any path-like root.

All files are JSON and written once; see `catalogue` for where they lie. A catalogue beside them lists them.
Surveys of event logs lie there, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import airflow_provider_ernest.store.files as storage
from airflow_provider_ernest.documents.base import Record, Stored
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.surveys import Survey
from airflow_provider_ernest.store import catalogue
from airflow_provider_ernest.store.catalogue import (
    FOLDERS,
    FORMS,
    READERS,
    SUFFIX,
    SURVEYS,
    AnyStored,
    Catalogue,
    Kept,
)


class ModelStore:
    """Models, decisions, production runs and all other records, by job and instance type.

    A file appears whole or not at all, also when the machine dies. Listing skips files that are not of the
    kind asked for, with a warning in the log that names them. All methods raise a `StoreError` where the
    store cannot be read or written.

    Args:
        root: a `pathlib.Path`, or anything with its methods, such as Airflow's `ObjectStoragePath`.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self.catalogue = Catalogue(root)
        self._newest_survey: Survey | None = None

    def save(self, record: Stored) -> Any:
        """Write a record or a survey, and return the path of its file; see `catalogue.write`."""
        return catalogue.write(self.root, record)

    def load(self, form: type[Kept], job: str, instance_type: str, record_id: str) -> Kept:
        """One record of a class; if it is missing, the `StoreError` has a FileNotFoundError as its cause."""
        place = catalogue.place(form, job, instance_type, record_id)
        return self._read(form, place.path(self.root), record_id)

    def _read(self, form: type[AnyStored], path: Any, record_id: str) -> AnyStored:
        with storage.store_errors(f"There is no readable {form.words} {record_id} at {path}"):
            storage.forget_listing(path.parent)
            return catalogue.decode(form, path.read_text(encoding="utf-8"))

    def newest(
        self, form: type[Kept], job: str, instance_type: str, *, limit: int | None = None
    ) -> list[Kept]:
        """The newest records of a class of a job on a type of machine, newest last; None for all."""
        return [*self.newest_first(form, job, instance_type, limit=limit)][::-1]

    def newest_first(
        self, form: type[Kept], job: str, instance_type: str, *, limit: int | None = None
    ) -> Iterator[Kept]:
        """The same, newest first, read as they are asked for."""
        folder = catalogue.folder_of(self.root, form, job, instance_type)
        with storage.store_errors(f"The {form.words}s in {folder} cannot be read"):
            paths = catalogue.newest_first(folder)
            found = (self._wanted(form, path, job, instance_type) for path in paths)
            yield from islice((record for record in found if record is not None), limit)

    def _wanted(self, form: type[Kept], path: Any, job: str | None, instance_type: str) -> Kept | None:
        """The record in a file where it is one of that job (None: of any) on that type of machine."""
        record = catalogue.read_or_skip(form, path)
        # Names that differ in case only share a folder on some file systems.
        if record is None or record.instance_type != instance_type or job not in (None, record.job):
            return None
        return record

    def latest_of_jobs(self, instance_type: str, *, limit: int, other_than: str | None = None) -> list[Model]:
        """The newest model of each job on a type of machine, newest first, without that of one job."""
        folder = f"{storage.safe_name('instance_type', instance_type)}/{FOLDERS[Model]}"
        models: list[Model] = []
        with storage.store_errors(f"The models in {self.root} cannot be read"):
            folders = [job_folder / folder for job_folder in storage.files(self.root)]
            of_jobs = filter(None, storage.in_threads(catalogue.newest_first, folders, most=READERS))
            for paths in sorted(of_jobs, key=lambda paths: str(paths[0].name), reverse=True):
                if len(models) >= limit:
                    break
                readable = (self._wanted(Model, path, None, instance_type) for path in paths)
                model = next((model for model in readable if model is not None), None)
                if model is not None and model.job != other_than:
                    models.append(model)
        return models

    def all_documents(self) -> Iterator[Record]:
        """Every record of all kinds, listed or not, job by job; read as they are asked for."""
        with storage.store_errors(f"The documents in {self.root} cannot be read"):
            yield from catalogue.all_records(self.root)

    def remove(self, kind: str, *, job: str, instance_type: str, document_id: str) -> bool:
        """Delete a record for good, and nothing else; whether it was there."""
        form = FORMS[kind]
        return self._delete(form, catalogue.place(form, job, instance_type, document_id).path(self.root))

    def _delete(self, form: type[Stored], path: Any) -> bool:
        with storage.store_errors(f"The {form.words} in {path} cannot be deleted"):
            storage.forget_listing(path.parent)
            return storage.delete(path)

    def survey_ids(self) -> list[str]:
        """The ids of all surveys, newest first, by the names of their files alone."""
        return [str(path.name).removesuffix(SUFFIX) for path in self._surveys()]

    def load_survey(self, survey_id: str) -> Survey:
        """One survey; see `load`."""
        return self._read(Survey, catalogue.survey_path(self.root, survey_id), survey_id)

    def newest_survey(self) -> Survey | None:
        """The newest survey that can be read, which is kept in memory; None if there is none."""
        last = self._newest_survey
        found = (
            last if last and path.name == f"{last.id}{SUFFIX}" else catalogue.read_or_skip(Survey, path)
            for path in self._surveys()
        )
        self._newest_survey = next(filter(None, found), None)
        return self._newest_survey

    def remove_survey(self, survey_id: str) -> bool:
        """Delete a survey for good; whether it was there."""
        return self._delete(Survey, catalogue.survey_path(self.root, survey_id))

    def _surveys(self) -> list[Any]:
        with storage.store_errors(f"The surveys in {self.root} cannot be listed"):
            found = catalogue.newest_first(self.root / SURVEYS)
            return [path for path in found if str(path.name).endswith(SUFFIX)]
