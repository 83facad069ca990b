"""Documents of the store by id, cached: they never change."""

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

Kept = TypeVar("Kept", Model, DecisionRecord, ProductionRun, ModelMark, ProfileRecord)

Load: TypeAlias = Callable[[ModelStore, str, str, str], Kept]
"""Reads a document by job, type of machine and id; raises StoreError."""

MOST_MODELS_KEPT = 64
MOST_PURPOSES_KEPT = 4096

# The same document is the same object, so that a model's fit is found without comparing observations.
load_model: Load[Model] = lru_cache(MOST_MODELS_KEPT)(lambda store, *where: store.load(Model, *where))
# A decision holds all its alternatives, tens of kilobytes; a profile holds a hundred stages.
load_decision: Load[DecisionRecord] = lru_cache(256)(lambda store, *where: store.load(DecisionRecord, *where))
load_production: Load[ProductionRun] = lru_cache(1024)(
    lambda store, *where: store.load(ProductionRun, *where)
)
load_mark: Load[ModelMark] = lru_cache(256)(lambda store, *where: store.load(ModelMark, *where))
load_profile: Load[ProfileRecord] = lru_cache(64)(lambda store, *where: store.load(ProfileRecord, *where))


@lru_cache(maxsize=MOST_PURPOSES_KEPT)
def _made_for(store: ModelStore, job: str, instance_type: str, profile_id: str) -> tuple[str, str | None]:
    """The purpose of a profile's run, and the DAG that ran it: profiles are too large to keep many."""
    record = store.load(ProfileRecord, job, instance_type, profile_id)
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
    """Return the newest profile with that purpose of a readable DAG; None if there is none.

    Missing or damaged ones are left out, with a warning in the log.
    """
    for profile_id in store.ids(ProfileRecord, job, instance_type, limit=limit):
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
    """Yield the documents of these entries, in order; each is read when it is asked for.

    Missing or damaged ones are left out, with a warning in the log.

    Raises:
        StoreError: the store itself cannot be read, and so neither the next document.
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
    """Whether the store could be read, but the document is not there."""
    return isinstance(error.__cause__, FileNotFoundError)


def _is_of_one_document(error: StoreError | InvalidParameterError) -> bool:
    # Impossible names are refused before the store is asked.
    return isinstance(error, InvalidParameterError) or isinstance(
        error.__cause__,
        FileNotFoundError | IsADirectoryError | PermissionError | InvalidDocumentError | UnicodeError,
    )


Readable: TypeAlias = Callable[[str | None], bool]
"""Whether a DAG may be read; None stands for what was made outside of DAGs."""

Record = TypeVar("Record", DecisionRecord, ProductionRun, ModelMark, ProfileRecord, BottleneckReport)


def visible_entries(entries: Iterable[CatalogueEntry], readable: Readable) -> list[CatalogueEntry]:
    """The entries of readable DAGs; each DAG is asked about once."""
    may_read = cache(readable)
    return [entry for entry in entries if may_read(entry.dag_id)]


def visible_records(records: Iterable[Record], readable: Readable) -> list[Record]:
    """The records of readable DAGs."""
    may_read = cache(readable)
    return [record for record in records if may_read(record.origin.dag_id if record.origin else None)]


def of_job(entries: Iterable[CatalogueEntry], job: str) -> list[CatalogueEntry]:
    """The entries of a job, on any type of machine."""
    return [entry for entry in entries if entry.job == job]


def newest_of(entries: Iterable[CatalogueEntry], kind: str, limit: int) -> list[CatalogueEntry]:
    """The newest entries of a kind, newest first; ids sort by time."""
    found = [entry for entry in entries if entry.kind == kind]
    return sorted(found, key=lambda entry: entry.id, reverse=True)[:limit]


def newest_models(entries: Iterable[CatalogueEntry]) -> dict[tuple[str, str], CatalogueEntry]:
    """The newest model of each job and type of machine; ids sort by time."""
    newest: dict[tuple[str, str], CatalogueEntry] = {}
    for entry in entries:
        if entry.kind == MODEL:
            where = (entry.job, entry.instance_type)
            known = newest.get(where)
            if known is None or entry.id > known.id:
                newest[where] = entry
    return newest


MOST_TYPES = 8
"""Each must be fitted to be compared, and more curves cannot be told apart."""

RECENT_DECISIONS = 10
"""Number of newest decisions searched for a price."""


@dataclass(frozen=True, kw_only=True)
class OtherType:
    """The newest model of the job on another type of machine.

    Attributes:
        entry: what the catalogue says of it.
        model: None where it cannot be read.
        price_per_hour: dollars for one machine and hour; None where it is not known.
    """

    entry: CatalogueEntry
    model: Model | None
    price_per_hour: float | None


def other_types(
    store: ModelStore, model: Model, entries: Iterable[CatalogueEntry], readable: Readable
) -> list[OtherType]:
    """Return the newest models of other types that a person may see, at most `MOST_TYPES`, by type.

    What cannot be read is logged: it must not break the page of this model.
    """
    of_job = visible_entries((entry for entry in entries if entry.job == model.job), readable)
    newest = [entry for entry in newest_models(of_job).values() if entry.instance_type != model.instance_type]
    newest.sort(key=lambda entry: entry.id, reverse=True)
    shown = sorted(newest[:MOST_TYPES], key=lambda entry: entry.instance_type)
    return [_other_type(store, entry, of_job, readable) for entry in shown]


def known_price(model: Model, decisions: Sequence[DecisionRecord]) -> float | None:
    """Dollars for a machine and hour, from the newest decision, else from the training cluster.

    Args:
        model: the model.
        decisions: of its job, newest last; those on other types do not count.
    """
    for record in reversed(decisions):
        if _tells_price(record, model):
            return record.decision.price_per_hour
    return price_of_cluster(model)


def price_of_cluster(model: Model) -> float | None:
    """Dollars for a machine and hour of the sample runs; None if unknown or nothing was paid."""
    return (model.cluster.price_per_hour if model.cluster else None) or None


def _other_type(
    store: ModelStore, entry: CatalogueEntry, of_job: Iterable[CatalogueEntry], readable: Readable
) -> OtherType:
    try:
        model = load_model(store, entry.job, entry.instance_type, entry.id)
    except StoreError:
        _warn(entry, "The newest model")
        return OtherType(entry=entry, model=None, price_per_hour=None)
    try:
        price = _newest_price(store, model, of_job, readable)
    except StoreError:
        _warn(entry, "What was decided by the newest models")
        price = None
    return OtherType(entry=entry, model=model, price_per_hour=price)


def _warn(entry: CatalogueEntry, what: str) -> None:
    log.warning("%s of %r on %s cannot be read", what, entry.job, entry.instance_type, exc_info=True)


def _newest_price(
    store: ModelStore, model: Model, of_job: Iterable[CatalogueEntry], readable: Readable
) -> float | None:
    """`known_price`, reading no more decisions than needed."""
    of_type = (entry for entry in of_job if entry.instance_type == model.instance_type)
    for record in read_each(load_decision, store, newest_of(of_type, DECISION, RECENT_DECISIONS)):
        if _tells_price(record, model) and visible_records([record], readable):
            return record.decision.price_per_hour
    return price_of_cluster(model)


def _tells_price(record: DecisionRecord, model: Model) -> bool:
    decision = record.decision
    return bool(decision.price_per_hour) and decision.config.instance_type == model.instance_type
