"""The list of models: what each job runs on, takes and costs; searched, sorted and paginated."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

from airflow_provider_ernest.documents.base import time_of
from airflow_provider_ernest.documents.surveys import Survey
from airflow_provider_ernest.learning.freshness import DRIFTING, FRESH, STALE, Lineage
from airflow_provider_ernest.settings.goal import MAX_ERROR_PERCENT
from airflow_provider_ernest.settings.values import read_name
from airflow_provider_ernest.store.catalogue import DECISION, MODEL, PRODUCTION_RUN, CatalogueEntry
from airflow_provider_ernest.views import outcomes
from airflow_provider_ernest.views.loaded import Readable, visible_entries
from airflow_provider_ernest.views.sentence import Today, today_of
from airflow_provider_ernest.views.survey import StoredSurvey, late_in, stored_survey
from airflow_provider_ernest.views.view import view_of
from airflow_provider_ernest.words import count

STATES = (FRESH, STALE, DRIFTING)
"""States, from healthy to urgent."""

ATTENTION = "attention"
FILTERS = (ATTENTION, *STATES)

MOST_ROWS = 200

SECONDS_TILL_STOPPED = 62 * 86_400.0
"""A job that has not run for this long has no monthly cost."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """Why a job needs attention, and what to do."""

    words: str  # besides those of the badges
    dollars_per_month: float | None  # what it spends a month, or would save; null where unknown
    action: str


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """A job on a type of machine: what its runs take today, its newest model and decision. Null for unknown.

    Attributes:
        dag_id: null where the command line made the model.
        state: "fresh", "stale" or "drifting" (its predictions have missed too often).
        need: null where nothing is to be done.
        executors: today's; where there was no run those of the newest decision, as are seconds and cost.
        executors_type: theirs, where it is another than that of the model, or a mix.
        cost: in dollars, of a run.
        is_predicted: whether size, seconds and cost are those of a decision that no run went by yet.
        error_percent: of the last run: positive where the prediction was too high.
        is_far_off: whether the last run was outside its 95 % interval, or is more than 25 % off.
        dollars_per_month: that are paid; null where the last run is of two months ago.
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
    need: Need | None
    executors: int | None
    executors_type: str | None
    is_fallback: bool
    seconds: float | None
    cost: float | None
    is_predicted: bool
    error_percent: float | None
    is_far_off: bool
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
    "need": lambda row: row.need and (row.need.dollars_per_month or 0.0),
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
    sort: str = "need",
    descending: bool = True,
    state: str | None = None,
    offset: int = 0,
    limit: int = 25,
    now: datetime,
    survey: Survey | None = None,
) -> Models:
    """Return one page of the models that a person may see, of the entries of the whole catalogue.

    Entries of DAGs that may not be read are left out, also of states and numbers. The words of `search` must
    all occur, ignoring case, in job, type or DAG. Rows without a value to `sort` by (see `SORTS`) come last;
    ties go by the dollars of a month, then of a run, then by job and type. `now` has a time zone. The
    survey is the newest that the person may see.

    Raises:
        InvalidParameterError: there is no such order or state.
    """
    read_name(tuple(SORTS), "sort", sort)
    if state:
        read_name(FILTERS, "state", state)
    late = {each.job: late_in(each, survey.at) for each in survey.jobs} if survey else {}
    found = list(_matching(visible_entries(entries, readable), search.casefold().split(), now, late))
    counts = Counter(row.state for row in found)
    counts[ATTENTION] = sum(row.need is not None for row in found)
    rows = [row for row in found if not state or row.state == state or (row.need and state == ATTENTION)]
    rows.sort(
        key=lambda row: (-(row.dollars_per_month or 0.0), -(row.cost or 0.0), row.job, row.instance_type)
    )
    valued = [(SORTS[sort](row), row) for row in rows]
    known = sorted(
        (each for each in valued if each[0] is not None), key=lambda each: each[0], reverse=descending
    )
    ordered = [row for _, row in known] + [row for value, row in valued if value is None]
    return Models(
        total=len(rows),
        offset=offset,
        limit=limit,
        counts={name: counts[name] for name in FILTERS},
        per_month=_total((row.job, row.dollars_per_month) for row in rows),
        saved_per_month=_total((row.job, row.saved_per_month) for row in rows),
        survey=stored_survey(survey.id) if survey else None,
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


def _matching(
    entries: Sequence[CatalogueEntry], words: Sequence[str], now: datetime, late: Mapping[str, str]
) -> Iterator[ModelRow]:
    """The models in which all the words occur, unordered. `late`: when each job will be, in words."""
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
                run, decision = _newest(runs, PRODUCTION_RUN), _newest(of_place, DECISION)
                state, today = Lineage(model, of_job).state(), today_of(model, runs)
                badges = outcomes.badges_of(model, state)
                yield view_of(
                    ModelRow,
                    model,
                    model_id=model.id,
                    created_at=model.at,
                    age_seconds=_age(time_of(model.at), now),
                    state=state.name,
                    badges=badges,
                    need=_need(badges, today, late.get(model.job, "")) or _saving(today, run, decision),
                    deadlines=outcomes.deadlines_kept(runs, decisions),
                    production_runs=len(runs),
                    versions=sum(entry.kind == MODEL for entry in of_place),
                    **_size(model, today, decision),
                    **_last_run(run, now),
                    **_dollars(today if _is_running(run, now) else None, outcomes.money(of_place, before)),
                )


def _newest(entries: Iterable[CatalogueEntry], kind: str) -> CatalogueEntry | None:
    return max((entry for entry in entries if entry.kind == kind), key=attrgetter("id"), default=None)


LEAST_SAVING = 0.01
"""A smaller share of what a run costs is not worth a change."""


def _need(badges: Sequence[outcomes.Badge], today: Today | None, late: str) -> Need | None:
    """What is to be done about a job's model, or a job that will be late; None where nothing is."""
    tone, spent = badges[-1].tone, today.cost_per_month if today else None
    if late and tone != outcomes.BAD:
        return Need(words=f"Likely late {late}.", dollars_per_month=spent, action="See the sizes")
    is_wrong = tone in (outcomes.BAD, outcomes.WARNING)
    return Need(words="", dollars_per_month=spent, action="Retrain") if is_wrong else None


def _saving(today: Today | None, run: CatalogueEntry | None, decision: CatalogueEntry | None) -> Need | None:
    """A decision that no run went by yet, and that would save; None where there is none."""
    if today is None or today.cost is None or run is None or decision is None or decision.is_fallback:
        return None
    saving = today.cost - (math.inf if decision.predicted_cost is None else decision.predicted_cost)
    is_waiting = decision.id > run.id and decision.executors != today.executors
    if not is_waiting or saving < LEAST_SAVING * today.cost or not today.runs_per_month:
        return None
    return Need(
        words=f"{count(decision.executors)} instead of {count(today.executors)} would save that much.",
        dollars_per_month=saving * today.runs_per_month,
        action="See why",
    )


def _size(model: CatalogueEntry, today: Today | None, decision: CatalogueEntry | None) -> dict[str, Any]:
    """What a row says of a run: as it is today, else as it is predicted."""
    size = today or decision
    return {
        "executors": size.executors if size else None,
        "executors_type": size.instance_type if size and size.instance_type != model.instance_type else None,
        "seconds": today.seconds if today else decision and decision.predicted_seconds,
        "cost": today.cost if today else decision and decision.predicted_cost,
        "is_predicted": today is None and decision is not None,
        "is_fallback": decision is not None and decision.is_fallback,
    }


def _last_run(run: CatalogueEntry | None, now: datetime) -> dict[str, Any]:
    """When it was, and how far from what was predicted of it."""
    error = None
    if run and run.predicted_seconds is not None and run.seconds:
        error = 100.0 * (run.predicted_seconds - run.seconds) / run.seconds
    return {
        "error_percent": error,
        "is_far_off": (run is not None and run.is_unusual) or abs(error or 0.0) > MAX_ERROR_PERCENT,
        "run_at": run.at if run else None,
        "run_age_seconds": _age(time_of(run.at), now) if run else None,
    }


def _is_running(run: CatalogueEntry | None, now: datetime) -> bool:
    """Whether a job still runs, by its last run."""
    age = _age(time_of(run.at), now) if run else None
    return age is not None and age < SECONDS_TILL_STOPPED


def _dollars(today: Today | None, known: outcomes.Money) -> dict[str, Any]:
    """What a job costs and saves a month; nothing where it no longer runs."""
    rate = today.runs_per_month if today else None
    saved = None
    if today and today.cost is not None and rate is not None and known.saved is not None:
        saved = ((known.baseline or 0.0) - today.cost) * rate
    return {
        "runs_per_month": rate,
        "dollars_per_month": today.cost_per_month if today else None,
        "cost_before": known.baseline,
        "saved_per_month": saved,
    }


def _age(moment: datetime | None, now: datetime) -> float | None:
    return max(0.0, (now - moment).total_seconds()) if moment else None
