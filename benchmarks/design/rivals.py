"""The ways to choose sample runs that are compared, all within one budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from airflow_provider_ernest.design.candidates import Candidates
from airflow_provider_ernest.design.costs import Cost
from airflow_provider_ernest.design.criteria import Targets, asks_for_targets
from airflow_provider_ernest.design.plan import plan_design
from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray
from airflow_provider_ernest.settings.bounds import CRITERIA


@dataclass(frozen=True, kw_only=True)
class Task:
    """What to choose runs for.

    Attributes:
        candidates: the runs to choose from.
        cost: of a run.
        budget: bound on the sum of the costs.
        runs: the most runs to make, but for those ways that know no such bound.
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
            np.flatnonzero((candidates.machines == run.machines) & (candidates.scale == run.scale))[0]
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


def names() -> Sequence[str]:
    """The names of the ways, in the order of the tables."""
    return list(CHOICES)
