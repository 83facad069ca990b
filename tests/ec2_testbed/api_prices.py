"""The price list and the spot market: GetProducts of the Price List service, DescribeSpotPriceHistory."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

from tests.ec2_testbed.api_wire import Answer, Request, json_answer, numbered, xml_answer

DOLLARS_PER_HOUR = {
    "t3.micro": 0.0104,
    "t3.medium": 0.0416,
    "t3.large": 0.0832,
    "m5.large": 0.096,
    "m5.xlarge": 0.192,
    "m5.2xlarge": 0.384,
    "m5.4xlarge": 0.768,
    "m5a.large": 0.086,
    "m5a.xlarge": 0.172,
    "m6i.large": 0.096,
    "m6i.xlarge": 0.192,
    "m6i.2xlarge": 0.384,
    "c5.large": 0.085,
    "c5.xlarge": 0.17,
    "c5.2xlarge": 0.34,
    "r5.large": 0.126,
    "r5.xlarge": 0.252,
    "r5.2xlarge": 0.504,
    "r3.xlarge": 0.333,
    "r3.2xlarge": 0.665,
}
"""Linux on demand in us-east-1. Others have no price, like a type that AWS does not sell in a region."""

_ZONES = ("a", "b", "c", "d")
_VARIANTS: tuple[tuple[dict[str, str], float], ...] = (
    ({}, 1.0),
    ({"operatingSystem": "Windows"}, 1.9),
    ({"tenancy": "Dedicated"}, 1.1),
    ({"preInstalledSw": "SQL Std"}, 6.0),
    ({"capacitystatus": "UnusedCapacityReservation"}, 1.0),
    ({"capacitystatus": "AllocatedCapacityReservation"}, 0.0),
)


def spot_price(instance_type: str, zone: str) -> float | None:
    """Dollars an hour: 30 % to 40 % of the price on demand, different by type and zone."""
    price = DOLLARS_PER_HOUR.get(instance_type)
    if price is None:
        return None
    share = 0.3 + 0.1 * hashlib.sha256(f"{instance_type}/{zone}".encode()).digest()[0] / 255
    return round(price * share, 4)


def get_products(request: Request) -> Answer:
    """The products that pass the filters: with too few of them, AWS returns many products of a type."""
    wanted = {one["Field"]: one["Value"] for one in request.parameters.get("Filters", [])}
    return json_answer(
        {
            "FormatVersion": "aws_v1",
            "PriceList": [json.dumps(one) for one in _products() if _matches(one, wanted)],
        }
    )


def _products() -> list[dict[str, Any]]:
    return [
        _product(instance_type, dict(change), price * factor)
        for instance_type, price in DOLLARS_PER_HOUR.items()
        for change, factor in _VARIANTS
    ]


def _matches(product: dict[str, Any], wanted: dict[str, str]) -> bool:
    fields = {
        "ServiceCode": "AmazonEC2",
        "productFamily": "Compute Instance",
        **product["product"]["attributes"],
    }
    return all(str(fields.get(key, "")).lower() == value.lower() for key, value in wanted.items())


def _product(instance_type: str, change: dict[str, str], dollars_per_hour: float) -> dict[str, Any]:
    attributes = {
        "instanceType": instance_type,
        "location": "US East (N. Virginia)",
        "locationType": "AWS Region",
        "regionCode": "us-east-1",
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "licenseModel": "No License required",
        "marketoption": "OnDemand",
        "servicecode": "AmazonEC2",
        **change,
    }
    sku = hashlib.sha256(json.dumps(attributes, sort_keys=True).encode()).hexdigest()[:16].upper()
    rate = {
        "rateCode": f"{sku}.JRTCKXETXF.6YS6EN2CT7",
        "unit": "Hrs",
        "beginRange": "0",
        "endRange": "Inf",
        "pricePerUnit": {"USD": f"{dollars_per_hour:.10f}"},
    }
    term = {"sku": sku, "offerTermCode": "JRTCKXETXF", "priceDimensions": {rate["rateCode"]: rate}}
    return {
        "product": {"productFamily": "Compute Instance", "attributes": attributes, "sku": sku},
        "serviceCode": "AmazonEC2",
        "terms": {"OnDemand": {f"{sku}.JRTCKXETXF": term}},
    }


def describe_spot_price_history(request: Request) -> Answer:
    """The present price of each wanted type in each zone."""
    form = request.form
    wanted_zone = form.get("AvailabilityZone") or _filter_value(form, "availability-zone")
    filtered = _filter_value(form, "instance-type")
    types = numbered(form, "InstanceType") or ([filtered] if filtered else list(DOLLARS_PER_HOUR))
    history = [
        {
            "instanceType": instance_type,
            "productDescription": "Linux/UNIX",
            "spotPrice": f"{price:.6f}",
            "availabilityZone": zone,
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
        }
        for instance_type in types
        for zone in (f"{request.region}{letter}" for letter in _ZONES)
        if wanted_zone in (None, zone) and (price := spot_price(instance_type, zone))
    ]
    return xml_answer("DescribeSpotPriceHistory", {"spotPriceHistorySet": history})


def _filter_value(form: dict[str, str], name: str) -> str | None:
    number = 1
    while f"Filter.{number}.Name" in form:
        if form[f"Filter.{number}.Name"] == name:
            return form.get(f"Filter.{number}.Value.1")
        number += 1
    return None
