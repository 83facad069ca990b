"""Where the time of a run went, put together of all analyses of its event log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.addresses import without_credentials
from airflow_provider_ernest.call_sites import call_site
from airflow_provider_ernest.exceptions import EventLogError
from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.headline import bound_by, headline_of

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.blocked_time import BlockedTime
    from airflow_provider_ernest.spark.log_reading.tables import EventLog
    from airflow_provider_ernest.spark.machine_change import Change
    from airflow_provider_ernest.spark.replay.plan import Plan
    from airflow_provider_ernest.spark.resource_use import ResourceUse

MOST_STAGES = 100
"""So many have a profile of their own: those that took longest."""

TRUSTED_ERROR_PERCENT = 10.0
"""A replay that is further off the run itself is not to be trusted with what never was."""

EARLY_SHARE = 0.05
"""Tasks may begin before the last machine is there; more of their time than this is told."""

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
        EventLogError: no task ended, or nothing happened after the last machine had come.
    """
    run = _Run(log=log, given_capacity=capacity, machine_counts=machine_counts, changes=changes)
    profile = replace(
        _outline(run),
        scale=scale,
        iterations=iterations,
        event_log=None if event_log is None else without_credentials(event_log),
    )
    warnings = list(_doubts(run, profile))
    for what, part in _PARTS:
        try:
            profile = replace(profile, **part(run, profile))
        # A log is whatever an application wrote: what it makes one analysis stumble over costs no other.
        except Exception as error:
            warnings.append(f"{what} is not known: {type(error).__name__}: {error}")
    return replace(profile, warnings=(*profile.warnings, *warnings))


def sizes_around(machines: int) -> tuple[int, ...]:
    """Powers of two up to four times as many machines, and the number itself."""
    powers = (2**power for power in range((4 * machines).bit_length()))
    return tuple(sorted({machines, *powers}))


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What is asked of a run."""

    log: EventLog
    given_capacity: run_profile.Capacity | None
    machine_counts: Sequence[int] | None
    changes: Sequence[Change] | None


class _Run(_Asked):
    """The same with what several analyses need, which is made once."""

    @cached_property
    def plan(self) -> Plan:
        from airflow_provider_ernest.spark.replay.plan import plan_of

        return plan_of(self.log)

    @cached_property
    def blocked(self) -> BlockedTime:
        from airflow_provider_ernest.spark.blocked_time import blocked_time

        return blocked_time(self.log, plan=self.plan)

    @cached_property
    def use(self) -> ResourceUse:
        from airflow_provider_ernest.spark.resource_use import resource_use

        return resource_use(self.log)

    @cached_property
    def capacity(self) -> run_profile.Capacity:
        from airflow_provider_ernest.spark.capacities import achieved_capacity

        return self.given_capacity or achieved_capacity(self.log, self.use)


Part = Callable[[_Run, RunProfile], dict[str, Any]]


def _outline(run: _Run) -> RunProfile:
    """What every log tells that can be replayed at all."""
    from airflow_provider_ernest.spark.replay.launching import most_at_once

    log = run.log
    seconds, startup_seconds = log.ended_at - log.ready_at, max(0.0, log.ready_at - log.started_at)
    if not seconds > 0:
        raise EventLogError(
            f"The event log of {log.application_id} tells of nothing after its last machine had come.",
            remedy="Give the log of an application that ran tasks on its machines.",
        )
    return RunProfile(
        application_id=log.application_id,
        name=call_site(log.name),
        spark=log.spark,
        machines=max(1, len(log.machines)),
        slots=log.slots or most_at_once(log.tasks),
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


def _doubts(run: _Run, profile: RunProfile) -> Iterator[str]:
    """Why the profile may not be trusted."""
    log = run.log
    if abs(profile.replay_error_percent) > TRUSTED_ERROR_PERCENT:
        yield (
            f"The replay of the run as it was is {profile.replay_error_percent:+.0f} % off: what could be "
            "won, and what other machines would make of it, is not to be trusted."
        )
    if not log.machines:
        yield "The log tells of no machine: the run counts as one on a single machine."
    early = (log.tasks.finished_at.clip(None, log.ready_at) - log.tasks.launched_at).clip(0.0).sum()
    share = float(early) / max(float(log.tasks.seconds.sum()), 1e-9)
    if share > EARLY_SHARE:
        yield (
            f"{100 * share:.0f} % of the tasks' time lies before the last machine had come, and so before "
            "the seconds that are analysed; dynamic allocation does that."
        )
    yield from (f"Event log: {warning[:1].lower()}{warning[1:]}" for warning in log.warnings)


def _stages(run: _Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.stage_profiles import longest_stages

    stages, left_out, seconds = longest_stages(run.log, run.plan, run.blocked, most=MOST_STAGES)
    return {"stages": stages, "stages_left_out": left_out, "left_out_seconds": seconds}


def _bottleneck(run: _Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark import monotasks

    most_used = monotasks.bottleneck_of_run(run.log, run.capacity, run.use)
    bound = replace(profile, bottleneck=bound_by(profile, most_used))
    return {"bottleneck": bound.bottleneck, "headline": headline_of(bound)}


def _ideal(run: _Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark import monotasks

    ideal = monotasks.ideal_seconds(run.log, run.capacity, run.use)
    bottlenecks = monotasks.bottlenecks(run.log, run.capacity, run.use)
    return {
        "capacity": run.capacity,
        "ideal_seconds": monotasks.ideal_seconds_of_run(run.log, run.capacity, run.use),
        "stages": tuple(
            replace(
                stage,
                ideal_seconds=ideal.get((stage.stage_id, stage.attempt), {}),
                bottleneck=bottlenecks.get((stage.stage_id, stage.attempt), ""),
            )
            for stage in profile.stages
        ),
    }


def _stragglers(run: _Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.stragglers import find_stragglers

    found = find_stragglers(run.log, plan=run.plan)
    return {
        "stragglers": found.worst,
        "straggler_causes": found.causes,
        "stages": tuple(
            replace(stage, stragglers=found.by_stage.get((stage.stage_id, stage.attempt), 0))
            for stage in profile.stages
        ),
    }


def _what_ifs(run: _Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.what_if import default_what_ifs, what_ifs

    if run.changes is None:
        return {"what_ifs": default_what_ifs(run.log, run.capacity, use=run.use)}
    return {"what_ifs": what_ifs(run.log, run.capacity, run.changes, run.use)}


def _sizes(run: _Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.replay.sizes import replay_sizes

    return {"sizes": replay_sizes(run.log, run.machine_counts or sizes_around(profile.machines))}


def _phases(run: _Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.phases import optex_phases

    return {"phases": optex_phases(run.log, run.use)}


def _category(run: _Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.job_category import category_of

    return {"category": category_of(run.log)}


def _advice(run: _Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.advice import advise

    return {"advice": advise(profile)}


_PARTS: tuple[tuple[str, Part], ...] = (
    ("What the run is bound by", _bottleneck),
    ("What its stages did", _stages),
    ("What its machines' resources need at least", _ideal),
    ("Which tasks held it up", _stragglers),
    ("What other machines would make of it", _what_ifs),
    ("What other numbers of machines would make of it", _sizes),
    ("How long its phases took", _phases),
    ("What kind of job it is", _category),
    ("What to change", _advice),
)
"""In the order in which they build on one another: what could not be had, and what finds it out."""
