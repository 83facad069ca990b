"""The page of a survey that a store keeps: the words of `views.survey`, and the numbers behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_provider_ernest.documents.base import Interval, moment_of
from airflow_provider_ernest.documents.surveys import PredictedSize, Survey, SurveyedJob
from airflow_provider_ernest.views.profile_words import short
from airflow_provider_ernest.views.survey import (
    facts_of,
    is_change,
    leading_line,
    monthly,
    proposal,
    proposal_in_short,
    remarks,
    saved,
    totals_of,
    training,
)
from airflow_provider_ernest.views.view import view_of


@dataclass(frozen=True, kw_only=True)
class StoredSurvey:
    """A survey in the store.

    Attributes:
        at: when it was made, as its id tells; null where that tells nothing.
    """

    survey_id: str
    at: str | None


@dataclass(frozen=True, kw_only=True)
class ShownJob:
    """A job of a survey. Null for what is not known.

    Attributes:
        runs: that ended well.
        machines: today's.
        seconds: of a run today, start-up included.
        slot_utilisation: the share of its slots' time in which they ran tasks.
        input_growth_per_month: so many times as much is read a month later.
        monthly: dollars that it takes in a month; machine-hours where no price is known.
        proposed_machines: null where none are proposed, or as many as today.
        is_as_today: whether as many as today are proposed.
        saved: of `monthly` by the proposed machines.
        likely_saved: its bounds with 80 % probability.
        saved_share: of what a run costs, by the proposed machines, which needs no rate of runs.
        likely_saved_share: its bounds.
        bound_by: what it is bound by, in a word.
        limit_seconds: that a run may take on other machines.
        sizes: what other numbers of machines would make of it.
        proposed: the cheapest of them that keeps to the goal.
        proposal: what to change and what that saves, as a sentence.
        in_short: the same in few words; empty where nothing is to change.
        why: why it takes as long, as a sentence; may be empty.
        facts: what is known of it: names, and values in words.
        unknown: what is not known, as sentences, and what a training would cost that tells it.
    """

    job: str
    runs: int
    runs_per_month: float | None
    machines: int | None
    seconds: float | None
    slot_utilisation: float | None
    input_growth_per_month: float | None
    monthly: float | None
    proposed_machines: int | None
    is_as_today: bool
    saved: float | None
    likely_saved: Interval | None
    saved_share: float | None
    likely_saved_share: Interval | None
    bound_by: str
    limit_seconds: float | None
    sizes: tuple[PredictedSize, ...]
    proposed: PredictedSize | None
    proposal: str
    in_short: str
    why: str
    facts: tuple[tuple[str, str], ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SurveyPage:
    """A survey.

    Attributes:
        logs: event logs that were looked at.
        is_money: whether amounts are dollars; else they are machine-hours, since no price is known.
        is_monthly: whether the sums are of a month; else of one run of each job, since of none it is known
            how often it runs.
        headline: what all jobs take and could save.
        remarks: what that rests on, as sentences.
        taken: the sum over all jobs of which it is known.
        saved: of it, by the jobs for which another size is proposed.
        likely_saved: the sum of their bounds.
        savers: how many these are.
        unknown: jobs of which it is not known what could be saved.
        jobs: those that could save most first.
        others: further surveys in the store, newest first.
    """

    survey_id: str
    at: str
    logs: int
    is_money: bool
    is_monthly: bool
    headline: str
    remarks: tuple[str, ...]
    taken: float | None
    saved: float
    likely_saved: Interval
    savers: int
    unknown: int
    jobs: tuple[ShownJob, ...]
    others: tuple[StoredSurvey, ...]


def survey_page(survey: Survey, survey_ids: Iterable[str]) -> SurveyPage:
    """What is shown of a survey, beside the ids of all in the store."""
    totals = totals_of(survey)
    return view_of(
        SurveyPage,
        totals,
        survey_id=survey.id,
        at=survey.at,
        logs=survey.logs,
        headline=leading_line(survey),
        remarks=tuple(remarks(survey)),
        jobs=tuple(_shown(job, is_money=totals.is_money) for job in survey.jobs),
        others=tuple(stored_survey(each) for each in survey_ids if each != survey.id),
    )


def stored_survey(survey_id: str) -> StoredSurvey:
    """What the name of a survey tells."""
    moment = moment_of(survey_id)
    return StoredSurvey(survey_id=survey_id, at=moment.isoformat() if moment else None)


def _shown(job: SurveyedJob, *, is_money: bool) -> ShownJob:
    proposed = job.proposed
    is_other = is_change(job)
    saving = saved(job, is_money=is_money) if is_other else None
    return view_of(
        ShownJob,
        job,
        monthly=monthly(job, is_money=is_money),
        proposed_machines=proposed.machines if proposed and is_other else None,
        is_as_today=proposed is not None and not is_other,
        saved=saving[0] if saving else None,
        likely_saved=saving[1] if saving else None,
        saved_share=job.saved_share if is_other else None,
        likely_saved_share=job.likely_saved_share if is_other else None,
        bound_by=short(job.bottleneck) if job.bottleneck else "",
        proposal=proposal(job, is_money=is_money),
        in_short=proposal_in_short(job, is_money=is_money) if is_other else "",
        why=f"{job.why}." if job.why else "",
        facts=tuple((name, value) for name, value in facts_of(job, is_money=is_money).items() if value),
        unknown=tuple(filter(None, (*job.unknown, training(job)))),
    )
