"""What memory does to a run that has not been made: cached data that does not fit, tasks that spill."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.model.documents import Observation, RunMetrics
from airflow_provider_ernest.model.parameters import FloatArray
from airflow_provider_ernest.model.regimes.growth import fit_growth
from airflow_provider_ernest.model.regimes.parallelism import Parallelism

_WHOLE = 0.99
"""From this share on everything is taken to have been cached."""
_PROTECTED = 0.5
"""Spark's spark.memory.storageFraction: the share of memory from which execution drives no cached data."""
_TIMES_SLOWER = 10.0
"""What an uncached pass over the data may cost against a cached one: "an order of magnitude" (Zaharia et al.,
Resilient Distributed Datasets, NSDI 2012, abstract)."""
_TIGHT = 1.25
_SPILL = 1.5
_UNKNOWN_SPILL = 1.25
_SAME_LOAD = 1.05


@dataclass(frozen=True, kw_only=True)
class CacheForecast:
    """Share of the wanted cache that fits; the rest as in `RegimeForecast`."""

    share: float | None = None
    warning: str = ""
    widening: float = 1.0
    least_log_spread: float = 0.0


@dataclass(frozen=True, kw_only=True)
class SpillForecast:
    """Whether tasks spill; the rest as in `RegimeForecast`."""

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

    def wanted_at(self, scale: float) -> float:
        """In proportion to the input where all runs read the same share, else with a fixed part."""
        for terms in (("1", "scale"), ("scale",)):
            growth = fit_growth(terms, machines=self.machines, scale=self.scale, values=self.wanted_bytes)
            if growth is not None:
                return float(growth.at(machines=1.0, scale=scale)[0])
        return float(self.wanted_bytes.max())


def foresee_cache(
    observations: Sequence[Observation], *, machines: int, scale: float
) -> CacheForecast | None:
    """Cached bytes, which grow with the input, against storage memory, which grows with the machines.

    Returns:
        None where no run is known to have cached anything.
    """
    runs = _caching_runs(observations)
    if runs is None:
        return None
    wanted, room = runs.wanted_at(scale), runs.usable_bytes_per_machine * machines
    share = min(1.0, room / wanted)
    least, most = float(runs.share.min()), float(runs.share.max())
    away = max(0.0, least - share, share - most)
    facts = (
        f"At scale {scale:g} about {_size(wanted)} would be cached and {count_of_machines(machines)} "
        f"{'has' if machines == 1 else 'have'} room for {_size(room)}"
    )
    if away < 1.0 - _WHOLE:
        tight = share >= _WHOLE and wanted > runs.safe_share * room
        warning = (
            f"{facts}: tight, for sorting and joining take memory from the cache. "
            f"{count_of_machines(_needed(wanted, runs.safe_share * room / machines))} would be safe."
        )
        return CacheForecast(share=share, warning=warning if tight else "", widening=_TIGHT if tight else 1.0)
    return CacheForecast(
        share=share,
        warning=f"{facts}: {_change(runs, share, _needed(wanted, runs.usable_bytes_per_machine))}",
        widening=max(1.5, 1.0 + 2.0 * away),
        # Twice the deviation reaches the time in which all that changes its place takes an order more.
        least_log_spread=math.log1p((_TIMES_SLOWER - 1.0) * away) / 2.0,
    )


def _change(runs: _CachingRuns, share: float, needed: int) -> str:
    """How the share at the target differs from those of the runs, and what to do."""
    least, most = float(runs.share.min()), float(runs.share.max())
    if share < least:
        before = "all of it" if least >= _WHOLE else f"at least {100 * least:.0f} %"
        return (
            f"{100 * (1 - share):.0f} % would be read or computed again each time, where the runs held "
            f"{before} in memory, and the run takes longer than predicted. At least "
            f"{count_of_machines(needed)} would hold it; or take machines with more memory, or cache less."
        )
    return (
        f"{100 * share:.0f} % of it fits, where the runs held at most {100 * most:.0f} %, and the run may be "
        "faster than predicted. Observe a run that holds as much: a smaller sample, or more machines."
    )


def foresee_spill(
    observations: Sequence[Observation], known: Parallelism | None, *, machines: int, scale: float
) -> SpillForecast | None:
    """Whether tasks spill, by the input that each handles: memory for each is the same everywhere.

    Below a load at which a run did not spill none does, above one at which one did each does. Beyond
    all runs the largest memory that a task used tells, taken to grow with its input.

    Returns:
        None where there are no metrics.
    """
    told = [(run, run.metrics) for run in observations if run.metrics is not None]
    if not told:
        return None
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
            warning=f"All runs spilled to disk. At scale {scale:g} on {count_of_machines(machines)} a task "
            "handles less than in any of them and may not spill: the run may be faster than predicted.",
            widening=_UNKNOWN_SPILL,
        )
    if spilled.any():
        return SpillForecast(widening=_UNKNOWN_SPILL)
    return _beyond_all_runs([metrics for _, metrics in told], target / loads, machines, scale)


def _beyond_all_runs(
    metrics: Sequence[RunMetrics], times_larger: FloatArray, machines: int, scale: float
) -> SpillForecast:
    """No run has spilled, and a task of the target handles `times_larger` as much as one of each run."""
    shares = [
        (each.peak_execution_memory_bytes * times, each.storage_memory_bytes / each.slots)
        for each, times in zip(metrics, times_larger, strict=True)
        if each.peak_execution_memory_bytes is not None and each.storage_memory_bytes and each.slots
    ]
    if not shares:
        return SpillForecast()
    needed, room = max(shares, key=lambda pair: pair[0] / pair[1])
    if needed <= room:
        return SpillForecast(spills=False)
    return SpillForecast(
        spills=True,
        warning=f"At scale {scale:g} on {count_of_machines(machines)} a task needs up to {_size(needed)} "
        f"to sort, join or aggregate and has {_size(room)}: it spills to disk, as no run did. More "
        "partitions (spark.sql.shuffle.partitions), or more memory for each core, would avoid it.",
        widening=_SPILL,
    )


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
        )
        for run in observations
        if (metrics := run.metrics) is not None
        and metrics.cache_wanted_bytes
        and metrics.storage_memory_bytes
    ]
    if not columns:
        return None
    names = ("machines", "scale", "wanted_bytes", "cached_bytes", "storage_bytes", "execution_bytes")
    arrays = (np.array(column, dtype=np.float64) for column in zip(*columns, strict=True))
    return _CachingRuns(**dict(zip(names, arrays, strict=True)))


def _needed(wanted_bytes: float, bytes_per_machine: float) -> int:
    return max(1, math.ceil(wanted_bytes / bytes_per_machine * (1 - 1e-9)))


def count_of_machines(count: int) -> str:
    """The number with its noun."""
    return "1 machine" if count == 1 else f"{count} machines"


def _size(size_bytes: float) -> str:
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.1f} {name}"
    return f"{size_bytes / 1e3:.1f} kB"
