"""The same job on other types of machines, to compare with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.model.catalogue import CatalogueEntry
from airflow_provider_ernest.model.records import DecisionRecord
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.plugin.loaded_models import load_model
from airflow_provider_ernest.plugin.visible import Readable, newest_models, visible_entries, visible_records

MOST_TYPES = 8
"""Each of them is fitted before it can be compared, and more curves nobody tells apart."""

RECENT_DECISIONS = 10
"""Among so many, one that names a price is looked for."""


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

    Raises:
        StoreError: the store cannot be read.
    """
    of_job = [entry for entry in entries if entry.job == model.job]
    newest = [
        entry
        for entry in newest_models(visible_entries(of_job, readable)).values()
        if entry.instance_type != model.instance_type
    ]
    newest.sort(key=lambda entry: entry.id, reverse=True)
    shown = sorted(newest[:MOST_TYPES], key=lambda entry: entry.instance_type)
    return [_other_type(store, entry, readable) for entry in shown]


def known_price(model: Model, decisions: Sequence[DecisionRecord]) -> float | None:
    """Dollars for a machine and hour: of the newest decision, else of the cluster that it was trained on.

    Args:
        model: the model.
        decisions: for its job and type, newest last.
    """
    for record in reversed(decisions):
        if record.decision.price_per_hour:
            return record.decision.price_per_hour
    return price_of_cluster(model)


def price_of_cluster(model: Model) -> float | None:
    """Dollars for a machine and hour of the sample runs; None where it is not known, or nothing was paid."""
    return (model.cluster.price_per_hour if model.cluster else None) or None


def _other_type(store: ModelStore, entry: CatalogueEntry, readable: Readable) -> OtherType:
    try:
        model = load_model(store, entry.job, entry.instance_type, entry.id)
    except StoreError:
        # The store has said so in the log; the page of another model must not fail for it.
        return OtherType(entry=entry, model=None, price_per_hour=None)
    decisions = visible_records(
        store.decisions(entry.job, entry.instance_type, limit=RECENT_DECISIONS), readable
    )
    return OtherType(entry=entry, model=model, price_per_hour=known_price(model, decisions))
