"""How near do predictions from a few runs come, and what are their intervals worth?

The original Ernest, its variants and rivals, and the method of this package, side by side on measured
Spark and Flink jobs and on the paper's own models with noise. Errors are absolute percentage errors of
configurations that were not trained on. The measured traces are not part of the project.

    python -m benchmarks.accuracy --c3o DIR --bell DIR [--one-shape] [--quick] [--json FILE]
    python -m benchmarks.accuracy --optex DIR
    python -m benchmarks.accuracy --units [--c3o DIR] [--bell DIR]
    python -m benchmarks.accuracy --tuning [--c3o DIR --one-shape] [--bell DIR]
    python -m benchmarks.accuracy --calibration [--c3o DIR --one-shape] [--bell DIR]

The tables of the OptEx paper are told of alone, unless other traces are asked for besides; and so is what
other units of time change, and how each job is predicted with constants that were chosen without it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from airflow_provider_ernest.exceptions import ErnestError
from benchmarks.accuracy import bell, c3o, optex, plateaus, synthetic, tuning, units
from benchmarks.accuracy.evaluation import Outcome, Progress, evaluate_rounds
from benchmarks.accuracy.goals import (
    Goal,
    calibration_table,
    goal_of_times,
    goals_of,
    goals_table,
)
from benchmarks.accuracy.methods import all_methods
from benchmarks.accuracy.ours import PooledAveraging, RowAveraging
from benchmarks.accuracy.report import as_json, tables
from benchmarks.accuracy.runs import Round
from benchmarks.accuracy.timing import measure, timing_table

REPETITIONS = {"bell": 20, "synthetic": 12, "plateaus": 25, "timing": 15}
QUICK_REPETITIONS = {"bell": 1, "synthetic": 1, "plateaus": 1, "timing": 3}

ONE_SHAPE = "C3O, inputs of one shape"
OTHER_ROWS = "C3O, inputs whose rows differ"
ASIDE = (ONE_SHAPE, OTHER_ROWS)
"""The goals are for inputs as they come, of which nothing is told but their size."""

QUICK_COUNTS = (6,)
"""Of cheapest points, where 4 to 8 would take too long."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate and print; returns the exit code."""
    options = _options(arguments)
    repetitions = QUICK_REPETITIONS if options.quick else REPETITIONS
    methods = all_methods()
    results: dict[str, object] = {}
    goals: list[Goal] = []
    try:
        # All traces are read before anything is computed: a wrong folder shows at once.
        paper = optex.jobs(options.optex) if options.optex is not None else []
        only_paper = bool(paper) and not _is_asked_more(options)
        protocols = [] if only_paper else _protocols(options, repetitions)
    except ErnestError as error:
        print(error, file=sys.stderr)
        return 2
    if options.units or options.tuning or options.calibration:
        print("\n".join(_only(options, protocols)))
        return 0
    if paper:
        results["OptEx"] = _print_optex(paper)
    every: dict[str, Sequence[Outcome]] = {}
    for title, rounds in protocols:
        compared = [*methods, RowAveraging()] if title == OTHER_ROWS else methods
        every[title] = outcomes = evaluate_rounds(rounds, compared, progress=_progress(title))
        print("\n".join(tables(title, outcomes)), flush=True)
        results[title] = as_json(outcomes)
        if title not in ASIDE:
            goals += goals_of(title, outcomes)
    if not only_paper:
        times = {method.name: measure(method, repetitions=repetitions["timing"]) for method in methods}
        goals.append(goal_of_times(times))
        print("\n".join([*timing_table(times), *calibration_table(every), *goals_table(goals)]))
        results["milliseconds"] = {name: asdict(of) for name, of in times.items()}
        results["goals"] = [{**asdict(goal), "met": goal.met} for goal in goals]
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 0


def _is_asked_more(options: argparse.Namespace) -> bool:
    """Whether anything is asked for besides the tables of the OptEx paper."""
    tables = options.units or options.tuning or options.calibration
    return tables or options.c3o is not None or options.bell is not None


def _only(options: argparse.Namespace, protocols: Sequence[tuple[str, list[Round]]]) -> list[str]:
    """The one table that is asked for alone."""
    if options.units:
        return units.table(protocols)
    if options.calibration:
        return calibration_table(
            {
                title: evaluate_rounds(rounds, [PooledAveraging()], progress=_progress(title))
                for title, rounds in protocols
            }
        )
    told = [(title, rounds) for title, rounds in protocols if title != OTHER_ROWS]
    return tuning.table(told, tell=lambda line: print(line, file=sys.stderr, flush=True))


def _print_optex(paper: Sequence[optex.Job]) -> object:
    """What the print follows from, predictions and decisions; returns the predictions' figures."""
    from benchmarks.decisions import optex_limits  # decisions build on predictions, but for this call

    print("\n".join(optex.departures(paper)), flush=True)
    outcomes = optex.outcomes(paper)
    print("\n".join(tables("OptEx", outcomes)), flush=True)
    print("\n".join(optex_limits.report(paper)), flush=True)
    return as_json(outcomes)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--c3o", type=Path, metavar="DIR", help="folder of *.tsv traces of C3O")
    parser.add_argument("--bell", type=Path, metavar="DIR", help="folder of *.csv traces of Bell")
    parser.add_argument(
        "--optex",
        type=Path,
        metavar="DIR",
        help="folder of table3.csv, table4.csv, table6.csv of the OptEx paper",
    )
    parser.add_argument(
        "--one-shape",
        action="store_true",
        help="C3O once more with contexts whose inputs differ in their amount only",
    )
    parser.add_argument(
        "--units", action="store_true", help="only whether all seconds times ten give predictions times ten"
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
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results here")
    return parser.parse_args(arguments)


def _protocols(options: argparse.Namespace, repetitions: dict[str, int]) -> list[tuple[str, list[Round]]]:
    protocols = []
    if options.c3o is not None:
        counts = QUICK_COUNTS if options.quick else c3o.CHEAPEST_COUNTS
        protocols.append(("C3O", c3o.rounds(c3o.contexts(options.c3o), counts=counts)))
        if options.one_shape:
            alike = c3o.contexts(options.c3o, one_shape=True)
            protocols.append((ONE_SHAPE, c3o.rounds(alike, counts=counts)))
        if by_rows := c3o.contexts_by_rows(options.c3o):
            protocols.append((OTHER_ROWS, c3o.rounds(by_rows, counts=counts)))
    if options.bell is not None:
        protocols.append(("Bell", bell.rounds(bell.traces(options.bell), repetitions=repetitions["bell"])))
    protocols.append(("synthetic", synthetic.rounds(repetitions=repetitions["synthetic"])))
    protocols.append((plateaus.TITLE, plateaus.rounds(repetitions=repetitions["plateaus"])))
    return protocols


def _progress(title: str) -> Progress:
    """A line on stderr that overwrites itself on a terminal."""
    ending = "\r" if sys.stderr.isatty() else "\n"

    def tell(done: int, of: int) -> None:
        if done == of:
            print(f"{title}: {of} rounds done", file=sys.stderr, flush=True)
        elif 10 * done // of > 10 * (done - 1) // of:
            print(f"{title}: {done} of {of} rounds", end=ending, file=sys.stderr, flush=True)

    return tell


if __name__ == "__main__":
    sys.exit(main())
