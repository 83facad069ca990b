"""Foreseeing that a job changes its regime: that at the target it does something that its samples did not.

A model of run times knows only what the runs did. When cached data no longer fits into memory, tasks begin
to spill, or slots outnumber tasks, time follows another law. What Spark reports of the runs tells when that
comes: cached bytes grow with the input and memory with the machines, and both are known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.model.documents import Observation
from airflow_provider_ernest.model.parameters import positive_number, whole_number
from airflow_provider_ernest.model.regimes.memory import (
    CacheForecast,
    SpillForecast,
    count_of_machines,
    foresee_cache,
    foresee_spill,
)
from airflow_provider_ernest.model.regimes.parallelism import Parallelism, parallelism

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
        least_log_spread: the standard deviation of log(seconds) to assume at least; 0 where no cliff comes.
            A narrow interval stays too narrow with any factor when the cache no longer holds.
    """

    effective_machines: float
    cache_share: float | None = None
    spills: bool | None = None
    warnings: tuple[str, ...] = ()
    widening: float = 1.0
    least_log_spread: float = 0.0


def foresee(observations: Sequence[Observation], *, machines: int, scale: float = 1.0) -> RegimeForecast:
    """Foresee what a run does by what the observed ones did.

    Args:
        observations: runs of the job on one type of machine; those without metrics tell nothing.
        machines: the number of machines of the run.
        scale: the share of the target input that it reads.

    Raises:
        InvalidParameterError: a value does not fit.
    """
    machines = whole_number("machines", machines)
    scale = positive_number("scale", scale)
    known = parallelism(observations)
    effective, cap_warning = _cap(observations, known, machines, scale)
    cache = foresee_cache(observations, machines=machines, scale=scale) or CacheForecast()
    spill = foresee_spill(observations, known, machines=machines, scale=scale) or SpillForecast()
    widening = cache.widening * spill.widening * (_CAPPED if cap_warning else 1.0)
    warnings = (cap_warning, cache.warning, spill.warning)
    return RegimeForecast(
        effective_machines=effective,
        cache_share=cache.share,
        spills=spill.spills,
        warnings=tuple(warning for warning in warnings if warning),
        widening=min(WIDEST, widening),
        least_log_spread=cache.least_log_spread,
    )


def _cap(
    observations: Sequence[Observation], known: Parallelism | None, machines: int, scale: float
) -> tuple[float, str]:
    """Effective machines, and a warning where they are notably fewer than in any of the runs."""
    if known is None:
        return float(machines), ""
    effective = float(known.effective_machines(machines=machines, scale=scale)[0])
    count = np.array([run.machines for run in observations], dtype=np.float64)
    seen = known.effective_machines(machines=count, scale=np.array([run.scale for run in observations]))
    busy = effective / machines
    if busy >= _SHORT_OF_TASKS or busy > float(np.min(seen / count)) - _NOTABLY_LESS:
        return effective, ""
    tasks = int(known.tasks(machines=machines, scale=scale)[0])
    slots = round(machines * known.slots_per_machine)
    facts = (
        f"At scale {scale:g} about {tasks} tasks can run at once in the stages that take most of the time, "
        f"for {slots} slots of {count_of_machines(machines)}"
    )
    if tasks < slots:
        most = max(1, math.floor(tasks / known.slots_per_machine))
        return effective, (
            f"{facts}: what goes beyond {count_of_machines(most)} stands idle in them. More partitions "
            f"(smaller input splits, or spark.sql.shuffle.partitions of {slots} or more) would use them all."
        )
    rounds = math.ceil(tasks / slots)
    return effective, (
        f"{facts}: in the last of {rounds} rounds most slots stand idle. {rounds * slots} or many more "
        "partitions would use them all."
    )
