"""The page of a survey: what all jobs take and could save, a table of them, and each job folded below."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from airflow_provider_ernest.documents.surveys import Survey, SurveyedJob
from airflow_provider_ernest.views.report.page import (
    chart,
    facts,
    footer,
    header,
    headline,
    key_figures,
    section,
    table,
    tag,
    whole_page,
)
from airflow_provider_ernest.views.survey import (
    LIKELY,
    Totals,
    amount,
    amounts,
    facts_of,
    is_change,
    leading_line,
    proposal,
    proposal_in_short,
    remarks,
    rows_of,
    size_columns,
    totals_of,
    training,
)
from airflow_provider_ernest.words import UNKNOWN, as_percent, count

WORDS: dict[str, str | None] = {
    "time": "Of a run, from the application's start to its end: the median of the latest runs.",
    "busy": "The share of its slots' time in which they ran tasks, start-up left out. A slot is what "
    "runs one task at a time.",
    "grows": "By how much the input grows in a month, along the trend of the past runs.",
    "model": "Fitted to the past runs, where they are of several sizes and inputs.",
    "replay": "The tasks of one past run, put on other numbers of machines anew. It knows of waves, skew and "
    "the driver, and of nothing that no run has shown; it is less sure the farther it is from that run.",
    LIKELY: "An interval that holds what will come in 80 of 100 cases. That of all jobs together is the sum "
    "of theirs, and so rather too wide.",
    "a month": "730 hours. How often a job runs is taken from its history.",
    "a run may take": "What the goal comes to in seconds for this job: as many runs as asked take no longer.",
    "machine-hours": "Machines times the hours of a run, start-up included.",
    "training": "Sample runs on small parts of the input, designed to tell most for their cost, and a model "
    "of them.",
}
"""What the page's words mean."""


def render(survey: Survey) -> str:
    """The survey as an HTML page that needs nothing else. The same survey gives the same page."""
    totals = totals_of(survey)
    return whole_page(
        header("Survey of event logs", f"What {_jobs(totals)} take, and could save", f"By {_logs(survey)}."),
        headline(leading_line(survey)),
        _key_figures(totals),
        tag("ul", *(tag("li", each) for each in remarks(survey)), class_="muted"),
        section("All jobs, what saves most first", _table(survey, totals)) if survey.jobs else None,
        _job_by_job(survey, totals) if survey.jobs else None,
        section("How to read this", facts(WORDS)),
        footer(" from Spark's event logs. Models follow Ernest (NSDI 2016), the replay Sparklens."),
        title="Survey of event logs",
        data={"kind": "survey", "name": "survey", "shown": survey.jobs},
    )


def _jobs(totals: Totals) -> str:
    return "a job" if totals.jobs == 1 else f"{count(totals.jobs)} jobs"


def _logs(survey: Survey) -> str:
    return f"{count(survey.logs)} event logs, {survey.at[:10]}"


def _key_figures(totals: Totals) -> Element:
    unit = f"{'dollars' if totals.is_money else 'machine-hours'} {_per(totals)}"
    share = f"{as_percent(totals.saved / totals.taken)} of it" if totals.taken else ""
    likely = amounts(totals.likely_saved, is_money=totals.is_money) if totals.savers else ""
    return key_figures(
        ("All jobs take", amount(totals.taken, is_money=totals.is_money), unit),
        (
            "Can be saved",
            amount(totals.saved, is_money=totals.is_money) if totals.taken else UNKNOWN,
            f"{share}; {LIKELY}: {likely}" if likely else unit,
        ),
        (
            "Jobs that can save",
            f"{count(totals.savers)} of {count(totals.jobs)}",
            "by another number of machines",
        ),
        ("Not known", count(totals.unknown), "jobs of which no saving is known"),
        best=1 if totals.savers else None,
    )


def _per(totals: Totals) -> str:
    return "a month" if totals.is_monthly else "for a run of each"


def _table(survey: Survey, totals: Totals) -> Element:
    rows = rows_of(survey)
    unit = "$ a month" if totals.is_money else "machine-hours a month"
    # By the names that ``report.js`` knows them by.
    columns = {
        "job": ("job", [row.job for row in rows]),
        "machines": ("machines", [row.machines for row in rows]),
        "time": ("time", [row.seconds for row in rows]),
        "taken": (unit, [row.monthly for row in rows]),
        "better": ("better", [row.proposed for row in rows]),
        "then": ("time then", [row.proposed_seconds for row in rows]),
        "saved": ("saves", [row.saved for row in rows]),
        "likely": (f"{LIKELY} of it", [row.likely_saved for row in rows]),
        "bound": ("bound by", [row.bound_by for row in rows]),
        "runs": ("runs", [row.runs for row in rows]),
        "slots": ("busy", [row.utilised for row in rows]),
        "growth": ("grows", [row.growth for row in rows]),
    }
    known = {key: column for key, column in columns.items() if any(column[1])}
    return tag("div", table(dict(known.values()), words=["job"]), id="all-jobs", data_columns=" ".join(known))


def _job_by_job(survey: Survey, totals: Totals) -> Element:
    parts = (
        tag(
            "details",
            tag("summary", *_summary(job, totals)),
            *_part(f"job-{place}", job, totals),
            class_="surveyed-job",
            id=f"job-{place}",
        )
        for place, job in enumerate(survey.jobs)
    )
    return section("Job by job", *parts)


def _summary(job: SurveyedJob, totals: Totals) -> Iterator[Element | str]:
    yield job.job
    if is_change(job):
        yield tag("span", f" {proposal_in_short(job, is_money=totals.is_money)}", class_="muted")


def _part(place: str, job: SurveyedJob, totals: Totals) -> Iterator[Element | None]:
    yield tag("p", tag("strong", proposal(job, is_money=totals.is_money)))
    if job.why:
        yield tag("p", f"Why it takes as long: {job.why}.")
    if job.sizes:
        yield chart(
            f"{place}-sizes", "On other numbers of machines", table(size_columns(job), words=["from", ""])
        )
    yield facts(facts_of(job, is_money=totals.is_money))
    told = [*job.unknown, *filter(None, [training(job)])]
    if told:
        yield tag("h3", "What is not known")
        yield tag("ul", *(tag("li", each) for each in told))
