"""``ernest reap``: end what should have ended, when nothing else does."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import UTC, datetime

from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.output import as_json, say
from airflow_provider_ernest.cloud_cli.account import add_account_arguments, clients_by_region


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = -1.0
    if not 0 <= minutes < float("inf"):
        raise ArgumentTypeError(f"{text!r} is not a number of minutes of at least 0")
    return minutes


def _add_arguments(parser: ArgumentParser) -> None:
    add_account_arguments(parser)
    parser.add_argument("--dry-run", action="store_true", help="end nothing, only list what would be ended")
    parser.add_argument(
        "--grace-minutes",
        metavar="MINUTES",
        type=_minutes,
        default=5.0,
        help="how long after its expiry a machine may take to end itself; default %(default)g",
    )
    parser.add_argument(
        "--include-emr", action="store_true", help="end job flows of EMR, too, whose time is over"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.clusters.reaping import reap_regions

    report = reap_regions(
        clients_by_region(args),
        now=datetime.now(UTC),
        grace_seconds=60 * args.grace_minutes,
        dry_run=args.dry_run,
        include_emr=args.include_emr,
    )
    say([as_json(report.summary()).rstrip()] if args.json else report.lines())
    report.raise_failures()


COMMAND = Command(
    name="reap",
    summary="end the machines on EC2 that are past their expiry",
    description="End the machines of this package's clusters on EC2 that are past the expiry in their tags, "
    "and list them. Each machine ends itself at its expiry: this is for those that could not. It needs the "
    "credentials that boto3 finds, and no Airflow.",
    example="""\
  %(prog)s --region eu-west-1 --dry-run
  %(prog)s --region eu-west-1 --region us-east-1 --profile data --json""",
    add_arguments=_add_arguments,
    run=_run,
)
