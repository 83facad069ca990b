"""The terms that a model may have: non-negative columns with a physical meaning (Ernest, section 3.1).

A prediction is the sum of coefficient times term, so each term shows how many seconds of the run
it explains. A term must not be negative anywhere: coefficients are not negative either, and no
part of a run takes negative time. That is why the paper's ``scale * log2(scale * n) / machines``
(sorting) is not here: on small samples it is below 0 unless the number of items, n, is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.parameters import FloatArray, machines_and_scale


class Column(Protocol):
    """The value of a term for each run; keyword-only, for machines and scale must not be swapped."""

    def __call__(self, *, machines: FloatArray, scale: FloatArray) -> FloatArray:
        """Arrays of shape (n,) in and out."""


@dataclass(frozen=True)
class Term:
    """One term of a model.

    Attributes:
        name: the formula, in machines and scale.
        meaning: what the time that it explains is spent on, for people.
        column: the formula as a function.
    """

    name: str
    meaning: str
    column: Column


def _library(*terms: Term) -> Mapping[str, Term]:
    return MappingProxyType({term.name: term for term in terms})


TERMS: Mapping[str, Term] = _library(
    Term("1", "fixed work", lambda *, machines, scale: np.ones_like(machines)),
    Term(
        "scale/machines",
        "work that spreads over the machines",
        lambda *, machines, scale: scale / machines,
    ),
    Term("log(machines)", "tree aggregation", lambda *, machines, scale: np.log(machines)),
    Term("machines", "overhead of each machine", lambda *, machines, scale: machines),
    Term("sqrt(machines)", "two-stage aggregation", lambda *, machines, scale: np.sqrt(machines)),
    Term(
        "scale^2/machines",
        "work that grows with the square of the data and spreads",
        lambda *, machines, scale: scale**2 / machines,
    ),
    Term("scale", "work on the data that does not spread", lambda *, machines, scale: scale),
    Term(
        "scale/sqrt(machines)",
        "work that spreads unevenly (skew)",
        lambda *, machines, scale: scale / np.sqrt(machines),
    ),
)
"""All known terms by name."""

ERNEST: tuple[str, ...] = ("1", "scale/machines", "log(machines)", "machines")
"""The four terms of the original model (Ernest, equation 1); the logarithm is the natural one."""


def check_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """The names as a tuple, if each is known and none is named twice.

    Raises:
        InvalidParameterError: there is none, one is unknown, or one is repeated.
    """
    names = (terms,) if isinstance(terms, str) else tuple(terms)
    known = f"Known terms are {quoted(list(TERMS))}."
    if not names:
        raise InvalidParameterError("terms", terms, "is empty", remedy=known)
    for name in names:
        if name not in TERMS:
            raise InvalidParameterError("terms", name, "is not a known term", remedy=known)
    if len(set(names)) < len(names):
        raise InvalidParameterError("terms", names, "names a term twice", remedy="Name each term once.")
    return names


def quoted(terms: Sequence[str]) -> str:
    """The names for a message."""
    return ", ".join(f'"{name}"' for name in terms)


def basis(terms: Sequence[str], *, machines: ArrayLike, scale: ArrayLike) -> FloatArray:
    """The terms' values for each run.

    Args:
        terms: names of p terms.
        machines: n numbers of machines, each >= 1, or a single one for all runs.
        scale: n shares of the target input, each > 0, or a single one for all runs.

    Returns:
        Array of shape (n, p), one column a term.

    Raises:
        InvalidParameterError: a term is unknown, or a value does not fit.
    """
    names = check_terms(terms)
    machine_column, scale_column = machines_and_scale(machines=machines, scale=scale)
    columns = [TERMS[name].column(machines=machine_column, scale=scale_column) for name in names]
    return np.column_stack(columns)
