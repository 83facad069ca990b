"""The list of models: what each job runs on, takes and costs; searched, sorted and paginated."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

from airflow_provider_ernest.documents.base import time_of
from airflow_provider_ernest.learning.freshness import DRIFTING, FRESH, STALE, Lineage
from airflow_provider_ernest.settings.goal import MAX_ERROR_PERCENT
from airflow_provider_ernest.settings.values import read_name
from airflow_provider_ernest.store.catalogue import DECISION, MODEL, PRODUCTION_RUN, CatalogueEntry
from airflow_provider_ernest.views import outcomes
from airflow_provider_ernest.views.loaded import Readable, visible_entries
from airflow_provider_ernest.views.survey import StoredSurvey
from airflow_provider_ernest.views.view import view_of

STATES = (FRESH, STALE, DRIFTING)
"""States, from healthy to urgent."""

MOST_ROWS = 200

SECONDS_TILL_STOPPED = 62 * 86_400.0
"""A job that has not run for this long has no monthly cost."""


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """A job on a type of machine: its newest model, decision and production run. Null for what is not known.

    Attributes:
        dag_id: null where the command line made the model.
        state: "fresh", "stale" or "drifting" (its predictions have missed too often).
        executors: of the newest decision, else of the last run.
        machines_type: theirs, where it is another than that of the model, or a mix.
        predicted_seconds: of the last run; of the newest decision where there was none.
        error_percent: of the last run: positive where the prediction was too high.
        is_far_off: whether the last run was outside its 95 % interval, or is more than 25 % off.
        cost: dollars that the last run cost, else those predicted by the newest decision.
        runs_per_month: null where fewer than two are known, all are of one day, or the last is of two months
            ago.
        dollars_per_month: at the median cost of the newest five runs.
        cost_before: the median of the runs before the first decision.
        saved_per_month: what as many runs cost less than before; negative where they cost more.
        production_runs: of the job on that type, by any model, and those on types without a model of their
            own that a model of this one predicted.
    """

    job: str
    instance_type: str
    model_id: str
    created_at: str
    age_seconds: float | None
    dag_id: str | None
    median_error_percent: float | None
    max_error_percent: float | None
    state: str
    badges: tuple[outcomes.Badge, ...]
    executors: int | None
    executors_type: str | None
    is_fallback: bool
    seconds: float | None
    predicted_seconds: float | None
    error_percent: float | None
    is_far_off: bool
    cost: float | None
    is_cost_predicted: bool
    runs_per_month: float | None
    dollars_per_month: float | None
    cost_before: float | None
    saved_per_month: float | None
    run_at: str | None
    run_age_seconds: float | None
    deadlines: outcomes.DeadlinesKept
    production_runs: int
    versions: int


@dataclass(frozen=True, kw_only=True)
class Total:
    """A sum over jobs, as far as it is known."""

    dollars: float | None
    jobs: int
    unknown_jobs: int


@dataclass(frozen=True, kw_only=True)
class Models:
    """A page of the list of models.

    Attributes:
        total: models that match search and state.
        counts: of the models that match the search.
        per_month: what the jobs of all models that match search and state cost a month.
    """

    total: int
    offset: int
    limit: int
    counts: dict[str, int]
    per_month: Total
    saved_per_month: Total
    survey: StoredSurvey | None
    rows: tuple[ModelRow, ...]


def _kept_share(row: ModelRow) -> tuple[float, int] | None:
    """Of equal shares, the one with more misses is worse."""
    told = row.deadlines
    return (told.kept / told.judged, -told.missed) if told.judged else None


SORTS: dict[str, Callable[[ModelRow], Any]] = {
    "job": lambda row: row.job.casefold(),
    "executors": attrgetter("executors"),
    "seconds": attrgetter("seconds"),
    "cost": attrgetter("cost"),
    "month": attrgetter("dollars_per_month"),
    "saved": attrgetter("saved_per_month"),
    "deadlines": _kept_share,
    "state": lambda row: (
        STATES.index(row.state),
        outcomes.is_inaccurate(row.median_error_percent),
    ),
    "run_at": lambda row: time_of(row.run_at) if row.run_at else None,
}


def list_models(
    entries: Sequence[CatalogueEntry],
    *,
    readable: Readable,
    search: str = "",
    sort: str = "month",
    descending: bool = True,
    state: str | None = None,
    offset: int = 0,
    limit: int = 25,
    now: datetime,
    survey: StoredSurvey | None = None,
) -> Models:
    """Return one page of the models that a person may see, of the entries of the whole catalogue.

    Entries of DAGs that may not be read are left out, also of states and numbers. The words of `search` must
    all occur, ignoring case, in job, type or DAG. Rows without a value to `sort` by (see `SORTS`) come last;
    ties go by the dollars of a run, descending, then by job and instance type. `now` has a time zone.

    Raises:
        InvalidParameterError: there is no such order or state.
    """
    read_name(tuple(SORTS), "sort", sort)
    if state:
        read_name(STATES, "state", state)
    found = list(_matching(visible_entries(entries, readable), search.casefold().split(), now))
    counts = Counter(row.state for row in found)
    rows = [row for row in found if not state or row.state == state]
    rows.sort(key=lambda row: (-(row.cost or 0.0), row.job, row.instance_type))
    valued = [(SORTS[sort](row), row) for row in rows]
    known = sorted(
        (each for each in valued if each[0] is not None), key=lambda each: each[0], reverse=descending
    )
    ordered = [row for _, row in known] + [row for value, row in valued if value is None]
    return Models(
        total=len(rows),
        offset=offset,
        limit=limit,
        counts={name: counts[name] for name in STATES},
        per_month=_total((row.job, row.dollars_per_month) for row in rows),
        saved_per_month=_total((row.job, row.saved_per_month) for row in rows),
        survey=survey,
        rows=tuple(ordered[offset : offset + limit]),
    )


def _total(amounts: Iterable[tuple[str, float | None]]) -> Total:
    """A job counts as known if it is known on one type of machine: on others it may never have run."""
    of_jobs: defaultdict[str, list[float]] = defaultdict(list)
    for job, dollars in amounts:
        of_jobs[job] += [] if dollars is None else [dollars]
    known_jobs = [values for values in of_jobs.values() if values]
    return Total(
        dollars=sum(map(sum, known_jobs)) if known_jobs else None,
        jobs=len(known_jobs),
        unknown_jobs=len(of_jobs) - len(known_jobs),
    )


def _matching(entries: Sequence[CatalogueEntry], words: Sequence[str], now: datetime) -> Iterator[ModelRow]:
    """The models in which all the words occur, unordered."""
    of_jobs: defaultdict[str, list[CatalogueEntry]] = defaultdict(list)
    for entry in entries:
        of_jobs[entry.job].append(entry)
    # Job by job, to keep its entries in cache, which halves the time.
    for of_job in of_jobs.values():
        decisions, before = outcomes.decisions_by_id(of_job), outcomes.baseline_of(of_job)
        for of_place in outcomes.entries_by_place(of_job).values():
            model = _newest(of_place, MODEL)
            # A word must lie within one field: the line break is in none of them.
            if model is not None and all(
                word in f"{model.job}\n{model.instance_type}\n{model.dag_id or ''}".casefold()
                for word in words
            ):
                runs = [entry for entry in of_place if entry.kind == PRODUCTION_RUN]
                state = Lineage(model, of_job).state()
                yield view_of(
                    ModelRow,
                    model,
                    model_id=model.id,
                    created_at=model.at,
                    age_seconds=_age(time_of(model.at), now),
                    state=state.name,
                    badges=outcomes.badges_of(model, state, _newest(of_place, DECISION)),
                    deadlines=outcomes.deadlines_kept(runs, decisions),
                    production_runs=len(runs),
                    versions=sum(entry.kind == MODEL for entry in of_place),
                    **_run_and_size(model, _newest(runs, PRODUCTION_RUN), _newest(of_place, DECISION)),
                    **_dollars(runs, _newest(of_place, DECISION), outcomes.money(of_place, before), now),
                )


def _newest(entries: Iterable[CatalogueEntry], kind: str) -> CatalogueEntry | None:
    return max((entry for entry in entries if entry.kind == kind), key=attrgetter("id"), default=None)


def _run_and_size(
    model: CatalogueEntry, run: CatalogueEntry | None, decision: CatalogueEntry | None
) -> dict[str, Any]:
    """What a row says of the last run and of the newest decision."""
    size, newest = decision or run, run or decision
    error = None
    if run and run.predicted_seconds is not None and run.seconds:
        error = 100.0 * (run.predicted_seconds - run.seconds) / run.seconds
    return {
        "executors": size.executors if size else None,
        "executors_type": size.instance_type if size and size.instance_type != model.instance_type else None,
        "is_fallback": decision is not None and decision.is_fallback,
        "seconds": run.seconds if run else None,
        "predicted_seconds": newest.predicted_seconds if newest else None,
        "error_percent": error,
        "is_far_off": (run is not None and run.is_unusual) or abs(error or 0.0) > MAX_ERROR_PERCENT,
        "run_at": run.at if run else None,
    }


def _dollars(
    runs: Sequence[CatalogueEntry], decision: CatalogueEntry | None, known: outcomes.Money, now: datetime
) -> dict[str, Any]:
    """What a row says of dollars, and how old the last run is."""
    run = _newest(runs, PRODUCTION_RUN)
    age = _age(time_of(run.at), now) if run else None
    rate = outcomes.runs_per_month(runs) if age is not None and age < SECONDS_TILL_STOPPED else None
    paid = run.cost if run else None
    cost = decision.predicted_cost if paid is None and decision else paid
    return {
        "run_age_seconds": age,
        "cost": cost,
        "is_cost_predicted": cost is not None and paid is None,
        "runs_per_month": rate,
        "dollars_per_month": None if known.usual is None or rate is None else known.usual * rate,
        "cost_before": known.baseline,
        "saved_per_month": None
        if known.saved_per_run is None or rate is None
        else known.saved_per_run * rate,
    }


def _age(moment: datetime | None, now: datetime) -> float | None:
    return max(0.0, (now - moment).total_seconds()) if moment else None
