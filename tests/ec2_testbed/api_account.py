"""What an account has before a cluster is launched in it: a network, security groups, an image."""

from __future__ import annotations

import ipaddress
from typing import Any, TypedDict

from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.moto_api._internal.models import moto_api_backend

from tests.ec2_testbed.api_state import REGION, EC2State

IMAGE_PARAMETER = "/ernest/testbed/image"
INSTANCE_PROFILE = "ernest-testbed"


class Account(TypedDict):
    """What a launch refers to."""

    vpc_id: str
    subnet_ids: list[str]
    security_group_id: str
    open_security_group_id: str
    image_id: str


def build_account(state: EC2State, network: str, subnet_prefix: int) -> Account:
    """Empty the account, then make two subnets in two zones and what else machines need.

    Args:
        state: of the account.
        network: of the VPC, in CIDR notation.
        subnet_prefix: length of the prefix of the subnets.
    """
    moto_api_backend.reset()
    ec2 = state.backend()
    vpc = ec2.create_vpc(network)
    ranges = ipaddress.ip_network(network).subnets(new_prefix=subnet_prefix)
    subnets = [
        ec2.create_subnet(vpc.id, str(next(ranges)), availability_zone=f"{REGION}{zone}") for zone in "ab"
    ]
    group = ec2.create_security_group("ernest-testbed", "Members and the network", vpc_id=vpc.id)
    ec2.authorize_security_group_ingress(
        group.id, "-1", "-1", "-1", [{"CidrIp": network}], source_groups=[{"GroupId": group.id}]
    )
    world = ec2.create_security_group("ernest-testbed-open", "Open to the world", vpc_id=vpc.id)
    ec2.authorize_security_group_ingress(world.id, "tcp", "22", "22", [{"CidrIp": "0.0.0.0/0"}])
    image = _make_image(ec2)
    _service("ssm").put_parameter(
        IMAGE_PARAMETER, "", image.id, "String", "", "", True, [], "text", "Standard", None
    )
    iam = get_backend("iam")[DEFAULT_ACCOUNT_ID]["aws"]
    iam.create_instance_profile(INSTANCE_PROFILE, "/", [])
    return {
        "vpc_id": vpc.id,
        "subnet_ids": [subnet.id for subnet in subnets],
        "security_group_id": group.id,
        "open_security_group_id": world.id,
        "image_id": image.id,
    }


def _make_image(ec2: Any) -> Any:
    image = ec2.register_image("ernest-testbed", "Linux with cloud-init, curl, Java and Python")
    image.architecture = "x86_64"
    image.virtualization_type = "hvm"
    image.root_device_type = "ebs"
    return image


def _service(name: Any) -> Any:
    return get_backend(name)[DEFAULT_ACCOUNT_ID][REGION]
