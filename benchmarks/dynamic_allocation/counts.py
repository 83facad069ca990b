"""Google Dataproc: jobs on 8 and on 16 executors, and what they took on 2 to 32 that came and went.

There are no event logs, only how many executors there were when. So what is told is the simplest: a job gets
on as it would on the executors that are there, and has ended when its progress adds up to the whole.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from airflow_provider_ernest.documents.profiles import ExecutorSteps
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.prediction.predict import new_predictor, observed_columns
from airflow_provider_ernest.prediction.prior import prior_for
from airflow_provider_ernest.settings.bounds import AVERAGING

JOBS, SIZES = ("grep", "sort", "join", "kmeans"), ("small", "large")
FIXED, MOST = (8, 16), 32


@dataclass(frozen=True, kw_only=True)
class Told:
    """One job and size of its input."""

    job: str
    size: str
    fixed_seconds: tuple[float, ...]  # on the `FIXED` executors
    told_seconds: float
    seconds: float  # that it took

    @property
    def error(self) -> float:
        """Of what was told, as a share of what it took."""
        return self.told_seconds / self.seconds - 1.0


def told_of(folder: Path) -> Iterator[Told]:
    """All jobs and sizes."""
    for job in JOBS:
        for size in SIZES:
            steps, seconds = read_steps(folder / f"dynamic-{job}-{size}-2-{MOST}.csv")
            fixed = [read_steps(folder / f"dynamic-{job}-{size}-{n}-{n}.csv")[1] for n in FIXED]
            yield Told(
                job=job,
                size=size,
                fixed_seconds=tuple(fixed),
                told_seconds=seconds_while_executors_change(steps, seconds_on(fixed)),
                seconds=seconds,
            )


def read_steps(path: Path) -> tuple[ExecutorSteps, float]:
    """How many executors there were, in seconds from the first one on, and when the run ended."""
    with path.open() as file:
        rows = [(int(row["timestamp"]), int(row["executor_count"])) for row in csv.DictReader(file)]
    first = next(at for at, count in rows if count)
    steps = [((at - first) / 1000.0, count) for at, count in rows if at >= first]
    # The last row has none: the run had ended.
    return tuple(steps[:-1]), steps[-1][0]


def seconds_on(fixed_seconds: Sequence[float]) -> Callable[[int], float]:
    """What a job takes on any number of executors, by its runs on the `FIXED` ones and the predictor."""
    runs = [
        Observation(index=index, executors=count, scale=1.0, seconds=seconds)
        for index, (count, seconds) in enumerate(zip(FIXED, fixed_seconds, strict=True))
    ]
    predictor = new_predictor(AVERAGING, prior=prior_for(runs))
    predictor.fit_undetermined(**observed_columns(runs))
    told = predictor.predict(executors=np.arange(1, MOST + 1), scale=np.ones(MOST)).tolist()
    return lambda count: told[count - 1]


def seconds_while_executors_change(steps: ExecutorSteps, seconds_at: Callable[[int], float]) -> float:
    """What a job takes whose executors come and go, from what it takes on fixed numbers of them.

    It gets on by 1 / `seconds_at(n)` in a second on n executors. After the last step as many stay.
    """
    done = 0.0
    ends = [at for at, _ in steps[1:]] + [float("inf")]
    for (at, count), end in zip(steps, ends, strict=True):
        if not count:
            continue
        left = (1.0 - done) * seconds_at(count)
        if left <= end - at:
            return at + left
        done += (end - at) / seconds_at(count)
    raise ValueError("the run has no executors at its end")
