"""What is checked against AWS before anything is launched: what cannot work must not cost money first."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.ec2.aws_errors import as_ours, code_of, explained, said
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.images import Image
    from airflow_provider_ernest.clusters.ec2.instance_types import InstanceType
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

log = logging.getLogger(__name__)

# No private range is wider (10.0.0.0/8, fc00::/7): what is, lets in strangers. So that the world in two
# halves is found as well as 0.0.0.0/0.
_WIDEST_PREFIX = {4: 8, 6: 7}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What AWS says about what a specification names.

    Attributes:
        image: that is booted.
        root_device: where its root volume is; None where the launch template describes the volume.
        instance_types: facts about all types that may be launched, by name.
    """

    image: Image
    root_device: str | None
    instance_types: Mapping[str, InstanceType]


def check_before_launch(spec: EC2ClusterSpec, *, ec2: Any, ssm: Callable[[], Any]) -> Plan:
    """Check what a specification names. Launches nothing.

    Needs the permissions ec2:DescribeInstanceTypes, ec2:DescribeImages, ec2:DescribeSubnets,
    ec2:DescribeSecurityGroups, and where used ec2:DescribeLaunchTemplateVersions, ec2:DescribeVpcs (without
    subnets and security groups) and ssm:GetParameter.

    Args:
        spec: what shall be launched.
        ec2: a boto3 client.
        ssm: makes a boto3 client of Systems Manager; called for an image that an SSM parameter names.

    Raises:
        InvalidParameterError: something does not exist, does not fit, or is open to the world.
        MissingResourceError: the image does not exist, or a permission is missing.
        ClusterError: AWS does not answer.
    """
    from airflow_provider_ernest.clusters.ec2.images import resolve_image
    from airflow_provider_ernest.clusters.ec2.instance_types import describe_instance_types

    template = _launch_template(ec2, spec)
    named = spec.image or template.get("ImageId")
    if not named:
        raise InvalidParameterError(
            "image", None, "and no launch template names one", remedy="Name an AMI id or an SSM parameter."
        )
    named = named.removeprefix("resolve:ssm:")  # so templates name an SSM parameter
    image = resolve_image(named, ec2=ec2, ssm=ssm)
    names = {*spec.instance_types, *([spec.master_instance_type] if spec.master_instance_type else [])}
    instance_types = describe_instance_types(ec2, sorted(names))
    _check_architectures(image, instance_types)
    vpc = _check_subnets(ec2, spec.subnets or _subnets_of_template(template))
    groups = tuple(spec.security_groups) or _groups_of_template(template)
    _check_security_groups(ec2, groups, vpc)
    return Plan(image=image, root_device=_root_device(spec, template, image), instance_types=instance_types)


def _launch_template(ec2: Any, spec: EC2ClusterSpec) -> Mapping[str, Any]:
    if not spec.launch_template:
        return {}
    key = "LaunchTemplateId" if spec.launch_template.startswith("lt-") else "LaunchTemplateName"
    with _named("launch_template", spec.launch_template, "InvalidLaunchTemplate"):
        versions = ec2.describe_launch_template_versions(
            **{key: spec.launch_template}, Versions=[spec.launch_template_version]
        )["LaunchTemplateVersions"]
    if not versions:
        raise InvalidParameterError(
            "launch_template_version",
            spec.launch_template_version,
            f"is no version of {spec.launch_template}",
        )
    data: Mapping[str, Any] = versions[0]["LaunchTemplateData"]
    return data


def _subnets_of_template(template: Mapping[str, Any]) -> tuple[str, ...]:
    named = [interface.get("SubnetId") for interface in template.get("NetworkInterfaces", ())]
    return tuple(dict.fromkeys(subnet for subnet in named if subnet))


def _groups_of_template(template: Mapping[str, Any]) -> tuple[str, ...]:
    groups = list(template.get("SecurityGroupIds", ()))
    for interface in template.get("NetworkInterfaces", ()):
        groups += interface.get("Groups", ())
    return tuple(dict.fromkeys(groups))


def _root_device(spec: EC2ClusterSpec, template: Mapping[str, Any], image: Image) -> str | None:
    """Where the root volume is, so that it can be encrypted; None to leave it to the launch template."""
    described = {mapping.get("DeviceName"): mapping for mapping in template.get("BlockDeviceMappings", ())}
    own = spec.volume_gigabytes is not None or spec.volume_key is not None
    if own or image.root_device not in described:
        return image.root_device
    if not described[image.root_device].get("Ebs", {}).get("Encrypted"):
        log.warning("The launch template %s does not ask for an encrypted root volume.", spec.launch_template)
    return None


def _check_architectures(image: Image, instance_types: Mapping[str, InstanceType]) -> None:
    for name, instance_type in instance_types.items():
        if instance_type.architectures and image.architecture not in instance_type.architectures:
            raise InvalidParameterError(
                "instance_type",
                name,
                f"has the architecture {' or '.join(instance_type.architectures)}, and the image {image.id} "
                f"is for {image.architecture}",
                remedy="Name an image of the same architecture, or other instance types.",
            )


def _check_subnets(ec2: Any, subnets: Sequence[str]) -> str | None:
    """The VPC of the subnets; None where none are named."""
    if not subnets:
        return None
    with _named("subnets", tuple(subnets), "InvalidSubnet"):
        found = ec2.describe_subnets(SubnetIds=list(subnets))["Subnets"]
    vpcs = {subnet["VpcId"] for subnet in found}
    if len(vpcs) > 1:
        raise InvalidParameterError(
            "subnets",
            tuple(subnets),
            f"lie in several VPCs: {', '.join(sorted(vpcs))}",
            remedy="Name subnets of one VPC: the machines of a cluster must reach each other.",
        )
    return str(vpcs.pop())


def _check_security_groups(ec2: Any, groups: Sequence[str], vpc: str | None) -> None:
    if groups:
        with _named("security_groups", tuple(groups), "InvalidGroup", "InvalidSecurityGroup"):
            found = ec2.describe_security_groups(GroupIds=list(groups))["SecurityGroups"]
    else:
        # AWS takes the VPC's default group then, in which somebody may have opened anything.
        found = _default_groups(ec2, vpc)
    for group in found:
        if vpc and group.get("VpcId") and group["VpcId"] != vpc:
            raise InvalidParameterError(
                "security_groups",
                group["GroupId"],
                f"belongs to the VPC {group['VpcId']}, and the subnets to {vpc}",
                remedy="Name security groups of the subnets' VPC.",
            )
        _check_rules(group)


def _default_groups(ec2: Any, vpc: str | None) -> Sequence[Mapping[str, Any]]:
    with explained("describe the VPC's default security group"):
        if vpc is None:
            vpcs = ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"]
            if not vpcs:
                raise InvalidParameterError(
                    "subnets", (), "must be named, since the region has no default VPC"
                )
            vpc = vpcs[0]["VpcId"]
        filters = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "group-name", "Values": ["default"]}]
        found: Sequence[Mapping[str, Any]] = ec2.describe_security_groups(Filters=filters)["SecurityGroups"]
    return found


def _check_rules(group: Mapping[str, Any]) -> None:
    for rule in group.get("IpPermissions", ()):
        sources = [entry["CidrIp"] for entry in rule.get("IpRanges", ())]
        sources += [entry["CidrIpv6"] for entry in rule.get("Ipv6Ranges", ())]
        for source in sources:
            network = ipaddress.ip_network(source, strict=False)
            if network.prefixlen < _WIDEST_PREFIX[network.version]:
                raise InvalidParameterError(
                    "security_groups",
                    group["GroupId"],
                    f"lets in all of {source}{_ports(rule)}, where strangers could try to run code on Spark",
                    remedy="Take that rule out: let in only the machines themselves and the Airflow worker.",
                )


def _ports(rule: Mapping[str, Any]) -> str:
    if rule.get("IpProtocol") == "-1" or "FromPort" not in rule:
        return ""
    return f" to ports {rule['FromPort']} to {rule.get('ToPort', rule['FromPort'])}"


@contextlib.contextmanager
def _named(parameter: str, value: object, *codes: str) -> Iterator[None]:
    """Where AWS says with one of these codes that something does not exist, say which parameter named it."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        if code_of(error).startswith(codes):
            raise InvalidParameterError(
                parameter,
                value,
                f"is not known to AWS ({said(error)})",
                remedy="Name one of the account and the region of the AWS connection.",
            ) from None
        raise as_ours(error, f"describe the {parameter.replace('_', ' ')}") from None
