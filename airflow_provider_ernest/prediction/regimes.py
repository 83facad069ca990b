"""Foreseeing a change of regime: what the job does at the target that its samples did not do.

A model of run times knows only what the runs did. When cached data no longer fits into memory, when tasks
begin to spill, or when slots outnumber tasks, time follows another law. Spark's metrics of the runs tell
when that happens: cached bytes grow with the input, memory grows with the executors, and both are known. They
also tell what a missing cache costs: the time it took to fill, and how often it is read. The model is fitted
to the runs without that time, which is then added to its predictions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

import airflow_provider_ernest.words as words
from airflow_provider_ernest.documents.runs import Observation, RunMetrics
from airflow_provider_ernest.prediction.numbers import (
    FloatArray,
    executors_and_scale,
    positive_number,
    whole_number,
)
from airflow_provider_ernest.prediction.regression import non_negative_least_squares
from airflow_provider_ernest.prediction.terms import basis
from airflow_provider_ernest.words import as_percent, count, data_amount, duration, input_share

WIDEST = 3.0  # the largest factor on the log-spread of an interval: what is known of the job still bounds it
_UNSEEN = 1.25
"""Factor where the run does what no observed run did, and the prediction allows for it or it may not matter.
"""
_SPILL = 1.5  # factor where tasks spill for the first time: the prediction does not count that
_SAME_LOAD = 1.05  # loads of a task or an executor that differ by less than this factor are the same


@dataclass(frozen=True, kw_only=True)
class RegimeForecast:
    """What Spark's metrics say of a run that has not been made."""

    effective_executors: float  # that the tasks can keep busy, above 0 and at most those asked for
    # share of the data to be cached that fits into memory; None where nothing is cached, or known
    cache_share: float | None = None
    spills: bool | None = None  # whether tasks spill to disk; None where it is not known
    warnings: tuple[str, ...] = ()  # what changes against the runs, with numbers and remedies, in sentences
    widening: float = 1.0  # factor of at least 1 on the log-spread of the prediction's interval
    # lower bound of the standard deviation of log(seconds), where a cliff comes and `again_seconds` does not
    # say what it costs: a narrow interval stays too narrow with any factor
    least_log_spread: float = 0.0
    again_seconds: float = 0.0  # that the run spends on making or reading again what the cache cannot hold
    again_spread: float = 0.0  # its relative standard deviation


def foresee(observations: Sequence[Observation], *, executors: int, scale: float = 1.0) -> RegimeForecast:
    """Foresee what a run does from what the observed runs on that type of machine did."""
    executors = whole_number("executors", executors)
    scale = positive_number("scale", scale)
    effective, cap_warning = _cap(observations, executors, scale)
    cache = foresee_cache(observations, executors=executors, scale=scale, working_executors=effective)
    spills, spill_warning, spill_widening = _foresee_spill(observations, executors=executors, scale=scale)
    widening = cache.widening * spill_widening * (_UNSEEN if cap_warning else 1.0)
    return replace(
        cache,
        spills=spills,
        warnings=tuple(filter(None, (cap_warning, *cache.warnings, spill_warning))),
        widening=min(WIDEST, widening),
    )


def _told(
    observations: Sequence[Observation], tells: Callable[[RunMetrics], object]
) -> list[tuple[Observation, RunMetrics]]:
    """The runs whose metrics tell what is asked of them."""
    return [(run, run.metrics) for run in observations if run.metrics is not None and tells(run.metrics)]


def _column(told: Sequence[tuple[Observation, RunMetrics]], name: str) -> FloatArray:
    """A figure of each run or of its metrics, shape (n,); NaN for None."""
    of_runs = name in ("executors", "scale")
    figures = [getattr(run if of_runs else metrics, name) for run, metrics in told]
    return np.array(figures, dtype=np.float64)


# How many of the executors a job can keep busy: its tasks against the slots that run them.
#
# A stage of 16 tasks runs no faster on 64 slots than on 16. The event log tells the tasks of the stages in
# which most of the time goes; how they grow (not at all, as with a fixed number of shuffle partitions, or
# with the input, or with the executors, as Spark's default parallelism does) is read off the runs.

_SHORT_OF_TASKS = 0.9
_NOTABLY_LESS = 0.1


def _cap(observations: Sequence[Observation], executors: int, scale: float) -> tuple[float, str]:
    """Effective executors, and a warning where they are notably fewer than in any of the runs."""
    known = parallelism(observations)
    if known is None:
        return float(executors), ""
    effective = float(known.effective_executors(executors=executors, scale=scale)[0])
    counts = np.array([run.executors for run in observations], dtype=np.float64)
    seen = known.effective_executors(executors=counts, scale=[run.scale for run in observations])
    busy = effective / executors
    if busy >= _SHORT_OF_TASKS or busy > float(np.min(seen / counts)) - _NOTABLY_LESS:
        return effective, ""
    tasks = int(known.tasks(executors=executors, scale=scale)[0])
    slots = round(executors * known.slots_per_executor)
    facts = (
        f"With {input_share(scale)} of the input about {count(tasks)} tasks can run at once in the stages "
        f"that take most of the time, for {slots} slots of {_in_words(executors, observations)}"
    )
    if tasks < slots:
        most = max(1, math.floor(tasks / known.slots_per_executor))
        what = (
            f"more than {_in_words(most, observations)} would stand partly idle. More partitions "
            f"(smaller input splits, or spark.sql.shuffle.partitions of {slots} or more)"
        )
    else:
        rounds = math.ceil(tasks / slots)
        what = (
            f"in the last of {rounds} rounds most slots stand idle. {rounds * slots} or many more partitions"
        )
    return effective, f"{facts}: {what} would use them all."


_ONE_CAUSE = (("1",), ("scale",), ("executors",))
_MORE_CAUSES = (("1", "scale"), ("1", "scale", "executors"))
_SAME_SHARE = 0.1  # task counts that a growth explains within this share, or within a task, are explained
_UNEXPLAINED_SHARE = 0.5
"""Beyond this the runs contradict each other, and nothing is said of the tasks at other configurations."""


@dataclass(frozen=True, kw_only=True)
class Parallelism:
    """Tasks and slots of a job at other configurations; all `growths` of the tasks fit the runs."""

    slots_per_executor: float
    growths: tuple[Growth, ...]

    def tasks(self, *, executors: ArrayLike, scale: ArrayLike) -> FloatArray:
        """Tasks that can run at once, shape (n,), whole numbers of at least 1.

        Of several possible growths the one with most tasks: no limit is foreseen without evidence.
        """
        executor_column, scale_column = executors_and_scale(executors=executors, scale=scale)
        counts = [growth.at(executors=executor_column, scale=scale_column) for growth in self.growths]
        return np.asarray(np.maximum(1.0, np.round(np.max(counts, axis=0))), dtype=np.float64)

    def effective_executors(self, *, executors: ArrayLike, scale: ArrayLike) -> FloatArray:
        """Executors that would do as much if all their slots were always busy, shape (n,)."""
        tasks = self.tasks(executors=executors, scale=scale)
        tasks_per_slot = tasks / (np.asarray(executors, dtype=np.float64) * self.slots_per_executor)
        # Equal tasks need ceil(tasks_per_slot) rounds. Tasks of unequal length fill the gaps of the last
        # round: then time goes with tasks_per_slot itself. Tasks are in between, so the mean is taken.
        rounds = (np.ceil(tasks_per_slot) + np.maximum(1.0, tasks_per_slot)) / 2.0
        return np.asarray(tasks / self.slots_per_executor / rounds, dtype=np.float64)


def parallelism(observations: Sequence[Observation], *, of_peak_stage: bool = False) -> Parallelism | None:
    """What the runs tell of tasks and slots; None where they tell nothing, or contradict each other.

    The tasks are those of the stages that take most of the time, or of the stage with the largest memory use.
    """
    name = "peak_stage_tasks" if of_peak_stage else "dominant_stage_tasks"
    told = _told(observations, lambda metrics: metrics.slots > 0 and getattr(metrics, name))
    executors, tasks = _column(told, "executors"), _column(told, name)
    growths = _growths(executors, _column(told, "scale"), tasks) if told else ()
    if not growths:
        return None
    return Parallelism(
        slots_per_executor=float(np.median(_column(told, "slots") / executors)), growths=growths
    )


def effective_executors(
    observations: Sequence[Observation], *, executors: ArrayLike, scale: ArrayLike
) -> FloatArray:
    """Executors that work which spreads counts on, (n,): those asked for, less what has no task to run."""
    executor_column, scale_column = executors_and_scale(executors=executors, scale=scale)
    known = parallelism(observations)
    if known is None:
        return np.array(executor_column)
    return known.effective_executors(executors=executor_column, scale=scale_column)


@dataclass(frozen=True, kw_only=True)
class Growth:
    """How a figure that Spark reports of each run (tasks, cached bytes) grows: a sum of p terms."""

    terms: tuple[str, ...]
    coefficients: FloatArray  # of at least 0, shape (p,), in the figure's unit
    deviations: FloatArray  # fitted over reported, less 1, shape (n,)

    def at(self, *, executors: FloatArray | float, scale: FloatArray | float) -> FloatArray:
        """The figure at n configurations, shape (n,)."""
        rows = basis(self.terms, executors=executors, scale=scale)
        return np.asarray(rows @ self.coefficients, dtype=np.float64)


def fit_growth(
    terms: tuple[str, ...], *, executors: FloatArray, scale: FloatArray, values: FloatArray
) -> Growth | None:
    """Non-negative least squares on relative errors; None where the n runs do not determine the terms."""
    rows = basis(terms, executors=executors, scale=scale) / values[:, np.newaxis]
    if np.linalg.matrix_rank(rows / np.linalg.norm(rows, axis=0), tol=1e-6) < len(terms):
        return None
    coefficients = non_negative_least_squares(rows, np.ones(values.size))
    return Growth(terms=terms, coefficients=coefficients, deviations=np.asarray(rows @ coefficients - 1.0))


def _growths(executors: FloatArray, scale: FloatArray, tasks: FloatArray) -> tuple[Growth, ...]:
    """The simplest ways of growth that explain the task counts; none where nothing nearly does."""

    def fits(causes: Sequence[tuple[str, ...]], within: FloatArray | float) -> list[Growth]:
        found = (fit_growth(terms, executors=executors, scale=scale, values=tasks) for terms in causes)
        return [each for each in found if each is not None and np.all(np.abs(each.deviations) <= within)]

    allowed = np.maximum(_SAME_SHARE, 0.6 / tasks)
    simple = fits(_ONE_CAUSE, allowed)
    if simple:
        return tuple(simple)
    nearly = fits(_MORE_CAUSES, _UNEXPLAINED_SHARE)
    nearly.sort(key=lambda growth: float(np.max(np.abs(growth.deviations))))
    return tuple((fits(_MORE_CAUSES, allowed) or nearly)[:1])


def _grown(scales: FloatArray, values: FloatArray, scale: float) -> float:
    """The figure at a scale: proportional where all runs read the same share, else with a fixed part."""
    for terms in (("1", "scale"), ("scale",)):
        growth = fit_growth(terms, executors=np.ones_like(scales), scale=scales, values=values)
        if growth is not None:
            return float(growth.at(executors=1.0, scale=scale)[0])
    return float(values.max())


# Whether the cache fits: cached bytes, which grow with the input, against storage memory, which grows with
# the executors.

WHOLE_CACHE = 0.99  # from this share on, all the data to be cached is taken to be in memory
_PROTECTED = 0.5
"""Spark's spark.memory.storageFraction: the share of memory from which execution evicts no cached data."""
_TIMES_SLOWER = 10.0
"""What an uncached pass over the data may cost against a cached one: "an order of magnitude" (Zaharia et al.,
Resilient Distributed Datasets, NSDI 2012, abstract)."""
_MISSED_NOTABLY = 0.02  # so few of the reads of a cache may miss by chance, as those of blocks that moved


class _CachingRuns:
    """The runs that cached something, at least one, as columns of shape (n,)."""

    def __init__(self, told: Sequence[tuple[Observation, RunMetrics]]) -> None:
        self.executors, self.scale = _column(told, "executors"), _column(told, "scale")
        self.wanted_bytes = _column(told, "cache_wanted_bytes")
        self.cached_bytes = np.nan_to_num(_column(told, "cached_bytes"))
        self.storage_bytes, self.slots = _column(told, "storage_memory_bytes"), _column(told, "slots")
        self.execution_bytes = np.nan_to_num(_column(told, "peak_execution_memory_bytes")) * self.slots
        partitions = _column(told, "cache_partitions")
        self.partitions = np.where(partitions > 0, partitions, math.nan)
        self.missed = _column(told, "cache_missed_share")
        self.share = np.minimum(1.0, self.cached_bytes / self.wanted_bytes)

    @property
    def usable_bytes_per_executor(self) -> float:
        """As full as the fullest run that had to leave data out; all of it where none had to."""
        per_executor = float(np.median(self.storage_bytes / self.executors))
        filled = (self.cached_bytes / self.storage_bytes)[self.share < WHOLE_CACHE]
        return per_executor * float(np.clip(filled.max(), 0.05, 1.0)) if filled.size else per_executor

    @property
    def safe_share(self) -> float:
        """The share of memory in which cached data is safe from execution, by what execution has used."""
        execution = float((self.execution_bytes / self.storage_bytes).max())
        held = (self.cached_bytes / self.storage_bytes)[self.share >= WHOLE_CACHE]
        return max(_PROTECTED, 1.0 - execution, float(held.max(initial=0.0)))

    def missing(self, share: float, wanted_bytes: float, executors: int) -> float:
        """The share of reads that miss: by the runs' reads where they tell, else what does not fit."""
        if np.isnan(self.missed).all() or np.isnan(self.partitions).all():
            return 1.0 - share if share < WHOLE_CACHE else 0.0
        return 1.0 - self._found(wanted_bytes, executors, all_fits=share >= WHOLE_CACHE)

    def _found(self, wanted_bytes: float, executors: int, *, all_fits: bool) -> float:
        """The share of the reads that find their partition in memory.

        Where not all fits, each executor holds as much as in the runs that missed some. Else, and without
        such runs, it holds what fits beside execution and the tasks that make others again, each of which
        keeps up to a partition in storage memory. And of whole partitions half a one on average does not fit.
        """
        each = wanted_bytes / executors
        of_runs = self.wanted_bytes / self.executors
        held = of_runs[self.missed <= _MISSED_NOTABLY]
        if each <= _SAME_LOAD * float(held.max(initial=0.0)):
            return 1.0
        overflowing = (self.missed > _MISSED_NOTABLY) & (self.share < WHOLE_CACHE)
        if overflowing.any() and not all_fits:
            return min(1.0, float(np.median(((1.0 - self.missed) * of_runs)[overflowing])) / each)
        partition = float(np.nanmedian(self.wanted_bytes / self.partitions))
        storage = float(np.median(self.storage_bytes / self.executors))
        execution = float((self.execution_bytes / self.executors).max())
        kept = float(np.median(self.slots / self.executors)) * partition
        room = max(_PROTECTED * storage, storage - execution - kept)
        return float(np.clip((room - partition / 2.0) / each, 0.0, 1.0))


def foresee_cache(
    observations: Sequence[Observation], *, executors: int, scale: float, working_executors: float
) -> RegimeForecast:
    """Whether the cache still fits, and what a miss costs; `working_executors` make the data again."""
    forecast = RegimeForecast(effective_executors=working_executors)
    told = _told(observations, lambda metrics: metrics.cache_wanted_bytes and metrics.storage_memory_bytes)
    if not told:
        return forecast
    runs = _CachingRuns(told)
    wanted, usable = _grown(runs.scale, runs.wanted_bytes, scale), runs.usable_bytes_per_executor
    room = usable * executors
    share = min(1.0, room / wanted)
    facts = (
        f"With {input_share(scale)} of the input about {data_amount(wanted)} would be cached and "
        f"{_in_words(executors, observations)} {'has' if executors == 1 else 'have'} room for "
        f"{data_amount(room)}"
    )
    forecast = replace(forecast, cache_share=share)
    passes = cache_passes(observations)
    if passes is not None:
        missing = runs.missing(share, wanted, executors)
        again = passes.seconds_again(missing, wanted, working_executors)
        forecast = replace(forecast, again_seconds=again, again_spread=passes.spread)
    away = max(0.0, float(runs.share.min()) - share, share - float(runs.share.max()))
    if away < 1.0 - WHOLE_CACHE:
        if share < WHOLE_CACHE or wanted <= runs.safe_share * room:
            return forecast
        warning = (
            f"{facts}: tight, for sorting and joining take memory from the cache. "
            f"{_enough(wanted, runs.safe_share * room / executors, observations)} would be safe."
        )
        return replace(forecast, warnings=(warning,), widening=_UNSEEN)
    change = _change(runs, share, _enough(wanted, usable, observations), forecast.again_seconds)
    forecast = replace(forecast, warnings=(f"{facts}: {change}",))
    if passes is not None:
        return replace(forecast, widening=_UNSEEN)
    # Twice the deviation reaches the time in which all that changes its place takes an order more.
    spread = math.log1p((_TIMES_SLOWER - 1.0) * away) / 2.0
    return replace(forecast, widening=max(1.5, 1.0 + 2.0 * away), least_log_spread=spread)


def _enough(wanted_bytes: float, bytes_per_executor: float, observations: Sequence[Observation]) -> str:
    """The fewest executors that hold so much, in words."""
    return _in_words(max(1, math.ceil(wanted_bytes / bytes_per_executor * (1 - 1e-9))), observations)


def _in_words(executors: int, observations: Sequence[Observation]) -> str:
    return words.executors(executors, executors_per_machine=observations[0].executors_per_machine)


def _change(runs: _CachingRuns, share: float, enough: str, again_seconds: float) -> str:
    """How the share at the target differs from those of the runs, and what to do."""
    least, most = float(runs.share.min()), float(runs.share.max())
    if share >= least:
        return (
            f"{as_percent(share)} of it fits, where the runs held at most {as_percent(most)}, and the run "
            "may be faster than predicted. Observe a run that holds as much: a smaller sample, or more "
            "executors."
        )
    before = "all of it" if least >= WHOLE_CACHE else f"at least {as_percent(least)}"
    cost = (
        f"the prediction counts {duration(again_seconds)} for that"
        if again_seconds > 0
        else "the run takes longer than predicted"
    )
    return (
        f"{as_percent(1 - share)} would be read or computed again each time, where the runs held {before} in "
        f"memory, and {cost}. At least {enough} would hold it; or take machines with more memory, or cache "
        "less."
    )


# What a cache that does not fit costs.

_SHARES_APART = 0.2
"""Shares in memory that differ by so much tell, by the times of the passes, what a missing byte costs."""
_MEASURED_SPREAD, _DISK_SPREAD = 0.2, 0.7
_DISK_BYTES_PER_SECOND = 1e8  # a guess at what a task reads and deserialises of what it finds on disk
_MOST_OF_A_RUN = 0.9
_MOSTLY_MISSED = 0.9


@dataclass(frozen=True, kw_only=True)
class CachePasses:
    """How often the runs read cached data, and what it takes to make a byte of it again."""

    reads: float  # how often all of it is read after it was made, or less where runs end earlier
    seconds_per_byte: float  # run seconds of a slot that a byte takes longer where it is not found
    found_seconds_per_byte: float  # run seconds that it takes where it is
    spread: float  # the relative standard deviation of `seconds_per_byte`
    slots_per_executor: float

    def seconds_again(self, missing_share: float, wanted_bytes: float, executors: float) -> float:
        """Seconds of a run on so many executors that all work."""
        missing = missing_share * wanted_bytes * self.reads
        return missing * self.seconds_per_byte / (executors * self.slots_per_executor)

    def seconds_again_of(self, metrics: RunMetrics, executors: float) -> float:
        """Seconds that a run on so many executors spent so: counted where its tasks tell it."""
        wanted, reads = metrics.cache_wanted_bytes or 0, metrics.cache_reads
        if metrics.cache_missed_share is not None and metrics.cache_missed_seconds is not None and reads:
            missed = metrics.cache_missed_share * wanted * reads
            seconds = metrics.cache_missed_seconds - missed * self.found_seconds_per_byte
            return max(0.0, seconds) / (executors * self.slots_per_executor)
        share = metrics.cache_share
        if share is None or share >= WHOLE_CACHE:
            return 0.0
        return self.seconds_again(1.0 - share, wanted, executors)


def cache_passes(observations: Sequence[Observation]) -> CachePasses | None:
    """What passes over cached data take; None where the logs tell nothing of them.

    Tasks that missed their partition tell what that takes longer than finding it. Without any, runs whose
    caches held different shares tell it. Otherwise the first pass does: that makes the data and does the
    pass's own work, or a part of it, which the further passes bound.
    """
    told = _told(
        observations,
        lambda metrics: (
            metrics.cache_share is not None
            and metrics.cache_reads
            and metrics.cache_filling_seconds
            and metrics.cache_reading_seconds is not None
        ),
    )
    if not told:
        return None
    column = partial(_column, told)
    wanted, reads, missed = column("cache_wanted_bytes"), column("cache_reads"), column("cache_missed_share")
    reading = column("cache_reading_seconds") / reads / wanted
    missed_seconds = column("cache_missed_seconds") / np.where(missed > 0, missed * reads * wanted, math.nan)
    # Run seconds for each byte of a pass that finds it.
    told_missed = np.nan_to_num(missed)
    of_missed = np.where(told_missed > 0, told_missed * missed_seconds, 0.0)
    of_found = np.maximum(0.0, reading - of_missed) / np.maximum(1.0 - told_missed, 1e-9)
    many = missed < _MOSTLY_MISSED
    found = float(np.median(of_found[many] if many.any() else of_found))
    told_again = missed > _MISSED_NOTABLY
    if told_again.any():
        again = np.maximum(0.0, missed_seconds[told_again] - found)
        seconds, spread = float(np.median(again)), _MEASURED_SPREAD
    else:
        seconds, spread = _seconds_per_byte(
            filling=column("cache_filling_seconds") / wanted,
            reading=reading,
            missing=1.0 - column("cache_share"),
            is_told_by_tasks=not np.isnan(missed).any(),
            falls_to_disk=any(metrics.cache_falls_to_disk for _, metrics in told),
        )
    return CachePasses(
        reads=float(np.median(reads)),
        seconds_per_byte=seconds,
        found_seconds_per_byte=found,
        spread=spread,
        slots_per_executor=float(np.median(column("slots") / column("executors"))),
    )


def _seconds_per_byte(
    *,
    filling: FloatArray,
    reading: FloatArray,
    missing: FloatArray,
    is_told_by_tasks: bool,
    falls_to_disk: bool,
) -> tuple[float, float]:
    """What a missing byte takes longer, and its spread, where no task is known to have missed its partition.

    By run seconds for each byte of the first pass, which makes it, and of the further passes, and by the
    share of the cache that did not fit, shape (n,) each. `is_told_by_tasks`: they all missed next to nothing.
    """
    missing = np.where(missing < 1.0 - WHOLE_CACHE, 0.0, missing)
    if not is_told_by_tasks and np.ptp(missing) >= _SHARES_APART:
        rows = np.column_stack([np.ones_like(missing), missing]) / np.maximum(reading, 1e-30)[:, None]
        _, slope = non_negative_least_squares(rows, np.ones_like(missing))
        return float(slope), _MEASURED_SPREAD
    if falls_to_disk:
        return 1.0 / _DISK_BYTES_PER_SECOND, _DISK_SPREAD
    # Of each run: all of the pass's own work was in the first pass, or none.
    most = np.minimum(filling, reading / np.maximum(missing, 1e-9))
    least = np.clip((filling - reading) / (1.0 - np.minimum(missing, 0.9)), 0.0, most)
    low, high = float(np.median(least)), float(np.median(most))
    middle = (low + high) / 2.0
    return middle, float(np.hypot(_MEASURED_SPREAD, (high - low) / 2.0 / middle if middle else 0.0))


def again_seconds(runs: Sequence[Observation], *, told_by: Sequence[Observation] | None = None) -> FloatArray:
    """Seconds that runs spent on what their caches could not hold, shape (n,); 0 where nothing tells of it.

    Never more than `_MOST_OF_A_RUN` of a run.
    """
    passes = cache_passes(told_by or runs)
    seconds = np.zeros(len(runs))
    if passes is None:
        return seconds
    working = effective_executors(
        told_by or runs, executors=[run.executors for run in runs], scale=[run.scale for run in runs]
    )
    for place, (run, executors) in enumerate(zip(runs, working.tolist(), strict=True)):
        if run.metrics is not None:
            again = passes.seconds_again_of(run.metrics, executors)
            seconds[place] = min(again, _MOST_OF_A_RUN * run.seconds)
    return seconds


# Whether tasks spill, by the input that each handles: memory for each is the same everywhere.


def _foresee_spill(
    observations: Sequence[Observation], *, executors: int, scale: float
) -> tuple[bool | None, str, float]:
    """Whether tasks spill (None where it is not known), a warning or "", and a factor on the interval.

    Below a load at which a run did not spill none does, above one at which one did each does. Beyond all
    runs the largest memory that a task used tells, by how it grew with the input of that stage's tasks.
    """
    told = _told(observations, lambda _: True)
    if not told:
        return None, "", 1.0
    of_peak_stage = any(metrics.peak_stage_tasks for _, metrics in told)
    known = parallelism(observations, of_peak_stage=of_peak_stage)
    # Of the runs and then of the target. Where tasks are not known each slot is taken to have one.
    counts, shares = (
        np.append(_column(told, "executors"), executors),
        np.append(_column(told, "scale"), scale),
    )
    all_loads = shares / (counts if known is None else known.tasks(executors=counts, scale=shares))
    loads, target = all_loads[:-1], float(all_loads[-1])
    configuration = f"With {input_share(scale)} of the input on {_in_words(executors, observations)}"
    spilled = _column(told, "spilled_bytes") > 0
    lowest_spilling = float(loads[spilled].min(initial=math.inf))
    highest_dry = float(loads[~spilled].max(initial=0.0))
    if target * _SAME_LOAD >= max(lowest_spilling, highest_dry) and spilled.any():
        return True, "", 1.0
    if target <= _SAME_LOAD * min(lowest_spilling, highest_dry):
        return False, "", 1.0
    if spilled.all():
        warning = (
            f"All runs spilled to disk. {configuration} a task handles less than in any of them and may not "
            "spill: the run may be faster than predicted."
        )
        return None, warning, _UNSEEN
    if spilled.any():
        return None, "", _UNSEEN
    return _spill_beyond_all_runs([metrics for _, metrics in told], loads / target, configuration)


def _spill_beyond_all_runs(
    metrics: Sequence[RunMetrics], loads: FloatArray, configuration: str
) -> tuple[bool | None, str, float]:
    """No run has spilled, and a task of each run handled `loads` as much as one of the target, shape (n,)."""
    columns = [
        (load, each.peak_execution_memory_bytes, each.storage_memory_bytes / each.slots)
        for each, load in zip(metrics, loads.tolist(), strict=True)
        if each.peak_execution_memory_bytes and each.storage_memory_bytes and each.slots
    ]
    if not columns:
        used_none = all(each.peak_execution_memory_bytes == 0 for each in metrics)
        return False if used_none else None, "", 1.0
    load, peak, rooms = np.array(columns, dtype=np.float64).T
    needed, room = _grown(load, peak, 1.0), float(rooms.min())
    if needed <= room:
        return False, "", 1.0
    warning = (
        f"{configuration} a task needs up to {data_amount(needed)} to sort, join or aggregate and has "
        f"{data_amount(room)}: it spills to disk, as no run did. More partitions "
        "(spark.sql.shuffle.partitions), or more memory for each core, would avoid it."
    )
    return True, warning, _SPILL
