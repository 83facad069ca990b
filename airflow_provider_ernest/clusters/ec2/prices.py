"""What a machine costs by the hour: on-demand prices of the Pricing API, spot prices of this moment."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from statistics import fmean
from typing import Any

from airflow_provider_ernest.clusters.ec2.aws_errors import Meaning, meaning_of, said
from airflow_provider_ernest.clusters.ec2.requests import ON_DEMAND, SPOT

log = logging.getLogger(__name__)

PRICING_REGION = "us-east-1"
"""Where the Pricing API is asked, wherever the machines are: only us-east-1, eu-central-1 and ap-south-1
have it, and each knows the prices of all regions (AWS Price List user guide, "Endpoints")."""

_EVERY_ZONE = ""  # an on-demand price holds in all zones of a region
_OTHER_PRICE_LISTS = ("cn-", "eusc-", "us-gov-", "us-iso", "eu-iso")
_LINUX = ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"]  # which of the two AWS says depends on the account's age


class PriceBook:
    """Prices of one region. A price that cannot be had is None, and a warning says what to change.

    AWS is asked once for each type and market. Prices are those of the public list for plain Linux, in
    dollars: without discounts, volumes and traffic.

    Needs the permissions pricing:GetProducts and ec2:DescribeSpotPriceHistory. Prices are unknown in
    China and the European Sovereign Cloud, which charge no dollars, and in GovCloud and the isolated regions,
    whose credentials the Pricing API does not take.

    Args:
        ec2: a boto3 client of the region.
        pricing: makes a boto3 client of the Pricing API in `PRICING_REGION`, with timeouts of seconds: from
            a private subnet the API may be out of reach, and boto3's own would take minutes.
        region: of the machines.
        override_per_hour: dollars for any worker and hour, whatever AWS says. It is no price of the master:
            see `listed_per_hour`.
    """

    def __init__(
        self, *, ec2: Any, pricing: Callable[[], Any], region: str, override_per_hour: float | None = None
    ) -> None:
        self.region = region
        self.override_per_hour = override_per_hour
        self._ec2 = ec2
        self._pricing = pricing
        self._by_zone: dict[tuple[str, str], Mapping[str, float]] = {}
        self._unreachable: dict[str, str] = {}

    def per_hour(self, instance_type: str, market: str, zone: str | None = None) -> float | None:
        """Dollars for a worker and hour, without a zone the mean of all zones; None where unknown."""
        if self.override_per_hour is not None:
            return self.override_per_hour
        return self.listed_per_hour(instance_type, market, zone)

    def listed_per_hour(self, instance_type: str, market: str, zone: str | None = None) -> float | None:
        """As `per_hour`, but what AWS says even where there is an override: for the master."""
        key = (instance_type, market)
        if key not in self._by_zone:
            self._by_zone[key] = self._asked(instance_type, market)
        by_zone = self._by_zone[key]
        if market == ON_DEMAND:
            return by_zone.get(_EVERY_ZONE)
        if zone is None:
            return fmean(by_zone.values()) if by_zone else None
        return by_zone.get(zone)

    def _asked(self, instance_type: str, market: str) -> Mapping[str, float]:
        """Prices by zone; none where there are none, with a warning."""
        from botocore.exceptions import BotoCoreError, ClientError

        problem = f"AWS lists none in the region {self.region}"
        if self.region.startswith(_OTHER_PRICE_LISTS):
            self._unreachable[market] = f"AWS does not tell dollar prices of the region {self.region}"
        if market not in self._unreachable:
            try:
                if market == SPOT:
                    by_zone = _spot_prices(self._ec2, instance_type)
                else:
                    price = on_demand_price(self._pricing(), instance_type, self.region)
                    by_zone = {} if price is None else {_EVERY_ZONE: price}
                if by_zone:
                    return by_zone
            except (BotoCoreError, ClientError) as error:
                problem = f"AWS did not answer ({said(error)})"
                # Whatever is not wrong with this type would only cost another timeout for the next.
                if meaning_of(error) is not Meaning.WRONG:
                    self._unreachable[market] = problem
        log.warning(
            "The %s price of %s is unknown, since %s. To go without AWS's, set price_per_hour=.",
            *(market, instance_type, self._unreachable.get(market, problem)),
        )
        return {}


def _spot_prices(ec2: Any, instance_type: str) -> dict[str, float]:
    """The price of each zone that has one now: where AWS tells several, the newest."""
    pages = ec2.get_paginator("describe_spot_price_history").paginate(
        InstanceTypes=[instance_type], ProductDescriptions=_LINUX, StartTime=datetime.now(UTC)
    )
    entries = [entry for page in pages for entry in page["SpotPriceHistory"]]
    entries.sort(key=lambda entry: entry["Timestamp"])
    prices = ((entry["AvailabilityZone"], float(entry["SpotPrice"])) for entry in entries)
    return {zone: price for zone, price in prices if price > 0}


_PLAIN_LINUX = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
}


def on_demand_price(pricing: Any, instance_type: str, region: str) -> float | None:
    """Dollars for a plain Linux instance and hour in the public price list; None where it has none.

    `region` is that of the instance, not of the client. Raises botocore's errors.

    The filters cannot tell apart all products: there are those of capacity blocks and of licences (another
    operation than RunInstances), and unused reservations; many of them cost 0 (AWS Price List user guide,
    "Reading the service price list file").
    """
    wanted = {"instanceType": instance_type, "regionCode": region, **_PLAIN_LINUX}
    pages = pricing.get_paginator("get_products").paginate(
        ServiceCode="AmazonEC2",
        FormatVersion="aws_v1",
        Filters=[{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()],
    )
    found = []
    for entry in (entry for page in pages for entry in page["PriceList"]):
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
    prices = [
        float(dimension["pricePerUnit"].get("USD", 0))
        for term in product["terms"]["OnDemand"].values()
        for dimension in term["priceDimensions"].values()
        if dimension["unit"].lower() in ("hrs", "hours", "hour")
    ]
    return [price for price in prices if price > 0]
