"""What a job's sample runs are submitted with, rendered and looked at before a machine is started.

A broken template, a file that is not there or a package that cannot be would be found out by each sample run,
and again at each of its tries, on machines that are paid for meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from jinja2 import TemplateError

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.job_fields import rendered_texts
from airflow_provider_ernest.privacy import names_a_secret
from airflow_provider_ernest.spark.artifact import listed_paths, require_dependencies
from airflow_provider_ernest.spark.sampling import Sample

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator, Context

    from airflow_provider_ernest.settings import SampledInput, SparkJob

_OF_TASKS = "xcom"
"""What a template with this word asks for may be told by a task that has not run yet."""

_COORDINATES = re.compile(r"[^:,\s]+(:[^:,\s]+){2,4}")


def rehearse(operator: BaseOperator, job: SparkJob, sampled: SampledInput, context: Context) -> None:
    """Render what sample runs will be submitted with, with stand-ins for their samples, and look at it.

    Args:
        operator: renders, as the tasks of the sample runs will.
        job: with its templates; `application_args` may name the ``sample``.
        sampled: the production input.
        context: of the task.

    Raises:
        InvalidParameterError: a text cannot be rendered, or names a package as Spark knows none.
        MissingResourceError: a local file that is named is not there.
    """
    iterations = job.sample_iterations
    for scale in (0.1, 1.0):
        sample = Sample(input=sampled.path, scale=scale, machines=1, partitions=1, iterations=iterations)
        names = cast("Context", {**context, "sample": sample})
        _rendered(operator, "application_args", job.application_args, names)
    _rendered(operator, "conf", job.conf, context)
    options = _rendered(operator, "submit_options", job.submit_options, context)
    require_dependencies(options)
    for each in listed_paths("packages", options.get("packages")):
        if not _COORDINATES.fullmatch(each):
            raise InvalidParameterError(
                "packages", each, "is no package that Spark can find", remedy="Write group:artifact:version."
            )


def _rendered(operator: BaseOperator, name: str, value: Any, context: Context, *, before: Any = "") -> Any:
    """The value with its texts rendered; what other tasks have yet to tell stays as it is.

    The error shows the text, unless its name, it itself or the argument `before` it tells of a secret.
    """
    if isinstance(value, Mapping):
        return {key: _rendered(operator, f"{name}[{key!r}]", each, context) for key, each in value.items()}
    if isinstance(value, list | tuple):
        follows = zip(["", *value], value, strict=False)
        return [
            _rendered(operator, f"{name}[{at}]", each, context, before=other)
            for at, (other, each) in enumerate(follows)
        ]
    if not isinstance(value, str) or _OF_TASKS in value:
        return value
    try:
        return rendered_texts(operator, value, context)
    # A template is a program, and what it raises here it raises in each sample run.
    except Exception as error:
        is_secret = any(map(names_a_secret, (name, value, str(before))))
        # What a library says may hold a password, too.
        why = f": {str(error).rstrip('.')}" if isinstance(error, TemplateError) and not is_secret else ""
        raise InvalidParameterError(
            name,
            "(not shown)" if is_secret else value,
            f"cannot be rendered: {type(error).__name__}{why}",
            remedy="Correct the template. Arguments may name sample.input, .scale, .machines, .partitions "
            "and .iterations, and all texts what Airflow knows.",
        ) from error
