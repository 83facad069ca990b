"""The arguments of the RunInstances calls.

Whatever a launch template says: the machines terminate when they shut down, can be terminated, and carry the
tags by which they are found again.

A parameter of a request overwrites that of the template (EC2 API reference, RunInstances). How lists of
interfaces and volumes are merged is not documented: a request states them as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from airflow_provider_ernest.clusters.local_spec import MIN_MEMORY_MEGABYTES
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

ON_DEMAND: Literal["on-demand"] = "on-demand"
SPOT: Literal["spot"] = "spot"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where machines are asked for: of which type, in which subnet (None for the template's) and market."""

    instance_type: str
    subnet: str | None
    market: Literal["on-demand", "spot"]

    def __str__(self) -> str:
        """As logs and errors name it."""
        return f"{self.instance_type}, {self.market}{f' in {self.subnet}' if self.subnet else ''}"


def run_instances_request(
    spec: EC2ClusterSpec,
    plan: Plan,
    *,
    place: Place,
    minimum: int,
    maximum: int,
    user_data: str,
    tags: Mapping[str, str],
) -> dict[str, Any]:
    """The keyword arguments of boto3's ``run_instances`` but for the token; the same for the same arguments.

    Raises:
        InvalidParameterError: the volume is specified, and no root device is known to apply it to.
    """
    # Our tags win over the user's.
    all_tags = [{"Key": key, "Value": value} for key, value in sorted({**spec.tags, **tags}.items())]
    profile = spec.instance_profile
    tagged = ["instance", "volume", *(["spot-instances-request"] if place.market == SPOT else [])]
    request = {
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
        "ImageId": plan.image.id if spec.image else None,
        "LaunchTemplate": dict(plan.launch_template) if plan.launch_template else None,
        "BlockDeviceMappings": _volumes(spec, plan),
        "KeyName": spec.key_name,
        "IamInstanceProfile": {"Arn" if profile.startswith("arn:") else "Name": profile} if profile else None,
        **_network(spec, place, plan.network),
    }
    if place.market == SPOT:
        # Termination protection cannot be set for spot instances, not even to none.
        options = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
        request["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": options}
    else:
        request["DisableApiTermination"] = False
    return {name: value for name, value in request.items() if value is not None}


def _network(spec: EC2ClusterSpec, place: Place, network: TemplateNetwork) -> dict[str, Any]:
    groups = list(spec.security_groups or network.security_groups)
    if network.instance_level:
        return {"SubnetId": place.subnet, "SecurityGroupIds": groups}
    if not describes_interface(spec, network):
        return {}  # the launch template's
    # An interface and not SubnetId and SecurityGroupIds, since only here a public address can be refused
    # that the subnet would give. With all that the template's says, which it may replace.
    interface: dict[str, Any] = {
        "DeviceIndex": 0,
        "AssociatePublicIpAddress": spec.public_address,
        "DeleteOnTermination": True,
    }
    if subnet := place.subnet or network.subnet:
        interface["SubnetId"] = subnet
    if groups:
        interface["Groups"] = groups
    return {"NetworkInterfaces": [interface]}


def describes_interface(spec: EC2ClusterSpec, network: TemplateNetwork) -> bool:
    """Whether requests describe the machine's interface, and so decide on its public address."""
    own = spec.subnets or spec.security_groups or spec.public_address
    return bool(own) and not network.instance_level


_SAFE: Mapping[str, Any] = {"Encrypted": True, "DeleteOnTermination": True}
"""Whatever template and image say: a volume that is left behind costs until somebody finds it."""


def _volumes(spec: EC2ClusterSpec, plan: Plan) -> list[dict[str, Any]] | None:
    wanted = {"VolumeSize": spec.volume_gigabytes, "KmsKeyId": spec.volume_key}
    stated = {name: value for name, value in wanted.items() if value is not None}
    volumes = {device: dict(settings) for device, settings in plan.volumes.items()}
    if plan.root_device is not None:
        volumes.pop(plan.root_device, None)
        volumes = {plan.root_device: {**_SAFE, "VolumeType": spec.volume_type, **stated}} | volumes
    elif stated:
        name = "volume_gigabytes" if spec.volume_gigabytes is not None else "volume_key"
        raise InvalidParameterError(
            name,
            getattr(spec, name),
            "cannot be applied: the image's root device is not known",
            remedy="Name the image, or describe the volume in the launch template.",
        )
    return [{"DeviceName": device, "Ebs": settings} for device, settings in volumes.items()] or None


# What a launch template says that a request must heed, what it must not say, and what it leaves to AWS.


@dataclass(frozen=True, kw_only=True)
class TemplateNetwork:
    """What a launch template says about the network; nothing by default."""

    security_groups: tuple[str, ...] = ()
    """Ids that a specification overrides: of the machine, or of its first interface."""
    instance_level: bool = False
    """They are the machine's: AWS takes no network interfaces in the same request then."""
    subnet: str | None = None
    public_address: bool | None = None
    """What the first interface says; None to leave it to the subnet."""
    other_groups: tuple[str, ...] = ()
    """Ids that a specification might not override."""
    further_without_groups: bool = False
    """A further interface names no groups, and so has the VPC's default group."""


def check_template(name: str, template: Mapping[str, Any]) -> None:
    """Refuse a launch template that makes all machines spot instances, or of which AWS launches only one."""
    interfaces = template.get("NetworkInterfaces") or ()
    existing = [one["NetworkInterfaceId"] for one in interfaces if one.get("NetworkInterfaceId")]
    problem = remedy = ""
    if template.get("InstanceMarketOptions"):
        problem = "has InstanceMarketOptions, which the master and the on-demand fallback would inherit"
        remedy = "Leave them out of the template, and set spot=True for spot instances."
    elif interfaces and (template.get("SecurityGroupIds") or template.get("SecurityGroups")):
        problem = (
            "has network interfaces and security groups of the machine, which AWS does not launch together"
        )
        remedy = "Name the security groups in the interfaces only."
    elif existing:
        problem = f"names the existing network interface {existing[0]}, which only one machine can have"
        remedy = "Name its subnet and security groups instead."
    if problem:
        raise InvalidParameterError("launch_template", name, problem, remedy=remedy)


def network_of(template: Mapping[str, Any], *, named_groups: Sequence[str]) -> TemplateNetwork:
    """What a template says about the network; `named_groups` are the ids of groups that it gives by name."""
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


def root_device_of(spec: EC2ClusterSpec, template: Mapping[str, Any], image: Image) -> str | None:
    """Where the root volume is that the specification describes; None where the template describes it."""
    own = spec.volume_gigabytes is not None or spec.volume_key is not None
    return image.root_device if own or image.root_device not in dict(_template_volumes(template)) else None


def volumes_of(template: Mapping[str, Any], image: Image) -> dict[str, Mapping[str, Any]]:
    """Settings of the EBS volumes that template and image describe, by device name.

    Each is encrypted and goes with its machine. Further settings are the template's; those of an image need
    no repetition. Instance store volumes are none of these.
    """
    described = {mapping.get("DeviceName") for mapping in template.get("BlockDeviceMappings", ())}
    volumes: dict[str, Mapping[str, Any]] = {
        device: {**settings, **_SAFE} for device, settings in _template_volumes(template)
    }
    # A device that the template leaves out (NoDevice) must not come back.
    return volumes | {device: _SAFE for device in image.volumes if device not in described}


def _template_volumes(template: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for mapping in template.get("BlockDeviceMappings", ()):
        # AWS answers an empty text for a device that is left out.
        if mapping.get("DeviceName") and "Ebs" in mapping and "NoDevice" not in mapping:
            yield mapping["DeviceName"], mapping["Ebs"]


# What AWS says about what a specification names.

_DAEMON_RESERVE_MEGABYTES = 1024
_EXECUTOR_OVERHEAD = 0.10


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What AWS says about what a specification names."""

    image: Image
    root_device: str | None
    """Where the image's root volume is; None where the launch template describes the volume."""
    instance_types: Mapping[str, InstanceType]
    """All types that may be launched, by name."""
    network: TemplateNetwork
    volumes: Mapping[str, Mapping[str, Any]]
    """Settings of the volumes that image and launch template describe, by device name."""
    launch_template: Mapping[str, str] | None
    """Id and number of the version that was checked, as RunInstances takes them: what "$Latest" means may
    change meanwhile."""

    def offered(self, spec: EC2ClusterSpec, instance_type: str) -> tuple[int, int]:
        """The cores and the megabytes of memory that a worker of a type offers to executors."""
        facts = self.instance_types[instance_type]
        memory = spec.memory_megabytes_per_machine or executor_memory_megabytes(facts)
        return spec.cores_per_machine or facts.cores, memory


@dataclass(frozen=True, kw_only=True)
class Image:
    """A machine image (AMI); "" stands for what AWS does not tell."""

    id: str
    root_device: str  # device name of its root volume, such as "/dev/xvda"
    architecture: str  # "x86_64" or "arm64"
    volumes: tuple[str, ...] = ()  # device names of its further EBS volumes


@dataclass(frozen=True, kw_only=True)
class InstanceType:
    """One instance type, such as "m5.xlarge"."""

    name: str
    cores: int  # vCPUs, as Spark counts cores: hyper-threads where the type has them
    memory_megabytes: int  # nominal; the operating system sees a few percent less
    architectures: tuple[str, ...] = ()  # of the images that it boots


def executor_memory_megabytes(instance_type: InstanceType) -> int:
    """The heap that an executor which fills the machine may have: ``spark.executor.memory``.

    A standalone worker offers the machine's memory less 1 GB, which is for the operating system and the
    daemon (Spark documentation, "Spark Standalone Mode", SPARK_WORKER_MEMORY). But an executor takes more
    than its heap: class metadata, thread stacks, network buffers and PySpark's workers lie beside it.
    Cluster managers that allow for it add a tenth of the heap ("Running Spark on Kubernetes",
    spark.kubernetes.memoryOverheadFactor; "Configuration", spark.executor.memoryOverheadFactor). The
    standalone one does not, and Linux would kill the executor instead. So it is left out here:
    (memory - 1 GB) / 1.1. Machines of less than 2 GB keep half of their memory for the system.

    Raises:
        InvalidParameterError: the type has too little memory for any executor.
    """
    total = instance_type.memory_megabytes
    offered = max(total - _DAEMON_RESERVE_MEGABYTES, total // 2)
    heap = int(offered / (1 + _EXECUTOR_OVERHEAD))
    if heap < MIN_MEMORY_MEGABYTES:
        raise InvalidParameterError(
            "instance_type",
            instance_type.name,
            f"has {total} MB of memory, of which an executor could have {heap}; "
            f"Spark needs {MIN_MEMORY_MEGABYTES}",
            remedy="Choose a type of at least 1 GB, for real work of at least 4 GB.",
        )
    return heap
