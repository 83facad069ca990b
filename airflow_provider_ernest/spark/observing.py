"""From a finished run to what a model is fitted to, or to what its prediction is compared with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.eventlog.files import application_of_name, find_event_log
from airflow_provider_ernest.eventlog.run_facts import (
    read_run,
    registered_at,
    require_all_kept,
    run_metrics,
    run_seconds,
)
from airflow_provider_ernest.exceptions import SampleRunError

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_provider_ernest.documents.base import Origin
    from airflow_provider_ernest.documents.runs import Experiment
    from airflow_provider_ernest.eventlog.tables import EventLog
    from airflow_provider_ernest.spark.input import Sample

_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*")


def observe(
    experiment: Experiment,
    sample: Sample,
    directory: Path,
    *,
    instance_type: str,
    submitted_at: float,
    waited_seconds: float,
    origin: Origin | None = None,
) -> tuple[Observation, EventLog]:
    """Read from a run's event log what it really did; with the log, which nobody need read again.

    Times are seconds since the epoch, but for the seconds that the run waited for machines that others held.
    Only this run wrote its event log into the directory.

    Raises:
        SampleRunError: there is no event log, or machines were missing or lost.
    """
    event_log = find_event_log(directory)
    if event_log is None:
        raise SampleRunError(
            f"The application wrote no event log into {directory}.",
            remedy="It must be a Spark application, and must not set spark.eventLog.* itself.",
        )
    log = read_run(event_log)
    require_all_kept(log)
    startup_seconds = registered_at(log, experiment.machines) - submitted_at - waited_seconds
    observation = Observation(
        index=experiment.index,
        machines=experiment.machines,
        scale=sample.scale,
        seconds=run_seconds(log, experiment.machines),
        startup_seconds=max(0.0, startup_seconds),
        waited_seconds=waited_seconds,
        instance_type=instance_type,
        iterations=experiment.iterations,
        application_id=log.application_id,
        event_log=str(event_log),
        hosts=tuple(executor.worker for executor in log.machines),
        metrics=run_metrics(log),
        origin=origin,
    )
    return observation, log


def logged_application(directory: Path) -> str | None:
    """Spark's id of the application that wrote its event log into a folder; None where there is none yet."""
    event_log = find_event_log(directory)
    return application_of_name(event_log.name) if event_log is not None else None


@dataclass(frozen=True, kw_only=True)
class TimedRun:
    """How a run that nobody designed went, such as one of production."""

    machines: int
    seconds: float  # from submission to end
    # the part from the moment that all machines were there, without those that joined during the work, as
    # under dynamic allocation
    run_seconds: float | None = None
    startup_seconds: float | None = None  # the part before
    application_id: str | None = None
    event_log: str | None = None
    log: EventLog | None = None  # None where it cannot be read

    @property
    def spark(self) -> str | None:
        """Spark's version where it is of numbers alone: services (3.5.1-amzn-0) go by their releases."""
        version = (self.log.spark if self.log else None) or ""
        return version if _VERSION.fullmatch(version) else None


def time_run(log: EventLog, *, submitted_at: float | None, machines: int) -> TimedRun:
    """How long a run took on how many machines.

    Without the time of submission (seconds since the epoch) it counts from the driver's start. Replacements
    of lost machines do not count beside those that were asked for.

    Raises:
        SampleRunError: the log has no end, or no machine worked.
    """
    present = len(log.machines)
    used = min(present, machines) if log.lost else present
    if used < 1:
        raise SampleRunError(f"Application {log.application_id} had no machine that worked.")
    work_began_at = log.all_there_at(log.machines[:used])
    # Clean time, and what was worked before the last of them had joined.
    seconds = run_seconds(log, used) + registered_at(log, used) - work_began_at
    began_at = log.started_at if submitted_at is None else submitted_at
    startup_seconds = max(0.0, work_began_at - began_at)
    return TimedRun(
        machines=used,
        seconds=startup_seconds + seconds,
        run_seconds=seconds,
        startup_seconds=startup_seconds,
        application_id=log.application_id,
        log=log,
    )
