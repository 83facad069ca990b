"""Production as it may go on: measured runs of a job's largest input, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.prediction.training import train
from benchmarks.accuracy import c3o
from benchmarks.accuracy.c3o_traces import Context
from benchmarks.accuracy.runs import Runs

SAME, CHANGING = "always as many machines", "the machines change from run to run"
ANEW = "always as many machines, any of the runs again"
"""Few runs were measured. Where each comes once, the next is more often of the shape that came less."""

RUNS_ANEW = 17

TRAINED_POINTS = 6
"""The cheapest configurations to train on, as a user pays for them."""


@dataclass(frozen=True, kw_only=True)
class Production:
    """A job's model, and its production runs in the order in which they come.

    Attributes:
        job: the job.
        name: unique.
        model: of the sample runs alone.
        runs: of production, all of the largest input.
    """

    job: str
    name: str
    model: Model
    runs: tuple[Observation, ...]


def productions(contexts: Sequence[Context], kind: str, *, orders: int) -> list[Production]:
    """So many orders of the production runs of each context.

    Args:
        contexts: of C3O.
        kind: `SAME` for a number of machines drawn once, `CHANGING` for all measured ones, `ANEW` for one
            number whose runs are drawn with replacement.
        orders: of each context.
    """
    generator = np.random.default_rng(0)
    found = []
    for position, context in enumerate(contexts):
        model = train(observations(_samples(context)), job=context.job)
        for order in range(orders):
            drawn = _whole_runs(context, kind, generator)
            found.append(
                Production(
                    job=context.job,
                    name=f"{kind} {position} {order}",
                    model=model,
                    runs=tuple(observations(drawn, begin=len(model.observations))),
                )
            )
    return found


def observations(runs: Runs, *, begin: int = 0) -> list[Observation]:
    """Runs as the package has them."""
    return [
        Observation(index=begin + index, machines=int(machines), scale=float(scale), seconds=float(seconds))
        for index, (machines, scale, seconds) in enumerate(
            zip(runs.machines, runs.scale, runs.seconds, strict=True)
        )
    ]


def _samples(context: Context) -> Runs:
    return c3o.cheapest(c3o.trained(context), TRAINED_POINTS, cost=c3o.COSTS[c3o.FEWEST_SECONDS])


def _whole_runs(context: Context, kind: str, generator: np.random.Generator) -> Runs:
    """The single runs of the largest input, shuffled or drawn."""
    points = context.points
    rows = np.flatnonzero(points.scale >= context.sizes[-1])
    if kind in (SAME, ANEW):
        rows = generator.permutation(rows)[:1]
    single = [(row, seconds) for row in rows for seconds in context.repetitions[row]]
    order = generator.permutation(len(single))
    if kind == ANEW:
        order = generator.integers(len(single), size=RUNS_ANEW)
    chosen = np.array([single[position][0] for position in order], dtype=np.int64)
    seconds = np.array([single[position][1] for position in order])
    return Runs(machines=points.machines[chosen], scale=points.scale[chosen], seconds=seconds)
