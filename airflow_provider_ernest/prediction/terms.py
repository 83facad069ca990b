"""The terms that a model may have: non-negative columns with a physical meaning (Ernest, section 3.1).

A prediction is the sum of coefficient times term, so each term shows how many seconds of the run it
explains. A term must not be negative anywhere: coefficients are not negative either, and no part of a run
takes negative time. A job that none of these describes can bring its own terms: a formula such as
``"max(scale/executors - 0.05, 0)"`` stands for itself wherever names of terms are given (see `Formula`).
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType
from typing import Any, Protocol, Required, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.numbers import FloatArray, column_for_runs, executors_and_scale
from airflow_provider_ernest.words import plain


class Column(Protocol):
    """A value for each run; keyword-only, for executors and scale must not be swapped."""

    def __call__(self, *, executors: FloatArray, scale: FloatArray) -> FloatArray:
        """Arrays of shape (n,) in and out."""


@dataclass(frozen=True)
class Term:
    """One term of a model."""

    name: str  # the formula, in executors and scale
    meaning: str  # what the time that it explains is spent on, for people
    column: Column
    # done by the executors that really work, fewer than there are if the driver takes one or tasks are few
    spreads: bool = False


VARIABLES = ("executors", "scale")

OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "log": np.log,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "max": lambda *values: reduce(np.maximum, values),
    "min": lambda *values: reduce(np.minimum, values),
}

LONGEST = 200  # characters; a longer formula is no term that a person could explain


class Formula:
    """A term written as a formula: ``"scale^1.5/executors"`` or ``"max(scale/executors - 0.05, 0)"``.

    A formula is data: it is stored with a model and read back elsewhere. It is parsed, never executed: only
    numbers, ``executors``, ``scale``, ``+ - * / ^`` and a few functions can occur in it. ``^`` and ``**``
    both raise to a power.

    Raises:
        InvalidParameterError: the text is no such formula.

    Example:
        >>> import numpy as np
        >>> spilling = Formula("max(scale/executors - 0.05, 0)")
        >>> spilling(executors=np.array([1.0, 4.0]), scale=np.array([0.1, 0.1])).tolist()
        [0.05, 0.0]
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            if len(text) > LONGEST:
                raise ValueError(f"it is longer than {LONGEST} characters")
            # Written as a power from the start: in Python ^ binds less than + does.
            self._value = _value_of(ast.parse(text.replace("^", "**").strip(), mode="eval").body)
        except (SyntaxError, ValueError, RecursionError) as error:
            raise InvalidParameterError(
                "terms",
                text,
                f"is neither a known term nor a formula: {error}",
                remedy="Name a term of prediction.terms.TERMS, or write a formula with "
                f"{', '.join(VARIABLES)}, numbers, + - * / ^ and {', '.join(FUNCTIONS)}.",
            ) from error

    def __call__(self, *, executors: FloatArray, scale: FloatArray) -> FloatArray:
        """The formula's value for each run, shape (n,); not finite where it has none."""
        with np.errstate(all="ignore"):
            value = self._value({"executors": executors, "scale": scale})
        return np.asarray(np.broadcast_to(value, executors.shape), dtype=np.float64)


def _value_of(node: ast.expr) -> Callable[[dict[str, FloatArray]], Any]:
    """The value of an expression as a function of the variables; refuses everything that is no arithmetic."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            # As a float: whole powers of whole numbers could grow without end.
            return lambda _: np.float64(number)
        case ast.Name(id=name) if name in VARIABLES:
            return operator.itemgetter(name)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in OPERATORS:
            apply, one, other = OPERATORS[type(operation)], _value_of(left), _value_of(right)
            return lambda variables: apply(one(variables), other(variables))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            positive = _value_of(operand)
            return lambda variables: -positive(variables)
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as arguments, keywords=[]) if name in FUNCTIONS:
            if (len(arguments) == 1) == (name in ("max", "min")):
                raise ValueError(f"{name} has {len(arguments)} arguments")
            values = [_value_of(argument) for argument in arguments]
            return lambda variables: FUNCTIONS[name](*(value(variables) for value in values))
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is not arithmetic on {' and '.join(VARIABLES)}")


_MEANINGS = {
    "1": "fixed work",
    "scale/executors": "work that spreads",
    "log(executors)": "tree aggregation",
    "executors": "overhead of scaling out",
    "sqrt(executors)": "two-stage aggregation",
    "scale^2/executors": "work that grows with the square of the data and spreads",
    # Of the whole input; the logarithm hardly depends on their number.
    "scale*log2(1e9*scale)/executors": "sorting, for 1e9 records in the whole input",
    "scale": "work on the data that does not spread",
    "scale/sqrt(executors)": "work that spreads unevenly (skew)",
    "1/executors": "fixed work that spreads",
}

# As they are computed where that is not as the name says: no logarithm is below 0.
_COMPUTED = {
    "scale^2/executors": "scale*scale/executors",
    "scale*log2(1e9*scale)/executors": "scale*log2(max(1e9*scale, 1))/executors",
}

TERMS: Mapping[str, Term] = MappingProxyType(
    {
        name: Term(name, meaning, Formula(_COMPUTED.get(name, name)), spreads="/" in name)
        for name, meaning in _MEANINGS.items()
    }
)
"""The library of terms by name."""

ERNEST = ("1", "scale/executors", "log(executors)", "executors")
"""The four terms of the original model (Ernest, equation 1); the logarithm is the natural one."""

OPTEX = ("1", "executors", "1/executors", "scale/executors")
"""The terms of OptEx's closed form at a fixed number of iterations."""

DICTIONARY = ("1", "scale", "scale/executors", "scale/sqrt(executors)", "log(executors)", "executors")
"""The terms over whose subsets the averaging of terms goes."""

CLIFF = re.compile(r"max\(scale/executors - (\d[\d.e+-]*), 0\)")
"""Work that begins when memory runs out: what an executor holds beyond a share of the input."""

FIXED_TERM = "1"  # the term that does not iterate: an iterative job starts up and reads its input once


def term_named(name: str) -> Term:
    """The library's term of that name, or the term that the name is the formula of; refused if neither."""
    if not isinstance(name, str):
        raise InvalidParameterError(
            "terms", name, "is not a name", remedy="Name the terms by their formulas."
        )
    known = TERMS.get("".join(name.split()))
    if known:
        return known
    cliff = CLIFF.fullmatch(name)
    meaning = (
        f"spilling what an executor has beyond {cliff[1]} of the data" if cliff else "a term of your own"
    )
    return Term(name, meaning, Formula(name), spreads=bool(cliff))


def check_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """The names as a tuple; refused if none is given, one is unknown and no formula, or one repeated."""
    given = (terms,) if isinstance(terms, str) else tuple(terms)
    if not given:
        known = f"Known terms are {quoted(list(TERMS))}."
        raise InvalidParameterError("terms", terms, "is empty", remedy=known)
    names = tuple(term_named(name).name for name in given)
    if len(set(names)) < len(names):
        raise InvalidParameterError("terms", names, "names a term twice", remedy="Name each term once.")
    return names


def quoted(terms: Sequence[str]) -> str:
    """The names for a message."""
    return ", ".join(f'"{name}"' for name in terms)


class _Sizes(TypedDict, total=False):
    executors: Required[ArrayLike]
    scale: Required[ArrayLike]
    workers: ArrayLike | None
    row_width: ArrayLike


class RunColumns(_Sizes, total=False):
    """Runs that are asked about, as keywords; see `Runs`."""

    iteration_ratio: float


class ObservedColumns(_Sizes, total=False):
    """Runs that were made, as keywords, each of shape (n,); the rest as `Runs` has it by default."""

    seconds: Required[ArrayLike]
    replay_errors: ArrayLike  # see `Observation.replay_error`; 0 by default


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Runs that are asked about, each column of n values or one for all runs."""

    executors: ArrayLike  # each >= 1
    scale: ArrayLike  # shares of the target input, each > 0
    workers: ArrayLike | None = None  # the executors that share the work which spreads, above 0; None for all
    row_width: ArrayLike = 1.0  # the data in a row, as a multiple of a row of the target input's
    iteration_ratio: float = 1.0  # what all terms but the fixed one are multiplied by

    def columns(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Executors, scale, workers and widths of rows, shape (n,) each."""
        executors, scale = executors_and_scale(executors=self.executors, scale=self.scale)
        workers = executors
        if self.workers is not None:
            workers = column_for_runs("workers", self.workers, executors.size)
        return executors, scale, workers, column_for_runs("row_width", self.row_width, executors.size)


def basis(terms: Sequence[str], **runs: Unpack[RunColumns]) -> FloatArray:
    """The terms' values for each of the n runs that `Runs` describes, shape (n, p): one column a term.

    Raises:
        InvalidParameterError: a term is unknown or negative, or a value does not fit.
    """
    names, asked = check_terms(terms), Runs(**runs)
    executors, scale, workers, _ = asked.columns()
    columns = []
    for name in names:
        term = term_named(name)
        column = term.column(executors=workers if term.spreads else executors, scale=scale)
        wrong = np.flatnonzero(~(np.isfinite(column) & (column >= 0)))
        if wrong.size:
            at = int(wrong[0])
            raise InvalidParameterError(
                "terms",
                name,
                f"is {column[at]:g} for {executors[at]:g} executors and scale {plain(scale[at])}",
                remedy="A term is part of a run's time: it must be a finite number of at least 0 for each "
                "run.",
            )
        columns.append(column)
    return np.column_stack(columns) * iteration_factors(names, asked.iteration_ratio)


def iteration_factors(terms: Sequence[str], ratio: float) -> FloatArray:
    """What each term is multiplied by for `ratio` times the iterations, shape (p,)."""
    return np.array([1.0 if name == FIXED_TERM else ratio for name in terms])
