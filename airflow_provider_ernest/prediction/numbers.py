"""Checks of the numbers that users pass to the modelling functions.

Each returns the value in the type that the calculations need, or raises an `InvalidParameterError` that
names the parameter, and for columns of numbers the position.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, TypeAlias

from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = "NDArray[np.float64]"
IntArray: TypeAlias = "NDArray[np.int64]"


def positive_number(parameter: str, value: float) -> float:
    """A finite number above 0."""
    return _number(parameter, value, zero_allowed=False)


def number_not_negative(parameter: str, value: float) -> float:
    """A finite number of at least 0."""
    return _number(parameter, value, zero_allowed=True)


def _number(parameter: str, value: float, *, zero_allowed: bool) -> float:
    try:
        number = math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero_allowed):
        bound = "of at least 0" if zero_allowed else "above 0"
        raise InvalidParameterError(parameter, value, f"is not a finite number {bound}")
    return number


def whole_number(parameter: str, value: int, *, minimum: int = 1) -> int:
    """A whole number of at least `minimum`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = minimum - 1
    if number < minimum:
        raise InvalidParameterError(parameter, value, f"is not a whole number of at least {minimum}")
    return number


def raised(value: float, *, digits: int) -> float:
    """A positive number rounded up to so many digits, because what is proposed must be enough."""
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    return float(f"{math.ceil(value / unit * (1 - 1e-12)) * unit:.{digits}g}")


def rounded_up(value: float) -> str:
    """A positive number rounded up to six digits, for error messages."""
    return f"{raised(value, digits=6):.6g}"


def positive_column(parameter: str, values: ArrayLike, *, minimum: float = 0.0) -> FloatArray:
    """Finite numbers above 0 and not below `minimum`, as an array of shape (n,); a number becomes (1,)."""
    import numpy as np

    try:
        column = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(parameter, values, f"is not a sequence of numbers: {error}") from error
    if column.ndim != 1:
        raise InvalidParameterError(parameter, values, "must have one dimension")
    wrong = np.flatnonzero(~(np.isfinite(column) & (column > 0) & (column >= minimum)))
    if wrong.size:
        position = int(wrong[0])
        bound = f"of at least {minimum:g}" if minimum > 0 else "above 0"
        raise InvalidParameterError(
            f"{parameter}[{position}]", float(column[position]), f"is not a finite number {bound}"
        )
    return column


def executors_and_scale(*, executors: ArrayLike, scale: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both columns checked (executors >= 1, scale > 0) and of one shape (n,); a single number is repeated."""
    import numpy as np

    executor_column = positive_column("executors", executors, minimum=1.0)
    scale_column = positive_column("scale", scale)
    lengths = {executor_column.size, scale_column.size} - {1}
    if len(lengths) > 1:
        raise InvalidParameterError(
            "scale",
            scale_column.tolist(),
            f"has {scale_column.size} values where executors has {executor_column.size}",
            remedy="Pass as many scales as numbers of executors, or a single one.",
        )
    executor_column, scale_column = np.broadcast_arrays(executor_column, scale_column)
    return executor_column, scale_column


def seconds_of_runs(seconds: ArrayLike, runs: int) -> FloatArray:
    """The time of each run, finite and above 0, shape (runs,)."""
    column = positive_column("seconds", seconds)
    if column.size != runs:
        raise _wrong_length("seconds", column, runs, remedy="Pass the seconds of each run.")
    return column


def _wrong_length(parameter: str, column: FloatArray, runs: int, *, remedy: str) -> InvalidParameterError:
    problem = f"has {column.size} values for {runs} runs"
    return InvalidParameterError(parameter, column.tolist(), problem, remedy=remedy)


def column_for_runs(parameter: str, values: ArrayLike, runs: int, *, minimum: float = 0.0) -> FloatArray:
    """As `positive_column`, one for each run, shape (runs,); a single number is repeated."""
    import numpy as np

    column = positive_column(parameter, values, minimum=minimum)
    if column.size not in (1, runs):
        raise _wrong_length(parameter, column, runs, remedy="Pass one for each run, or a single one.")
    return np.broadcast_to(column, (runs,))
