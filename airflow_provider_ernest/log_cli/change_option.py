"""The option --what-if: other machines, as NAME=NUMBER."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.monotasks.machine_change import Change

FACTORS = ("cpu", "network", "disk")
"""How many times as fast a core, the network or the disks of a machine are."""

COUNTS = ("cores", "machines")
"""How many."""

CHANGE_HELP = (
    "predict the run on other machines: how many times as fast a core (cpu), the network or the disks (disk) "
    "of a machine are, how many cores it has, and how many machines there are, such as disk=2 network=0.5 "
    "cores=8; may be repeated, each for a prediction of its own"
)


def one_change(text: str) -> tuple[str, float]:
    """A name and a number of ``NAME=NUMBER``.

    Raises:
        ArgumentTypeError: it is none; argparse makes a usage error of it.
    """
    name, _, number = text.partition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if name not in (*FACTORS, *COUNTS) or not (math.isfinite(value) and value > 0):
        names = ", ".join((*FACTORS, *COUNTS))
        raise ArgumentTypeError(
            f"{text!r} is not NAME=NUMBER with a number above 0 and a name of {names}; event logs stand "
            "before this option"
        )
    if name in COUNTS and value != int(value):
        raise ArgumentTypeError(f"{text!r} is no whole number")
    return name, value


def changes_of(asked: Sequence[Sequence[tuple[str, float]]] | None) -> tuple[Change, ...] | None:
    """The changes that the options name; None where there are none.

    Raises:
        InvalidParameterError: one of them names the same thing twice.
    """
    from airflow_provider_ernest.spark.monotasks.machine_change import Change

    if asked is None:
        return None
    changes = []
    for parts in asked:
        _refuse_twice(parts)
        told = dict(parts)
        factors = {name: told[name] for name in FACTORS if name in told}
        counts = {name: int(told[name]) for name in COUNTS if name in told}
        changes.append(
            Change(
                cpu=factors.get("cpu", 1.0),
                network=factors.get("network", 1.0),
                disk=factors.get("disk", 1.0),
                cores=counts.get("cores"),
                machines=counts.get("machines"),
            )
        )
    return tuple(changes)


def _refuse_twice(parts: Sequence[tuple[str, float]]) -> None:
    names = [name for name, _ in parts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidParameterError(
            "what_if", twice, "is named twice", remedy="Give --what-if again for a second prediction."
        )
