"""Foreseeing that a job changes its regime: that at the target it does something that its samples did not.

A model of run times knows only what the runs did. When cached data no longer fits into memory, tasks begin
to spill, or slots outnumber tasks, time follows another law. What Spark reports of the runs tells when that
comes: cached bytes grow with the input and memory with the machines, and both are known. What a cache that
does not fit costs is told, too: what making it took, and how often it is read. A model is fitted to the runs
without that, and it is added to what the model predicts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.documents.runs import Observation, RunMetrics
from airflow_provider_ernest.prediction.numbers import (
    FloatArray,
    machines_and_scale,
    positive_number,
    whole_number,
)
from airflow_provider_ernest.prediction.regression import non_negative_least_squares
from airflow_provider_ernest.prediction.terms import basis
from airflow_provider_ernest.words import as_percent, count, data_amount, duration, input_share
from airflow_provider_ernest.words import machines as machines_in_words

WIDEST = 3.0
"""The largest factor on the log-spread of an interval: what is known of the job still bounds it."""

_CAPPED = 1.25
"""Factor where tasks run short for the first time: the prediction allows for it, but no run has shown it."""
_SHORT_OF_TASKS = 0.9
_NOTABLY_LESS = 0.1


@dataclass(frozen=True, kw_only=True)
class RegimeForecast:
    """What Spark's own figures say of a run that has not been made.

    Attributes:
        effective_machines: machines that the tasks can keep busy, above 0 and at most those asked for.
        cache_share: share of the data to be cached that finds room in memory, 0..1; None where the job
            caches nothing, or nothing is known.
        spills: whether tasks spill to disk; None where it is not known.
        warnings: what changes against the runs, with numbers and remedies, in sentences.
        widening: factor of at least 1 on the log-spread of the prediction's interval.
        least_log_spread: the standard deviation of log(seconds) to assume at least; 0 where no cliff comes,
            and where `again_seconds` says what it costs. A narrow interval stays too narrow with any factor
            when the cache no longer holds.
        again_seconds: that the run spends on making or reading again what the cache cannot hold; to be added
            to what a model says that is fitted to runs without theirs.
        again_spread: the standard deviation of `again_seconds`, relative.
    """

    effective_machines: float
    cache_share: float | None = None
    spills: bool | None = None
    warnings: tuple[str, ...] = ()
    widening: float = 1.0
    least_log_spread: float = 0.0
    again_seconds: float = 0.0
    again_spread: float = 0.0


def foresee(observations: Sequence[Observation], *, machines: int, scale: float = 1.0) -> RegimeForecast:
    """Foresee what a run does by what the observed ones on that type of machine did.

    Raises:
        InvalidParameterError: a value does not fit.
    """
    machines = whole_number("machines", machines)
    scale = positive_number("scale", scale)
    known = parallelism(observations)
    effective, cap_warning = _cap(observations, known, machines, scale)
    cache = foresee_cache(observations, machines=machines, scale=scale, working_machines=effective)
    spill = foresee_spill(observations, machines=machines, scale=scale)
    widening = cache.widening * spill.widening * (_CAPPED if cap_warning else 1.0)
    warnings = (cap_warning, cache.warning, spill.warning)
    return RegimeForecast(
        effective_machines=effective,
        cache_share=cache.share,
        spills=spill.spills,
        warnings=tuple(warning for warning in warnings if warning),
        widening=min(WIDEST, widening),
        least_log_spread=cache.least_log_spread,
        again_seconds=cache.again_seconds,
        again_spread=cache.again_spread,
    )


def _cap(
    observations: Sequence[Observation], known: Parallelism | None, machines: int, scale: float
) -> tuple[float, str]:
    """Effective machines, and a warning where they are notably fewer than in any of the runs."""
    if known is None:
        return float(machines), ""
    effective = float(known.effective_machines(machines=machines, scale=scale)[0])
    counts = np.array([run.machines for run in observations], dtype=np.float64)
    seen = known.effective_machines(machines=counts, scale=np.array([run.scale for run in observations]))
    busy = effective / machines
    if busy >= _SHORT_OF_TASKS or busy > float(np.min(seen / counts)) - _NOTABLY_LESS:
        return effective, ""
    tasks = int(known.tasks(machines=machines, scale=scale)[0])
    slots = round(machines * known.slots_per_machine)
    facts = (
        f"With {input_share(scale)} of the input about {count(tasks)} tasks can run at once in the stages "
        f"that take most of the time, for {slots} slots of {machines_in_words(machines)}"
    )
    if tasks < slots:
        most = max(1, math.floor(tasks / known.slots_per_machine))
        return effective, (
            f"{facts}: what goes beyond {machines_in_words(most)} stands idle in them. More partitions "
            f"(smaller input splits, or spark.sql.shuffle.partitions of {slots} or more) would use them all."
        )
    rounds = math.ceil(tasks / slots)
    return effective, (
        f"{facts}: in the last of {rounds} rounds most slots stand idle. {rounds * slots} or many more "
        "partitions would use them all."
    )


# How many of the machines a job can keep busy: its tasks against the slots that run them.
#
# A stage of 16 tasks runs no faster on 64 slots than on 16. The event log tells the tasks of the stages in
# which most of the time goes; how they grow (not at all, as with a fixed number of shuffle partitions, or
# with the input, or with the machines, as Spark's default parallelism does) is read off the runs.


_ONE_CAUSE = (("1",), ("scale",), ("machines",))
_MORE_CAUSES = (("1", "scale"), ("1", "scale", "machines"))
_SAME_SHARE = 0.1
"""Task counts that a growth explains within this share, or within a task, are explained."""
_UNEXPLAINED_SHARE = 0.5
"""Beyond this the runs contradict one another, and nothing is said of the tasks at other configurations."""


@dataclass(frozen=True, kw_only=True)
class Parallelism:
    """Tasks and slots of a job at other configurations.

    Attributes:
        slots_per_machine: tasks that one machine runs at once.
        growths: ways in which the tasks may grow, all of them in line with the runs.
    """

    slots_per_machine: float
    growths: tuple[Growth, ...]

    def tasks(self, *, machines: ArrayLike, scale: ArrayLike) -> FloatArray:
        """Tasks that can run at once, shape (n,), whole numbers of at least 1.

        Where the runs allow several ways of growth it is the one with most tasks: no limit is
        foreseen without evidence.
        """
        machine_column, scale_column = machines_and_scale(machines=machines, scale=scale)
        counts = [growth.at(machines=machine_column, scale=scale_column) for growth in self.growths]
        return np.asarray(np.maximum(1.0, np.round(np.max(counts, axis=0))), dtype=np.float64)

    def effective_machines(self, *, machines: ArrayLike, scale: ArrayLike) -> FloatArray:
        """Machines that would do as much if all their slots were always busy, shape (n,)."""
        machine_column, scale_column = machines_and_scale(machines=machines, scale=scale)
        tasks = self.tasks(machines=machine_column, scale=scale_column)
        slots = machine_column * self.slots_per_machine
        return np.asarray(tasks / self.slots_per_machine / _rounds(tasks / slots), dtype=np.float64)


def parallelism(observations: Sequence[Observation]) -> Parallelism | None:
    """What the runs tell of tasks and slots; None where they tell nothing, or contradict one another."""
    return _parallelism([(run, run.metrics.dominant_stage_tasks) for run in observations if run.metrics])


def _parallelism(told: Sequence[tuple[Observation, int | None]]) -> Parallelism | None:
    """Of a stage that had so many tasks in each run."""
    columns = [
        (run.machines, run.scale, tasks, run.metrics.slots)
        for run, tasks in told
        if tasks and run.metrics is not None and run.metrics.slots > 0
    ]
    if not columns:
        return None
    machines, scale, tasks, slots = np.array(columns, dtype=np.float64).T
    growths = _growths(machines, scale, tasks)
    if not growths:
        return None
    return Parallelism(slots_per_machine=float(np.median(slots / machines)), growths=growths)


def effective_machines(
    observations: Sequence[Observation], *, machines: ArrayLike, scale: ArrayLike
) -> FloatArray:
    """Machines that work counts on: those asked for, less what has no task to run.

    Terms of work that spreads take these; terms of overhead take the machines themselves. Runs and
    predictions are to be treated alike.

    Returns:
        Array of shape (n,), each above 0 and at most `machines`; `machines` where nothing is known.

    Raises:
        InvalidParameterError: a value does not fit.
    """
    machine_column, scale_column = machines_and_scale(machines=machines, scale=scale)
    known = parallelism(observations)
    if known is None:
        return np.array(machine_column)
    return known.effective_machines(machines=machine_column, scale=scale_column)


def _growths(machines: FloatArray, scale: FloatArray, tasks: FloatArray) -> tuple[Growth, ...]:
    """The simplest ways of growth that explain the task counts; none where nothing nearly does."""
    allowed = np.maximum(_SAME_SHARE, 0.6 / tasks)

    def fits(causes: Sequence[tuple[str, ...]]) -> list[Growth]:
        found = (fit_growth(terms, machines=machines, scale=scale, values=tasks) for terms in causes)
        return [growth for growth in found if growth is not None]

    simple = [growth for growth in fits(_ONE_CAUSE) if np.all(np.abs(growth.deviations) <= allowed)]
    if simple:
        return tuple(simple)
    several = fits(_MORE_CAUSES)
    for growth in several:
        if np.all(np.abs(growth.deviations) <= allowed):
            return (growth,)
    closest = min(several, key=_largest_deviation, default=None)
    if closest is None or _largest_deviation(closest) > _UNEXPLAINED_SHARE:
        return ()
    return (closest,)


def _largest_deviation(growth: Growth) -> float:
    return float(np.max(np.abs(growth.deviations)))


def _rounds(tasks_per_slot: FloatArray) -> FloatArray:
    """Rounds that the slots need, counted in tasks.

    Equal tasks need ``ceil(tasks_per_slot)`` rounds. Tasks of unequal length fill the gaps of the last
    round: then time goes with ``tasks_per_slot`` itself. Tasks are in between, so the mean is taken.
    """
    even = np.ceil(tasks_per_slot)
    uneven = np.maximum(1.0, tasks_per_slot)
    return np.asarray((even + uneven) / 2.0, dtype=np.float64)


_WHOLE = 0.99
"""From this share on everything is taken to have been cached."""
_PROTECTED = 0.5
"""Spark's spark.memory.storageFraction: the share of memory from which execution drives no cached data."""
_TIMES_SLOWER = 10.0
"""What an uncached pass over the data may cost against a cached one: "an order of magnitude" (Zaharia et al.,
Resilient Distributed Datasets, NSDI 2012, abstract)."""
_COUNTED = 1.25
"""Where what the missing cache costs is part of the prediction: the model is used in another regime still."""
_SHARES_APART = 0.2
"""Shares in memory that differ so much tell by the times of the passes what a missing byte costs."""
_MEASURED_SPREAD, _DISK_SPREAD = 0.2, 0.7
_DISK_BYTES_PER_SECOND = 1e8
"""A guess at what a task reads and deserialises of what it finds on disk."""
_MOST_OF_A_RUN = 0.9
_MOSTLY_MISSED = 0.9
_MISSED_NOTABLY = 0.02
"""Of the reads of a cache so few may miss by chance, as those of blocks that moved."""
_TIGHT = 1.25
_SPILL = 1.5
_UNKNOWN_SPILL = 1.25
_SAME_LOAD = 1.05


@dataclass(frozen=True, kw_only=True)
class CacheForecast:
    """Share of the wanted cache that fits, None where nothing is cached; the rest as in `RegimeForecast`."""

    share: float | None = None
    warning: str = ""
    widening: float = 1.0
    least_log_spread: float = 0.0
    again_seconds: float = 0.0
    again_spread: float = 0.0


@dataclass(frozen=True, kw_only=True)
class SpillForecast:
    """Whether tasks spill, None where nothing tells; the rest as in `RegimeForecast`."""

    spills: bool | None = None
    warning: str = ""
    widening: float = 1.0


@dataclass(frozen=True, kw_only=True)
class _CachingRuns:
    """Columns of the runs that cached something, each of shape (n,)."""

    machines: FloatArray
    scale: FloatArray
    wanted_bytes: FloatArray
    cached_bytes: FloatArray
    storage_bytes: FloatArray
    execution_bytes: FloatArray
    slots: FloatArray
    partitions: FloatArray
    missed: FloatArray

    @property
    def share(self) -> FloatArray:
        return np.asarray(np.minimum(1.0, self.cached_bytes / self.wanted_bytes))

    @property
    def usable_bytes_per_machine(self) -> float:
        """As full as the fullest run was that had to leave data out; all of it where none had to."""
        per_machine = float(np.median(self.storage_bytes / self.machines))
        overflowing = self.share < _WHOLE
        filled = (self.cached_bytes / self.storage_bytes)[overflowing]
        return per_machine * float(np.clip(filled.max(), 0.05, 1.0)) if filled.size else per_machine

    @property
    def safe_share(self) -> float:
        """The share of memory in which cached data is safe from execution, by what execution has used."""
        execution = float((self.execution_bytes / self.storage_bytes).max())
        held = (self.cached_bytes / self.storage_bytes)[self.share >= _WHOLE]
        return max(_PROTECTED, 1.0 - execution, float(held.max(initial=0.0)))

    def found_at(self, wanted_bytes: float, machines: int, *, all_fits: bool) -> float:
        """The share of the reads that find their partition in memory.

        Where not all fits, each machine holds as much as in the runs that missed some. Else, and without
        such runs, it holds what finds room beside execution and the tasks that make others again: such a task
        keeps what it made in storage memory until it ends, though there is no room for it; up to a partition
        for each slot. And of whole partitions half a one on average finds no room.
        """
        each = wanted_bytes / machines
        of_runs = self.wanted_bytes / self.machines
        held = of_runs[self.missed <= _MISSED_NOTABLY]
        if each <= _SAME_LOAD * float(held.max(initial=0.0)):
            return 1.0
        overflowing = (self.missed > _MISSED_NOTABLY) & (self.share < _WHOLE)
        if overflowing.any() and not all_fits:
            return min(1.0, float(np.median(((1.0 - self.missed) * of_runs)[overflowing])) / each)
        partition = float(np.nanmedian(self.wanted_bytes / self.partitions))
        storage = float(np.median(self.storage_bytes / self.machines))
        execution = float((self.execution_bytes / self.machines).max())
        kept = float(np.median(self.slots / self.machines)) * partition
        room = max(_PROTECTED * storage, storage - execution - kept)
        return float(np.clip((room - partition / 2.0) / each, 0.0, 1.0))

    def wanted_at(self, scale: float) -> float:
        growth = _growth_with_scale(self.machines, self.scale, self.wanted_bytes)
        if growth is None:
            return float(self.wanted_bytes.max())
        return float(growth.at(machines=1.0, scale=scale)[0])


def foresee_cache(
    observations: Sequence[Observation], *, machines: int, scale: float, working_machines: float
) -> CacheForecast:
    """Cached bytes, which grow with the input, against storage memory, which grows with the machines."""
    runs = _caching_runs(observations)
    if runs is None:
        return CacheForecast()
    wanted, room = runs.wanted_at(scale), runs.usable_bytes_per_machine * machines
    share = min(1.0, room / wanted)
    least, most = float(runs.share.min()), float(runs.share.max())
    away = max(0.0, least - share, share - most)
    facts = (
        f"With {input_share(scale)} of the input about {data_amount(wanted)} would be cached and "
        f"{machines_in_words(machines)} {'has' if machines == 1 else 'have'} room for {data_amount(room)}"
    )
    passes = cache_passes(observations)
    again_seconds, again_spread = 0.0, 0.0
    if passes is not None:
        missing = _missing(runs, share, wanted, machines)
        again_seconds = passes.seconds_again(missing, wanted, working_machines)
        again_spread = passes.spread
    if away < 1.0 - _WHOLE:
        tight = share >= _WHOLE and wanted > runs.safe_share * room
        warning = (
            f"{facts}: tight, for sorting and joining take memory from the cache. "
            f"{machines_in_words(_needed(wanted, runs.safe_share * room / machines))} would be safe."
        )
        return CacheForecast(
            share=share,
            warning=warning if tight else "",
            widening=_TIGHT if tight else 1.0,
            again_seconds=again_seconds,
            again_spread=again_spread,
        )
    return CacheForecast(
        share=share,
        warning=f"{facts}: "
        + _change(runs, share, _needed(wanted, runs.usable_bytes_per_machine), again_seconds),
        widening=max(1.5, 1.0 + 2.0 * away) if passes is None else _COUNTED,
        # Twice the deviation reaches the time in which all that changes its place takes an order more.
        least_log_spread=math.log1p((_TIMES_SLOWER - 1.0) * away) / 2.0 if passes is None else 0.0,
        again_seconds=again_seconds,
        again_spread=again_spread,
    )


def _missing(runs: _CachingRuns, share: float, wanted_bytes: float, machines: int) -> float:
    """The share of the reads that miss: by the reads of the runs where they tell, else what finds no room."""
    if np.isnan(runs.missed).all() or np.isnan(runs.partitions).all():
        return 1.0 - share if share < _WHOLE else 0.0
    return 1.0 - runs.found_at(wanted_bytes, machines, all_fits=share >= _WHOLE)


def _change(runs: _CachingRuns, share: float, needed: int, again_seconds: float) -> str:
    """How the share at the target differs from those of the runs, and what to do."""
    least, most = float(runs.share.min()), float(runs.share.max())
    if share < least:
        before = "all of it" if least >= _WHOLE else f"at least {as_percent(least)}"
        return (
            f"{as_percent(1 - share)} would be read or computed again each time, where the runs held "
            f"{before} in memory, {_cost(again_seconds)}. At least "
            f"{machines_in_words(needed)} would hold it; or take machines with more memory, or cache less."
        )
    return (
        f"{as_percent(share)} of it fits, where the runs held at most {as_percent(most)}, and the run may be "
        "faster than predicted. Observe a run that holds as much: a smaller sample, or more machines."
    )


def _cost(again_seconds: float) -> str:
    if again_seconds > 0:
        return f"and the prediction counts {duration(again_seconds)} for that"
    return "and the run takes longer than predicted"


@dataclass(frozen=True, kw_only=True)
class CachePasses:
    """What the runs tell of how often cached data is read, and of what it takes to make a byte of it again.

    Attributes:
        reads: how often all of it is read after it was made, or less where runs end earlier.
        seconds_per_byte: run seconds of a slot that a byte takes longer where it is not found.
        found_seconds_per_byte: that it takes where it is.
        spread: the standard deviation of `seconds_per_byte`, relative.
        slots_per_machine: tasks that a machine runs at once.
    """

    reads: float
    seconds_per_byte: float
    found_seconds_per_byte: float
    spread: float
    slots_per_machine: float

    def seconds_again(self, missing_share: float, wanted_bytes: float, machines: float) -> float:
        """Seconds of a run on so many machines that all work."""
        missing = missing_share * wanted_bytes * self.reads
        return missing * self.seconds_per_byte / (machines * self.slots_per_machine)

    def seconds_again_of(self, metrics: RunMetrics, machines: float) -> float:
        """Seconds that a run on so many machines spent so: counted where its tasks tell it."""
        wanted, reads = metrics.cache_wanted_bytes or 0, metrics.cache_reads
        if metrics.cache_missed_share is not None and metrics.cache_missed_seconds is not None and reads:
            missed = metrics.cache_missed_share * wanted * reads
            seconds = metrics.cache_missed_seconds - missed * self.found_seconds_per_byte
            return max(0.0, seconds) / (machines * self.slots_per_machine)
        share = metrics.cache_share
        if share is None or share >= _WHOLE:
            return 0.0
        return self.seconds_again(1.0 - share, wanted, machines)


@dataclass(frozen=True, kw_only=True)
class _Passes:
    """Columns of the n runs whose logs tell of passes over what is cached, each of shape (n,).

    Attributes:
        reads: passes over all of it.
        filling: run seconds for each byte of the first pass, which makes it.
        reading: the same of the further ones.
        missing: the share of the cache that found no room.
        missed: the share of reads that did not find their partition, NaN where that is not told.
        missed_seconds: run seconds for each byte that was missed, NaN likewise.
    """

    reads: FloatArray
    filling: FloatArray
    reading: FloatArray
    missing: FloatArray
    missed: FloatArray
    missed_seconds: FloatArray

    @property
    def found(self) -> FloatArray:
        """Run seconds for each byte of a pass that finds it."""
        missed = np.where(np.isnan(self.missed), 0.0, self.missed)
        of_missed = np.where(missed > 0, missed * self.missed_seconds, 0.0)
        return np.asarray(np.maximum(0.0, self.reading - of_missed) / np.maximum(1.0 - missed, 1e-9))


def cache_passes(observations: Sequence[Observation]) -> CachePasses | None:
    """None where the logs tell nothing of the passes.

    Tasks that missed their partition tell what that takes longer than finding it. Without any, runs whose
    caches held different shares tell what a pass over what is missing takes more. Otherwise the first pass
    tells it: that both makes the data and does the pass's own work, or a part of that, which the further
    passes bound.
    """
    told = [
        (run, metrics)
        for run in observations
        if (metrics := run.metrics) is not None
        and metrics.cache_share is not None
        and metrics.cache_wanted_bytes
        and metrics.cache_reads
        and metrics.cache_filling_seconds
        and metrics.cache_reading_seconds is not None
    ]
    if not told:
        return None
    passes = _passes([metrics for _, metrics in told])
    many = passes.missed < _MOSTLY_MISSED
    found = float(np.median(passes.found[many] if many.any() else passes.found))
    seconds, spread = _seconds_per_byte(
        passes, found, falls_to_disk=any(metrics.cache_falls_to_disk for _, metrics in told)
    )
    return CachePasses(
        reads=float(np.median(passes.reads)),
        seconds_per_byte=seconds,
        found_seconds_per_byte=found,
        spread=spread,
        slots_per_machine=float(np.median([metrics.slots / run.machines for run, metrics in told])),
    )


def _passes(told: Sequence[RunMetrics]) -> _Passes:
    wanted = np.array([metrics.cache_wanted_bytes for metrics in told], dtype=np.float64)
    reads = np.array([metrics.cache_reads for metrics in told], dtype=np.float64)
    missing = 1.0 - np.array([metrics.cache_share for metrics in told], dtype=np.float64)
    missed, seconds = (
        np.array([math.nan if value is None else value for value in values], dtype=np.float64)
        for values in (
            [metrics.cache_missed_share for metrics in told],
            [metrics.cache_missed_seconds for metrics in told],
        )
    )
    return _Passes(
        reads=reads,
        filling=np.array([metrics.cache_filling_seconds for metrics in told]) / wanted,
        reading=np.array([metrics.cache_reading_seconds for metrics in told]) / reads / wanted,
        missing=np.where(missing < 1.0 - _WHOLE, 0.0, missing),
        missed=missed,
        missed_seconds=seconds / np.where(missed > 0, missed * reads * wanted, math.nan),
    )


def _seconds_per_byte(passes: _Passes, found: float, *, falls_to_disk: bool) -> tuple[float, float]:
    """Of `CachePasses`, and its spread."""
    told = passes.missed > _MISSED_NOTABLY
    if told.any():
        again = np.maximum(0.0, passes.missed_seconds[told] - found)
        return float(np.median(again)), _MEASURED_SPREAD
    filling, reading, missing = passes.filling, passes.reading, passes.missing
    if np.isnan(passes.missed).any() and np.ptp(missing) >= _SHARES_APART:
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
    working = effective_machines(
        told_by or runs, machines=[run.machines for run in runs], scale=[run.scale for run in runs]
    )
    for place, (run, machines) in enumerate(zip(runs, working.tolist(), strict=True)):
        if run.metrics is not None:
            again = passes.seconds_again_of(run.metrics, machines)
            seconds[place] = min(again, _MOST_OF_A_RUN * run.seconds)
    return seconds


def foresee_spill(observations: Sequence[Observation], *, machines: int, scale: float) -> SpillForecast:
    """Whether tasks spill, by the input that each handles: memory for each is the same everywhere.

    Below a load at which a run did not spill none does, above one at which one did each does. Beyond
    all runs the largest memory that a task used tells, by how it grew with the task's input. The tasks are
    those of the stage that used it, which need not be as many as where most of the time goes.
    """
    told = [(run, run.metrics) for run in observations if run.metrics is not None]
    if not told:
        return SpillForecast()
    peaks = [metrics.peak_stage_tasks for _, metrics in told]
    known = _parallelism([(run, tasks) for (run, _), tasks in zip(told, peaks, strict=True)])
    if not any(peaks):
        known = parallelism(observations)
    loads = _loads(known, [run.machines for run, _ in told], [run.scale for run, _ in told])
    target = float(_loads(known, [machines], [scale])[0])
    spilled = np.array([metrics.spilled_bytes > 0 for _, metrics in told])
    lowest_spilling = float(loads[spilled].min(initial=math.inf))
    highest_dry = float(loads[~spilled].max(initial=0.0))
    if target * _SAME_LOAD >= max(lowest_spilling, highest_dry) and spilled.any():
        return SpillForecast(spills=True)
    if target <= _SAME_LOAD * min(lowest_spilling, highest_dry):
        return SpillForecast(spills=False)
    if spilled.all():
        return SpillForecast(
            warning=f"All runs spilled to disk. With {input_share(scale)} of the input on "
            f"{machines_in_words(machines)} a task handles less than in any of them and may not "
            "spill: the run may be faster than predicted.",
            widening=_UNKNOWN_SPILL,
        )
    if spilled.any():
        return SpillForecast(widening=_UNKNOWN_SPILL)
    return _beyond_all_runs([metrics for _, metrics in told], loads / target, machines, scale)


def _beyond_all_runs(
    metrics: Sequence[RunMetrics], loads: FloatArray, machines: int, scale: float
) -> SpillForecast:
    """No run has spilled, and a task of each run handled `loads` as much as one of the target, shape (n,)."""
    columns = [
        (load, each.peak_execution_memory_bytes, each.storage_memory_bytes / each.slots)
        for each, load in zip(metrics, loads.tolist(), strict=True)
        if each.peak_execution_memory_bytes and each.storage_memory_bytes and each.slots
    ]
    if not columns:
        return SpillForecast(spills=False if _used_none(metrics) else None)
    load, peak, rooms = np.array(columns, dtype=np.float64).T
    growth = _growth_with_scale(np.ones_like(load), load, peak)
    needed = float(peak.max()) if growth is None else float(growth.at(machines=1.0, scale=1.0)[0])
    room = float(rooms.min())
    if needed <= room:
        return SpillForecast(spills=False)
    return SpillForecast(
        spills=True,
        warning=f"With {input_share(scale)} of the input on {machines_in_words(machines)} a task needs up to "
        f"{data_amount(needed)} to sort, join or aggregate and has {data_amount(room)}: it spills to "
        "disk, as no run did. More partitions (spark.sql.shuffle.partitions), or more memory for each "
        "core, would avoid it.",
        widening=_SPILL,
    )


def _used_none(metrics: Sequence[RunMetrics]) -> bool:
    """Whether all runs tell that their tasks used no execution memory."""
    return all(each.peak_execution_memory_bytes == 0 for each in metrics)


def _loads(known: Parallelism | None, machines: Sequence[int], scale: Sequence[float]) -> FloatArray:
    """Input of one task in arbitrary units; where tasks are not known each slot is taken to have one."""
    count = np.asarray(machines, dtype=np.float64)
    shares = np.asarray(scale, dtype=np.float64)
    return shares / (known.tasks(machines=count, scale=shares) if known is not None else count)


def _caching_runs(observations: Sequence[Observation]) -> _CachingRuns | None:
    columns = [
        (
            run.machines,
            run.scale,
            metrics.cache_wanted_bytes,
            metrics.cached_bytes or 0,
            metrics.storage_memory_bytes,
            (metrics.peak_execution_memory_bytes or 0) * metrics.slots,
            metrics.slots,
            metrics.cache_partitions or math.nan,
            math.nan if metrics.cache_missed_share is None else metrics.cache_missed_share,
        )
        for run in observations
        if (metrics := run.metrics) is not None
        and metrics.cache_wanted_bytes
        and metrics.storage_memory_bytes
    ]
    if not columns:
        return None
    names = (
        *("machines", "scale", "wanted_bytes", "cached_bytes", "storage_bytes", "execution_bytes"),
        *("slots", "partitions", "missed"),
    )
    arrays = (np.array(column, dtype=np.float64) for column in zip(*columns, strict=True))
    return _CachingRuns(**dict(zip(names, arrays, strict=True)))


def _needed(wanted_bytes: float, bytes_per_machine: float) -> int:
    return max(1, math.ceil(wanted_bytes / bytes_per_machine * (1 - 1e-9)))


@dataclass(frozen=True, kw_only=True)
class Growth:
    """How a figure that Spark reports of each run (tasks, cached bytes) grows: a sum of p terms.

    Attributes:
        coefficients: of at least 0, shape (p,), in the figure's unit.
        deviations: fitted over reported, less 1, shape (n,).
    """

    terms: tuple[str, ...]
    coefficients: FloatArray
    deviations: FloatArray

    def at(self, *, machines: FloatArray | float, scale: FloatArray | float) -> FloatArray:
        """The figure at n configurations, shape (n,)."""
        rows = basis(self.terms, machines=machines, scale=scale)
        return np.asarray(rows @ self.coefficients, dtype=np.float64)


def fit_growth(
    terms: Sequence[str], *, machines: FloatArray, scale: FloatArray, values: FloatArray
) -> Growth | None:
    """Non-negative least squares on relative errors; None where the n runs do not determine the terms."""
    rows = basis(terms, machines=machines, scale=scale) / values[:, np.newaxis]
    size = np.linalg.norm(rows, axis=0)
    if np.linalg.matrix_rank(rows / size, tol=1e-6) < len(terms):
        return None
    coefficients = non_negative_least_squares(rows, np.ones(values.size))
    return Growth(
        terms=tuple(terms), coefficients=coefficients, deviations=np.asarray(rows @ coefficients - 1.0)
    )


def _growth_with_scale(machines: FloatArray, scale: FloatArray, values: FloatArray) -> Growth | None:
    """In proportion to the input where all runs read the same share, else with a fixed part."""
    for terms in (("1", "scale"), ("scale",)):
        growth = fit_growth(terms, machines=machines, scale=scale, values=values)
        if growth is not None:
            return growth
    return None
