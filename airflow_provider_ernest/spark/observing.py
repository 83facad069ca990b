"""From a finished run to what a model is fitted to, or to what its prediction is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ernest.documents import Observation
from airflow_provider_ernest.eventlog.files import application_of_name, find_event_log
from airflow_provider_ernest.eventlog.run_facts import read_run
from airflow_provider_ernest.exceptions import SampleRunError

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_provider_ernest.documents import Experiment, Origin
    from airflow_provider_ernest.eventlog.run_facts import RunRecord
    from airflow_provider_ernest.spark.sampling import Sample


def observe(
    experiment: Experiment,
    sample: Sample,
    directory: Path,
    *,
    instance_type: str,
    submitted_at: float,
    waited_seconds: float,
    origin: Origin | None = None,
) -> Observation:
    """Read from a run's event log what it really did.

    Args:
        experiment: what was to be run.
        sample: what was read.
        directory: the folder that only this run wrote its event log to.
        instance_type: the machines' type.
        submitted_at: when spark-submit was started, seconds since the epoch.
        waited_seconds: time that the run waited for machines that others held.
        origin: the task instance that observes.

    Raises:
        SampleRunError: there is no event log, or it tells of fewer machines than designed or of one that
            was lost on the way.
    """
    event_log = find_event_log(directory)
    if event_log is None:
        raise SampleRunError(
            f"The application wrote no event log into {directory}.",
            remedy="It must be a Spark application, and must not set spark.eventLog.* itself.",
        )
    record = read_run(event_log)
    record.require_all_kept()
    startup_seconds = record.ready_at(experiment.machines) - submitted_at - waited_seconds
    return Observation(
        index=experiment.index,
        machines=experiment.machines,
        scale=sample.scale,
        seconds=record.run_seconds(experiment.machines),
        startup_seconds=max(0.0, startup_seconds),
        waited_seconds=waited_seconds,
        instance_type=instance_type,
        iterations=experiment.iterations,
        application_id=record.log.application_id,
        event_log=str(event_log),
        hosts=tuple(executor.worker for executor in record.machines),
        metrics=record.metrics(),
        origin=origin,
    )


def logged_application(directory: Path) -> str | None:
    """Spark's id of the application that wrote its event log into a folder; None where there is none yet."""
    event_log = find_event_log(directory)
    return application_of_name(event_log.name) if event_log is not None else None


@dataclass(frozen=True, kw_only=True)
class MeasuredRun:
    """What the event log of a run that nobody designed tells, such as one of production.

    Attributes:
        application_id: Spark's id of it.
        machines: distinct machines that worked.
        seconds: from submission to the application's end.
        run_seconds: the part from the moment that all machines were there, but for those that joined when
            work was under way, as under dynamic allocation.
        startup_seconds: the part before.
        lost: the executors that were lost on the way, in words.
    """

    application_id: str
    machines: int
    seconds: float
    run_seconds: float
    startup_seconds: float
    lost: tuple[str, ...] = ()


def measure(record: RunRecord, *, submitted_at: float | None, machines: int) -> MeasuredRun:
    """How long a run took on how many machines.

    Args:
        record: what its event log tells.
        submitted_at: when spark-submit was started, seconds since the epoch; None to take the moment at
            which the driver had begun, for the log tells of none before.
        machines: asked for. Where the run lost some, those that replaced them do not count beside them.

    Raises:
        SampleRunError: the log has no end, or the job was not run on machines.
    """
    present = len(record.machines)
    used = min(present, machines) if record.lost else present
    if used < 1:
        raise SampleRunError(f"Application {record.log.application_id} had no machine that worked.")
    work_began_at = record.work_began_at(used)
    run_seconds = record.run_seconds(used) + record.ready_at(used) - work_began_at
    began_at = record.log.started_at if submitted_at is None else submitted_at
    startup_seconds = max(0.0, work_began_at - began_at)
    return MeasuredRun(
        application_id=record.log.application_id,
        machines=used,
        seconds=startup_seconds + run_seconds,
        run_seconds=run_seconds,
        startup_seconds=startup_seconds,
        lost=tuple(str(executor) for executor in record.lost),
    )
