"""Reading the public price list of AWS (the Pricing API's GetProducts)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any

log = logging.getLogger(__name__)

_PLAIN_LINUX = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
}


def on_demand_price(pricing: Any, instance_type: str, region: str) -> float | None:
    """Dollars for a plain Linux instance and hour; None where the list has none.

    Args:
        pricing: a boto3 client of the Pricing API.
        instance_type: "m5.xlarge".
        region: of the instance, not of the client.

    Raises:
        botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError: AWS refuses or does not answer.
    """
    wanted = {"instanceType": instance_type, "regionCode": region, **_PLAIN_LINUX}
    pages = pricing.get_paginator("get_products").paginate(
        ServiceCode="AmazonEC2",
        FormatVersion="aws_v1",
        Filters=[{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()],
    )
    return _plain_price((entry for page in pages for entry in page["PriceList"]), wanted)


def _plain_price(price_list: Iterable[str | Mapping[str, Any]], wanted: Mapping[str, str]) -> float | None:
    """The hourly price of the plain instance among products that differ in what the filters cannot tell.

    There are those of capacity blocks and of licences (another operation than RunInstances), and unused
    reservations; many of them cost 0 (AWS Price List user guide, "Reading the service price list file").
    """
    found = []
    for entry in price_list:
        try:
            product = json.loads(entry) if isinstance(entry, str) else entry
            attributes = product["product"]["attributes"]
            if attributes.get("marketoption", "OnDemand") != "OnDemand":
                continue
            if any(attributes.get(field, value) != value for field, value in wanted.items()):
                continue
            licensed = attributes.get("operation", "RunInstances") != "RunInstances"
            found += [(licensed, price) for price in _hourly_dollars(product)]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            log.debug("Skipping a product of the price list that has another form: %r", error)
    return min(found)[1] if found else None


def _hourly_dollars(product: Mapping[str, Any]) -> list[float]:
    dimensions = (
        dimension
        for term in product["terms"]["OnDemand"].values()
        for dimension in term["priceDimensions"].values()
    )
    prices = (
        float(dimension["pricePerUnit"].get("USD", 0))
        for dimension in dimensions
        if dimension["unit"].lower() in ("hrs", "hours", "hour")
    )
    return [price for price in prices if price > 0]
