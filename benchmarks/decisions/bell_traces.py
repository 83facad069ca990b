"""Bell's jobs as situations: one input size, up to 60 machines; no rule was chosen by them.

Of each job one random run at each of six random numbers of machines, 32 at most, is trained on; to choose
from are all numbers that were measured. All machines are of one type.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from statistics import median

import numpy as np

from benchmarks.accuracy.bell import MOST_TRAINED_NODES, SEED, Trace
from benchmarks.accuracy.runs import Runs, gather
from benchmarks.decisions.outlook import Forecasts, Outlook
from benchmarks.decisions.prices import billing_of
from benchmarks.decisions.situations import DEFAULT_CORES, Option, Situation

POINTS = 6
REPETITIONS = 10


def outlooks(of: Iterable[Trace], *, repetitions: int = REPETITIONS, seed: int = SEED) -> list[Outlook]:
    """Every job so often, each time with other training runs; the jobs of one system are one deployment."""
    generator = np.random.default_rng(seed)
    ordered = sorted(of, key=lambda trace: (trace.system, trace.job))
    result = []
    for _, group in groupby(ordered, key=lambda trace: trace.system):
        jobs = list(group)
        for _ in range(repetitions):
            forecasts = Forecasts([_samples(job, generator) for job in jobs])
            result += [forecasts.outlook(_situation(position, job)) for position, job in enumerate(jobs)]
    return result


def _samples(trace: Trace, generator: np.random.Generator) -> Runs:
    few: Sequence[int] = [machines for machines in trace.seconds if machines <= MOST_TRAINED_NODES]
    chosen = generator.choice(few, size=min(POINTS, len(few)), replace=False).tolist()
    return gather((machines, 1.0, generator.choice(trace.seconds[machines])) for machines in chosen)


def _situation(position: int, trace: Trace) -> Situation:
    billing = billing_of("", cores=DEFAULT_CORES)
    return Situation(
        job=trace.job.partition(".")[0],
        setting=trace.system,
        gigabytes=None,
        options=tuple(
            Option(
                model=position,
                instance_type="",
                cores=DEFAULT_CORES,
                machines=machines,
                scale=1.0,
                billing=billing,
                seconds=median(seconds),
                repetitions=seconds,
            )
            for machines, seconds in trace.seconds.items()
        ),
    )
