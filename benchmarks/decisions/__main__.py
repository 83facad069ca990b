"""Are the decisions right: do runs keep their deadlines and budgets, and at what price?

For each job of the C3O traces a grid of deadlines and of budgets is posed; the machines are chosen from the
training runs alone, and held against what was measured. Shown are the original Ernest, with and without a
margin, always the largest cluster, the package at three confidences, and an oracle that knows the medians.

* kept: the share of decisions whose chosen option keeps to the limit by the median of its runs. Every limit
  can be kept in this sense by some option; see `situations` for the grid.
* single runs: the share of the chosen options' single runs that keep to it. Even the oracle's do not all.
* regret: what the chosen option's median run costs more than the oracle's (under a budget: takes longer), in
  per cent; never below 0, so that a miss earns nothing. Of kept: over the decisions that keep to the limit.
* said: the mean probability that the rule gave a single run. It does not know that the limit can be kept; how
  right it is tells the table of limits that are not chosen so.

Machines are billed by the second and at least for a minute. The second table leaves out the deadlines that
are within 5 % of the fastest option's median. One table is of fewer runs, in rounds, of each job alone; see
`traced_rounds`. The rules were chosen without Bell's jobs. Last comes what training costs beside
production, in simulation; see `training_share`.

    python -m benchmarks.decisions --c3o DIR [--bell DIR] [--limits N] [--quick]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.accuracy import protocols, traces
from benchmarks.accuracy.evaluation import text
from benchmarks.accuracy.runs import gather
from benchmarks.decisions import traced_rounds, training_share
from benchmarks.decisions.evaluation import (
    OURS,
    Decided,
    decide,
    probabilities_table,
    table,
    unfavourable,
)
from benchmarks.decisions.rules import Forecasts, Outlook, all_rules
from benchmarks.decisions.situations import (
    BEYOND,
    BUDGET,
    DEADLINE,
    DEFAULT_CORES,
    LIMITS,
    Option,
    Situation,
    billing_of,
    of_all_types,
    of_one_type,
)

SLACK = 0.05
"""Limits nearer to the best option than this are left out of the second table."""

FEW_POINTS = 6
"""Configurations of the shortest runs, one after the other, as a user pays for them."""

AGAINST = (
    "deadlines, machines of one type",
    "budgets, machines of one type",
    "deadlines, machines of all types",
    "budgets, machines of all types",
)
"""The tables of which it is told what speaks against ours."""

BELL_POINTS, BELL_REPETITIONS = 6, 10
"""Runs that are trained on, and how often with others."""


def main() -> None:
    """Decide and print."""
    options = _options()
    beyond: dict[str, Sequence[Decided]] = {}
    # All traces are read before anything is computed: a wrong folder shows at once.
    contexts = traces.contexts(options.c3o) if options.c3o is not None else []
    measured = traces.bell_traces(options.bell) if options.bell is not None else {}
    if contexts:
        tables, beyond = _c3o(contexts, options.limits)
        for title, decided in tables.items():
            print(f"== {title} ==\n{table(decided)}\n", flush=True)
        print("\n".join(unfavourable({title: tables[title] for title in AGAINST})) + "\n", flush=True)
    if measured:
        outlooks = _bell_outlooks(measured)
        decided = decide(outlooks, DEADLINE, count=options.limits)
        print(f"== Bell: deadlines, trained on {BELL_POINTS} runs ==\n{table(decided)}\n", flush=True)
        beyond["Bell"] = _beyond(outlooks, options.limits)
    if beyond:
        print("== probabilities: said of single runs, and how many kept to their limit, % ==")
        print(
            "deadlines from half of what the fastest option takes to twice the slowest; then by what was said"
        )
        print(f"{probabilities_table(beyond)}\n", flush=True)
    print("== training beside production: Table 1's jobs, grown; 5 % noise, 20 s of start-up; % ==")
    trained = training_share.table(repetitions=1 if options.quick else training_share.REPETITIONS)
    print(text(trained))


def _c3o(
    contexts: Sequence[traces.Context], count: int
) -> tuple[dict[str, list[Decided]], dict[str, Sequence[Decided]]]:
    """The decisions of each table, and those with limits beyond."""
    forecasts = Forecasts([context.trained_runs() for context in contexts])
    cost = protocols.COSTS[protocols.FEWEST_SECONDS]
    from_few = Forecasts([context.cheapest(FEW_POINTS, cost=cost) for context in contexts])
    one_type = of_one_type(contexts)
    unseen = of_one_type(contexts, fewest_machines=traces.FEWEST_TESTED_MACHINES)
    outlooks = [forecasts.outlook(situation) for situation in one_type]
    of_unseen = [forecasts.outlook(situation) for situation in unseen]
    all_types = [forecasts.outlook(situation) for situation in of_all_types(contexts)]
    judged = decide(outlooks, DEADLINE, count=count)
    few = f"the same, trained on the {FEW_POINTS} cheapest points"
    tables = {
        "deadlines, machines of one type": judged,
        f"the same, deadlines with {SLACK:.0%} to spare": [
            each for each in judged if each.question.slack >= SLACK
        ],
        "the same, only 8 machines and more: none was trained on": decide(of_unseen, DEADLINE, count=count),
        few: decide([from_few.outlook(each) for each in one_type], DEADLINE, count=count),
        "the same by one job alone, trained with so many runs of more: at confidence 0.8": (
            traced_rounds.decided_in_rounds(contexts, count=count)
        ),
        "budgets, machines of one type": decide(outlooks, BUDGET, count=count),
        "deadlines, machines of all types": decide(all_types, DEADLINE, count=count),
        "budgets, machines of all types": decide(all_types, BUDGET, count=count),
    }
    return tables, {"C3O": _beyond(outlooks, count), "C3O, unseen machines": _beyond(of_unseen, count)}


def _beyond(outlooks: Sequence[Outlook], count: int) -> list[Decided]:
    """What our rules decide by twice as many deadlines that reach `BEYOND` what options take."""
    own = {name: rule for name, rule in all_rules().items() if name in OURS}
    return decide(outlooks, DEADLINE, count=2 * count, reach=BEYOND, rules=own)


def _bell_outlooks(measured: dict[str, dict[int, tuple[float, ...]]]) -> list[Outlook]:
    """Every job so often, each time with other training runs; the jobs of one system are one deployment."""
    generator = np.random.default_rng(protocols.BELL_SEED)
    result = []
    for jobs in protocols.by_system(measured).values():
        for _ in range(BELL_REPETITIONS):
            samples = []
            for trace in jobs.values():
                few = [executors for executors in trace if executors <= protocols.MOST_TRAINED_NODES]
                chosen = generator.choice(few, size=min(BELL_POINTS, len(few)), replace=False).tolist()
                samples.append(gather((count, 1.0, generator.choice(trace[count])) for count in chosen))
            forecasts = Forecasts(samples)
            result += [
                forecasts.outlook(_bell_situation(position, name, trace))
                for position, (name, trace) in enumerate(jobs.items())
            ]
    return result


def _bell_situation(position: int, name: str, trace: protocols.Trace) -> Situation:
    billing = billing_of("", cores=DEFAULT_CORES)
    return Situation(
        job=name.partition(".")[0],
        setting=name.partition(".")[2],
        options=tuple(
            Option(
                model=position,
                instance_type="",
                cores=DEFAULT_CORES,
                executors=executors,
                scale=1.0,
                billing=billing,
                seconds=median(seconds),
                repetitions=seconds,
            )
            for executors, seconds in trace.items()
        ),
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.decisions", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--c3o", type=Path, metavar="DIR", help="folder of *.tsv traces of C3O")
    parser.add_argument("--bell", type=Path, metavar="DIR", help="folder of *.csv traces of Bell")
    parser.add_argument(
        "--limits", type=int, default=LIMITS, metavar="N", help="deadlines and budgets in each situation"
    )
    parser.add_argument("--quick", action="store_true", help="simulate training once, not so many times")
    return parser.parse_args()


if __name__ == "__main__":
    main()
