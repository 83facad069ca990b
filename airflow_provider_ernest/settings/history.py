"""What is known before any sample run: stored models, and past runs by their event logs."""

from __future__ import annotations

import re
from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings.templates import (
    Count,
    Number,
    OptionalNumber,
    checked,
    setting,
    settings,
)
from airflow_provider_ernest.settings.values import (
    count,
    line,
    not_negative,
    number,
    optional,
    positive,
    truth,
)

SHAPE_TOLERANCE = 0.25
"""A partition may be larger or smaller by so much and still count as of the same size."""

MOST_GROWTH = 4.0
"""Beyond so many times the input that a model was trained for, its predictions are too far from its runs."""


def _growth(parameter: str, value: Any) -> float:
    if number(parameter, value) < 1:
        raise InvalidParameterError(parameter, value, "is not a number of at least 1")
    return number(parameter, value)


@settings
class Reuse:
    """How long a stored model is good for, where nothing that it depends on has changed.

    The application must have the same content, Spark, the job's settings and the machines must be the same,
    and a record and a partition of the input as large; more data is no difference.
    """

    max_age_days: OptionalNumber = setting(
        positive,
        "train anew so many days after; default: no limit, since production runs tell when a model no longer "
        "holds",
        default=None,
    )
    shape_tolerance: Number = setting(
        not_negative,
        "by how much a partition of the input may have grown or shrunk; 0.25 is 25 %",
        default=SHAPE_TOLERANCE,
    )
    max_growth: Number = setting(
        _growth, "to how many times its size the input may have grown", default=MOST_GROWTH
    )
    accept_unknown_application: bool = setting(
        truth, "take an application that the Airflow worker cannot read for unchanged", default=False
    )
    wait_for_training_seconds: Number = setting(
        not_negative,
        "how long a training that another run of the job has begun is waited for, to take its model; "
        "0 to train beside it",
        default=7200.0,
    )


def _job_pattern(parameter: str, value: Any) -> str:
    try:
        re.compile(line(parameter, value))
    except re.error as error:
        raise InvalidParameterError(
            parameter, value, f"is not a regular expression: {error}", remedy="Use Python's syntax."
        ) from error
    return str(value)


@settings
class EventLogs:
    """Where past runs of the job are known from, as observations that cost nothing.

    .. code-block:: python

        EventLogs("s3a://bucket/spark-events", job="nightly report")  # Spark's event logs
        EventLogs.recorded()  # the production runs that Ernest has recorded
    """

    place: str | None = setting(
        line,
        "folder of Spark's event logs, a glob or one log, local or wherever fsspec reads; default: none, "
        "only what production runs have left in the model store",
        default=None,
        kw_only=False,
    )
    job: str | None = setting(
        line,
        "the job as its logs name it: the application's name, without dates, numbers and run ids as "
        "`ernest history` shows it; default: the name of the `SparkJob`",
        default=None,
    )
    job_pattern: str | None = setting(
        _job_pattern,
        "regular expression that is found in the application's names of the job's runs and of no others; "
        "instead of `job`",
        default=None,
    )
    most_runs: Count = setting(
        count, "so many past runs count: of each number of machines and input the newest first", default=50
    )
    max_age_days: OptionalNumber = setting(
        optional(positive), "older runs do not count, and their logs are not read", default=90.0
    )
    instance_type: str | None = setting(
        line,
        "type of the machines that past runs had, where their logs do not tell; default: not known, and so "
        "not compared",
        default=None,
    )
    with_recorded: bool = setting(
        truth, "count the production runs that the model store has, too", default=True
    )
    processes: Count = setting(count, "that read logs at the same time on the Airflow worker", default=2)

    def __post_init__(self) -> None:
        """Refuse what names no runs."""
        read = checked(self)
        if read.get("job") is not None and read.get("job_pattern") is not None:
            raise InvalidParameterError(
                "(job, job_pattern)", (self.job, self.job_pattern), "is two jobs", remedy="Give one of them."
            )
        if "place" in read and self.place is None and read.get("with_recorded") is False:
            raise InvalidParameterError(
                "place", None, "leaves no past runs, with with_recorded=False", remedy="Name a folder."
            )

    @classmethod
    def recorded(cls, **fields: Any) -> EventLogs:
        """The production runs that the model store has, and no logs besides."""
        return cls(**fields)
