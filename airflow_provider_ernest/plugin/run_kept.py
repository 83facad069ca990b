"""What the model store holds of a DAG run, for when Airflow has deleted its XComs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.model.catalogue import DECISION, MODEL, PRODUCTION_RUN, CatalogueEntry
from airflow_provider_ernest.model.records import DecisionRecord, ProductionRun
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.plugin.run_record import RunRecord, TaskRow

Kept = TypeVar("Kept", Model, DecisionRecord, ProductionRun)

MOST_LOOKED_AT = 50
"""Documents of a kind that are read for a run: a DAG may have thousands, but few in the time of a run."""
LATEST_RECORD = timedelta(hours=1)
"""How long after its end a run's last document may have been written, by other clocks."""


@dataclass(frozen=True, kw_only=True)
class StoredOfRun:
    """Documents that the run's tasks made, the newest first."""

    models: tuple[Model, ...] = ()
    decisions: tuple[DecisionRecord, ...] = ()
    production_runs: tuple[ProductionRun, ...] = ()


def stored_of(store: ModelStore, run: RunRecord) -> StoredOfRun:
    """What is stored of a run; nothing where the store cannot be read, for the run can be shown without."""
    try:
        entries = [entry for entry in store.catalogue.entries() if _may_be_of(entry, run)]
        return StoredOfRun(
            models=_of_run(
                run,
                (store.load(entry.job, entry.instance_type, entry.id) for entry in _newest(entries, MODEL)),
            ),
            decisions=_of_run(run, _records(entries, DECISION, store.decisions)),
            production_runs=_of_run(run, _records(entries, PRODUCTION_RUN, store.productions)),
        )
    except StoreError:
        return StoredOfRun()


def made_by(documents: Iterable[Kept], tasks: Iterable[TaskRow]) -> Kept | None:
    """The newest document that one of the task instances made; None where it made none."""
    ids = {task.task_id for task in tasks}
    return next((each for each in documents if each.origin and each.origin.task_id in ids), None)


def _records(entries: Iterable[CatalogueEntry], kind: str, read: Callable[..., list[Kept]]) -> Iterable[Kept]:
    """The records of those entries, newest first."""
    wanted = _newest(entries, kind)
    for job, instance_type in dict.fromkeys((entry.job, entry.instance_type) for entry in wanted):
        yield from reversed(read(job, instance_type, limit=MOST_LOOKED_AT))


def _newest(entries: Iterable[CatalogueEntry], kind: str) -> list[CatalogueEntry]:
    found = [entry for entry in entries if entry.kind == kind]
    return sorted(found, key=lambda entry: entry.id, reverse=True)[:MOST_LOOKED_AT]


def _of_run(run: RunRecord, documents: Iterable[Kept]) -> tuple[Kept, ...]:
    return tuple(
        each
        for each in documents
        if each.origin is not None and (each.origin.dag_id, each.origin.run_id) == (run.dag_id, run.run_id)
    )


def _may_be_of(entry: CatalogueEntry, run: RunRecord) -> bool:
    """By its DAG and its time: the catalogue does not know runs."""
    if entry.dag_id != run.dag_id:
        return False
    try:
        at = datetime.fromisoformat(entry.at)
    except ValueError:
        return False
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    too_early = run.started_at is not None and at < run.started_at - LATEST_RECORD
    too_late = run.ended_at is not None and at > run.ended_at + LATEST_RECORD
    return not too_early and not too_late
