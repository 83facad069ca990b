import json
import logging
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import EndpointConnectionError
from moto import mock_aws

from airflow_provider_ernest.clusters.ec2.prices import PRICING_REGION, PriceBook
from airflow_provider_ernest.clusters.ec2.requests import ON_DEMAND, SPOT
from airflow_provider_ernest.exceptions import InvalidParameterError

DAY = 24 * 3600
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


class Answers:
    """Answers one operation of a boto3 client, and counts how often it was asked."""

    def __init__(self, client, operation):
        self.client = client
        self.requests = []
        self.pages = [{}]
        self.error = None
        service = client.meta.service_model.service_name
        client.meta.events.register(f"before-call.{service}.{operation}", self._answer)

    def _answer(self, params, **_):
        self.requests.append(params["body"])
        if self.error == "unreachable":
            raise EndpointConnectionError(endpoint_url="https://aws.test")
        if self.error is not None:
            return AWSResponse(None, 400, {}, None), {"Error": {"Code": self.error, "Message": "No."}}
        page = self.pages[min(len(self.requests), len(self.pages)) - 1]
        return AWSResponse(None, 200, {}, None), page


def _client(service, region):
    return boto3.client(
        service, region_name=region, aws_access_key_id="testing", aws_secret_access_key="testing"
    )


class Clock:
    def __init__(self):
        self.seconds = NOW.timestamp()

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def price_list():
    answers = Answers(_client("pricing", PRICING_REGION), "GetProducts")
    answers.pages = [{"FormatVersion": "aws_v1", "PriceList": [product()]}]
    return answers


@pytest.fixture
def spot_prices():
    answers = Answers(_client("ec2", "eu-west-1"), "DescribeSpotPriceHistory")
    answers.pages = [{"SpotPriceHistory": [spot("eu-west-1a", "0.031"), spot("eu-west-1b", "0.041")]}]
    return answers


@pytest.fixture
def open_book(price_list, spot_prices, clock, tmp_path):
    """Opens a price book as another process of the host would."""

    def open_one(**changes):
        arguments = {
            "ec2": spot_prices.client,
            "pricing": lambda: price_list.client,
            "region": "eu-west-1",
            "cache_directory": tmp_path / "prices",
            "now": clock,
        }
        return PriceBook(**(arguments | changes))

    return open_one


def product(*, dollars="0.1070000000", unit="Hrs", attributes=(), sku="ABCDEFGH12345678", **terms):
    """An entry of the price list in the documented form (shortened to what tells products apart)."""
    dimension = {
        "unit": unit,
        "endRange": "Inf",
        "beginRange": "0",
        "description": f"${dollars} per On Demand Linux m5.large Instance Hour",
        "appliesTo": [],
        "rateCode": f"{sku}.JRTCKXETXF.6YS6EN2CT7",
        "pricePerUnit": {"USD": dollars},
    }
    plain = {
        "instanceType": "m5.large",
        "regionCode": "eu-west-1",
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
        "operation": "RunInstances",
        "usagetype": "EU-BoxUsage:m5.large",
        "licenseModel": "No License required",
        "vcpu": "2",
        "memory": "8 GiB",
    }
    on_demand = {
        f"{sku}.JRTCKXETXF": {
            "sku": sku,
            "offerTermCode": "JRTCKXETXF",
            "effectiveDate": "2026-04-01T00:00:00Z",
            "termAttributes": {},
            "priceDimensions": {f"{sku}.JRTCKXETXF.6YS6EN2CT7": dimension},
        }
    }
    reserved = {
        f"{sku}.38NPMPTW36": {
            "termAttributes": {"LeaseContractLength": "3yr"},
            "priceDimensions": {"x": {"unit": "Hrs", "pricePerUnit": {"USD": "0.0400000000"}}},
        }
    }
    return json.dumps(
        {
            "product": {
                "productFamily": "Compute Instance",
                "sku": sku,
                "attributes": plain | dict(attributes),
            },
            "serviceCode": "AmazonEC2",
            "terms": {"OnDemand": on_demand, "Reserved": reserved} | terms,
            "version": "20260427000000",
            "publicationDate": "2026-04-27T00:00:00Z",
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
    assert open_book().per_hour("m5.large", ON_DEMAND) == 0.107
    request = json.loads(price_list.requests[0])
    filters = {f["Field"]: f["Value"] for f in request["Filters"]}
    assert request["ServiceCode"] == "AmazonEC2"
    assert filters["instanceType"] == "m5.large"
    assert filters["regionCode"] == "eu-west-1"
    assert filters["operatingSystem"] == "Linux"


def test_a_zone_does_not_matter_on_demand(open_book):
    assert open_book().per_hour("m5.large", ON_DEMAND, "eu-west-1a") == 0.107


def test_the_plain_instance_is_found_among_other_products(open_book, price_list):
    others = [
        product(dollars="0.0000000000", sku="CAPACITY", attributes={"marketoption": "CapacityBlock"}),
        product(dollars="0.0110000000", sku="BLOCK", attributes={"marketoption": "CapacityBlock"}),
        product(dollars="0.0500000000", sku="LICENCE", attributes={"operation": "RunInstances:00g0"}),
        product(
            dollars="0.0600000000", sku="UNUSED", attributes={"capacitystatus": "UnusedCapacityReservation"}
        ),
        product(dollars="0.0700000000", sku="HOST", attributes={"tenancy": "Host"}),
        product(dollars="0.0000000000", sku="FREE"),
        product(dollars="30.0000000000", sku="MONTH", unit="Quantity"),
        product(sku="RESERVED", OnDemand={}),
        product(
            sku="CHINA",
            OnDemand={"x": {"priceDimensions": {"y": {"unit": "Hrs", "pricePerUnit": {"CNY": "1"}}}}},
        ),
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


def test_a_fresh_price_is_not_asked_for_again(open_book, price_list, spot_prices, clock):
    book = open_book()
    for market in (ON_DEMAND, SPOT):
        first = book.per_hour("m5.large", market)
        clock.seconds += 599
        assert book.per_hour("m5.large", market) == first
        assert open_book().per_hour("m5.large", market) == first
        clock.seconds -= 599
    assert (len(price_list.requests), len(spot_prices.requests)) == (1, 1)


def test_no_client_is_made_while_the_price_is_fresh(open_book):
    open_book().per_hour("m5.large", ON_DEMAND)
    book = open_book(pricing=lambda: pytest.fail("a client was made"))
    assert book.per_hour("m5.large", ON_DEMAND) == 0.107


def test_without_a_directory_the_book_itself_remembers(open_book, price_list):
    book = open_book(cache_directory=None)
    assert [book.per_hour("m5.large", ON_DEMAND) for _ in range(3)] == [0.107] * 3
    assert len(price_list.requests) == 1


def test_an_on_demand_price_is_asked_for_again_after_seven_days(open_book, price_list, clock):
    book = open_book()
    book.per_hour("m5.large", ON_DEMAND)
    price_list.pages = [{"PriceList": [product(dollars="0.099")]}]
    clock.seconds += 7 * DAY - 1
    assert book.per_hour("m5.large", ON_DEMAND) == 0.107
    clock.seconds += 1
    assert book.per_hour("m5.large", ON_DEMAND) == 0.099
    assert open_book().per_hour("m5.large", ON_DEMAND) == 0.099


def test_a_spot_price_is_asked_for_again_after_ten_minutes(open_book, spot_prices, clock):
    book = open_book()
    book.per_hour("m5.large", SPOT)
    spot_prices.pages = [{"SpotPriceHistory": [spot("eu-west-1a", "0.5")]}]
    clock.seconds += 600
    assert book.per_hour("m5.large", SPOT) == 0.5


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
    assert len(spot_prices.requests) == 2  # the two pages, once


def test_a_zone_without_the_type_has_no_price(open_book, caplog):
    assert open_book().per_hour("m5.large", SPOT, "eu-west-1c") is None
    assert "eu-west-1c" in caplog.text


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
    ("market", "code", "permission"),
    [
        (ON_DEMAND, "AccessDeniedException", "pricing:GetProducts"),
        (SPOT, "UnauthorizedOperation", "ec2:DescribeSpotPriceHistory"),
    ],
)
def test_a_missing_permission_is_told_once_for_a_type(
    open_book, price_list, spot_prices, caplog, market, code, permission
):
    price_list.error = spot_prices.error = code
    book = open_book()
    assert [book.per_hour("m5.large", market) for _ in range(50)] == [None] * 50
    (told,) = _warnings(caplog)
    assert permission in told
    assert "m5.large" in told
    assert "price_per_hour=" in told
    assert len(price_list.requests) + len(spot_prices.requests) == 1


@pytest.mark.parametrize("error", ["unreachable", "AccessDeniedException"])
def test_other_types_are_not_asked_for_where_none_can_be_had(open_book, price_list, clock, caplog, error):
    price_list.error = error
    book = open_book()
    assert [book.per_hour(name, ON_DEMAND) for name in ("m5.large", "m5.xlarge", "r5.large")] == [None] * 3
    assert len(price_list.requests) == 1
    assert len(_warnings(caplog)) == 3  # each type's price is missed by somebody


def test_a_refused_type_does_not_keep_others_from_being_asked_for(open_book, price_list):
    price_list.error = "InvalidParameterException"
    book = open_book()
    assert book.per_hour("m5 large", ON_DEMAND) is None
    price_list.error = None
    assert book.per_hour("m5.large", ON_DEMAND) == 0.107


def test_a_permission_granted_meanwhile_is_found_without_a_restart(open_book, price_list, clock):
    price_list.error = "AccessDeniedException"
    book = open_book()
    assert book.per_hour("m5.large", ON_DEMAND) is None
    price_list.error = None
    assert open_book().per_hour("m5.large", ON_DEMAND) == 0.107
    clock.seconds += 600
    assert book.per_hour("m5.large", ON_DEMAND) == 0.107


@pytest.mark.parametrize("error", ["unreachable", "ThrottlingException", "AccessDeniedException"])
def test_an_old_on_demand_price_is_better_than_none(open_book, price_list, clock, caplog, error):
    open_book().per_hour("m5.large", ON_DEMAND)
    price_list.error = error
    clock.seconds += 100 * DAY
    book = open_book()
    assert [book.per_hour("m5.large", ON_DEMAND) for _ in range(5)] == [0.107] * 5
    (told,) = _warnings(caplog)
    assert "m5.large" in told
    assert "2026-05-01" in told
    assert len(price_list.requests) == 2


def test_an_old_spot_price_is_worse_than_none(open_book, spot_prices, clock):
    open_book().per_hour("m5.large", SPOT)
    spot_prices.error = "unreachable"
    clock.seconds += 3600
    assert open_book().per_hour("m5.large", SPOT) is None


@pytest.mark.parametrize("region", ["cn-north-1", "us-gov-west-1"])
def test_regions_that_the_price_list_leaves_out_are_not_asked_for(open_book, price_list, caplog, region):
    assert open_book(region=region).per_hour("m5.large", ON_DEMAND) is None
    assert region in caplog.text
    assert price_list.requests == []


def test_spot_prices_in_dollars_are_told_in_govcloud_but_not_in_china(open_book, spot_prices, caplog):
    assert open_book(region="us-gov-west-1").per_hour("m5.large", SPOT, "eu-west-1a") == 0.031
    book = open_book(region="cn-north-1")
    assert book.per_hour("m5.large", SPOT) is None
    assert len(spot_prices.requests) == 1
    (told,) = _warnings(caplog)
    assert "cn-north-1" in told


def test_a_misspelt_market_is_refused(open_book):
    with pytest.raises(InvalidParameterError, match=r"market='ondemand' is neither 'on-demand' nor 'spot'"):
        open_book().per_hour("m5.large", "ondemand")


@mock_aws
def test_spot_prices_of_a_simulated_region():
    ec2 = boto3.client("ec2", region_name="us-east-1")
    book = PriceBook(ec2=ec2, pricing=lambda: None, region="us-east-1", cache_directory=None)
    assert book.per_hour("m5.large", SPOT, "us-east-1a") == 0.00001
    assert book.per_hour("m5.large", SPOT) == pytest.approx(0.00001)


# What is kept on disk


def only_file(folder):
    (file,) = folder.iterdir()
    return file


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{half",
        "\x00\x00",
        "[]",
        "null",
        json.dumps({"time": 1000}),
        json.dumps({"time": None, "dollars_per_hour": {"": 1}}),
        json.dumps({"time": 1000, "dollars_per_hour": {}}),
        json.dumps({"time": 1000, "dollars_per_hour": {"": -1}}),
        json.dumps({"time": 1000, "dollars_per_hour": {"": float("nan")}}),
        json.dumps({"time": 1000, "dollars_per_hour": [1]}),
    ],
)
def test_a_damaged_file_costs_one_request(open_book, price_list, tmp_path, caplog, content):
    open_book().per_hour("m5.large", ON_DEMAND)
    file = only_file(tmp_path / "prices")
    file.write_text(content)
    assert [open_book().per_hour("m5.large", ON_DEMAND) for _ in range(2)] == [0.107] * 2
    assert len(price_list.requests) == 2
    assert str(file) in caplog.text


def test_types_markets_and_regions_are_kept_apart(open_book, price_list, spot_prices):
    open_book().per_hour("m5.large", ON_DEMAND)
    open_book(region="eu-west-2").per_hour("m5.large", ON_DEMAND)
    open_book().per_hour("m5.xlarge", ON_DEMAND)
    assert len(price_list.requests) == 3
    assert open_book().per_hour("m5.large", SPOT, "eu-west-1a") == 0.031


def test_what_another_process_has_asked_meanwhile_is_found(open_book, price_list, clock):
    own = open_book()
    own.per_hour("m5.large", ON_DEMAND)
    clock.seconds += 7 * DAY
    price_list.pages = [{"PriceList": [product(dollars="0.099")]}]
    open_book().per_hour("m5.large", ON_DEMAND)
    assert own.per_hour("m5.large", ON_DEMAND) == 0.099
    assert len(price_list.requests) == 2


def test_prices_from_the_future_do_not_count(open_book, price_list, clock):
    clock.seconds += DAY
    open_book().per_hour("m5.large", ON_DEMAND)
    clock.seconds -= DAY
    open_book().per_hour("m5.large", ON_DEMAND)
    assert len(price_list.requests) == 2


def test_no_name_leads_out_of_the_directory(open_book, tmp_path):
    open_book(region="../us-east-1").per_hour("../../../m5.large", SPOT)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [file.parent for file in files] == [tmp_path / "prices"]


def test_a_directory_that_cannot_be_made_only_costs_the_cache(open_book, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    book = open_book(cache_directory=tmp_path / "file" / "prices")
    assert [book.per_hour("m5.large", ON_DEMAND) for _ in range(2)] == [0.107] * 2
    assert "cannot be kept" in caplog.text


def test_a_write_that_fails_leaves_the_old_prices_and_no_litter(open_book, tmp_path, clock, monkeypatch):
    open_book().per_hour("m5.large", ON_DEMAND)
    before = only_file(tmp_path / "prices").read_text()

    def full(*_):
        raise OSError(28, "No space left on device")

    clock.seconds += 7 * DAY
    monkeypatch.setattr("pathlib.Path.replace", full)
    assert open_book().per_hour("m5.large", ON_DEMAND) == 0.107
    assert only_file(tmp_path / "prices").read_text() == before


WRITER = """
import sys
from pathlib import Path
from airflow_provider_ernest.clusters.ec2.prices import _PriceCache, _Prices
directory, number = Path(sys.argv[1]), int(sys.argv[2])
zones = {f"zone-{i}": float(number) for i in range(200)}
for time in range(1, 101):
    cache = _PriceCache(directory, "us-east-1")
    cache.put("m5.large", "spot", _Prices(time=time, by_zone=zones))
    cache.put(f"m{number}.large", "spot", _Prices(time=time, by_zone=zones))
    read = _PriceCache(directory, "us-east-1").get("m5.large", "spot", since=0)
    assert len(read.by_zone) == 200 and len(set(read.by_zone.values())) == 1
"""


def test_processes_that_write_at_once_see_whole_files_and_lose_nothing(tmp_path):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(number)]) for number in (1, 2, 3)
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    kept = [json.loads(file.read_text())["dollars_per_hour"] for file in tmp_path.glob("*.json")]
    assert len(kept) == 4
    assert {price for zones in kept for price in zones.values()} == {1.0, 2.0, 3.0}
    assert not list(tmp_path.glob(".*.partial"))
