"""Terms written as formulas: ``"scale^1.5/machines"`` or ``"max(scale/machines - 0.05, 0)"``.

A formula is data: it can be stored with a model and read back elsewhere, which a Python function
cannot. It is parsed, never executed: only numbers, ``machines``, ``scale``, the operators
``+ - * / ^`` and a few functions can occur in it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.parameters import FloatArray

VARIABLES = ("machines", "scale")

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

LONGEST = 200
"""Characters; a longer formula is no term that a person could explain."""


class Formula:
    """A formula in machines and scale, as the column of a term.

    Args:
        text: the formula; ``^`` and ``**`` both raise to a power.

    Raises:
        InvalidParameterError: the text is no such formula.

    Example:
        >>> import numpy as np
        >>> spilling = Formula("max(scale/machines - 0.05, 0)")
        >>> spilling(machines=np.array([1.0, 4.0]), scale=np.array([0.1, 0.1])).tolist()
        [0.05, 0.0]
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            if len(text) > LONGEST:
                raise ValueError(f"it is longer than {LONGEST} characters")
            # Written as a power from the start: in Python ^ binds less than + does.
            self._root = ast.parse(text.replace("^", "**").strip(), mode="eval").body
            self._check(self._root)
        except (SyntaxError, ValueError, RecursionError) as error:
            raise InvalidParameterError(
                "terms",
                text,
                f"is neither a known term nor a formula: {error}",
                remedy="Name a term of model.terms.TERMS, or write a formula with "
                f"{', '.join(VARIABLES)}, numbers, + - * / ^ and {', '.join(FUNCTIONS)}.",
            ) from error

    def __call__(self, *, machines: FloatArray, scale: FloatArray) -> FloatArray:
        """The formula's value for each run, shape (n,); not finite where it has none."""
        with np.errstate(all="ignore"):
            value = self._value(self._root, {"machines": machines, "scale": scale})
        return np.asarray(np.broadcast_to(value, machines.shape), dtype=np.float64)

    def _check(self, node: ast.expr) -> None:
        """Refuse everything that is no arithmetic."""
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return
            case ast.Name(id=name) if name in VARIABLES:
                return
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in OPERATORS:
                self._check(left)
                self._check(right)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                self._check(operand)
            case ast.Call(func=ast.Name(id=name), args=[_, *_] as arguments, keywords=[]) if (
                name in FUNCTIONS
            ):
                if (len(arguments) == 1) == (name in ("max", "min")):
                    raise ValueError(f"{name} has {len(arguments)} arguments")
                for argument in arguments:
                    self._check(argument)
            case _:
                raise ValueError(f"{ast.unparse(node)!r} is not arithmetic on {' and '.join(VARIABLES)}")

    def _value(self, node: ast.expr, variables: dict[str, FloatArray]) -> Any:
        match node:
            case ast.Constant(value=number):
                # As a float: whole powers of whole numbers could grow without end.
                return np.float64(number)  # type: ignore[arg-type]
            case ast.Name(id=name):
                return variables[name]
            case ast.BinOp(left=left, op=operation, right=right):
                return OPERATORS[type(operation)](self._value(left, variables), self._value(right, variables))
            case ast.UnaryOp(operand=operand):
                return -self._value(operand, variables)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return FUNCTIONS[name](*(self._value(argument, variables) for argument in arguments))
        raise AssertionError(node)
