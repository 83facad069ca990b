"""The list of models: the newest of each job and type of machine, searched, sorted and cut into pages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow_provider_ernest.documents import time_of
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.learning.freshness import DRIFTING, FRESH, STALE, Lineage, State
from airflow_provider_ernest.store.catalogue import MODEL, PRODUCTION_RUN, CatalogueEntry
from airflow_provider_ernest.views.loaded import Readable, newest_models, visible_entries
from airflow_provider_ernest.views.view import view_of

STATES = (FRESH, STALE, DRIFTING)
"""From what needs nobody's attention to what needs it most."""

MOST_ROWS = 200


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """The newest model of a job on a type of machine.

    Attributes:
        age_seconds: null where it is not known when it was made.
        median_error_percent: leave-one-out, absolute.
        dag_id: null where the command line made it.
        state: "fresh", "stale" or "drifting" (its predictions have missed too often).
        state_reason: why, and what to do; empty when fresh.
        state_cause: code, data, settings, cluster, unexplained or age; empty when fresh.
        production_runs: of the job on that type, by any model.
        versions: the models of the job on that type.
    """

    job: str
    instance_type: str
    model_id: str
    created_at: str
    age_seconds: float | None
    method: str
    terms: tuple[str, ...]
    median_error_percent: float | None
    max_error_percent: float | None
    observations: int
    artifact: str | None
    artifact_sha256: str | None
    dag_id: str | None
    state: str
    state_reason: str
    state_cause: str
    production_runs: int
    versions: int


@dataclass(frozen=True, kw_only=True)
class StateCounts:
    """How many models are in each state."""

    fresh: int
    stale: int
    drifting: int


@dataclass(frozen=True, kw_only=True)
class Models:
    """A page of the list of models.

    Attributes:
        total: models that match search and state.
        counts: of the models that match the search.
    """

    total: int
    offset: int
    limit: int
    counts: StateCounts
    rows: tuple[ModelRow, ...]


@dataclass(frozen=True, kw_only=True)
class Found:
    """A model that matches a search, before its row is made: only a few of thousands are shown."""

    model: CatalogueEntry
    state: State
    production_runs: int
    versions: int


def list_models(
    entries: Sequence[CatalogueEntry],
    *,
    readable: Readable,
    search: str = "",
    sort: str = "created_at",
    descending: bool = True,
    state: str | None = None,
    offset: int = 0,
    limit: int = 25,
    now: datetime,
) -> Models:
    """One page of the models that a person may see.

    Args:
        entries: all of the catalogue.
        readable: whether a DAG may be read. Entries of other DAGs are as if they were not there, in
            states and numbers too.
        search: words that must all occur, in any case, in job, type, DAG, terms or artifact.
        sort: one of `SORTS`; rows without a value come last, equal ones by job and instance type.
        descending: the largest first.
        state: only models in this one of `STATES`; None or "" for all.
        offset: rows to leave out.
        limit: rows to show, 1 to `MOST_ROWS`.
        now: what ages count to, with its time zone.

    Raises:
        InvalidParameterError: a parameter is none of these.
    """
    _check(sort=sort, state=state, offset=offset, limit=limit)
    found = list(_rows(visible_entries(entries, readable), search.casefold().split()))
    counts = Counter(row.state.name for row in found)
    rows = [row for row in found if not state or row.state.name == state]
    shown = _sorted(rows, SORTS[sort], descending=descending)[offset : offset + limit]
    return Models(
        total=len(rows),
        offset=offset,
        limit=limit,
        counts=StateCounts(**{name: counts[name] for name in STATES}),
        rows=tuple(_row(each, now) for each in shown),
    )


def _check(*, sort: str, state: str | None, offset: int, limit: int) -> None:
    if sort not in SORTS:
        raise InvalidParameterError("sort", sort, "is unknown", remedy=f"Use one of {', '.join(SORTS)}.")
    if state and state not in STATES:
        raise InvalidParameterError("state", state, "is unknown", remedy=f"Use one of {', '.join(STATES)}.")
    if offset < 0:
        raise InvalidParameterError("offset", offset, "is negative", remedy="Begin at 0.")
    if not 1 <= limit <= MOST_ROWS:
        raise InvalidParameterError(
            "limit", limit, "is no size of a page", remedy=f"Ask for 1 to {MOST_ROWS} rows."
        )


def _rows(entries: Sequence[CatalogueEntry], words: Sequence[str]) -> Iterator[Found]:
    """The models in which all the words occur, in no order."""
    of_job: defaultdict[str, list[CatalogueEntry]] = defaultdict(list)
    for entry in entries:
        of_job[entry.job].append(entry)
    numbers = Counter((entry.job, entry.instance_type, entry.kind) for entry in entries)
    for (job, instance_type), model in newest_models(entries).items():
        if not words or _contains(model, words):
            yield Found(
                model=model,
                state=Lineage(model, of_job[job]).state(),
                production_runs=numbers[job, instance_type, PRODUCTION_RUN],
                versions=numbers[job, instance_type, MODEL],
            )


def _contains(model: CatalogueEntry, words: Iterable[str]) -> bool:
    fields = (model.job, model.instance_type, model.dag_id, *model.terms, model.artifact)
    # A word must lie within one field: the line break is in none of them.
    text = "\n".join(field for field in fields if field).casefold()
    return all(word in text for word in words)


def _sorted(rows: Iterable[Found], value: Callable[[Found], Any], *, descending: bool) -> list[Found]:
    by_name = sorted(rows, key=lambda row: (row.model.job, row.model.instance_type))
    valued = [(value(row), row) for row in by_name]
    with_value = sorted(
        (pair for pair in valued if pair[0] is not None), key=lambda pair: pair[0], reverse=descending
    )
    return [row for _, row in with_value] + [row for found, row in valued if found is None]


SORTS: dict[str, Callable[[Found], Any]] = {
    "job": lambda row: row.model.job.casefold(),
    "instance_type": lambda row: row.model.instance_type.casefold(),
    "terms": lambda row: row.model.terms or None,
    "median_error_percent": lambda row: row.model.median_error_percent,
    "created_at": lambda row: time_of(row.model.at),
    "artifact_sha256": lambda row: row.model.artifact_sha256,
    "state": lambda row: STATES.index(row.state.name),
    "production_runs": lambda row: row.production_runs,
}
"""What rows may be sorted by."""


def _row(found: Found, now: datetime) -> ModelRow:
    model, created = found.model, time_of(found.model.at)
    return view_of(
        ModelRow,
        model,
        model_id=model.id,
        created_at=model.at,
        age_seconds=max(0.0, (now - created).total_seconds()) if created else None,
        state=found.state.name,
        state_reason=found.state.reason,
        state_cause=found.state.cause,
        production_runs=found.production_runs,
        versions=found.versions,
    )
