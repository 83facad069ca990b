"""The prices of EC2 as tasks know them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.operators.aws import aws_clients
from airflow_provider_ernest.operators.locations import folder

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.prices import PriceBook


def price_book(ec2: Any, *, aws_conn_id: str | None, override_per_hour: float | None) -> PriceBook:
    """Prices of a client's region, remembered on this host.

    Args:
        ec2: a boto3 client.
        aws_conn_id: Airflow connection with the right to ask for prices.
        override_per_hour: dollars for a worker and hour, whatever AWS says.
    """
    from airflow_provider_ernest.clusters.ec2.prices import PRICING_REGION, PriceBook

    return PriceBook(
        ec2=ec2,
        pricing=lambda: aws_clients(aws_conn_id, PRICING_REGION)("pricing"),
        region=ec2.meta.region_name,
        cache_directory=folder("prices"),
        override_per_hour=override_per_hour,
    )
