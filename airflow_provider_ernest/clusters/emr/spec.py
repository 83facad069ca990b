"""A job flow of EMR as the place of sample runs, and what its steps can be given, as data.

A DAG file may import this: it costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from airflow_provider_ernest.clusters.local_spec import OwnMachines, require_match
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.places import local_path
from airflow_provider_ernest.settings.values import (
    Count,
    Number,
    OptionalCount,
    OptionalNumber,
    checked,
    count,
    is_template,
    line,
    mapping,
    optional,
    positive,
    price,
    setting,
    settings,
)

EMR = "emr"
"""The kind of cluster."""

_S3_FOLDER = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[\w!.*'()+=@:/-]*)?")
_COMPARED = ("BootstrapActions", "Configurations", "SecurityConfiguration")


def _s3_folder(parameter: str, uri: Any) -> str:
    """The s3:// address of a folder."""
    remedy = "Write s3://BUCKET/FOLDER, in plain characters; BUCKET has 3 to 63 of them, in lower case."
    require_match(parameter, uri, _S3_FOLDER, "is not a folder on S3", remedy)
    return str(uri)


def _job_flow(parameter: str, request: Any) -> Mapping[str, Any]:
    """What RunJobFlow takes; without an end of its own a job flow that everybody forgot would run on."""
    if not mapping(parameter, request).get("AutoTerminationPolicy"):
        raise InvalidParameterError(
            parameter,
            dict(request),
            "has no AutoTerminationPolicy, without which a forgotten job flow would run on",
            remedy='Add "AutoTerminationPolicy": {"IdleTimeout": 900}, in seconds.',
        )
    return dict(request)


@settings
class EmrJobFlow(OwnMachines):
    """A job flow of Amazon EMR whose steps the sample runs are, one at a time.

    Name one that runs by `job_flow_id`. Or say by `job_flow` how one is started: `ErnestTaskGroup` then puts
    Amazon's EmrCreateJobFlowOperator and EmrTerminateJobFlowOperator around the sample runs, and both are
    skipped where no sample run is made.
    """

    kind: ClassVar[str] = EMR

    machines: Count = setting(count, "core instances that it has at least")
    instance_type: str = setting(line, "of the core instances")
    release_label: str = setting(
        line, 'EMR\'s release, such as "emr-7.5.0"; models are reused on the same one'
    )
    event_log_uri: str = setting(_s3_folder, "s3:// folder that its machines may write Spark's event logs to")
    job_flow_id: str | None = setting(
        optional(line), "of one that runs, such as j-1K48XX, or a template of its id", default=None
    )
    job_flow: Mapping[str, Any] | None = setting(
        optional(_job_flow),
        "what one is started with: EMR's RunJobFlow, as EmrCreateJobFlowOperator takes it in "
        "job_flow_overrides. It must end itself when it is idle (AutoTerminationPolicy)",
        default=None,
        keeps_templates=True,
    )
    cores_per_machine: OptionalCount = setting(
        optional(count), "cores offered to executors; default: all that the type has", default=None
    )
    memory_megabytes_per_machine: OptionalCount = setting(
        optional(count), "heap of an executor; default: what YARN has on such a type", default=None
    )
    python: str | None = setting(
        optional(line), "of PySpark's workers; default: that of the release", default=None
    )
    time_to_live_seconds: Number = setting(
        positive, "no step runs longer than until so long after the job flow was found ready", default=7200
    )
    start_timeout_seconds: Number = setting(positive, "how long it may take to be ready", default=1800)
    price_per_hour: OptionalNumber = setting(
        optional(price), "dollars for a core instance and hour, EMR's own share included", default=None
    )

    def __post_init__(self) -> None:
        """Refuse what cannot work before anything is started."""
        checked(self)
        if (self.job_flow_id is None) == (self.job_flow is None):
            raise InvalidParameterError(
                "job_flow_id",
                self.job_flow_id,
                "and job_flow are both given, or neither",
                remedy="Name a job flow that runs, or say how one is started.",
            )

    @property
    def compared(self) -> dict[str, Any]:
        """What of the job flow may change how long a run takes, where it is stated here."""
        stated = self.job_flow if isinstance(self.job_flow, Mapping) else {}
        return {f"the job flow's {name}": stated[name] for name in _COMPARED if stated.get(name)}


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

UPLOAD_REMEDY = "Upload it and write s3://..., or local:///PATH for a file on the machines."


def step_switches(options: Mapping[str, Any]) -> list[str]:
    """Options, named as the arguments of SparkSubmitHook, as spark-submit takes them; unknown ones fail."""
    stated = {option: value for option, value in options.items() if value not in (None, "")}
    return [word for option, value in stated.items() for word in _switch(option, value)]


def require_step_options(options: Mapping[str, Any]) -> None:
    """Refuse options that a step does not know, or that name files which EMR cannot read."""
    step_switches({option: value for option, value in options.items() if not is_template(value)})


def require_remote(parameter: str, path: str, *, remedy: str) -> None:
    """Refuse a path on the Airflow worker; local: is one on EMR's machines."""
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
            remedy=UPLOAD_REMEDY,
        )
    return [_SWITCHES[option], str(value)]
