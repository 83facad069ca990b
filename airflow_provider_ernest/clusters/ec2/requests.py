"""The arguments of the RunInstances calls, and the user-data among them.

Whatever a launch template says: the machines terminate when they shut down, can be terminated, and carry the
tags by which they are found again.

A parameter of a request overwrites that of the template (EC2 API reference, RunInstances). How lists of
interfaces and volumes are merged is not documented: a request states them as a whole.
"""

from __future__ import annotations

import base64
import math
import re
import secrets
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any, Literal

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.clusters.local_spec import MIN_MEMORY_MEGABYTES
from airflow_provider_ernest.exceptions import ClusterError, InvalidParameterError
from airflow_provider_ernest.spark.installation import MIN_JAVA

ON_DEMAND: Literal["on-demand"] = "on-demand"
SPOT: Literal["spot"] = "spot"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where machines are asked for: of which type, in which subnet and market."""

    instance_type: str
    subnet: str
    market: Literal["on-demand", "spot"]

    def __str__(self) -> str:
        """As logs and errors name it."""
        return f"{self.instance_type}, {self.market} in {self.subnet}"


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
        "NetworkInterfaces": [_interface(spec, place, plan)],
    }
    if place.market == SPOT:
        # Termination protection cannot be set for spot instances, not even to none.
        options = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
        request["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": options}
    else:
        request["DisableApiTermination"] = False
    return {name: value for name, value in request.items() if value is not None}


def _interface(spec: EC2ClusterSpec, place: Place, plan: Plan) -> dict[str, Any]:
    # An interface and not SubnetId and SecurityGroupIds, since only here a public address can be refused
    # that the subnet would give.
    return {
        "DeviceIndex": 0,
        "SubnetId": place.subnet,
        "Groups": list(plan.security_groups),
        "AssociatePublicIpAddress": spec.public_address,
        "DeleteOnTermination": True,
    }


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


# What a launch template says that a request must heed, and what it must not say.


def check_template(name: str, template: Mapping[str, Any]) -> None:
    """Refuse a launch template that makes all machines spot instances, or has an ambiguous network."""
    interfaces = template.get("NetworkInterfaces") or ()
    problem = remedy = ""
    if template.get("InstanceMarketOptions"):
        problem = "has InstanceMarketOptions, which the master and the on-demand fallback would inherit"
        remedy = "Leave them out of the template, and set spot=True for spot instances."
    elif template.get("SecurityGroupIds") or template.get("SecurityGroups"):
        problem = (
            "has security groups of the machine, which AWS does not take together with a network interface"
        )
        remedy = "Name them in the template's network interface, or leave them out and set security_groups."
    elif len(interfaces) > 1 or any(one.get("NetworkInterfaceId") for one in interfaces):
        problem = "has several network interfaces, or an existing one, which only one machine can have"
        remedy = "Leave them out, and set subnets and security_groups."
    if problem:
        raise InvalidParameterError("launch_template", name, problem, remedy=remedy)


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
    subnets: tuple[str, ...]
    """In the order in which they are tried: of the specification, else of the launch template."""
    security_groups: tuple[str, ...]
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


# The user-data: the script that makes a booted image a part of the cluster.
#
# It is all that a machine is ever told; nobody logs in. It carries the secret that the cluster's processes
# share, readable for whoever may call DescribeInstanceAttribute and for the jobs on the machines, which have
# it anyway. Its first command sets the time to live, as root; jobs run as `EC2ClusterSpec.spark_user`, who
# cannot call that off.

MASTER_PORT = 7077
WEB_PORT = 8080

MAX_BYTES = 16_384
"""What AWS takes, before base64 (EC2 User Guide, "Run commands when you launch an EC2 instance")."""

CONSOLE_PREFIX = "ernest: "
"""Begins each line of the script's own on a machine's console."""
GAVE_UP = f"{CONSOLE_PREFIX}this machine gives up and shuts down"
"""The console line of a machine that ends itself before its time; the one before it says why."""

TIMER_DELAY_SECONDS = 90
"""How long after the time to live a timer of root powers a machine off whose shutdown was called off.
`shutdown` counts in whole minutes."""

_SECRET_LINE = re.compile(r"^ernest_secret=([0-9a-f]{64})$", re.MULTILINE)


def new_secret() -> str:
    """A secret for the processes of one cluster: 256 bits, hexadecimal."""
    return secrets.token_hex(32)


def secret_of(user_data: str) -> str:
    """The secret in the user-data of a machine, base64 decoded; a ClusterError if there is none."""
    found = _SECRET_LINE.search(user_data)
    if found is None:
        raise ClusterError(
            "The machine's user-data holds no secret of a cluster.",
            remedy="It was not launched by this package, or its user-data was changed: start a new cluster.",
        )
    return found[1]


def user_data_of(
    spec: EC2ClusterSpec,
    *,
    secret: str,
    expires_at: datetime,
    master_host: str | None = None,
    cores: int | None = None,
    memory_megabytes: int | None = None,
) -> str:
    """The user-data of a machine; the same for the same arguments.

    Workers get the private address of the master, and what each offers to executors.

    Raises:
        InvalidParameterError: it is larger than AWS allows.
    """
    from jinja2 import Environment, StrictUndefined

    # `finalize` sees the value of every expression: none can be forgotten to be quoted.
    environment = Environment(
        autoescape=False,  # noqa: S701 - the output is a shell script, quoted for the shell
        finalize=lambda value: shlex.quote(str(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    template = environment.from_string(files(__package__).joinpath("user_data.sh.j2").read_text("utf-8"))
    script = template.render(
        secret=secret,
        expires_at=expires_at.isoformat(timespec="seconds"),
        gave_up=GAVE_UP,
        min_java=MIN_JAVA,
        master_port=MASTER_PORT,
        web_port=WEB_PORT,
        time_to_live_minutes=math.ceil(spec.time_to_live_seconds / 60),
        timer_seconds=math.ceil(spec.time_to_live_seconds) + TIMER_DELAY_SECONDS,
        start_timeout_seconds=math.ceil(spec.start_timeout_seconds),
        setup_script=base64.b64encode(spec.setup_script.encode()).decode(),
        java_home=spec.java_home,
        python=spec.python,
        spark_user=spec.spark_user,
        spark_distribution=spec.spark_distribution,
        network_encryption=spec.network_encryption,
        master_host=master_host,
        cores=cores,
        memory=f"{memory_megabytes}m",
    )
    size = len(script.encode())
    if size > MAX_BYTES:
        raise InvalidParameterError(
            "setup_script",
            f"{spec.setup_script[:40]}...",
            f"makes user-data of {size} bytes, of which AWS takes {MAX_BYTES}",
            remedy="Bake what it does into the image, or let it fetch a longer script from S3.",
        )
    return script
