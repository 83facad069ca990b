"""What a team's jobs take today, by their past runs, and what could be saved; see `documents.surveys`."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import airflow_provider_ernest.words as words
from airflow_provider_ernest.decision.deciding import Offered, decide
from airflow_provider_ernest.decision.offers import HistoryForecast, Offer
from airflow_provider_ernest.documents.base import Interval, new_stamp, time_of
from airflow_provider_ernest.documents.decisions import Decision
from airflow_provider_ernest.documents.models import NOT_VALIDATED, HistoryBasis, Model
from airflow_provider_ernest.documents.profiles import FIRST_TASK, RunProfile
from airflow_provider_ernest.documents.runs import PastRun
from airflow_provider_ernest.documents.surveys import (
    Lateness,
    PredictedSize,
    Survey,
    SurveyedAllocation,
    SurveyedJob,
    UsedSize,
)
from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.history.jobs import DID_NOTHING, Jobs, about_joined
from airflow_provider_ernest.history.next_run import forecast_of
from airflow_provider_ernest.history.observations import History, is_good
from airflow_provider_ernest.history.reading import Reader
from airflow_provider_ernest.history.scan import Scan, Told, profiles
from airflow_provider_ernest.history.sizes import (
    Today,
    allocations_of,
    history_of,
    meeting,
    replays_of,
    runs_to_profile,
    sizes_to_ask,
    today_of,
)
from airflow_provider_ernest.learning.forecast import InputForecast, late_from
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.predict import default_terms
from airflow_provider_ernest.prediction.prior import prior_for
from airflow_provider_ernest.prediction.training import fit_past_runs, fitted_terms
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.settings.billing import HOUR_SECONDS, MONTH_SECONDS
from airflow_provider_ernest.settings.bounds import AVERAGING
from airflow_provider_ernest.settings.goal import CHEAPEST, DYNAMIC
from airflow_provider_ernest.store.catalogue import DECISION
from airflow_provider_ernest.store.store import ModelStore

# Fewer runs, or runs within less time, do not tell how often a job runs, or how its input grows.
LEAST_RUNS_OF_A_RATE, LEAST_DAYS_OF_A_RATE = 3, 2.0

WORTH_SAVING = 0.02  # share of today's cost: for less nobody changes a job
MANY_FAILED = 0.1  # a larger share of failed runs is told

WORTH_TELLING = 0.05
"""Share of a run that stragglers must cost, and of what is read that is spilled, to be mentioned."""


@dataclass(frozen=True, kw_only=True)
class SurveyGoal:
    """What a proposed size must keep to."""

    within: float = 0.1  # the share by which a run may take longer than today's
    deadline_seconds: float | None = None  # what it may take instead, whatever it takes today; None for none
    confidence: float = 0.8  # the share of runs that must keep to it

    def __str__(self) -> str:
        share = words.confidence(self.confidence)
        if self.deadline_seconds is not None:
            return f"{words.duration(self.deadline_seconds)} in {share} of runs"
        return f"today's time within {words.as_percent(self.within)} in {share} of runs"


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Dollars for one executor and hour."""

    by_type: Mapping[str, float] | None = None
    otherwise: float | None = None  # of all other types, and where a log tells no type; None where unknown

    def of(self, instance_type: str | None) -> float | None:
        """The price of a type; None where it is not known."""
        return (self.by_type or {}).get(instance_type or "", self.otherwise)


def survey_of(
    jobs: Iterable[SurveyedJob],
    goal: SurveyGoal,
    *,
    logs: int,
    unread: Mapping[str, int],
    notes: Iterable[str] = (),
) -> Survey:
    """All jobs in one document, those that could save most first: dollars, executor-hours, share."""

    def by_saving(job: SurveyedJob) -> tuple[float | str, ...]:
        saved = (job.saved_per_month, job.saved_executor_hours_per_month, job.saved_share)
        return *(-(each or 0.0) for each in (*saved, job.executor_hours_per_month)), job.job

    return Survey(
        **new_stamp(),
        jobs=tuple(sorted(jobs, key=by_saving)),
        logs=logs,
        unread=tuple(sorted(unread.items(), key=lambda item: (-item[1], item[0]))),
        goal=str(goal),
        confidence=goal.confidence,
        notes=tuple(notes),
    )


FEW_JOBS = 8  # are surveyed in this process: others take longer to start


def survey_jobs(
    jobs: Jobs,
    goal: SurveyGoal,
    *,
    found: Scan,
    prices: Prices,
    reader: Reader,
    processes: int,
    cache: str | Path | None = None,
    otherwise_per_month: float | None = None,
    deadlines: Mapping[str, float] | None = None,
    analysed: Told | None = None,
    told: Told | None = None,
) -> Survey:
    """What each of the jobs that were found takes, and what it could, by its runs.

    The logs of some of the runs are read again (see `scan.profiles`); so many processes compute then.
    `otherwise_per_month` is how often a job runs whose history does not tell. Deadlines of jobs, in seconds
    from submission, count instead of the goal's. `analysed` is told how many logs are read, `told` how many
    jobs are done.
    """
    chosen = {job: runs_to_profile(runs) for job, runs in jobs.runs.items()}
    every = profiles(
        [run for runs in chosen.values() for run in runs], reader=reader, cache=cache, told=analysed
    )
    known = {run.event_log: profile for run, profile in every if profile is not None}
    of_each = [[known[run.event_log] for run in chosen[job] if run.event_log in known] for job in chosen]
    stated = deadlines or {}
    goals = [replace(goal, deadline_seconds=stated.get(job, goal.deadline_seconds)) for job in chosen]
    survey_job = partial(surveyed_job, prices=prices, otherwise_per_month=otherwise_per_month)
    surveyed: list[SurveyedJob] = []
    with ExitStack() as stack:
        mapped: Any = map
        if len(chosen) > FEW_JOBS and processes > 1:
            mapped = stack.enter_context(ProcessPoolExecutor(processes)).map
        for each in mapped(survey_job, jobs.runs.keys(), jobs.runs.values(), of_each, goals):
            surveyed.append(each)
            if told is not None:
                told(len(surveyed), len(chosen))
    notes = about_joined(jobs.joined)
    return survey_of(surveyed, goal, logs=found.logs, unread=found.unread, notes=notes)


def deadlines_of(store: ModelStore, jobs: Iterable[str]) -> dict[str, float]:
    """Seconds from submission that jobs have by their newest decisions, of those that have a deadline."""
    found = {}
    for job in jobs:
        decided = [each for each in store.catalogue.entries(job) if each.kind == DECISION]
        latest = max(decided, key=lambda each: each.id, default=None)
        if latest is not None and latest.latest_seconds:
            found[job] = latest.latest_seconds
    return found


def surveyed_job(
    job: str,
    runs: Sequence[PastRun],
    profiles: Sequence[RunProfile],
    goal: SurveyGoal,
    *,
    prices: Prices,
    otherwise_per_month: float | None = None,
) -> SurveyedJob:
    """What one job takes, and what it could, by all of its runs, oldest first, and the profiles of some.

    Sizes are predicted for what the newest runs read; `otherwise_per_month` is how often it runs where the
    history is too short to tell.
    """
    good = [run for run in runs if is_good(run)]
    forecast = forecast_of(good)
    failed = [run for run in runs if not is_good(run)]
    hours = executor_hours_per_month(runs, otherwise_per_month)
    if not good:
        price = prices.of(runs[-1].instance_type)
        reasons = Counter(run.failure or "no executor worked in it" for run in runs)
        return SurveyedJob(
            job=job,
            runs=0,
            failed_runs=len(failed),
            executor_hours_per_month=hours,
            dollars_per_month=_in_dollars(hours, price),
            price_per_hour=price,
            unknown=tuple(
                f"No run counts: {reason} ({words.counted(count, 'run')})."
                for reason, count in reasons.most_common(2)
            ),
        )
    today = today_of(good)
    tells_bytes = any(run.tells_bytes for run in good)
    price = prices.of(today.instance_type)
    unknown = []
    per_month = runs_per_month(good)
    if per_month is None:
        per_month = otherwise_per_month
        stated = "" if per_month is None else f": {words.number(per_month)} a month, as stated"
        unknown = [f"The history is too short to tell how often it runs{stated}."]
    # Another size saves of those runs alone that it is known of.
    savable = executor_hours_per_month(good, otherwise_per_month)
    surveyed = SurveyedJob(
        job=job,
        runs=len(good),
        failed_runs=len(failed),
        first_at=good[0].started_at,
        last_at=good[-1].started_at,
        runs_per_month=per_month,
        used=_used(good),
        executors=today.executors,
        executor_cores=today.executor_cores,
        executors_per_machine=today.executors_per_machine,
        seconds=today.slowdown * today.seconds + today.startup_seconds,
        executor_hours_per_month=savable,
        dollars_per_month=_in_dollars(savable, price),
        price_per_hour=price,
        slot_utilisation=_utilisation(today.runs),
        input_bytes=(today.input_bytes or None) if tells_bytes else None,
        input_records=None if tells_bytes else today.input_bytes or None,
        input_growth_per_month=forecast.growth_per_month if forecast else None,
        unknown=tuple(unknown),
    )
    if profile := _nearest(profiles, today):
        told = [profile.headline.rstrip("."), *_skew_and_spill(profile)]
        why = "; ".join(each for each in told if each)
        surveyed = replace(surveyed, bottleneck=profile.bottleneck, why=why)
    surveyed = _with_sizes(surveyed, good, failed, today, profiles, goal=goal, forecast=forecast)
    return replace(surveyed, executor_hours_per_month=hours, dollars_per_month=_in_dollars(hours, price))


def _in_dollars(hours: float | None, price: float | None) -> float | None:
    return None if hours is None or price is None else hours * price


# What the history tells by itself.


def runs_per_month(runs: Sequence[PastRun]) -> float | None:
    """How often a job runs in a month of 730 hours, by its runs, oldest first; None of a short history."""
    latest, seconds = _latest(runs)
    return len(latest) / seconds * MONTH_SECONDS if seconds else None


def executor_hours_per_month(runs: Sequence[PastRun], otherwise_per_month: float | None) -> float | None:
    """What is paid for the runs, oldest first, in a month: what was, not what the typical one takes."""
    latest, seconds = _latest(runs)
    paid = sum(run.paid_executor_seconds for run in latest) / HOUR_SECONDS
    if seconds:
        return paid / seconds * MONTH_SECONDS
    return None if otherwise_per_month is None or not latest else paid / len(latest) * otherwise_per_month


def _latest(runs: Sequence[PastRun]) -> tuple[list[PastRun], float | None]:
    """The runs that tell how often a job runs, and within how many seconds; None of a short history."""
    # Those of the last whole weeks, for many jobs rest at their end; of less than a week all but the first,
    # which only says when the time began.
    moments = sorted(moment for run in runs if (moment := time_of(run.started_at)) is not None)
    span = moments[-1] - moments[0] if moments else timedelta(0)
    if len(moments) < LEAST_RUNS_OF_A_RATE or span < timedelta(days=LEAST_DAYS_OF_A_RATE):
        return list(runs), None
    # A run that came a little early is not one more in those weeks.
    apart = median((after - before).total_seconds() for before, after in pairwise(moments))
    slack = timedelta(seconds=apart / 2)
    week = timedelta(days=7)
    if weeks := (span + slack) // week:
        span, since = weeks * week, moments[-1] - weeks * week + slack
    else:
        since = moments[0]
    latest = [run for run in runs if (moment := time_of(run.started_at)) is not None and moment > since]
    return latest, span.total_seconds()


def _used(runs: Sequence[PastRun]) -> tuple[UsedSize, ...]:
    sizes: defaultdict[tuple[int, str | None], list[float]] = defaultdict(list)
    for run in runs:
        sizes[run.executors, run.instance_type].append(run.seconds)
    most_first = sorted(sizes.items(), key=lambda item: (-len(item[1]), item[0][0]))
    return tuple(
        UsedSize(executors=count, instance_type=kind, runs=len(seconds), seconds=median(seconds))
        for (count, kind), seconds in most_first
    )


def _utilisation(runs: Sequence[PastRun]) -> float | None:
    """Share of the slots' time that ran tasks; the median of the runs."""
    shares = [
        run.metrics.executor_run_seconds / (run.metrics.slots * run.seconds)
        for run in runs
        if run.metrics is not None and run.metrics.slots > 0
    ]
    return min(1.0, median(shares)) if shares else None


# Why it takes as long.


def _nearest(profiles: Sequence[RunProfile], today: Today) -> RunProfile | None:
    own = {run.application_id for run in today.runs}
    return next((each for each in profiles if each.application_id in own), next(iter(profiles), None))


def _skew_and_spill(profile: RunProfile) -> Iterator[str]:
    """What else holds it up, that its headline does not say."""
    causes = [each for each in profile.straggler_causes if each.cause != FIRST_TASK]
    worst = min(causes, key=lambda each: each.seconds_without, default=None)
    if worst is not None and profile.replayed_seconds > 0:
        won = 1.0 - worst.seconds_without / profile.replayed_seconds
        if won >= WORTH_TELLING:
            yield f"stragglers ({worst.cause}) cost up to {words.as_percent(won)}"
    spilled = sum(stage.spilled_bytes for stage in profile.stages)
    read = sum(stage.read_bytes for stage in profile.stages)
    if spilled and spilled >= WORTH_TELLING * read:
        yield f"{words.data_amount(spilled)} are spilled to disk for want of memory"


# Other sizes.


def _with_sizes(
    job: SurveyedJob,
    good: Sequence[PastRun],
    failed: Sequence[PastRun],
    today: Today,
    profiles: Sequence[RunProfile],
    *,
    goal: SurveyGoal,
    forecast: InputForecast | None,
) -> SurveyedJob:
    history = history_of(good, today)
    alike = [run for run in good if today.is_alike(run)]
    counts = sizes_to_ask(today, [run.executors for run in alike])
    model, basis, why_not = _model(job.job, history, today)
    try:
        replays = replays_of(profiles, today, alike, counts=counts)
        allocations = allocations_of(profiles, today, alike, counts=counts)
        if replays is not None and basis.is_modelled:
            replays = meeting(model, replays)
    except (ErnestError, ArithmeticError, ValueError) as error:
        # A log is whatever an application wrote: what cannot be replayed costs no other job its place.
        replays, allocations = None, ()
        why_not = f"{why_not} The replay failed: {type(error).__name__}."
    unknown = [*job.unknown, *_about_the_history(job, history, today, failed)]
    if not basis.is_determined and replays is None:
        unknown.append(f"Other sizes are not known: {why_not}")
        return replace(job, unknown=tuple(unknown))
    basis = replace(basis, replays=replays)
    offer = Offer(
        model=replace(model, basis=basis),
        executors=counts,
        # Dollars are taken of the executor-hours below: without a price there are hours alone.
        billing=Billing(price_per_hour=1.0, minimum_seconds=0.0),
        allocations=allocations,
    )
    unknown += _about_the_sources(offer, basis, today, why_not)
    decided = _decided(replace(job, unknown=tuple(unknown)), offer, today, goal)
    # Today's time within some per cent is no promise to be late for.
    if goal.deadline_seconds is None or forecast is None or not today.input_bytes:
        return decided
    try:
        if replays is not None:
            more_input = replays_of(profiles, today, alike, counts=counts, scales=LARGER_SCALES)
            replays = meeting(model, more_input) if more_input and basis.is_modelled else more_input
        # The forecast knows by how much inputs differ.
        basis = replace(basis, replays=replays, input_noise=0.0)
        offer = replace(offer, model=replace(model, basis=basis), allocations=())
        return replace(decided, lateness=_lateness(decided, offer, forecast, today, goal))
    except (ErnestError, ArithmeticError, ValueError):
        return decided


LARGER_SCALES = (0.7, 1.0, 1.5, 2.5, 4.0)  # at which runs are replayed; beyond, time grows as the input does


def _lateness(
    job: SurveyedJob, offer: Offer, forecast: InputForecast, today: Today, goal: SurveyGoal
) -> Lateness | None:
    """When today's size stops keeping the limit; None where it keeps it."""
    limit = ((job.limit_seconds or math.inf) - today.startup_seconds) / today.slowdown

    def probability_within(scale: float, counts: Sequence[int]) -> FloatArray:
        asked = replace(offer, executors=counts).forecast(scale=scale)
        return asked.probability_within(np.full(len(counts), limit))

    return late_from(
        forecast,
        probability_within,
        executors=[each.executors for each in job.sizes if each.executors >= today.executors],
        today=today.executors,
        whole=today.input_bytes,
        confidence=goal.confidence,
    )


def _model(job: str, history: History, today: Today) -> tuple[Model, HistoryBasis, str]:
    """A model of the history, what it goes by but for replays, and why it does not tell of other sizes."""
    runs = history.observations
    # What holds the runs where no terms can be fitted to them: offers are of models.
    types = (run.instance_type for run in runs)
    unfitted = Model(
        **new_stamp(),
        job=job,
        instance_type=next(types, today.instance_type or "local"),
        terms=(),
        validation=NOT_VALIDATED,
        observations=runs,
        startup_seconds=today.startup_seconds,
    )
    basis = HistoryBasis(
        executors=today.executors, is_modelled=False, is_determined=False, input_noise=today.input_noise
    )
    if not runs:
        return unfitted, basis, f"all runs had {today.in_words(today.executors)}."
    terms, prior = default_terms(AVERAGING), prior_for(runs)
    predictor, why_not = fit_past_runs(runs, terms=terms, prior=prior)
    if predictor is None:
        return unfitted, basis, why_not
    model = replace(unfitted, method=AVERAGING, terms=fitted_terms(predictor, terms), prior=prior)
    return model, replace(basis, is_modelled=True, is_determined=not why_not), why_not


def _decided(job: SurveyedJob, offer: Offer, today: Today, goal: SurveyGoal) -> SurveyedJob:
    """The sizes with what they would take, and the cheapest that keeps to the limit; see `decision`."""
    forecast, counts = offer.forecast(scale=1.0), offer.counts
    kept = forecast.seconds_kept_within(goal.confidence)[counts.index(today.executors)]
    limit = goal.deadline_seconds or (1 + goal.within) * (
        today.slowdown * float(kept) + today.startup_seconds
    )
    asked = SizingGoal(
        deadline_seconds=limit,
        confidence=goal.confidence,
        objective=CHEAPEST,
        allowed_executors=tuple(counts),
    )
    choice = decide(asked, Offered(offers=[offer]))
    sizes = {
        each.executors: PredictedSize(
            executors=each.executors,
            seconds=each.seconds,
            likely_seconds=each.likely_seconds or (each.seconds, each.seconds),
            source=offer.source(each.executors),
            cost=_in_dollars(
                each.executors * today.paid_seconds(each.seconds) / HOUR_SECONDS, job.price_per_hour
            ),
            probability=each.probability,
        )
        for each in choice.alternatives
    }
    disagreement = forecast.disagreement() if isinstance(forecast, HistoryForecast) else ""
    unknown = [*job.unknown, *filter(None, [disagreement])]
    if choice.decision is None:
        # A decision's own words tell of dollars and types that are not known here.
        surest = min(sizes.values(), key=lambda size: (-(size.probability or 0.0), size.seconds))
        chance, usual = words.probability(surest.probability), words.duration(surest.seconds)
        wanted = f"{words.duration(limit)} in {words.confidence(goal.confidence)} of runs"
        unknown.append(
            f"No size is known to end within {wanted}: the surest, {today.in_words(surest.executors)}, does "
            f"in {chance} of them ({usual} in the median)."
        )
    job = replace(job, limit_seconds=limit, sizes=tuple(sizes.values()), unknown=tuple(unknown))
    if offer.allocations:
        within = decide(replace(asked, allocation=DYNAMIC), Offered(offers=[offer])).decision
        job = replace(job, allocation=_allocation(job, choice.decision, within, today))
    if choice.decision is None:
        return job
    return _with_saving(job, sizes[choice.decision.config.executors], sizes[today.executors], today, goal)


def _with_saving(
    job: SurveyedJob, proposed: PredictedSize, own: PredictedSize, today: Today, goal: SurveyGoal
) -> SurveyedJob:
    """What the proposed size would save, a run and a month; today's size where that is little."""
    before = today.paid_executors * today.paid_seconds(job.seconds or own.seconds)

    def share(seconds: float) -> float:
        return 1.0 - proposed.executors * today.paid_seconds(seconds) / before

    keeps_today = own.probability is not None and own.probability >= goal.confidence
    if proposed.executors == own.executors or (keeps_today and share(proposed.seconds) < WORTH_SAVING):
        proposed, saved, low, high = own, 0.0, 0.0, 0.0
    else:
        quickest, slowest = proposed.likely_seconds
        saved, low, high = share(proposed.seconds), share(slowest), share(quickest)

    def of(taken: float | None) -> tuple[float | None, Interval | None]:
        return (None, None) if taken is None else (saved * taken, (low * taken, high * taken))

    hours, likely_hours = of(job.executor_hours_per_month)
    dollars, likely_dollars = of(job.dollars_per_month)
    return replace(
        job,
        proposed=proposed,
        saved_share=saved,
        likely_saved_share=(low, high),
        saved_executor_hours_per_month=hours,
        likely_saved_executor_hours_per_month=likely_hours,
        saved_per_month=dollars,
        likely_saved_per_month=likely_dollars,
    )


def _allocation(
    job: SurveyedJob, fixed: Decision | None, within: Decision | None, today: Today
) -> SurveyedAllocation:
    """What dynamic allocation costs today, against the cheapest fixed size and the cheapest bounds."""
    before = today.paid_executors * today.paid_seconds(job.seconds or 0.0)
    surveyed = SurveyedAllocation(mean_executors=today.paid_executors)
    if not before > 0:
        return surveyed

    def saved(decision: Decision, executors: float) -> float:
        return 1.0 - executors * today.paid_seconds(decision.predicted_seconds or 0.0) / before

    if fixed is not None:
        count = fixed.config.executors
        surveyed = replace(surveyed, fixed_executors=count, fixed_saves=saved(fixed, count))
    if within is not None:
        mean = next(each.paid_executors for each in within.alternatives if within.is_for(each))
        surveyed = replace(
            surveyed,
            bounds=within.bounds,
            bounds_seconds=within.predicted_seconds,
            bounds_likely_seconds=within.likely_seconds,
            bounds_mean_executors=mean,
            bounds_save=saved(within, mean),
        )
    return surveyed


# What is not known.


def _about_the_history(
    job: SurveyedJob, history: History, today: Today, failed: Sequence[PastRun]
) -> Iterator[str]:
    if len(failed) > MANY_FAILED * (job.runs + len(failed)):
        of_all = words.counted(job.runs + len(failed), "run")
        yield f"{len(failed)} of {of_all} do not count: another size is not known to save any of their cost."
    if empty := sum(run.failure == DID_NOTHING for run in failed):
        yield f"{words.counted(empty, 'run')} not counted: {DID_NOTHING}."
    if endless := sum(not run.has_end for run in today.runs):
        yield (
            f"The logs of {endless} of its latest {words.counted(len(today.runs), 'run')} have no end: what "
            "the driver did after its last job is not counted."
        )
    if today.paid_executors < today.executors:
        yield (
            "Executors are added and removed during its runs: it is charged for "
            f"{words.number(today.paid_executors)} of {today.in_words(today.executors)}, the average. Sizes "
            "are predicted as if all of them were there."
        )
    if not today.input_bytes:
        yield "Its logs tell of no input: all runs count as runs of the same."
    types = {use.instance_type for use in job.used}
    if len(types) > 1:
        kind = today.instance_type or "the latest"
        yield f"It ran on {len(types)} types of machines: sizes are of {kind} only."
    if history.left_out:
        reason, count = next(iter(history.reasons.items()))
        left_out = words.counted(len(history.left_out), "run")
        yield f"{left_out} do not count for the model, {count} since {reason}."


def _about_the_sources(offer: Offer, basis: HistoryBasis, today: Today, why_not: str) -> Iterator[str]:
    if offer.least_executors > min(offer.executors):
        yield (
            f"On fewer than {today.in_words(offer.least_executors)} Spark refuses it: all tasks of a "
            "barrier stage must run at once."
        )
    if basis.is_determined:
        if basis.replays is None:
            yield "No run could be replayed: sizes are from the model alone."
        return
    counts = list(offer.observed) or [today.executors]
    if len(counts) == 1:
        yield f"All runs had {today.in_words(counts[0])}: other sizes are from replay only."
    else:
        yield f"Sizes are from replay only: {why_not}"
