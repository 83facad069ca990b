"""Whole runs that respect all limits, picked in an order of preference.

The sets of runs that determine all terms form a matroid, so picking greedily is exact: in the
order of cost it gives the cheapest selection that determines the terms, and so the least budget
that can work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.model.parameters import FloatArray, IntArray

INDEPENDENT = 1e-5
"""A row counts as independent of others where this share of it is not a combination of theirs."""


def greedy_selection(
    rows: FloatArray,
    preference: IntArray,
    *,
    runs: int,
    max_repetitions: int,
    observed_rows: FloatArray,
    independent: float = INDEPENDENT,
) -> IntArray | None:
    """The most preferred runs that, with those already made, determine all terms.

    Args:
        rows: the candidates' term values, shape (n, p), columns of similar size.
        preference: the candidates' positions, most preferred first, shape (n,).
        runs: how many runs to pick.
        max_repetitions: how often the same candidate may be picked.
        observed_rows: term values of the runs already made, shape (m, p).
        independent: the share of a row that must not be a combination of those picked before.

    Returns:
        How often each candidate is picked, shape (n,), or None where so many runs cannot determine
        the terms.
    """
    essential = _independent(rows, preference, observed_rows, independent)
    if essential is None or len(essential) > runs or runs > len(rows) * max_repetitions:
        return None
    counts = np.zeros(len(rows), dtype=np.int64)
    counts[essential] = 1
    room = np.repeat(preference, max_repetitions - counts[preference])
    np.add.at(counts, room[: runs - len(essential)], 1)
    return counts


def cheapest_selection(
    rows: FloatArray,
    costs: FloatArray,
    *,
    runs: int,
    max_repetitions: int,
    observed_rows: FloatArray,
    independent: float = INDEPENDENT,
) -> IntArray | None:
    """The cheapest so many runs that determine all terms; see `greedy_selection`."""
    by_cost = np.argsort(costs, kind="stable")
    return greedy_selection(
        rows,
        by_cost,
        runs=runs,
        max_repetitions=max_repetitions,
        observed_rows=observed_rows,
        independent=independent,
    )


def missing_directions(observed_rows: FloatArray) -> int:
    """How many independent runs the observed ones, of shape (m, p), lack for determining all p terms."""
    return int(observed_rows.shape[1] - len(_directions(observed_rows)))


def completing(rows: FloatArray, others: FloatArray) -> NDArray[np.bool_]:
    """Which rows, of shape (n, p), each determine all p terms together with the others, of shape (m, p)."""
    directions = _directions(others)
    missing = others.shape[1] - len(directions)
    if missing == 0:
        return np.ones(len(rows), dtype=np.bool_)
    if missing > 1:
        return np.zeros(len(rows), dtype=np.bool_)
    remainder = np.linalg.norm(_without(rows, directions), axis=1)
    return np.asarray(remainder > INDEPENDENT * np.linalg.norm(rows, axis=1), dtype=np.bool_)


def _independent(
    rows: FloatArray, preference: IntArray, observed_rows: FloatArray, independent: float
) -> list[int] | None:
    """The first rows in the order of preference that complete the observed ones to full rank."""
    lengths = np.linalg.norm(rows, axis=1)
    remainder = _without(rows, _directions(observed_rows))
    chosen: list[int] = []
    for _ in range(missing_directions(observed_rows)):
        lengths_left = np.linalg.norm(remainder, axis=1)
        possible = preference[(lengths_left > independent * lengths)[preference]]
        if not possible.size:
            return None
        first = int(possible[0])
        chosen.append(first)
        remainder = _without(remainder, remainder[first : first + 1] / lengths_left[first])
    return chosen


def _directions(rows: FloatArray) -> FloatArray:
    """Orthonormal directions that the rows span, one a row."""
    if not rows.size:
        return rows
    _, singular_values, directions = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(directions[singular_values > INDEPENDENT * singular_values[0]], dtype=np.float64)


def _without(rows: FloatArray, directions: FloatArray) -> FloatArray:
    """The part of each row that is orthogonal to the directions."""
    return np.asarray(rows - (rows @ directions.T) @ directions, dtype=np.float64)
