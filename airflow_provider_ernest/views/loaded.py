"""Documents of the store by their ids. What was read once is not read again: it never changes."""

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
"""Reads the document of a job and type of machine that has an id; raises StoreError."""

MOST_MODELS_KEPT = 64
MOST_PURPOSES_KEPT = 4096

# Of the same document the same object: what is fitted for a model is found without comparing observations.
load_model: Load[Model] = lru_cache(MOST_MODELS_KEPT)(lambda store, *where: store.load(Model, *where))
# A decision has all its alternatives with it, some tens of kilobytes; a profile a hundred stages.
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
    """The newest profile of a run of that purpose, by a DAG that may be read; None where there is none.

    One that is gone or damaged is left out with a warning in the log, which names it.
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


Readable: TypeAlias = Callable[[str | None], bool]
"""Whether a DAG may be read; None stands for what was made outside of DAGs."""

Record = TypeVar("Record", DecisionRecord, ProductionRun, ModelMark, ProfileRecord, BottleneckReport)


def visible_entries(entries: Iterable[CatalogueEntry], readable: Readable) -> list[CatalogueEntry]:
    """The entries of DAGs that may be read; each DAG is asked about once."""
    may_read = cache(readable)
    return [entry for entry in entries if may_read(entry.dag_id)]


def visible_records(records: Iterable[Record], readable: Readable) -> list[Record]:
    """Those of DAGs that may be read."""
    may_read = cache(readable)
    return [record for record in records if may_read(record.origin.dag_id if record.origin else None)]


def of_job(entries: Iterable[CatalogueEntry], job: str) -> list[CatalogueEntry]:
    """What there is of a job, on any type of machine."""
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
"""Each of them is fitted before it can be compared, and more curves nobody tells apart."""

RECENT_DECISIONS = 10
"""Among so many, one that names a price is looked for, from the newest on."""


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
    """The `MOST_TYPES` newest of them that a person may see, by name of the type.

    What cannot be read of them is logged: the page of another model must not fail for it.
    """
    of_job = visible_entries((entry for entry in entries if entry.job == model.job), readable)
    newest = [entry for entry in newest_models(of_job).values() if entry.instance_type != model.instance_type]
    newest.sort(key=lambda entry: entry.id, reverse=True)
    shown = sorted(newest[:MOST_TYPES], key=lambda entry: entry.instance_type)
    return [_other_type(store, entry, of_job, readable) for entry in shown]


def known_price(model: Model, decisions: Sequence[DecisionRecord]) -> float | None:
    """Dollars for a machine and hour: of the newest decision, else of the cluster that it was trained on.

    Args:
        model: the model.
        decisions: for its job, newest last; what they say of another type is not its price.
    """
    for record in reversed(decisions):
        if _tells_price(record, model):
            return record.decision.price_per_hour
    return price_of_cluster(model)


def price_of_cluster(model: Model) -> float | None:
    """Dollars for a machine and hour of the sample runs; None where it is not known, or nothing was paid."""
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
    """As `known_price`, without reading more decisions than it takes to find one."""
    of_type = (entry for entry in of_job if entry.instance_type == model.instance_type)
    for record in read_each(load_decision, store, newest_of(of_type, DECISION, RECENT_DECISIONS)):
        if _tells_price(record, model) and visible_records([record], readable):
            return record.decision.price_per_hour
    return price_of_cluster(model)


def _tells_price(record: DecisionRecord, model: Model) -> bool:
    decision = record.decision
    return bool(decision.price_per_hour) and decision.config.instance_type == model.instance_type
