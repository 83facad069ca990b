"""Checks of single values that the specifications of all kinds of clusters share."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TypeGuard

from airflow_provider_ernest.exceptions import InvalidParameterError

# Spark refuses executors with less than 1.5 times the 300 MB that it reserves for itself.
MIN_MEMORY_MEGABYTES = 450

UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""What no name, path or address may contain: control characters, line separators, halves of characters."""


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a finite number; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def require_whole(field: str, value: object, *, minimum: int, maximum: int | None = None) -> None:
    """Check a count.

    Args:
        field: the parameter's name.
        value: its value.
        minimum: the least allowed.
        maximum: the most allowed; None for no limit.

    Raises:
        InvalidParameterError: it is no whole number within the bounds.
    """
    valid = isinstance(value, int) and not isinstance(value, bool)
    if valid and isinstance(value, int) and minimum <= value and (maximum is None or value <= maximum):
        return
    bounds = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
    raise InvalidParameterError(field, value, f"is not a whole number {bounds}")


def require_number(
    field: str, value: object, *, minimum: float, maximum: float | None = None, unit: str = ""
) -> None:
    """Check a number that need not be whole.

    Args:
        field: the parameter's name.
        value: its value.
        minimum: the least allowed.
        maximum: the most allowed; None for no limit.
        unit: what it counts, such as "seconds".

    Raises:
        InvalidParameterError: it is no finite number within the bounds.
    """
    if is_number(value) and minimum <= value and (maximum is None or value <= maximum):
        return
    what = f"a number of {unit}" if unit else "a number"
    bounds = f"of at least {minimum:g}" if maximum is None else f"from {minimum:g} to {maximum:g}"
    raise InvalidParameterError(field, value, f"is not {what} {bounds}")


def require_price(field: str, value: object) -> None:
    """Check the dollars for a machine and hour: by a price of 0 nothing could be decided.

    Raises:
        InvalidParameterError: it is no finite number above 0.
    """
    if not is_number(value) or value <= 0:
        raise InvalidParameterError(
            field,
            value,
            "is not a number of dollars above 0",
            remedy="Give the dollars for one machine and hour.",
        )


def require_flags(values: Mapping[str, object]) -> None:
    """Check flags by their names.

    Raises:
        InvalidParameterError: one is neither True nor False. The text "False" would count as true.
    """
    for field, value in values.items():
        if not isinstance(value, bool):
            raise InvalidParameterError(field, value, "is neither True nor False")


def require_match(field: str, value: object, form: re.Pattern[str], problem: str, remedy: str = "") -> None:
    """Check a text.

    Args:
        field: the parameter's name.
        value: its value.
        form: that the whole text must have.
        problem: what it is otherwise, as the rest of a sentence that begins with the value.
        remedy: what to write instead, as a sentence.

    Raises:
        InvalidParameterError: it has not that form.
    """
    if not isinstance(value, str) or not form.fullmatch(value):
        raise InvalidParameterError(field, value, problem, remedy=remedy)


def is_line(value: object) -> TypeGuard[str]:
    """Whether it is a text of one line, not empty, without space at its ends."""
    return isinstance(value, str) and value.strip() == value != "" and not UNPRINTABLE.search(value)
