"""Decisions and their results, deadlines kept or missed, dollars paid, and how a model stands today.

A run is judged by the decision that it names; runs without a deadline are not judged. Only successful runs
are recorded, so failed ones do not count. First leave out what the reader may not see, by
`loaded.visible_entries`: a run whose decision is hidden counts as one without a decision.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, median
from typing import TypeAlias

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.decisions import Decision, DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import BELIEFS, UNEXPLAINED
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.learning.freshness import DRIFTING, FRESH, STALE, Evidence, Lineage, State
from airflow_provider_ernest.settings.billing import HOUR_SECONDS, TOLERANCE
from airflow_provider_ernest.settings.goal import MAX_ERROR_PERCENT
from airflow_provider_ernest.store.catalogue import DECISION, MODEL, PRODUCTION_RUN, CatalogueEntry
from airflow_provider_ernest.views.loaded import ApplicationLink, no_link
from airflow_provider_ernest.views.sentence import Today, today_of
from airflow_provider_ernest.views.view import view_of
from airflow_provider_ernest.words import percentage, unit


class ShownDecision(Decision):
    """What was chosen, or would be, without the alternatives.

    Attributes:
        unit: what is counted: machine, or executor on a shared cluster.
        confidence: the probability that was asked for.
        fallback: "stated", "most_probable" or null where it is none.
        model_id: the model that decided; null where a fallback was taken without one.
        reuse: why the model was an earlier run's; empty where it was not.
    """

    executors: int
    instance_type: str
    unit: str
    fallback: str | None
    decision_id: str | None
    decided_at: str | None
    reuse: str
    origin: Origin | None


def shown_decision(decision: Decision, record: DecisionRecord | None = None) -> ShownDecision:
    """A decision, with what its record adds if it has one."""
    asked, fallback = decision.confidence, None
    if decision.fallback_reason is not None:
        # What a model foresees has a probability; what a user states has none.
        fallback = "stated" if decision.probability is None else "most_probable"
    told = {
        **vars(decision),
        "alternatives": (),
        "confidence": record.confidence if asked is None and record else asked,
        "model_id": record.model_id if record else decision.model_id,
    }
    return ShownDecision(
        **told,
        executors=decision.config.executors,
        instance_type=decision.config.instance_type,
        unit=unit(decision.config.executors_per_machine),
        fallback=fallback,
        decision_id=record.id if record else None,
        decided_at=record.at if record else None,
        reuse=record.reuse if record else "",
        origin=record.origin if record else None,
    )


Decisions: TypeAlias = Mapping[tuple[str, str | None], CatalogueEntry]
"""Decisions by job and id. Not by type of machine: a run need not be on the chosen type."""


def decisions_by_id(entries: Iterable[CatalogueEntry]) -> Decisions:
    """The decisions among these entries, by job and id."""
    return {(entry.job, entry.id): entry for entry in entries if entry.kind == DECISION}


Place: TypeAlias = tuple[str, str]
"""A job and a type of machine."""


def entries_by_place(entries: Iterable[CatalogueEntry]) -> dict[Place, list[CatalogueEntry]]:
    """Entries by job and type of machine, in their order.

    Decisions and runs on types without a model of their own (such as mixes) go to the type of the
    model that predicted them.
    """
    known = list(entries)
    models = {(entry.job, entry.id): entry.instance_type for entry in known if entry.kind == MODEL}
    places = {(job, instance_type) for (job, _), instance_type in models.items()}
    found: dict[Place, list[CatalogueEntry]] = {}
    for entry in known:
        place = (entry.job, entry.instance_type)
        if place not in places and entry.model_id is not None:
            place = (entry.job, models.get((entry.job, entry.model_id), entry.instance_type))
        found.setdefault(place, []).append(entry)
    return found


def decision_of(run: CatalogueEntry | ProductionRun, decisions: Decisions) -> CatalogueEntry | None:
    """The decision that a production run ran by; None if it names none, or an unknown one."""
    return decisions.get((run.job, run.decision_id))


def is_kept(seconds: float | None, latest_seconds: float | None) -> bool | None:
    """Whether a run kept its deadline, both counted from submission; None if either is unknown."""
    if seconds is None or latest_seconds is None:
        return None
    return seconds <= latest_seconds


@dataclass(frozen=True, kw_only=True)
class DeadlinesKept:
    """How many runs kept their deadline."""

    kept: int
    judged: int  # that were sized by a decision with a deadline
    # the mean probability with which these deadlines were to be kept; null where it is not known
    asked: float | None = None
    is_short: bool = False  # whether fewer were kept than was asked for

    @property
    def missed(self) -> int:
        """How many ended late."""
        return self.judged - self.kept


def deadlines_kept(runs: Iterable[CatalogueEntry], decisions: Decisions) -> DeadlinesKept:
    """How many of these production runs kept their deadline."""
    judged: list[bool] = []
    asked: list[float] = []
    for run in runs:
        decision = decision_of(run, decisions)
        is_in_time = is_kept(run.seconds, decision.latest_seconds if decision else None)
        if decision is not None and is_in_time is not None:
            judged.append(is_in_time)
            asked += [] if decision.confidence is None else [decision.confidence]
    kept, wanted = sum(judged), fmean(asked) if asked else None
    is_short = wanted is not None and kept < wanted * len(judged) * (1 - TOLERANCE)
    return DeadlinesKept(kept=kept, judged=len(judged), asked=wanted, is_short=is_short)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A production run and the decision that it ran by. Null for what is not known."""

    production_id: str
    recorded_at: str
    instance_type: str
    executors: int
    scale: float
    predicted_seconds: float | None  # for the machines that it ran on
    likely_seconds: tuple[float, float] | None  # what `seconds` was to lie between with 80 % probability
    nearly_certain_seconds: tuple[float, float] | None
    seconds: float  # from submission to end
    error_percent: float | None  # positive where the prediction was too high
    is_unlikely: bool  # outside the 80 % interval
    is_unusual: bool
    latest_seconds: float | None  # the longest run, from submission to end, that keeps the deadline
    kept: bool | None  # whether it did; null where there was none, or no decision is known
    probability: float | None  # that the goal is kept, as foreseen
    # dollars for the machines decided on, without what a run bears of the training
    predicted_cost: float | None
    cost: float | None
    is_fallback: bool
    model_id: str | None
    origin: Origin | None
    application_id: str | None
    history_url: str | None


def outcome_of(run: ProductionRun, decisions: Decisions, link: ApplicationLink = no_link) -> Outcome:
    """A production run with its decision."""
    decision = decision_of(run, decisions)
    latest = decision.latest_seconds if decision else None
    return view_of(
        Outcome,
        run,
        production_id=run.id,
        recorded_at=run.at,
        latest_seconds=latest,
        kept=is_kept(run.seconds, latest),
        probability=decision.probability if decision else None,
        predicted_cost=decision.predicted_cost if decision else None,
        is_fallback=decision.is_fallback if decision else False,
        history_url=link(run.application_id),
    )


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """What a run of a job cost before Ernest sized any."""

    cost: float
    runs: int
    # only event logs tell of the runs: their usual number of machines at the model's price
    is_of_logs: bool = False


def baseline_of(of_job: Iterable[CatalogueEntry]) -> Baseline | None:
    """Return the cost of a run before the first decision; None if no such run has a price.

    If none was recorded, the past runs of the first model that decided count. The entries are the visible
    ones of the job, on all types of machines.
    """
    entries = list(of_job)
    first_decision = min((entry.id for entry in entries if entry.kind == DECISION), default=None)
    # Later runs, and past runs of later models, may have been sized.
    before = [entry for entry in entries if first_decision is None or entry.id < first_decision]
    costs = [
        run.cost
        for run in before
        if run.kind == PRODUCTION_RUN and run.cost is not None and run.decision_id is None
    ]
    if costs:
        return Baseline(cost=median(costs), runs=len(costs))
    for entry in sorted(before, key=lambda entry: entry.id):
        prices = [
            each.price_per_hour
            for each in (entry, *entries)
            if each.instance_type == entry.instance_type and each.price_per_hour is not None
        ]
        if entry.past is not None and prices:
            cost = entry.past.executors * entry.past.seconds / HOUR_SECONDS * prices[0]
            return Baseline(cost=cost, runs=entry.past.runs, is_of_logs=True)
    return None


@dataclass(frozen=True, kw_only=True)
class Money:
    """What sizing a job has cost and what it has saved, in dollars, as far as it is known."""

    training: float | None  # paid for the sample runs of all versions; null where no price is known
    production: float | None  # paid for the production runs so far; null where the cost of none is known
    production_runs: int  # those whose cost is known
    # the median cost of a run before the first decision; null where there was none, and then nothing is known
    # of savings either
    baseline: float | None
    baseline_runs: int  # how many that is of
    is_baseline_of_logs: bool  # whether only their event logs tell of these
    # by the runs sized since, against as many at `baseline`, without the cost of the training; negative where
    # they cost more
    saved: float | None
    # the run since the first decision, counted from 1, by which the savings have paid for the training, or
    # are expected to at their mean; null where the training's price is not known or nothing is saved
    break_even_run: int | None


def money(entries: Iterable[CatalogueEntry], before: Baseline | None) -> Money:
    """Return what is known of the dollars of a job, by its visible entries, on all types or one."""
    oldest_first = sorted(entries, key=lambda entry: entry.id)
    priced = [run for run in oldest_first if run.kind == PRODUCTION_RUN and run.cost is not None]
    costs = [run.cost or 0.0 for run in priced]
    since = [run.cost or 0.0 for run in priced if run.decision_id is not None]
    paid = [entry.training_dollars for entry in oldest_first if entry.kind == MODEL]
    training = _sum([dollars for dollars in paid if dollars is not None])
    savings = [before.cost - cost for cost in since] if before else []
    return Money(
        training=training,
        production=_sum(costs),
        production_runs=len(costs),
        baseline=before.cost if before else None,
        baseline_runs=before.runs if before else 0,
        is_baseline_of_logs=before is not None and before.is_of_logs,
        saved=_sum(savings),
        break_even_run=_break_even(training, savings),
    )


def _sum(dollars: Sequence[float]) -> float | None:
    return sum(dollars) if dollars else None


def _break_even(training: float | None, savings: Sequence[float]) -> int | None:
    """The first run by which the savings cover the training, or are expected to."""
    if training is None or not savings:
        return None
    saved = 0.0
    for number, saving in enumerate(savings, start=1):
        saved += saving
        if saved >= training:
            return number
    return math.ceil(training / fmean(savings)) if saved > 0 else None


GOOD, WARNING, BAD, PLAIN = "good", "warning", "bad", ""

STATE_BADGES = {FRESH: ("up to date", GOOD), STALE: ("out of date", WARNING), DRIFTING: ("drifting", BAD)}


@dataclass(frozen=True, kw_only=True)
class Badge:
    """A word or two on a model."""

    words: str
    tone: str  # good, warning, bad, or empty where it is neither
    says: str


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a model stands."""

    state: State
    evidence: Evidence
    deadlines: DeadlinesKept  # kept by the job's production runs on the model's type, or by its models
    # the production runs that it predicted, or a model that it learned on from
    predicted: tuple[CatalogueEntry, ...] = ()
    last_kept: bool | None = None  # whether the last run kept its deadline; None if it had none
    today: Today | None = None


def standing_of(model: CatalogueEntry, of_job: Sequence[CatalogueEntry]) -> Standing:
    """How a model stands, by what may be seen of its job."""
    lineage = Lineage(model, of_job)
    of_place = entries_by_place(of_job).get((model.job, model.instance_type), [])
    runs = sorted((each for each in of_place if each.kind == PRODUCTION_RUN), key=lambda each: each.id)
    decisions = decisions_by_id(of_job)
    decision = decision_of(runs[-1], decisions) if runs else None
    before = None if runs else baseline_of(of_job)
    return Standing(
        state=lineage.state(),
        evidence=lineage.evidence,
        deadlines=deadlines_kept(runs, decisions),
        predicted=tuple(run for run in runs if run.model_id in lineage.ids),
        last_kept=is_kept(runs[-1].seconds, decision.latest_seconds) if decision else None,
        today=today_of(model, runs, before.cost if before and before.is_of_logs else None),
    )


def is_inaccurate(median_error_percent: float | None) -> bool:
    """Whether a model with such an error of its sample runs is not to be relied on."""
    return median_error_percent is None or not median_error_percent <= MAX_ERROR_PERCENT


@lru_cache(1024)
def _is_known(terms: tuple[str, ...]) -> bool:
    """Whether this version can compute the terms; imports numpy for others than the usual ones."""
    if {belief.name for belief in BELIEFS}.issuperset(terms):
        return True
    from airflow_provider_ernest.prediction.terms import check_terms

    try:
        return bool(check_terms(terms))
    except InvalidParameterError:
        return False


def badges_of(model: CatalogueEntry, state: State) -> tuple[Badge, ...]:
    """Whether the model still holds, and that it is inaccurate if it is."""
    words, tone = STATE_BADGES[state.name]
    is_fresh, is_bad = state.name == FRESH, is_inaccurate(model.median_error_percent)
    if is_fresh and not _is_known(model.terms):
        return (Badge(words="cannot predict", tone=BAD, says="This version does not know all of its terms."),)
    holds = Badge(
        words=words if state.cause in ("", UNEXPLAINED) else f"{words}: {state.cause}",
        # What is far off is in no way good.
        tone=PLAIN if is_bad and is_fresh else tone,
        says=state.reason or "Nothing that it depends on has changed.",
    )
    says = f"The median error of each sample run by the others is {percentage(model.median_error_percent)}."
    return (holds, Badge(words="inaccurate", tone=BAD, says=says)) if is_bad else (holds,)
