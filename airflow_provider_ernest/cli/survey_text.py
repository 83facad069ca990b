"""A survey of event logs as text, for ``ernest survey``."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ernest.cli.analyze_text import wrapped
from airflow_provider_ernest.cli.command import aligned
from airflow_provider_ernest.documents.surveys import Survey, SurveyedJob
from airflow_provider_ernest.views.survey import (
    LIKELY,
    history_in_short,
    leading_line,
    proposal,
    remarks,
    rows_of,
    totals_of,
    training,
)
from airflow_provider_ernest.words import counted, shortened

MOST_LISTED = 40
"""Jobs in the terminal; the page and the JSON have all."""

MOST_TOLD = 3
"""Jobs of which the terminal tells more than a line: those that save most."""

LONGEST_NAME = 28


def survey_lines(survey: Survey) -> list[str]:
    """A survey as lines of text: the sum, a line for each job, and more of those that save most."""
    lines = [*wrapped(leading_line(survey), further="")]
    for remark in remarks(survey):
        lines += wrapped(remark, further="")
    lines += _table(survey)
    for job in survey.jobs[:MOST_TOLD]:
        lines += _more_of(job, survey)
    return lines


def _table(survey: Survey) -> list[str]:
    if not survey.jobs:
        return []
    rows = rows_of(survey)[:MOST_LISTED]
    unit = "$ a month" if totals_of(survey).is_money else "hours a month"
    heading = (
        "job",
        "runs",
        "machines",
        "time",
        unit,
        "better",
        "then",
        "saves",
        f"{LIKELY} of it",
        "bound by",
    )
    table = aligned(
        heading,
        (
            (
                shortened(row.job, LONGEST_NAME),
                row.runs,
                row.machines,
                row.seconds,
                row.monthly,
                row.proposed,
                row.proposed_seconds,
                row.saved,
                row.likely_saved,
                row.bound_by,
            )
            for row in rows
        ),
        right=", ".join(heading[1:-1]),
    )
    left = len(survey.jobs) - len(rows)
    more = [f"and {counted(left, 'more job')}: --html or --output has all"] if left else []
    return ["", *table, *more]


def _more_of(job: SurveyedJob, survey: Survey) -> Iterator[str]:
    """What a line has no room for."""
    told = [
        proposal(job, is_money=totals_of(survey).is_money),
        f"{job.why}." if job.why else "",
        history_in_short(job) if job.runs else "",
        *job.unknown,
        training(job),
    ]
    yield from ("", job.job)
    for each in filter(None, told):
        yield from wrapped(each, indent="  ", further="  ")
