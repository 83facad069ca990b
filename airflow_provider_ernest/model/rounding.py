"""Whole runs from a relaxed optimal design, by exchange.

The relaxed optimum weighs each candidate with a real number; what can be run is whole. The
exchange starts from the candidates with the largest weights and adds and swaps runs while that
lowers the A-criterion (Fedorov's exchange, for several limits at once). Starting from the weights
matters: from random runs it gets stuck at half the efficiency.
"""

from __future__ import annotations

import numpy as np

from airflow_provider_ernest.exceptions import DesignError
from airflow_provider_ernest.model.information import a_criterion, information_matrix
from airflow_provider_ernest.model.limits import Limits
from airflow_provider_ernest.model.parameters import FloatArray, IntArray
from airflow_provider_ernest.model.selection import cheapest_selection, greedy_selection

IMPROVEMENT = 1e-9
"""The least relative gain that counts: below it, exchanges would only shuffle equal runs."""


def round_design(
    rows: FloatArray,
    costs: FloatArray,
    weights: FloatArray,
    *,
    limits: Limits,
    observed_rows: FloatArray,
) -> IntArray:
    """How often to make each run.

    Args:
        rows: the candidates' term values, shape (n, p), columns of similar size.
        costs: their costs, shape (n,).
        weights: the relaxed optimum, shape (n,).
        limits: what the runs must respect.
        observed_rows: term values of the runs already made, shape (m, p).

    Returns:
        Counts of shape (n,) that respect the limits and, with the observed runs, determine all terms.

    Raises:
        DesignError: the limits allow no such counts.
    """
    exchange = _Exchange(rows, costs, limits, observed_rows)
    starts = [
        _heaviest(rows, costs, weights, limits=limits, observed_rows=observed_rows),
        cheapest_selection(
            rows,
            costs,
            runs=limits.min_runs,
            max_repetitions=limits.max_repetitions,
            observed_rows=observed_rows,
        ),
    ]
    affordable = [start for start in starts if start is not None and start @ costs <= limits.highest_cost]
    if not affordable:
        raise DesignError(
            f"No {limits.min_runs} to {limits.max_runs} runs determine all terms within a budget of "
            f"{limits.budget:g}.",
            remedy="Raise the budget or widen the bounds of machines and scale.",
        )
    return min((exchange.improve(start) for start in affordable), key=exchange.criterion)


def _heaviest(
    rows: FloatArray, costs: FloatArray, weights: FloatArray, *, limits: Limits, observed_rows: FloatArray
) -> IntArray | None:
    """As many runs of the largest weights as the limits allow."""
    preference = np.lexsort((costs, -weights))
    for runs in range(limits.max_runs, limits.min_runs - 1, -1):
        counts = greedy_selection(
            rows,
            preference,
            runs=runs,
            max_repetitions=limits.max_repetitions,
            observed_rows=observed_rows,
        )
        if counts is not None and counts @ costs <= limits.highest_cost:
            return counts
    return None


class _Exchange:
    """The neighbourhood of a design: one run more, or one run in the place of another."""

    def __init__(
        self, rows: FloatArray, costs: FloatArray, limits: Limits, observed_rows: FloatArray
    ) -> None:
        self._rows = rows
        self._costs = costs
        self._limits = limits
        self._observed_rows = observed_rows

    def criterion(self, counts: IntArray) -> float:
        return a_criterion(information_matrix(self._rows, counts, self._observed_rows))

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
                if not np.isfinite(self.criterion(fewer)):
                    continue
                other = self._descend(fewer)
                if other.sum() >= self._limits.min_runs and self._better(other, counts):
                    counts, improved = other, True
                    break
        return counts

    def _better(self, counts: IntArray, than: IntArray) -> bool:
        return self.criterion(counts) < self.criterion(than) * (1 - IMPROVEMENT)

    def _descend(self, counts: IntArray) -> IntArray:
        """The best addition or swap, again and again until none helps."""
        while True:
            neighbour = self._best_neighbour(counts)
            if neighbour is None or not self._better(neighbour, counts):
                return counts
            counts = neighbour

    def _best_neighbour(self, counts: IntArray) -> IntArray | None:
        """The allowed neighbour with the lowest criterion; adding is swapping with nothing."""
        information = information_matrix(self._rows, counts, self._observed_rows)
        inverse = np.asarray(np.linalg.inv(information), dtype=np.float64)
        present = np.flatnonzero(counts)
        leaving_rows = np.vstack([np.zeros_like(self._rows[:1]), self._rows[present]])
        leaving_costs = np.concatenate([[0.0], self._costs[present]])
        new_costs = counts @ self._costs + self._costs[:, None] - leaving_costs
        allowed = (new_costs <= self._limits.highest_cost) & (counts < self._limits.max_repetitions)[:, None]
        allowed[:, 0] &= counts.sum() < self._limits.max_runs
        gains = np.where(allowed, _gains_of_swapping(inverse, self._rows, leaving_rows), 0.0)
        entering, leaving = np.unravel_index(int(np.argmax(gains)), gains.shape)
        if gains[entering, leaving] <= 0:
            return None
        neighbour = counts.copy()
        neighbour[entering] += 1
        if leaving > 0:
            neighbour[present[leaving - 1]] -= 1
        return neighbour


def _gains_of_swapping(inverse: FloatArray, entering: FloatArray, leaving: FloatArray) -> FloatArray:
    """By how much each entering row in the place of each leaving one lowers the trace of the inverse.

    Woodbury's identity with U = [a, b], a entering and b leaving: the trace falls by that of
    ``S^-1 U^T inverse^2 U`` with ``S = diag(1, -1) + U^T inverse U``, here written out for all pairs.

    Returns:
        Array of shape (entering, leaving), 0 where the matrix would become singular.
    """
    projected_in, projected_out = entering @ inverse, leaving @ inverse
    gained = 1 + np.sum(projected_in * entering, axis=1)[:, None]
    kept = 1 - np.sum(projected_out * leaving, axis=1)
    cross = projected_in @ leaving.T
    determinant = gained * kept + cross**2
    numerator = (
        kept * np.sum(projected_in**2, axis=1)[:, None]
        + 2 * cross * (projected_in @ projected_out.T)
        - gained * np.sum(projected_out**2, axis=1)
    )
    regular = determinant > IMPROVEMENT
    return np.where(regular, numerator / np.where(regular, determinant, 1.0), 0.0)
