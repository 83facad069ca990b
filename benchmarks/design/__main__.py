"""What do experiment designs cost to solve, and what are they worth?

First the CPU seconds of the original formulation and of ours, with the objectives that they reach. Then
how well the runs of each design predict what they were made for, within one budget: against the greedy
design that takes the cheapest runs first (the Ernest paper reports errors 30 to 50 % lower than its) and
against random designs. The jobs are those of the paper's Table 1 with 5 % noise, and the measured ones of
C3O where their folder is given; it is not part of the project.

    python -m benchmarks.design [--c3o DIR]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.design import comparison, solve_time
from benchmarks.design.comparison import CHEAPEST, PREDICTORS, Result, Trial, compare


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.design", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--c3o", type=Path, metavar="DIR", help="folder of *.tsv traces of C3O")
    options = parser.parse_args()
    noise, most = f"{comparison.NOISE:.0%} noise", f"at most {comparison.RUNS} runs"
    comparisons: list[tuple[str, Iterable[Trial]]] = [
        (
            f"Table 1, {noise}, cost scale/executors, budget {comparison.RUNS} runs of mean cost, {most}",
            comparison.with_the_papers_cost(repetitions=100),
        ),
        (
            f"Table 1, {noise}, cost machine seconds, budget {comparison.SHARE:.0%} of a production run on "
            f"{comparison.PRODUCTION_MACHINES} machines, {most}",
            comparison.with_machine_seconds(repetitions=100),
        ),
    ]
    if options.c3o is not None:
        few, many = min(comparison.POINTS), max(comparison.POINTS)
        title = f"C3O, inputs of one shape, cost machine seconds, {few} to {many} runs of mean cost"
        # The traces are read before anything is computed: a wrong folder shows at once.
        comparisons.append((title, list(comparison.measured(options.c3o))))
    print(solve_time.report(), flush=True)
    for title, trials in comparisons:
        print(f"\nAbsolute percentage error of predictions. {title}")
        print(_table(compare(trials)).to_string(float_format="{:.1f}".format, na_rep="-"), flush=True)


def _table(results: dict[str, list[Result]]) -> pd.DataFrame:
    """Mean and median error of each design and predictor, and the mean's change against cheapest first.

    Predictions that were refused count in no figure but their number.
    """
    errors = {
        (name, predictor): pd.Series(np.concatenate([result.errors_percent[predictor] for result in of]))
        for name, of in results.items()
        for predictor in PREDICTORS
    }
    rows = {}
    for name, of in results.items():
        rows[name] = {
            "runs": np.mean([result.runs for result in of]),
            "spent %": 100.0 * np.mean([result.spent for result in of]),
        }
        for predictor in PREDICTORS:
            own = errors[name, predictor]
            change = own.mean() / errors[CHEAPEST, predictor].mean() - 1.0
            figures = {"mean": own.mean(), "median": own.median(), "change %": 100.0 * change}
            figures["refused"] = own.isna().sum()
            rows[name] |= {f"{predictor}: {figure}": value for figure, value in figures.items()}
    return pd.DataFrame(rows).T


if __name__ == "__main__":
    main()
