"""What a specification of an EC2 cluster must satisfy, checked before anything is launched."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_provider_ernest.clusters.ec2.identity import tag_value
from airflow_provider_ernest.clusters.ec2.software_checks import check_software
from airflow_provider_ernest.clusters.spec_values import (
    MIN_MEMORY_MEGABYTES,
    UNPRINTABLE,
    is_line,
    require_flags,
    require_match,
    require_number,
    require_price,
    require_whole,
)
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

MIN_TIME_TO_LIVE_SECONDS = 60
MAX_TIME_TO_LIVE_SECONDS = 30 * 24 * 3600
MAX_TAGS = 39
"""AWS allows 50 on a resource; eleven are `identity.ClusterIdentity`'s."""

_MAX_TAG_KEY = 128
_MAX_VOLUME_GIGABYTES = 65_536
# st1 and sc1 cannot be root volumes; io1 and io2 need a rate of operations, which a launch template can give.
_VOLUME_TYPES = ("gp3", "gp2", "standard")

_INSTANCE_TYPE = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")
_IMAGE = re.compile(r"ami-[0-9a-f]{8,17}|/[\w.:/-]{1,1024}", re.ASCII)
_SUBNET = re.compile(r"subnet-[0-9a-f]{8,17}")
_SECURITY_GROUP = re.compile(r"sg-[0-9a-f]{8,17}")
_INSTANCE_PROFILE = re.compile(
    r"[\w+=,.@-]{1,128}|arn:aws[a-z-]*:iam::\d{12}:instance-profile/[\w+=,.@/-]{1,600}", re.ASCII
)
_KEY_NAME = re.compile(r"[!-~](?:[ -~]{0,253}[!-~])?")
_LAUNCH_TEMPLATE = re.compile(r"lt-[0-9a-f]{8,17}|(?!lt-)[a-zA-Z0-9().\-/_]{3,128}")
_VERSION = re.compile(r"\$Default|\$Latest|[1-9][0-9]{0,9}")
_VOLUME_KEY = re.compile(
    r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:(?:key|alias)/[\w/-]+|alias/[\w/-]+|[0-9a-zA-Z-]{8,64}", re.ASCII
)
_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(?:\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*\.?")


def check_spec(spec: EC2ClusterSpec) -> None:
    """Refuse what cannot work.

    The syntax of names is that of the AWS API reference, of RunInstances above all.

    Raises:
        InvalidParameterError: a value that cannot work.
    """
    _check_machines(spec)
    _check_launch(spec)
    _check_network(spec)
    _check_volume(spec)
    _check_tags(spec.tags)
    check_software(spec)
    _check_times(spec)
    _check_culling(spec)
    flags = ("spot", "on_demand_fallback", "public_address", "network_encryption")
    require_flags({field: getattr(spec, field) for field in flags})
    if spec.price_per_hour is not None:
        require_price("price_per_hour", spec.price_per_hour)


def _check_machines(spec: EC2ClusterSpec) -> None:
    require_whole("machines", spec.machines, minimum=1)
    what = "is no name of an instance type"
    remedy = 'Write it like "m5.xlarge".'
    require_match("instance_type", spec.instance_type, _INSTANCE_TYPE, what, remedy)
    _require_all("fallback_instance_types", spec.fallback_instance_types, _INSTANCE_TYPE, what, remedy)
    if spec.master_instance_type is not None:
        require_match("master_instance_type", spec.master_instance_type, _INSTANCE_TYPE, what, remedy)
    if spec.cores_per_machine is not None:
        require_whole("cores_per_machine", spec.cores_per_machine, minimum=1)
    if spec.memory_megabytes_per_machine is not None:
        field = "memory_megabytes_per_machine"
        require_whole(field, spec.memory_megabytes_per_machine, minimum=MIN_MEMORY_MEGABYTES)
    if spec.smallest_acceptable is not None:
        require_whole("smallest_acceptable", spec.smallest_acceptable, minimum=1, maximum=spec.machines)


def _check_launch(spec: EC2ClusterSpec) -> None:
    if spec.image is not None:
        remedy = 'Give an id like "ami-0123456789abcdef0", or a parameter like "/aws/service/...".'
        require_match("image", spec.image, _IMAGE, "is neither an AMI id nor an SSM parameter", remedy)
    elif spec.launch_template is None:
        raise InvalidParameterError(
            "image", None, "leaves nothing to boot from", remedy="Name an image or a launch_template."
        )
    if spec.instance_profile is not None:
        what = "is neither the name nor the ARN of an instance profile"
        remedy = "The name or ARN of a role will not do: give that of the profile."
        require_match("instance_profile", spec.instance_profile, _INSTANCE_PROFILE, what, remedy)
    if spec.key_name is not None:
        require_match("key_name", spec.key_name, _KEY_NAME, "is no name of a key pair")
    if spec.launch_template is not None:
        what = "is neither the id nor the name of a launch template"
        require_match("launch_template", spec.launch_template, _LAUNCH_TEMPLATE, what)
    remedy = 'Use "$Default", "$Latest" or a number in quotes.'
    require_match(
        "launch_template_version",
        spec.launch_template_version,
        _VERSION,
        "is no version of a template",
        remedy,
    )


def _check_network(spec: EC2ClusterSpec) -> None:
    needed = spec.launch_template is None
    remedy = "Give ids in a tuple, not names."
    _require_all("subnets", spec.subnets, _SUBNET, "is no id of a subnet", remedy, needed=needed)
    what = "is no id of a security group"
    _require_all("security_groups", spec.security_groups, _SECURITY_GROUP, what, remedy, needed=needed)
    if spec.driver_host is not None and not _is_host(spec.driver_host):
        raise InvalidParameterError(
            "driver_host",
            spec.driver_host,
            "is neither a host name nor an address",
            remedy="Write it without scheme and port, or use None to find it.",
        )


def _check_volume(spec: EC2ClusterSpec) -> None:
    if spec.volume_gigabytes is not None:
        require_whole("volume_gigabytes", spec.volume_gigabytes, minimum=1, maximum=_MAX_VOLUME_GIGABYTES)
    if spec.volume_type not in _VOLUME_TYPES:
        raise InvalidParameterError(
            "volume_type",
            spec.volume_type,
            f"is none of {', '.join(_VOLUME_TYPES)}",
            remedy="Other volumes can be attached by a launch template.",
        )
    if spec.volume_key is not None:
        require_match(
            "volume_key", spec.volume_key, _VOLUME_KEY, "is neither the ARN nor the id of a KMS key"
        )


def _check_tags(tags: object) -> None:
    if not isinstance(tags, Mapping):
        raise InvalidParameterError("tags", tags, "is no mapping of names to values")
    if len(tags) > MAX_TAGS:
        raise InvalidParameterError("tags", f"{len(tags)} tags", f"are more than the {MAX_TAGS} that fit")
    for key, value in tags.items():
        if not _is_tag_text(key) or not key or len(key) > _MAX_TAG_KEY:
            raise InvalidParameterError("tags", key, "is no name that AWS allows for a tag")
        if key == "Name" or key.lower().startswith(("aws:", "ernest:")):
            problem = 'is the name of a tag that is not yours to set, as are those of "aws:" and "ernest:"'
            raise InvalidParameterError("tags", key, problem, remedy="Choose another name.")
        if not _is_tag_text(value):
            problem = "is no text that AWS allows in a tag"
            remedy = "Allowed are 256 letters, digits, spaces and _.:/=+-@."
            raise InvalidParameterError(f"tags[{key!r}]", value, problem, remedy=remedy)


def _is_tag_text(value: object) -> bool:
    return isinstance(value, str) and tag_value(value) == value and not UNPRINTABLE.search(value)


def _check_times(spec: EC2ClusterSpec) -> None:
    require_number(
        "time_to_live_seconds",
        spec.time_to_live_seconds,
        minimum=MIN_TIME_TO_LIVE_SECONDS,
        maximum=MAX_TIME_TO_LIVE_SECONDS,
        unit="seconds",
    )
    require_number("start_timeout_seconds", spec.start_timeout_seconds, minimum=1, unit="seconds")
    require_whole("probe_rounds", spec.probe_rounds, minimum=0)
    require_number("probe_interval_seconds", spec.probe_interval_seconds, minimum=0, unit="seconds")
    before_jobs = spec.start_timeout_seconds + max(0, spec.probe_rounds - 1) * spec.probe_interval_seconds
    if spec.time_to_live_seconds <= before_jobs:
        raise InvalidParameterError(
            "time_to_live_seconds",
            spec.time_to_live_seconds,
            f"leaves no time for jobs: the start and the probe may take {before_jobs:g} s",
            remedy="Make it larger, or start_timeout_seconds smaller.",
        )


def _check_culling(spec: EC2ClusterSpec) -> None:
    require_number("over_allocation", spec.over_allocation, minimum=0, maximum=1)
    require_number("cull_floor", spec.cull_floor, minimum=0, maximum=1)


def _require_all(
    field: str, values: object, form: re.Pattern[str], problem: str, remedy: str, *, needed: bool = False
) -> None:
    if not isinstance(values, tuple | list):
        raise InvalidParameterError(field, values, "is not a tuple of texts")
    if needed and not values:
        remedy = "Name at least one, or a launch_template that does."
        raise InvalidParameterError(field, values, "is empty", remedy=remedy)
    for value in values:
        require_match(field, value, form, problem, remedy)
    if len(set(values)) < len(values):
        raise InvalidParameterError(field, values, "names one of them twice")


def _is_host(value: object) -> bool:
    if not is_line(value):
        return False
    try:
        ipaddress.ip_address(value)
    except ValueError:
        # What consists of digits and dots only is a mistyped address.
        return bool(_HOST_NAME.fullmatch(value)) and len(value) <= 253 and not re.fullmatch(r"[0-9.]+", value)
    return True
