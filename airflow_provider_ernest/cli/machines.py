"""``ernest clusters`` and ``reap``: the clusters that live on EC2, and the end of those that are overdue."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.command import Command, add_result_arguments, tell
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.prices import PriceBook


Clients = Callable[..., Any]
"""Makes a boto3 client of a service, such as "ec2"; `region_name` is of another region."""


def add_account_arguments(parser: Any) -> None:
    """Add --region, --profile and --endpoint-url."""
    parser.add_argument(
        "--region",
        metavar="REGION",
        action="append",
        help="AWS region to look through; may be repeated; default: the one that boto3 is configured for",
    )
    parser.add_argument("--profile", metavar="NAME", help="profile of the AWS configuration files")
    parser.add_argument("--endpoint-url", metavar="URL", help="address of another API than that of AWS")


def clients_by_region(args: Namespace) -> Mapping[str, Clients]:
    """For each region of the options what makes clients in it, such as ``clients("ec2")``."""
    try:
        from boto3.session import Session
        from botocore.exceptions import ProfileNotFound
    except ImportError as error:
        raise MissingResourceError(
            f"boto3 cannot be imported ({error}).",
            remedy="Install it: pip install 'airflow-provider-ernest[ec2]'.",
        ) from error
    try:
        session = Session(profile_name=args.profile)
        regions: Sequence[str | None] = args.region or [session.region_name]
    except ProfileNotFound as error:
        raise MissingResourceError(f"{error}.", remedy="Name a profile of ~/.aws/config.") from error

    if not all(regions):
        raise InvalidParameterError(
            "region",
            None,
            "leaves open where to look, and boto3 is configured for none",
            remedy="Name a region, such as eu-west-1.",
        )
    return {
        region: partial(session.client, region_name=region, endpoint_url=args.endpoint_url)
        for region in regions
        if region
    }


def _add_clusters_arguments(parser: ArgumentParser) -> None:
    add_account_arguments(parser)
    add_result_arguments(parser, result="the list")


def _run_clusters(args: Namespace) -> None:
    from airflow_provider_ernest.clusters.ec2.ending import cluster_table, find_clusters

    clients = clients_by_region(args)
    found = {region: find_clusters(make("ec2"), deployment=None) for region, make in clients.items()}

    def table() -> list[str]:
        if not any(found.values()):
            return [f"No clusters in {', '.join(found)}."]
        return cluster_table(found)

    listed = {region: [one.to_dict() for one in all_of] for region, all_of in found.items()}
    tell(args, table, lambda: listed)


def price_book(region: str, clients: Clients) -> PriceBook:
    """AWS's prices in a region; the list prices of all regions are those of one."""
    from airflow_provider_ernest.clusters.ec2.prices import PRICING_REGION, PriceBook

    return PriceBook(
        ec2=clients("ec2"), pricing=lambda: clients("pricing", region_name=PRICING_REGION), region=region
    )


CLUSTERS = Command(
    name="clusters",
    summary="list the clusters that live on EC2, with their owners",
    description="List the clusters that this package has started on EC2 and that have not ended: their "
    "machines, their age, when they end themselves, and the DAG, task and run that they belong to. "
    "Machines are found by their tags, whoever launched them, so those of all deployments "
    "of Airflow in the account; no Airflow is needed.",
    example="""\
  %(prog)s --region eu-west-1
  %(prog)s --region eu-west-1 --region us-east-1 --profile data""",
    add_arguments=_add_clusters_arguments,
    run=_run_clusters,
)


def _add_reap_arguments(parser: ArgumentParser) -> None:
    add_account_arguments(parser)
    parser.add_argument("--dry-run", action="store_true", help="end nothing, only list what would be ended")
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument(
        "--deployment",
        metavar="ID",
        help="whose machines; default: [ernest] deployment of Airflow's configuration, else its store's",
    )
    whose.add_argument(
        "--all-deployments", action="store_true", help="those of all deployments in the account"
    )
    add_result_arguments(parser, result="what was ended")


def _deployment(args: Namespace) -> str | None:
    """The deployment whose machines are meant; None for all."""
    from airflow_provider_ernest.cli.store import configured, open_store
    from airflow_provider_ernest.store.exclusive import deployment_of_store

    if args.all_deployments:
        return None
    named = args.deployment or configured("deployment")
    if not named:
        store = open_store(Namespace(store=None), must_exist=False)
        named = deployment_of_store(store.root, make=False)
    if not named:
        raise MissingResourceError(
            "It is not known which deployment's machines are to be ended.",
            remedy="Name it with --deployment (`ernest clusters` shows all), or take --all-deployments.",
        )
    return str(named)


def _run_reap(args: Namespace) -> None:
    from airflow_provider_ernest.clusters.ec2.ending import GRACE_SECONDS, reap_regions

    report = reap_regions(
        clients_by_region(args),
        deployment=_deployment(args),
        grace_seconds=GRACE_SECONDS,
        dry_run=args.dry_run,
    )
    tell(args, report.lines, report.summary)
    report.raise_failures()


REAP = Command(
    name="reap",
    summary="end the machines on EC2 that are past their expiry",
    description="End the machines of a deployment's clusters on EC2 that are past the expiry in their tags, "
    "by AWS's clock, and list them. Each machine ends itself at its expiry: this is for those that could "
    "not. It needs the credentials that boto3 finds, and no Airflow.",
    example="""\
  %(prog)s --region eu-west-1 --deployment prod-eu --dry-run
  %(prog)s --region eu-west-1 --region us-east-1 --profile data --all-deployments --format json""",
    add_arguments=_add_reap_arguments,
    run=_run_reap,
)
