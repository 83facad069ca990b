"""What is learning from production worth, and how soon is drift noticed?

Each job of the C3O traces is trained on its six cheapest configurations. Then come its production runs:
measured runs of the largest input, one after the other, and each is predicted from those before it.

* no learning: the model of the sample runs.
* refit (ours): as `learning.production`: the model fitted anew to sample runs and production runs, with
  intervals as wide as those runs say (`prediction.calibration`).
* extended Amdahl: the running sums of `prediction.amdahl`, over sample runs and production runs.
* mean of the same: of the production runs on as many machines; without any, no learning.
* one factor: the model of the sample runs, times the median ratio of production to it.

Drift is noticed by the test of `learning.freshness`, by three of the last five runs outside of what is nearly
certain, and by a binomial test at 5 % that is made after every run, which is made for being made once.

    python -m benchmarks.learning [--c3o DIR]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from benchmarks.accuracy import traces
from benchmarks.learning.drift import delay_table, false_alarm_table, measured_table
from benchmarks.learning.production import ANEW, CHANGING, OURS, SAME, WAYS, Production, productions
from benchmarks.recordings import LEVELS, error_table

LEARNED = (0, 1, 2, 4, 8, 16)
"""Numbers of production runs after which the next is predicted."""

ORDERS = 2
"""Of each job's production runs."""

SEQUENCES = 2_000
"""Simulated models of each kind."""

BETTER = 0.0005
"""By so much the median error of another way must be less to be told."""


def main() -> None:
    """Predict, test and print."""
    options = _options()
    if options.c3o is not None:
        alike = traces.contexts(options.c3o, one_shape=True)
        known = {(context.job, context.setting) for context in alike}
        every = traces.contexts(options.c3o)
        # Inputs of one size differ in shape where a context is split by it.
        mixed = [context for context in every if (context.job, context.setting) not in known]
        of_shapes = {"one shape": (alike, (SAME, CHANGING)), "several": (mixed, (SAME, ANEW, CHANGING))}
        for shapes, (contexts, kinds) in of_shapes.items():
            for kind in kinds if contexts else ():
                predicted = predict_all(productions(contexts, kind, orders=ORDERS))
                print(f"== the next run: {kind}, inputs of one size, shapes: {shapes} ==")
                print("\n".join(prediction_tables(predicted)), flush=True)
    print(f"== false alarms: {SEQUENCES:,} models that are right, simulated; accused, in % ==")
    print(false_alarm_table(sequences=SEQUENCES).to_string(float_format="{:.2f}".format))
    print("\n== delays: runs from a change to the alarm, median and 90 % quantile, simulated ==")
    print(delay_table(sequences=SEQUENCES).to_string(), flush=True)
    if options.c3o is not None:
        print(f"\n== drift on measured runs: {SAME}; accused though right in %, runs to the alarm ==")
        print(measured_table(productions(alike, SAME, orders=1)).to_string())


def predict_all(of: Iterable[Production]) -> pd.DataFrame:
    """What all ways say of the runs after `LEARNED` others: rows for `error_table`."""
    rows = []
    for production in of:
        for learned in LEARNED:
            if learned < len(production.runs):
                for name, way in WAYS.items():
                    said, seconds = way(production, learned), production.runs[learned].seconds
                    row = {"way": name, "job": production.job, "learned": learned}
                    row["error"] = None if said is None else said.seconds / seconds - 1.0
                    intervals = said.intervals if said and said.intervals else ((None, None),) * len(LEVELS)
                    for level, (low, high) in zip(LEVELS, intervals, strict=True):
                        row[f"low {level:.0%}"] = None if low is None else low / seconds
                        row[f"high {level:.0%}"] = None if high is None else high / seconds
                    rows.append(row)
    numbers = [name for name in rows[0] if name not in ("way", "job", "learned")]
    return pd.DataFrame(rows).astype(dict.fromkeys(numbers, float))


def prediction_tables(predicted: pd.DataFrame) -> Iterator[str]:
    """The ways below each other, the numbers of runs learned from beside each other."""
    found = error_table(predicted, ["way", "learned"])
    for name in ("median", "mean"):
        yield f"{name} absolute error in %, after so many runs"
        yield found[name].unstack("learned").loc[list(WAYS)].to_string(float_format="{:.1f}".format)
    for name in ("in 80%", "in 95%", "wide 80%"):
        yield f"intervals: {name}, after so many runs"
        yield found[name].dropna().unstack("learned").to_string(float_format="{:.2f}".format)
    by_job = error_table(predicted, ["way", "job", "learned"])
    medians = by_job["median"].unstack("way").drop(index=0, level="learned")
    yield "median errors of jobs that another way predicts better than ours"
    worse = medians[medians.drop(columns=OURS).min(axis=1) < medians[OURS] - 100 * BETTER]
    yield worse.to_string(float_format="{:.1f}".format) + "\n"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.learning", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--c3o", type=Path, metavar="DIR", help="folder of *.tsv traces of C3O")
    return parser.parse_args()


if __name__ == "__main__":
    main()
