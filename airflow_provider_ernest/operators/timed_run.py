"""How long a production run took, on how many machines: from Spark's event log where there is one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.addresses import without_credentials
from airflow_provider_ernest.spark.log_reading.files import open_lines
from airflow_provider_ernest.spark.observing import MeasuredRun, measure

if TYPE_CHECKING:
    from airflow_provider_ernest.model.results import Decision
    from airflow_provider_ernest.operators.submitted_run import SubmittedRun

FIRST_EVENT = re.compile(rb'^\{"Event":"SparkListenerLogStart","Spark Version":"(\d+(?:\.\d+)*)"\}')
"""Only versions that are numbers: those of services, such as 3.5.1-amzn-0, go by their releases elsewhere."""


@dataclass(frozen=True, kw_only=True)
class TimedRun:
    """How a production run went.

    Attributes:
        machines: that it ran on.
        seconds: from submission to end.
        run_seconds: the part that is the work's own, see `MeasuredRun`; None where it is not known.
        startup_seconds: the part before.
        application_id: Spark's id of it.
        event_log: where its event log lies.
        spark: Spark's version.
    """

    machines: int
    seconds: float
    run_seconds: float | None = None
    startup_seconds: float | None = None
    application_id: str | None = None
    event_log: str | None = None
    spark: str | None = None


class UntimedRunError(Exception):
    """Why a run cannot be recorded, in words: how long it took is not known."""


def timed_here(run: SubmittedRun | None, decision: Decision, *, ended_at: float, log: Any) -> TimedRun:
    """A run that this task has submitted and waited for.

    Args:
        run: as its task saw it.
        decision: that it ran by.
        ended_at: when its task saw it end, seconds since the epoch.
        log: the logger that tells where the time is that of spark-submit only.

    Raises:
        UntimedRunError: the time that passed here is not the run's.
    """
    if run is None:
        raise UntimedRunError("nothing was submitted")
    if run.untimed_because:
        raise UntimedRunError(run.untimed_because)
    event_log = run.event_log
    if event_log is None:
        log.info("No event log of this run is on this host.")
    machines = decision.config.machines
    measured = _measured(event_log, submitted_at=run.submitted_at, machines=machines, log=log)
    if measured is None:
        log.info("The run's time is that of spark-submit.")
        return TimedRun(
            machines=machines,
            seconds=ended_at - run.submitted_at,
            application_id=run.application_id,
            event_log=str(event_log) if event_log else None,
            spark=spark_version(event_log),
        )
    return TimedRun(
        machines=measured.machines,
        seconds=measured.seconds,
        run_seconds=measured.run_seconds,
        startup_seconds=measured.startup_seconds,
        application_id=measured.application_id or run.application_id,
        event_log=str(event_log),
        spark=spark_version(event_log),
    )


def timed_by_log(
    event_log: Any, decision: Decision, *, machines: int | None = None, log: Any
) -> TimedRun | None:
    """A run that something else has submitted; None, and a warning, where its log tells too little.

    When it was submitted, its log does not tell, only when its driver had begun. So its start-up counts as
    decided, unless the log shows a longer one.

    Args:
        event_log: of the run, a path or anything with a path's methods.
        decision: that it ran by.
        machines: that it had; None to take those that worked.
        log: the logger that the warning goes to.
    """
    asked = machines or decision.config.machines
    measured = _measured(event_log, submitted_at=None, machines=asked, log=log)
    if measured is None:
        return None
    startup = max(measured.startup_seconds, decision.startup_seconds or 0.0)
    return TimedRun(
        machines=machines or measured.machines,
        seconds=startup + measured.run_seconds,
        run_seconds=measured.run_seconds,
        startup_seconds=startup,
        application_id=measured.application_id,
        event_log=str(event_log),
        spark=spark_version(event_log),
    )


def spark_version(event_log: Any) -> str | None:
    """Spark's version as the log's first event tells it; None where it does not."""
    if event_log is None:
        return None
    try:
        found = FIRST_EVENT.match(next(open_lines(event_log), b""))
    # The libraries behind object stores raise errors of their own.
    except Exception:
        return None
    return found.group(1).decode("ascii") if found else None


def _measured(event_log: Any, *, submitted_at: float | None, machines: int, log: Any) -> MeasuredRun | None:
    """What the event log tells; None, and why, where there is none or it tells too little."""
    if event_log is None:
        return None
    try:
        measured = measure(event_log, submitted_at=submitted_at, machines=machines)
    # It is whatever an application wrote into the folder.
    except Exception as error:
        told = without_credentials(str(error))
        log.warning("The event log %s cannot be used: %s", without_credentials(str(event_log)), told)
        return None
    for lost in measured.lost:
        log.warning("The run lost %s; its time is recorded all the same.", lost)
    return measured
