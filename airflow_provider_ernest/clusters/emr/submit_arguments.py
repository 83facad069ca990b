"""A sample run as the command of a step: spark-submit through EMR's command-runner.jar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import InvalidParameterError

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
_KILL_AFTER_SECONDS = 30


def submit_arguments(
    *,
    application: str,
    application_args: Sequence[str],
    name: str,
    conf: Mapping[str, str],
    options: Mapping[str, Any],
    seconds: float,
) -> list[str]:
    """The arguments of command-runner.jar.

    The driver runs on the master machine ("client"), so that the run's machines have its executors alone.
    `timeout` ends it even where nobody is left to cancel the step: EMR has no limit of its own for one.

    Args:
        application: address that the master machine can read.
        application_args: of the application.
        name: of the application.
        conf: Spark properties.
        options: of `OPTIONS`, named as the arguments of SparkSubmitHook.
        seconds: how long the step may take at most.

    Raises:
        InvalidParameterError: an option that a step does not know, or a file that EMR cannot read.
    """
    command = ["timeout", f"--kill-after={_KILL_AFTER_SECONDS}", str(max(1, round(seconds)))]
    command += ["spark-submit", "--master", "yarn", "--deploy-mode", "client", "--name", name]
    for option, value in options.items():
        if value in (None, ""):
            continue
        command += [_switch(option), _checked(option, value)]
    for property_name, value in conf.items():
        command += ["--conf", f"{property_name}={value}"]
    return [*command, application, *map(str, application_args)]


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
