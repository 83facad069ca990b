"""Cached documents of the store, selections of catalogue entries, and other types' models and prices."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TypeAlias, TypeVar

from airflow_provider_ernest.documents.decisions import DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model, ModelMark
from airflow_provider_ernest.documents.profiles import BottleneckReport, ProfileRecord
from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError, StoreError
from airflow_provider_ernest.store.catalogue import DECISION, MODEL, CatalogueEntry
from airflow_provider_ernest.store.store import ModelStore

log = logging.getLogger(__name__)

Kept = TypeVar("Kept", Model, DecisionRecord, ProductionRun, ModelMark)
Record = TypeVar("Record", DecisionRecord, ProductionRun, ModelMark, ProfileRecord, BottleneckReport)

Load: TypeAlias = Callable[[ModelStore, str, str, str], Kept]
"""Reads a document by job, type of machine and id; raises StoreError."""

Readable: TypeAlias = Callable[[str | None], bool]
"""Whether a DAG may be read; None stands for what was made outside of DAGs."""

ApplicationLink: TypeAlias = Callable[[str | None], str | None]
"""The address of an application in Spark's history server; None if there is none."""


def no_link(_application_id: str | None) -> None:
    """For pages without a history server."""


# Documents never change. The same one is the same object, so that a model's fit is found without comparing
# observations.
load_model: Load[Model] = lru_cache(64)(lambda store, *where: store.load(Model, *where))
# A decision holds all its alternatives, tens of kilobytes.
load_decision: Load[DecisionRecord] = lru_cache(256)(lambda store, *where: store.load(DecisionRecord, *where))
load_production: Load[ProductionRun] = lru_cache(1024)(
    lambda store, *where: store.load(ProductionRun, *where)
)
load_mark: Load[ModelMark] = lru_cache(256)(lambda store, *where: store.load(ModelMark, *where))


_OF_A_FILE = (
    *(FileNotFoundError, IsADirectoryError, PermissionError),
    *(InvalidDocumentError, UnicodeError),
)
"""Causes that are of one document alone, not of the store."""


def read_each(load: Load[Kept], store: ModelStore, entries: Iterable[CatalogueEntry]) -> Iterator[Kept]:
    """Yield the entries' documents in order, each read when it is asked for.

    Missing or damaged ones are left out, with a warning in the log.

    Raises:
        StoreError: the store itself cannot be read.
    """
    for entry in entries:
        try:
            document = load(store, entry.job, entry.instance_type, entry.id)
        except (StoreError, InvalidParameterError) as error:
            # Impossible names are refused before the store is asked.
            if not isinstance(error, InvalidParameterError) and not isinstance(error.__cause__, _OF_A_FILE):
                raise
            where = entry.job, entry.instance_type
            log.warning("Left out %s %s of %r on %s: %s", entry.kind, entry.id, *where, error)
        else:
            yield document


def is_gone(error: StoreError) -> bool:
    """Whether the store could be read, but the document is not there."""
    return isinstance(error.__cause__, FileNotFoundError)


def visible_entries(entries: Iterable[CatalogueEntry], readable: Readable) -> list[CatalogueEntry]:
    """The entries of readable DAGs; each DAG is asked about once."""
    may_read = cache(readable)
    return [entry for entry in entries if may_read(entry.dag_id)]


def visible_of_job(entries: Iterable[CatalogueEntry], job: str, readable: Readable) -> list[CatalogueEntry]:
    """The job's entries of readable DAGs, on all types of machines."""
    return visible_entries((entry for entry in entries if entry.job == job), readable)


def visible_records(records: Iterable[Record], readable: Readable) -> list[Record]:
    """The records of readable DAGs."""
    may_read = cache(readable)
    return [record for record in records if may_read(record.origin.dag_id if record.origin else None)]


def newest_of(entries: Iterable[CatalogueEntry], kind: str, limit: int) -> list[CatalogueEntry]:
    """The newest entries of a kind, newest first; ids sort by time."""
    found = [entry for entry in entries if entry.kind == kind]
    return sorted(found, key=lambda entry: entry.id, reverse=True)[:limit]


def newest_models(entries: Iterable[CatalogueEntry]) -> dict[tuple[str, str], CatalogueEntry]:
    """The newest model of each job and type of machine."""
    newest: dict[tuple[str, str], CatalogueEntry] = {}
    for entry in entries:
        if entry.kind == MODEL:
            where = (entry.job, entry.instance_type)
            newest[where] = max(newest.get(where, entry), entry, key=lambda each: each.id)
    return newest


MOST_TYPES = 8
"""Each must be fitted to be compared, and more curves cannot be told apart."""

RECENT_DECISIONS = 10
"""Number of newest decisions searched for a price."""


@dataclass(frozen=True, kw_only=True)
class OtherType:
    """The newest model of the job on another type of machine."""

    entry: CatalogueEntry
    model: Model | None
    price_per_hour: float | None


def other_types(
    store: ModelStore, model: Model, entries: Iterable[CatalogueEntry], readable: Readable
) -> list[OtherType]:
    """Return the newest visible models of other types, at most `MOST_TYPES`, by type.

    What cannot be read is logged: it must not break the page of this model.
    """
    of_job = visible_of_job(entries, model.job, readable)
    newest = [entry for entry in newest_models(of_job).values() if entry.instance_type != model.instance_type]
    newest.sort(key=lambda entry: entry.id, reverse=True)
    shown = sorted(newest[:MOST_TYPES], key=lambda entry: entry.instance_type)
    return [_other_type(store, entry, of_job, readable) for entry in shown]


def _other_type(
    store: ModelStore, entry: CatalogueEntry, of_job: Sequence[CatalogueEntry], readable: Readable
) -> OtherType:
    model = price = None
    unread = "The newest model"
    try:
        model = load_model(store, entry.job, entry.instance_type, entry.id)
        unread = "What was decided by the newest models"
        of_type = [each for each in of_job if each.instance_type == entry.instance_type]
        decisions = read_each(load_decision, store, newest_of(of_type, DECISION, RECENT_DECISIONS))
        # One by one, since the first one that tells a price is enough.
        price = known_price(model, (each for each in decisions if visible_records([each], readable)))
    except StoreError:
        log.warning("%s of %r on %s cannot be read", unread, entry.job, entry.instance_type, exc_info=True)
    return OtherType(entry=entry, model=model, price_per_hour=price)


def known_price(model: Model, newest_first: Iterable[DecisionRecord]) -> float | None:
    """Dollars for a machine and hour: of the newest decision on its type, else of the training cluster."""
    for record in newest_first:
        decision = record.decision
        if decision.price_per_hour and decision.config.instance_type == model.instance_type:
            return decision.price_per_hour
    return price_of_cluster(model)


def price_of_cluster(model: Model) -> float | None:
    """Dollars for a machine and hour of the sample runs; None if unknown or nothing was paid."""
    return (model.cluster.price_per_hour if model.cluster else None) or None
