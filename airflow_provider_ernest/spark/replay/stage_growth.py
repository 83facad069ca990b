"""How a stage grows with the input: in the number of its tasks, in the size of each, or not at all.

It is learned from the same stage in runs of other scales. Of a single run it is taken that stages that read
the job's input get more tasks of the same size, and those that read shuffle data as many of a larger size
(``spark.sql.shuffle.partitions`` fixes their number); what reads neither does not grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.log_reading.tables import FloatColumn

_TRUST = 0.01
"""Weight of what is taken of a single run against one run: such guesses are ten times as far off as runs."""

_FEW_BYTES = 4096
"""A task that reads less, such as the last of an aggregation, does not take its time for them."""

LARGER_BY = 1.05
"""Scales that differ by less tell nothing of growth."""

_NOT_GROWING = (run_profile.SCHEDULER, run_profile.SERIALISATION)


@dataclass(frozen=True, kw_only=True)
class StagePoint:
    """A stage in one run; several that are alike are one, in the mean.

    Attributes:
        scale: the share of the input that the run read.
        slots: tasks that the run could run at once.
        tasks: of the stage.
        read_bytes: by all of them, from input and shuffle data.
        mean_seconds: of a task without warm-up.
        fixed_seconds: of those, that no data takes: the scheduler's and to serialise.
        reads_input: whether they read the job's input.
    """

    scale: float
    slots: int
    tasks: float
    read_bytes: float
    mean_seconds: float
    fixed_seconds: float
    reads_input: bool


def point_of(stages: Sequence[run_profile.StageProfile], *, scale: float, slots: int) -> StagePoint:
    """What one or several stages of a run, which are alike, tell."""
    return StagePoint(
        scale=scale,
        slots=slots,
        tasks=float(np.mean([stage.tasks for stage in stages])),
        read_bytes=float(np.mean([_read_bytes(stage) for stage in stages])),
        mean_seconds=float(np.mean([mean_task_seconds(stage) for stage in stages])),
        fixed_seconds=float(np.mean([_fixed_seconds(stage) for stage in stages])),
        reads_input=stages[0].reads_input,
    )


def mean_task_seconds(stage: run_profile.StageProfile) -> float:
    """Of its tasks, without warm-up."""
    if stage.mean_seconds > 0:
        return stage.mean_seconds
    if len(stage.quantiles_seconds) > 1:
        return float(np.trapezoid(stage.quantiles_seconds) / (len(stage.quantiles_seconds) - 1))
    return stage.task_seconds / max(1, stage.tasks + stage.failed_tasks)


@dataclass(frozen=True, kw_only=True)
class Growth:
    """What becomes of a stage at another scale, by what it was in the run that is replayed.

    Attributes:
        tasks: how many it has then.
        times_seconds: each of its tasks takes so many times as long.
    """

    tasks: int
    times_seconds: float


def growth(source: StagePoint, others: Sequence[StagePoint], *, scale: float, slots: int) -> Growth:
    """The stage at another scale.

    Args:
        source: the stage in the run that is replayed.
        others: the same stage in other runs.
        scale: the share of the input that is asked for.
        slots: tasks that can run at once there.
    """
    points = [source, *others]
    tasks = max(1, round(_tasks(points, scale=scale, slots=slots)))
    data = _data(points, scale=scale)
    few = source.read_bytes > 0 and source.read_bytes / source.tasks < _FEW_BYTES
    fixed, per_data = _line(
        np.array([read / point.tasks for read, point in zip(data[1:], points, strict=True)]),
        np.array([point.mean_seconds for point in points]),
        fixed_seconds=source.mean_seconds if few else source.fixed_seconds,
    )
    # By what all runs tell: what other load did to the source's own tasks is no part of the job.
    becomes, was = fixed + per_data * data[0] / tasks, source.mean_seconds
    return Growth(tasks=tasks, times_seconds=float(becomes / was) if was > 0 else 1.0)


def _tasks(points: Sequence[StagePoint], *, scale: float, slots: int) -> float:
    """How many tasks there are: as many as before, or more with the scale, or as many as there are slots."""
    source, several = points[0], _is_of_several_scales(points)
    counts = np.array([point.tasks for point in points])
    waves = counts / np.array([point.slots for point in points])
    scales = np.array([point.scale for point in points])
    is_constant = bool((counts == counts[0]).all())
    # Partitions are whole, and so may be one off; runs of more input often have more machines, too.
    follows_scale = bool((np.abs(counts - source.tasks * scales / source.scale) <= 1.0).all())
    if source.reads_input and follows_scale and not (several and is_constant):
        return source.tasks * scale / source.scale
    if is_constant:
        return source.tasks
    if (waves == waves[0]).all() and waves[0].is_integer():
        return float(waves[0] * slots)
    return _scaled(points, counts, scale=scale) if several else source.tasks


def _data(points: Sequence[StagePoint], *, scale: float) -> list[float]:
    """What the stage reads at the scale that is asked for, and in each run, in the same unit."""
    read = np.array([point.read_bytes for point in points])
    if (read > 0).all():
        if _is_of_several_scales(points):
            return [_scaled(points, read, scale=scale), *read.tolist()]
        return [read[0] * scale / points[0].scale, *read.tolist()]
    if _is_of_several_scales(points):
        return [scale, *(point.scale for point in points)]
    # What reads nothing in a single run: as many tasks as then take as long as then.
    return [1.0] + [1.0] * len(points)


def _scaled(points: Sequence[StagePoint], values: FloatColumn, *, scale: float) -> float:
    """A value at another scale: what it was in the source, times what a line through all runs says."""
    scales = np.array([point.scale for point in points])
    constant, slope = _non_negative_line(scales, values, np.zeros(2), 0.0)
    at_source = constant + slope * scales[0]
    return float(values[0] * (constant + slope * scale) / at_source) if at_source > 0 else float(values[0])


def _line(
    data: FloatColumn,
    seconds: FloatColumn,
    *,
    fixed_seconds: float,
) -> tuple[float, float]:
    """Seconds of a task as a constant and so many per data that it reads; both at least 0.

    What is taken of a single run (all but `fixed_seconds` goes with the data) counts as much as a small part
    of a run, so that it decides only where the runs tell nothing.
    """
    fixed = min(fixed_seconds, float(seconds[0]))
    prior = np.array([fixed, (float(seconds[0]) - fixed) / data[0] if data[0] > 0 else 0.0])
    return _non_negative_line(data, seconds, prior, _TRUST)


def _non_negative_line(
    x: FloatColumn,
    y: FloatColumn,
    prior: FloatColumn,
    weight: float,
) -> tuple[float, float]:
    """Least relative squares, drawn to a prior; the best of what has no negative coefficient."""
    scale_x = max(float(np.abs(x).max()), 1e-300)
    sizes = np.maximum(np.abs(y), 1e-12)
    rows = np.column_stack([np.ones(len(x)), x / scale_x]) / sizes[:, None]
    target = y / sizes
    prior = prior * np.array([1.0, scale_x])
    pull = np.sqrt(weight) / sizes[0] * np.eye(2)
    rows, target = np.vstack([rows, pull]), np.concatenate([target, pull @ prior])
    best, least = np.array([float(y[0]), 0.0]), np.inf
    for kept in ([0, 1], [0], [1]):
        found = np.zeros(2)
        found[kept] = np.linalg.lstsq(rows[:, kept], target, rcond=None)[0]
        error = float(((rows @ found - target) ** 2).sum())
        if (found >= 0).all() and error < least - 1e-15:
            best, least = found, error
    return float(best[0]), float(best[1] / scale_x)


def _is_of_several_scales(points: Sequence[StagePoint]) -> bool:
    scales = [point.scale for point in points]
    return max(scales) > LARGER_BY * min(scales)


def _read_bytes(stage: run_profile.StageProfile) -> int:
    return stage.input_bytes + stage.shuffle_remote_bytes + stage.shuffle_local_bytes


def _fixed_seconds(stage: run_profile.StageProfile) -> float:
    """Of a task, without what its warm-up explains of it."""
    fixed = sum(stage.blocked_seconds.get(name, 0.0) for name in _NOT_GROWING)
    return min(mean_task_seconds(stage), fixed / max(1, stage.tasks + stage.failed_tasks))
