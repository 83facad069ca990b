"""From a finished run to the observation that a model is fitted to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ernest.exceptions import SampleRunError
from airflow_provider_ernest.model.documents import Observation
from airflow_provider_ernest.spark.event_log import find_event_log, read_run

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_provider_ernest.model.documents import Experiment
    from airflow_provider_ernest.spark.sampling import Sample


def observe(
    experiment: Experiment,
    sample: Sample,
    directory: Path,
    *,
    instance_type: str,
    submitted_at: float,
    waited_seconds: float,
) -> Observation:
    """Read from a run's event log what it really did.

    Args:
        experiment: what was to be run.
        sample: what was read.
        directory: the folder that only this run wrote its event log to.
        instance_type: the machines' type.
        submitted_at: when spark-submit was started, seconds since the epoch.
        waited_seconds: time that the run waited for machines that others held.

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
        application_id=record.application_id,
        event_log=str(event_log),
        hosts=tuple(executor.worker for executor in record.machines),
        metrics=record.metrics(),
    )
