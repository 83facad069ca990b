"""What a specification of an EMR cluster must satisfy, checked before anything is launched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_provider_ernest.clusters.spec_values import (
    MIN_MEMORY_MEGABYTES,
    is_line,
    require_number,
    require_price,
    require_whole,
)
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.emr.spec import BootstrapAction, EmrClusterSpec

# The limits of EMR's AutoTerminationPolicy.
_IDLE_SECONDS = (60, 604_800)
_OPTIONAL_COUNTS = {
    "cores_per_machine": 1,
    "ebs_gigabytes": 1,
    "memory_megabytes_per_machine": MIN_MEMORY_MEGABYTES,
}
_RELEASE = re.compile(r"emr-(\d+)\.(\d+)\.(\d+)")
_S3_ADDRESS = re.compile(r"s3://(?P<bucket>[^/]+)(/[\w!.*'()+=@:/-]*)?")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_TEXTS = (
    "instance_type",
    "master_instance_type",
    "subnet",
    "service_role",
    "job_flow_role",
    "key_name",
    "master_security_group",
    "core_security_group",
    "service_access_security_group",
    "security_configuration",
    "ebs_volume_type",
    "python",
)
_OUR_TAGS = ("ernest:", "aws:")


def check_spec(spec: EmrClusterSpec) -> None:
    """Refuse what cannot work.

    Raises:
        InvalidParameterError: a value that cannot work.
    """
    require_whole("machines", spec.machines, minimum=1)
    least, most = _IDLE_SECONDS
    require_whole("idle_timeout_seconds", spec.idle_timeout_seconds, minimum=least, maximum=most)
    for field, minimum in _OPTIONAL_COUNTS.items():
        if getattr(spec, field) is not None:
            require_whole(field, getattr(spec, field), minimum=minimum)
    for field in ("time_to_live_seconds", "start_timeout_seconds"):
        require_number(field, getattr(spec, field), minimum=1, unit="seconds")
    if spec.price_per_hour is not None:
        require_price("price_per_hour", spec.price_per_hour)
    _check_types(spec)
    _check_texts(spec)


def _check_texts(spec: EmrClusterSpec) -> None:
    for field in ("instance_type", "service_role", "job_flow_role", "ebs_volume_type"):
        if not getattr(spec, field):
            raise InvalidParameterError(field, getattr(spec, field), "is empty")
    for field in ("log_uri", "event_log_uri"):
        require_s3_folder(field, getattr(spec, field))
    _check_release(spec.release_label)
    if "Spark" not in spec.applications:
        raise InvalidParameterError(
            "applications", spec.applications, "lack Spark", remedy="Add 'Spark', written so."
        )
    for tag in spec.tags:
        if tag.startswith(_OUR_TAGS):
            raise InvalidParameterError(
                "tags", tag, f"begins with one of {_OUR_TAGS}, which are not yours to set"
            )


def _check_types(spec: EmrClusterSpec) -> None:
    for field in _TEXTS:
        value = getattr(spec, field)
        if value is not None and not is_line(value):
            raise InvalidParameterError(field, value, "is not a text of one line")
    for field in ("applications", "bootstrap_actions", "configurations"):
        if not isinstance(getattr(spec, field), tuple | list):
            raise InvalidParameterError(
                field, getattr(spec, field), "is no tuple", remedy=f"Write {field}=(...,), one for each."
            )
    if not isinstance(spec.tags, Mapping):
        raise InvalidParameterError("tags", spec.tags, "is no mapping of names to values")


def check_bootstrap_action(action: BootstrapAction) -> None:
    """Refuse what EMR cannot fetch.

    Raises:
        InvalidParameterError: a path that is not on S3.
    """
    if not action.path.startswith("s3://"):
        raise InvalidParameterError(
            "bootstrap_actions", action.path, "is not on S3", remedy="Upload the script and write s3://..."
        )


def require_s3_folder(parameter: str, uri: object) -> None:
    """Refuse what is no s3:// address of a folder.

    Raises:
        InvalidParameterError: it is none.
    """
    address = _S3_ADDRESS.fullmatch(uri) if isinstance(uri, str) else None
    if address is None:
        raise InvalidParameterError(
            parameter, uri, "is no folder on S3", remedy="Write s3://BUCKET/FOLDER, in plain characters."
        )
    if not _BUCKET.fullmatch(address["bucket"]):
        raise InvalidParameterError(
            parameter,
            uri,
            f"names a bucket {address['bucket']!r} that cannot be",
            remedy="Names of buckets have 3 to 63 lower-case letters, digits, dots and hyphens.",
        )


def _check_release(label: str) -> None:
    release = _RELEASE.fullmatch(label)
    if release is None:
        raise InvalidParameterError(
            "release_label", label, "is no release of EMR", remedy="Write it as 'emr-7.5.0'."
        )
    version = tuple(int(part) for part in release.groups())
    if version < (5, 30, 0) or (6, 0, 0) <= version < (6, 1, 0):
        raise InvalidParameterError(
            "release_label",
            label,
            "has no auto-termination policy, without which a forgotten job flow would run on",
            remedy="Use 5.30.0 or a later 5.x, or 6.1.0 or later.",
        )
