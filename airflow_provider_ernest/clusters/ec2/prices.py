"""What a machine costs by the hour: on-demand prices of the Pricing API, spot prices of the last minutes."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import quote

from airflow_provider_ernest.clusters.ec2.aws_errors import Meaning, meaning_of, said
from airflow_provider_ernest.clusters.ec2.requests import ON_DEMAND, SPOT
from airflow_provider_ernest.exceptions import InvalidParameterError

log = logging.getLogger(__name__)

PRICING_REGION = "us-east-1"
"""Where the Pricing API is asked, wherever the machines are: only us-east-1, eu-central-1 and ap-south-1
have it, and each knows the prices of all regions (AWS Price List user guide, "Endpoints")."""

LIFETIME_SECONDS: Mapping[str, float] = {ON_DEMAND: 7 * 24 * 3600.0, SPOT: 600.0}
_RETRY_SECONDS = 600.0
_EVERY_ZONE = ""  # an on-demand price holds in all zones of a region
_PERMISSION = {ON_DEMAND: "pricing:GetProducts", SPOT: "ec2:DescribeSpotPriceHistory"}
_OTHER_CURRENCIES = ("cn-", "eusc-")
_OTHER_PRICE_LISTS = (*_OTHER_CURRENCIES, "us-gov-", "us-iso", "eu-iso")
_LINUX = ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"]  # which of the two AWS says depends on the account's age


class PriceBook:
    """Prices of one region. A price that cannot be had is None, and a warning says what to change.

    AWS is asked again after 7 days for an on-demand price, after 10 minutes for a spot price; in between,
    memory and the cache directory answer, which the processes of a host can share. Where AWS fails, an older
    on-demand price is taken, with a warning, and AWS is left alone for 10 minutes. Prices are those of the
    public list for plain Linux, in dollars: without discounts, volumes and traffic.

    Needs the permissions pricing:GetProducts and ec2:DescribeSpotPriceHistory. Prices are unknown in
    China and the European Sovereign Cloud, which charge no dollars; on-demand ones also in GovCloud and the
    isolated regions, whose credentials the Pricing API does not take.

    Args:
        ec2: a boto3 client of the region.
        pricing: makes a boto3 client of the Pricing API in `PRICING_REGION`, when an on-demand price is to be
            asked for. Give it timeouts of seconds: from a private subnet the Pricing API may be out of
            reach, and boto3's own would take minutes.
        region: of the machines.
        cache_directory: made when needed; None to remember prices in this object only.
        override_per_hour: dollars for any worker and hour, whatever AWS says, to reckon with negotiated
            prices, or without permissions. It is no price of the master: see `listed_per_hour`.
        now: seconds since the epoch.
    """

    def __init__(
        self,
        *,
        ec2: Any,
        pricing: Callable[[], Any],
        region: str,
        cache_directory: Path | None,
        override_per_hour: float | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.region = region
        self.override_per_hour = override_per_hour
        self._ec2 = ec2
        self._pricing = pricing
        self._cache = _PriceCache(cache_directory, region)
        self._now = now
        self._failures: dict[tuple[str, str], tuple[float, str]] = {}
        self._warned: set[tuple[str, ...]] = set()

    def per_hour(self, instance_type: str, market: str, zone: str | None = None) -> float | None:
        """Dollars for a worker and hour; None where unknown.

        Args:
            instance_type: "m5.xlarge".
            market: `ON_DEMAND` or `SPOT`.
            zone: availability zone of a spot instance; None for the mean of the region's zones.

        Raises:
            InvalidParameterError: there is no such market.
        """
        if self.override_per_hour is not None:
            return self.override_per_hour
        return self.listed_per_hour(instance_type, market, zone)

    def listed_per_hour(self, instance_type: str, market: str, zone: str | None = None) -> float | None:
        """As `per_hour`, but what AWS says even where there is an override: for the master."""
        if market not in LIFETIME_SECONDS:
            raise InvalidParameterError("market", market, f"is neither {ON_DEMAND!r} nor {SPOT!r}")
        known = self._known(instance_type, market)
        if known is None:
            return None
        if market == ON_DEMAND:
            return known.by_zone.get(_EVERY_ZONE)
        if zone is None:
            return fmean(known.by_zone.values())
        if zone not in known.by_zone:
            self._warn(instance_type, market, zone, f"AWS lists none for the zone {zone}")
        return known.by_zone.get(zone)

    def _known(self, instance_type: str, market: str) -> _Prices | None:
        """Prices that still count, from the cache or AWS, or an older on-demand price as the last resort."""
        now, lifetime = self._now(), LIFETIME_SECONDS[market]
        known = self._cache.get(instance_type, market, since=now - lifetime)
        # Those of the future do not count: a clock was wrong.
        if known is not None and 0 <= now - known.time < lifetime:
            return known
        by_zone, problem = self._ask(instance_type, market)
        if by_zone:
            new = _Prices(time=now, by_zone=by_zone)
            self._cache.put(instance_type, market, new)
            return new
        if known is None or market == SPOT:
            self._warn(instance_type, market, "", problem)
            return None
        day = f"{datetime.fromtimestamp(known.time, UTC):%Y-%m-%d}"
        self._warn(instance_type, market, "", problem, instead=f" So that of {day} is taken.")
        return known

    def _ask(self, instance_type: str, market: str) -> tuple[dict[str, float], str]:
        """Prices by zone, or none and why."""
        from botocore.exceptions import BotoCoreError, ClientError

        if self.region.startswith(_OTHER_PRICE_LISTS if market == ON_DEMAND else _OTHER_CURRENCIES):
            return {}, f"AWS does not tell dollar prices of the region {self.region}"
        for key in ((instance_type, market), ("", market)):
            failed, problem = self._failures.get(key, (-math.inf, ""))
            if self._now() - failed < _RETRY_SECONDS:
                return {}, problem
        try:
            by_zone = self._fetch(instance_type, market)
            problem, concerned = f"AWS lists none in the region {self.region}", instance_type
        except (BotoCoreError, ClientError) as error:
            # Whatever is not wrong with this type would only cost another timeout for the next.
            by_zone, problem = {}, _problem(error, market)
            concerned = instance_type if meaning_of(error) is Meaning.WRONG else ""
        if not by_zone:
            self._failures[concerned, market] = (self._now(), problem)
        return by_zone, problem

    def _fetch(self, instance_type: str, market: str) -> dict[str, float]:
        if market == SPOT:
            return _spot_prices(self._ec2, instance_type, datetime.fromtimestamp(self._now(), UTC))
        price = on_demand_price(self._pricing(), instance_type, self.region)
        return {} if price is None else {_EVERY_ZONE: price}

    def _warn(self, instance_type: str, market: str, what: str, problem: str, *, instead: str = "") -> None:
        if (instance_type, market, what) not in self._warned:
            self._warned.add((instance_type, market, what))
            log.warning(
                "The %s price of %s is unknown, since %s.%s To go without AWS's, set price_per_hour=.",
                *(market, instance_type, problem, instead),
            )


def _problem(error: Exception, market: str) -> str:
    if meaning_of(error) is Meaning.NOT_ALLOWED:
        return (
            f"Airflow's AWS credentials lack the permission {_PERMISSION[market]}: grant it ({said(error)})"
        )
    return f"AWS did not answer ({said(error)})"


def _spot_prices(ec2: Any, instance_type: str, now: datetime) -> dict[str, float]:
    """The price of each zone that has one now: where AWS tells several, the newest."""
    pages = ec2.get_paginator("describe_spot_price_history").paginate(
        InstanceTypes=[instance_type], ProductDescriptions=_LINUX, StartTime=now
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
    prices = [
        float(dimension["pricePerUnit"].get("USD", 0))
        for term in product["terms"]["OnDemand"].values()
        for dimension in term["priceDimensions"].values()
        if dimension["unit"].lower() in ("hrs", "hours", "hour")
    ]
    return [price for price in prices if price > 0]


@dataclass(frozen=True, kw_only=True)
class _Prices:
    """What AWS said of one type in one market, `time` seconds since the epoch: dollars per hour by zone."""

    time: float
    by_zone: Mapping[str, float]


class _PriceCache:
    """Known prices, in memory and in one small file for each type and market.

    A file each, replaced as a whole: processes that write at the same time neither tear a file nor lose
    each other's entries. What cannot be read or written is as good as not cached, and no reason to fail.
    """

    def __init__(self, directory: Path | None, region: str) -> None:
        self._directory = directory
        self._region = region
        self._memory: dict[tuple[str, str], _Prices] = {}

    def get(self, instance_type: str, market: str, *, since: float) -> _Prices | None:
        """What is known, however old.

        Where memory has nothing so new, the file is looked into, since another process may have asked.
        """
        key = (instance_type, market)
        remembered = self._memory.get(key)
        if remembered is not None and remembered.time > since:
            return remembered
        stored = self._read(self._file(instance_type, market))
        if stored is not None and (remembered is None or stored.time > remembered.time):
            self._memory[key] = stored
        return self._memory.get(key)

    def put(self, instance_type: str, market: str, prices: _Prices) -> None:
        self._memory[instance_type, market] = prices
        file = self._file(instance_type, market)
        if file is None:
            return
        try:
            _replace(file, json.dumps({"time": prices.time, "dollars_per_hour": dict(prices.by_zone)}))
        except OSError as error:
            log.warning("Prices cannot be kept in %s, so AWS will be asked again: %s", file, error)

    def _file(self, instance_type: str, market: str) -> Path | None:
        if self._directory is None:
            return None
        # Quoted, since names come from users: no part of one may lead to another directory.
        parts = (quote(part, safe="") for part in (self._region, market, instance_type))
        return self._directory / f"{'_'.join(parts)}.json"

    def _read(self, file: Path | None) -> _Prices | None:
        if file is None:
            return None
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
            by_zone = {str(zone): float(price) for zone, price in document["dollars_per_hour"].items()}
            if not by_zone or not all(math.isfinite(price) and price > 0 for price in by_zone.values()):
                raise ValueError("it holds no prices")
            return _Prices(time=float(document["time"]), by_zone=by_zone)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            log.warning("Ignoring the prices kept in %s, which cannot be read: %r", file, error)
            return None


def _replace(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    # A name that no other process or thread has. Not flushed to the disk: what a power cut tears is ignored.
    descriptor, partial = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.", suffix=".partial")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(partial).replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(partial).unlink()
        raise
