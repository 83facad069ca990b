"""The stages of a run, one by one, from the tables of its event log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ernest.call_sites import call_site
from airflow_provider_ernest.model.documents import run_profile

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.blocked_time import BlockedTime, StageWaiting
    from airflow_provider_ernest.spark.log_reading.tables import EventLog, FloatColumn, TaskTable
    from airflow_provider_ernest.spark.replay.plan import Plan, PlannedStage

MOST_QUANTILES = 21
"""Of a stage's task seconds: each twentieth, and all of them where there are no more."""

FEW_QUANTILES = 5
SHORT_SHARE = 0.01
"""Stages that take a smaller share of the run are told by so few: a job of many stages has most of these."""

LITTLE_SHARE = 0.01
"""Of a stage's tasks' time: what they waited less for, its replay without that is not worth its place."""

DIGITS = 4
"""Spark tells milliseconds: more digits are none."""


def longest_stages(
    log: EventLog, plan: Plan, blocked: BlockedTime, *, most: int
) -> tuple[tuple[run_profile.StageProfile, ...], int, float]:
    """The stages that took longest in the order in which they began, how many more there were, and theirs.

    Args:
        log: of the run.
        plan: of the log.
        blocked: what its tasks waited for.
        most: so many at most.

    Returns:
        The stages, the number of those left out, and the seconds of the tasks of these.
    """
    from airflow_provider_ernest.spark.replay.warm_up import warm_up_of

    warm_up = warm_up_of(log, plan)
    short = SHORT_SHARE * (log.ended_at - log.ready_at)
    numbered = sorted(enumerate(plan.stages), key=lambda entry: -_wall_seconds(entry[1], log))
    kept = [
        _profile(
            log,
            stage,
            blocked.stages.get(stage.key),
            own_seconds=warm_up.own_seconds[stage.tasks],
            warmup_seconds=warm_up.excess_seconds[place],
            quantiles=MOST_QUANTILES if _wall_seconds(stage, log) >= short else FEW_QUANTILES,
        )
        for place, stage in numbered[:most]
    ]
    left_out = [stage for _, stage in numbered[most:]]
    seconds = sum(_sum(log.tasks.seconds[stage.tasks]) for stage in left_out)
    kept.sort(key=lambda stage: (stage.began_seconds, stage.stage_id, stage.attempt))
    return tuple(kept), len(left_out), round(seconds, DIGITS)


def _profile(
    log: EventLog,
    stage: PlannedStage,
    waiting: StageWaiting | None,
    *,
    own_seconds: FloatColumn,
    warmup_seconds: float,
    quantiles: int,
) -> run_profile.StageProfile:
    row, tasks = stage.row, log.tasks.only(stage.tasks)
    counted = tasks.only(tasks.succeeded)
    own_seconds = own_seconds[tasks.succeeded]
    began_at, ended_at = _span(stage, log)
    return run_profile.StageProfile(
        stage_id=row.stage_id,
        attempt=row.attempt,
        name=call_site(row.name),
        parents=row.parents,
        job_id=row.job_id,
        tasks=len(counted),
        failed_tasks=len(tasks) - len(counted),
        began_seconds=round(began_at - log.ready_at, DIGITS),
        ended_seconds=round(ended_at - log.ready_at, DIGITS),
        task_seconds=_sum(tasks.seconds),
        quantiles_seconds=_quantiles(own_seconds, quantiles),
        mean_seconds=round(float(own_seconds.mean()), DIGITS) if len(own_seconds) else 0.0,
        warmup_seconds=round(warmup_seconds, DIGITS),
        reads_input=_reads_input(counted),
        input_bytes=int(counted.input_bytes.sum()),
        output_bytes=int(counted.output_bytes.sum()),
        shuffle_remote_bytes=int(counted.shuffle_remote_bytes.sum()),
        shuffle_local_bytes=int(counted.shuffle_local_bytes.sum()),
        shuffle_written_bytes=int(counted.shuffle_written_bytes.sum()),
        spilled_bytes=int(counted.disk_spilled_bytes.sum()),
        blocked_seconds=_rounded(waiting.blocked_seconds) if waiting else {},
        seconds_without=_seconds_without(waiting, tasks) if waiting else {},
    )


def _span(stage: PlannedStage, log: EventLog) -> tuple[float, float]:
    """From its first task's launch, or its submission where it has none, to its end; since the epoch."""
    submitted_at = float(stage.row.submitted_at or log.started_at)
    began_at = float(log.tasks.launched_at[stage.tasks].min()) if len(stage.tasks) else submitted_at
    return began_at, max(began_at, float(stage.row.completed_at or began_at))


def _wall_seconds(stage: PlannedStage, log: EventLog) -> float:
    began_at, ended_at = _span(stage, log)
    return ended_at - began_at


def _reads_input(tasks: TaskTable) -> bool:
    """Whether they read input, and nothing of earlier stages: more input would make more such tasks."""
    shuffled = tasks.shuffle_remote_bytes.sum() + tasks.shuffle_local_bytes.sum()
    return bool(tasks.input_bytes.sum() > 0 and shuffled == 0)


def _quantiles(seconds: FloatColumn, most: int) -> tuple[float, ...]:
    """Evenly spaced, from the shortest to the longest."""
    import numpy as np

    if not len(seconds):
        return ()
    shares = np.linspace(0.0, 1.0, min(len(seconds), most))
    return tuple(round(float(value), DIGITS) for value in np.quantile(seconds, shares))


def _seconds_without(waiting: StageWaiting, tasks: TaskTable) -> dict[str, float]:
    least = LITTLE_SHARE * float(tasks.seconds.sum())
    return {
        name: round(seconds, DIGITS)
        for name, seconds in waiting.seconds_without.items()
        if waiting.blocked_seconds[name] > least
    }


def _sum(seconds: FloatColumn) -> float:
    return round(float(seconds.sum()), DIGITS)


def _rounded(seconds: dict[str, float]) -> dict[str, float]:
    """What there is of them."""
    return {name: rounded for name, value in seconds.items() if (rounded := round(value, DIGITS))}
