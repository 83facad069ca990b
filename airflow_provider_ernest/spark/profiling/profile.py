"""Where the time of a run went, put together of all analyses of its event log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_provider_ernest.addresses import without_credentials
from airflow_provider_ernest.call_sites import call_site
from airflow_provider_ernest.exceptions import EventLogError
from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.profiling.parts import PARTS, Run

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.log_reading.tables import EventLog
    from airflow_provider_ernest.spark.monotasks.machine_change import Change

TRUSTED_ERROR_PERCENT = 10.0
"""A replay that is further off the run itself is not to be trusted with what never was."""

LATE_SHARE = 0.05
"""Machines may join when work is under way; where more of the run than this lacked one, that is told."""

RunProfile = run_profile.RunProfile


def profile_run(
    log: EventLog,
    *,
    scale: float = 1.0,
    iterations: int | None = None,
    capacity: run_profile.Capacity | None = None,
    machine_counts: Sequence[int] | None = None,
    changes: Sequence[Change] | None = None,
    event_log: str | None = None,
) -> RunProfile:
    """Analyse a run.

    An analysis that fails on an odd log becomes a warning of the profile, and the others go on; only the
    replay of the run as it was must work.

    Args:
        log: of the run.
        scale: the share of the target input that it read.
        iterations: of an iterative job.
        capacity: of one of its machines; what its own tasks achieved where it is None.
        machine_counts: to replay it on; `sizes_around` its own by default.
        changes: of the machines, to predict it on; `default_what_ifs` where None.
        event_log: where the log lies.

    Raises:
        EventLogError: no task ended, or nothing happened after the machines had come.
    """
    run = Run(log=log, given_capacity=capacity, machine_counts=machine_counts, changes=changes)
    profile = replace(
        _outline(run),
        scale=scale,
        iterations=iterations,
        event_log=None if event_log is None else without_credentials(event_log),
    )
    warnings = list(_doubts(run, profile))
    for what, part in PARTS:
        try:
            profile = replace(profile, **part(run, profile))
        # A log is whatever an application wrote: what it makes one analysis stumble over costs no other.
        except Exception as error:
            warnings.append(f"{what} is not known: {type(error).__name__}: {error}")
    return replace(profile, warnings=(*profile.warnings, *warnings))


def _outline(run: Run) -> RunProfile:
    """What every log tells that can be replayed at all."""
    from airflow_provider_ernest.spark.replay.launching import most_at_once

    log = run.log
    seconds, startup_seconds = log.ended_at - log.ready_at, max(0.0, log.ready_at - log.started_at)
    if not seconds > 0:
        raise EventLogError(
            f"The event log of {log.application_id} tells of nothing after its machines had come.",
            remedy="Give the log of an application that ran tasks on its machines.",
        )
    return RunProfile(
        application_id=log.application_id,
        name=call_site(log.name),
        spark=log.spark,
        machines=max(1, len(log.machines)),
        slots=log.slots if log.slots > 0 else most_at_once(log.tasks),
        seconds=seconds,
        startup_seconds=startup_seconds,
        replayed_seconds=run.blocked.replayed.seconds,
        limits=run.blocked.limits,
        driver_seconds=_seconds_without_tasks(log),
        tasks=int(log.tasks.succeeded.sum()),
        failed_tasks=int((~log.tasks.succeeded).sum()),
        phases=run_profile.PhaseSeconds(
            initialisation_seconds=startup_seconds,
            preparation_seconds=0.0,
            variable_sharing_seconds=0.0,
            computation_seconds=seconds,
            communication_seconds=0.0,
        ),
    )


def _seconds_without_tasks(log: EventLog) -> float:
    from airflow_provider_ernest.spark.replay.replaying import busy_seconds

    began = (log.tasks.launched_at - log.ready_at).clip(0.0)
    finished = (log.tasks.finished_at - log.ready_at).clip(0.0)
    return max(0.0, log.ended_at - log.ready_at - busy_seconds(began, finished))


def _doubts(run: Run, profile: RunProfile) -> Iterator[str]:
    """Why the profile may not be trusted."""
    log = run.log
    if abs(profile.replay_error_percent) > TRUSTED_ERROR_PERCENT:
        yield (
            f"The replay of the run as it was is {profile.replay_error_percent:+.0f} % off: what could be "
            "won, and what other machines would make of it, is not to be trusted."
        )
    if not log.machines:
        yield "The log tells of no machine: the run counts as one on a single machine."
    late = sum(executor.added_at - log.ready_at > LATE_SHARE * profile.seconds for executor in log.machines)
    if late:
        yield (
            f"{late} of the {len(log.machines)} machines joined when work was under way, as under dynamic "
            "allocation: the seconds are not those of so many machines."
        )
    yield from (f"Event log: {warning[:1].lower()}{warning[1:]}" for warning in log.warnings)
