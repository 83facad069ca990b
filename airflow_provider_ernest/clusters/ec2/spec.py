"""What a cluster on EC2 shall be, as data. A DAG file may import this: it costs nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from functools import partial
from typing import Any, ClassVar

from airflow_provider_ernest.clusters.local_spec import (
    MIN_MEMORY_MEGABYTES,
    OwnMachines,
    is_line,
    require_match,
    require_number,
    require_positive,
    require_whole,
)
from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings.values import flag, has_template
from airflow_provider_ernest.words import duration

EC2 = "ec2"
"""The kind of cluster."""
MIN_TIME_TO_LIVE_SECONDS = 60
MAX_TIME_TO_LIVE_SECONDS = 30 * 24 * 3600


class EC2ClusterSpec(OwnMachines, Document):
    """A Spark standalone cluster on EC2: one machine for the master, and the workers.

    Attributes:
        machines: how many workers remain after the slowest have been culled.
        instance_type: of all workers: a model is for one type.
        fallback_instance_types: tried in this order where AWS does not have enough of `instance_type`.
        master_instance_type: of the master, which runs no tasks; None for the workers' type.
        image: AMI id, or the name of an SSM parameter that holds one ("/aws/service/..."); None where the
            launch template names it. It needs Linux with cloud-init, curl, Java 17 and Python.
        subnets: tried in this order; machines of one cluster may lie in several.
        security_groups: ids. None of them may be open to the world. They must let the machines reach each
            other and the Airflow worker, and the Airflow worker reach ports 7077 and 8080 of the master.
        instance_profile: name or ARN of the machines' instance profile.
        key_name: key pair for SSH by hand; Ernest itself never uses SSH.
        spot: ask for spot instances for the workers; the master is always on demand.
        on_demand_fallback: where spot is refused, take on-demand instances for what is missing.
        launch_template: id (lt-...) or name; what is set here overrides it. Of its network it may name a
            subnet and security groups, by their ids in one network interface.
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
        spark_distribution: path of Spark on the machines: on the image, or where setup_script unpacks it.
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
        cull_floor: a worker that scores below is called a straggler.
        network_encryption: encrypt what Spark's processes exchange. They always share a secret.
        price_per_hour: dollars for a worker and hour, instead of asking AWS.
        driver_host: address at which the machines reach the Airflow worker; None to find it.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    kind: ClassVar[str] = EC2

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
        """Refuse what cannot work before anything is launched. Of templates nothing is known yet."""
        for one in fields(self):
            value = getattr(self, one.name)
            is_left_open = value is None and one.default is None
            # A script's braces are no template: it is never rendered.
            if not is_left_open and (one.name == "setup_script" or not has_template(value)):
                _CHECKS[one.name](one.name, value)
        if self.launch_template is None:
            self._check_without_template()
        smallest = self.smallest_acceptable
        if smallest is not None and not has_template([self.machines, smallest]):
            require_whole("smallest_acceptable", smallest, minimum=1, maximum=self.machines)
        self._check_times()

    def _check_without_template(self) -> None:
        if self.image is None:
            remedy = "Name an image or a launch_template."
            raise InvalidParameterError("image", None, "leaves nothing to boot from", remedy=remedy)
        for name in ("subnets", "security_groups"):
            if not getattr(self, name):
                remedy = "Name at least one, or a launch_template that does."
                raise InvalidParameterError(name, getattr(self, name), "is empty", remedy=remedy)

    def _check_times(self) -> None:
        life, start, pause = (
            self.time_to_live_seconds,
            self.start_timeout_seconds,
            self.probe_interval_seconds,
        )
        if has_template([life, start, pause, self.probe_rounds]):
            return
        before_jobs = start + max(0, self.probe_rounds - 1) * pause
        if life <= before_jobs:
            raise InvalidParameterError(
                "time_to_live_seconds",
                life,
                f"leaves no time for jobs: the start and the probe may take {duration(before_jobs)}",
                remedy="Make it larger, or start_timeout_seconds smaller.",
            )

    def require_literal(self) -> None:
        """Refuse templates where a DAG is planned by the specification, before anything is rendered."""
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name != "setup_script" and has_template(value):
                raise InvalidParameterError(one.name, value, "is a template, by which no DAG can be planned")

    @property
    def launched_machines(self) -> int:
        """Workers to ask for, with the additional ones to cull from (Ernest paper, section 4.2: 2 of 50)."""
        if self.over_allocation == 0 or self.probe_rounds == 0:
            return self.machines
        return self.machines + max(1, math.ceil(self.over_allocation * self.machines))

    @property
    def smallest_machines(self) -> int:
        """The number of workers below which the start fails."""
        return self.machines if self.smallest_acceptable is None else self.smallest_acceptable

    has_price = property(lambda self: True)  # AWS tells it
    least = property(lambda self: ("machines", self.smallest_machines))

    @property
    def instance_types(self) -> tuple[str, ...]:
        """The workers' types in the order in which they are tried."""
        return (self.instance_type, *self.fallback_instance_types)


# The checks of single fields. The syntax of names is that of the AWS API reference, above all RunInstances.
# Names that AWS itself refuses at the first launch, before anything is paid for, need only be of one line.

_Check = Callable[[str, Any], object]


def _text(form: str, problem: str, remedy: str = "") -> _Check:
    return partial(require_match, form=re.compile(form, re.ASCII), problem=problem, remedy=remedy)


def _texts(form: str, problem: str, remedy: str) -> _Check:
    check = _text(form, problem, remedy)

    def check_all(name: str, values: Any) -> None:
        # A single text would be taken for its characters.
        if not isinstance(values, tuple | list):
            raise InvalidParameterError(name, values, "is not a tuple of texts")
        for value in values:
            check(name, value)
        if len(set(values)) < len(values):
            raise InvalidParameterError(name, values, "names one of them twice")

    return check_all


def _check_line(name: str, value: Any) -> None:
    if not is_line(value):
        raise InvalidParameterError(name, value, "is not a text of one line")


def _check_path(name: str, value: Any) -> None:
    if not (is_line(value) and value.startswith("/")):
        remedy = "What is not on the image can be put there by setup_script."
        raise InvalidParameterError(name, value, "is not an absolute path on the machines", remedy=remedy)


def _check_user(name: str, user: Any) -> None:
    if user == "root":
        problem = "would let jobs call off the time to live of the machines"
        remedy = "Name a user without rights; one that does not exist is created."
        raise InvalidParameterError(name, user, problem, remedy=remedy)
    # What useradd takes on all distributions. A number would be one of a user that may be anybody.
    remedy = 'Use lower-case letters, digits, "-" and "_", at most 31, a letter first.'
    _text("[a-z_][a-z0-9_-]{0,30}", "is not a name of a Linux user", remedy)(name, user)


def _check_script(name: str, script: Any) -> None:
    if not isinstance(script, str) or re.search(r"[\x00\ud800-\udfff]", script):
        raise InvalidParameterError(name, script, "is not the text of a shell script")


def _check_tags(name: str, tags: Any) -> None:
    if not isinstance(tags, Mapping):
        raise InvalidParameterError(name, tags, "is not a mapping of names to values")
    for key, value in tags.items():
        if not is_line(key) or key == "Name" or key.lower().startswith("ernest:"):
            problem = 'is no name for a tag, or reserved, as are all that begin with "ernest:"'
            raise InvalidParameterError(name, key, problem, remedy="Choose another name.")
        if not isinstance(value, str):
            raise InvalidParameterError(f"{name}[{key!r}]", value, "is not a text")


_INSTANCE_TYPE = (
    r"[a-z][a-z0-9-]*\.[a-z0-9-]+",
    "is not a name of an instance type",
    'Write it like "m5.xlarge".',
)
_count = partial(require_whole, minimum=1)
_share = partial(require_number, minimum=0, maximum=1)
_IDS = "Give ids in a tuple, not names."
_seconds = partial(partial, require_number, unit="seconds")

_CHECKS: Mapping[str, _Check] = {
    "machines": _count,
    "instance_type": _text(*_INSTANCE_TYPE),
    "fallback_instance_types": _texts(*_INSTANCE_TYPE),
    "master_instance_type": _text(*_INSTANCE_TYPE),
    "image": _text(
        r"ami-[0-9a-f]{8,17}|/[\w.:/-]{1,1024}",
        "is neither an AMI id nor an SSM parameter",
        'Give an id like "ami-0123456789abcdef0", or a parameter like "/aws/service/...".',
    ),
    "subnets": _texts("subnet-[0-9a-f]{8,17}", "is not a subnet id", _IDS),
    "security_groups": _texts("sg-[0-9a-f]{8,17}", "is not a security group id", _IDS),
    "instance_profile": _check_line,
    "key_name": _check_line,
    "spot": flag,
    "on_demand_fallback": flag,
    "launch_template": _check_line,
    "launch_template_version": _check_line,
    "volume_gigabytes": _count,
    # st1 and sc1 cannot be root volumes; io1 and io2 need a rate of operations.
    "volume_type": _text(
        "gp3|gp2|standard",
        "is none of gp3, gp2, standard",
        "Other volumes can be attached by a launch template.",
    ),
    "volume_key": _check_line,
    "public_address": flag,
    "tags": _check_tags,
    "setup_script": _check_script,
    "spark_user": _check_user,
    "spark_distribution": _check_path,
    "java_home": _check_path,
    "python": _text(
        r"/.+|(?!-)[\w.+-]+", "is neither the name of a program nor an absolute path on the machines"
    ),
    "cores_per_machine": _count,
    "memory_megabytes_per_machine": partial(require_whole, minimum=MIN_MEMORY_MEGABYTES),
    "time_to_live_seconds": _seconds(minimum=MIN_TIME_TO_LIVE_SECONDS, maximum=MAX_TIME_TO_LIVE_SECONDS),
    "start_timeout_seconds": _seconds(minimum=1),
    "over_allocation": _share,
    "smallest_acceptable": _count,
    "probe_rounds": partial(require_whole, minimum=0),
    "probe_interval_seconds": _seconds(minimum=0),
    "cull_floor": _share,
    "network_encryption": flag,
    "price_per_hour": partial(
        require_positive, unit="dollars", remedy="Give the dollars for one machine and hour."
    ),
    "driver_host": _text(
        "[A-Za-z0-9][A-Za-z0-9.-]*|[0-9a-fA-F:]+",
        "is neither a host name nor an address",
        "Write it without scheme and port, or use None to find it.",
    ),
}
