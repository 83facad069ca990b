"""Protocol Bell: learning curves over the number of machines, for one input.

Traces are those of Bell (Thamsen et al. 2016, dos-group/runtime-prediction-experiments): one file a job,
``Nodes,Runtime`` with the run time in milliseconds. Trained is one random repetition at each of k random
scale-outs; predicted are the medians of all other scale-outs.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from pathlib import Path
from statistics import median

import numpy as np

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.numbers import IntArray
from benchmarks.accuracy.evaluation import Outcome, Progress, evaluate_rounds
from benchmarks.accuracy.methods import AnyMethod
from benchmarks.accuracy.runs import Case, Round, gather, trace_files

INTERPOLATION = "interpolation"
EXTRAPOLATION = "extrapolation, either side"
FAR_EXTRAPOLATION = "from at most 32 nodes to 40 and more"

COUNTS = range(3, 13)
"""How many scale-outs are trained on."""

MOST_TRAINED_NODES = 32
FEWEST_TESTED_NODES = 40

SEED = 20160101


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The runs of one job at one input size.

    Attributes:
        job: the file's name without its ending.
        seconds: the times of the repetitions for each number of machines, fewest machines first.
    """

    job: str
    seconds: dict[int, tuple[float, ...]]

    @property
    def system(self) -> str:
        """The system that the job ran on, where the file's name tells: ``job.system.csv``; else empty."""
        return self.job.partition(".")[2]


def traces(directory: Path | str) -> list[Trace]:
    """The ``*.csv`` files of a folder.

    Raises:
        MissingResourceError: there is no such folder, or no file in it.
        InvalidParameterError: a file has not the columns, a value that is no number above 0, or fewer than
            four scale-outs.
    """
    return [read_trace(path) for path in trace_files(Path(directory), "*.csv")]


def read_trace(path: Path) -> Trace:
    """One file.

    Raises:
        InvalidParameterError: see `traces`.
    """
    repetitions: dict[int, list[float]] = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        for line, row in enumerate(csv.DictReader(file), start=2):
            try:
                machines, seconds = int(row["Nodes"]), float(row["Runtime"]) / 1000.0
            except (KeyError, TypeError, ValueError) as error:
                raise InvalidParameterError(
                    "bell",
                    f"{path}, line {line}",
                    "is not a run",
                    remedy="Files have the columns Nodes,Runtime; the run time is in ms.",
                ) from error
            if machines < 1 or not (math.isfinite(seconds) and seconds > 0):
                raise InvalidParameterError(
                    "bell",
                    f"{path}, line {line}",
                    "has a value that is not above 0",
                    remedy="Mend or remove it.",
                )
            repetitions[machines].append(seconds)
    if len(repetitions) <= min(COUNTS):
        raise InvalidParameterError(
            "bell",
            str(path),
            f"has {len(repetitions)} scale-outs",
            remedy=f"More than {min(COUNTS)} are needed: some to train on, one to predict.",
        )
    return Trace(job=path.stem, seconds={m: tuple(repetitions[m]) for m in sorted(repetitions)})


def rounds(of: Iterable[Trace], *, repetitions: int, seed: int = SEED) -> list[Round]:
    """Random training sets: each kind and number of scale-outs, `repetitions` times.

    The jobs of one system on the same cluster, by their files' names, are one deployment.
    """
    ordered = sorted(of, key=lambda trace: (trace.system, trace.job))
    generator = np.random.default_rng(seed)
    result = []
    for system, group in groupby(ordered, key=lambda trace: trace.system):
        jobs = list(group)
        for _, far, count in product(range(repetitions), (False, True), COUNTS):
            cases = [_case(trace, count, generator, far=far) for trace in jobs if _enough(trace, count, far)]
            if cases:
                result.append(Round(deployment=system, cases=tuple(cases)))
    return result


def evaluate(
    of: Iterable[Trace],
    methods: Sequence[AnyMethod],
    *,
    repetitions: int,
    seed: int = SEED,
    progress: Progress | None = None,
) -> list[Outcome]:
    """The outcomes of all methods on these traces."""
    return evaluate_rounds(rounds(of, repetitions=repetitions, seed=seed), methods, progress=progress)


def _choices(trace: Trace, far: bool) -> tuple[IntArray, IntArray]:
    """The scale-outs that may be trained on, and those that may be predicted."""
    nodes = np.array(list(trace.seconds), dtype=np.int64)
    if far:
        return nodes[nodes <= MOST_TRAINED_NODES], nodes[nodes >= FEWEST_TESTED_NODES]
    return nodes, nodes


def _enough(trace: Trace, count: int, far: bool) -> bool:
    trainable, predictable = _choices(trace, far)
    return len(trainable) >= count and len(predictable) > (0 if far else count)


def _case(trace: Trace, count: int, generator: np.random.Generator, *, far: bool) -> Case:
    trainable, predictable = _choices(trace, far)
    chosen = np.sort(generator.choice(trainable, size=count, replace=False))
    tested = [int(machines) for machines in np.setdiff1d(predictable, chosen)]
    return Case(
        job=trace.job,
        condition=f"{count} nodes",
        train=gather((m, 1.0, generator.choice(trace.seconds[int(m)])) for m in chosen),
        test=gather((m, 1.0, median(trace.seconds[m])) for m in tested),
        repetitions=tuple(trace.seconds[m] for m in tested),
        splits=tuple(
            FAR_EXTRAPOLATION
            if far
            else INTERPOLATION
            if chosen[0] < machines < chosen[-1]
            else EXTRAPOLATION
            for machines in tested
        ),
    )
