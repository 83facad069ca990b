"""The same job on other types of machines, to compare with."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.model.records import DecisionRecord
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.storage.catalogue import DECISION, CatalogueEntry
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.plugin.loaded_documents import load_decision, load_model, read_each
from airflow_provider_ernest.plugin.visible import (
    Readable,
    newest_models,
    newest_of,
    visible_entries,
    visible_records,
)

log = logging.getLogger(__name__)

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

    What cannot be read of them is told in the log: the page of another model must not fail for it.
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
