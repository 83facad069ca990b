"""What a person may see of a store: what was made by DAGs that he may read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TypeAlias, TypeVar

from airflow_provider_ernest.model.bottlenecks import BottleneckReport, ProfileRecord
from airflow_provider_ernest.model.records import DecisionRecord, ModelMark, ProductionRun
from airflow_provider_ernest.model.storage.catalogue import MODEL, CatalogueEntry

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
