"""The model that a request is about, if its user may read it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, HTTPException, Query

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.storage.catalogue import MODEL, CatalogueEntry
from airflow_provider_ernest.plugin.access import AccessDep
from airflow_provider_ernest.plugin.configured_store import StoreDep
from airflow_provider_ernest.plugin.loaded_documents import is_gone, load_model
from airflow_provider_ernest.plugin.visible import newest_of, of_job

log = logging.getLogger(__name__)

NO_MODEL = (
    "There is no such model in the store that these pages show, [ernest] store of Airflow's configuration. "
    "Choose one on the page of all models."
)
NO_MODEL_TO_READ = (
    "There is no such model that you may read. Choose one on the page of all models, or ask your Airflow "
    "administrator for the right to read the DAG that made it."
)

Job = Annotated[str, Query(min_length=1, description="The job's name.")]
InstanceType = Annotated[str, Query(min_length=1, description="The machines' type.")]
ModelId = Annotated[
    str | None, Query(min_length=1, description="A version; without it, the newest that the user may read.")
]


@dataclass(frozen=True, kw_only=True)
class FoundModel:
    """The model that a request is about.

    Attributes:
        model: the model.
        entries: what the store holds of its job, without models whose files are gone.
        readable: tells of each DAG in them whether the user may read it.
    """

    model: Model
    entries: Sequence[CatalogueEntry]
    readable: Callable[[str | None], bool]


def found_model(
    store: StoreDep, access: AccessDep, job: Job, instance_type: InstanceType, model_id: ModelId = None
) -> FoundModel:
    """The model that was asked for, the newest that the user may read where no version was named.

    Who may read all DAGs is told that there is none. Others are told the same of a model that they may not
    read and of one that does not exist, so that nobody learns by guessing what there is.

    Raises:
        HTTPException: 404 or 403, see above.
    """
    entries = of_job(store.catalogue.entries(), job)
    readable = access.readable({entry.dag_id for entry in entries})
    wanted = [
        entry
        for entry in newest_of(entries, MODEL, limit=len(entries))
        if entry.instance_type == instance_type and model_id in (None, entry.id) and readable(entry.dag_id)
    ]
    gone = []
    for entry in wanted:
        try:
            model = load_model(store, job, instance_type, entry.id)
        except StoreError as error:
            if not is_gone(error):
                raise
            log.warning("Model %s of %r on %s is listed and gone", entry.id, job, instance_type)
            gone.append(entry)
        else:
            left = [each for each in entries if each not in gone]
            return FoundModel(model=model, entries=left, readable=readable)
    raise HTTPException(404, NO_MODEL) if access.may_read_all() else HTTPException(403, NO_MODEL_TO_READ)


FoundDep = Annotated[FoundModel, Depends(found_model)]
