import logging

import pytest

from airflow_provider_ernest.clusters.ec2.preflight import check_before_launch
from airflow_provider_ernest.exceptions import ClusterError, InvalidParameterError, MissingResourceError


def check(bed, **changes):
    return check_before_launch(bed.spec(**changes), ec2=bed.client(), ssm=lambda: bed.client("ssm"))


def group(bed, *sources, protocol="tcp", vpc=None):
    """A security group with a rule for each source; its id."""
    ec2 = bed.client()
    vpc = vpc or ec2.describe_subnets(SubnetIds=[bed.api.subnet_ids[0]])["Subnets"][0]["VpcId"]
    made = ec2.create_security_group(GroupName="a group", Description="a group", VpcId=vpc)["GroupId"]
    for source in sources:
        ranges = (
            {"Ipv6Ranges": [{"CidrIpv6": source}]} if ":" in source else {"IpRanges": [{"CidrIp": source}]}
        )
        permission = {"IpProtocol": protocol, **ranges}
        if protocol != "-1":
            permission |= {"FromPort": 22, "ToPort": 22}
        ec2.authorize_security_group_ingress(GroupId=made, IpPermissions=[permission])
    return made


def template(bed, **data):
    created = bed.client().create_launch_template(LaunchTemplateName="mine", LaunchTemplateData=data)
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


def test_an_image_may_be_named_by_a_parameter(bed):
    assert check(bed, image=bed.api.image_parameter).image.id == bed.api.image_id


@pytest.mark.parametrize(
    "source",
    [
        "0.0.0.0/0",
        "::/0",
        "0.0.0.0/1",
        "128.0.0.0/1",
        "2000::/3",
        "3.0.0.0/8",
        "10.0.0.0/7",
        "52.0.0.0/16",
        "2600::/32",
    ],
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
    made = template(bed, ImageId=bed.api.image_id)

    class Changing:
        def __getattr__(self, name):
            return getattr(bed.client(), name)

        def run_instances(self, **request):
            data = {"ImageId": bed.api.image_id, "SecurityGroupIds": [bed.api.open_security_group_id]}
            bed.client().create_launch_template_version(LaunchTemplateId=made, LaunchTemplateData=data)
            asked.append(request["LaunchTemplate"])
            return bed.client().run_instances(**request)

    asked: list[dict[str, str]] = []
    spec = bed.spec(image=None, launch_template="mine", launch_template_version="$Latest")
    bed.cluster(spec, client=lambda service="ec2": Changing()).launch()
    assert asked == [{"LaunchTemplateId": made, "Version": "1"}] * 2


def test_an_opened_default_group_is_refused_where_no_group_is_named(bed):
    ec2 = bed.client()
    vpc = ec2.describe_subnets(SubnetIds=[bed.api.subnet_ids[0]])["Subnets"][0]["VpcId"]
    template(bed, ImageId=bed.api.image_id)
    changes = {"launch_template": "mine", "security_groups": ()}
    check(bed, **changes)
    found = ec2.describe_security_groups(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["SecurityGroups"]
    (default,) = [one["GroupId"] for one in found if one["GroupName"] == "default"]
    ec2.authorize_security_group_ingress(
        GroupId=default,
        IpPermissions=[{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}],
    )
    with pytest.raises(InvalidParameterError, match=rf"{default}.*0\.0\.0\.0/0"):
        check(bed, **changes)


def test_the_subnets_of_a_launch_template_tell_the_vpc(bed):
    vpc = bed.client().create_vpc(CidrBlock="10.99.0.0/16")["Vpc"]["VpcId"]
    interface = {"DeviceIndex": 0, "SubnetId": bed.api.subnet_ids[0], "Groups": [group(bed, vpc=vpc)]}
    template(bed, ImageId=bed.api.image_id, NetworkInterfaces=[interface])
    with pytest.raises(InvalidParameterError, match=rf"belongs to the VPC {vpc}"):
        check(bed, launch_template="mine", subnets=(), security_groups=())


def test_without_any_subnet_there_must_be_a_default_vpc(bed):
    template(bed, ImageId=bed.api.image_id)
    changes = {
        "launch_template": "mine",
        "subnets": (),
        "security_groups": (),
        "public_address": True,  # which the default VPC's subnets give
    }
    ec2 = bed.client()
    if not ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"]:
        with pytest.raises(InvalidParameterError, match=r"no default VPC"):
            check(bed, **changes)
        ec2.create_default_vpc()
    check(bed, **changes)


def test_unknown_subnets_and_groups_are_named(bed):
    with pytest.raises(InvalidParameterError, match=r"subnets=.*subnet-0123"):
        check(bed, subnets=("subnet-0123456789abcdef0",))
    with pytest.raises(InvalidParameterError, match=r"security_groups=.*sg-0123"):
        check(bed, security_groups=("sg-0123456789abcdef0",))


def test_subnets_and_groups_must_be_of_one_vpc(bed):
    ec2 = bed.client()
    vpc = ec2.create_vpc(CidrBlock="10.99.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.99.1.0/24")["Subnet"]["SubnetId"]
    with pytest.raises(InvalidParameterError, match=r"several VPCs"):
        check(bed, subnets=(bed.api.subnet_ids[0], subnet))
    with pytest.raises(InvalidParameterError, match=rf"belongs to the VPC {vpc}"):
        check(bed, security_groups=(group(bed, vpc=vpc),))


def test_an_image_of_another_architecture_is_refused(bed):
    with pytest.raises(InvalidParameterError, match=r"arm64.*x86_64"):
        check(bed, instance_type="m6g.large")


def test_unknown_types_and_images_are_named(bed):
    with pytest.raises(InvalidParameterError, match=r"m9\.huge"):
        check(bed, instance_type="m9.huge")
    with pytest.raises(MissingResourceError, match=r"ami-0123"):
        check(bed, image="ami-0123456789abcdef0")


def test_a_launch_template_names_image_groups_and_volume(bed):
    volume = {"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 50, "Encrypted": True}}
    template(
        bed,
        ImageId=bed.api.image_id,
        SecurityGroupIds=[bed.api.open_security_group_id],
        BlockDeviceMappings=[volume],
    )
    with pytest.raises(InvalidParameterError, match=r"0\.0\.0\.0/0"):
        check(bed, image=None, launch_template="mine", security_groups=())
    plan = check(bed, image=None, launch_template="mine")
    assert plan.image.id == bed.api.image_id
    described = plan.image.root_device == "/dev/sda1"
    assert plan.root_device == (None if described else plan.image.root_device)


def test_groups_of_the_machine_in_a_template_leave_the_public_address_to_the_subnet(bed):
    template(bed, ImageId=bed.api.image_id, SecurityGroupIds=[bed.api.security_group_id])
    for groups in ((), (bed.api.security_group_id,)):
        changes = {"launch_template": "mine", "security_groups": groups}
        check(bed, **changes)
        with pytest.raises(InvalidParameterError, match=r"public_address=True cannot be asked for"):
            check(bed, **changes, public_address=True)
    subnet = bed.api.subnet_ids[1]
    bed.client().modify_subnet_attribute(SubnetId=subnet, MapPublicIpOnLaunch={"Value": True})
    with pytest.raises(InvalidParameterError, match=rf"public_address=False .*{subnet} gives"):
        check(bed, **changes)


def test_a_template_with_groups_of_the_machine_launches_in_the_subnets(bed):
    template(bed, ImageId=bed.api.image_id, SecurityGroupIds=[bed.api.security_group_id])
    asked = []

    def client(service="ec2"):
        made = bed.client(service)
        event = "provide-client-params.ec2.RunInstances"
        made.meta.events.register(event, lambda params, **_: asked.append(params))
        return made

    bed.cluster(bed.spec(launch_template="mine", security_groups=()), client=client).start()
    # AWS refuses interfaces beside such groups; the test bed does not.
    assert asked
    assert not any("NetworkInterfaces" in params for params in asked)
    live = [{"Name": "instance-state-name", "Values": ["running"]}]
    found = bed.client().describe_instances(Filters=live)["Reservations"]
    machines = [machine for reservation in found for machine in reservation["Instances"]]
    assert len(machines) == 4
    for machine in machines:
        assert machine["SubnetId"] in bed.api.subnet_ids
        assert [one["GroupId"] for one in machine["SecurityGroups"]] == [bed.api.security_group_id]


def test_a_template_alone_may_give_no_public_address_that_was_not_asked_for(bed):
    subnet, changes = bed.api.subnet_ids[0], {"subnets": (), "security_groups": ()}
    for name, said in (("public", {"AssociatePublicIpAddress": True}), ("silent", {})):
        interface = {"DeviceIndex": 0, "SubnetId": subnet, "Groups": [bed.api.security_group_id], **said}
        data = {"ImageId": bed.api.image_id, "NetworkInterfaces": [interface]}
        bed.client().create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)
    with pytest.raises(InvalidParameterError, match=r"public_address=False .*network interface gives"):
        check(bed, launch_template="public", **changes)
    check(bed, launch_template="silent", **changes)
    bed.client().modify_subnet_attribute(SubnetId=subnet, MapPublicIpOnLaunch={"Value": True})
    with pytest.raises(InvalidParameterError, match=rf"public_address=False .*{subnet} gives"):
        check(bed, launch_template="silent", **changes)
    check(bed, launch_template="silent", **changes, public_address=True)
    # Where the specification names the groups, the requests say that there shall be no address.
    check(bed, launch_template="public", subnets=())


def test_a_template_alone_may_not_use_the_public_subnets_of_the_default_vpc(bed):
    ec2 = bed.client()
    if not ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"]:
        ec2.create_default_vpc()
    template(bed, ImageId=bed.api.image_id)
    default = ec2.describe_subnets(Filters=[{"Name": "default-for-az", "Values": ["true"]}])["Subnets"]
    for one in default[1:]:
        ec2.modify_subnet_attribute(SubnetId=one["SubnetId"], MapPublicIpOnLaunch={"Value": False})
    with pytest.raises(InvalidParameterError, match=rf"{default[0]['SubnetId']} gives.*subnets"):
        check(bed, launch_template="mine", subnets=(), security_groups=())


def test_groups_that_a_template_names_by_name_are_judged(bed):
    template(bed, ImageId=bed.api.image_id, SecurityGroups=["ernest-testbed-open"])
    for groups in ((), (bed.api.security_group_id,)):
        with pytest.raises(InvalidParameterError, match=r"0\.0\.0\.0/0"):
            check(bed, launch_template="mine", security_groups=groups)


def test_an_unknown_name_of_a_group_in_a_template_is_told(bed):
    template(bed, ImageId=bed.api.image_id, SecurityGroups=["nobody"])
    with pytest.raises(InvalidParameterError, match=r"security_groups='nobody'"):
        check(bed, launch_template="mine")


def test_groups_of_further_interfaces_are_judged(bed):
    interfaces = [
        {"DeviceIndex": 0, "Groups": [bed.api.security_group_id]},
        {"DeviceIndex": 1, "Groups": [bed.api.open_security_group_id]},
    ]
    template(bed, ImageId=bed.api.image_id, NetworkInterfaces=interfaces)
    with pytest.raises(InvalidParameterError, match=r"0\.0\.0\.0/0"):
        check(bed, launch_template="mine")


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
    template(bed, ImageId=bed.api.image_id, InstanceMarketOptions={"MarketType": "spot"})
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
    template(bed, ImageId=bed.api.image_id, BlockDeviceMappings=mappings)
    cluster = bed.cluster(bed.spec(launch_template="mine"))
    cluster.start()
    ec2 = bed.client()
    volumes = [one for one in ec2.describe_volumes()["Volumes"] if one["Size"] == 9]
    assert len(volumes) == 4
    assert all(one["Encrypted"] for one in volumes)
    cluster.terminate()
    assert not [one for one in ec2.describe_volumes()["Volumes"] if one["Size"] == 9]


def test_a_launch_template_must_exist(bed):
    with pytest.raises(InvalidParameterError, match=r"launch_template='theirs'"):
        check(bed, launch_template="theirs")


def test_an_image_must_be_named_somewhere(bed):
    template(bed, InstanceType="m5.large")
    with pytest.raises(InvalidParameterError, match=r"image=None"):
        check(bed, image=None, launch_template="mine")


@pytest.mark.parametrize("action", ["DescribeSubnets", "DescribeSecurityGroups"])
def test_a_missing_permission_and_a_busy_aws_are_told_apart(bed, action):
    bed.api.fail(action, code="UnauthorizedOperation", status=403)
    with pytest.raises(MissingResourceError, match=r"UnauthorizedOperation"):
        check(bed)
    bed.api.fail(action, code="RequestLimitExceeded", status=503)
    with pytest.raises(ClusterError, match=r"RequestLimitExceeded"):
        check(bed)
