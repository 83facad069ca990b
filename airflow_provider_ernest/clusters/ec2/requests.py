"""The arguments of the RunInstances calls.

Whatever a launch template says: the machines terminate when they shut down, can be terminated, and carry the
tags by which they are found again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from airflow_provider_ernest.clusters.ec2.launch_templates import TemplateNetwork
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

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
        **_volumes(spec, root_device, volumes),
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


def _volumes(
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
