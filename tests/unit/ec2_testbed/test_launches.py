from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.ec2_testbed import EC2Api

Launch = Callable[..., list[str]]
SPOT = {"MarketType": "spot"}


def test_a_token_launches_once(launch: Launch, api: EC2Api) -> None:
    first = launch(2, ClientToken="token")
    assert launch(2, ClientToken="token") == first
    assert [one.instance_id for one in api.live_instances()] == first


def test_a_token_is_of_one_request(launch: Launch, api: EC2Api) -> None:
    launch(2, ClientToken="token")
    with pytest.raises(ClientError, match=r"IdempotentParameterMismatch"):
        launch(3, ClientToken="token")
    assert len(api.instances()) == 2


def test_a_token_returns_its_machines_after_their_end(launch: Launch, ec2: Any, api: EC2Api) -> None:
    first = launch(2, ClientToken="token")
    ec2.terminate_instances(InstanceIds=first)
    assert launch(2, ClientToken="token") == first
    assert api.live_instances() == []


def test_a_refused_launch_leaves_its_token_free(launch: Launch, api: EC2Api) -> None:
    api.set_capacity("m5.large", 0)
    with pytest.raises(ClientError):
        launch(ClientToken="token")
    api.set_capacity("m5.large", 1)
    assert len(launch(ClientToken="token")) == 1


def test_as_many_as_there_are(launch: Launch, ec2: Any, api: EC2Api) -> None:
    api.set_capacity("m5.large", 5)
    machines = launch(4, 6)
    assert len(machines) == 5
    with pytest.raises(ClientError, match=r"InsufficientInstanceCapacity.*m5.large"):
        launch(1, 2)
    ec2.terminate_instances(InstanceIds=machines[:2])
    assert len(launch(1, 3)) == 2


def test_capacity_of_another_type_is_not_touched(launch: Launch, api: EC2Api) -> None:
    api.set_capacity("m5.large", 0)
    assert len(launch(3, InstanceType="m5.xlarge")) == 3


def test_spot_alone_may_be_refused(launch: Launch, api: EC2Api) -> None:
    api.set_capacity("m5.large", 1, market="spot")
    assert len(launch(1, 3, InstanceMarketOptions=SPOT)) == 1
    with pytest.raises(ClientError, match=r"no Spot capacity"):
        launch(InstanceMarketOptions=SPOT)
    assert len(launch(3)) == 3
    assert [one.market for one in api.instances()] == ["spot", "on-demand", "on-demand", "on-demand"]


def test_a_zone_alone_may_be_full(launch: Launch, api: EC2Api) -> None:
    api.set_capacity("m5.large", 0, zone="us-east-1a")
    with pytest.raises(ClientError, match=r"us-east-1a"):
        launch()
    launch(SubnetId=api.subnet_ids[1])
    assert [one.zone for one in api.live_instances()] == ["us-east-1b"]


def test_user_data_is_limited(launch: Launch) -> None:
    with pytest.raises(ClientError, match=r"limited to 16384 bytes"):
        launch(UserData="#" * 16385)
    assert launch(UserData="#" * 16384)


def test_a_rehearsal_launches_nothing(launch: Launch, api: EC2Api) -> None:
    with pytest.raises(ClientError, match=r"DryRunOperation"):
        launch(DryRun=True)
    assert api.instances() == []


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"ImageId": "ami-0000000000000dead"}, r"InvalidAMIID"),
        ({"InstanceType": "m5.gigantic"}, r"InvalidInstanceType|InvalidParameterValue"),
        ({"SubnetId": "subnet-0dead"}, r"InvalidSubnetID.NotFound"),
        ({"SecurityGroupIds": ["sg-0dead"]}, r"InvalidGroup.NotFound|InvalidSecurityGroup"),
        ({"IamInstanceProfile": {"Name": "unknown"}}, r"NoSuchEntity|InvalidParameterValue"),
    ],
)
def test_what_does_not_exist_is_refused(
    launch: Launch, api: EC2Api, request_: dict[str, Any], code: str
) -> None:
    with pytest.raises(ClientError, match=code):
        launch(**request_)
    assert api.instances() == []


def test_each_machine_has_profile_and_volume_as_asked(launch: Launch, ec2: Any, api: EC2Api) -> None:
    tags = [{"ResourceType": kind, "Tags": [{"Key": "k", "Value": "v"}]} for kind in ("instance", "volume")]
    machines = launch(
        3,
        IamInstanceProfile={"Name": api.instance_profile},
        BlockDeviceMappings=[{"DeviceName": "/dev/sda1", "Ebs": {"Encrypted": True, "VolumeType": "gp3"}}],
        TagSpecifications=tags,
    )
    found = ec2.describe_instances(InstanceIds=machines)["Reservations"][0]["Instances"]
    assert all(one["IamInstanceProfile"]["Arn"].endswith(api.instance_profile) for one in found)
    volumes = ec2.describe_volumes(Filters=[{"Name": "tag:k", "Values": ["v"]}])["Volumes"]
    assert [volume["Encrypted"] for volume in volumes] == [True] * 3
    ec2.terminate_instances(InstanceIds=machines)
    assert ec2.describe_volumes(Filters=[{"Name": "tag:k", "Values": ["v"]}])["Volumes"] == []


def test_a_launch_template_says_what_the_request_leaves_out(ec2: Any, api: EC2Api) -> None:
    ec2.create_launch_template(
        LaunchTemplateName="workers",
        LaunchTemplateData={"InstanceType": "c5.xlarge", "ImageId": api.image_id},
    )
    api.set_capacity("c5.xlarge", 1)
    request = {
        "LaunchTemplate": {"LaunchTemplateName": "workers"},
        "SubnetId": api.subnet_ids[0],
        "MinCount": 1,
        "MaxCount": 2,
    }
    found = ec2.run_instances(**request)["Instances"]
    assert [(one["InstanceType"], one["ImageId"]) for one in found] == [("c5.xlarge", api.image_id)]


def test_a_spot_machine_is_taken_back(launch: Launch, ec2: Any, api: EC2Api) -> None:
    [machine] = launch(InstanceMarketOptions=SPOT)
    api.interrupt_spot(machine)
    [found] = ec2.describe_instances(InstanceIds=[machine])["Reservations"][0]["Instances"]
    assert found["State"]["Name"] == "terminated"
    assert found["StateReason"]["Code"] == "Server.SpotInstanceTermination"
    assert found["InstanceLifecycle"] == "spot"


def test_only_spot_machines_are_taken_back(launch: Launch, api: EC2Api) -> None:
    [machine] = launch()
    with pytest.raises(ValueError, match=r"no spot instance"):
        api.interrupt_spot(machine)


def test_a_price_limit_below_the_market_is_refused(launch: Launch) -> None:
    with pytest.raises(ClientError, match=r"SpotMaxPriceTooLow"):
        launch(InstanceMarketOptions={**SPOT, "SpotOptions": {"MaxPrice": "0.001"}})


def test_managed_machines_pass_through_their_states() -> None:
    with EC2Api(managed=True) as api:
        ec2 = api.client()
        what: dict[str, Any] = {
            "ImageId": api.image_id,
            "InstanceType": "m5.large",
            "MinCount": 1,
            "MaxCount": 1,
        }
        machine = ec2.run_instances(SubnetId=api.subnet_ids[0], **what)["Instances"][0]
        assert machine["State"]["Name"] == "pending"
        instance_id = machine["InstanceId"]
        api.set_state(instance_id, "running")
        ec2.terminate_instances(InstanceIds=[instance_id])
        ec2.terminate_instances(InstanceIds=[instance_id])
        assert [one.state for one in api.instances()] == ["shutting-down"]
        api.set_state(instance_id, "terminated")
        assert api.instances()[0].private_address is None
