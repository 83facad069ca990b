"""What the endpoint must do as AWS does, since the tests of clusters on EC2 take it for AWS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.ec2_testbed import EC2Api

Launch = Callable[..., list[str]]
SPOT = {"MarketType": "spot"}


def client_that_tries(api: EC2Api, attempts: int) -> Any:
    return api.client("ec2", config=Config(retries={"mode": "standard", "total_max_attempts": attempts}))


@pytest.fixture
def ec2(api: EC2Api) -> Any:
    return client_that_tries(api, 1)


@pytest.fixture
def launch(api: EC2Api, ec2: Any) -> Launch:
    """Launches m5.large machines; returns their ids."""

    def launch(least: int = 1, most: int | None = None, *, client: Any = None, **request: Any) -> list[str]:
        what: dict[str, Any] = {
            "ImageId": api.image_id,
            "InstanceType": "m5.large",
            "SubnetId": api.subnet_ids[0],
            "MinCount": least,
            "MaxCount": least if most is None else most,
            **request,
        }
        return [one["InstanceId"] for one in (client or ec2).run_instances(**what)["Instances"]]

    return launch


def test_a_token_launches_once_and_is_of_one_request(launch: Launch, ec2: Any, api: EC2Api) -> None:
    first = launch(2, ClientToken="token")
    assert launch(2, ClientToken="token") == first
    assert [one.instance_id for one in api.live_instances()] == first
    with pytest.raises(ClientError, match=r"IdempotentParameterMismatch"):
        launch(3, ClientToken="token")
    ec2.terminate_instances(InstanceIds=first)
    assert launch(2, ClientToken="token") == first, "also after their end"
    assert api.live_instances() == []


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"ImageId": "ami-0000000000000dead"}, r"InvalidAMIID"),
        ({"InstanceType": "m5.gigantic"}, r"InvalidInstanceType|InvalidParameterValue"),
        ({"SubnetId": "subnet-0dead"}, r"InvalidSubnetID.NotFound"),
        ({"SecurityGroupIds": ["sg-0dead"]}, r"InvalidGroup.NotFound|InvalidSecurityGroup"),
        ({"IamInstanceProfile": {"Name": "unknown"}}, r"NoSuchEntity|InvalidParameterValue"),
        ({"UserData": "#" * 16385}, r"limited to 16384 bytes"),
        ({"DryRun": True}, r"DryRunOperation"),
    ],
)
def test_what_aws_would_refuse_is_refused(
    launch: Launch, api: EC2Api, request_: dict[str, Any], code: str
) -> None:
    with pytest.raises(ClientError, match=code):
        launch(**request_)
    assert api.instances() == []


def test_only_spot_machines_are_taken_back(launch: Launch, ec2: Any, api: EC2Api) -> None:
    [machine], [on_demand] = launch(InstanceMarketOptions=SPOT), launch()
    api.interrupt_spot(machine)
    [found] = ec2.describe_instances(InstanceIds=[machine])["Reservations"][0]["Instances"]
    assert found["State"]["Name"] == "terminated"
    assert found["StateReason"]["Code"] == "Server.SpotInstanceTermination"
    with pytest.raises(ValueError, match=r"no spot instance"):
        api.interrupt_spot(on_demand)


def test_pages_hold_instances(launch: Launch, ec2: Any, api: EC2Api) -> None:
    machines = [*launch(12), *launch(1), *launch(4)]
    pages = list(ec2.get_paginator("describe_instances").paginate(PaginationConfig={"PageSize": 5}))
    found = [
        [one["InstanceId"] for part in page["Reservations"] for one in part["Instances"]] for page in pages
    ]
    assert [len(ids) for ids in found] == [5, 5, 5, 2]
    assert [one for ids in found for one in ids] == machines
