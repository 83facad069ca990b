"""What is learning from production worth, and how soon is drift noticed?

Each job of the C3O traces is trained on its six cheapest configurations. Then come its production runs:
measured runs of the largest input, one after the other, and each is predicted from those before it.

* no learning: the model of the sample runs.
* refit (ours): what `learning.update` does, the model fitted anew to sample runs and production runs, with
  intervals as wide as those runs say (`prediction.calibration`).
* extended Amdahl: the running sums of `model.amdahl`, over sample runs and production runs.
* mean of the same: of the production runs on as many machines; without any, no learning.
* one factor: the model of the sample runs, times the median ratio of production to it.

Drift is noticed by the test of `learning.drift`, by three of the last five runs outside of what is nearly
certain, and by a binomial test at 5 % that is made after every run, which is made for being made once.

    python -m benchmarks.learning [--c3o DIR] [--orders N] [--sequences N]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.prediction.numbers import whole_number
from benchmarks.accuracy import c3o
from benchmarks.accuracy.c3o_traces import Context
from benchmarks.learning.fit_time import fit_time_table
from benchmarks.learning.measured_drift import measured_table
from benchmarks.learning.prediction import predict_all, prediction_table, unfavourable
from benchmarks.learning.sequences import ANEW, CHANGING, SAME, productions
from benchmarks.learning.simulated_drift import SEQUENCES, delay_table, false_alarm_table

ORDERS = 2
"""Of the production runs of each context."""

MIXED_SHAPES = "of one size and several shapes"
ONE_SHAPE = (SAME, CHANGING)
SEVERAL_SHAPES = (SAME, ANEW, CHANGING)
"""Kinds of sequences."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Predict, test and print; returns the exit code."""
    options = _options(arguments)
    try:
        orders, sequences = (
            whole_number("--orders", options.orders),
            whole_number("--sequences", options.sequences),
        )
        contexts = mixed = []
        if options.c3o is not None:
            contexts = c3o.contexts(options.c3o, one_shape=True)
            mixed = _mixed(c3o.contexts(options.c3o), contexts)
    except ErnestError as error:
        print(error, file=sys.stderr)
        return 2
    against = ["== what speaks against ours =="]
    tables = {"inputs of one shape": (contexts, ONE_SHAPE), f"inputs {MIXED_SHAPES}": (mixed, SEVERAL_SHAPES)}
    for title, (of, kinds) in tables.items():
        for kind in kinds if of else ():
            predicted = predict_all(productions(of, kind, orders=orders))
            _print(prediction_table(f"{kind}, {title}", predicted))
            against += unfavourable(f"{kind}, {title}", predicted)
    if contexts:
        _print([*against, ""])
    _print(false_alarm_table(sequences=sequences))
    _print(delay_table(sequences=sequences))
    if contexts:
        _print(measured_table(SAME, productions(contexts, SAME, orders=1)))
    _print(fit_time_table(clock=time.perf_counter))
    return 0


def _mixed(every: Iterable[Context], of_one_shape: Iterable[Context]) -> list[Context]:
    """The contexts in which inputs of one size differ in shape: those that are split by it."""
    known = {(context.job, context.setting) for context in of_one_shape}
    return [context for context in every if (context.job, context.setting) not in known]


def _print(lines: Iterable[str]) -> None:
    print("\n".join(lines), flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.learning", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--c3o", type=Path, metavar="DIR", help="folder of *.tsv traces of C3O")
    parser.add_argument(
        "--orders", type=int, default=ORDERS, metavar="N", help="orders of each job's production runs"
    )
    parser.add_argument(
        "--sequences", type=int, default=SEQUENCES, metavar="N", help="simulated models of each kind"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
