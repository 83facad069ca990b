"""What a cluster on EC2 shall be, as data. A DAG file may import this: it costs nothing."""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from airflow_provider_ernest.clusters.ec2.identity import tag_value
from airflow_provider_ernest.clusters.local_spec import (
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
from airflow_provider_ernest.json_document import Document

# ---------------------------------------------------------------------------
# What a specification says of the software on the machines, checked before anything is launched.


# What useradd takes on all distributions. A number would be one of a user that may be anybody.
_LINUX_USER = re.compile(r"[a-z_][a-z0-9_-]{0,30}")
_SHA512 = re.compile(r"[0-9a-fA-F]{128}")
_URL_CREDENTIALS = re.compile(r"(?:x-amz-(?:signature|credential|security-token)|signature|sig|token)=", re.I)


def check_software(spec: EC2ClusterSpec) -> None:
    """Refuse software that cannot be found, or a user that must not run it.

    Raises:
        InvalidParameterError: a value that cannot work.
    """
    _check_distribution(spec.spark_distribution, spec.spark_distribution_sha512)
    if spec.java_home is not None and not (is_line(spec.java_home) and spec.java_home.startswith("/")):
        raise InvalidParameterError("java_home", spec.java_home, "is no absolute path on the machines")
    python = spec.python
    if not is_line(python) or python.startswith("-") or ("/" in python and not python.startswith("/")):
        raise InvalidParameterError(
            "python", python, "is neither the name of a program nor an absolute path on the machines"
        )
    _check_user(spec.spark_user)
    if not isinstance(spec.setup_script, str) or re.search(r"[\x00\ud800-\udfff]", spec.setup_script):
        raise InvalidParameterError("setup_script", spec.setup_script, "is not the text of a shell script")


def _check_user(user: object) -> None:
    if user == "root":
        problem = "would let jobs call off the time to live of the machines"
        remedy = "Name a user without rights; one that does not exist is created."
        raise InvalidParameterError("spark_user", user, problem, remedy=remedy)
    what = "is no name of a Linux user"
    remedy = 'Use lower-case letters, digits, "-" and "_", at most 31, a letter first.'
    require_match("spark_user", user, _LINUX_USER, what, remedy)


def _check_distribution(distribution: object, sha512: object) -> None:
    field = "spark_distribution"
    if not is_line(distribution):
        raise InvalidParameterError(field, distribution, "is no path or address of one line")
    is_path = distribution.startswith("/")
    if not is_path:
        _check_address(field, distribution)
    if sha512 is None and distribution.startswith("https:"):
        problem = "is missing: whoever answers at that address would run code on the machines"
        remedy = (
            "Give the digest that the project publishes beside the .tgz, or take an s3:// address of yours."
        )
        raise InvalidParameterError("spark_distribution_sha512", None, problem, remedy=remedy)
    if sha512 is None:
        return
    if is_path:
        problem = "belongs to a .tgz, but spark_distribution is a path"
        raise InvalidParameterError("spark_distribution_sha512", sha512, problem, remedy="Leave it out.")
    what = "is no SHA-512 digest of 128 hexadecimal digits"
    require_match("spark_distribution_sha512", sha512, _SHA512, what)


def _check_address(field: str, address: str) -> None:
    try:
        parts = urlsplit(address)
        host = parts.hostname
        _ = parts.port  # raises where it is no number
    except ValueError as error:
        raise InvalidParameterError(field, address, f"is no address: {error}") from error
    if "@" in parts.netloc or _URL_CREDENTIALS.search(parts.query):
        # Not quoted: a specification and its errors are shown to whoever may see the DAG.
        remedy = "Let the machines' instance profile read an s3:// address instead."
        raise InvalidParameterError(field, f"{parts.scheme}://...", "holds credentials", remedy=remedy)
    if parts.scheme not in ("https", "s3") or not host or not parts.path.strip("/") or " " in address:
        problem = "is neither an absolute path nor an https:// or s3:// address of a .tgz"
        raise InvalidParameterError(field, address, problem)


# ---------------------------------------------------------------------------
# What a specification of an EC2 cluster must satisfy, checked before anything is launched.


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


# ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class EC2ClusterSpec(Document):
    """A Spark standalone cluster on EC2: one machine for the master, and the workers.

    Attributes:
        machines: how many workers remain after the slowest have been culled.
        instance_type: of the workers. All are of one type, since a model is one of a type.
        fallback_instance_types: tried in this order where AWS has not enough of `instance_type`.
        master_instance_type: of the master, which does no work; None for the workers' type.
        image: AMI id, or the name of an SSM parameter that holds one ("/aws/service/..."); None where the
            launch template names it. It needs Linux with cloud-init, curl, Java 17 and Python.
        subnets: tried in this order; machines of one cluster may lie in several.
        security_groups: ids. None of them may be open to the world. They must let the machines reach each
            other and the Airflow worker, and the Airflow worker reach ports 7077 and 8080 of the master.
        instance_profile: name or ARN of the machines' instance profile.
        key_name: key pair for SSH by hand; Ernest itself never uses SSH.
        spot: ask for spot instances for the workers; the master is always on demand.
        on_demand_fallback: where spot is refused, take on-demand instances for what is missing.
        launch_template: id (lt-...) or name; what is set here overrides it.
        launch_template_version: "$Default", "$Latest" or a number; machines are launched from the
            version that this means when it is checked.
        volume_gigabytes: size of the encrypted root volume; None for that of the image.
        volume_type: of the root volume.
        volume_key: ARN or id of the KMS key; None for the account's default key.
        public_address: give the machines public IP addresses.
        tags: further tags of instances and volumes.
        setup_script: shell script that each machine runs as root before Spark starts. It must not reboot the
            machine: one that was rebooted shuts down, since Spark does not come back.
        spark_user: Linux user of Spark and of the jobs' code on the machines. A system user is created where
            there is none; setup_script may create one, such as with the number that owns shared files. So
            that no job can call off the time to live, "root" is refused, and sudo has no effect. Name no
            user who may log in, or is in a group that amounts to root, such as docker.
        spark_distribution: where Spark is: a path on the image ("/opt/spark"), or the https:// or s3://
            address of a .tgz that each machine unpacks (s3:// needs the AWS CLI on the image).
        spark_distribution_sha512: hexadecimal digest that the .tgz must have; an https:// address needs it.
        java_home: on the machines; None to use what is on their PATH.
        python: of PySpark's workers; its minor version must be that of the drivers.
        cores_per_machine: offered to executors; None for all that the type has.
        memory_megabytes_per_machine: offered to executors; None for what the type has less a reserve.
        time_to_live_seconds: each machine shuts itself down so long after its boot, whatever happens.
        start_timeout_seconds: how long all machines may take to be there.
        over_allocation: the share of additional workers from which the slowest are culled; at least one
            additional worker unless 0.
        smallest_acceptable: go on with so many workers where there are not more; None for all `machines`.
        probe_rounds: how often the bandwidth of all workers is measured; 0 to launch no additional ones
            and to measure nothing.
        probe_interval_seconds: between the rounds.
        cull_floor: a worker that scores below is called a straggler; see `clusters.culling`.
        network_encryption: encrypt what Spark's processes exchange. They always share a secret.
        price_per_hour: dollars for a worker and hour, instead of asking AWS.
        driver_host: address at which the machines reach the Airflow worker; None to find it.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    machines: int
    instance_type: str
    fallback_instance_types: tuple[str, ...] = ()
    master_instance_type: str | None = None
    image: str | None = None
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    instance_profile: str | None = None
    key_name: str | None = None
    spot: bool = False
    on_demand_fallback: bool = True
    launch_template: str | None = None
    launch_template_version: str = "$Default"
    volume_gigabytes: int | None = None
    volume_type: str = "gp3"
    volume_key: str | None = None
    public_address: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)
    setup_script: str = ""
    spark_user: str = "ernest"
    spark_distribution: str = "/opt/spark"
    spark_distribution_sha512: str | None = None
    java_home: str | None = None
    python: str = "python3"
    cores_per_machine: int | None = None
    memory_megabytes_per_machine: int | None = None
    time_to_live_seconds: float = 7200
    start_timeout_seconds: float = 600
    over_allocation: float = 0.04
    smallest_acceptable: int | None = None
    probe_rounds: int = 2
    probe_interval_seconds: float = 30
    cull_floor: float = 0.85
    network_encryption: bool = False
    price_per_hour: float | None = None
    driver_host: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot work before anything is launched."""
        check_spec(self)

    @property
    def additional_machines(self) -> int:
        """Workers launched beyond `machines`, to cull the slowest (Ernest paper, section 4.2: 2 of 50)."""
        if self.over_allocation == 0 or self.probe_rounds == 0:
            return 0
        return max(1, math.ceil(self.over_allocation * self.machines))

    @property
    def smallest_machines(self) -> int:
        """The number of workers below which the start fails."""
        return self.machines if self.smallest_acceptable is None else self.smallest_acceptable

    @property
    def instance_types(self) -> tuple[str, ...]:
        """The workers' types in the order in which they are tried."""
        return (self.instance_type, *self.fallback_instance_types)
