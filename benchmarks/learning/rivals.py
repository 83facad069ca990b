"""Ways to predict the next production run from the sample runs and the production runs before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean, median

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import FitError
from airflow_provider_ernest.learning.update import with_runs
from airflow_provider_ernest.prediction.amdahl import ExtendedAmdahl
from airflow_provider_ernest.prediction.predict import (
    predict_interval,
    predict_seconds,
    standardised_errors,
)
from airflow_provider_ernest.prediction.prior import with_production
from benchmarks.learning.sequences import Production

LEVELS = (0.8, 0.95)


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What is said of the next run.

    Attributes:
        seconds: predicted.
        intervals: bounds at each of `LEVELS`; empty where the way has none.
    """

    seconds: float
    intervals: tuple[tuple[float, float], ...] = ()


Way = Callable[[Production, int], Forecast | None]
"""Predicts the run at a position, knowing those before; None where it cannot."""


def without_learning(production: Production, position: int) -> Forecast | None:
    """The model of the sample runs, whatever production took."""
    return forecast(production.model, production.runs[position])


def refit(production: Production, position: int) -> Forecast | None:
    """Ours: the model fitted anew to sample runs and production runs, see `learning.update`."""
    errors = [error_before_learning(production, each) for each in range(position)]
    return forecast(learned(production, production.runs[:position], errors), production.runs[position])


@lru_cache(maxsize=4096)
def error_before_learning(production: Production, position: int) -> float:
    """How far a run lay from what the model said of it that had learned from those before."""
    run = production.runs[position]
    model = learned(production, production.runs[:position])
    (error,) = standardised_errors(model, machines=run.machines, scale=run.scale, seconds=run.seconds)
    return float(error)


def amdahl_online(production: Production, position: int) -> Forecast | None:
    """The extended Amdahl model's running sums over all of them."""
    known = with_runs(None, production.runs[:position], begun_with=production.model.observations)
    run = production.runs[position]
    try:
        seconds = ExtendedAmdahl(degree=known.degree, state=known).predict(
            x=run.scale, processors=run.machines
        )
    except FitError:
        return None
    return Forecast(seconds=float(seconds[0]))


def mean_of_same(production: Production, position: int) -> Forecast | None:
    """The mean of the production runs on as many machines; without any, the model of the sample runs."""
    run = production.runs[position]
    same = [each.seconds for each in production.runs[:position] if each.machines == run.machines]
    return Forecast(seconds=fmean(same) if same else forecast(production.model, run).seconds)


def one_factor(production: Production, position: int) -> Forecast | None:
    """The model of the sample runs, times the median ratio by which production differed from it so far."""
    before = production.runs[:position]
    ratios = [each.seconds / forecast(production.model, each).seconds for each in before]
    seconds = forecast(production.model, production.runs[position]).seconds
    return Forecast(seconds=seconds * (median(ratios) if ratios else 1.0))


WAYS: dict[str, Way] = {
    "no learning": without_learning,
    "refit (ours)": refit,
    "extended Amdahl": amdahl_online,
    "mean of the same": mean_of_same,
    "one factor": one_factor,
}


def learned(production: Production, runs: Sequence[Observation], errors: Sequence[float] = ()) -> Model:
    """The model that has learned from runs as `learning.learn` does it, without its cross-validation.

    Args:
        production: whose model it is.
        runs: that it learns from.
        errors: of its predictions of them, standardised, before it had learned from them.
    """
    model = production.model
    if not runs or model.prior is None:
        return model
    return replace(
        model,
        id=f"{production.name} {[(run.machines, run.seconds) for run in runs]}",
        observations=(*model.observations, *runs),
        learned_from=tuple(str(run.index) for run in runs),
        standardised_errors=tuple(errors),
        prior=with_production(model.prior, runs),
    )


def forecast(model: Model, run: Observation) -> Forecast:
    """What a model says of a run."""
    machines, scale = run.machines, run.scale
    bounds = [predict_interval(model, level=level, machines=machines, scale=scale) for level in LEVELS]
    return Forecast(
        seconds=float(predict_seconds(model, machines=machines, scale=scale)[0]),
        intervals=tuple((float(low[0]), float(high[0])) for low, high in bounds),
    )
