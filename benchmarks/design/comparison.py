"""How well do the runs of each design predict what they were made for, at equal budget?

Each task is solved by every way of choosing runs, its runs are observed, every predictor is fitted to them,
and the predictions are held against the truth. Tasks are of the paper's eight jobs with noise, and of
measured runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from airflow_provider_ernest.design.candidates import Candidates, enumerate_candidates
from airflow_provider_ernest.design.costs import Cost, RelativeTime, relative_time
from airflow_provider_ernest.design.plan import plan_design
from airflow_provider_ernest.design.problem import Targets, asks_for_targets
from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray
from airflow_provider_ernest.settings.bounds import CRITERIA
from benchmarks.accuracy.methods import Averaging, LeastSquares, Method
from benchmarks.accuracy.protocols import noisy
from benchmarks.accuracy.runs import Runs
from benchmarks.accuracy.traces import contexts
from benchmarks.table1 import TABLE_1, seconds_of


@dataclass(frozen=True, kw_only=True)
class Task:
    """What to choose runs for.

    Attributes:
        budget: bound on the sum of the costs.
        runs: the most to make, but for those ways that know no such bound.
        min_runs: the fewest that an optimal design makes; None for its default.
        targets: the configurations to be predicted.
    """

    candidates: Candidates
    cost: Cost
    budget: float
    runs: int
    targets: Targets
    min_runs: int | None = None


Choice = Callable[[Task, np.random.Generator], IntArray]
"""Gives the positions of the chosen candidates."""


def cheapest_first(task: Task, generator: np.random.Generator, *, bounded: bool) -> IntArray:
    """The paper's greedy rival: by cost, as long as the budget lasts, with or without a bound on the runs."""
    costs = task.cost(task.candidates)
    by_cost = np.argsort(costs, kind="stable")
    affordable = int(np.searchsorted(np.cumsum(costs[by_cost]), task.budget * (1 + 1e-9), side="right"))
    return np.asarray(by_cost[: min(affordable, task.runs) if bounded else affordable], dtype=np.int64)


def random_runs(task: Task, generator: np.random.Generator) -> IntArray:
    """Runs in random order, each taken if the rest of the budget allows it."""
    costs: FloatArray = task.cost(task.candidates)
    left = task.budget * (1 + 1e-9)
    chosen: list[int] = []
    for position in generator.permutation(len(costs)):
        if len(chosen) < task.runs and costs[position] <= left:
            chosen.append(int(position))
            left -= costs[position]
    return np.array(chosen, dtype=np.int64)


def optimal(task: Task, generator: np.random.Generator, *, criterion: str) -> IntArray:
    """The package's design for a criterion, its other choices left at their defaults."""
    design = plan_design(
        candidates=task.candidates,
        cost=task.cost,
        budget=task.budget,
        criterion=criterion,
        targets=task.targets if asks_for_targets(criterion) else None,
        min_runs=task.min_runs,
        max_runs=task.runs,
    )
    candidates = task.candidates
    return np.array(
        [
            np.flatnonzero((candidates.executors == run.executors) & (candidates.scale == run.scale))[0]
            for run in design.experiments
        ],
        dtype=np.int64,
    )


CHEAPEST = "cheapest first"

RANDOM = "random"

CHOICES: Mapping[str, Choice] = {
    CHEAPEST: partial(cheapest_first, bounded=False),
    "cheapest first, as few": partial(cheapest_first, bounded=True),
    RANDOM: random_runs,
    **{f"{criterion}-optimal": partial(optimal, criterion=criterion) for criterion in CRITERIA},
}
"""All ways by name; the first is what the others are measured by."""


RANDOM_DESIGNS = 10
"""How many random designs stand for each of another kind: one alone may be lucky."""


PREDICTORS: Mapping[str, tuple[Method, int]] = {
    "Ernest's terms": (LeastSquares("Ernest's terms"), 1),
    "ours": (Averaging(), 5),
}
"""The methods that predict from the runs; each is fitted to every so many-th draw of the noise, since a fit
of ours takes a hundred times as long."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A task with what its runs take.

    Attributes:
        observe: the seconds of the candidates at these positions, with their noise.
        truth: the seconds of the targets, shape (t,).
        repetitions: how often the runs are observed anew; 1 for measured runs.
    """

    task: Task
    observe: Callable[[np.ndarray, np.random.Generator], FloatArray]
    truth: FloatArray
    repetitions: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Result:
    """What one design came to; costs as a share of the budget, errors NaN where a predictor refused."""

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
            executors=task.candidates.executors[chosen].astype(np.float64),
            scale=task.candidates.scale[chosen],
            seconds=trial.observe(chosen, generator),
        )
        for predictor in PREDICTORS:
            if repetition % PREDICTORS[predictor][1] == 0:
                errors[predictor].append(_errors_percent(trial, train, predictor))
    return Result(
        runs=len(chosen),
        spent=float(task.cost(task.candidates)[chosen].sum() / task.budget),
        errors_percent={predictor: np.concatenate(values) for predictor, values in errors.items()},
    )


def _errors_percent(trial: Trial, train: Runs, predictor: str) -> FloatArray:
    executors, scale = trial.task.targets.columns()
    try:
        forecast = PREDICTORS[predictor][0].fit(train)
        predicted = forecast.predict(executors=executors, scale=scale)
    except ErnestError:
        return np.full(len(trial.truth), np.nan)
    return np.asarray(100.0 * np.abs(predicted / trial.truth - 1.0), dtype=np.float64)


NOISE = 0.05

RUNS = 8

TARGETS = Targets(executors=(45, 64))

SHARE, PRODUCTION_MACHINES = 0.2, 64

POINTS = (4, 5, 6)
"""How many measured runs are trained on."""

SEED = 20160316


def with_the_papers_cost(*, repetitions: int) -> Iterator[Trial]:
    """Samples of 1 to 10 % on up to 16 machines, which cost scale/executors; budget: eight mean runs."""
    candidates = _candidates()
    budget = RUNS * float(relative_time(candidates).mean())
    for job in TABLE_1:
        yield _synthetic(job, candidates, relative_time, budget, repetitions)


def with_machine_seconds(*, repetitions: int) -> Iterator[Trial]:
    """The same samples, which cost the machine seconds that they take; budget: a share of production."""
    candidates = _candidates()
    for job in TABLE_1:
        cost = TrueCost(of=partial(_machine_seconds, job))
        production = Candidates(
            executors=np.array([PRODUCTION_MACHINES]), scale=np.ones(1), partitions=np.ones(1, dtype=np.int64)
        )
        yield _synthetic(job, candidates, cost, SHARE * float(cost(production)[0]), repetitions)


def measured(directory: Path) -> Iterator[Trial]:
    """Contexts of C3O: small inputs on few machines predict the largest on many; see `accuracy.protocols`.

    A run costs the machine seconds that it took; the budget is so many runs of mean cost.
    """
    for seed, context in enumerate(contexts(directory, one_shape=True)):
        train, (test, _) = context.trained(), context.tested()
        if len(np.unique(train.scale)) > 1 and len(np.unique(train.executors)) > 1:
            for runs in (points for points in POINTS if points < len(train)):
                yield _measured(train, test, runs, seed)


def _measured(train: Runs, test: Runs, runs: int, seed: int) -> Trial:
    costs = train.executors * train.seconds
    return Trial(
        task=Task(
            candidates=Candidates(
                executors=train.executors.astype(np.int64),
                scale=train.scale,
                partitions=np.ones(len(train), dtype=np.int64),
            ),
            cost=TrueCost(of=lambda _: costs),
            budget=runs * float(costs.mean()),
            runs=runs,
            min_runs=runs,
            targets=Targets(executors=test.executors.astype(int).tolist(), scale=test.scale.tolist()),
        ),
        observe=lambda chosen, _: train.seconds[chosen],
        truth=test.seconds,
        repetitions=1,
        seed=seed,
    )


def _candidates() -> Candidates:
    return enumerate_candidates(
        max_executors=16, min_scale=0.01, max_scale=0.1, partitions=1000, scale_steps=10
    )


@dataclass(frozen=True, kw_only=True)
class TrueCost(RelativeTime):
    """What runs really cost, which no design can know: it takes the seconds for unknown."""

    of: Callable[[Candidates], FloatArray]

    def __call__(self, candidates: Candidates) -> FloatArray:
        """Cost of each candidate, shape (n,)."""
        return self.of(candidates)


def _machine_seconds(job: str, runs: Candidates) -> FloatArray:
    seconds = seconds_of(job, executors=runs.executors, scale=runs.scale)
    return np.asarray(runs.executors * seconds, dtype=np.float64)


def _synthetic(job: str, candidates: Candidates, cost: Cost, budget: float, repetitions: int) -> Trial:
    exact = seconds_of(job, executors=candidates.executors, scale=candidates.scale)
    executors, scale = TARGETS.columns()

    def observe(chosen: np.ndarray, generator: np.random.Generator) -> FloatArray:
        return noisy(exact[chosen], NOISE, generator)

    return Trial(
        task=Task(candidates=candidates, cost=cost, budget=budget, runs=RUNS, targets=TARGETS),
        observe=observe,
        truth=seconds_of(job, executors=executors, scale=scale),
        repetitions=repetitions,
        seed=SEED + list(TABLE_1).index(job),
    )
