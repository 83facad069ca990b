"""What is checked against AWS before anything is launched: what cannot work must not cost money first."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.ec2.aws_errors import as_ours, code_of, said
from airflow_provider_ernest.clusters.ec2.launch_templates import (
    TemplateNetwork,
    check_template,
    default_subnets,
    group_ids,
    groups_named,
    network_of,
    pinned_template,
    root_device_of,
    subnets_of,
    volumes_of,
)
from airflow_provider_ernest.clusters.ec2.requests import describes_interface
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.images import Image
    from airflow_provider_ernest.clusters.ec2.instance_types import InstanceType
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

log = logging.getLogger(__name__)

# Where no packet from the Internet comes from (RFC 1918, 6598, 3927, 4193, 4291). Not `is_global`, by which
# 0.0.0.0/0 is private in some versions of Python.
_PRIVATE = tuple(
    map(
        ipaddress.ip_network,
        ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16"),
    )
) + tuple(map(ipaddress.ip_network, ("fc00::/7", "fe80::/10")))
# Of public addresses, those of an office or a gateway may be let in: 256 of IPv4, one site of IPv6.
_WIDEST_PUBLIC_PREFIX = {4: 24, 6: 48}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What AWS says about what a specification names.

    Attributes:
        image: that is booted.
        root_device: where its root volume is; None where the launch template describes the volume.
        instance_types: facts about all types that may be launched, by name.
        network: what the launch template says about it.
        volumes: settings of the volumes that image and launch template describe, by device name.
        launch_template: id and number of the version that was checked, as RunInstances takes them: what
            "$Latest" means may change meanwhile. None where there is none.
    """

    image: Image
    root_device: str | None
    instance_types: Mapping[str, InstanceType]
    network: TemplateNetwork
    volumes: Mapping[str, Mapping[str, Any]]
    launch_template: Mapping[str, str] | None


def check_before_launch(spec: EC2ClusterSpec, *, ec2: Any, ssm: Callable[[], Any]) -> Plan:
    """Check what a specification names. Launches nothing.

    Needs the permissions ec2:DescribeInstanceTypes, ec2:DescribeImages, ec2:DescribeSubnets,
    ec2:DescribeSecurityGroups, and where used ec2:DescribeLaunchTemplateVersions, ec2:DescribeVpcs (without
    subnets) and ssm:GetParameter.

    Args:
        spec: what shall be launched.
        ec2: a boto3 client.
        ssm: makes a boto3 client of Systems Manager; called for an image that an SSM parameter names.

    Raises:
        InvalidParameterError: something does not exist, does not fit, or would be open to the world.
        MissingResourceError: the image does not exist, or a permission is missing.
        ClusterError: AWS does not answer.
    """
    from airflow_provider_ernest.clusters.ec2.images import resolve_image
    from airflow_provider_ernest.clusters.ec2.instance_types import describe_instance_types

    version = _launch_template(ec2, spec)
    template: Mapping[str, Any] = version.get("LaunchTemplateData", {})
    check_template(spec.launch_template or "", template)
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
    subnets = _subnets(ec2, spec.subnets or subnets_of(template))
    vpc = str(subnets[0]["VpcId"]) if subnets else None
    by_name = group_ids(ec2, template.get("SecurityGroups", ()), vpc)
    network = network_of(template, named_groups=by_name)
    _check_public_address(ec2, spec, network, subnets)
    _check_security_groups(ec2, spec, network, vpc)
    return Plan(
        image=image,
        root_device=root_device_of(spec, template, image),
        instance_types=instance_types,
        network=network,
        volumes=volumes_of(template, image),
        launch_template=pinned_template(version),
    )


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
    found: Mapping[str, Any] = versions[0]
    return found


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


def _subnets(ec2: Any, subnets: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    """What AWS says about the subnets, which must be of one VPC."""
    if not subnets:
        return ()
    with _named("subnets", tuple(subnets), "InvalidSubnet"):
        found: Sequence[Mapping[str, Any]] = ec2.describe_subnets(SubnetIds=list(subnets))["Subnets"]
    vpcs = {subnet["VpcId"] for subnet in found}
    if len(vpcs) > 1:
        raise InvalidParameterError(
            "subnets",
            tuple(subnets),
            f"lie in several VPCs: {', '.join(sorted(vpcs))}",
            remedy="Name subnets of one VPC: the machines of a cluster must reach each other.",
        )
    return found


def _check_public_address(
    ec2: Any, spec: EC2ClusterSpec, network: TemplateNetwork, subnets: Sequence[Mapping[str, Any]]
) -> None:
    """Refuse a public address that the requests could neither ask for nor prevent."""
    if describes_interface(spec, network):
        return
    if spec.public_address:
        raise InvalidParameterError(
            "public_address",
            True,
            f"cannot be asked for where the launch template {spec.launch_template} names security groups of "
            "the machine: AWS takes no network interface then",
            remedy="Name no security groups in the template; set security_groups.",
        )
    public = "the launch template's network interface" if network.public_address else ""
    if network.public_address is None:
        giving = [one["SubnetId"] for one in subnets or default_subnets(ec2) if one["MapPublicIpOnLaunch"]]
        public = f"the subnet {giving[0]}" if giving else ""
    if public:
        raise InvalidParameterError(
            "public_address",
            False,
            f"would not hold: {public} gives the machines public addresses",
            remedy="Name no security groups of the machine in the launch template; set security_groups."
            if network.instance_level
            else "Set subnets or security_groups here, or public_address=True.",
        )


def _check_security_groups(ec2: Any, spec: EC2ClusterSpec, network: TemplateNetwork, vpc: str | None) -> None:
    own = tuple(spec.security_groups) or network.security_groups
    groups = tuple(dict.fromkeys([*own, *network.other_groups]))
    found: list[Mapping[str, Any]] = []
    if groups:
        with _named("security_groups", groups, "InvalidGroup", "InvalidSecurityGroup"):
            found += ec2.describe_security_groups(GroupIds=list(groups))["SecurityGroups"]
    if not own or network.further_without_groups:
        # AWS takes the VPC's default group then, in which somebody may have opened anything.
        found += groups_named(ec2, ["default"], vpc)
    for group in found:
        if vpc and group.get("VpcId") and group["VpcId"] != vpc:
            raise InvalidParameterError(
                "security_groups",
                group["GroupId"],
                f"belongs to the VPC {group['VpcId']}, and the subnets to {vpc}",
                remedy="Name security groups of the subnets' VPC.",
            )
        _check_rules(group)


def _check_rules(group: Mapping[str, Any]) -> None:
    for rule in group.get("IpPermissions", ()):
        for listed in rule.get("PrefixListIds", ()):
            log.warning(
                "The security group %s lets in the prefix list %s%s: see that it holds no strangers.",
                group["GroupId"],
                listed.get("PrefixListId"),
                _ports(rule),
            )
        sources = [entry["CidrIp"] for entry in rule.get("IpRanges", ())]
        sources += [entry["CidrIpv6"] for entry in rule.get("Ipv6Ranges", ())]
        for source in sources:
            network = ipaddress.ip_network(source, strict=False)
            if _lets_in_strangers(network):
                raise InvalidParameterError(
                    "security_groups",
                    group["GroupId"],
                    f"lets in all of {source}{_ports(rule)}, where strangers could try to run code on Spark",
                    remedy="Take that rule out: let in only the machines themselves and the Airflow worker. "
                    f"Of public addresses, a rule may name a /{_WIDEST_PUBLIC_PREFIX[network.version]}.",
                )


def _lets_in_strangers(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    is_private = any(
        network.version == one.version and network.subnet_of(one)  # type: ignore[arg-type]
        for one in _PRIVATE
    )
    return not is_private and network.prefixlen < _WIDEST_PUBLIC_PREFIX[network.version]


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
