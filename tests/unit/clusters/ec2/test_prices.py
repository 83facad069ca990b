import json
import logging
from datetime import UTC, datetime, timedelta

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import EndpointConnectionError

from airflow_provider_ernest.clusters.ec2.prices import PRICING_REGION, PriceBook
from airflow_provider_ernest.clusters.ec2.requests import ON_DEMAND, SPOT

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


class Answers:
    """Answers one operation of a boto3 client, and counts how often it was asked."""

    def __init__(self, service, region, operation):
        self.client = boto3.client(
            service, region_name=region, aws_access_key_id="testing", aws_secret_access_key="testing"
        )
        self.requests = []
        self.pages = [{}]
        self.error = None
        self.client.meta.events.register(f"before-call.{service}.{operation}", self._answer)

    def _answer(self, params, **_):
        self.requests.append(params["body"])
        if self.error == "unreachable":
            raise EndpointConnectionError(endpoint_url="https://aws.test")
        if self.error is not None:
            return AWSResponse(None, 400, {}, None), {"Error": {"Code": self.error, "Message": "No."}}
        page = self.pages[min(len(self.requests), len(self.pages)) - 1]
        return AWSResponse(None, 200, {}, None), page


@pytest.fixture
def price_list():
    answers = Answers("pricing", PRICING_REGION, "GetProducts")
    answers.pages = [{"FormatVersion": "aws_v1", "PriceList": [product()]}]
    return answers


@pytest.fixture
def spot_prices():
    answers = Answers("ec2", "eu-west-1", "DescribeSpotPriceHistory")
    answers.pages = [{"SpotPriceHistory": [spot("eu-west-1a", "0.031"), spot("eu-west-1b", "0.041")]}]
    return answers


@pytest.fixture
def open_book(price_list, spot_prices):
    """Opens a price book as a task does."""

    def open_one(**changes):
        arguments = {
            "ec2": spot_prices.client,
            "pricing": lambda: price_list.client,
            "region": "eu-west-1",
        }
        return PriceBook(**(arguments | changes))

    return open_one


def product(*, dollars="0.1070000000", unit="Hrs", attributes=(), on_demand=None):
    """An entry of the price list in the documented form (shortened to what tells products apart)."""
    plain = {
        "instanceType": "m5.large",
        "regionCode": "eu-west-1",
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
        "operation": "RunInstances",
    }
    price = {"unit": unit, "pricePerUnit": {"USD": dollars}}
    reserved = {"x": {"priceDimensions": {"x": {"unit": "Hrs", "pricePerUnit": {"USD": "0.04"}}}}}
    if on_demand is None:
        on_demand = {"ABC.JRTCKXETXF": {"priceDimensions": {"ABC.JRTCKXETXF.6YS6EN2CT7": price}}}
    return json.dumps(
        {
            "product": {"productFamily": "Compute Instance", "attributes": plain | dict(attributes)},
            "terms": {"OnDemand": on_demand, "Reserved": reserved},
        }
    )


def spot(zone, price, *, hours_ago=1.0):
    return {
        "AvailabilityZone": zone,
        "InstanceType": "m5.large",
        "ProductDescription": "Linux/UNIX",
        "SpotPrice": price,
        "Timestamp": NOW - timedelta(hours=hours_ago),
    }


def _warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_the_on_demand_price(open_book, price_list):
    book = open_book()
    assert [book.per_hour("m5.large", ON_DEMAND) for _ in range(3)] == [0.107] * 3
    (asked_once,) = price_list.requests
    request = json.loads(asked_once)
    filters = {f["Field"]: f["Value"] for f in request["Filters"]}
    assert request["ServiceCode"] == "AmazonEC2"
    assert filters["instanceType"] == "m5.large"
    assert filters["regionCode"] == "eu-west-1"
    assert filters["operatingSystem"] == "Linux"


def test_the_plain_instance_is_found_among_other_products(open_book, price_list):
    in_yuan = {"x": {"priceDimensions": {"y": {"unit": "Hrs", "pricePerUnit": {"CNY": "1"}}}}}
    others = [
        product(dollars="0.0110000000", attributes={"marketoption": "CapacityBlock"}),
        product(dollars="0.0500000000", attributes={"operation": "RunInstances:00g0"}),
        product(dollars="0.0600000000", attributes={"capacitystatus": "UnusedCapacityReservation"}),
        product(dollars="0.0700000000", attributes={"tenancy": "Host"}),
        product(dollars="0.0000000000"),
        product(dollars="30.0000000000", unit="Quantity"),
        product(on_demand={}),
        product(on_demand=in_yuan),
        json.dumps({"product": {"attributes": {}}, "terms": {"Reserved": {}}}),
        "{broken",
        "[]",
    ]
    price_list.pages = [
        {"PriceList": others, "NextToken": "more"},
        {"PriceList": [product(), *others]},
    ]
    assert open_book().per_hour("m5.large", ON_DEMAND) == 0.107
    assert len(price_list.requests) == 2

    untold = json.loads(product())
    for attribute in ("marketoption", "operation", "capacitystatus"):
        del untold["product"]["attributes"][attribute]
    price_list.pages = [{"PriceList": [json.dumps(untold), *others]}]
    assert open_book().per_hour("m5.large", ON_DEMAND) == 0.107, "what is not told is taken for plain"


def test_the_spot_price_of_a_zone_is_the_newest_one(open_book, spot_prices):
    spot_prices.pages = [
        {
            "SpotPriceHistory": [
                spot("eu-west-1a", "0.05", hours_ago=5),
                spot("eu-west-1a", "0.03", hours_ago=1),
            ],
            "NextToken": "more",
        },
        {
            "SpotPriceHistory": [
                spot("eu-west-1a", "0.04", hours_ago=3),
                spot("eu-west-1b", "0.07", hours_ago=9),
            ],
            "NextToken": "",
        },
    ]
    book = open_book()
    assert book.per_hour("m5.large", SPOT, "eu-west-1a") == 0.03
    assert book.per_hour("m5.large", SPOT, "eu-west-1b") == 0.07
    assert book.per_hour("m5.large", SPOT) == pytest.approx(0.05)
    assert book.per_hour("m5.large", SPOT, "eu-west-1c") is None
    assert len(spot_prices.requests) == 2  # the two pages, once


def test_the_override_beats_aws_for_workers_but_not_for_the_master(open_book, price_list, spot_prices):
    book = open_book(override_per_hour=0.02)
    assert book.per_hour("m5.large", ON_DEMAND) == 0.02
    assert book.per_hour("no.such", SPOT, "eu-west-1a") == 0.02
    assert (price_list.requests, spot_prices.requests) == ([], [])
    assert book.listed_per_hour("m5.large", ON_DEMAND) == 0.107


def test_an_unknown_type_has_no_price(open_book, price_list, spot_prices, caplog):
    price_list.pages = [{"PriceList": []}]
    spot_prices.pages = [{"SpotPriceHistory": []}]
    book = open_book()
    assert book.per_hour("no.such", ON_DEMAND) is None
    assert book.per_hour("no.such", SPOT) is None
    told = _warnings(caplog)
    assert len(told) == 2
    assert all("no.such" in message and "price_per_hour=" in message for message in told)


@pytest.mark.parametrize(
    ("market", "code"), [(ON_DEMAND, "AccessDeniedException"), (SPOT, "UnauthorizedOperation")]
)
def test_a_missing_permission_is_told_once_for_a_type(
    open_book, price_list, spot_prices, caplog, market, code
):
    price_list.error = spot_prices.error = code
    book = open_book()
    assert [book.per_hour("m5.large", market) for _ in range(50)] == [None] * 50
    (told,) = _warnings(caplog)
    assert code in told
    assert "m5.large" in told
    assert "price_per_hour=" in told
    assert len(price_list.requests) + len(spot_prices.requests) == 1


@pytest.mark.parametrize(
    ("error", "requests"),
    [("unreachable", 1), ("AccessDeniedException", 1), ("InvalidParameterException", 3)],
)
def test_other_types_are_asked_for_only_where_their_prices_may_be_had(
    open_book, price_list, caplog, error, requests
):
    price_list.error = error
    book = open_book()
    assert [book.per_hour(name, ON_DEMAND) for name in ("m5 large", "m5.xlarge", "r5.large")] == [None] * 3
    assert len(price_list.requests) == requests
    assert len(_warnings(caplog)) == 3  # each type's price is missed by somebody


@pytest.mark.parametrize("region", ["cn-north-1", "us-gov-west-1"])
def test_regions_whose_prices_are_not_listed_in_dollars(open_book, price_list, spot_prices, caplog, region):
    book = open_book(region=region)
    assert book.per_hour("m5.large", ON_DEMAND) is None
    assert region in caplog.text
    assert book.per_hour("m5.large", SPOT, "eu-west-1a") is None
    assert price_list.requests == spot_prices.requests == []
