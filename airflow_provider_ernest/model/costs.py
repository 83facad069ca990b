"""What a sample run costs, in the unit that the budget of an experiment design is given in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.candidates import Candidates
from airflow_provider_ernest.model.parameters import FloatArray, number_not_negative, positive_number

Cost: TypeAlias = Callable[[Candidates], FloatArray]
"""Gives the expected cost of each of n candidates, shape (n,), all above 0."""

UNITS = {
    "relative_time": "cheapest runs",
    "seconds": "seconds",
    "machine_seconds": "machine seconds",
    "dollars": "dollars",
}
"""The named costs with their units."""


def relative_time(candidates: Candidates) -> FloatArray:
    """``scale/machines`` relative to the cheapest candidate: the cost of the paper (section 3.2).

    It needs no knowledge of the job, but takes runs on many machines for nearly free.
    """
    time = candidates.scale / candidates.machines
    return np.asarray(time / time.min(), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class ExpectedSeconds:
    """The seconds that a run is expected to take, were its work to spread perfectly.

    Attributes:
        full_seconds_on_one_machine: a guess of the whole input's time on one machine, without overhead.
        run_overhead_seconds: what every run takes besides: start-up, planning, result.
    """

    full_seconds_on_one_machine: float
    run_overhead_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Refuse guesses that no run could have."""
        positive_number("full_seconds_on_one_machine", self.full_seconds_on_one_machine)
        number_not_negative("run_overhead_seconds", self.run_overhead_seconds)

    def __call__(self, candidates: Candidates) -> FloatArray:
        """Seconds of each candidate, shape (n,)."""
        work = self.full_seconds_on_one_machine * candidates.scale / candidates.machines
        return np.asarray(self.run_overhead_seconds + work, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class MachineSeconds(ExpectedSeconds):
    """The expected seconds of a run times its machines: what is paid for.

    Attributes: those of `ExpectedSeconds`.
    """

    def __call__(self, candidates: Candidates) -> FloatArray:
        """Machine seconds of each candidate, shape (n,)."""
        return np.asarray(super().__call__(candidates) * candidates.machines, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Dollars(MachineSeconds):
    """The price of the expected machine seconds of a run.

    Attributes:
        price_per_hour: dollars for one machine and hour. The others are those of `ExpectedSeconds`.
    """

    price_per_hour: float

    def __post_init__(self) -> None:
        """Refuse machines that cost nothing."""
        super().__post_init__()
        positive_number("price_per_hour", self.price_per_hour)

    def __call__(self, candidates: Candidates) -> FloatArray:
        """Dollars of each candidate, shape (n,)."""
        return np.asarray(super().__call__(candidates) * self.price_per_hour / 3600.0, dtype=np.float64)


def resolve_cost(
    cost: str | Cost,
    *,
    full_seconds_on_one_machine: float | None = None,
    run_overhead_seconds: float = 0.0,
    price_per_hour: float | None = None,
) -> tuple[Cost, str]:
    """The cost of that name, or a cost of the user's own, and its unit.

    Args:
        cost: "relative_time", "seconds", "machine_seconds", "dollars", or a function of the candidates.
        full_seconds_on_one_machine: see `ExpectedSeconds`; all named costs but "relative_time" need it.
        run_overhead_seconds: see `ExpectedSeconds`.
        price_per_hour: dollars for one machine and hour; "dollars" needs it.

    Returns:
        The cost, which checks that what it returns is positive and finite, and the name of its unit.

    Raises:
        InvalidParameterError: the name is unknown, or a number that it needs is missing or cannot be.
    """
    if callable(cost):
        return _checked(cost), "cost units"
    if cost not in UNITS:
        names = ", ".join(f'"{name}"' for name in UNITS)
        raise InvalidParameterError(
            "cost", cost, "is not a known cost", remedy=f"Use one of {names}, or a function."
        )
    return _checked(
        _named_cost(cost, full_seconds_on_one_machine, run_overhead_seconds, price_per_hour)
    ), UNITS[cost]


def _named_cost(cost: str, full_seconds: float | None, overhead_seconds: float, price: float | None) -> Cost:
    if cost == "relative_time":
        return relative_time
    seconds = _needed(
        cost,
        "full_seconds_on_one_machine",
        full_seconds,
        "Give a rough guess of the whole input's seconds on one machine.",
    )
    if cost == "dollars":
        return Dollars(
            full_seconds_on_one_machine=seconds,
            run_overhead_seconds=overhead_seconds,
            price_per_hour=_needed(
                cost, "price_per_hour", price, "Give the dollars for one machine and hour."
            ),
        )
    kind = ExpectedSeconds if cost == "seconds" else MachineSeconds
    return kind(full_seconds_on_one_machine=seconds, run_overhead_seconds=overhead_seconds)


def _needed(cost: str, parameter: str, value: float | None, remedy: str) -> float:
    if value is None:
        raise InvalidParameterError(
            parameter,
            value,
            f'is missing, and cost="{cost}" needs it',
            remedy=f'{remedy} Or use "relative_time".',
        )
    return value


def _checked(cost: Cost) -> Cost:
    """The cost, refusing what no budget can be reckoned with when it is called."""

    def checked_cost(candidates: Candidates) -> FloatArray:
        values = np.asarray(cost(candidates), dtype=np.float64)
        if values.shape != (len(candidates),):
            raise InvalidParameterError(
                "cost",
                cost,
                f"gave an array of shape {values.shape} for {len(candidates)} candidates",
                remedy="Return one number for each candidate.",
            )
        wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
        if wrong.size:
            first = int(wrong[0])
            raise InvalidParameterError(
                "cost",
                cost,
                f"is {values[first]} for {candidates.machines[first]} machines and scale "
                f"{candidates.scale[first]:g}, which is not a finite number above 0",
                remedy="Every run must cost something.",
            )
        return values

    return checked_cost
