"""Which machine image is meant, and whether it can be booted."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow_provider_ernest.clusters.ec2.aws_errors import Meaning, as_ours, code_of, meaning_of, said
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError

log = logging.getLogger(__name__)

_IMAGE_ID = re.compile(r"ami-[0-9a-f]+")
_NO_PARAMETER = ("ParameterNotFound", "ParameterVersionNotFound", "ValidationException")


@dataclass(frozen=True, kw_only=True)
class Image:
    """A machine image (AMI).

    Attributes:
        id: "ami-...".
        root_device: device name of its root volume ("/dev/xvda"); "" where it does not tell.
        architecture: "x86_64" or "arm64", as the instance type must be; "" where it does not tell.
        volumes: device names of its further EBS volumes.
    """

    id: str
    root_device: str
    architecture: str
    volumes: tuple[str, ...] = ()


def resolve_image(image: str, *, ec2: Any, ssm: Callable[[], Any]) -> Image:
    """Find an image that is there to be booted. A deprecated one is taken, with a warning.

    Needs the permissions ec2:DescribeImages and, for SSM parameters, ssm:GetParameter.

    Args:
        image: AMI id, or the name of an SSM parameter that holds one ("/aws/service/...").
        ec2: a boto3 client of the region where it shall be booted.
        ssm: makes a boto3 client of Systems Manager; called for parameters only.

    Raises:
        MissingResourceError: there is no such parameter or image, it is not available, or a permission
            is missing.
        InvalidParameterError: the image is one of Windows.
        ClusterError: AWS did not answer.
    """
    is_id = _IMAGE_ID.fullmatch(image) is not None
    image_id = image if is_id else _read_parameter(image, ssm)
    named = (
        f"The image {image_id}" if is_id else f"The image {image_id}, which the SSM parameter {image} names,"
    )
    facts = _describe(image_id, named, ec2)
    if facts["State"] != "available":
        reason = facts.get("StateReason", {}).get("Message")
        raise MissingResourceError(
            f"{named} is {facts['State']}, not available{f': {reason}' if reason else ''}.",
            remedy="Name one that is available, or wait until it is.",
        )
    if facts.get("Platform", "").lower() == "windows":
        raise InvalidParameterError("image", image, "is an image of Windows", remedy="Name one of Linux.")
    _warn_of_deprecation(named, facts)
    root_device = facts.get("RootDeviceName", "")
    ebs = [mapping.get("DeviceName") for mapping in facts.get("BlockDeviceMappings", ()) if "Ebs" in mapping]
    return Image(
        id=image_id,
        root_device=root_device,
        architecture=facts.get("Architecture", ""),
        volumes=tuple(device for device in ebs if device and device != root_device),
    )


def _read_parameter(name: str, ssm: Callable[[], Any]) -> str:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        value = str(ssm().get_parameter(Name=name)["Parameter"]["Value"])
    except (BotoCoreError, ClientError) as error:
        if code_of(error) in _NO_PARAMETER:
            raise MissingResourceError(
                f"There is no SSM parameter {name} to name the image: {said(error)}.",
                remedy="Give an AMI id (ami-...), or a parameter of the cluster's region and account.",
            ) from None
        if meaning_of(error) is Meaning.NOT_ALLOWED:
            raise MissingResourceError(
                f"AWS does not let these credentials read the SSM parameter {name}: {said(error)}.",
                remedy="Grant ssm:GetParameter to them, or give the AMI id itself.",
            ) from None
        raise as_ours(error, f"read the SSM parameter {name}") from None
    if not _IMAGE_ID.fullmatch(value):
        # The value is not shown: whoever mistook the name might have named a secret.
        raise MissingResourceError(
            f"The SSM parameter {name} holds no AMI id.",
            remedy="Some of AWS's hold a JSON document, with the id beside it as .../image_id.",
        )
    return value


def _describe(image_id: str, named: str, ec2: Any) -> Mapping[str, Any]:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        # Without these two, AWS hides deprecated and disabled images as if they had never been.
        images = ec2.describe_images(ImageIds=[image_id], IncludeDeprecated=True, IncludeDisabled=True)[
            "Images"
        ]
    except (BotoCoreError, ClientError) as error:
        if code_of(error).startswith("InvalidAMIID"):
            raise _missing(named, ec2) from None
        if meaning_of(error) is Meaning.NOT_ALLOWED:
            raise MissingResourceError(
                f"AWS does not let these credentials describe the image {image_id}: {said(error)}.",
                remedy="Grant ec2:DescribeImages to them.",
            ) from None
        raise as_ours(error, f"describe the image {image_id}") from None
    if not images:
        raise _missing(named, ec2)
    facts: Mapping[str, Any] = images[0]
    return facts


def _missing(named: str, ec2: Any) -> MissingResourceError:
    return MissingResourceError(
        f"{named} does not exist in the region {ec2.meta.region_name}, or is not shared with this account.",
        remedy="Each region has ids of its own: copy the image, or name an SSM parameter (/aws/service/...).",
    )


def _warn_of_deprecation(named: str, facts: Mapping[str, Any]) -> None:
    deprecation = facts.get("DeprecationTime")
    if deprecation and datetime.fromisoformat(deprecation) <= datetime.now(UTC):
        log.warning("%s is deprecated since %s: its owner may remove it any day.", named, deprecation)
