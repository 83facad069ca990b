"""Which account and regions of AWS a command looks at, by boto3's own ways to find credentials."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError

Clients = Callable[[str], Any]
"""Makes a boto3 client of a service, such as "ec2"."""


def add_account_arguments(parser: ArgumentParser) -> None:
    """The options --region, --profile and --endpoint-url."""
    parser.add_argument(
        "--region",
        metavar="REGION",
        action="append",
        help="AWS region to look through; may be repeated; default: the one that boto3 is configured for",
    )
    parser.add_argument("--profile", metavar="NAME", help="profile of the AWS configuration files")
    parser.add_argument("--endpoint-url", metavar="URL", help="address of another API than that of AWS")


def clients_by_region(args: Namespace) -> Mapping[str, Clients]:
    """For each region that the options name, what makes clients in it.

    Raises:
        MissingResourceError: boto3 is not installed, or there is no such profile.
        InvalidParameterError: nothing tells a region.
    """
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

    def clients(region: str) -> Clients:
        return lambda service: session.client(service, region_name=region, endpoint_url=args.endpoint_url)

    found: dict[str, Clients] = {}
    for region in regions:
        if not region:
            raise InvalidParameterError(
                "region",
                region,
                "leaves open where to look, and boto3 is configured for none",
                remedy="Name a region, such as eu-west-1.",
            )
        found[region] = clients(region)
    return found
