"""What the model store holds of a DAG run, for when Airflow has deleted its XComs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, partial
from typing import TypeVar

from airflow_provider_ernest.exceptions import ErnestError, StoreError
from airflow_provider_ernest.model.bottlenecks import BottleneckReport
from airflow_provider_ernest.model.records import DecisionRecord, ModelMark, ProductionRun
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.storage.catalogue import DECISION, MODEL, PRODUCTION_RUN, CatalogueEntry
from airflow_provider_ernest.model.storage.catalogue_entry import MARK
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.plugin.loaded_documents import (
    Kept,
    Load,
    load_decision,
    load_mark,
    load_model,
    load_production,
    read_each,
)
from airflow_provider_ernest.plugin.run_record import RunRecord, TaskRow

log = logging.getLogger(__name__)

Made = TypeVar("Made", Model, DecisionRecord, ProductionRun, ModelMark, BottleneckReport)

MOST_LOOKED_AT = 100
"""Documents of a kind that are read for a run, the nearest in time: a DAG may have made thousands."""
MOST_REPORTS = 20
"""Reports of bottlenecks that are read for a run, the newest: the catalogue does not know their times."""
LONGEST_WAY = timedelta(days=1)
"""Documents made so long before or after a run are not of it, whatever the clocks."""


class StoredOfRun:
    """Documents that the run's tasks made, the newest first. Each kind is read when it is first asked for.

    Args:
        models: reads the models.
        decisions: reads the decisions.
        production_runs: reads the production runs.
        marks: reads the marks of models.
        reports: reads the reports of bottlenecks of a job on a type of machine.
    """

    def __init__(
        self,
        *,
        models: Callable[[], tuple[Model, ...]] = tuple,
        decisions: Callable[[], tuple[DecisionRecord, ...]] = tuple,
        production_runs: Callable[[], tuple[ProductionRun, ...]] = tuple,
        marks: Callable[[], tuple[ModelMark, ...]] = tuple,
        reports: Callable[[str, str], tuple[BottleneckReport, ...]] = lambda job, instance_type: (),
    ) -> None:
        self._models = models
        self._decisions = decisions
        self._production_runs = production_runs
        self._marks = marks
        self.reports = reports

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The models that were fitted."""
        return self._models()

    @cached_property
    def decisions(self) -> tuple[DecisionRecord, ...]:
        """The decisions that were made."""
        return self._decisions()

    @cached_property
    def production_runs(self) -> tuple[ProductionRun, ...]:
        """The production runs that were recorded."""
        return self._production_runs()

    @cached_property
    def marks(self) -> tuple[ModelMark, ...]:
        """What was noted against models."""
        return self._marks()


def stored_of(store: ModelStore | StoreError, run: RunRecord) -> StoredOfRun:
    """What is stored of a run, not read yet; nothing where that fails, for the run can be shown without.

    Args:
        store: where its documents may lie, or why there is none to ask.
        run: as Airflow has it.
    """
    if isinstance(store, StoreError):
        log.warning(
            "Run %s of DAG %s is shown without the model store", run.run_id, run.dag_id, exc_info=store
        )
        return StoredOfRun()
    # The catalogue is asked once for all.
    entries = cache(store.catalogue.entries)
    return StoredOfRun(
        models=partial(_read, store, run, entries, MODEL, load_model),
        decisions=partial(_read, store, run, entries, DECISION, load_decision),
        production_runs=partial(_read, store, run, entries, PRODUCTION_RUN, load_production),
        marks=partial(_read, store, run, entries, MARK, load_mark),
        reports=partial(_reports, store, run),
    )


def made_by(documents: Iterable[Made], task: TaskRow) -> Made | None:
    """The newest document that the task instance made; None where it made none."""
    for document in documents:
        origin = document.origin
        if origin and (origin.task_id, origin.map_index) == (task.task_id, task.map_index):
            return document
    return None


def _read(
    store: ModelStore,
    run: RunRecord,
    entries: Callable[[], list[CatalogueEntry]],
    kind: str,
    load: Load[Kept],
) -> tuple[Kept, ...]:
    try:
        wanted = _near(run, (entry for entry in entries() if entry.kind == kind))
        return tuple(each for each in read_each(load, store, wanted) if _is_of(each, run))
    except ErnestError:
        log.warning(
            "Run %s of DAG %s is shown without what the model store has of it (%s)",
            run.run_id,
            run.dag_id,
            kind,
            exc_info=True,
        )
        return ()


def _reports(store: ModelStore, run: RunRecord, job: str, instance_type: str) -> tuple[BottleneckReport, ...]:
    """Those of the run, newest first."""
    try:
        newest = store.bottlenecks(job, instance_type, limit=MOST_REPORTS)
    except ErnestError:
        log.warning(
            "Run %s of DAG %s is shown without its report of bottlenecks",
            run.run_id,
            run.dag_id,
            exc_info=True,
        )
        return ()
    return tuple(report for report in reversed(newest) if _is_of(report, run))


def _is_of(document: Made, run: RunRecord) -> bool:
    origin = document.origin
    return origin is not None and (origin.dag_id, origin.run_id) == (run.dag_id, run.run_id)


def _near(run: RunRecord, entries: Iterable[CatalogueEntry]) -> list[CatalogueEntry]:
    """Those that the run may have made, newest first: the catalogue knows DAGs and times, but no runs."""
    begin, end = _span(run)
    far = [(_way(entry, begin, end), entry.id, entry) for entry in entries if entry.dag_id == run.dag_id]
    # Of equally near ones, the newest: ids sort by time.
    far.sort(key=lambda each: each[1], reverse=True)
    far.sort(key=lambda each: each[0])
    near = [entry for way, _, entry in far[:MOST_LOOKED_AT] if way <= LONGEST_WAY]
    return sorted(near, key=lambda entry: entry.id, reverse=True)


def _span(run: RunRecord) -> tuple[datetime | None, datetime | None]:
    """When the run began and ended; None where that is open.

    A run that is cleared begins anew, and those of its tasks that are not cleared keep their times.
    """
    begins = [run.started_at, *(task.started_at for task in run.tasks)]
    ends = [run.ended_at, *(task.ended_at for task in run.tasks)]
    return (
        min((begin for begin in begins if begin is not None), default=None),
        max(end for end in ends if end is not None) if run.ended_at is not None else None,
    )


def _way(entry: CatalogueEntry, begin: datetime | None, end: datetime | None) -> timedelta:
    """How far the entry lies outside the time of the run; nothing where that cannot be told."""
    try:
        at = datetime.fromisoformat(entry.at)
    except ValueError:
        return timedelta(0)
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    early = begin - at if begin is not None else timedelta(0)
    late = at - end if end is not None else timedelta(0)
    return max(early, late, timedelta(0))
