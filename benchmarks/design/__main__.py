"""What do experiment designs cost to solve, and what are they worth?

First the CPU seconds of the original formulation and of ours, with the objectives that they reach. Then
how well the runs of each design predict what they were made for, within one budget: against the greedy
design that takes the cheapest runs first (the Ernest paper reports errors 30 to 50 % lower than its) and
against random designs. The jobs are those of the paper's Table 1 with 5 % noise, and the measured ones of
C3O where their folder is given; it is not part of the project.

    python -m benchmarks.design [--c3o DIR] [--quick]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.prediction.numbers import FloatArray
from benchmarks.design import solve_time, trials
from benchmarks.design.prediction import PREDICTORS, Result, Trial, compare
from benchmarks.design.rivals import CHEAPEST, CHOICES

REPETITIONS = 100
QUICK_REPETITIONS = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.design", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--c3o", type=Path, metavar="DIR", help="folder of *.tsv traces of C3O")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and repetitions, within seconds")
    options = parser.parse_args(arguments)
    repetitions = QUICK_REPETITIONS if options.quick else REPETITIONS
    noise, most = f"{trials.NOISE:.0%} noise", f"at most {trials.RUNS} runs"
    comparisons: list[tuple[str, Iterable[Trial]]] = [
        (
            f"Table 1, {noise}, cost scale/machines, budget {trials.RUNS} runs of mean cost, {most}",
            trials.with_the_papers_cost(repetitions=repetitions),
        ),
        (
            f"Table 1, {noise}, cost machine seconds, budget {trials.SHARE.share:.0%} of a production run on "
            f"{trials.SHARE.machines} machines, {most}",
            trials.with_machine_seconds(repetitions=repetitions),
        ),
    ]
    try:
        if options.c3o is not None:
            few, many = min(trials.POINTS), max(trials.POINTS)
            title = f"C3O, inputs of one shape, cost machine seconds, {few} to {many} runs of mean cost"
            # The traces are read before anything is computed: a wrong folder shows at once.
            comparisons.append((title, list(trials.measured(options.c3o))))
    except ErnestError as error:
        print(error, file=sys.stderr)
        return 2
    for line in solve_time.report(quick=options.quick):
        print(line, flush=True)
    for title, of_title in comparisons:
        print("\n".join(["", *_table(title, compare(of_title))]), flush=True)
    return 0


def _table(title: str, results: dict[str, list[Result]]) -> Iterator[str]:
    """Mean and median error of each design and predictor, and the mean's change against cheapest first."""
    yield f"Absolute percentage error of predictions. {title}"
    yield f"{'':24}  {'':>5}  {'':>5}" + "".join(f"  {name:^29}" for name in PREDICTORS)
    yield (
        f"{'design':24}  {'runs':>5}  {'spent':>5}"
        + f"  {'mean':>7}  {'median':>7}  {'against':>11}" * len(PREDICTORS)
    )
    for name in CHOICES:
        of_name = results[name]
        line = f"{name:24}  {np.mean([result.runs for result in of_name]):5.1f}"
        line += f"  {np.mean([result.spent for result in of_name]):5.0%}"
        for predictor in PREDICTORS:
            line += _cells(_errors(of_name, predictor), _errors(results[CHEAPEST], predictor))
        yield line
    for predictor in PREDICTORS:
        every = np.concatenate(
            [result.errors_percent[predictor] for of_name in results.values() for result in of_name]
        )
        if np.isnan(every).any():
            refused = int(np.isnan(every).sum())
            yield f"{predictor} refused {refused} of {every.size} predictions: those count in no figure."


def _cells(errors: FloatArray, of_cheapest: FloatArray) -> str:
    if not errors.size:
        return f"  {'-':>7}  {'-':>7}  {'-':>11}"
    change = f"{errors.mean() / of_cheapest.mean() - 1:+.0%}" if of_cheapest.size else "-"
    return f"  {errors.mean():7.1f}  {np.median(errors):7.1f}  {change:>11}"


def _errors(results: Iterable[Result], predictor: str) -> FloatArray:
    """The errors of all predictions that were not refused."""
    errors = np.concatenate([result.errors_percent[predictor] for result in results])
    return np.asarray(errors[np.isfinite(errors)], dtype=np.float64)


if __name__ == "__main__":
    sys.exit(main())
