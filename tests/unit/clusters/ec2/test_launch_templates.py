import pytest

from airflow_provider_ernest.clusters.ec2.preflight import Image
from airflow_provider_ernest.clusters.ec2.requests import (
    TemplateNetwork,
    check_template,
    network_of,
    root_device_of,
    volumes_of,
)
from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError

IMAGE = Image(
    id="ami-12345678", root_device="/dev/xvda", architecture="x86_64", volumes=("/dev/sdb", "/dev/sdc")
)
SAFE = {"Encrypted": True, "DeleteOnTermination": True}


def make_spec(**changes):
    return EC2ClusterSpec(
        machines=1, instance_type="m5.large", launch_template="mine", image=IMAGE.id, **changes
    )


@pytest.mark.parametrize("groups", [{"SecurityGroupIds": ["sg-1"]}, {"SecurityGroups": ["ours"]}])
def test_groups_of_the_machine_beside_interfaces_are_refused(groups):
    check_template("mine", groups)
    with pytest.raises(InvalidParameterError, match=r"in the interfaces only"):
        check_template("mine", {"NetworkInterfaces": [{"DeviceIndex": 0}], **groups})


def test_an_existing_interface_is_refused_since_it_serves_one_machine():
    interface = {"DeviceIndex": 0, "NetworkInterfaceId": "eni-1"}
    with pytest.raises(InvalidParameterError, match=r"eni-1, which only one machine"):
        check_template("mine", {"NetworkInterfaces": [interface]})


def test_a_template_without_a_word_on_the_network_leaves_it_open():
    assert network_of({}, named_groups=()) == TemplateNetwork()
    network = network_of({"NetworkInterfaces": [{"SubnetId": "subnet-1"}]}, named_groups=())
    assert network == TemplateNetwork(subnet="subnet-1")


def test_the_first_interface_is_that_of_the_lowest_index():
    further = {"DeviceIndex": 1, "SubnetId": "subnet-2"}
    first = {"DeviceIndex": 0, "SubnetId": "subnet-1", "Groups": ["sg-1"], "AssociatePublicIpAddress": False}
    assert network_of({"NetworkInterfaces": [further, first]}, named_groups=()) == TemplateNetwork(
        security_groups=("sg-1",),
        subnet="subnet-1",
        public_address=False,
        other_groups=("sg-1",),
        further_without_groups=True,
    )


def test_groups_by_name_are_the_machine_s_and_may_stay_beside_the_specification_s():
    network = network_of({"SecurityGroupIds": ["sg-1"], "SecurityGroups": ["ours"]}, named_groups=("sg-2",))
    assert network.instance_level
    assert (network.security_groups, network.other_groups) == (("sg-1", "sg-2"), ("sg-2",))


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
    assert root_device_of(make_spec(), template, IMAGE) is None
    assert root_device_of(make_spec(volume_gigabytes=9), template, IMAGE) == "/dev/xvda"
    assert root_device_of(make_spec(), {}, IMAGE) == "/dev/xvda"
