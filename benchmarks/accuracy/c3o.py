"""Protocol C3O: from small inputs on few machines to the whole input on many.

The traces are those of Will, Bader and Thamsen (Towards Collaborative Optimization of Cluster
Configurations for Distributed Dataflow Jobs, 2020). In each context, configurations of at most 6 machines
and the smaller half of the sizes are trained on; predicted is the largest size on 8 machines and more. A
context of a single size is trained and predicted at that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.numbers import FloatArray
from benchmarks.accuracy.c3o_traces import Context, read_contexts, read_contexts_by_rows
from benchmarks.accuracy.evaluation import Outcome, Progress, evaluate_rounds
from benchmarks.accuracy.methods import AnyMethod
from benchmarks.accuracy.runs import Case, Round, Runs, trace_files

ALL_POINTS = "all training points"
FEWEST_SECONDS = "the 4 to 8 cheapest points, by seconds"
FEWEST_MACHINE_SECONDS = "the 4 to 8 cheapest points, by machine-seconds"

COSTS: Mapping[str, Callable[[Runs], FloatArray]] = {
    FEWEST_SECONDS: lambda runs: runs.seconds,
    FEWEST_MACHINE_SECONDS: lambda runs: runs.machines * runs.seconds,
}
"""What makes a point cheap, for each table of cheapest points."""

CHEAPEST_COUNTS = range(4, 9)

FEWEST_TRAINED = 3
"""Training configurations below which a context is left out."""

MOST_TRAINED_MACHINES = 6
FEWEST_TESTED_MACHINES = 8


def contexts(directory: Path | str, *, one_shape: bool = False) -> list[Context]:
    """All contexts of the ``*.tsv`` files of a folder that the protocol can be applied to.

    A context needs three configurations to train on and one to predict.

    Args:
        directory: the folder.
        one_shape: whether inputs of a context must not differ but in their amount: all with as many
            features, or as many links a page. Inputs of the same scale and another shape may be more or
            less work, which no function of the scale can tell. The methods are told that they are of one.

    Raises:
        MissingResourceError: there is no such folder, or no file in it.
        InvalidParameterError: a file has not the columns, a value is no number, or no context is
            left (with `one_shape` the list is then empty: the data has no such inputs).
    """
    found = [
        context
        for path in trace_files(Path(directory), "*.tsv")
        for context in read_contexts(path, one_shape=one_shape)
        if len(trained(context)) >= FEWEST_TRAINED and len(tested(context)[0]) > 0
    ]
    if not found and not one_shape:
        raise InvalidParameterError(
            "c3o",
            str(directory),
            f"holds no context with {FEWEST_TRAINED} small configurations of at most {MOST_TRAINED_MACHINES} "
            f"machines, and the largest size on {FEWEST_TESTED_MACHINES} or more",
            remedy="Pass the folder of the C3O traces.",
        )
    return found


def contexts_by_rows(directory: Path | str) -> list[Context]:
    """Those contexts of a folder whose inputs differ in what a row holds; see `read_contexts_by_rows`."""
    return [
        context
        for path in trace_files(Path(directory), "*.tsv")
        for context in read_contexts_by_rows(path)
        if len(trained(context)) >= FEWEST_TRAINED and len(tested(context)[0]) > 0
    ]


def trained(context: Context) -> Runs:
    """The configurations to train on, with their median times."""
    return context.points.at(_trainable(context))


def trained_runs(context: Context) -> Runs:
    """Every single run of the configurations to train on."""
    which = np.flatnonzero(_trainable(context))
    times = [context.repetitions[row] for row in which]
    runs = context.points.at(np.repeat(which, [len(each) for each in times]))
    return replace(runs, seconds=np.concatenate(times).astype(np.float64))


def _trainable(context: Context) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which points may be trained on; of an odd number of sizes the middle one counts as small."""
    points, sizes = context.points, context.sizes
    largest = sizes[math.ceil(len(sizes) / 2) - 1]
    return (points.scale <= largest) & (points.machines <= MOST_TRAINED_MACHINES)


def tested(context: Context) -> tuple[Runs, tuple[tuple[float, ...], ...]]:
    """The configurations to predict with their median times, and the single runs of each."""
    points = context.points
    which = np.flatnonzero((points.scale >= context.sizes[-1]) & (points.machines >= FEWEST_TESTED_MACHINES))
    return points.at(which), tuple(context.repetitions[row] for row in which)


def cheapest(points: Runs, count: int, *, cost: Callable[[Runs], FloatArray]) -> Runs:
    """The `count` points of least cost; all if there are fewer."""
    return points.at(np.argsort(cost(points), kind="stable")[:count])


def rounds(of: Iterable[Context], *, counts: Iterable[int] = CHEAPEST_COUNTS) -> list[Round]:
    """One round with all training runs, and one for each meaning and number of cheapest points.

    All contexts of a folder count as one deployment.

    Args:
        of: the contexts.
        counts: the numbers of cheapest points.
    """
    of, counts = list(of), list(counts)
    result = [_round([(context, trained_runs(context)) for context in of], ALL_POINTS, "all points")]
    for (table, cost), count in product(COSTS.items(), counts):
        chosen = [(context, cheapest(trained(context), count, cost=cost)) for context in of]
        result.append(_round(chosen, table, f"{count} points"))
    return result


def evaluate(
    of: Iterable[Context], methods: Sequence[AnyMethod], *, progress: Progress | None = None
) -> list[Outcome]:
    """The outcomes of all methods on these contexts."""
    return evaluate_rounds(rounds(of), methods, progress=progress)


def _round(trained_on: Sequence[tuple[Context, Runs]], split: str, condition: str) -> Round:
    cases = []
    for context, train in trained_on:
        test, repetitions = tested(context)
        cases.append(
            Case(
                job=context.job,
                condition=condition,
                train=train,
                test=test,
                repetitions=repetitions,
                splits=(split,) * len(test),
            )
        )
    return Round(deployment="c3o", cases=tuple(cases))
