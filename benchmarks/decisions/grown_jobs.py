"""The paper's jobs (Table 1), grown until production takes as long as wanted, as situations to decide in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.terms import ERNEST, basis
from benchmarks.accuracy.runs import Runs
from benchmarks.decisions.outlook import Forecasts, Outlook
from benchmarks.decisions.prices import billing_of
from benchmarks.decisions.situations import Option, Situation
from benchmarks.table1 import TABLE_1

LARGER_INPUT, LONGER = "larger input", "all terms longer"
GROWTHS = (LARGER_INPUT, LONGER)
"""More data is more of the work that spreads. Jobs all of whose terms are so much longer have minutes of
fixed and of serial time in every sample, however small: the hardest that can be asked for."""

REFERENCE_MACHINES = 32
"""On so many production takes what it is to take."""

FEWEST, MOST, STEP = 8, 64, 4
"""Machines that production may have."""

STARTUP_SECONDS = 20.0
"""Of every run, from its submission to its first task; it is paid for."""

NOISE = 0.05
LEAST_FACTOR = 0.5
"""Noise never halves a run."""

SINGLE_RUNS = 5
"""Runs that a decision is held against."""

WORK = "scale/machines"


@dataclass(frozen=True, kw_only=True)
class GrownJob:
    """A job with known times.

    Attributes:
        name: of the job in Table 1.
        coefficients: seconds per unit of each of Ernest's terms.
    """

    name: str
    coefficients: FloatArray

    @property
    def work_seconds(self) -> float:
        """The work that spreads, in seconds on one machine."""
        return float(self.coefficients[ERNEST.index(WORK)])

    def seconds(self, machines: FloatArray, scale: FloatArray) -> FloatArray:
        """What runs take without noise and start-up, shape (n,)."""
        return np.asarray(basis(ERNEST, machines=machines, scale=scale) @ self.coefficients, dtype=np.float64)

    def observe(self, machines: FloatArray, scale: FloatArray, generator: np.random.Generator) -> FloatArray:
        """The same with noise."""
        factors = 1.0 + NOISE * generator.standard_normal(len(machines))
        return np.asarray(self.seconds(machines, scale) * np.maximum(factors, LEAST_FACTOR), dtype=np.float64)


def grown_jobs(growth: str, production_seconds: float) -> list[GrownJob]:
    """The eight jobs.

    Args:
        growth: one of `GROWTHS`.
        production_seconds: of the whole input on the reference number of machines.
    """
    jobs = []
    for name, terms in TABLE_1.items():
        coefficients = np.array([terms[term] for term in ERNEST])
        on_reference = basis(ERNEST, machines=[REFERENCE_MACHINES], scale=[1.0])[0]
        if growth == LARGER_INPUT:
            missing = production_seconds - float(on_reference @ coefficients)
            coefficients[ERNEST.index(WORK)] += missing * REFERENCE_MACHINES
        else:
            coefficients *= production_seconds / float(on_reference @ coefficients)
        jobs.append(GrownJob(name=name, coefficients=coefficients))
    return jobs


def outlooks(observed: Sequence[tuple[GrownJob, Runs]], generator: np.random.Generator) -> list[Outlook]:
    """The decisions to take: how many machines, given sample runs of all jobs of the deployment.

    Args:
        observed: jobs with their sample runs.
        generator: of the noise of production.
    """
    if not observed:
        return []
    forecasts = Forecasts([runs for _, runs in observed], startup_seconds=STARTUP_SECONDS)
    return [
        forecasts.outlook(situation_of(position, job, generator))
        for position, (job, _) in enumerate(observed)
    ]


def situation_of(position: int, job: GrownJob, generator: np.random.Generator) -> Situation:
    """The numbers of machines that production may have, with what it really takes.

    Args:
        position: of the job among those of its deployment.
        job: of which.
        generator: of the noise of single runs.
    """
    counts = np.arange(FEWEST, MOST + 1, STEP, dtype=np.float64)
    whole = np.ones_like(counts)
    singles = np.array([job.observe(counts, whole, generator) for _ in range(SINGLE_RUNS)]).T
    billing = billing_of("", cores=1)
    options = [
        Option(
            model=position,
            instance_type="",
            cores=1,
            machines=int(machines),
            scale=1.0,
            billing=billing,
            seconds=STARTUP_SECONDS + seconds,
            repetitions=tuple(STARTUP_SECONDS + single for single in runs),
        )
        for machines, seconds, runs in zip(
            counts.tolist(), job.seconds(counts, whole).tolist(), singles.tolist(), strict=True
        )
    ]
    return Situation(job=job.name, setting="", gigabytes=None, options=tuple(options))
