"""The trials: the paper's eight jobs with noise, and measured runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from airflow_provider_ernest.design.candidates import Candidates, enumerate_candidates
from airflow_provider_ernest.design.costs import Cost, ProductionShare, relative_time, resolve_cost
from airflow_provider_ernest.design.criteria import Targets
from airflow_provider_ernest.prediction.numbers import FloatArray
from benchmarks.accuracy import c3o
from benchmarks.accuracy.runs import Runs
from benchmarks.design.prediction import Trial
from benchmarks.design.rivals import Task
from benchmarks.table1 import TABLE_1, seconds_of

NOISE = 0.05

LEAST_FACTOR = 0.5
"""Noise never halves a run."""

RUNS = 8

TARGETS = Targets(machines=(45, 64))

SHARE = ProductionShare(share=0.2, machines=64)

POINTS = (4, 5, 6)
"""How many measured runs are trained on."""

SEED = 20160316


def with_the_papers_cost(*, repetitions: int) -> Iterator[Trial]:
    """Samples of 1 to 10 % on up to 16 machines, which cost scale/machines; budget: eight mean runs."""
    candidates = _candidates()
    budget = RUNS * float(relative_time(candidates).mean())
    for job in TABLE_1:
        yield _synthetic(job, candidates, relative_time, budget, repetitions)


def with_machine_seconds(*, repetitions: int) -> Iterator[Trial]:
    """The same samples, which cost the machine seconds that they take; budget: a share of production."""
    candidates = _candidates()
    for job in TABLE_1:
        cost = _machine_seconds(job)
        yield _synthetic(job, candidates, cost, SHARE.of(resolve_cost(cost)[0], candidates), repetitions)


def measured(directory: Path) -> Iterator[Trial]:
    """Contexts of C3O: small inputs on few machines predict the largest on many; see `c3o`.

    A run costs the machine seconds that it took; the budget is so many runs of mean cost.
    """
    for seed, context in enumerate(c3o.contexts(directory, one_shape=True)):
        train, (test, _) = c3o.trained(context), c3o.tested(context)
        if len(np.unique(train.scale)) > 1 and len(np.unique(train.machines)) > 1:
            for runs in (points for points in POINTS if points < len(train)):
                yield _measured(train, test, runs, seed)


def _measured(train: Runs, test: Runs, runs: int, seed: int) -> Trial:
    costs = train.machines * train.seconds
    return Trial(
        task=Task(
            candidates=Candidates(
                machines=train.machines.astype(np.int64),
                scale=train.scale,
                partitions=np.ones(len(train), dtype=np.int64),
            ),
            cost=lambda _: costs,
            budget=runs * float(costs.mean()),
            runs=runs,
            min_runs=runs,
            targets=Targets(machines=test.machines.astype(int).tolist(), scale=test.scale.tolist()),
        ),
        observe=lambda chosen, _: train.seconds[chosen],
        truth=test.seconds,
        repetitions=1,
        seed=seed,
    )


def _candidates() -> Candidates:
    return enumerate_candidates(
        max_machines=16, min_scale=0.01, max_scale=0.1, partitions=1000, scale_steps=10
    )


def _machine_seconds(job: str) -> Cost:
    def cost(candidates: Candidates) -> FloatArray:
        seconds = seconds_of(job, machines=candidates.machines, scale=candidates.scale)
        return np.asarray(candidates.machines * seconds, dtype=np.float64)

    return cost


def _synthetic(job: str, candidates: Candidates, cost: Cost, budget: float, repetitions: int) -> Trial:
    exact = seconds_of(job, machines=candidates.machines, scale=candidates.scale)
    machines, scale = TARGETS.columns()

    def observe(chosen: np.ndarray, generator: np.random.Generator) -> FloatArray:
        factors = 1.0 + NOISE * generator.standard_normal(len(chosen))
        return np.asarray(exact[chosen] * np.maximum(factors, LEAST_FACTOR), dtype=np.float64)

    return Trial(
        task=Task(candidates=candidates, cost=cost, budget=budget, runs=RUNS, targets=TARGETS),
        observe=observe,
        truth=seconds_of(job, machines=machines, scale=scale),
        repetitions=repetitions,
        seed=SEED + list(TABLE_1).index(job),
    )
