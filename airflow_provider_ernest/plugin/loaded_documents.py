"""Documents of the store by their ids. What was read once is not read again: it never changes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TypeAlias, TypeVar

from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError, StoreError
from airflow_provider_ernest.model.bottlenecks import ProfileRecord
from airflow_provider_ernest.model.records import DecisionRecord, ModelMark, ProductionRun
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.storage.catalogue import CatalogueEntry
from airflow_provider_ernest.model.store import ModelStore

log = logging.getLogger(__name__)

Kept = TypeVar("Kept", Model, DecisionRecord, ProductionRun, ModelMark)

Load: TypeAlias = Callable[[ModelStore, str, str, str], Kept]
"""Reads the document of a job and type of machine that has an id; raises StoreError."""

MOST_MODELS_KEPT = 64
MOST_DECISIONS_KEPT = 256
"""A decision has all its alternatives with it, some tens of kilobytes."""
MOST_PRODUCTION_RUNS_KEPT = 1024
MOST_MARKS_KEPT = 256
MOST_PROFILES_KEPT = 64
"""A profile has a hundred stages with it."""
MOST_PURPOSES_KEPT = 4096


@lru_cache(maxsize=MOST_MODELS_KEPT)
def load_model(store: ModelStore, job: str, instance_type: str, model_id: str) -> Model:
    """A model of the store. What is fitted for the same object is found without comparing observations.

    Raises:
        StoreError: it is not there or cannot be read.
    """
    return store.load(job, instance_type, model_id)


@lru_cache(maxsize=MOST_DECISIONS_KEPT)
def load_decision(store: ModelStore, job: str, instance_type: str, decision_id: str) -> DecisionRecord:
    """A decision of the store.

    Raises:
        StoreError: it is not there or cannot be read.
    """
    return store.decision(job, instance_type, decision_id)


@lru_cache(maxsize=MOST_PRODUCTION_RUNS_KEPT)
def load_production(store: ModelStore, job: str, instance_type: str, production_id: str) -> ProductionRun:
    """A production run of the store.

    Raises:
        StoreError: it is not there or cannot be read.
    """
    return store.production(job, instance_type, production_id)


@lru_cache(maxsize=MOST_MARKS_KEPT)
def load_mark(store: ModelStore, job: str, instance_type: str, mark_id: str) -> ModelMark:
    """A mark of the store.

    Raises:
        StoreError: it is not there or cannot be read.
    """
    return store.mark(job, instance_type, mark_id)


@lru_cache(maxsize=MOST_PROFILES_KEPT)
def load_profile(store: ModelStore, job: str, instance_type: str, profile_id: str) -> ProfileRecord:
    """The profile of a run.

    Raises:
        StoreError: it is not there or cannot be read.
    """
    return store.profile(job, instance_type, profile_id)


@lru_cache(maxsize=MOST_PURPOSES_KEPT)
def _made_for(store: ModelStore, job: str, instance_type: str, profile_id: str) -> tuple[str, str | None]:
    """The purpose of a profile's run, and the DAG that ran it: profiles are too large to keep many."""
    record = store.profile(job, instance_type, profile_id)
    return record.purpose, record.origin.dag_id if record.origin else None


def newest_profile_for(
    purpose: str,
    store: ModelStore,
    job: str,
    instance_type: str,
    *,
    readable: Callable[[str | None], bool],
    limit: int,
) -> ProfileRecord | None:
    """The newest profile of a run of that purpose, by a DAG that may be read; None where there is none.

    One that is gone or damaged is left out with a warning in the log, which names it.

    Args:
        purpose: `SAMPLE` or `PRODUCTION`.
        store: where profiles lie.
        job: of the run.
        instance_type: its machines'.
        readable: whether a DAG may be read.
        limit: so many of the newest are looked through.

    Raises:
        StoreError: the store itself cannot be read.
    """
    for profile_id in store.profile_ids(job, instance_type, limit=limit):
        try:
            made_for, dag_id = _made_for(store, job, instance_type, profile_id)
            if made_for == purpose and readable(dag_id):
                return load_profile(store, job, instance_type, profile_id)
        except (StoreError, InvalidParameterError) as error:
            if not _is_of_one_document(error):
                raise
            log.warning("Left out profile %s of %r on %s: %s", profile_id, job, instance_type, error)
    return None


def read_each(load: Load[Kept], store: ModelStore, entries: Iterable[CatalogueEntry]) -> Iterator[Kept]:
    """The documents of these entries, in their order, each when it is asked for.

    One that is gone or damaged is left out with a warning in the log, which names it.

    Raises:
        StoreError: the store itself cannot be read: asking for the next document would be in vain.
    """
    for entry in entries:
        try:
            document = load(store, entry.job, entry.instance_type, entry.id)
        except (StoreError, InvalidParameterError) as error:
            if not _is_of_one_document(error):
                raise
            log.warning(
                "Left out %s %s of %r on %s: %s", entry.kind, entry.id, entry.job, entry.instance_type, error
            )
        else:
            yield document


def is_gone(error: StoreError) -> bool:
    """Whether the store could be read, and the document is not there."""
    return isinstance(error.__cause__, FileNotFoundError)


def _is_of_one_document(error: StoreError | InvalidParameterError) -> bool:
    # Names that cannot be are refused before the store is asked.
    return isinstance(error, InvalidParameterError) or isinstance(
        error.__cause__,
        FileNotFoundError | IsADirectoryError | PermissionError | InvalidDocumentError | UnicodeError,
    )
