"""Options whose value may be given for each type of machine: ``--price-per-hour m5.large=0.096``."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Iterable, Sequence
from typing import TypeVar

from airflow_provider_ernest.cli.options import machine_numbers
from airflow_provider_ernest.exceptions import InvalidParameterError

Value = TypeVar("Value")


def price_by_type(text: str) -> tuple[str | None, float]:
    """A price from ``0.19`` or ``m5.large=0.096``.

    Raises:
        ArgumentTypeError: it is neither; argparse makes a usage error of it.
    """
    instance_type, equals, dollars = text.rpartition("=")
    try:
        price = float(dollars)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is neither dollars nor TYPE=DOLLARS") from None
    if equals and not instance_type:
        raise ArgumentTypeError(f"{text!r} names no type of machine before the =")
    return instance_type or None, price


def machines_by_type(text: str) -> tuple[str | None, list[int]]:
    """Numbers of machines, as `machine_numbers` reads them, with or without ``TYPE=`` before them."""
    instance_type, equals, numbers = text.rpartition("=")
    if equals and not instance_type:
        raise ArgumentTypeError(f"{text!r} names no type of machine before the =")
    return instance_type or None, machine_numbers(numbers)


def by_type(
    option: str,
    given: Iterable[tuple[str | None, Value]],
    types: Sequence[str],
    *,
    one_for_all: bool,
    otherwise: str = "",
) -> dict[str, Value]:
    """The values of an option for each type.

    Args:
        option: its name as a parameter.
        given: its values with the types that they are for; of two for one type the last one counts.
        types: that need one.
        one_for_all: whether a value without a type is for all those that have none of their own.
        otherwise: what else to do about a type without a model, as the end of a sentence.

    Raises:
        InvalidParameterError: a type has none, or there is one for a type that is not among them.
    """
    values = dict(given)
    unknown = [name for name in values if name is not None and name not in types]
    if unknown:
        raise InvalidParameterError(
            option,
            unknown[0],
            "is a type of machine without a model",
            remedy=f"Name {'one of ' if len(types) > 1 else ''}{', '.join(types)}{otherwise}.",
        )
    shared = values.get(None) if one_for_all else None
    missing = [name for name in types if name not in values and shared is None]
    if missing:
        as_option = f"--{option.replace('_', '-')}"
        raise InvalidParameterError(
            option,
            values.get(None),
            f"is for no type in particular, and {' and '.join(missing)} must have one each"
            if None in values
            else f"is missing for {' and '.join(missing)}",
            remedy=f"Give {' '.join(f'{as_option} {name}=...' for name in missing)}.",
        )
    return {name: values[name] if name in values else values[None] for name in types}
