"""The plan of a replay made of a run's profile, which tells of stages but not of single tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.log_reading.tables import FloatColumn, IntColumn, StageRow
from airflow_provider_ernest.spark.replay.job_order import JobSpan, releases
from airflow_provider_ernest.spark.replay.moments import Moments
from airflow_provider_ernest.spark.replay.plan import Plan, PlannedStage
from airflow_provider_ernest.spark.replay.simulation import Durations

_GOLDEN_RATIO = (5**0.5 - 1) / 2
"""Its multiples, modulo 1, fill the unit interval evenly and in no order."""


@dataclass(frozen=True, kw_only=True)
class StageWork:
    """A stage as it shall be replayed.

    Attributes:
        tasks: how many it has.
        times_seconds: each takes so many times as long as in the profile.
    """

    tasks: int
    times_seconds: float


def plan_of_profile(
    profile: run_profile.RunProfile, work: Sequence[StageWork], *, times_gaps: float = 1.0
) -> tuple[Plan, Durations]:
    """What waits for what, and how long each task takes.

    A stage waits for its parents, and as jobs do (`job_order`) for what had ended before it began. What lies
    between is the driver's time, and that of stages which the profile leaves out.

    Args:
        profile: of the run.
        work: for each of its stages.
        times_gaps: what lies between stages takes so many times as long.
    """
    moments, planned = Moments(), []
    seconds: list[FloatColumn] = []
    ends: dict[int, int] = {}
    places: list[int] = []
    spans = [
        JobSpan(submitted_at=stage.began_seconds, completed_at=stage.ended_seconds)
        for stage in profile.stages
    ]
    first = 0
    for stage, waits_for, each in zip(profile.stages, releases(spans), work, strict=True):
        after = [places[place] for place in waits_for]
        after += [ends[parent] for parent in stage.parents if parent in ends]
        submitted = moments.add(stage.began_seconds, after)
        ended = moments.add(stage.ended_seconds, [submitted])
        ends[stage.stage_id] = ended
        places.append(ended)
        planned.append(_planned(stage, np.arange(first, first + each.tasks), submitted, ended))
        seconds.append(_task_seconds(stage, each))
        first += each.tasks
    end = moments.add(profile.seconds, places)
    moments.gap_seconds = [gap * times_gaps for gap in moments.gap_seconds]
    every = np.concatenate(seconds) if seconds else np.zeros(0)
    warm_up = [stage.warmup_seconds for stage in profile.stages]
    plan = Plan(stages=tuple(planned), moments=moments, end=end)
    return plan, Durations(seconds=every, slot_seconds=every, warm_up_seconds=warm_up)


def _planned(stage: run_profile.StageProfile, tasks: IntColumn, submitted: int, ended: int) -> PlannedStage:
    return PlannedStage(
        row=StageRow(
            stage_id=stage.stage_id,
            attempt=stage.attempt,
            name=stage.name,
            tasks=len(tasks),
            parents=stage.parents,
            job_id=stage.job_id,
        ),
        tasks=tasks,
        holds_up=np.ones(len(tasks), dtype=np.bool_),
        lag_seconds=0.0,
        tail_seconds=0.0,
        dispatch_seconds=0.0,
        retries={},
        copies={},
        submitted=submitted,
        ended=ended,
    )


def _task_seconds(stage: run_profile.StageProfile, work: StageWork) -> FloatColumn:
    """As many tasks as there shall be, spread like the profile's and in no order."""
    if not stage.quantiles_seconds:
        mean = stage.task_seconds / max(1, stage.tasks + stage.failed_tasks)
        return np.full(work.tasks, mean * work.times_seconds)
    sorted_seconds = _spread(stage, work.tasks)
    order = np.argsort(np.arange(1, work.tasks + 1) * _GOLDEN_RATIO % 1.0, kind="stable")
    return np.asarray(sorted_seconds[order] * work.times_seconds)


def _spread(stage: run_profile.StageProfile, tasks: int) -> FloatColumn:
    """The seconds of so many tasks, ascending, with the profile's mean.

    Between the last quantile but one and the longest task lies all that is rare: a straight line between the
    two would make it common. So that line is bent as far as the mean asks for.
    """
    quantiles: FloatColumn = np.array(stage.quantiles_seconds)
    if tasks == len(quantiles):
        return quantiles
    even = (np.arange(tasks) + 0.5) / max(1, tasks)
    spread: FloatColumn = np.interp(even, np.linspace(0.0, 1.0, len(quantiles)), quantiles)
    if stage.mean_seconds <= 0 or len(quantiles) < 2 or not tasks:
        return spread
    part = (even * (len(quantiles) - 1) - (len(quantiles) - 2)).clip(0.0)
    usual, most = np.minimum(spread, quantiles[-2]), quantiles[-1] - quantiles[-2]
    rare = part > 0
    if most > 0 and rare.any():
        share = (tasks * stage.mean_seconds - usual.sum()) / (rare.sum() * most)
        spread = usual + most * rare * part ** (1.0 / min(1.0, max(1e-3, share)) - 1.0)
    return np.asarray(spread * stage.mean_seconds / spread.mean())
