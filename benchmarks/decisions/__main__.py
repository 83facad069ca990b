"""Are the decisions right: do runs keep their deadlines and budgets, and at what price?

For each job of the C3O traces a grid of deadlines and of budgets is posed; the machines are chosen from the
training runs alone, and held against what was measured. Shown are the original Ernest, with and without a
margin, two rules of thumb, the package at three confidences, and an oracle that knows the medians.

* kept: the share of decisions whose chosen option keeps to the limit by the median of its runs. Every limit
  can be kept in this sense by some option; see `questions` for the grid.
* single runs: the share of the chosen options' single runs that keep to it. Even the oracle's do not all.
* regret: what the chosen option's median run costs more than the oracle's (under a budget: takes longer), in
  per cent; never below 0, so that a miss earns nothing. Of kept: over the decisions that keep to the limit.
* said: the mean probability that the rule gave a single run. It does not know that the limit can be kept; how
  right it is tells the table of limits that are not chosen so.

Machines are billed by the second and at least for a minute (`prices`). Goals are judged over all limits that
can be kept; the first of them is the median of the fastest option itself, within its noise. The second table
leaves out what is within 5 % of it.

One table is of fewer runs, in rounds, of each job alone; see `traced_rounds`.

Bell's jobs are no part of the goals: the rules were chosen without them. Last comes what training costs
beside production, in simulation; see `training_share`.

    python -m benchmarks.decisions --c3o DIR [--bell DIR] [--limits N] [--price TYPE=DOLLARS] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from airflow_provider_ernest.exceptions import ErnestError, InvalidParameterError
from airflow_provider_ernest.prediction.numbers import positive_number, whole_number
from benchmarks.accuracy import bell, c3o
from benchmarks.accuracy.c3o_traces import Context
from benchmarks.decisions import bell_traces, traced_rounds, training_share
from benchmarks.decisions.evaluation import Decided, decide
from benchmarks.decisions.goals import (
    Goal,
    goals_of,
    goals_of_probabilities,
    goals_of_training,
    goals_table,
)
from benchmarks.decisions.outlook import Forecasts, Outlook
from benchmarks.decisions.prices import PRICES_PER_HOUR
from benchmarks.decisions.questions import BEYOND, BUDGET, DEADLINE, LIMITS
from benchmarks.decisions.report import (
    OURS,
    as_json,
    probabilities_table,
    stability_table,
    table,
    training_table,
    unfavourable,
)
from benchmarks.decisions.rules import THUMB, Rule, all_rules
from benchmarks.decisions.situations import of_all_types, of_one_type

SLACK = 0.05
"""Limits nearer to the best option than this are left out of the second table."""

FEW_POINTS = 6
"""Configurations of the shortest runs, one after the other, as a user pays for them."""

COUNTS = (5, 10, 20, 40)
"""Of limits in each situation, to see how far the figures depend on their number."""

JUDGED = "deadlines, machines of one type"
WITH_SLACK = f"the same, deadlines with {SLACK:.0%} to spare"
UNSEEN = "the same, only 8 machines and more: none was trained on"
FEW = f"the same, trained on the {FEW_POINTS} cheapest points"
IN_ROUNDS = "the same by one job alone, trained with so many runs of more: at confidence 0.8"
BUDGETS = "budgets, machines of one type"
ALL_TYPES = "deadlines, machines of all types"
BUDGETS_ALL_TYPES = "budgets, machines of all types"
AGAINST = (JUDGED, BUDGETS, ALL_TYPES, BUDGETS_ALL_TYPES)
"""The tables of which it is told what speaks against ours."""

BELL = f"Bell: deadlines, trained on {bell_traces.POINTS} runs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Decide and print; returns the exit code."""
    options = _options(arguments)
    results: dict[str, object] = {}
    goals: list[Goal] = []
    beyond: dict[str, Sequence[Decided]] = {}
    try:
        whole_number("--limits", options.limits)
        prices = {**PRICES_PER_HOUR, **dict(map(_price, options.price))}
        contexts = c3o.contexts(options.c3o) if options.c3o is not None else []
        traces = bell.traces(options.bell) if options.bell is not None else []
    except ErnestError as error:
        print(error, file=sys.stderr)
        return 2
    if contexts:
        tables, by_count, of_c3o = _decisions(contexts, options.limits, prices)
        beyond |= of_c3o
        for title, decided in tables.items():
            print("\n".join(table(title, decided)), flush=True)
            results[title] = as_json(decided)
        results["by number of deadlines"] = {count: as_json(of) for count, of in by_count.items()}
        against = {title: tables[title] for title in AGAINST if title in tables}
        print("\n".join([*stability_table(by_count), *unfavourable(against)]), flush=True)
        goals += goals_of(tables[JUDGED])
    if traces:
        outlooks = bell_traces.outlooks(traces)
        decided = decide(outlooks, DEADLINE, count=options.limits, rules=_without_thumb())
        print("\n".join(table(BELL, decided)), flush=True)
        results[BELL] = as_json(decided)
        beyond["Bell"] = _beyond(outlooks, options.limits)
    if beyond:
        print("\n".join(probabilities_table(beyond)), flush=True)
        goals += goals_of_probabilities(beyond)
    print("training beside production ...", file=sys.stderr, flush=True)
    trained = training_share.measure(repetitions=1 if options.quick else training_share.REPETITIONS)
    goals += goals_of_training(trained)
    print("\n".join([*training_table(trained), *goals_table(goals)]))
    results["training"] = [asdict(each) for each in trained]
    results["goals"] = [{**asdict(goal), "met": goal.met} for goal in goals]
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 0


def _decisions(
    contexts: Sequence[Context], count: int, prices: Mapping[str, float]
) -> tuple[dict[str, list[Decided]], dict[int, Sequence[Decided]], dict[str, list[Decided]]]:
    """The decisions of each table, those of the first by the number of limits, and with limits beyond."""
    forecasts = Forecasts([c3o.trained_runs(context) for context in contexts])
    cost = c3o.COSTS[c3o.FEWEST_SECONDS]
    from_few = Forecasts([c3o.cheapest(c3o.trained(each), FEW_POINTS, cost=cost) for each in contexts])
    one_type = of_one_type(contexts, prices_per_hour=prices)
    unseen = of_one_type(contexts, prices_per_hour=prices, fewest_machines=c3o.FEWEST_TESTED_MACHINES)
    outlooks = [forecasts.outlook(situation) for situation in one_type]
    of_unseen = [forecasts.outlook(situation) for situation in unseen]
    by_count = {each: decide(outlooks, DEADLINE, count=each) for each in COUNTS}
    judged = decide(outlooks, DEADLINE, count=count)
    tables = {
        JUDGED: judged,
        WITH_SLACK: [each for each in judged if each.question.slack >= SLACK],
        UNSEEN: decide(of_unseen, DEADLINE, count=count),
        FEW: decide([from_few.outlook(each) for each in one_type], DEADLINE, count=count),
        IN_ROUNDS: traced_rounds.decided_in_rounds(contexts, count=count, prices_per_hour=prices),
        BUDGETS: decide(outlooks, BUDGET, count=count),
    }
    all_types = [forecasts.outlook(each) for each in of_all_types(contexts, prices_per_hour=prices)]
    if all_types:
        tables[ALL_TYPES] = decide(all_types, DEADLINE, count=count)
        tables[BUDGETS_ALL_TYPES] = decide(all_types, BUDGET, count=count)
    beyond = {"C3O": _beyond(outlooks, count), "C3O, unseen machines": _beyond(of_unseen, count)}
    return tables, dict(by_count), beyond


def _beyond(outlooks: Sequence[Outlook], count: int) -> list[Decided]:
    """What our rules decide by twice as many deadlines that reach `BEYOND` what options take."""
    own = {name: rule for name, rule in all_rules().items() if name in OURS}
    return decide(outlooks, DEADLINE, count=2 * count, reach=BEYOND, rules=own)


def _without_thumb() -> dict[str, Rule]:
    """Bell's traces do not tell how large the input is."""
    return {name: rule for name, rule in all_rules().items() if name != THUMB}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.decisions", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--c3o", type=Path, metavar="DIR", help="folder of *.tsv traces of C3O")
    parser.add_argument("--bell", type=Path, metavar="DIR", help="folder of *.csv traces of Bell")
    parser.add_argument(
        "--limits", type=int, default=LIMITS, metavar="N", help="deadlines and budgets in each situation"
    )
    parser.add_argument(
        "--price",
        action="append",
        default=[],
        metavar="TYPE=DOLLARS",
        help="of a machine of that type and hour; known are " + ", ".join(PRICES_PER_HOUR),
    )
    parser.add_argument("--quick", action="store_true", help="simulate training once, not three times")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results here")
    return parser.parse_args(arguments)


def _price(text: str) -> tuple[str, float]:
    """A type and its price.

    Raises:
        InvalidParameterError: it is not of this form.
    """
    name, _, dollars = text.partition("=")
    try:
        return name, positive_number("--price", float(dollars))
    except ValueError as error:
        raise InvalidParameterError(
            "--price", text, "is no price", remedy="Give it as m4.2xlarge=0.40, say."
        ) from error


if __name__ == "__main__":
    sys.exit(main())
