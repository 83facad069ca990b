"""The model that an application is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_provider_ernest.model.storage.catalogue_entry import CatalogueEntry
    from airflow_provider_ernest.model.store import ModelStore


def newest_model(store: ModelStore, job: str, instance_type: str | None = None) -> CatalogueEntry | None:
    """What the catalogue says of a job's newest model, None where it has none.

    Args:
        store: the model store. Keep it where this is asked for often: it reads only what is new.
        job: the user's name of the job.
        instance_type: the type of machine; None for any.

    Raises:
        StoreError: the store cannot be read.
    """
    from airflow_provider_ernest.model.storage.catalogue_entry import MODEL

    models = (
        entry
        for entry in store.catalogue.entries()
        if entry.kind == MODEL and entry.job == job and instance_type in (None, entry.instance_type)
    )
    return max(models, key=lambda entry: entry.id, default=None)
