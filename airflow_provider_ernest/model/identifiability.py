"""Which terms a set of runs can tell apart, and which runs would help where it cannot.

Runs on a single number of machines, for instance, cannot tell fixed work from overhead of each
machine: both columns are constant there, and any split of the time between them fits equally well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from airflow_provider_ernest.model.parameters import FloatArray
from airflow_provider_ernest.model.terms import term_named

SMALLEST_SINGULAR_VALUE = 1e-6
"""Columns of unit length count as dependent below this: noise would be amplified a million times."""


def undetermined_terms(rows: FloatArray, terms: Sequence[str]) -> tuple[str, ...]:
    """The terms whose coefficients these runs leave open; none if the columns are independent.

    Args:
        rows: the runs' term values, shape (n, p).
        terms: the p terms' names.
    """
    lengths = np.linalg.norm(rows, axis=0)
    columns = rows / np.where(lengths > 0, lengths, 1.0)
    # Rows of zeros make the decomposition give all p directions when there are fewer runs than terms.
    padding = np.zeros((max(0, len(terms) - len(columns)), len(terms)))
    _, singular_values, directions = np.linalg.svd(np.vstack([columns, padding]), full_matrices=False)
    open_directions = directions[singular_values <= SMALLEST_SINGULAR_VALUE * singular_values[0]]
    involved = np.any(np.abs(open_directions) > SMALLEST_SINGULAR_VALUE, axis=0)
    return tuple(name for name, is_open in zip(terms, involved, strict=True) if is_open)


def runs_to_add(undetermined: Sequence[str], *, machines: FloatArray, scale: FloatArray) -> str:
    """What further runs would tell the terms apart, as a sentence.

    Args:
        undetermined: the result of `undetermined_terms`.
        machines: the numbers of machines of the runs there are, shape (n,).
        scale: their shares of the input, shape (n,).
    """
    counts = np.unique(machines)
    listed = _listed(counts)
    needed = sum(not _depends_on_scale(name) for name in undetermined)
    if counts.size < needed:
        return f"Use at least {needed} different numbers of machines (now: {listed})."
    if np.unique(scale).size == 1:
        return f"Use more than one scale (now: {scale[0]:g})."
    return f"Vary the scale and the number of machines independently of each other (machines now: {listed})."


def _listed(counts: FloatArray, most: int = 8) -> str:
    names = [f"{count:g}" for count in counts]
    return ", ".join(names if len(names) <= most else [*names[: most - 1], "...", names[-1]])


def _depends_on_scale(name: str) -> bool:
    column = term_named(name).column
    machines = np.array([2.0, 2.0])
    small, large = column(machines=machines, scale=np.array([0.1, 1.0]))
    return bool(small != large)
