from dataclasses import replace

import pytest
from botocore.validate import ParamValidator

from airflow_provider_ernest.clusters.ec2.requests import (
    ON_DEMAND,
    SPOT,
    Image,
    Place,
    Plan,
    check_template,
    root_device_of,
    run_instances_request,
    volumes_of,
)
from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError

SUBNET = "subnet-0123456789abcdef0"
GROUPS = ("sg-0123456789abcdef0", "sg-12345678")
TAGS = {"ernest:cluster": "ernest-1", "Name": "ernest-1 worker"}
IMAGE = Image(
    id="ami-12345678", root_device="/dev/xvda", architecture="x86_64", volumes=("/dev/sdb", "/dev/sdc")
)
SAFE = {"Encrypted": True, "DeleteOnTermination": True}
# What AWS would say of the specification.
PLAN = Plan(
    image=IMAGE,
    root_device="/dev/xvda",
    instance_types={},
    subnets=(SUBNET,),
    security_groups=GROUPS,
    volumes={},
    launch_template=None,
)


@pytest.fixture
def request_of(bed):
    """Makes a request that boto3 accepts."""
    shape = bed.client().meta.service_model.operation_model("RunInstances").input_shape

    def make(*, market=ON_DEMAND, plan=None, late_tags=None, **changes):
        spec = make_spec(**changes)
        if late_tags:
            object.__setattr__(spec, "tags", late_tags)
        request = run_instances_request(
            spec,
            replace(PLAN, **(plan or {})),
            place=Place(instance_type="m5a.large", subnet=SUBNET, market=market),
            minimum=2,
            maximum=5,
            user_data="#!/bin/bash\n",
            tags=TAGS,
        )
        report = ParamValidator().validate(request, shape)
        assert not report.has_errors(), report.generate_report()
        return request

    return make


def make_spec(**changes):
    values = {
        "machines": 4,
        "instance_type": "m5.large",
        "image": "ami-12345678",
        "subnets": (SUBNET,),
        "security_groups": GROUPS,
    }
    return EC2ClusterSpec(**{**values, **changes})


def test_a_machine_on_demand_ends_for_good_and_is_launched_where_it_is_asked_for(request_of):
    request = request_of()
    assert request["InstanceInitiatedShutdownBehavior"] == "terminate"
    assert request["DisableApiTermination"] is False
    assert (request["MinCount"], request["MaxCount"]) == (2, 5)
    assert (request["InstanceType"], request["ImageId"]) == ("m5a.large", "ami-12345678")
    assert "InstanceMarketOptions" not in request
    assert request["MetadataOptions"] == {
        "HttpEndpoint": "enabled",
        "HttpTokens": "required",
        "HttpPutResponseHopLimit": 1,
    }


def test_spot_instances_are_asked_for_once_and_not_stopped(request_of):
    request = request_of(market=SPOT)
    assert request["InstanceInitiatedShutdownBehavior"] == "terminate"
    assert request["InstanceMarketOptions"] == {
        "MarketType": "spot",
        "SpotOptions": {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"},
    }
    assert "DisableApiTermination" not in request  # AWS refuses it for spot instances


@pytest.mark.parametrize("public", [True, False])
def test_machines_have_a_public_address_only_if_asked(request_of, public):
    request = request_of(public_address=public)
    (interface,) = request["NetworkInterfaces"]
    assert interface["AssociatePublicIpAddress"] is public
    assert interface["DeviceIndex"] == 0
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


@pytest.mark.parametrize(
    ("market", "resources"),
    [(ON_DEMAND, ["instance", "volume"]), (SPOT, ["instance", "volume", "spot-instances-request"])],
)
def test_all_that_costs_carries_the_tags_and_ours_win(request_of, market, resources):
    # The specification refuses such names; a request must not rely on it.
    tags = {"team": "a"}
    request = request_of(market=market, tags=tags, late_tags={**tags, "ernest:cluster": "another"})
    assert [one["ResourceType"] for one in request["TagSpecifications"]] == resources
    for one in request["TagSpecifications"]:
        assert {tag["Key"]: tag["Value"] for tag in one["Tags"]} == {**TAGS, "team": "a"}


def test_a_launch_template_keeps_what_is_not_set(request_of):
    pinned = {"LaunchTemplateId": "lt-0123456789abcdef0", "Version": "7"}
    request = request_of(
        launch_template="spark",
        plan={"launch_template": pinned, "root_device": None},
        image=None,
    )
    assert request["LaunchTemplate"] == pinned
    left_to_it = {"ImageId", "BlockDeviceMappings", "KeyName", "IamInstanceProfile"}
    assert not left_to_it & set(request)


@pytest.mark.parametrize(
    ("profile", "key"),
    [("spark", "Name"), ("arn:aws:iam::123456789012:instance-profile/spark", "Arn")],
)
def test_an_instance_profile_is_named_or_given_by_arn(request_of, profile, key):
    request = request_of(instance_profile=profile, key_name="ann")
    assert request["IamInstanceProfile"] == {key: profile}
    assert request["KeyName"] == "ann"


@pytest.mark.parametrize(
    ("template", "named"),
    [
        ({"SecurityGroupIds": ["sg-1"]}, r"security groups of the machine"),
        ({"SecurityGroups": ["ours"]}, r"security groups of the machine"),
        ({"NetworkInterfaces": [{"NetworkInterfaceId": "eni-1"}]}, r"an existing one"),
        ({"NetworkInterfaces": [{"DeviceIndex": 0}, {"DeviceIndex": 1}]}, r"several network interfaces"),
    ],
)
def test_what_no_machines_of_a_cluster_could_be_launched_with_is_refused(template, named):
    with pytest.raises(InvalidParameterError, match=named):
        check_template("mine", template)


def test_all_ebs_volumes_are_encrypted_and_go_with_the_machine():
    template = {
        "BlockDeviceMappings": [
            {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 50, "Encrypted": False}},
            {"DeviceName": "/dev/sdb", "NoDevice": ""},
            {"DeviceName": "/dev/sdd", "Ebs": {"SnapshotId": "snap-1", "DeleteOnTermination": False}},
            {"DeviceName": "/dev/sde", "VirtualName": "ephemeral0"},
        ]
    }
    assert volumes_of(template, IMAGE) == {
        "/dev/xvda": {"VolumeSize": 50, **SAFE},
        "/dev/sdd": {"SnapshotId": "snap-1", **SAFE},
        "/dev/sdc": SAFE,
    }


def test_the_root_volume_is_the_specification_s_where_it_describes_one():
    template = {"BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 50}}]}
    assert root_device_of(make_spec(launch_template="mine"), template, IMAGE) is None
    assert (
        root_device_of(make_spec(launch_template="mine", volume_gigabytes=9), template, IMAGE) == "/dev/xvda"
    )
    assert root_device_of(make_spec(launch_template="mine"), {}, IMAGE) == "/dev/xvda"
