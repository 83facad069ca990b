import logging

import pytest
from botocore.stub import Stubber

from airflow_provider_ernest.clusters.ec2.preflight import (
    check_before_launch,
    resolve_image,
)
from airflow_provider_ernest.clusters.ec2.requests import InstanceType, executor_memory_megabytes
from airflow_provider_ernest.exceptions import ClusterError, InvalidParameterError, MissingResourceError

UNKNOWN_IMAGE = "ami-0123456789abcdef0"


def check(bed, **changes):
    return check_before_launch(bed.spec(**changes), ec2=bed.client(), ssm=lambda: bed.client("ssm"))


def group(bed, *sources, protocol="tcp", vpc=None):
    """A security group with a rule for each source; its id."""
    ec2 = bed.client()
    vpc = vpc or ec2.describe_subnets(SubnetIds=[bed.api.subnet_ids[0]])["Subnets"][0]["VpcId"]
    made = ec2.create_security_group(GroupName="a group", Description="a group", VpcId=vpc)["GroupId"]
    for source in sources:
        ipv6 = {"Ipv6Ranges": [{"CidrIpv6": source}]}
        permission = ipv6 if ":" in source else {"IpRanges": [{"CidrIp": source}]}
        permission |= {"IpProtocol": protocol, "FromPort": 22, "ToPort": 22}
        ec2.authorize_security_group_ingress(GroupId=made, IpPermissions=[permission])
    return made


def template(bed, name="mine", **data):
    """A launch template that names the image, and what else is given; its id."""
    data = {"ImageId": bed.api.image_id, **data}
    created = bed.client().create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)
    return created["LaunchTemplate"]["LaunchTemplateId"]


def test_what_exists_and_fits_is_planned_without_any_launch(bed):
    plan = check(bed, fallback_instance_types=("m5.xlarge",), master_instance_type="t3.micro")
    assert plan.image.id == bed.api.image_id
    assert plan.root_device == plan.image.root_device
    assert set(plan.instance_types) == {"m5.large", "m5.xlarge", "t3.micro"}
    assert not bed.api.instances()


def test_a_worker_offers_what_its_type_has_unless_less_is_stated(bed):
    plan = check(bed)
    cores, memory = plan.offered(bed.spec(), "m5.large")
    assert (cores, 6000 < memory < 7000) == (2, True), "of 8 GB"
    stated = bed.spec(cores_per_machine=1, memory_megabytes_per_machine=512)
    assert plan.offered(stated, "m5.large") == (1, 512)


@pytest.mark.parametrize(
    "source", ["0.0.0.0/0", "::/0", "128.0.0.0/1", "2000::/3", "10.0.0.0/7", "52.0.0.0/16", "2600::/32"]
)
def test_a_group_that_is_open_to_the_world_is_refused(bed, source):
    with pytest.raises(InvalidParameterError, match=r"security_groups=.*lets in all of") as caught:
        check(bed, security_groups=(bed.api.security_group_id, group(bed, source)))
    assert source in str(caught.value)
    assert "Take that rule out" in caught.value.remedy


def test_the_start_refuses_a_world_open_group_before_anything_is_launched(bed):
    with pytest.raises(InvalidParameterError, match=r"0\.0\.0\.0/0 to ports 22 to 22"):
        bed.cluster(bed.spec(security_groups=(bed.api.open_security_group_id,))).start()
    assert not bed.api.instances()


def test_private_ranges_and_single_sites_are_allowed(bed):
    sources = ("10.0.0.0/8", "172.16.0.0/12", "100.64.0.0/10", "fd00::/8", "52.94.7.0/24", "2600:1f14:1::/48")
    check(bed, security_groups=(group(bed, *sources, protocol="-1"),))


def test_a_launch_template_is_pinned_to_the_version_that_was_checked(bed):
    """Whoever may change "$Latest" meanwhile must not put in a group that is open to the world."""
    made = template(bed)

    class Changing:
        def __getattr__(self, name):
            return getattr(bed.client(), name)

        def run_instances(self, **request):
            interface = {"DeviceIndex": 0, "Groups": [bed.api.open_security_group_id]}
            data = {"ImageId": bed.api.image_id, "NetworkInterfaces": [interface]}
            bed.client().create_launch_template_version(LaunchTemplateId=made, LaunchTemplateData=data)
            asked.append(request["LaunchTemplate"])
            return bed.client().run_instances(**request)

    asked: list[dict[str, str]] = []
    spec = bed.spec(image=None, launch_template="mine", launch_template_version="$Latest")
    bed.launched(spec, client=lambda service="ec2": Changing())
    assert asked == [{"LaunchTemplateId": made, "Version": "1"}] * 2


def test_a_launch_template_may_name_the_network_and_is_judged_alike(bed):
    opened = bed.api.open_security_group_id
    interface = {"DeviceIndex": 0, "SubnetId": bed.api.subnet_ids[0], "Groups": [opened]}
    template(bed, NetworkInterfaces=[interface])
    changes = {"launch_template": "mine", "subnets": (), "security_groups": ()}
    with pytest.raises(InvalidParameterError, match=r"0\.0\.0\.0/0"):
        check(bed, **changes)
    plan = check(bed, **changes | {"security_groups": (bed.api.security_group_id,)})
    assert (plan.subnets, plan.security_groups) == ((bed.api.subnet_ids[0],), (bed.api.security_group_id,))
    template(bed, "silent")
    for name in ("subnets", "security_groups"):
        with pytest.raises(InvalidParameterError, match=rf"{name}=\(\) and no launch template names one"):
            check(bed, launch_template="silent", **{name: ()})


def test_subnets_and_groups_must_be_of_one_vpc(bed):
    ec2 = bed.client()
    vpc = ec2.create_vpc(CidrBlock="10.99.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.99.1.0/24")["Subnet"]["SubnetId"]
    with pytest.raises(InvalidParameterError, match=rf"subnets to .*{vpc}"):
        check(bed, subnets=(bed.api.subnet_ids[0], subnet))
    with pytest.raises(InvalidParameterError, match=rf"belongs to the VPC {vpc}"):
        check(bed, security_groups=(group(bed, vpc=vpc),))


def test_a_launch_template_names_image_and_volume(bed):
    device = check(bed).image.root_device
    volume = {"DeviceName": device, "Ebs": {"VolumeSize": 50, "Encrypted": True}}
    template(bed, BlockDeviceMappings=[volume])
    plan = check(bed, image=None, launch_template="mine")
    assert (plan.image.id, plan.root_device) == (bed.api.image_id, None)


def test_a_prefix_list_in_a_group_is_warned_of(bed, caplog):
    ec2 = bed.client()
    made = ec2.create_managed_prefix_list(PrefixListName="office", MaxEntries=1, AddressFamily="IPv4")
    listed, own = made["PrefixList"]["PrefixListId"], group(bed)
    permission = {
        "IpProtocol": "tcp",
        "FromPort": 22,
        "ToPort": 22,
        "PrefixListIds": [{"PrefixListId": listed}],
    }
    ec2.authorize_security_group_ingress(GroupId=own, IpPermissions=[permission])
    with caplog.at_level(logging.WARNING):
        check(bed, security_groups=(own,))
    assert f"{own} lets in the prefix list {listed} to ports 22 to 22" in caplog.text


def test_a_template_must_not_make_the_master_a_spot_instance(bed):
    template(bed, InstanceMarketOptions={"MarketType": "spot"})
    for spot in (True, False):
        with pytest.raises(InvalidParameterError, match=r"InstanceMarketOptions.*set spot=True"):
            check(bed, launch_template="mine", spot=spot)
    assert not bed.api.instances()


def test_no_volume_of_a_template_is_left_behind_or_readable(bed):
    left = {"VolumeSize": 9, "VolumeType": "gp3", "DeleteOnTermination": False, "Encrypted": False}
    mappings = [
        {"DeviceName": "/dev/sdb", "Ebs": left},
        {"DeviceName": "/dev/sdc", "VirtualName": "ephemeral0"},
    ]
    template(bed, BlockDeviceMappings=mappings)
    cluster = bed.cluster(bed.spec(launch_template="mine"))
    cluster.start()
    ec2 = bed.client()
    volumes = [one for one in ec2.describe_volumes()["Volumes"] if one["Size"] == 9]
    assert len(volumes) == 4
    assert all(one["Encrypted"] for one in volumes)
    cluster.terminate()
    assert not [one for one in ec2.describe_volumes()["Volumes"] if one["Size"] == 9]


@pytest.mark.parametrize(
    ("changes", "error", "named"),
    [
        ({"subnets": ("subnet-0123456789abcdef0",)}, InvalidParameterError, r"subnets=.*subnet-0123"),
        ({"security_groups": ("sg-0123456789abcdef0",)}, InvalidParameterError, r"security_groups=.*sg-0123"),
        ({"instance_type": "m9.huge"}, InvalidParameterError, r"instance_type='m9\.huge' .*not known to AWS"),
        ({"fallback_instance_types": ("m9.huge",)}, InvalidParameterError, r"instance_type=.*\[m9\.huge\]"),
        ({"instance_type": "m6g.large"}, InvalidParameterError, r"arm64.*x86_64"),
        ({"image": UNKNOWN_IMAGE}, InvalidParameterError, rf"image='{UNKNOWN_IMAGE}' .*the region"),
        ({"image": "/team/nothing"}, InvalidParameterError, r"image='/team/nothing' .*ParameterNotFound"),
        ({"launch_template": "theirs"}, InvalidParameterError, r"launch_template='theirs'"),
    ],
)
def test_what_does_not_exist_or_does_not_fit_is_named(bed, changes, error, named):
    with pytest.raises(error, match=named):
        check(bed, **changes)


def test_an_image_that_nobody_names_is_missed(bed):
    bed.client().create_launch_template(
        LaunchTemplateName="imageless", LaunchTemplateData={"InstanceType": "m5.large"}
    )
    with pytest.raises(InvalidParameterError, match=r"image=None"):
        check(bed, image=None, launch_template="imageless")


@pytest.mark.parametrize(
    ("action", "asked"),
    [
        ("DescribeSubnets", "subnets="),
        ("DescribeSecurityGroups", "security_groups="),
        ("DescribeImages", "image='/ernest/testbed/image: ami-"),
        ("DescribeInstanceTypes", "instance_type="),
        ("GetParameter", "image='/ernest/testbed/image'"),
    ],
)
def test_a_missing_permission_and_a_busy_aws_are_told_apart(bed, action, asked):
    bed.api.fail(action, code="UnauthorizedOperation", status=403)
    with pytest.raises(MissingResourceError, match=rf"{asked}.*UnauthorizedOperation.*IAM policy"):
        check(bed, image=bed.api.image_parameter)
    bed.api.fail(action, code="RequestLimitExceeded", status=503)
    with pytest.raises(ClusterError, match=rf"{asked}.*RequestLimitExceeded"):
        check(bed, image=bed.api.image_parameter)


def test_an_image_is_named_by_a_parameter_whose_value_is_not_shown(bed):
    ssm = bed.client("ssm")

    def check_named(value):
        ssm.put_parameter(Name="/team/spark", Type="String", Overwrite=True, Value=value)
        return check(bed, image="/team/spark")

    assert check_named(bed.api.image_id).image.id == bed.api.image_id
    with pytest.raises(InvalidParameterError, match=rf"image='/team/spark: {UNKNOWN_IMAGE}' is not known"):
        check_named(UNKNOWN_IMAGE)
    with pytest.raises(MissingResourceError, match=r"/team/spark holds no AMI id") as caught:
        check_named("swordfish")
    assert "swordfish" not in str(caught.value)


def resolve_stubbed(bed, *images):
    """Resolve an image of which AWS answers that."""
    facts = {
        "ImageId": UNKNOWN_IMAGE,
        "State": "available",
        "RootDeviceName": "/dev/xvda",
        "Architecture": "arm64",
    }
    ec2 = bed.client()
    with Stubber(ec2) as stubber:
        # Deprecated and disabled images are hidden from those who do not ask for them.
        asked = {"ImageIds": [UNKNOWN_IMAGE], "IncludeDeprecated": True, "IncludeDisabled": True}
        stubber.add_response("describe_images", {"Images": [facts | image for image in images]}, asked)
        return resolve_image(UNKNOWN_IMAGE, ec2=ec2, ssm=lambda: pytest.fail("an id needs no parameter"))


@pytest.mark.parametrize(
    ("images", "error", "named"),
    [
        ([], InvalidParameterError, r"does not exist"),
        (
            [{"State": "disabled", "StateReason": {"Message": "no snapshot"}}],
            MissingResourceError,
            rf"{UNKNOWN_IMAGE} is disabled, .*: no snapshot",
        ),
        ([{"Platform": "windows"}], InvalidParameterError, rf"image='{UNKNOWN_IMAGE}' .*Windows.*Linux"),
    ],
)
def test_an_image_that_cannot_be_used_is_refused_with_the_reason(bed, images, error, named):
    with pytest.raises(error, match=named):
        resolve_stubbed(bed, *images)


def test_further_volumes_are_those_of_ebs(bed):
    mappings = [
        {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 8}},
        {"DeviceName": "/dev/sdb", "Ebs": {"VolumeSize": 100, "DeleteOnTermination": False}},
        {"DeviceName": "/dev/sdc", "VirtualName": "ephemeral0"},
    ]
    image = resolve_stubbed(bed, {"BlockDeviceMappings": mappings})
    assert (image.id, image.root_device, image.architecture) == (UNKNOWN_IMAGE, "/dev/xvda", "arm64")
    assert image.volumes == ("/dev/sdb",)


@pytest.mark.parametrize("memory_megabytes", [1024, 2048, 16384, 1179648])
def test_heap_and_what_lies_beside_it_fit_on_the_machine(memory_megabytes):
    heap = executor_memory_megabytes(InstanceType(name="x.y", cores=2, memory_megabytes=memory_megabytes))
    assert heap >= 450  # the least that Spark accepts
    left = memory_megabytes - 1.1 * heap
    assert min(1024, memory_megabytes / 2) <= left < min(1024, memory_megabytes / 2) + 2


def test_a_machine_too_small_for_an_executor_is_refused():
    with pytest.raises(InvalidParameterError, match=r"instance_type='x\.y' has 512 MB .*Spark needs 450"):
        executor_memory_megabytes(InstanceType(name="x.y", cores=2, memory_megabytes=512))
