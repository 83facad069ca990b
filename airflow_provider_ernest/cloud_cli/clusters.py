"""``ernest clusters``: what lives now, and whose it is."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.output import as_json, say
from airflow_provider_ernest.cloud_cli.account import Clients, add_account_arguments, clients_by_region

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.reaping import TaggedCluster


def _add_arguments(parser: ArgumentParser) -> None:
    add_account_arguments(parser)
    parser.add_argument(
        "--prices", action="store_true", help="ask AWS for on-demand prices, to show what each cluster costs"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.clusters.ec2.listing import cluster_table
    from airflow_provider_ernest.clusters.ec2.reaping import find_clusters

    clients = clients_by_region(args)
    found = {region: find_clusters(make("ec2"), deployment=None) for region, make in clients.items()}
    if args.json:
        say(
            [
                as_json(
                    {region: [one.to_dict() for one in all_of] for region, all_of in found.items()}
                ).rstrip()
            ]
        )
    elif not any(found.values()):
        say([f"No clusters in {', '.join(found)}."])
    else:
        prices = _prices(found, clients, args) if args.prices else None
        say(cluster_table(found, prices_per_hour=prices))


def _prices(
    found: Mapping[str, Sequence[TaggedCluster]], clients: Mapping[str, Clients], args: Namespace
) -> dict[tuple[str, str], float | None]:
    from airflow_provider_ernest.clusters.ec2.prices import ON_DEMAND, PRICING_REGION, PriceBook

    (pricing,) = clients_by_region(Namespace(**{**vars(args), "region": [PRICING_REGION]})).values()
    prices: dict[tuple[str, str], float | None] = {}
    for region, clusters in found.items():
        book = PriceBook(
            ec2=clients[region]("ec2"),
            pricing=lambda: pricing("pricing"),
            region=region,
            cache_directory=None,
        )
        for name in {name for cluster in clusters for name in cluster.instance_types}:
            prices[region, name] = book.per_hour(name, ON_DEMAND)
    return prices


COMMAND = Command(
    name="clusters",
    summary="list the clusters that live on EC2, with their owners",
    description="List the clusters that this package has started on EC2 and that have not ended: their "
    "machines, their age, when they end themselves, and the DAG, task and run that they belong to. "
    "Machines are found by their tags, whoever launched them, so those of all deployments "
    "of Airflow in the account; no Airflow is needed.",
    example="""\
  %(prog)s --region eu-west-1
  %(prog)s --region eu-west-1 --region us-east-1 --profile data --prices""",
    add_arguments=_add_arguments,
    run=_run,
)
