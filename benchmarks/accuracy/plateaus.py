"""Protocol plateaus: jobs whose time stops falling, asked at more machines than any run had.

Where a job's tasks run out, or a shared store gives no more bytes a second, more machines do not help. Of
each kind of job one run is observed at each of some numbers of machines up to 8 or 16, all on the whole
input, with log-normal noise; predicted are twice and four times as many. A plateau begins with the same
probability in the last doubling of the observed machines and in each of the two after it. Beside them stand
jobs that have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Protocol

import numpy as np

from airflow_provider_ernest.prediction.numbers import FloatArray
from benchmarks.accuracy.runs import Case, Round, Runs

TITLE = "plateaus"


class Law(Protocol):
    """Seconds of spreading work on m machines, in units of it on one, with a plateau from `begins` on."""

    def __call__(self, machines: FloatArray, *, begins: float) -> FloatArray:
        """Shape (n,) in and out."""


STORE_SHARE = 0.7
"""Of the work, what waits for the shared store once that gives no more."""

LAWS: Mapping[str, Law] = {
    "tasks run out": lambda machines, *, begins: 1.0 / np.minimum(machines, begins),
    "shared store": lambda machines, *, begins: (
        (1.0 - STORE_SHARE) / machines + STORE_SHARE / np.minimum(machines, begins)
    ),
    "no plateau": lambda machines, *, begins: 1.0 / machines,
}
"""By the names of the jobs."""

OBSERVED: Mapping[int, tuple[int, ...]] = {8: (2, 3, 4, 6, 8), 16: (2, 3, 4, 6, 8, 12, 16)}
"""The numbers of machines that are observed, by their most."""

TIMES: Mapping[int, str] = {2: "twice as many machines", 4: "four times as many"}
"""What is predicted: multiples of the most observed machines, with the names of the tables."""

NOISES = (0.02, 0.05)
SINGLE_RUNS = 5
FIXED_SECONDS = (5.0, 30.0)
WORK_SECONDS = (300.0, 6000.0)
BEGINS_OCTAVES = (-1.0, 2.0)
"""Where a plateau begins, in doublings of the most observed machines."""

SEED = 20261125


def rounds(*, repetitions: int, seed: int = SEED) -> list[Round]:
    """One job of each kind is a deployment; with each most machines and noise, `repetitions` times."""
    generator = np.random.default_rng(seed)
    return [
        Round(deployment=TITLE, cases=tuple(_case(job, most, noise, generator) for job in LAWS))
        for _, most, noise in product(range(repetitions), OBSERVED, NOISES)
    ]


def _case(job: str, most: int, noise: float, generator: np.random.Generator) -> Case:
    fixed = generator.uniform(*FIXED_SECONDS)
    work = np.exp(generator.uniform(*np.log(WORK_SECONDS)))
    begins = most * 2 ** generator.uniform(*BEGINS_OCTAVES)

    def seconds(machines: FloatArray) -> FloatArray:
        return np.asarray(fixed + work * LAWS[job](machines, begins=begins), dtype=np.float64)

    def noisy(exact: FloatArray) -> FloatArray:
        return np.asarray(exact * np.exp(noise * generator.standard_normal(exact.shape)), dtype=np.float64)

    machines = np.array(OBSERVED[most], dtype=np.float64)
    asked = float(most) * np.array(list(TIMES))
    truth = seconds(asked)
    singles = noisy(np.repeat(truth[:, None], SINGLE_RUNS, axis=1))
    return Case(
        job=job,
        condition=f"up to {most}",
        train=Runs(machines=machines, scale=np.ones_like(machines), seconds=noisy(seconds(machines))),
        test=Runs(machines=asked, scale=np.ones_like(asked), seconds=truth),
        repetitions=tuple(tuple(row) for row in singles.tolist()),
        splits=tuple(TIMES.values()),
    )
