"""How well do the runs of each design predict what they were made for, at equal budget?

Each task is solved by every way of choosing runs (`rivals`), its runs are observed, every predictor is
fitted to them, and the predictions are held against the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.regression import ErnestRegression
from airflow_provider_ernest.prediction.terms import ERNEST
from benchmarks.accuracy.evaluation import pool
from benchmarks.accuracy.ours import ours
from benchmarks.accuracy.runs import Runs
from benchmarks.design.rivals import CHOICES, RANDOM, Task


@dataclass(frozen=True, kw_only=True)
class Predictor:
    """A way to predict from the runs of a design.

    Attributes:
        predict: learns from runs and predicts the seconds of machines and scales.
        every: it is fitted to every so many-th draw of the noise; 1 for all.
    """

    predict: Callable[[Runs, FloatArray, FloatArray], FloatArray]
    every: int = 1


RANDOM_DESIGNS = 10
"""How many random designs stand for each of another kind: one alone may be lucky."""


def ernest_terms(train: Runs, machines: FloatArray, scale: FloatArray) -> FloatArray:
    """Non-negative least squares on Ernest's four terms, errors relative."""
    regression = ErnestRegression(terms=ERNEST).fit_undetermined(
        machines=train.machines, scale=train.scale, seconds=train.seconds
    )
    return regression.predict(machines=machines, scale=scale)


def our_predictor(train: Runs, machines: FloatArray, scale: FloatArray) -> FloatArray:
    """The package's own predictor; `benchmarks.accuracy.ours` says which it is."""
    (alone, _) = ours()
    forecast = pool(alone, [train]).fit(machines=train.machines, scale=train.scale, seconds=train.seconds)
    return forecast.predict(machines=machines, scale=scale)


PREDICTORS: Mapping[str, Predictor] = {
    "Ernest's terms": Predictor(predict=ernest_terms),
    # A fit takes a hundred times as long.
    "ours": Predictor(predict=our_predictor, every=5),
}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A task with what its runs take.

    Attributes:
        task: what to choose runs for.
        observe: the seconds of the candidates at these positions, with their noise.
        truth: the seconds of the targets, shape (t,).
        repetitions: how often the runs are observed anew; 1 for measured runs.
        seed: of the noise and the random designs.
    """

    task: Task
    observe: Callable[[np.ndarray, np.random.Generator], FloatArray]
    truth: FloatArray
    repetitions: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Result:
    """What one design came to in one trial.

    Attributes:
        runs: how many it made.
        spent: their cost as a share of the budget.
        errors_percent: absolute errors for each predictor; NaN where it refused.
    """

    runs: int
    spent: float
    errors_percent: Mapping[str, FloatArray]


def compare(trials: Iterable[Trial]) -> dict[str, list[Result]]:
    """The results of every way of choosing runs, by its name."""
    results: dict[str, list[Result]] = {name: [] for name in CHOICES}
    for trial in trials:
        for name in CHOICES:
            for draw in range(RANDOM_DESIGNS if name == RANDOM else 1):
                results[name].append(_result(trial, name, draw))
    return results


def _result(trial: Trial, name: str, draw: int) -> Result:
    generator = np.random.default_rng([trial.seed, draw])
    task = trial.task
    chosen = CHOICES[name](task, generator)
    repetitions = -(-trial.repetitions // RANDOM_DESIGNS) if name == RANDOM else trial.repetitions
    errors: dict[str, list[FloatArray]] = {predictor: [] for predictor in PREDICTORS}
    for repetition in range(repetitions):
        train = Runs(
            machines=task.candidates.machines[chosen].astype(np.float64),
            scale=task.candidates.scale[chosen],
            seconds=trial.observe(chosen, generator),
        )
        for predictor in PREDICTORS:
            if repetition % PREDICTORS[predictor].every == 0:
                errors[predictor].append(_errors_percent(trial, train, predictor))
    return Result(
        runs=len(chosen),
        spent=float(task.cost(task.candidates)[chosen].sum() / task.budget),
        errors_percent={predictor: np.concatenate(values) for predictor, values in errors.items()},
    )


def _errors_percent(trial: Trial, train: Runs, predictor: str) -> FloatArray:
    machines, scale = trial.task.targets.columns()
    try:
        predicted = PREDICTORS[predictor].predict(train, machines, scale)
    except ErnestError:
        return np.full(len(trial.truth), np.nan)
    return np.asarray(100.0 * np.abs(predicted / trial.truth - 1.0), dtype=np.float64)
