"""The analyses that a run's profile is put together of, each of which gives some of its fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.profiling.headline import bound_by, headline_of
from airflow_provider_ernest.spark.profiling.stages import DIGITS

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.blocked_time import BlockedTime
    from airflow_provider_ernest.spark.log_reading.tables import EventLog
    from airflow_provider_ernest.spark.monotasks.machine_change import Change
    from airflow_provider_ernest.spark.monotasks.resource_use import ResourceUse
    from airflow_provider_ernest.spark.replay.plan import Plan

MOST_STAGES = 60
"""So many have a profile of their own: those that took longest."""

RunProfile = run_profile.RunProfile


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


class Run(_Asked):
    """The same with what several analyses need, which is made once."""

    @cached_property
    def plan(self) -> Plan:
        """What is replayed."""
        from airflow_provider_ernest.spark.replay.plan import plan_of

        return plan_of(self.log)

    @cached_property
    def blocked(self) -> BlockedTime:
        """What its tasks waited for."""
        from airflow_provider_ernest.spark.blocked_time import blocked_time

        return blocked_time(self.log, plan=self.plan)

    @cached_property
    def use(self) -> ResourceUse:
        """What its tasks did with their time."""
        from airflow_provider_ernest.spark.monotasks.resource_use import resource_use

        return resource_use(self.log)

    @cached_property
    def capacity(self) -> run_profile.Capacity:
        """Of one of its machines, as given or as its tasks achieved it, with the cores that they used."""
        from airflow_provider_ernest.spark.monotasks.capacities import achieved_capacity, cores_per_machine

        if self.given_capacity is None:
            return achieved_capacity(self.log, self.use)
        # A task may take several cores, and executors may leave some alone.
        return replace(self.given_capacity, cores=cores_per_machine(self.log))


Part = Callable[[Run, RunProfile], dict[str, Any]]


def _stages(run: Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.profiling.stages import longest_stages

    stages, left_out, seconds = longest_stages(run.log, run.plan, run.blocked, most=MOST_STAGES)
    return {"stages": stages, "stages_left_out": left_out, "left_out_seconds": seconds}


def _bottleneck(run: Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.monotasks import ideal

    unmeasured = sum(ideal.unmeasured_seconds(run.log, run.use).values())
    most_used = ideal.bottlenecks_of_run(run.log, run.capacity, run.use)
    bound = replace(profile, bottleneck=bound_by(profile, most_used))
    share = unmeasured / max(1e-9, float(run.log.tasks.seconds.sum()))
    return {
        "bottleneck": bound.bottleneck,
        "headline": headline_of(bound, unmeasured_share=share),
        "unmeasured_seconds": unmeasured,
    }


def _ideal(run: Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.monotasks import ideal

    seconds = ideal.ideal_seconds(run.log, run.capacity, run.use)
    bottlenecks = ideal.bottlenecks(run.log, run.capacity, run.use)
    unmeasured = ideal.unmeasured_seconds(run.log, run.use)
    return {
        "capacity": run.capacity,
        "ideal_seconds": ideal.ideal_seconds_of_run(run.log, run.capacity, run.use),
        "stages": tuple(
            replace(
                stage,
                ideal_seconds=_rounded(seconds.get((stage.stage_id, stage.attempt), {})),
                bottleneck=bottlenecks.get((stage.stage_id, stage.attempt), ""),
                unmeasured_seconds=round(unmeasured.get((stage.stage_id, stage.attempt), 0.0), DIGITS),
            )
            for stage in profile.stages
        ),
    }


def _rounded(seconds: dict[str, float]) -> dict[str, float]:
    return {resource: round(value, DIGITS) for resource, value in seconds.items()}


def _stragglers(run: Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.stragglers.finding import find_stragglers

    found = find_stragglers(run.log, as_it_was=run.blocked.replayed)
    return {
        "stragglers": found.worst,
        "straggler_causes": found.causes,
        "stages": tuple(
            replace(stage, stragglers=found.by_stage.get((stage.stage_id, stage.attempt), 0))
            for stage in profile.stages
        ),
    }


def _what_ifs(run: Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.monotasks.what_if import default_what_ifs, what_ifs

    if run.changes is None:
        told = default_what_ifs(run.log, run.capacity, use=run.use, as_it_was=run.blocked.replayed)
    else:
        told = what_ifs(run.log, run.capacity, run.changes, run.use, as_it_was=run.blocked.replayed)
    return {"what_ifs": told}


def _sizes(run: Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.replay.sizes import replay_sizes

    counts = run.machine_counts or sizes_around(profile.machines)
    return {"sizes": replay_sizes(run.log, counts, as_it_was=run.blocked.replayed)}


def _phases(run: Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.profiling.phases import optex_phases

    return {"phases": optex_phases(run.log, run.use)}


def _category(run: Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.profiling.job_category import category_of

    return {"category": category_of(run.log)}


def _advice(run: Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.spark.profiling.advice import advise

    return {"advice": advise(profile)}


PARTS: tuple[tuple[str, Part], ...] = (
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
