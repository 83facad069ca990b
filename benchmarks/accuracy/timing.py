"""How long a fit takes, and with predictions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from benchmarks.accuracy.evaluation import LEVELS, pool
from benchmarks.accuracy.methods import AnyMethod
from benchmarks.accuracy.runs import Runs
from benchmarks.table1 import TABLE_1, seconds_of

MACHINES = np.tile([2.0, 4.0, 8.0, 16.0], 3)
SCALE = np.repeat([0.02, 0.05, 0.1], 4)
"""Twelve observations."""

ASKED = {"machines": np.array([4.0, 8.0, 16.0, 24.0, 32.0, 45.0, 56.0, 64.0]), "scale": np.ones(8)}

NOISE = 0.05


@dataclass(frozen=True, kw_only=True)
class Times:
    """What a method takes for 12 observations: medians of CPU time in ms.

    Attributes:
        fit: of the fit.
        answer: of the fit, eight predictions and their intervals: a method may leave work to these.
    """

    fit: float
    answer: float


def measure(method: AnyMethod, *, repetitions: int) -> Times:
    """Time a method; pooling is not part of it."""
    generator = np.random.default_rng(0)
    jobs = [_observed(job, generator) for job in TABLE_1]
    fitted = pool(method, jobs)
    fits, answers = [], []
    for repetition in range(repetitions + 1):
        runs = jobs[repetition % len(jobs)]
        start = time.process_time()
        forecast = fitted.fit(machines=runs.machines, scale=runs.scale, seconds=runs.seconds)
        fits.append(time.process_time() - start)
        forecast.predict(**ASKED)
        for level in LEVELS:
            forecast.interval(**ASKED, level=level)
        answers.append(time.process_time() - start)
    # The first warms up.
    return Times(fit=1000.0 * median(fits[1:]), answer=1000.0 * median(answers[1:]))


def timing_table(times: Mapping[str, Times]) -> list[str]:
    """The table, line by line."""
    return [
        f"== CPU time for {len(MACHINES)} observations, ms (median) ==",
        f"{'':20s}  {'fit':>8s}  and {len(ASKED['machines'])} predictions with intervals",
        *(f"{name:20s}  {of.fit:8.1f}  {of.answer:8.1f}" for name, of in times.items()),
        "",
    ]


def _observed(job: str, generator: np.random.Generator) -> Runs:
    noise = 1.0 + NOISE * generator.standard_normal(len(MACHINES))
    seconds = seconds_of(job, machines=MACHINES, scale=SCALE) * noise
    return Runs(machines=MACHINES, scale=SCALE, seconds=seconds)
