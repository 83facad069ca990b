"""The arguments of the RunInstances calls.

Whatever a launch template says: the machines terminate when they shut down, can be terminated, and carry the
tags by which they are found again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from airflow_provider_ernest.clusters.ec2.aws_errors import explained
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.preflight import Image
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec


# ---------------------------------------------------------------------------
# What a launch template says that a request must heed, what it must not say, and what it leaves to AWS.
#
# A parameter of a RunInstances request overwrites that of the template (EC2 API reference, RunInstances).
# How
# lists of interfaces and volumes are merged is not documented: a request states them as a whole.


@dataclass(frozen=True, kw_only=True)
class TemplateNetwork:
    """What a launch template says about the network; nothing by default.

    Attributes:
        security_groups: ids that a specification overrides: of the machine, or of its first interface.
        instance_level: they are the machine's: AWS takes no network interfaces in the same request then.
        subnet: of the first interface; None where the template names none.
        public_address: what the first interface says; None to leave it to the subnet.
        other_groups: ids that a specification might not override.
        further_without_groups: a further interface names no groups, and so has the VPC's default group.
    """

    security_groups: tuple[str, ...] = ()
    instance_level: bool = False
    subnet: str | None = None
    public_address: bool | None = None
    other_groups: tuple[str, ...] = ()
    further_without_groups: bool = False


def check_template(name: str, template: Mapping[str, Any]) -> None:
    """Refuse what a template cannot say for the machines of a cluster.

    Args:
        name: or id of the template.
        template: its data; empty for none.

    Raises:
        InvalidParameterError: it makes all machines spot instances, or AWS could not launch several.
    """
    if template.get("InstanceMarketOptions"):
        raise InvalidParameterError(
            "launch_template",
            name,
            "has InstanceMarketOptions, which the master and the on-demand fallback would inherit",
            remedy="Leave them out of the template, and set spot=True for spot instances.",
        )
    interfaces = template.get("NetworkInterfaces") or ()
    if interfaces and (template.get("SecurityGroupIds") or template.get("SecurityGroups")):
        raise InvalidParameterError(
            "launch_template",
            name,
            "has network interfaces and security groups of the machine, which AWS does not launch together",
            remedy="Name the security groups in the interfaces only.",
        )
    existing = [one["NetworkInterfaceId"] for one in interfaces if one.get("NetworkInterfaceId")]
    if existing:
        raise InvalidParameterError(
            "launch_template",
            name,
            f"names the existing network interface {existing[0]}, which only one machine can have",
            remedy="Name its subnet and security groups instead.",
        )


def pinned_template(version: Mapping[str, Any]) -> dict[str, str] | None:
    """The parameter of RunInstances that means this very version.

    Args:
        version: as DescribeLaunchTemplateVersions tells it; empty for none.
    """
    if not version:
        return None
    return {"LaunchTemplateId": version["LaunchTemplateId"], "Version": str(version["VersionNumber"])}


def subnets_of(template: Mapping[str, Any]) -> tuple[str, ...]:
    """The subnets that a template names."""
    named = [interface.get("SubnetId") for interface in template.get("NetworkInterfaces", ())]
    return tuple(dict.fromkeys(subnet for subnet in named if subnet))


def network_of(template: Mapping[str, Any], *, named_groups: Sequence[str]) -> TemplateNetwork:
    """What a template says about the network.

    Args:
        template: its data.
        named_groups: the ids of those security groups that it gives by name.
    """
    of_machine = tuple(dict.fromkeys([*template.get("SecurityGroupIds", ()), *named_groups]))
    if of_machine:
        return TemplateNetwork(
            security_groups=of_machine, instance_level=True, other_groups=tuple(named_groups)
        )
    interfaces = sorted(template.get("NetworkInterfaces", ()), key=lambda one: one.get("DeviceIndex", 0))
    if not interfaces:
        return TemplateNetwork()
    first, *further = interfaces
    return TemplateNetwork(
        security_groups=tuple(first.get("Groups", ())),
        subnet=first.get("SubnetId"),
        public_address=first.get("AssociatePublicIpAddress"),
        other_groups=tuple(dict.fromkeys(group for one in interfaces for group in one.get("Groups", ()))),
        further_without_groups=any(not one.get("Groups") for one in further),
    )


def group_ids(ec2: Any, names: Sequence[str], vpc: str | None) -> tuple[str, ...]:
    """The ids of the groups that a launch template gives by name.

    Args:
        ec2: a boto3 client.
        names: of the groups.
        vpc: where they are; None for the default VPC.

    Raises:
        InvalidParameterError: there is none of that name.
        ClusterError: AWS does not answer.
    """
    if not names:
        return ()
    found = groups_named(ec2, names, vpc)
    missing = sorted({*names} - {group["GroupName"] for group in found})
    if missing:
        raise InvalidParameterError(
            "security_groups",
            missing[0],
            "is named by the launch template, and no security group of the VPC",
            remedy="Name groups of the subnets' VPC, best by their ids.",
        )
    return tuple(str(group["GroupId"]) for group in found)


def groups_named(ec2: Any, names: Sequence[str], vpc: str | None) -> Sequence[Mapping[str, Any]]:
    """The security groups of these names in a VPC; None for the default VPC.

    Raises:
        InvalidParameterError: there is no default VPC.
        ClusterError: AWS does not answer.
    """
    with explained("describe the VPC's security groups"):
        filters = [
            {"Name": "vpc-id", "Values": [vpc or _default_vpc(ec2)]},
            {"Name": "group-name", "Values": list(names)},
        ]
        found: Sequence[Mapping[str, Any]] = ec2.describe_security_groups(Filters=filters)["SecurityGroups"]
    return found


def default_subnets(ec2: Any) -> Sequence[Mapping[str, Any]]:
    """The subnets of which AWS takes one where none is named.

    Raises:
        InvalidParameterError: there is no default VPC.
        ClusterError: AWS does not answer.
    """
    with explained("describe the default VPC's subnets"):
        filters = [
            {"Name": "vpc-id", "Values": [_default_vpc(ec2)]},
            {"Name": "default-for-az", "Values": ["true"]},
        ]
        found: Sequence[Mapping[str, Any]] = ec2.describe_subnets(Filters=filters)["Subnets"]
    return found


def _default_vpc(ec2: Any) -> str:
    vpcs = ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"]
    if not vpcs:
        raise InvalidParameterError("subnets", (), "must be named, since the region has no default VPC")
    return str(vpcs[0]["VpcId"])


def root_device_of(spec: EC2ClusterSpec, template: Mapping[str, Any], image: Image) -> str | None:
    """Where the root volume is that the specification describes; None where the template describes it."""
    own = spec.volume_gigabytes is not None or spec.volume_key is not None
    return image.root_device if own or image.root_device not in dict(_template_volumes(template)) else None


def volumes_of(template: Mapping[str, Any], image: Image) -> dict[str, Mapping[str, Any]]:
    """Settings of the EBS volumes that template and image describe, by device name.

    Each is encrypted and goes with its machine, whatever template and image say: a volume that is left behind
    costs until somebody finds it. Further settings are the template's; those of an image need no repetition.
    Instance store volumes are none of these.
    """
    safe: Mapping[str, Any] = {"Encrypted": True, "DeleteOnTermination": True}
    described = {mapping.get("DeviceName") for mapping in template.get("BlockDeviceMappings", ())}
    volumes: dict[str, Mapping[str, Any]] = {
        device: {**settings, **safe} for device, settings in _template_volumes(template)
    }
    # A device that the template leaves out (NoDevice) must not come back.
    return volumes | {device: safe for device in image.volumes if device not in described}


def _template_volumes(template: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for mapping in template.get("BlockDeviceMappings", ()):
        # AWS answers an empty text for a device that is left out.
        if mapping.get("DeviceName") and "Ebs" in mapping and "NoDevice" not in mapping:
            yield mapping["DeviceName"], mapping["Ebs"]


# ---------------------------------------------------------------------------


ON_DEMAND: Literal["on-demand"] = "on-demand"
SPOT: Literal["spot"] = "spot"

_NOTHING_SAID = TemplateNetwork()


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where machines are asked for.

    Attributes:
        instance_type: such as "m5.xlarge".
        subnet: its id; None where the launch template names it.
        market: `ON_DEMAND` or `SPOT`.
    """

    instance_type: str
    subnet: str | None
    market: Literal["on-demand", "spot"]


def run_instances_request(
    spec: EC2ClusterSpec,
    *,
    place: Place,
    minimum: int,
    maximum: int,
    user_data: str,
    token: str,
    tags: Mapping[str, str],
    image_id: str | None,
    root_device: str | None,
    launch_template: Mapping[str, str] | None = None,
    network: TemplateNetwork = _NOTHING_SAID,
    volumes: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> dict[str, Any]:
    """The keyword arguments of boto3's ``run_instances``; the same for the same arguments.

    The token belongs to all of them: AWS refuses a repeated call that differs in any.

    Args:
        spec: of the cluster.
        place: where.
        minimum: AWS launches none at all if it has fewer.
        maximum: how many are wanted.
        user_data: not encoded; boto3 does that.
        token: of idempotency; see `identity.ClusterIdentity.token`.
        tags: ours, which win over the user's.
        image_id: the AMI; None for that of the launch template.
        root_device: device name of the image's root volume; None where the launch template describes it.
        launch_template: the version that was checked, see `launch_templates.pinned_template`; None for none.
        network: what the launch template says about it.
        volumes: settings of the other volumes, by device name; see `launch_templates.volumes_of`.

    Returns:
        New dictionaries and lists throughout, in a fixed order.

    Raises:
        InvalidParameterError: the volume is specified, and no `root_device` is known to apply it to.
    """
    all_tags = [{"Key": key, "Value": value} for key, value in sorted({**spec.tags, **tags}.items())]
    tagged = ["instance", "volume", *(["spot-instances-request"] if place.market == SPOT else [])]
    return {
        "ClientToken": token,
        "MinCount": minimum,
        "MaxCount": maximum,
        "InstanceType": place.instance_type,
        "UserData": user_data,
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {
            "HttpEndpoint": "enabled",
            "HttpTokens": "required",
            "HttpPutResponseHopLimit": 1,
        },
        "TagSpecifications": [
            {"ResourceType": resource, "Tags": [dict(tag) for tag in all_tags]} for resource in tagged
        ],
        **({} if image_id is None else {"ImageId": image_id}),
        **({} if launch_template is None else {"LaunchTemplate": dict(launch_template)}),
        **_market(place),
        **_network(spec, place, network),
        **_request_volumes(spec, root_device, volumes),
        **_access(spec),
    }


def describes_interface(spec: EC2ClusterSpec, network: TemplateNetwork) -> bool:
    """Whether requests describe the machine's interface, and so decide on its public address."""
    own = spec.subnets or spec.security_groups or spec.public_address
    return bool(own) and not network.instance_level


def _market(place: Place) -> dict[str, Any]:
    if place.market == SPOT:
        # Termination protection cannot be set for spot instances, not even to none.
        options = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
        return {"InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": options}}
    return {"DisableApiTermination": False}


def _network(spec: EC2ClusterSpec, place: Place, network: TemplateNetwork) -> dict[str, Any]:
    subnet = {} if place.subnet is None else {"SubnetId": place.subnet}
    groups = list(spec.security_groups or network.security_groups)
    if network.instance_level:
        return {**subnet, "SecurityGroupIds": groups}
    if not describes_interface(spec, network):
        return {}  # the launch template's
    # An interface and not SubnetId and SecurityGroupIds, since only here a public address can be refused
    # that the subnet would give. With all that the template's says, which it may replace.
    if not subnet and network.subnet is not None:
        subnet = {"SubnetId": network.subnet}
    interface: dict[str, Any] = {
        "DeviceIndex": 0,
        "AssociatePublicIpAddress": spec.public_address,
        "DeleteOnTermination": True,
        **subnet,
    }
    if groups:
        interface["Groups"] = groups
    return {"NetworkInterfaces": [interface]}


def _request_volumes(
    spec: EC2ClusterSpec, root_device: str | None, volumes: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    root = _root_volume(spec, root_device)
    others = [
        {"DeviceName": device, "Ebs": dict(settings)}
        for device, settings in volumes.items()
        if device != root_device
    ]
    return {"BlockDeviceMappings": [*root, *others]} if root or others else {}


def _root_volume(spec: EC2ClusterSpec, root_device: str | None) -> list[dict[str, Any]]:
    if root_device is None:
        for field in ("volume_gigabytes", "volume_key"):
            if getattr(spec, field) is not None:
                raise InvalidParameterError(
                    field,
                    getattr(spec, field),
                    "cannot be applied: the image's root device is not known",
                    remedy="Name the image, or describe the volume in the launch template.",
                )
        return []
    volume: dict[str, Any] = {
        "Encrypted": True,
        "DeleteOnTermination": True,
        "VolumeType": spec.volume_type,
    }
    if spec.volume_gigabytes is not None:
        volume["VolumeSize"] = spec.volume_gigabytes
    if spec.volume_key is not None:
        volume["KmsKeyId"] = spec.volume_key
    return [{"DeviceName": root_device, "Ebs": volume}]


def _access(spec: EC2ClusterSpec) -> dict[str, Any]:
    access: dict[str, Any] = {}
    if spec.key_name is not None:
        access["KeyName"] = spec.key_name
    if spec.instance_profile is not None:
        kind = "Arn" if spec.instance_profile.startswith("arn:") else "Name"
        access["IamInstanceProfile"] = {kind: spec.instance_profile}
    return access
