"""A sample run as the command of a step: spark-submit through EMR's command-runner.jar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.stated import is_template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PATHS = {
    "jars": "--jars",
    "py_files": "--py-files",
    "files": "--files",
    "archives": "--archives",
}
_TEXTS = {
    "java_class": "--class",
    "packages": "--packages",
    "exclude_packages": "--exclude-packages",
    "repositories": "--repositories",
    "driver_memory": "--driver-memory",
    "driver_class_path": "--driver-class-path",
    "yarn_queue": "--queue",
}
OPTIONS = (*_PATHS, *_TEXTS)
"""The arguments of SparkSubmitHook that a step knows too."""

_REMOTE = ("s3://", "s3a://", "hdfs://", "https://", "local:/")
# The step may have waited for others: how much time it has left is known only when it begins. All that
# differs from step to step comes as arguments, which the shell does not read as its own language.
_UNTIL_DEADLINE = (
    'left=$(( $1 - $(date +%s) )); shift; [ "$left" -gt 0 ] || exit 124; '
    'exec timeout --kill-after=30 "$left" "$@"'
)


def submit_arguments(
    *,
    application: str,
    application_args: Sequence[str],
    name: str,
    conf: Mapping[str, str],
    options: Mapping[str, Any],
    deadline: float,
) -> list[str]:
    """The arguments of command-runner.jar.

    The driver runs on the master machine ("client"), so that the run's machines have its executors alone.
    `timeout` ends it even where nobody is left to cancel the step: EMR has no limit of its own for one. A
    step that begins after its deadline ends at once, with the exit code of `timeout`, 124.

    Args:
        application: address that the master machine can read.
        application_args: of the application.
        name: of the application.
        conf: Spark properties.
        options: of `OPTIONS`, named as the arguments of SparkSubmitHook.
        deadline: when the step must have ended, in seconds since the epoch.

    Raises:
        InvalidParameterError: an option that a step does not know, or a file that EMR cannot read.
    """
    command = ["bash", "-c", _UNTIL_DEADLINE, "until-deadline", str(int(deadline))]
    command += ["spark-submit", "--master", "yarn", "--deploy-mode", "client", "--name", name]
    for option, value in options.items():
        if value in (None, ""):
            continue
        command += [_switch(option), _checked(option, value)]
    for property_name, value in conf.items():
        command += ["--conf", f"{property_name}={value}"]
    return [*command, application, *map(str, application_args)]


def require_step_options(options: Mapping[str, Any]) -> None:
    """Refuse options that a step does not know, or that name files which EMR cannot read.

    Raises:
        InvalidParameterError: there is one.
    """
    for option, value in options.items():
        if value not in (None, "") and not is_template(value):
            _switch(option)
            _checked(option, value)


def is_remote(path: str) -> bool:
    """Whether EMR's machines can read a path: on S3, HDFS or the web, or local: for a file of their own."""
    return path.startswith(_REMOTE)


def _switch(option: str) -> str:
    switch = _PATHS.get(option) or _TEXTS.get(option)
    if switch is None:
        raise InvalidParameterError(
            "submit_options",
            option,
            "is not known to a step of EMR",
            remedy=f"Known are: {', '.join(sorted(OPTIONS))}; Spark properties belong in conf.",
        )
    return switch


def _checked(option: str, value: Any) -> str:
    text = str(value)
    if option in _PATHS:
        for path in text.split(","):
            if not is_remote(path.strip()):
                raise InvalidParameterError(
                    f"submit_options[{option!r}]",
                    path.strip(),
                    "is a local path, which the machines of EMR cannot read",
                    remedy="Upload it and write s3://..., or local:///PATH for a file on the machines.",
                )
    return text
