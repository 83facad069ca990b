"""The price list and the spot market: GetProducts of the Price List service, DescribeSpotPriceHistory."""

from __future__ import annotations

import hashlib
import json
import time

from tests.ec2_testbed.api_state import REGION
from tests.ec2_testbed.api_wire import Answer, Request, json_answer, numbered, xml_answer

DOLLARS_PER_HOUR = {
    "t3.micro": 0.0104,
    "t3.medium": 0.0416,
    "m5.large": 0.096,
    "m5.xlarge": 0.192,
    "m5a.large": 0.086,
    "m5a.xlarge": 0.172,
    "m6i.large": 0.096,
    "c5.large": 0.085,
    "c5.xlarge": 0.17,
    "r5.large": 0.126,
}
"""Linux on demand in us-east-1. Others have no price, like a type that AWS does not sell in a region."""

_ZONES = ("a", "b", "c", "d")


def _spot_price(dollars_per_hour: float, instance_type: str, zone: str) -> float:
    """30 % to 40 % of the price on demand, different by type and zone."""
    share = 0.3 + 0.1 * hashlib.sha256(f"{instance_type}/{zone}".encode()).digest()[0] / 255
    return round(dollars_per_hour * share, 4)


def get_products(request: Request) -> Answer:
    """The product of the type that is asked for, in the form of the price list."""
    wanted = {one["Field"]: one["Value"] for one in request.parameters["Filters"]}
    price = DOLLARS_PER_HOUR.get(wanted["instanceType"]) if wanted["regionCode"] == REGION else None
    if price is None:
        return json_answer({"FormatVersion": "aws_v1", "PriceList": []})
    rate = {"unit": "Hrs", "pricePerUnit": {"USD": f"{price:.10f}"}}
    product = {
        "product": {"productFamily": "Compute Instance", "attributes": wanted, "sku": "SKU"},
        "serviceCode": "AmazonEC2",
        "terms": {"OnDemand": {"SKU.TERM": {"sku": "SKU", "priceDimensions": {"SKU.TERM.RATE": rate}}}},
    }
    return json_answer({"FormatVersion": "aws_v1", "PriceList": [json.dumps(product)]})


def describe_spot_price_history(request: Request) -> Answer:
    """The present price of each wanted type in each zone."""
    history = [
        {
            "instanceType": instance_type,
            "productDescription": "Linux/UNIX",
            "spotPrice": f"{_spot_price(DOLLARS_PER_HOUR[instance_type], instance_type, zone):.6f}",
            "availabilityZone": zone,
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
        }
        for instance_type in numbered(request.form, "InstanceType")
        if instance_type in DOLLARS_PER_HOUR
        for zone in (f"{request.region}{letter}" for letter in _ZONES)
    ]
    return xml_answer("DescribeSpotPriceHistory", {"spotPriceHistorySet": history})
