"""Protocol synthetic: the paper's own models with noise, from eight small runs to the whole input.

The eight models of Ernest's Table 1 are observed at the eight runs of a design on at most 16 machines
and a tenth of the input, with normal relative noise; predicted are 45 and 64 machines on all of it.
Predictions are held against the model itself, their intervals also against runs with the noise of the
observations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from airflow_provider_ernest.design.candidates import enumerate_candidates
from airflow_provider_ernest.design.criteria import Targets
from airflow_provider_ernest.design.plan import plan_design
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.terms import ERNEST
from benchmarks.accuracy.evaluation import Outcome, Progress, evaluate_rounds
from benchmarks.accuracy.methods import AnyMethod
from benchmarks.accuracy.runs import Case, Round, Runs
from benchmarks.table1 import TABLE_1, seconds_of

TARGETS = Targets(machines=(45, 64))

DESIGNS: dict[str, dict[str, Any]] = {
    "A-optimal design, Ernest's terms": {"criterion": "A", "terms": ERNEST},
    "A-optimal design, these and scale": {"criterion": "A", "terms": (*ERNEST, "scale")},
    "default design": {"targets": TARGETS},
}
"""Names of the tables, with what the design is planned for; the last is what users of the package get."""

NOISES = (0.02, 0.05, 0.1)

RUNS = 8
MOST_MACHINES = 16
SCALES = (0.01, 0.1)
PARTITIONS = 1000

SINGLE_RUNS = 5
"""Runs of each target that intervals are held against."""

LEAST_FACTOR = 0.5
"""Noise never halves a run: at 10 % that cuts what is five standard deviations off."""

SEED = 20160316


@cache
def designed(name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Machines and scales of the runs of a design of `DESIGNS`."""
    candidates = enumerate_candidates(
        max_machines=MOST_MACHINES,
        min_scale=SCALES[0],
        max_scale=SCALES[1],
        partitions=PARTITIONS,
        scale_steps=10,
    )
    design = plan_design(candidates=candidates, min_runs=RUNS, max_runs=RUNS, **DESIGNS[name])
    return (
        tuple(float(run.machines) for run in design.experiments),
        tuple(run.scale for run in design.experiments),
    )


def rounds(*, repetitions: int, seed: int = SEED) -> list[Round]:
    """Every design with every noise, `repetitions` times; the eight jobs are one deployment."""
    generator = np.random.default_rng(seed)
    return [
        Round(
            deployment="table 1",
            cases=tuple(_case(job, design, noise, generator) for job in TABLE_1),
        )
        for _, design, noise in product(range(repetitions), DESIGNS, NOISES)
    ]


def evaluate(
    methods: Sequence[AnyMethod], *, repetitions: int, seed: int = SEED, progress: Progress | None = None
) -> list[Outcome]:
    """The outcomes of all methods."""
    return evaluate_rounds(rounds(repetitions=repetitions, seed=seed), methods, progress=progress)


def _case(job: str, design: str, noise: float, generator: np.random.Generator) -> Case:
    machines, scale = (np.array(column) for column in designed(design))
    targets, whole = TARGETS.columns()
    truth = seconds_of(job, machines=targets, scale=whole)
    singles = _noisy(np.repeat(truth[:, None], SINGLE_RUNS, axis=1), noise, generator)
    return Case(
        job=job,
        condition=f"{noise:.0%} noise",
        train=Runs(
            machines=machines,
            scale=scale,
            seconds=_noisy(seconds_of(job, machines=machines, scale=scale), noise, generator),
            of_one_input=True,
        ),
        test=Runs(machines=targets, scale=whole, seconds=truth),
        repetitions=tuple(tuple(row) for row in singles.tolist()),
        splits=(design,) * len(targets),
    )


def _noisy(seconds: FloatArray, noise: float, generator: np.random.Generator) -> FloatArray:
    factors = 1.0 + noise * generator.standard_normal(seconds.shape)
    return np.asarray(seconds * np.maximum(factors, LEAST_FACTOR), dtype=np.float64)
