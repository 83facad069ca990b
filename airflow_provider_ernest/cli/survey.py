"""``ernest survey``: what jobs take and could save, by the event logs of their past runs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli import command
from airflow_provider_ernest.cli.analyze import wrapped
from airflow_provider_ernest.cli.choose import confidence, price
from airflow_provider_ernest.cli.history import (
    add_scan_arguments,
    cache_of,
    progress_of,
    reader_of,
    refuse_without_logs,
    scan_of,
)
from airflow_provider_ernest.cli.store import add_keep_argument, open_store
from airflow_provider_ernest.documents.runs import PastRun
from airflow_provider_ernest.documents.surveys import Survey
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.views.survey import (
    allocation,
    dag_lines,
    history_in_short,
    lateness,
    leading_line,
    proposal,
    remarks,
    rows_of,
    totals_of,
)
from airflow_provider_ernest.views.survey_changes import changes_between
from airflow_provider_ernest.words import counted, shortened

if TYPE_CHECKING:
    from airflow_provider_ernest.history.survey import Prices, SurveyGoal
    from airflow_provider_ernest.store.store import ModelStore

MOST_LISTED = 40
"""Jobs in the terminal; the page and the JSON have all."""

MOST_TOLD = 3
"""Jobs that the terminal tells more of: those that save most."""

LONGEST_NAME = 28


def _add_arguments(parser: ArgumentParser) -> None:
    add_scan_arguments(parser)
    goal = parser.add_argument_group("what another size must keep to").add_mutually_exclusive_group()
    goal.add_argument(
        "--within",
        metavar="PERCENT",
        type=command.above_zero,
        default=10.0,
        help="a run may take so much longer than today; default %(default)g",
    )
    goal.add_argument(
        "--deadline-seconds",
        metavar="SECONDS",
        type=command.above_zero,
        help="a run of any job may take so long",
    )
    parser.add_argument(
        "--confidence",
        metavar="PROBABILITY",
        type=confidence,
        default=0.8,
        help="the share of runs that must keep to it; default %(default)g",
    )
    parser.add_argument(
        "--runs-per-month",
        metavar="N",
        type=command.above_zero,
        help="how often a job runs, where its logs are of too few runs or days to tell",
    )
    prices = parser.add_argument_group(
        "prices", "without any, hours of executors (or machines) are told, no dollars"
    )
    prices.add_argument(
        "--price",
        metavar="[TYPE=]DOLLARS",
        type=price,
        action="append",
        help="for one executor (or machine) and hour, of any type or of one, such as m5.xlarge=0.192; may "
        "be repeated",
    )
    prices.add_argument(
        "--aws-prices",
        metavar="REGION",
        help="ask AWS for the on-demand prices of the types that the logs tell, such as eu-west-1",
    )
    outputs = command.add_result_arguments(parser, result="the survey")
    outputs.add_argument("--html", metavar="FILE", help="write a page with all jobs and their charts")
    add_keep_argument(outputs, "the survey")


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.history.survey import Prices, SurveyGoal

    command.refuse_further(args, "html")
    store = None if args.store is None else open_store(args, must_exist=False)
    goal = SurveyGoal(
        within=args.within / 100, deadline_seconds=args.deadline_seconds, confidence=args.confidence
    )
    by_type = dict(args.price or ())
    prices = Prices(otherwise=by_type.pop("", None), by_type=by_type)
    survey = _survey(args, goal, prices, store)
    before = store.newest_survey() if store is not None else None
    # A path of this machine need not be one of Airflow's workers.
    place = without_credentials(args.logs[0]) if len(args.logs) == 1 and "://" in args.logs[0] else ""
    command.tell(args, lambda: survey_lines(survey, logs=place, before=before), survey.to_dict)
    if args.html is not None:
        from airflow_provider_ernest.views.report import of_survey

        command.write_text(args.html, of_survey(survey), force=args.force)
    written = {"page": args.html, "survey": args.output}
    if store is not None:
        store.save(survey)
        written[f"survey {survey.id}"] = f"the store {store.root}"
    command.say_written(args, written)


def _survey(args: Namespace, goal: SurveyGoal, stated: Prices, store: ModelStore | None) -> Survey:
    from airflow_provider_ernest.history.jobs import by_job
    from airflow_provider_ernest.history.reading import cores
    from airflow_provider_ernest.history.survey import deadlines_of, survey_jobs

    found = scan_of(args)
    jobs = by_job(found, stated=found.stated)
    refuse_without_logs(args, found)
    return survey_jobs(
        jobs,
        goal,
        found=found,
        prices=_with_aws_prices(stated, jobs.runs, args),
        reader=reader_of(args),
        processes=args.processes or cores(),
        cache=cache_of(args),
        otherwise_per_month=args.runs_per_month,
        deadlines={} if store is None else deadlines_of(store, jobs.runs),
        analysed=progress_of("runs analysed"),
        told=progress_of("jobs surveyed"),
    )


def _with_aws_prices(stated: Prices, jobs: Mapping[str, Sequence[PastRun]], args: Namespace) -> Prices:
    """The prices with those of AWS for the types for which none is stated."""
    if args.aws_prices is None:
        return stated
    from airflow_provider_ernest.cli.machines import clients_by_region, price_book
    from airflow_provider_ernest.clusters.ec2.requests import ON_DEMAND
    from airflow_provider_ernest.history.survey import Prices

    asked = Namespace(region=[args.aws_prices], profile=None, endpoint_url=None)
    book = price_book(args.aws_prices, clients_by_region(asked)[args.aws_prices])
    known = dict(stated.by_type or {})
    types = {run.instance_type for runs in jobs.values() for run in runs if run.instance_type}
    for name in sorted(types - known.keys()):
        if (price := book.listed_per_hour(name, ON_DEMAND)) is not None:
            known[name] = price
    if not types:
        command.warn("the logs do not tell the types of the machines: state a price by --price")
    return Prices(by_type=known, otherwise=stated.otherwise)


def survey_lines(survey: Survey, *, logs: str = "", before: Survey | None = None) -> list[str]:
    """A survey as lines of text: the sum, a line for each job, and more of those that save most.

    The logs are the place that its jobs' task groups are to read; `before` is an earlier survey of them.
    """
    lines = [
        line for words in (leading_line(survey), *remarks(survey)) for line in wrapped(words, further="")
    ]
    if survey.jobs:
        lines += ["", *_table(survey)]
    if before is not None:
        told = [f"{each.job}: {each.sentence}" for each in changes_between(before, survey)]
        heading = f"since the survey of {before.at[:10]}"
        lines += ["", heading if told else f"{heading} nothing has changed"]
        lines += [line for each in told for line in wrapped(each, indent="  ", further="    ")]
    for job in survey.jobs[:MOST_TOLD]:
        told = [
            proposal(job, is_money=totals_of(survey).is_money),
            lateness(job, survey.at),
            f"{job.why}." if job.why else "",
            history_in_short(job) if job.runs else "",
            f"Dynamic allocation: {within}." if (within := allocation(job)) else "",
            *job.unknown,
        ]
        lines += ["", job.job]
        for each in filter(None, told):
            lines += wrapped(each, indent="  ", further="  ")
        if code := dag_lines(job, logs):
            lines += [
                "  Sized by its past runs, ahead of its production task:",
                *indent(code, "    ").split("\n"),
            ]
    return lines


def _table(survey: Survey) -> list[str]:
    rows = rows_of(survey)[:MOST_LISTED]
    cells = [[shortened(row["job"], LONGEST_NAME), *list(row.values())[1:]] for row in rows]
    heading = list(rows[0])
    table = command.aligned(heading, cells, right=", ".join(heading[1:-1]))
    left = len(survey.jobs) - len(rows)
    return [*table, *([f"and {counted(left, 'more job')}: --html or --output has all"] if left else [])]


COMMAND = command.Command(
    name="survey",
    summary="show from Spark's event logs what jobs cost, and what other sizes would save",
    description="Read the event logs of all runs of all jobs, and tell for each job what it takes in a "
    "month, what it would take on other numbers of executors (by a model of its past runs, by replay, or by "
    "both), which is the cheapest that keeps today's time or a deadline, what that saves with its interval, "
    "why the job takes as long, and what is not known. Without --on, nothing is run, and "
    "nothing leaves this machine.",
    example="""\
  %(prog)s /var/log/spark --price 0.192 --html survey.html
  %(prog)s s3://bucket/spark-events --aws-prices eu-west-1 --since 2026-01-01
  %(prog)s /var/log/spark --price m5.xlarge=0.192 --price r5.xlarge=0.252 --within 20 --confidence 0.95
  %(prog)s hdfs://namenode/spark-logs --on spark --master yarn
  %(prog)s /var/log/spark/app-* --deadline-seconds 3600 --output survey.json""",
    add_arguments=_add_arguments,
    run=_run,
)
