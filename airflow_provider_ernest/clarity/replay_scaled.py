"""How long a job would take at another scale and on other executors, by replay of the profiles of its runs.

A run with the largest input is replayed, with the number and size of tasks that all runs show its stages to
have at the new scale; the driver's time between them stays. The error is found by replaying each other run
from it and the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from airflow_provider_ernest.clarity.dynamic_allocation import AllocationRules, ExecutorAllocation, rules_of
from airflow_provider_ernest.clarity.replay import ALWAYS, Replayed, Simulation, Slot, remote_share_change
from airflow_provider_ernest.clarity.replay_dynamic import allocation_of
from airflow_provider_ernest.clarity.replay_plan import Moments, Plan, PlannedStage, releases
from airflow_provider_ernest.documents.profiles import (
    NETWORK,
    SCHEDULER,
    SERIALISATION,
    ReplayedAllocation,
    ReplayOpinion,
    RunProfile,
    StageProfile,
    TwoOpinions,
)
from airflow_provider_ernest.documents.runs import ExecutorBounds
from airflow_provider_ernest.eventlog.tables import FloatColumn, IntColumn, StageRow, busy_seconds

# If the replay of a stage as it was is further off, it did something else than run its tasks.
_LARGEST_CORRECTION = 1.25

_MOST_TASKS = 20_000  # of a stage, that are replayed one by one
_LARGER_BY = 1.05  # scales that differ by less tell nothing of growth
_TRUST = 0.01  # weight of a guess from a single run, against a run: such guesses are ten times as far off

# The time of a task that reads less, such as the last of an aggregation, does not depend on its input.
_FEW_BYTES = 4096

_GOLDEN_RATIO = (5**0.5 - 1) / 2  # its multiples, modulo 1, fill the unit interval evenly and in no order


def replay_scaled(
    profiles: Sequence[RunProfile],
    *,
    executors: Sequence[int],
    scale: float,
    executor_cores: int,
    iterations: int | None = None,
) -> ReplayOpinion:
    """Replay a job at another scale on several numbers of executors; clean seconds, without the start-up.

    The profiles of several scales show how its stages grow; the replayed run's iterations stay by default.
    """
    opinion = ReplayOpinion(scale=scale, iterations=iterations)
    found = _source_among(profiles)
    if found is None:
        return replace(opinion, problem="No run of the job has a profile that tells of its stages.")
    source, others = found
    replays = _Source(source, others)
    return replace(
        opinion,
        sizes=tuple(
            TwoOpinions(
                executors=count,
                replayed_seconds=replays.seconds(
                    scale=scale, executors=count, slots=count * executor_cores, iterations=iterations
                ),
            )
            for count in sorted(set(executors))
        ),
        from_application_id=source.application_id,
        from_scale=source.scale,
        error_percent=_error_percent(source, others),
    )


def replay_allocations(
    profiles: Sequence[RunProfile],
    *,
    allowed: Sequence[ExecutorBounds],
    scale: float,
    executor_cores: int,
    iterations: int | None = None,
) -> tuple[ReplayedAllocation, ...]:
    """Replay a job under dynamic allocation within each of the bounds; empty where no profile tells of it.

    Executors come as quickly as those of the run that is replayed did, and by its timeouts.
    """
    found = _source_among(profiles)
    if found is None:
        return ()
    source = _Source(*found)
    rules = rules_of(found[0].allocation, startup_seconds=found[0].executor_startup_seconds)
    fixed: dict[int, float] = {}
    made = []
    for bounds in allowed:
        each = source.under(bounds, rules, scale=scale, executor_cores=executor_cores, iterations=iterations)
        most = bounds.maximum
        if most not in fixed:
            fixed[most] = source.seconds(
                scale=scale, executors=most, slots=most * executor_cores, iterations=iterations
            )
        made.append(replace(each, fixed_seconds=fixed[most]))
    return tuple(made)


def _source_among(profiles: Sequence[RunProfile]) -> tuple[RunProfile, list[RunProfile]] | None:
    """The run to be replayed, and the others, by their amount of work; None if none tells of its stages."""
    known = [profile for profile in profiles if any(stage.tasks for stage in profile.stages)]
    if not known:
        return None
    # Of the runs that read most the one with the median work: some may have been disturbed.
    most = max(profile.scale for profile in known)
    largest = [profile for profile in known if _LARGER_BY * profile.scale >= most]
    source = sorted(largest, key=_amount_of_work)[(len(largest) - 1) // 2]
    others = sorted((profile for profile in known if profile is not source), key=_amount_of_work)
    return source, others


def _amount_of_work(profile: RunProfile) -> tuple[float, float, str]:
    return profile.task_seconds + profile.driver_seconds, profile.scale, profile.application_id


def _error_percent(source: RunProfile, others: Sequence[RunProfile]) -> float | None:
    """The median absolute error of the other runs, each predicted from the source and the rest."""
    errors = []
    for left_out in others:
        rest = [profile for profile in others if profile is not left_out]
        predicted = _Source(source, rest).seconds(
            scale=left_out.scale,
            executors=left_out.executors,
            slots=left_out.slots,
            iterations=left_out.iterations,
        )
        errors.append(100.0 * abs(predicted / left_out.seconds - 1.0))
    return float(np.median(errors)) if errors else None


@dataclass(frozen=True, kw_only=True)
class StageWork:
    """A stage in a replay: its number of tasks, each `times_seconds` as long as in the profile."""

    tasks: int
    times_seconds: float


class _Source:
    """The run that is replayed, with the corrections that its replay as it was asks for."""

    def __init__(self, profile: RunProfile, others: Sequence[RunProfile]) -> None:
        self._profile = profile
        self._points = [_points(stage, profile, others) if stage.tasks else [] for stage in profile.stages]
        as_it_was = [StageWork(tasks=stage.tasks, times_seconds=1.0) for stage in profile.stages]
        self._own_slots = _slots_of(profile)
        began, ended = _spans(_replayed(profile, as_it_was, slots=self._own_slots))
        self._work = []
        for stage, seconds in zip(profile.stages, (ended - began).tolist(), strict=True):
            # Makes a stage that ran alone as long as it was: its tasks' order and idle slots are not stored.
            ratio = stage.seconds / seconds if seconds > 0 and profile.ran_alone(stage) else 1.0
            correction = min(_LARGEST_CORRECTION, max(1.0 / _LARGEST_CORRECTION, ratio))
            self._work.append(StageWork(tasks=stage.tasks, times_seconds=correction))
        corrected = _replayed(profile, self._work, slots=self._own_slots)
        self._busy_seconds = busy_seconds(corrected.began, corrected.finished)
        self._left_out_seconds = _left_out_seconds(profile)

    def seconds(self, *, scale: float, executors: int, slots: int, iterations: int | None) -> float:
        """Clean seconds at another scale, on other executors."""
        there = self._there(scale=scale, executors=executors, slots=slots)
        return there.seconds + _more_iterations(self._profile, there, iterations)

    def under(
        self,
        bounds: ExecutorBounds,
        rules: AllocationRules,
        *,
        scale: float,
        executor_cores: int,
        iterations: int | None,
    ) -> ReplayedAllocation:
        """The same under dynamic allocation; further iterations have as many executors as the mean."""
        there = self._there(
            scale=scale,
            executors=bounds.maximum,
            slots=bounds.maximum * executor_cores,
            allocation=lambda: ExecutorAllocation(rules, bounds),
        )
        found = allocation_of(there, bounds)
        more = _more_iterations(self._profile, there, iterations)
        return replace(
            found,
            seconds=found.seconds + more,
            executor_seconds=found.executor_seconds + more * found.mean_executors,
        )

    def _there(
        self,
        *,
        scale: float,
        executors: int,
        slots: int,
        allocation: Callable[[], ExecutorAllocation] | None = None,
    ) -> Replayed:
        remote = remote_share_change(had=self._profile.executors, executors=executors)
        work = []
        for stage, points, each in zip(self._profile.stages, self._points, self._work, strict=True):
            if points:
                grown = growth(points, scale=scale, slots=slots)
                # These fill all slots so often that fewer and longer tasks take as long.
                tasks = min(grown.tasks, max(_MOST_TASKS, 100 * slots))
                times_seconds = each.times_seconds * grown.times_seconds * grown.tasks / tasks
                waiting = stage.blocked_seconds.get(NETWORK, 0.0) / max(stage.task_seconds, 1e-9)
                each = StageWork(tasks=tasks, times_seconds=times_seconds * (1.0 + waiting * (remote - 1.0)))
            work.append(each)

        def run(times_gaps: float = 1.0) -> Replayed:
            return _replayed(
                self._profile,
                work,
                slots=[ALWAYS] * max(1, slots) if allocation is None else (),
                times_gaps=times_gaps,
                allocation=allocation and allocation(),
                slots_per_executor=max(1, slots // executors),
            )

        there = run()
        if self._left_out_seconds <= 0:
            return there
        # The stages that the profile leaves out change as the others do; the driver's time does not.
        busy = busy_seconds(there.began, there.finished)
        change = busy / self._busy_seconds if self._busy_seconds > 0 else 1.0
        driver, left_out = self._profile.driver_seconds, self._left_out_seconds
        return run((driver + left_out * change) / (driver + left_out))


def _slots_of(profile: RunProfile) -> list[Slot]:
    """Of the run's executors, when it had them: those that came last left first."""
    if not profile.steps:
        return [ALWAYS] * max(1, profile.slots)
    each = max(1, round(profile.slots / profile.executors))
    found: list[Slot] = []
    here: list[float] = []
    for at, count in profile.steps:
        while len(here) < count:
            here.append(at)
        while len(here) > count:
            found += [(here.pop(), at)] * each
    return found + [(came, math.inf) for came in here for _ in range(each)]


def _left_out_seconds(profile: RunProfile) -> float:
    if not profile.stages_left_out:
        return 0.0
    began = np.array([stage.began_seconds for stage in profile.stages]).clip(0.0)
    ended = np.array([stage.ended_seconds for stage in profile.stages]).clip(0.0)
    return max(0.0, profile.seconds - profile.driver_seconds - busy_seconds(began, ended))


def _spans(replayed: Replayed) -> tuple[FloatColumn, FloatColumn]:
    at, stages = replayed.moments, replayed.plan.stages
    return np.array([at[stage.submitted] for stage in stages]), np.array(
        [at[stage.ended] for stage in stages]
    )


def _more_iterations(profile: RunProfile, there: Replayed, iterations: int | None) -> float:
    """The seconds of more or fewer iterations: of the repeated stages and the time before them."""
    if iterations is None or not profile.iterations or iterations == profile.iterations:
        return 0.0
    kept = len(profile.stages) / (len(profile.stages) + profile.stages_left_out)
    enough = max(2.0, kept * profile.iterations / 2.0)
    names = [stage.name for stage in profile.stages]
    _, ended = _spans(there)
    until = np.concatenate([[0.0], np.maximum.accumulate(ended)[:-1]])
    repeated = np.array([names.count(name) >= enough for name in names])
    # From the end of what was before to its own.
    each = np.maximum(0.0, ended - np.maximum(until, 0.0))
    return float(each[repeated].sum()) * (iterations / profile.iterations - 1.0)


def _replayed(
    profile: RunProfile,
    work: Sequence[StageWork],
    *,
    slots: Sequence[Slot],
    times_gaps: float = 1.0,
    allocation: ExecutorAllocation | None = None,
    slots_per_executor: int = 1,
) -> Replayed:
    """The profile's stages, replayed with other work on other slots.

    A stage waits for its parents, and as jobs do (`releases`) for what had ended before it began. The gaps
    are the time of the driver and of stages that the profile leaves out, and are scaled by `times_gaps`.
    """
    moments, planned = Moments(), []
    seconds: list[FloatColumn] = []
    end_of: dict[int, int] = {}
    ends: list[int] = []
    waits = releases([(stage.began_seconds, stage.ended_seconds) for stage in profile.stages])
    first = 0
    for stage, waits_for, each in zip(profile.stages, waits, work, strict=True):
        after = [ends[place] for place in waits_for]
        after += [end_of[parent] for parent in stage.parents if parent in end_of]
        submitted = moments.add(stage.began_seconds, after)
        ended = end_of[stage.stage_id] = moments.add(stage.ended_seconds, [submitted])
        ends.append(ended)
        planned.append(_planned(stage, np.arange(first, first + each.tasks), submitted, ended))
        seconds.append(_task_seconds(stage, each))
        first += each.tasks
    end = moments.add(profile.seconds, ends)
    moments.gap_seconds = [gap * times_gaps for gap in moments.gap_seconds]
    return Simulation(
        Plan(stages=tuple(planned), moments=moments, end=end),
        np.concatenate([np.zeros(0), *seconds]),
        slots,
        allocation=allocation,
        slots_per_executor=slots_per_executor,
        warm_up_seconds=[stage.warmup_seconds for stage in profile.stages],
    ).run()


def _planned(stage: StageProfile, tasks: IntColumn, submitted: int, ended: int) -> PlannedStage:
    row = StageRow(
        stage_id=stage.stage_id,
        attempt=stage.attempt,
        name=stage.name,
        tasks=len(tasks),
        parents=stage.parents,
        job_id=stage.job_id,
        fills_cache=stage.fills_cache,
    )
    return PlannedStage(
        row=row,
        tasks=tasks,
        holds_up=np.ones(len(tasks), dtype=np.bool_),
        submitted=submitted,
        ended=ended,
        writes_shuffle=stage.shuffle_written_bytes > 0,
    )


def _task_seconds(stage: StageProfile, work: StageWork) -> FloatColumn:
    """Of each task, spread like the profile's and in no order."""
    if not stage.quantiles_seconds:
        return np.full(work.tasks, stage.task_seconds / stage.attempts * work.times_seconds)
    sorted_seconds = _spread(stage, work.tasks)
    order = np.argsort(np.arange(1, work.tasks + 1) * _GOLDEN_RATIO % 1.0, kind="stable")
    return np.asarray(sorted_seconds[order] * work.times_seconds)


def _spread(stage: StageProfile, tasks: int) -> FloatColumn:
    """The seconds of so many tasks, ascending, with the profile's mean.

    Rare tasks lie between the last two quantiles: a straight line between these would make them common, so it
    is bent as far as the mean demands.
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
    if not spread.any():
        # Only rare tasks took any time, and of so few none is one of those.
        return np.full(tasks, stage.mean_seconds)
    return np.asarray(spread * stage.mean_seconds / spread.mean())


def _points(stage: StageProfile, source: RunProfile, others: Sequence[RunProfile]) -> list[StagePoint]:
    """A stage in the source, and in each of the other runs that has it.

    Stages are named after their lines of code, and several may have one name: the second of a name is the
    second of that name in another run, if both have as many. If not (other numbers of iterations, other
    adaptive plans), all of the name that read the same kind of data are alike.
    """
    own, found = _named(source, stage.name), [StagePoint.of([stage], source)]
    for run in others:
        alike = _named(run, stage.name)
        if len(own) == len(alike):
            alike = [alike[own.index(stage)]]
        else:
            alike = [other for other in alike if _kind(other) == _kind(stage)]
        if alike:
            found.append(StagePoint.of(alike, run))
    return found


def _named(run: RunProfile, name: str) -> list[StageProfile]:
    return [stage for stage in run.stages if stage.tasks and stage.name == name]


def _kind(stage: StageProfile) -> tuple[bool, bool]:
    return stage.reads_input, stage.read_bytes > stage.input_bytes


@dataclass(frozen=True, kw_only=True)
class StagePoint:
    """A stage in one run, or the mean of several that are alike."""

    scale: float  # the share of the input that the run read
    slots: int  # of the run
    tasks: float
    read_bytes: float  # by all tasks, from input and shuffle data
    mean_seconds: float  # of a task without warm-up
    fixed_seconds: float  # of those, for scheduling and serialisation, which no data takes
    reads_input: bool  # whether its tasks read the job's input

    @classmethod
    def of(cls, stages: Sequence[StageProfile], run: RunProfile) -> StagePoint:
        """The mean of one or several stages of a run that are alike."""
        return cls(
            scale=run.scale,
            slots=run.slots,
            tasks=float(np.mean([stage.tasks for stage in stages])),
            read_bytes=float(np.mean([stage.read_bytes for stage in stages])),
            mean_seconds=float(np.mean([_mean_seconds(stage) for stage in stages])),
            fixed_seconds=float(np.mean([_fixed_seconds(stage) for stage in stages])),
            reads_input=stages[0].reads_input,
        )


def _mean_seconds(stage: StageProfile) -> float:
    if stage.mean_seconds > 0:
        return stage.mean_seconds
    if len(stage.quantiles_seconds) > 1:
        return float(np.trapezoid(stage.quantiles_seconds) / (len(stage.quantiles_seconds) - 1))
    return stage.task_seconds / stage.attempts


def _fixed_seconds(stage: StageProfile) -> float:
    """For scheduling and serialisation of a task, without its warm-up."""
    fixed = sum(stage.blocked_seconds.get(name, 0.0) for name in (SCHEDULER, SERIALISATION))
    return min(_mean_seconds(stage), fixed / stage.attempts)


def growth(points: Sequence[StagePoint], *, scale: float, slots: int) -> StageWork:
    """How a stage grows with the input: in the number of its tasks, in their size, or not at all.

    The same stage in the runs after the first shows it, if they read other scales. From a single run it is
    assumed that stages that read the job's input get more tasks of the same size, that those that read
    shuffle data get larger ones (``spark.sql.shuffle.partitions`` fixes their number), and that others do
    not grow.
    """
    source = points[0]
    tasks = max(1, round(_tasks(points, scale=scale, slots=slots)))
    data = _data(points, scale=scale)
    few = source.read_bytes > 0 and source.read_bytes / source.tasks < _FEW_BYTES
    per_task = np.array([read / point.tasks for read, point in zip(data[1:], points, strict=True)])
    # The guess from the single run: all but the fixed seconds go with the data.
    fixed = source.mean_seconds if few else min(source.fixed_seconds, source.mean_seconds)
    prior = np.array([fixed, (source.mean_seconds - fixed) / per_task[0] if per_task[0] > 0 else 0.0])
    seconds = np.array([point.mean_seconds for point in points])
    fixed, per_data = _non_negative_line(per_task, seconds, prior, _TRUST)
    # By all runs: other load on the source's own tasks is no part of the job.
    becomes, was = fixed + per_data * data[0] / tasks, source.mean_seconds
    return StageWork(tasks=tasks, times_seconds=float(becomes / was) if was > 0 else 1.0)


def _tasks(points: Sequence[StagePoint], *, scale: float, slots: int) -> float:
    """The number of tasks: as before, in proportion to the scale, or in proportion to the slots."""
    source, several = points[0], _are_of_several_scales(points)
    counts = np.array([point.tasks for point in points])
    waves = counts / np.array([point.slots for point in points])
    scales = np.array([point.scale for point in points])
    is_constant = bool((counts == counts[0]).all())
    # Numbers of partitions are rounded; runs with more input often have more executors, too.
    follows_scale = bool((np.abs(counts - source.tasks * scales / source.scale) <= 1.0).all())
    if source.reads_input and follows_scale and not (several and is_constant):
        return source.tasks * scale / source.scale
    if is_constant:
        return source.tasks
    if (waves == waves[0]).all() and waves[0].is_integer():
        return float(waves[0] * slots)
    return _scaled(points, counts, scale=scale) if several else source.tasks


def _data(points: Sequence[StagePoint], *, scale: float) -> list[float]:
    """What the stage reads at the new scale, and in each run, in one unit."""
    read = np.array([point.read_bytes for point in points])
    several = _are_of_several_scales(points)
    if (read > 0).all():
        wanted = _scaled(points, read, scale=scale) if several else read[0] * scale / points[0].scale
        return [wanted, *read.tolist()]
    if several:
        return [scale, *(point.scale for point in points)]
    # A stage that reads nothing, in a single run, does not grow.
    return [1.0] + [1.0] * len(points)


def _scaled(points: Sequence[StagePoint], values: FloatColumn, *, scale: float) -> float:
    """A value at another scale: the source's, in proportion to a line through all runs."""
    scales = np.array([point.scale for point in points])
    constant, slope = _non_negative_line(scales, values, np.zeros(2), 0.0)
    at_source = constant + slope * scales[0]
    return float(values[0] * (constant + slope * scale) / at_source) if at_source > 0 else float(values[0])


def _non_negative_line(
    x: FloatColumn, y: FloatColumn, prior: FloatColumn, weight: float
) -> tuple[float, float]:
    """Constant and slope of least relative squares, drawn to a prior, neither of them negative."""
    from scipy.optimize import nnls

    scale_x = max(float(np.abs(x).max()), 1e-300)
    sizes = np.maximum(np.abs(y), 1e-12)
    rows = np.column_stack([np.ones(len(x)), x / scale_x]) / sizes[:, None]
    pull = np.sqrt(weight) / sizes[0] * np.eye(2)
    target = np.concatenate([y / sizes, pull @ (prior * np.array([1.0, scale_x]))])
    constant, slope = nnls(np.vstack([rows, pull]), target)[0]
    return float(constant), float(slope / scale_x)


def _are_of_several_scales(points: Sequence[StagePoint]) -> bool:
    scales = [point.scale for point in points]
    return max(scales) > _LARGER_BY * min(scales)
