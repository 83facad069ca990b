"""What is checked against AWS before anything is launched: what cannot work must not cost money first."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from airflow_provider_ernest.clusters.ec2.aws_errors import Meaning, code_of, explained, meaning_of, said
from airflow_provider_ernest.clusters.ec2.requests import (
    ON_DEMAND,
    SPOT,
    Image,
    InstanceType,
    Place,
    Plan,
    check_template,
    root_device_of,
    run_instances_request,
    volumes_of,
)
from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.exceptions import (
    ClusterError,
    InvalidParameterError,
    MissingResourceError,
)

log = logging.getLogger(__name__)


RIGHTS: Mapping[str, Mapping[str, Any]] = {
    "DescribeImages": {},
    "DescribeInstanceTypes": {},
    "DescribeInstances": {},
    "DescribeSecurityGroups": {},
    "DescribeSpotPriceHistory": {},
    "DescribeSubnets": {},
    "TerminateInstances": {"InstanceIds": ["i-00000000000000000"]},
}
"""Actions that AWS can judge without a specification, with arguments for a dry run."""


def require_right(ec2: Any, action: str, request: Mapping[str, Any]) -> None:
    """Have AWS judge by a dry run, which does nothing, whether a request is allowed.

    Raises:
        MissingResourceError: a permission is missing.
        ClusterError: AWS says something else, by which it cannot be told.
    """
    from botocore import xform_name
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        getattr(ec2, xform_name(action))(DryRun=True, **request)
    except (BotoCoreError, ClientError) as error:
        told = f"{action} in {ec2.meta.region_name}: {said(error)}"
        # Without the cause: its text may hold the encoded authorisation message.
        if meaning_of(error) is Meaning.NOT_ALLOWED:
            raise MissingResourceError(
                f"{told}.", remedy="Allow what docs/iam_policy.json of this package lists."
            ) from None
        if code_of(error) != "DryRunOperation":
            raise ClusterError(told) from None


def require_launch_right(spec: EC2ClusterSpec, plan: Plan, *, ec2: Any, tags: Mapping[str, str]) -> None:
    """Refuse a launch that AWS would not allow, such as for want of iam:PassRole or of a tag.

    What else AWS says of a dry run is no reason: the launch has other places to try.
    """
    place = Place(
        instance_type=spec.instance_type, subnet=plan.subnets[0], market=SPOT if spec.spot else ON_DEMAND
    )
    request = run_instances_request(spec, plan, place=place, minimum=1, maximum=1, user_data="", tags=tags)
    try:
        require_right(ec2, "RunInstances", request)
    except ClusterError as error:
        log.info("Whether the launch is allowed cannot be told beforehand: %s", error.message)


def check_before_launch(spec: EC2ClusterSpec, *, ec2: Any, ssm: Callable[[], Any]) -> Plan:
    """Check what a specification names. Launches nothing.

    Needs the permissions ec2:DescribeInstanceTypes, ec2:DescribeImages, ec2:DescribeSubnets,
    ec2:DescribeSecurityGroups, and where used ec2:DescribeLaunchTemplateVersions and ssm:GetParameter, for
    which `ssm` makes a client.

    Raises:
        InvalidParameterError: something does not exist, does not fit, or would be open to the world.
        MissingResourceError: the image is not available, or a permission is missing.
        ClusterError: AWS does not answer.
    """
    version = _launch_template(ec2, spec)
    template: Mapping[str, Any] = version.get("LaunchTemplateData", {})
    check_template(spec.launch_template or "", template)
    named = spec.image or template.get("ImageId")
    if not named:
        raise InvalidParameterError(
            "image", None, "and no launch template names one", remedy="Name an AMI id or an SSM parameter."
        )
    # So templates name an SSM parameter.
    image = resolve_image(named.removeprefix("resolve:ssm:"), ec2=ec2, ssm=ssm)
    names = {*spec.instance_types, *([spec.master_instance_type] if spec.master_instance_type else [])}
    instance_types = describe_instance_types(ec2, sorted(names))
    for name, facts in instance_types.items():
        if facts.architectures and image.architecture not in facts.architectures:
            raise InvalidParameterError(
                "instance_type",
                name,
                f"has the architecture {' or '.join(facts.architectures)}, and the image {image.id} "
                f"is for {image.architecture}",
                remedy="Name an image of the same architecture, or other instance types.",
            )
    interface: Mapping[str, Any] = next(iter(template.get("NetworkInterfaces", ())), {})
    subnets = spec.subnets or tuple(filter(None, [interface.get("SubnetId")]))
    groups = spec.security_groups or tuple(interface.get("Groups", ()))
    for name, stated in (("subnets", subnets), ("security_groups", groups)):
        if not stated:
            remedy = "Set it, or name one in the template's network interface."
            raise InvalidParameterError(name, (), "and no launch template names one", remedy=remedy)
    _check_security_groups(ec2, groups, _vpcs(ec2, subnets))
    return Plan(
        image=image,
        root_device=root_device_of(spec, template, image),
        instance_types=instance_types,
        subnets=subnets,
        security_groups=groups,
        volumes=volumes_of(template, image),
        launch_template={
            "LaunchTemplateId": version["LaunchTemplateId"],
            "Version": str(version["VersionNumber"]),
        }
        if version
        else None,
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
            f"is not a version of {spec.launch_template}",
        )
    found: Mapping[str, Any] = versions[0]
    return found


def _vpcs(ec2: Any, subnets: tuple[str, ...]) -> list[str]:
    with _named("subnets", subnets, "InvalidSubnet"):
        found = ec2.describe_subnets(SubnetIds=list(subnets))["Subnets"]
    return sorted({str(subnet["VpcId"]) for subnet in found})


def _check_security_groups(ec2: Any, groups: tuple[str, ...], vpcs: list[str]) -> None:
    with _named("security_groups", groups, "InvalidGroup", "InvalidSecurityGroup"):
        found = ec2.describe_security_groups(GroupIds=list(groups))["SecurityGroups"]
    for group in found:
        if [group["VpcId"]] != vpcs:
            raise InvalidParameterError(
                "security_groups",
                group["GroupId"],
                f"belongs to the VPC {group['VpcId']}, and the subnets to {', '.join(vpcs)}",
                remedy="Name subnets and security groups of one VPC.",
            )
        _check_rules(group)


def _check_rules(group: Mapping[str, Any]) -> None:
    for rule in group.get("IpPermissions", ()):
        # AWS names no ports where it lets in all.
        ports = f" to ports {rule['FromPort']} to {rule['ToPort']}" if "FromPort" in rule else ""
        for listed in rule.get("PrefixListIds", ()):
            log.warning(
                "The security group %s lets in the prefix list %s%s: see that it holds no strangers.",
                *(group["GroupId"], listed.get("PrefixListId"), ports),
            )
        sources = [entry["CidrIp"] for entry in rule.get("IpRanges", ())]
        sources += [entry["CidrIpv6"] for entry in rule.get("Ipv6Ranges", ())]
        for source in sources:
            network = ipaddress.ip_network(source, strict=False)
            if _lets_in_strangers(network):
                raise InvalidParameterError(
                    "security_groups",
                    group["GroupId"],
                    f"lets in all of {source}{ports}, where strangers could try to run code on Spark",
                    remedy="Take that rule out: let in only the machines themselves and the Airflow worker. "
                    f"Of public addresses, a rule may name a /{_WIDEST_PUBLIC_PREFIX[network.version]}.",
                )


# Where no packet from the Internet comes from (RFC 1918, 6598, 3927, 4193, 4291). Not `is_global`, by which
# 0.0.0.0/0 is private in some versions of Python.
_PRIVATE = [
    ipaddress.ip_network(block)
    for block in (
        *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16"),
        *("fc00::/7", "fe80::/10"),
    )
]
# Of public addresses, those of an office or a gateway may be let in: 256 of IPv4, one site of IPv6.
_WIDEST_PUBLIC_PREFIX = {4: 24, 6: 48}


def _lets_in_strangers(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    is_private = any(
        network.version == one.version and network.subnet_of(one)  # type: ignore[arg-type]
        for one in _PRIVATE
    )
    return not is_private and network.prefixlen < _WIDEST_PUBLIC_PREFIX[network.version]


def _named(parameter: str, value: object, *codes: str) -> contextlib.AbstractContextManager[None]:
    """Where something does not exist, say which parameter named it."""
    remedy = "Name one of the account and the region of the AWS connection."
    return explained(
        f"look up {parameter}={value!r}",
        codes,
        lambda error: InvalidParameterError(
            parameter, value, f"is not known to AWS ({said(error)})", remedy=remedy
        ),
    )


_IMAGE_ID = re.compile(r"ami-[0-9a-f]+")
_NO_PARAMETER = ("ParameterNotFound", "ParameterVersionNotFound", "ValidationException")


def resolve_image(image: str, *, ec2: Any, ssm: Callable[[], Any]) -> Image:
    """Find an image, by its id or the SSM parameter that holds it. A deprecated one is taken.

    Raises:
        MissingResourceError: the parameter holds no image's id, or the image is not available.
        InvalidParameterError: there is no such parameter or image, or it is one of Windows.
    """
    is_id = _IMAGE_ID.fullmatch(image) is not None
    image_id = image if is_id else _read_parameter(image, ssm)
    named = image if is_id else f"{image}: {image_id}"
    facts = _describe(image_id, named, ec2)
    if facts["State"] != "available":
        reason = facts.get("StateReason", {}).get("Message")
        raise MissingResourceError(
            f"The image {named} is {facts['State']}, not available{f': {reason}' if reason else ''}.",
            remedy="Name one that is available, or wait until it is.",
        )
    if facts.get("Platform", "").lower() == "windows":
        raise InvalidParameterError("image", image, "is an image of Windows", remedy="Name one of Linux.")
    root_device = facts.get("RootDeviceName", "")
    ebs = [mapping.get("DeviceName") for mapping in facts.get("BlockDeviceMappings", ()) if "Ebs" in mapping]
    return Image(
        id=image_id,
        root_device=root_device,
        architecture=facts.get("Architecture", ""),
        volumes=tuple(device for device in ebs if device and device != root_device),
    )


def _read_parameter(name: str, ssm: Callable[[], Any]) -> str:
    with _named("image", name, *_NO_PARAMETER):
        value = str(ssm().get_parameter(Name=name)["Parameter"]["Value"])
    if not _IMAGE_ID.fullmatch(value):
        # The value is not shown: whoever mistook the name might have named a secret.
        raise MissingResourceError(
            f"The SSM parameter {name} holds no AMI id.",
            remedy="Some of AWS's hold a JSON document, with the id beside it as .../image_id.",
        )
    return value


def _describe(image_id: str, named: str, ec2: Any) -> Mapping[str, Any]:
    with _named("image", named, "InvalidAMIID"):
        # Without these two, AWS hides deprecated and disabled images as if they had never been.
        images: Sequence[Mapping[str, Any]] = ec2.describe_images(
            ImageIds=[image_id], IncludeDeprecated=True, IncludeDisabled=True
        )["Images"]
    if not images:
        problem = f"does not exist in {ec2.meta.region_name}, or is not shared with this account"
        remedy = "Each region has ids of its own: copy the image, or name an SSM parameter."
        raise InvalidParameterError("image", named, problem, remedy=remedy)
    return images[0]


def describe_instance_types(ec2: Any, names: Sequence[str]) -> dict[str, InstanceType]:
    """What AWS says of up to 100 types; one that the region lacks is refused."""
    with _named("instance_type", ", ".join(names), "InvalidInstanceType", "InvalidParameterValue"):
        pages = ec2.get_paginator("describe_instance_types").paginate(InstanceTypes=list(names))
        found = [facts for page in pages for facts in page["InstanceTypes"]]
    return {
        facts["InstanceType"]: InstanceType(
            name=facts["InstanceType"],
            cores=facts["VCpuInfo"]["DefaultVCpus"],
            memory_megabytes=facts["MemoryInfo"]["SizeInMiB"],
            architectures=tuple(facts.get("ProcessorInfo", {}).get("SupportedArchitectures", ())),
        )
        for facts in found
    }
