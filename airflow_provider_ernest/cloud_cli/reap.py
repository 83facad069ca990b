"""``ernest reap``: end what should have ended, when nothing else does."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.output import as_json, say
from airflow_provider_ernest.cloud_cli.account import add_account_arguments, clients_by_region
from airflow_provider_ernest.exceptions import MissingResourceError


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
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument(
        "--deployment",
        metavar="ID",
        help="whose machines; default: [ernest] deployment of Airflow's configuration, else its store's",
    )
    whose.add_argument(
        "--all-deployments", action="store_true", help="those of all deployments in the account"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _deployment(args: Namespace) -> str | None:
    """Whose machines are meant; None for those of all deployments.

    Raises:
        MissingResourceError: nothing tells.
    """
    from airflow_provider_ernest.cli.store_options import configured, open_store
    from airflow_provider_ernest.model.storage.deployment import deployment_of_store

    if args.all_deployments:
        return None
    named = args.deployment or configured("deployment")
    if not named:
        store = open_store(Namespace(store=None), must_exist=False)
        named = deployment_of_store(store.root, make=False)
    if not named:
        raise MissingResourceError(
            "Nothing tells which deployment of Airflow's machines are to be ended.",
            remedy="Name it with --deployment (`ernest clusters` shows all), or take --all-deployments.",
        )
    return str(named)


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.clusters.reaping import reap_regions

    report = reap_regions(
        clients_by_region(args),
        deployment=_deployment(args),
        grace_seconds=60 * args.grace_minutes,
        dry_run=args.dry_run,
        include_emr=args.include_emr,
    )
    say([as_json(report.summary()).rstrip()] if args.json else report.lines())
    report.raise_failures()


COMMAND = Command(
    name="reap",
    summary="end the machines on EC2 that are past their expiry",
    description="End the machines of a deployment's clusters on EC2 that are past the expiry in their tags, "
    "by AWS's clock, and list them. Each machine ends itself at its expiry: this is for those that could "
    "not. It needs the credentials that boto3 finds, and no Airflow.",
    example="""\
  %(prog)s --region eu-west-1 --deployment prod-eu --dry-run
  %(prog)s --region eu-west-1 --region us-east-1 --profile data --all-deployments --json""",
    add_arguments=_add_arguments,
    run=_run,
)
