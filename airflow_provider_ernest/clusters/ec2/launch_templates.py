"""What a launch template says that a request must heed, what it must not say, and what it leaves to AWS.

A parameter of a RunInstances request overwrites that of the template (EC2 API reference, RunInstances). How
lists of interfaces and volumes are merged is not documented: a request states them as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.ec2.aws_errors import explained
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.images import Image
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec


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
    return image.root_device if own or image.root_device not in dict(_volumes(template)) else None


def volumes_of(template: Mapping[str, Any], image: Image) -> dict[str, Mapping[str, Any]]:
    """Settings of the EBS volumes that template and image describe, by device name.

    Each is encrypted and goes with its machine, whatever template and image say: a volume that is left behind
    costs until somebody finds it. Further settings are the template's; those of an image need no repetition.
    Instance store volumes are none of these.
    """
    safe: Mapping[str, Any] = {"Encrypted": True, "DeleteOnTermination": True}
    described = {mapping.get("DeviceName") for mapping in template.get("BlockDeviceMappings", ())}
    volumes: dict[str, Mapping[str, Any]] = {
        device: {**settings, **safe} for device, settings in _volumes(template)
    }
    # A device that the template leaves out (NoDevice) must not come back.
    return volumes | {device: safe for device in image.volumes if device not in described}


def _volumes(template: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for mapping in template.get("BlockDeviceMappings", ()):
        # AWS answers an empty text for a device that is left out.
        if mapping.get("DeviceName") and "Ebs" in mapping and "NoDevice" not in mapping:
            yield mapping["DeviceName"], mapping["Ebs"]
