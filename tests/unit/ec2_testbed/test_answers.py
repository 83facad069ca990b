from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError

from tests.ec2_testbed import EC2Api
from tests.unit.ec2_testbed.conftest import client_that_tries

Launch = Callable[..., list[str]]


def test_an_error_before_has_no_effect(launch: Launch, api: EC2Api) -> None:
    api.fail("RunInstances", code="RequestLimitExceeded", status=503, message="Slow down.")
    with pytest.raises(ClientError, match=r"RequestLimitExceeded.*Slow down\.") as caught:
        launch()
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
    assert api.instances() == []
    assert launch()


def test_an_error_after_has_the_effect(launch: Launch, api: EC2Api) -> None:
    api.fail("RunInstances", when="after", code="InternalError")
    with pytest.raises(ClientError, match=r"InternalError"):
        launch()
    assert len(api.live_instances()) == 1


def test_a_broken_connection_has_the_effect(launch: Launch, api: EC2Api) -> None:
    api.fail("RunInstances", when="drop")
    with pytest.raises(ConnectionClosedError):
        launch()
    assert len(api.live_instances()) == 1


def test_a_late_answer_has_the_effect(launch: Launch, api: EC2Api) -> None:
    from botocore.config import Config

    impatient = api.client(
        "ec2", config=Config(read_timeout=0.3, retries={"total_max_attempts": 1, "mode": "standard"})
    )
    api.fail("RunInstances", when="hang", seconds=1)
    with pytest.raises(ReadTimeoutError):
        launch(client=impatient)
    assert len(api.live_instances()) == 1


def test_a_lost_answer_and_a_retry_launch_once(launch: Launch, api: EC2Api) -> None:
    api.fail("RunInstances", when="drop", times=2)
    machines = launch(2, client=client_that_tries(api, 3))
    assert [one.instance_id for one in api.instances()] == machines
    assert [call.outcome for call in api.calls("RunInstances")] == ["ok"] * 3


def test_faults_hit_after_those_to_skip(ec2: Any, api: EC2Api) -> None:
    api.fail("DescribeInstances", skip=1, times=1, code="Unavailable")
    ec2.describe_instances()
    with pytest.raises(ClientError, match=r"Unavailable"):
        ec2.describe_instances()
    ec2.describe_instances()


def test_a_fault_of_a_service_with_another_protocol(api: EC2Api) -> None:
    from botocore.config import Config

    ssm = api.client("ssm", config=Config(retries={"total_max_attempts": 1, "mode": "standard"}))
    api.fail("GetParameter", code="InternalServerError")
    with pytest.raises(ClientError, match=r"InternalServerError"):
        ssm.get_parameter(Name=api.image_parameter)
    assert ssm.get_parameter(Name=api.image_parameter)["Parameter"]["Value"] == api.image_id


def test_an_unknown_way_to_fail_is_refused(api: EC2Api) -> None:
    with pytest.raises(ValueError, match=r"sometimes"):
        api.fail("RunInstances", when="sometimes")


def test_calls_are_recorded_with_what_became_of_them(ec2: Any, api: EC2Api) -> None:
    with pytest.raises(ClientError):
        ec2.describe_instances(InstanceIds=["i-0123"])
    api.client("sts").get_caller_identity()
    assert [(call.action, call.outcome) for call in api.calls(service="ec2")] == [
        ("DescribeInstances", "InvalidInstanceID.NotFound")
    ]
    assert api.calls("DescribeInstances")[0].parameters == {"InstanceId.1": "i-0123"}
    assert api.actions() == {"ec2:DescribeInstances", "sts:GetCallerIdentity"}


def test_pages_hold_instances(launch: Launch, ec2: Any, api: EC2Api) -> None:
    machines = [*launch(12), *launch(1), *launch(4)]
    pages = list(ec2.get_paginator("describe_instances").paginate(PaginationConfig={"PageSize": 5}))
    sizes = [sum(len(one["Instances"]) for one in page["Reservations"]) for page in pages]
    assert sizes == [5, 5, 5, 2]
    found = [
        one["InstanceId"] for page in pages for part in page["Reservations"] for one in part["Instances"]
    ]
    assert found == machines


def test_who_does_not_ask_for_pages_gets_the_first(launch: Launch, ec2: Any, api: EC2Api) -> None:
    launch(8)
    api.set_page_size(5)
    first = ec2.describe_instances()
    assert len(first["Reservations"][0]["Instances"]) == 5
    second = ec2.describe_instances(NextToken=first["NextToken"])
    assert len(second["Reservations"][0]["Instances"]) == 3
    assert "NextToken" not in second


def test_pages_miss_nothing_when_states_change_between_them(launch: Launch, ec2: Any, api: EC2Api) -> None:
    machines = launch(8)
    live = [{"Name": "instance-state-name", "Values": ["running"]}]
    first = ec2.describe_instances(Filters=live, MaxResults=5)
    ec2.terminate_instances(InstanceIds=machines[:5])
    second = ec2.describe_instances(Filters=live, MaxResults=5, NextToken=first["NextToken"])
    assert [one["InstanceId"] for one in second["Reservations"][0]["Instances"]] == machines[5:]


def test_a_thousand_machines_are_described_whole(launch: Launch, ec2: Any) -> None:
    machines = launch(1000)
    [reservation] = ec2.describe_instances(InstanceIds=machines)["Reservations"]
    assert [one["InstanceId"] for one in reservation["Instances"]] == machines


@pytest.mark.parametrize(
    ("name", "value", "count"),
    [
        ("client-token", "token", 2),
        ("client-token", "tok", 0),
        ("client-token", "tok*", 2),
        ("instance-lifecycle", "spot", 1),
        ("tag:role", "worker", 2),
        ("tag:role", "w?rker", 2),
        ("tag-key", "role", 2),
        ("instance-type", "m5.large", 3),
        ("availability-zone", "us-east-1a", 3),
    ],
)
def test_filters(launch: Launch, ec2: Any, name: str, value: str, count: int) -> None:
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "role", "Value": "worker"}]}]
    launch(2, ClientToken="token", TagSpecifications=tags)
    launch(InstanceMarketOptions={"MarketType": "spot"})
    reservations = ec2.describe_instances(Filters=[{"Name": name, "Values": [value]}])["Reservations"]
    assert sum(len(one["Instances"]) for one in reservations) == count


def test_an_unknown_filter_is_refused(ec2: Any) -> None:
    with pytest.raises(ClientError, match=r"The filter 'tags:role' is invalid"):
        ec2.describe_instances(Filters=[{"Name": "tags:role", "Values": ["x"]}])


def test_the_console_is_what_the_machine_said(launch: Launch, ec2: Any, api: EC2Api) -> None:
    [machine] = launch()
    api.set_console(machine, "cloud-init: no Java ü")
    assert ec2.get_console_output(InstanceId=machine)["Output"] == "cloud-init: no Java ü"


def products(api: EC2Api, **filters: str) -> list[dict[str, Any]]:
    terms = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in filters.items()]
    found = api.client("pricing").get_products(ServiceCode="AmazonEC2", Filters=terms)["PriceList"]
    return [json.loads(text) for text in found]


def test_prices_need_all_filters_to_be_one(api: EC2Api) -> None:
    few = {"instanceType": "m5.large", "regionCode": "us-east-1"}
    rest = {"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"}
    assert len(products(api, **few)) > 1
    [product] = products(api, **few, **rest)
    [term] = product["terms"]["OnDemand"].values()
    [dimension] = term["priceDimensions"].values()
    assert float(dimension["pricePerUnit"]["USD"]) == 0.096
    assert products(api, instanceType="m5.unknown", **rest) == []


def test_spot_prices_differ_by_zone_and_lie_below_on_demand(ec2: Any) -> None:
    history = ec2.describe_spot_price_history(InstanceTypes=["m5.large"], ProductDescriptions=["Linux/UNIX"])[
        "SpotPriceHistory"
    ]
    prices = {one["AvailabilityZone"]: float(one["SpotPrice"]) for one in history}
    assert set(prices) >= {"us-east-1a", "us-east-1b"}
    assert all(0 < price < 0.096 for price in prices.values())
    assert len(set(prices.values())) > 1


def test_an_expired_machine_carries_an_old_tag(launch: Launch, api: EC2Api) -> None:
    [machine] = launch()
    api.expire(machine)
    assert api.instances()[0].tags["ernest:expires-at"] < "2021"


def test_the_account_has_what_a_launch_needs(ec2: Any, api: EC2Api) -> None:
    subnets = ec2.describe_subnets(SubnetIds=list(api.subnet_ids))["Subnets"]
    assert len({one["AvailabilityZone"] for one in subnets}) == 2
    [group] = ec2.describe_security_groups(GroupIds=[api.security_group_id])["SecurityGroups"]
    assert "0.0.0.0/0" not in str(group["IpPermissions"])
