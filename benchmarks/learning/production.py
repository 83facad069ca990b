"""Production as it may go on, and ways to predict its next run from the sample runs and the runs before.

Production runs are measured runs of a C3O job's largest input, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean, median

import numpy as np

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import FitError
from airflow_provider_ernest.learning.production import with_runs
from airflow_provider_ernest.prediction.amdahl import ExtendedAmdahl
from airflow_provider_ernest.prediction.predict import (
    predict_interval,
    predict_seconds,
    standardised_errors,
)
from airflow_provider_ernest.prediction.prior import with_production
from airflow_provider_ernest.prediction.training import train
from benchmarks.accuracy.protocols import COSTS, FEWEST_SECONDS
from benchmarks.accuracy.runs import Runs
from benchmarks.accuracy.traces import Context
from benchmarks.recordings import LEVELS

SAME, CHANGING = "always as many machines", "the machines change from run to run"
ANEW = "always as many machines, any of the runs again"
"""Few runs were measured. Where each comes once, the next is more often of the shape that came less."""

RUNS_ANEW = 17

TRAINED_POINTS = 6
"""The cheapest configurations to train on, as a user pays for them."""


@dataclass(frozen=True, kw_only=True)
class Production:
    """A job's model of the sample runs alone, and its production runs of the largest input."""

    job: str
    name: str
    model: Model
    runs: tuple[Observation, ...]


def productions(contexts: Sequence[Context], kind: str, *, orders: int) -> list[Production]:
    """So many orders of the production runs of each context of C3O.

    They are of `SAME`, a number of machines drawn once, `CHANGING`, all measured ones, or `ANEW`, one number
    whose runs are drawn with replacement.
    """
    generator = np.random.default_rng(0)
    found = []
    for position, context in enumerate(contexts):
        samples = context.cheapest(TRAINED_POINTS, cost=COSTS[FEWEST_SECONDS]).observations()
        model = train(samples, job=context.job)
        for order in range(orders):
            drawn = _whole_runs(context, kind, generator).observations()
            runs = tuple(replace(run, index=len(samples) + run.index) for run in drawn)
            name = f"{kind} {position} {order}"
            found.append(Production(job=context.job, name=name, model=model, runs=runs))
    return found


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
    return Runs(executors=points.executors[chosen], scale=points.scale[chosen], seconds=seconds)


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What is said of the next run.

    Attributes:
        seconds: predicted.
        intervals: bounds at each of `LEVELS`; empty where the way has none.
    """

    seconds: float
    intervals: tuple[tuple[float, float], ...] = ()


def forecast(model: Model, run: Observation) -> Forecast:
    """What a model says of a run."""
    executors, scale = run.executors, run.scale
    bounds = [predict_interval(model, level=level, executors=executors, scale=scale) for level in LEVELS]
    return Forecast(
        seconds=float(predict_seconds(model, executors=executors, scale=scale)[0]),
        intervals=tuple((float(low[0]), float(high[0])) for low, high in bounds),
    )


def learned(production: Production, runs: Sequence[Observation], errors: Sequence[float] = ()) -> Model:
    """The model that has learned from runs as `learning.learn` does it, without its cross-validation.

    `errors` are of its predictions of them, standardised, before it had learned from them.
    """
    model = production.model
    if not runs or model.prior is None:
        return model
    return replace(
        model,
        id=f"{production.name} {[(run.executors, run.seconds) for run in runs]}",
        observations=(*model.observations, *runs),
        learned_from=tuple(str(run.index) for run in runs),
        standardised_errors=tuple(errors),
        prior=with_production(model.prior, runs),
    )


def without_learning(production: Production, position: int) -> Forecast:
    """The model of the sample runs, whatever production took."""
    return forecast(production.model, production.runs[position])


def refit(production: Production, position: int) -> Forecast:
    """Ours: the model fitted anew to sample runs and production runs, see `learning.production`."""
    errors = [_error_before_learning(production, each) for each in range(position)]
    return forecast(learned(production, production.runs[:position], errors), production.runs[position])


@lru_cache(maxsize=4096)
def _error_before_learning(production: Production, position: int) -> float:
    """How far a run lay from what the model said of it that had learned from those before."""
    run = production.runs[position]
    model = learned(production, production.runs[:position])
    (error,) = standardised_errors(model, executors=run.executors, scale=run.scale, seconds=run.seconds)
    return float(error)


def amdahl_online(production: Production, position: int) -> Forecast | None:
    """The extended Amdahl model's running sums over all of them."""
    known = with_runs(None, production.runs[:position], begun_with=production.model.observations)
    model = ExtendedAmdahl(degree=known.degree, state=known)
    run = production.runs[position]
    try:
        return Forecast(seconds=float(model.predict(x=run.scale, processors=run.executors)[0]))
    except FitError:
        return None


def mean_of_same(production: Production, position: int) -> Forecast:
    """The mean of the production runs on as many machines; without any, the model of the sample runs."""
    run = production.runs[position]
    same = [each.seconds for each in production.runs[:position] if each.executors == run.executors]
    return Forecast(seconds=fmean(same) if same else forecast(production.model, run).seconds)


def one_factor(production: Production, position: int) -> Forecast:
    """The model of the sample runs, times the median ratio by which production differed from it so far."""
    before = production.runs[:position]
    ratios = [each.seconds / forecast(production.model, each).seconds for each in before]
    seconds = forecast(production.model, production.runs[position]).seconds
    return Forecast(seconds=seconds * (median(ratios) if ratios else 1.0))


OURS = "refit (ours)"
WAYS: dict[str, Callable[[Production, int], Forecast | None]] = {
    "no learning": without_learning,
    OURS: refit,
    "extended Amdahl": amdahl_online,
    "mean of the same": mean_of_same,
    "one factor": one_factor,
}
"""Each predicts the run at a position, knowing those before; None where it cannot."""
