"""What a survey of event logs says: words for terminal and pages, and the numbers of its page."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import airflow_provider_ernest.words as words
from airflow_provider_ernest.documents.base import Interval, moment_of, time_of
from airflow_provider_ernest.documents.surveys import Survey, SurveyedJob
from airflow_provider_ernest.views.profile_words import short
from airflow_provider_ernest.words import (
    UNKNOWN,
    as_percent,
    count,
    counted,
    data_amount,
    dollars,
    duration,
    duration_range,
    number,
    shortened,
    signed_percentage,
)

LIKELY = "80 %"
"""The probability of all intervals of a survey."""

_MOST_NAMED, _NAME_LETTERS = 3, 28
"""Jobs that a remark names, and letters of each."""

MOST_USED = 6
"""Sizes listed of those that a job's runs used."""


@dataclass(frozen=True, kw_only=True)
class Totals:
    """What all jobs take and could save in a month: in dollars where a price is known, else executor-hours.

    Attributes:
        taken: null where of no job is known how often it runs.
        told: the jobs that it is the sum of.
        saved: by the jobs for which a cheaper size is proposed.
        likely_saved: the sum of their bounds, which is at least as likely for the sum as for each job.
        unknown: jobs of which it is not known what could be saved.
    """

    is_money: bool
    taken: float | None
    told: int
    saved: float
    likely_saved: Interval
    savers: int
    unknown: int


def totals_of(survey: Survey) -> Totals:
    """The sums over all jobs."""
    is_money = any(job.price_per_hour is not None for job in survey.jobs)
    told = [amount for job in survey.jobs if (amount := monthly(job, is_money=is_money)) is not None]
    savings = [saved(job, is_money=is_money) for job in survey.jobs]
    saving = [each for each in savings if each and each[0] > 0]
    return Totals(
        is_money=is_money,
        taken=sum(told) if told else None,
        told=len(told),
        saved=sum(amount for amount, _ in saving),
        likely_saved=(sum(low for _, (low, _) in saving), sum(high for _, (_, high) in saving)),
        savers=len(saving),
        unknown=savings.count(None),
    )


def monthly(job: SurveyedJob, *, is_money: bool) -> float | None:
    """What a job takes in a month."""
    return job.dollars_per_month if is_money else job.executor_hours_per_month


def saved(job: SurveyedJob, *, is_money: bool) -> tuple[float, Interval] | None:
    """What a job could save in a month, with its interval; None if unknown."""
    amount, likely = (
        (job.saved_per_month, job.likely_saved_per_month)
        if is_money
        else (job.saved_executor_hours_per_month, job.likely_saved_executor_hours_per_month)
    )
    return None if amount is None or likely is None else (amount, likely)


def _amounts(saving: tuple[float, Interval], *, is_money: bool) -> tuple[str, str]:
    """A saving and its range, as dollars or as executor-hours without their unit: $310.00, $240 to $390."""
    worded = dollars if is_money else number
    return worded(saving[0]), f"{worded(saving[1][0])} to {worded(saving[1][1])}"


def leading_line(survey: Survey) -> str:
    """What the jobs take, and what could be saved."""
    totals, many = totals_of(survey), len(survey.jobs)
    jobs = counted(many, "job")
    if not many:
        return "No run of a job was found."
    if totals.taken is None:
        return f"{jobs}: how often {'it runs' if many == 1 else 'they run'} is not known."
    unit = "" if totals.is_money else f" {unit_of(survey)}-hours"
    taken = f"{(dollars if totals.is_money else number)(totals.taken)}{unit}"
    of = jobs if totals.told == many else f"{count(totals.told)} of {jobs}"
    takes = f"{of} {'takes' if totals.told == 1 else 'take'} {taken} a month"
    if not totals.savers:
        return f"{takes}. No cheaper size is known to keep to the goal."
    saving, likely = _amounts((totals.saved, totals.likely_saved), is_money=totals.is_money)
    return f"{takes}. {saving}{unit} of it can be saved ({LIKELY}: {likely})."


def remarks(survey: Survey) -> Iterator[str]:
    """What the leading line rests on, as sentences."""
    totals = totals_of(survey)
    yield f"A proposed size keeps {survey.goal}."
    yield from _of_other_sizes(survey, totals)
    if survey.jobs and totals.taken is None:
        yield "--runs-per-month tells it, where the logs are of too few days."
    if survey.jobs and not any(job.runs for job in survey.jobs):
        yield "No run counts, so nothing is known of other sizes: each job says below why its runs do not."
    if not totals.is_money:
        yield f"No price is known: amounts are hours of {unit_of(survey)}s."
    if totals.taken is not None:
        yield "A driver on a machine of its own is not in the sums: event logs do not tell of it."
    silent = sum(monthly(job, is_money=totals.is_money) is None and job.runs > 0 for job in survey.jobs)
    if silent and totals.taken is not None:
        without = "a price or a rate of runs" if totals.is_money else "a rate of runs"
        yield f"{counted(silent, 'job')} without {without} {'is' if silent == 1 else 'are'} not in the sums."
    if survey.unread:
        yield _skipped(survey)
    yield from survey.notes


def _of_other_sizes(survey: Survey, totals: Totals) -> Iterator[str]:
    if missing := [job.job for job in survey.jobs if job.sizes and job.proposed is None]:
        yield f"No size is known on which {_named(missing)} would keep to that."
    if totals.unknown and totals.taken is not None:
        yield f"Of {counted(totals.unknown, 'job')} it is not known what could be saved in a month."
    if alike := [job.job for job in survey.jobs if len({use.executors for use in job.used}) == 1]:
        always = f"always ran on one size{'' if len(alike) == 1 else ' each'}"
        yield f"{_named(alike)} {always}: other sizes are estimated by replay alone."


def _skipped(survey: Survey) -> str:
    unread = sum(times for _, times in survey.unread)
    reasons = "; ".join(f"{count(times)}: {reason}" for reason, times in survey.unread[:3])
    were = "was" if unread == 1 else "were"
    return f"{count(unread)} of {counted(survey.logs, 'log')} {were} skipped ({reasons})."


def _named(jobs: Sequence[str]) -> str:
    """One job by its name, or how many there are and the first of them."""
    if len(jobs) == 1:
        return shortened(jobs[0], _NAME_LETTERS)
    shown = ", ".join(shortened(job, _NAME_LETTERS) for job in jobs[:_MOST_NAMED])
    return f"{counted(len(jobs), 'job')} ({shown}{', ...' if len(jobs) > _MOST_NAMED else ''})"


def rows_of(survey: Survey) -> list[dict[str, str]]:
    """The jobs in words, as rows of a table; cells are empty if there is nothing to tell."""
    is_money = totals_of(survey).is_money
    rows, tells_late = [], any(late_in(job, survey.at) for job in survey.jobs)
    for job in survey.jobs:
        proposed = job.proposed if is_change(job) else None
        saving, likely, _ = _saving(job, is_money=is_money) if proposed else ("", "", "")
        row = {
            "job": job.job,
            "runs": count(job.runs),
            "executors": count(job.executors),
            "time": duration(job.seconds),
            "$ a month" if is_money else "hours a month": (dollars if is_money else number)(
                monthly(job, is_money=is_money)
            ),
            "better": count(proposed.executors) if proposed else "as today" if job.proposed else UNKNOWN,
            "then": duration(proposed.seconds) if proposed else "",
            "saves": saving,
            f"{LIKELY} of it": likely,
            **({"late": late_in(job, survey.at)} if tells_late else {}),
            "bound by": short(job.bottleneck) if job.bottleneck else UNKNOWN,
        }
        rows.append(row)
    return rows


def unit_of(survey: Survey) -> str:
    """What its jobs count: machines only where all do."""
    is_one_each = all(job.executors_per_machine == 1 for job in survey.jobs)
    return words.unit(1 if is_one_each else None)


def _of(job: SurveyedJob, executors: int | None) -> str:
    return words.executors(executors, executors_per_machine=job.executors_per_machine)


def is_change(job: SurveyedJob) -> bool:
    """Whether another size than today's is proposed."""
    return job.proposed is not None and job.proposed.executors != job.executors


def _saving(job: SurveyedJob, *, is_money: bool) -> tuple[str, str, str]:
    """What is saved, its range and its unit: in a month, or of each run if its rate is not known."""
    saving = saved(job, is_money=is_money)
    if saving is not None:
        unit = " a month" if is_money else f" {words.unit(job.executors_per_machine)}-hours a month"
        return *_amounts(saving, is_money=is_money), unit
    share, likely = job.saved_share, job.likely_saved_share
    if share is None or likely is None:
        return "", "", ""
    return f"{as_percent(share)} a run", f"{as_percent(likely[0])} to {as_percent(likely[1])}", ""


def facts_of(job: SurveyedJob) -> dict[str, str]:
    """What is known of a job, by name."""
    failed = f", and {count(job.failed_runs)} that do not count" if job.failed_runs else ""
    rate = "" if job.runs_per_month is None else f"; {number(job.runs_per_month)} a month"
    unit = words.unit(job.executors_per_machine)
    facts = {
        "runs": f"{count(job.runs)}{failed}{rate}",
        "sizes used": ", ".join(_used(job)),
        "median time today": duration(job.seconds),
        f"{unit}-hours a month": number(job.executor_hours_per_month),
        "dollars a month": UNKNOWN
        if job.dollars_per_month is None
        else f"{dollars(job.dollars_per_month)}, at {dollars(job.price_per_hour)} for "
        f"{'an' if unit == words.EXECUTOR else 'a'} {unit} and hour",
        "slots that ran tasks": as_percent(job.slot_utilisation),
        "input": _input(job),
        "a run may take": duration(job.limit_seconds),
        "dynamic allocation": allocation(job),
    }
    return {name: value for name, value in facts.items() if value not in ("", UNKNOWN)}


def allocation(job: SurveyedJob) -> str:
    """What dynamic allocation costs against fixed executors, and the bounds that are proposed."""
    told = job.allocation
    if told is None:
        return ""

    def saves(share: float) -> str:
        return f"save {as_percent(share)} of a run" if share >= 0 else f"cost {as_percent(-share)} more"

    parts = [f"{number(told.mean_executors)} executors on average"]
    if told.fixed_executors is not None and told.fixed_saves is not None:
        parts.append(f"{count(told.fixed_executors)} all the time would {saves(told.fixed_saves)}")
    is_another = told.bounds is not None and told.bounds.minimum < told.bounds.maximum
    if is_another and told.bounds_save is not None:
        taken = f"{duration(told.bounds_seconds)}; {LIKELY}: {duration_range(told.bounds_likely_seconds)}"
        parts.append(f"{told.bounds} would {saves(told.bounds_save)} ({taken})")
    return "; ".join(parts)


def _input(job: SurveyedJob) -> str:
    """How much a run reads, and how that grows."""
    records = counted(job.input_records, "record") if job.input_records else ""
    size = data_amount(job.input_bytes) if job.input_bytes else records
    times = job.input_growth_per_month
    growth = "" if times is None else f"{signed_percentage(100 * (times - 1))} a month"
    return ", ".join(filter(None, [size, growth]))


def _used(job: SurveyedJob) -> Iterator[str]:
    for use in job.used[:MOST_USED]:
        kind = f" of {use.instance_type}" if use.instance_type else ""
        yield f"{_of(job, use.executors)}{kind} ({counted(use.runs, 'run')}, {duration(use.seconds)} clean)"
    if len(job.used) > MOST_USED:
        yield f"{count(len(job.used) - MOST_USED)} more"


def history_in_short(job: SurveyedJob) -> str:
    """What its past runs tell by themselves, as a sentence: 19 runs, 28.8 a month; ..."""
    known, unit = facts_of(job), words.unit(job.executors_per_machine)
    rate = "" if job.runs_per_month is None else f", {number(job.runs_per_month)} a month"
    told = {
        "{}": f"{counted(job.runs, 'run')}{rate}",
        f"{{}} {unit}-hours a month": known.get(f"{unit}-hours a month"),
        "slots ran tasks in {} of their time": known.get("slots that ran tasks"),
        "input {}": known.get("input"),
    }
    return f"{'; '.join(form.format(value) for form, value in told.items() if value)}."


def proposal(job: SurveyedJob, *, is_money: bool) -> str:
    """What to change, with what it saves and how sure that is, as a sentence."""
    proposed, share = job.proposed, job.saved_share
    if proposed is None or share is None:
        return "No size is proposed."
    if not is_change(job):
        return f"Keep {_of(job, job.executors)}: nothing cheaper is known to keep to the goal."
    value, likely, unit = _saving(job, is_money=is_money)
    how = "which keeps to the goal and costs more: it saves" if share < 0 else "which saves"
    return (
        f"{_of(job, proposed.executors)} instead of {count(job.executors)}: {duration(proposed.seconds)} a "
        f"run ({LIKELY}: {duration_range(proposed.likely_seconds)}), {how} {value}{unit} "
        f"({LIKELY}: {likely})."
    )


def weeks_until(day: str, at: str) -> int:
    """Until that day."""
    moment = time_of(at)
    return 0 if moment is None else round((date.fromisoformat(day) - moment.date()).days / 7)


def late_in(job: SurveyedJob, at: str) -> str:
    """When today's size stops keeping the limit, seen from that moment: in 5 weeks (3 to 9)."""
    late = job.lateness
    if late is None or not late.from_day:
        return ""
    weeks, low, high = (weeks_until(day, at) for day in (late.from_day, late.earliest_day, late.latest_day))
    return f"in {counted(weeks, 'week')} ({max(low, 0)} to {high})" if weeks > 0 else "now"


def lateness(job: SurveyedJob, at: str) -> str:
    """The same as sentences, with what to do by then."""
    late = job.lateness
    if late is None:
        return ""
    size, limit = _of(job, job.executors), duration(job.limit_seconds)
    told = []
    if late.from_day:
        told.append(
            f"Late {late_in(job, at)}: from {late.from_day} on ({LIKELY}: {late.earliest_day} to "
            f"{late.latest_day}) its input is likely too much for {size} to keep {limit} as surely as asked."
        )
    if late.single_day:
        told.append(
            f"{'Before that, one' if late.from_day else 'One'} run is likely late already, on "
            f"{late.single_day}: it reads more than the others."
        )
    if late.executors is None:
        told.append("No larger size is known to keep it then.")
    else:
        until = f"until {late.executors_until}" if late.executors_until else "for more than a year"
        told.append(f"{_of(job, late.executors)} by then should keep it {until}.")
    return " ".join(told)


def dag_lines(job: SurveyedJob, logs: str = "") -> str:
    """The task group that sizes the job by its past runs, to be put ahead of its production task."""
    if job.executors is None or job.limit_seconds is None:
        return ""
    most = max([job.executors, *([job.proposed.executors] if job.proposed else [])])
    # As people write it: whole minutes, where that is little more.
    unit = 60 if job.limit_seconds > 600 else 1
    deadline = math.ceil(job.limit_seconds / unit) * unit
    place = json.dumps(logs or "s3a://BUCKET/FOLDER")
    return (
        f"ernest = ErnestTaskGroup(job=SparkJob(name={json.dumps(job.job)}), history=EventLogs({place}),\n"
        f"    goal=SizingGoal(deadline_seconds={deadline}, max_executors={2 * most}))"
    )


@dataclass(frozen=True, kw_only=True)
class StoredSurvey:
    """A survey in the store."""

    survey_id: str
    at: str | None


class ShownJob(SurveyedJob):
    """A job of a survey, whose saving is null where as many machines are proposed as today.

    Attributes:
        monthly: dollars that it takes in a month; executor-hours where no price is known.
        proposed_executors: null where none are proposed, or as many as today.
        saved: of `monthly` by the proposed executors; its bounds with 80 % probability are in likely_saved.
        proposal: what to change and what that saves, as a sentence.
        in_short: the same in few words; empty where nothing is to change.
        late_in: in how many weeks today's size stops keeping the limit; empty where it does not.
        late: the same as sentences.
        dag_lines: the task group that sizes it by its past runs; empty where too little is known of it.
    """

    monthly: float | None
    proposed_executors: int | None
    is_as_today: bool
    saved: float | None
    likely_saved: Interval | None
    bound_by: str
    proposal: str
    in_short: str
    late_in: str
    late: str
    dag_lines: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class SurveyPage(Totals):
    """A survey, with the sums over its jobs.

    Attributes:
        unit: what its jobs count, "machine" or "executor"; without a price amounts are hours of these.
        others: further surveys in the store, newest first.
    """

    survey_id: str
    at: str
    unit: str
    logs: int
    headline: str
    remarks: tuple[str, ...]
    jobs: tuple[ShownJob, ...]
    others: tuple[StoredSurvey, ...]


def survey_page(survey: Survey, survey_ids: Iterable[str]) -> SurveyPage:
    """What is shown of a survey, beside the ids of all in the store."""
    totals = totals_of(survey)
    return SurveyPage(
        **vars(totals),
        survey_id=survey.id,
        at=survey.at,
        unit=unit_of(survey),
        logs=survey.logs,
        headline=leading_line(survey),
        remarks=tuple(remarks(survey)),
        jobs=tuple(_shown(job, survey.at, is_money=totals.is_money) for job in survey.jobs),
        others=tuple(stored_survey(each) for each in survey_ids if each != survey.id),
    )


def stored_survey(survey_id: str) -> StoredSurvey:
    """What the name of a survey tells."""
    moment = moment_of(survey_id)
    return StoredSurvey(survey_id=survey_id, at=moment.isoformat() if moment else None)


def _shown(job: SurveyedJob, at: str, *, is_money: bool) -> ShownJob:
    proposed, is_other = job.proposed, is_change(job)
    saving = saved(job, is_money=is_money) if is_other else None
    value, likely, unit = _saving(job, is_money=is_money)
    told = {
        **vars(job),
        "saved_share": job.saved_share if is_other else None,
        "likely_saved_share": job.likely_saved_share if is_other else None,
        "why": f"{job.why}." if job.why else "",
    }
    return ShownJob(
        **told,
        monthly=monthly(job, is_money=is_money),
        proposed_executors=proposed.executors if proposed and is_other else None,
        is_as_today=proposed is not None and not is_other,
        saved=saving[0] if saving else None,
        likely_saved=saving[1] if saving else None,
        bound_by=short(job.bottleneck) if job.bottleneck else "",
        proposal=proposal(job, is_money=is_money),
        in_short=f"saves {value}{unit} ({LIKELY}: {likely})" if is_other else "",
        late_in=late_in(job, at),
        late=lateness(job, at),
        dag_lines=dag_lines(job),
        facts=tuple(facts_of(job).items()),
    )
