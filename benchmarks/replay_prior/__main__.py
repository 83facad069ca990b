"""Does the replay of an earlier run help to choose sample runs, or to predict from them?

Synthetic Spark jobs (stages of tasks on slots, shuffles, a driver's own work; see `jobs`) are run by a
simulator that writes the tables of an event log. Of each job there was one earlier run: of production with
another size, or of another job of the same stages. It is profiled and replayed as the package does that, and
what the replay says is used in several ways. All designs really cost the same at most, as far as they can,
and all predictions are for the whole input on more machines than any sample had.

    python -m benchmarks.replay_prior [--draws N] [--job NAME]
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from benchmarks.replay_prior.jobs import JOBS
from benchmarks.replay_prior.trials import (
    ALONE,
    AS_NOW,
    BUDGET_SHARE,
    MODEL,
    TARGET_MACHINES,
    Outcome,
    outcomes,
)

SEED = 20170516
DRAWS = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.replay_prior", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--draws", type=int, default=DRAWS, help="of the noise; default %(default)s")
    parser.add_argument("--job", choices=tuple(JOBS), action="append", help="only this; may be repeated")
    options = parser.parse_args(arguments)
    found: list[Outcome] = []
    for name in options.job or JOBS:
        found += outcomes(name, JOBS[name], draws=options.draws, seed=SEED + list(JOBS).index(name))
        print(f"{name} is done", file=sys.stderr, flush=True)
    for line in _table(found, jobs=len(options.job or JOBS), draws=options.draws):
        print(line)
    return 0


def _table(found: Sequence[Outcome], *, jobs: int, draws: int) -> Iterator[str]:
    machines = " and ".join(map(str, TARGET_MACHINES))
    yield (
        f"Absolute error of predictions for the whole input on {machines} machines, {jobs} jobs, "
        f"{draws} draws of the noise; the samples may cost {BUDGET_SHARE:.0%} of a production run on "
        f"{TARGET_MACHINES[0]}"
    )
    yield "better: of how many jobs the mean error is less than that of the model by the design as now"
    heading = ("design", "predicted by", "runs", "spent", "mean", "median", "bias", "better")
    form = "{:39}{:49}{:>5}{:>7}{:>8}{:>8}{:>8}{:>8}"
    groups: dict[tuple[str, str, str], list[Outcome]] = defaultdict(list)
    for outcome in found:
        groups[outcome.earlier, outcome.design, outcome.prediction].append(outcome)
    yardstick = _by_job(groups[ALONE, AS_NOW, MODEL])
    for earlier in dict.fromkeys(key[0] for key in groups):
        yield ""
        yield f"earlier run: {'none' if earlier == ALONE else earlier}"
        yield form.format(*heading)
        for (of, design, prediction), of_group in groups.items():
            if of == earlier:
                errors = np.concatenate([outcome.errors_percent for outcome in of_group])
                better = sum(error < yardstick[job] for job, error in _by_job(of_group).items())
                yield form.format(
                    design,
                    prediction,
                    f"{np.mean([outcome.runs for outcome in of_group]):.1f}",
                    f"{np.mean([outcome.spent for outcome in of_group]):.0%}",
                    f"{np.abs(errors).mean():.1f} %",
                    f"{np.median(np.abs(errors)):.1f} %",
                    f"{errors.mean():+.1f} %",
                    f"{better}/{jobs}",
                )


def _by_job(found: Iterable[Outcome]) -> dict[str, float]:
    """The mean absolute error for each job."""
    errors: dict[str, list[float]] = defaultdict(list)
    for outcome in found:
        errors[outcome.job] += [abs(error) for error in outcome.errors_percent]
    return {job: float(np.mean(of_job)) for job, of_job in errors.items()}


if __name__ == "__main__":
    sys.exit(main())
