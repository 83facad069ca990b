"""What a job flow of EMR and its steps shall be, as data. A DAG file may import this: it costs nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from airflow_provider_ernest.clusters.local_spec import (
    MIN_MEMORY_MEGABYTES,
    is_line,
    require_match,
    require_number,
    require_price,
    require_whole,
)
from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.stated import Reader, is_template, settings_of


@dataclass(frozen=True, kw_only=True)
class BootstrapAction(Document):
    """A script that EMR runs on each machine before it starts its applications.

    Attributes:
        name: shown in EMR's console.
        path: s3:// address of the script.
        arguments: of the script.

    Raises:
        InvalidParameterError: a path that is not on S3.
    """

    name: str
    path: str
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what EMR cannot fetch."""
        if not is_template(self.path) and not self.path.startswith("s3://"):
            raise InvalidParameterError(
                "bootstrap_actions",
                self.path,
                "is not on S3",
                remedy="Upload the script and write s3://...",
            )


def _bootstrap_actions(parameter: str, value: Any) -> tuple[BootstrapAction, ...]:
    return tuple(
        settings_of(BootstrapAction, one, parameter, is_rendered=False) for one in _listed(parameter, value)
    )


def _listed(parameter: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, tuple | list):
        raise InvalidParameterError(
            parameter, value, "is no tuple", remedy=f"Write {parameter}=(...,), one for each."
        )
    return tuple(value)


@dataclass(frozen=True, kw_only=True)
class EmrClusterSpec(Document):
    """A job flow of EMR on EC2: one machine for the master, and the core instances that do the work.

    EMR knows no time to live. What ends a forgotten job flow is that it is idle: no step outlives
    `time_to_live_seconds`, and `idle_timeout_seconds` after the last one EMR ends it (Amazon EMR Management
    Guide, "Using an auto-termination policy"). The time is written into its tags for the reaper, too.

    Attributes:
        machines: how many core instances.
        instance_type: of the core instances.
        release_label: EMR's release, such as "emr-7.5.0"; at least 5.30.0, or 6.1.0 of the sixes, since older
            ones have no auto-termination policy.
        log_uri: s3:// folder for EMR's own logs, those of the steps among them.
        event_log_uri: s3:// folder for Spark's event logs, from which the runs are observed.
        master_instance_type: of the master, on which the drivers run; None for `instance_type`.
        subnet: where the machines lie; None for the account's default.
        service_role: IAM role with which EMR acts.
        job_flow_role: instance profile of the machines; it must read the application and its input, and write
            to both folders.
        key_name: key pair for SSH by hand; Ernest itself never uses SSH.
        master_security_group, core_security_group, service_access_security_group: ids, instead of those that
            EMR makes; EMR sets what it needs in them.
        security_configuration: name of an EMR security configuration: encryption of the volumes and in
            transit, and that machines demand IMDSv2, are set there.
        applications: that EMR installs; Spark is one of them.
        bootstrap_actions: scripts run on each machine first.
        configurations: of EMR's applications, as the API takes them (Classification, Properties, ...).
        ebs_gigabytes: size of the one additional volume of each machine; None for what EMR gives.
        ebs_volume_type: of that volume.
        tags: further tags; EMR passes them on to the machines.
        cores_per_machine: offered to executors; None for all that the type has.
        memory_megabytes_per_machine: heap of an executor; None for what YARN has on such a type.
        python: of PySpark's workers; None for that of the release.
        idle_timeout_seconds: EMR ends a job flow that has had no step for so long; 60 to 604800.
        time_to_live_seconds: no step runs longer than until so long after the start.
        start_timeout_seconds: how long it may take to be ready.
        price_per_hour: dollars for a core instance and hour, EMR's own share included; None where unknown.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    readers: ClassVar[Mapping[str, Reader]] = {
        "bootstrap_actions": _bootstrap_actions,
        "configurations": _listed,
    }

    machines: int
    instance_type: str
    release_label: str
    log_uri: str
    event_log_uri: str
    master_instance_type: str | None = None
    subnet: str | None = None
    service_role: str = "EMR_DefaultRole"
    job_flow_role: str = "EMR_EC2_DefaultRole"
    key_name: str | None = None
    master_security_group: str | None = None
    core_security_group: str | None = None
    service_access_security_group: str | None = None
    security_configuration: str | None = None
    applications: tuple[str, ...] = ("Spark",)
    bootstrap_actions: tuple[BootstrapAction, ...] = ()
    configurations: tuple[Mapping[str, Any], ...] = ()
    ebs_gigabytes: int | None = None
    ebs_volume_type: str = "gp3"
    tags: Mapping[str, str] = field(default_factory=dict)
    cores_per_machine: int | None = None
    memory_megabytes_per_machine: int | None = None
    python: str | None = None
    idle_timeout_seconds: int = 900
    time_to_live_seconds: float = 7200
    start_timeout_seconds: float = 1800
    price_per_hour: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot work before anything is launched."""
        require_whole("machines", self.machines, minimum=1)
        # The limits of EMR's AutoTerminationPolicy.
        require_whole("idle_timeout_seconds", self.idle_timeout_seconds, minimum=60, maximum=604_800)
        for name, minimum in _OPTIONAL_COUNTS.items():
            if getattr(self, name) is not None:
                require_whole(name, getattr(self, name), minimum=minimum)
        for name in ("time_to_live_seconds", "start_timeout_seconds"):
            require_number(name, getattr(self, name), minimum=1, unit="seconds")
        if self.price_per_hour is not None:
            require_price("price_per_hour", self.price_per_hour)
        self._check_texts()
        _check_release(self.release_label)
        self._check_lists()

    def _check_texts(self) -> None:
        for name in _TEXTS:
            if not is_line(getattr(self, name)):
                raise InvalidParameterError(name, getattr(self, name), "is not a text of one line")
        for name in _OPTIONAL_TEXTS:
            if getattr(self, name) is not None and not is_line(getattr(self, name)):
                raise InvalidParameterError(name, getattr(self, name), "is not a text of one line")
        for name in ("log_uri", "event_log_uri"):
            require_s3_folder(name, getattr(self, name))

    def _check_lists(self) -> None:
        for name in ("applications", "bootstrap_actions", "configurations"):
            if not is_template(getattr(self, name)):
                _listed(name, getattr(self, name))
        if not is_template(self.applications) and "Spark" not in self.applications:
            raise InvalidParameterError(
                "applications", self.applications, "lack Spark", remedy="Add 'Spark', written so."
            )
        if is_template(self.tags):
            return
        if not isinstance(self.tags, Mapping):
            raise InvalidParameterError("tags", self.tags, "is no mapping of names to values")
        for tag in self.tags:
            if tag.startswith(_OUR_TAGS):
                raise InvalidParameterError(
                    "tags", tag, f"begins with one of {_OUR_TAGS}, which are not yours to set"
                )

    @property
    def type_of_master(self) -> str:
        """The master's instance type."""
        return self.master_instance_type or self.instance_type


_OPTIONAL_COUNTS = {
    "cores_per_machine": 1,
    "ebs_gigabytes": 1,
    "memory_megabytes_per_machine": MIN_MEMORY_MEGABYTES,
}
_TEXTS = ("instance_type", "service_role", "job_flow_role", "ebs_volume_type")
_OPTIONAL_TEXTS = (
    "master_instance_type",
    "subnet",
    "key_name",
    "master_security_group",
    "core_security_group",
    "service_access_security_group",
    "security_configuration",
    "python",
)
_OUR_TAGS = ("ernest:", "aws:")
_RELEASE = re.compile(r"emr-(\d+)\.(\d+)\.(\d+)")
_S3_FOLDER = re.compile(r"s3://(?P<bucket>[^/]+)(/[\w!.*'()+=@:/-]*)?")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


def require_s3_folder(parameter: str, uri: object) -> None:
    """Refuse what is no s3:// address of a folder.

    Raises:
        InvalidParameterError: it is none.
    """
    remedy = "Write s3://BUCKET/FOLDER, in plain characters."
    require_match(parameter, uri, _S3_FOLDER, "is no folder on S3", remedy)
    address = _S3_FOLDER.fullmatch(str(uri))
    if address and not is_template(uri) and not _BUCKET.fullmatch(address["bucket"]):
        raise InvalidParameterError(
            parameter,
            uri,
            f"names a bucket {address['bucket']!r} that cannot be",
            remedy="Names of buckets have 3 to 63 lower-case letters, digits, dots and hyphens.",
        )


def _check_release(label: str) -> None:
    require_match("release_label", label, _RELEASE, "is no release of EMR", "Write it as 'emr-7.5.0'.")
    release = _RELEASE.fullmatch(label)
    version = tuple(int(part) for part in release.groups()) if release else (7, 0, 0)
    if version < (5, 30, 0) or (6, 0, 0) <= version < (6, 1, 0):
        raise InvalidParameterError(
            "release_label",
            label,
            "has no auto-termination policy, without which a forgotten job flow would run on",
            remedy="Use 5.30.0 or a later 5.x, or 6.1.0 or later.",
        )


_PATH_SWITCHES = {"jars": "--jars", "py_files": "--py-files", "files": "--files", "archives": "--archives"}
_SWITCHES = {
    **_PATH_SWITCHES,
    "java_class": "--class",
    "packages": "--packages",
    "exclude_packages": "--exclude-packages",
    "repositories": "--repositories",
    "driver_memory": "--driver-memory",
    "driver_class_path": "--driver-class-path",
    "yarn_queue": "--queue",
}
"""The arguments of SparkSubmitHook that a step knows too, as spark-submit calls them."""

APPLICATION_REMEDY = (
    "Upload it and write s3://..., or set staging_uri to a folder on S3 to have it uploaded, "
    "or write local:///PATH for a file on the machines."
)


def step_switches(options: Mapping[str, Any]) -> list[str]:
    """Options, named as the arguments of SparkSubmitHook, as spark-submit takes them.

    Raises:
        InvalidParameterError: one that a step does not know, or that names a file which EMR cannot read.
    """
    stated = {option: value for option, value in options.items() if value not in (None, "")}
    return [word for option, value in stated.items() for word in _switch(option, value)]


def require_step_options(options: Mapping[str, Any]) -> None:
    """Refuse options that a step does not know, or that name files which EMR cannot read.

    Raises:
        InvalidParameterError: there is one.
    """
    step_switches({option: value for option, value in options.items() if not is_template(value)})


def require_remote(parameter: str, path: str, *, remedy: str) -> None:
    """Refuse a path on the Airflow worker; local: is one on EMR's machines.

    Raises:
        InvalidParameterError: it is one.
    """
    from airflow_provider_ernest.places import local_path

    if not is_template(path) and local_path(path) is not None:
        raise InvalidParameterError(
            parameter, path, "is a local path, which the machines of EMR cannot read", remedy=remedy
        )


def _switch(option: str, value: Any) -> list[str]:
    if option not in _SWITCHES:
        raise InvalidParameterError(
            "submit_options",
            option,
            "is not known to a step of EMR",
            remedy=f"Known are: {', '.join(sorted(_SWITCHES))}; Spark properties belong in conf.",
        )
    for path in str(value).split(",") if option in _PATH_SWITCHES else ():
        require_remote(
            f"submit_options[{option!r}]",
            path.strip(),
            remedy="Upload it and write s3://..., or local:///PATH for a file on the machines.",
        )
    return [_SWITCHES[option], str(value)]
