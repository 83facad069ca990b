"""Whole runs from a relaxed optimal design, by exchange.

The relaxed optimum weighs each candidate with a real number; what can be run is whole. The
exchange starts from the candidates with the largest weights and adds and swaps runs while that
betters the criterion (Fedorov's exchange, for several limits at once). Starting from the weights
matters: from random runs it gets stuck at half the efficiency.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.exceptions import DesignError
from airflow_provider_ernest.model.design.limits import Limits, cheapest_regular
from airflow_provider_ernest.model.design.problem import DesignProblem
from airflow_provider_ernest.model.design.selection import completing, greedy_selection, missing_directions
from airflow_provider_ernest.model.parameters import FloatArray, IntArray

IMPROVEMENT = 1e-9
"""The least relative gain that counts: below it, exchanges would only shuffle equal runs."""


def round_design(problem: DesignProblem, weights: FloatArray, *, limits: Limits) -> IntArray:
    """How often to make each run.

    Args:
        problem: the candidates and the criterion.
        weights: the relaxed optimum, shape (n,).
        limits: what the runs must respect.

    Returns:
        Counts of shape (n,) that respect the limits and, with the runs already made, determine all terms
        that they must.

    Raises:
        DesignError: the limits allow no such counts.
    """
    exchange = _Exchange(problem, limits)
    starts = [
        _heaviest(problem, weights, limits=limits),
        _heaviest_that_fit(problem, weights, limits=limits),
        cheapest_regular(problem, runs=limits.min_runs, max_repetitions=limits.max_repetitions),
    ]
    affordable = [
        start for start in starts if start is not None and start @ problem.costs <= limits.highest_cost
    ]
    if not affordable:
        raise DesignError(
            f"No {limits.min_runs} to {limits.max_runs} runs determine all terms within a budget of "
            f"{limits.budget:g}.",
            remedy="Raise the budget or widen the bounds of machines and scale.",
        )
    return min((exchange.improve(start) for start in affordable), key=problem.value)


def _heaviest(problem: DesignProblem, weights: FloatArray, *, limits: Limits) -> IntArray | None:
    """As many runs of the largest weights as the limits allow."""
    preference = np.lexsort((problem.costs, -weights))
    for runs in range(limits.max_runs, limits.min_runs - 1, -1):
        counts = greedy_selection(
            problem.required_rows,
            preference,
            runs=runs,
            max_repetitions=limits.max_repetitions,
            observed_rows=problem.required_known_rows,
        )
        if counts is None or counts @ problem.costs > limits.highest_cost:
            continue
        if np.isfinite(problem.value(counts)):
            return counts
    return None


def _heaviest_that_fit(problem: DesignProblem, weights: FloatArray, *, limits: Limits) -> IntArray | None:
    """Runs in the order of their weights, each taken if the budget also pays for the fewest runs then."""
    costs = problem.costs
    cheapest = np.repeat(np.sort(costs)[: limits.min_runs], limits.max_repetitions)
    by_weight = np.lexsort((costs, -weights))[: np.count_nonzero(weights)]
    preference = np.repeat(np.concatenate([by_weight, np.argsort(costs)]), limits.max_repetitions)
    counts = np.zeros(len(costs), dtype=np.int64)
    runs, left = 0, limits.highest_cost
    for position in preference.tolist():
        reserve = float(cheapest[: max(0, limits.min_runs - runs - 1)].sum())
        fits = counts[position] < limits.max_repetitions and costs[position] + reserve <= left
        if fits and runs < limits.max_runs:
            counts[position] += 1
            runs += 1
            left -= float(costs[position])
    required = np.vstack([problem.required_known_rows, problem.required_rows[counts > 0]])
    told = not missing_directions(required) and np.isfinite(problem.value(counts))
    return counts if told and runs >= limits.min_runs else None


class _Exchange:
    """The neighbourhood of a design: one run more, or one run in the place of another."""

    def __init__(self, problem: DesignProblem, limits: Limits) -> None:
        self._problem = problem
        self._limits = limits

    def improve(self, counts: IntArray) -> IntArray:
        """Descend; then, as long as it helps, take one run out and descend again.

        Taking a run out frees budget: one long run may give way to two short ones, or the reverse.
        """
        counts = self._descend(counts)
        improved = True
        while improved:
            improved = False
            for position in np.flatnonzero(counts):
                fewer = counts.copy()
                fewer[position] -= 1
                if missing_directions(self._required(fewer)) or not np.isfinite(self._problem.value(fewer)):
                    continue
                other = self._descend(fewer)
                if other.sum() >= self._limits.min_runs and self._better(other, counts):
                    counts, improved = other, True
                    break
        return counts

    def _required(self, counts: IntArray) -> FloatArray:
        """What the runs, and those already made, tell of the terms that they must determine."""
        return np.vstack([self._problem.required_known_rows, self._problem.required_rows[counts > 0]])

    def _better(self, counts: IntArray, than: IntArray) -> bool:
        return self._problem.value(counts) < self._problem.value(than) * (1 - IMPROVEMENT)

    def _descend(self, counts: IntArray) -> IntArray:
        """The best addition or swap, again and again until none helps."""
        while True:
            neighbour = self._best_neighbour(counts)
            if neighbour is None or not self._better(neighbour, counts):
                return counts
            counts = neighbour

    def _best_neighbour(self, counts: IntArray) -> IntArray | None:
        """The allowed neighbour with the lowest criterion; adding is swapping with nothing."""
        inverse = np.asarray(np.linalg.inv(self._problem.information(counts)), dtype=np.float64)
        present = np.flatnonzero(counts)
        rows = self._problem.rows
        leaving_rows = np.vstack([np.zeros_like(rows[:1]), rows[present]])
        gains = self._problem.criterion.gains_of_swapping(inverse, rows, leaving_rows)
        gains = np.where(self._allowed(counts, present), gains, 0.0)
        entering, leaving = np.unravel_index(int(np.argmax(gains)), gains.shape)
        if gains[entering, leaving] <= 0:
            return None
        neighbour = counts.copy()
        neighbour[entering] += 1
        if leaving > 0:
            neighbour[present[leaving - 1]] -= 1
        return neighbour

    def _allowed(self, counts: IntArray, present: IntArray) -> NDArray[np.bool_]:
        """Which candidate may enter in the place of nothing (column 0) and of each run that is present."""
        costs, limits = self._problem.costs, self._limits
        new_costs = float(counts @ costs) + costs[:, None] - np.concatenate([[0.0], costs[present]])
        room = (counts < limits.max_repetitions)[:, None]
        allowed = np.asarray((new_costs <= limits.highest_cost) & room, dtype=np.bool_)
        allowed[:, 0] &= counts.sum() < limits.max_runs
        for column, position in enumerate(present, start=1):
            if counts[position] == 1:
                fewer = counts.copy()
                fewer[position] = 0
                allowed[:, column] &= completing(self._problem.required_rows, self._required(fewer))
        return allowed
