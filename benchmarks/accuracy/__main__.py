"""How near do predictions from a few runs come, and what are their intervals worth?

The original Ernest, its variants and rivals, and the method of this package, side by side on measured Spark
and Flink jobs and on the paper's own models with noise. Errors are absolute percentage errors of
configurations that were not trained on. The measured traces are not part of the project.

    python -m benchmarks.accuracy --c3o DIR --bell DIR [--tpch DIR] [--host DIR] [--one-shape] [--quick]
                                  [--calibration | --tuning]
    python -m benchmarks.accuracy --optex DIR
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.accuracy import optex, protocols, traces, tuning
from benchmarks.accuracy.evaluation import Outcome, calibration_table, evaluate_rounds, tables, text
from benchmarks.accuracy.methods import AnyMethod, PooledAveraging, RowAveraging, all_methods
from benchmarks.accuracy.runs import Round

REPETITIONS = {"bell": 20, "synthetic": 12, "plateaus": 25}
QUICK_COUNTS = (6,)
"""Of cheapest points, where 4 to 8 would take too long."""

OTHER_ROWS = "C3O, inputs whose rows differ"


def main() -> None:
    """Evaluate and print."""
    options = _options()
    if options.optex is not None:
        print(optex.report(options.optex))
        return
    # All traces are read before anything is computed: a wrong folder shows at once.
    asked = dict(_protocols(options))
    if options.tuning:
        print(tuning.report({title: rounds for title, rounds in asked.items() if title != OTHER_ROWS}))
        return
    every: list[Outcome] = []
    for title, rounds in asked.items():
        compared: list[AnyMethod] = [PooledAveraging()] if options.calibration else all_methods()
        if title == OTHER_ROWS:
            compared.append(RowAveraging())
        outcomes = evaluate_rounds(title, rounds, compared)
        every += [replace(each, split=f"{title}: {each.split}") for each in outcomes]
        if not options.calibration:
            print(tables(title, outcomes), flush=True)
    print("== calibration over all protocols: ours, single runs, % ==")
    print(text(calibration_table(every)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--c3o", type=Path, metavar="DIR", help="folder of *.tsv traces of C3O")
    parser.add_argument("--bell", type=Path, metavar="DIR", help="folder of *.csv traces of Bell")
    parser.add_argument("--tpch", type=Path, metavar="DIR", help="folder of tpch*.csv of Decima's TPC-H")
    parser.add_argument("--host", type=Path, metavar="DIR", help="folder of *.csv of load tests on one host")
    parser.add_argument("--optex", type=Path, metavar="DIR", help="only the tables of the OptEx paper")
    parser.add_argument(
        "--one-shape",
        action="store_true",
        help="C3O once more with contexts whose inputs differ in their amount only",
    )
    parser.add_argument(
        "--tuning",
        action="store_true",
        help="only each job with the prior's constants that suit all other jobs best, beside the defaults",
    )
    parser.add_argument(
        "--calibration",
        action="store_true",
        help="only how many single runs our intervals hold, in each protocol and over all",
    )
    parser.add_argument("--quick", action="store_true", help="few repetitions, for a look within seconds")
    return parser.parse_args()


def _protocols(options: argparse.Namespace) -> Iterator[tuple[str, list[Round]]]:
    repetitions = dict.fromkeys(REPETITIONS, 1) if options.quick else REPETITIONS
    if options.c3o is not None:
        counts = QUICK_COUNTS if options.quick else protocols.CHEAPEST_COUNTS
        folder: Path = options.c3o
        yield "C3O", protocols.c3o_rounds(traces.contexts(folder), counts=counts)
        if options.one_shape:
            alike = traces.contexts(folder, one_shape=True)
            yield "C3O, inputs of one shape", protocols.c3o_rounds(alike, counts=counts)
        if by_rows := traces.contexts_by_rows(folder):
            yield OTHER_ROWS, protocols.c3o_rounds(by_rows, counts=counts)
    if options.bell is not None:
        measured = traces.bell_traces(options.bell)
        yield "Bell", protocols.bell_rounds(measured, repetitions=repetitions["bell"])
    if options.tpch is not None:
        yield "TPC-H, told 100 GB", protocols.tpch_rounds(traces.tpch_traces(options.tpch))
    if options.host is not None:
        yield "one host", protocols.host_rounds(traces.plateau_traces(options.host))
    yield "synthetic", protocols.synthetic_rounds(repetitions=repetitions["synthetic"])
    yield "plateaus", protocols.plateau_rounds(repetitions=repetitions["plateaus"])


if __name__ == "__main__":
    main()
