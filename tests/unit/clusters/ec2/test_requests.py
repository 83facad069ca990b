from dataclasses import replace

import boto3
import pytest
from botocore.validate import ParamValidator

from airflow_provider_ernest.clusters.ec2.preflight import Image, Plan
from airflow_provider_ernest.clusters.ec2.requests import (
    ON_DEMAND,
    SPOT,
    Place,
    TemplateNetwork,
    run_instances_request,
)
from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError

SUBNET = "subnet-0123456789abcdef0"
GROUPS = ("sg-0123456789abcdef0", "sg-12345678")
TAGS = {"ernest:cluster": "ernest-1", "Name": "ernest-1 worker"}


@pytest.fixture(scope="module")
def client():
    return boto3.client(
        "ec2", region_name="us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing"
    )


@pytest.fixture
def request_of(client):
    """Makes a request that boto3 accepts."""
    shape = client.meta.service_model.operation_model("RunInstances").input_shape

    def make(
        *,
        market=ON_DEMAND,
        subnet=SUBNET,
        plan=None,
        **changes,
    ):
        request = run_instances_request(
            make_spec(**changes),
            plan_of(**(plan or {})),
            place=Place(instance_type="m5a.large", subnet=subnet, market=market),
            minimum=2,
            maximum=5,
            user_data="#!/bin/bash\n",
            tags=TAGS,
        )
        report = ParamValidator().validate(request, shape)
        assert not report.has_errors(), report.generate_report()
        return request

    return make


def plan_of(**changes):
    """What AWS would say of the specification."""
    plan = Plan(
        image=Image(id="ami-12345678", root_device="/dev/xvda", architecture="x86_64"),
        root_device="/dev/xvda",
        instance_types={},
        network=TemplateNetwork(),
        volumes={},
        launch_template=None,
    )
    return replace(plan, **changes)


def make_spec(**changes):
    values = {
        "machines": 4,
        "instance_type": "m5.large",
        "image": "ami-12345678",
        "subnets": (SUBNET,),
        "security_groups": GROUPS,
    }
    return EC2ClusterSpec(**{**values, **changes})


def test_a_machine_that_shuts_down_is_gone(request_of):
    for market in (ON_DEMAND, SPOT):
        assert request_of(market=market)["InstanceInitiatedShutdownBehavior"] == "terminate"


def test_what_is_asked_for_and_where(request_of):
    request = request_of()
    assert (request["MinCount"], request["MaxCount"]) == (2, 5)
    assert (request["InstanceType"], request["ImageId"]) == ("m5a.large", "ami-12345678")
    assert request["DisableApiTermination"] is False
    assert "InstanceMarketOptions" not in request


def test_the_metadata_service_wants_tokens_and_answers_no_containers(request_of):
    assert request_of()["MetadataOptions"] == {
        "HttpEndpoint": "enabled",
        "HttpTokens": "required",
        "HttpPutResponseHopLimit": 1,
    }


@pytest.mark.parametrize("public", [True, False])
def test_machines_have_a_public_address_only_if_asked(request_of, public):
    request = request_of(public_address=public)
    (interface,) = request["NetworkInterfaces"]
    assert interface["AssociatePublicIpAddress"] is public
    assert (interface["SubnetId"], interface["Groups"]) == (SUBNET, list(GROUPS))
    assert "SubnetId" not in request
    assert "SecurityGroupIds" not in request


def test_the_root_volume_is_encrypted_and_goes_with_the_machine(request_of):
    (mapping,) = request_of(volume_gigabytes=50, volume_type="gp2", volume_key="alias/data")[
        "BlockDeviceMappings"
    ]
    assert mapping == {
        "DeviceName": "/dev/xvda",
        "Ebs": {
            "Encrypted": True,
            "DeleteOnTermination": True,
            "VolumeType": "gp2",
            "VolumeSize": 50,
            "KmsKeyId": "alias/data",
        },
    }
    assert "VolumeSize" not in request_of()["BlockDeviceMappings"][0]["Ebs"]


def test_a_volume_that_cannot_be_applied_is_refused(request_of):
    with pytest.raises(InvalidParameterError, match=r"volume_gigabytes=50.*root device"):
        request_of(launch_template="spark", plan={"root_device": None}, volume_gigabytes=50)


def test_spot_instances_are_asked_for_once_and_not_stopped(request_of):
    request = request_of(market=SPOT)
    assert request["InstanceMarketOptions"] == {
        "MarketType": "spot",
        "SpotOptions": {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"},
    }
    assert "DisableApiTermination" not in request  # AWS refuses it for spot instances


@pytest.mark.parametrize(
    ("market", "resources"),
    [(ON_DEMAND, ["instance", "volume"]), (SPOT, ["instance", "volume", "spot-instances-request"])],
)
def test_all_that_costs_carries_the_tags_and_ours_win(request_of, market, resources):
    # The specification refuses such names; a request must not rely on it.
    specification = make_spec(tags={"team": "a"})
    object.__setattr__(specification, "tags", {"team": "a", "ernest:cluster": "another"})
    request = run_instances_request(
        specification,
        plan_of(),
        place=Place(instance_type="m5.large", subnet=SUBNET, market=market),
        minimum=1,
        maximum=1,
        user_data="",
        tags=TAGS,
    )
    assert [one["ResourceType"] for one in request["TagSpecifications"]] == resources
    for one in request["TagSpecifications"]:
        assert {tag["Key"]: tag["Value"] for tag in one["Tags"]} == {**TAGS, "team": "a"}


def test_a_launch_template_keeps_what_is_not_set(request_of):
    pinned = {"LaunchTemplateId": "lt-0123456789abcdef0", "Version": "7"}
    request = request_of(
        launch_template="spark",
        plan={"launch_template": pinned, "root_device": None},
        image=None,
        subnets=(),
        security_groups=(),
        subnet=None,
    )
    assert request["LaunchTemplate"] == pinned
    left_to_it = {"ImageId", "NetworkInterfaces", "BlockDeviceMappings", "KeyName", "IamInstanceProfile"}
    assert not left_to_it & set(request)


def test_security_groups_override_those_of_a_template_in_its_own_subnet(request_of):
    (interface,) = request_of(launch_template="spark", subnets=(), subnet=None)["NetworkInterfaces"]
    assert interface["Groups"] == list(GROUPS)
    assert "SubnetId" not in interface


@pytest.mark.parametrize("own", [GROUPS, ()])
def test_no_interface_is_asked_for_beside_a_template_s_groups_of_the_machine(request_of, own):
    network = TemplateNetwork(security_groups=("sg-99999999",), instance_level=True)
    request = request_of(launch_template="spark", security_groups=own, plan={"network": network})
    assert "NetworkInterfaces" not in request  # AWS refuses both in one request
    assert request["SubnetId"] == SUBNET
    assert request["SecurityGroupIds"] == list(own or ("sg-99999999",))


def test_an_interface_repeats_what_it_might_replace_of_the_template_s(request_of):
    network = TemplateNetwork(security_groups=("sg-99999999",), subnet="subnet-99999999")
    (interface,) = request_of(launch_template="spark", security_groups=(), plan={"network": network})[
        "NetworkInterfaces"
    ]
    assert (interface["SubnetId"], interface["Groups"]) == (SUBNET, ["sg-99999999"])
    (interface,) = request_of(launch_template="spark", subnets=(), subnet=None, plan={"network": network})[
        "NetworkInterfaces"
    ]
    assert (interface["SubnetId"], interface["Groups"]) == ("subnet-99999999", list(GROUPS))


def test_the_other_volumes_follow_the_root_volume(request_of):
    safe = {"Encrypted": True, "DeleteOnTermination": True}
    volumes = {"/dev/xvda": {"VolumeSize": 1}, "/dev/sdb": {"VolumeSize": 500, **safe}}
    root, other = request_of(plan={"volumes": volumes}, volume_gigabytes=50)["BlockDeviceMappings"]
    assert (root["DeviceName"], root["Ebs"]["VolumeSize"]) == ("/dev/xvda", 50)
    assert other == {"DeviceName": "/dev/sdb", "Ebs": {"VolumeSize": 500, **safe}}


@pytest.mark.parametrize(
    ("profile", "key"),
    [("spark", "Name"), ("arn:aws:iam::123456789012:instance-profile/spark", "Arn")],
)
def test_an_instance_profile_is_named_or_given_by_arn(request_of, profile, key):
    request = request_of(instance_profile=profile, key_name="ann")
    assert request["IamInstanceProfile"] == {key: profile}
    assert request["KeyName"] == "ann"


def test_equal_specifications_make_equal_requests(request_of):
    first = request_of(market=SPOT, tags={"a": "1", "b": "2"}, volume_gigabytes=9)
    second = request_of(market=SPOT, tags={"b": "2", "a": "1"}, volume_gigabytes=9)
    assert repr(first) == repr(second)
