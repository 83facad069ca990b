"""What a sample run costs, in the unit that the budget of an experiment design is given in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np

from airflow_provider_ernest.choices import COST_UNITS
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.design.candidates import Candidates
from airflow_provider_ernest.model.parameters import (
    FloatArray,
    IntArray,
    number_not_negative,
    positive_number,
)

Cost: TypeAlias = Callable[[Candidates], FloatArray]
"""Gives the expected cost of each of n candidates, shape (n,), all above 0."""


@dataclass(frozen=True, kw_only=True)
class RelativeTime:
    """``scale/machines`` relative to the cheapest candidate: the cost of the paper (section 3.2).

    It needs no knowledge of the job, but takes runs on many machines, and tiny ones, for nearly free.

    Attributes:
        run_overhead: what every run costs besides, in cheapest runs. 0 as in the paper; at 1 the cheapest
            run spends half of its time starting up.
    """

    unit: ClassVar[str] = COST_UNITS["relative_time"]

    run_overhead: float = 0.0

    def __post_init__(self) -> None:
        """Refuse an overhead that no run could have."""
        number_not_negative("run_overhead", self.run_overhead)

    def __call__(self, candidates: Candidates) -> FloatArray:
        """Cost of each candidate, shape (n,); that of the cheapest is 1 + `run_overhead`."""
        return self.relative_to(candidates, runs=candidates)

    def relative_to(self, candidates: Candidates, *, runs: Candidates) -> FloatArray:
        """Cost of runs that need not be candidates, in the unit that the candidates' costs have."""
        cheapest = (candidates.scale / candidates.machines).min()
        return np.asarray(self.run_overhead + runs.scale / runs.machines / cheapest, dtype=np.float64)


relative_time = RelativeTime()
"""The cost of the paper."""


@dataclass(frozen=True, kw_only=True)
class ExpectedSeconds:
    """The seconds that a run is expected to take, were its work to spread perfectly.

    Attributes:
        full_seconds_on_one_machine: a guess of the whole input's time on one machine, without overhead.
        run_overhead_seconds: what every run takes besides: start-up, planning, result.
    """

    unit: ClassVar[str] = COST_UNITS["seconds"]

    full_seconds_on_one_machine: float
    run_overhead_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Refuse guesses that no run could have."""
        positive_number("full_seconds_on_one_machine", self.full_seconds_on_one_machine)
        number_not_negative("run_overhead_seconds", self.run_overhead_seconds)

    def __call__(self, candidates: Candidates) -> FloatArray:
        """Cost of each candidate, shape (n,)."""
        return self.of_seconds(
            machines=candidates.machines,
            seconds=self.seconds(machines=candidates.machines, scale=candidates.scale),
        )

    def seconds(self, *, machines: FloatArray | IntArray, scale: FloatArray) -> FloatArray:
        """The expected seconds of runs, shape (n,)."""
        work = self.full_seconds_on_one_machine * scale / machines
        return np.asarray(self.run_overhead_seconds + work, dtype=np.float64)

    def of_seconds(self, *, machines: FloatArray | IntArray, seconds: FloatArray) -> FloatArray:
        """What runs cost that take so many seconds, shape (n,)."""
        return np.asarray(seconds, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class MachineSeconds(ExpectedSeconds):
    """The expected seconds of a run times its machines: what is paid for.

    Attributes:
        billed_machines: that are paid for while a sample run is on, however few it uses: a cluster that is
            there for the samples alone. 0 where only the run's own count. The others are those of
            `ExpectedSeconds`.
    """

    unit: ClassVar[str] = COST_UNITS["machine_seconds"]

    billed_machines: float = 0.0

    def __post_init__(self) -> None:
        """Refuse machines that cannot be."""
        super().__post_init__()
        number_not_negative("billed_machines", self.billed_machines)

    def of_seconds(self, *, machines: FloatArray | IntArray, seconds: FloatArray) -> FloatArray:
        """Machine seconds of runs that take so many seconds, shape (n,)."""
        return np.asarray(np.maximum(machines, self.billed_machines) * seconds, dtype=np.float64)

    def of_production(self) -> MachineSeconds:
        """The same cost for production runs, which are not made on the cluster of the samples."""
        return replace(self, billed_machines=0.0)


@dataclass(frozen=True, kw_only=True)
class Dollars(MachineSeconds):
    """The price of the expected machine seconds of a run.

    Attributes:
        price_per_hour: dollars for one machine and hour. The others are those of `MachineSeconds`.
    """

    unit: ClassVar[str] = COST_UNITS["dollars"]

    price_per_hour: float

    def __post_init__(self) -> None:
        """Refuse machines that cost nothing."""
        super().__post_init__()
        positive_number("price_per_hour", self.price_per_hour)

    def of_seconds(self, *, machines: FloatArray | IntArray, seconds: FloatArray) -> FloatArray:
        """Dollars for runs that take so many seconds, shape (n,)."""
        machine_seconds = super().of_seconds(machines=machines, seconds=seconds)
        return np.asarray(machine_seconds * self.price_per_hour / 3600.0, dtype=np.float64)


@dataclass(frozen=True)
class CheckedCost:
    """A cost that refuses what no budget can be reckoned with when it is called.

    Attributes:
        cost: the cost that is checked.
        unit: what it is measured in.
    """

    cost: Cost
    unit: str

    def __call__(self, candidates: Candidates) -> FloatArray:
        """Cost of each candidate, shape (n,).

        Raises:
            InvalidParameterError: a cost is not a finite number above 0, or their number is wrong.
        """
        values = np.asarray(self.cost(candidates), dtype=np.float64)
        if values.shape != (len(candidates),):
            raise InvalidParameterError(
                "cost",
                self.cost,
                f"gave an array of shape {values.shape} for {len(candidates)} candidates",
                remedy="Return one number for each candidate.",
            )
        wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
        if wrong.size:
            first = int(wrong[0])
            raise InvalidParameterError(
                "cost",
                self.cost,
                f"is {values[first]} for {candidates.machines[first]} machines and scale "
                f"{candidates.scale[first]:g}, which is not a finite number above 0",
                remedy="Every run must cost something.",
            )
        return values


def resolve_cost(
    cost: str | Cost,
    *,
    full_seconds_on_one_machine: float | None = None,
    run_overhead_seconds: float = 0.0,
    run_overhead: float = 0.0,
    price_per_hour: float | None = None,
    billed_machines: float = 0.0,
) -> tuple[CheckedCost, str]:
    """The cost of that name, or a cost of the user's own, and its unit.

    Args:
        cost: "relative_time", "seconds", "machine_seconds", "dollars", or a function of the candidates.
        full_seconds_on_one_machine: see `ExpectedSeconds`; all named costs but "relative_time" need it.
        run_overhead_seconds: see `ExpectedSeconds`.
        run_overhead: see `RelativeTime`; for "relative_time" only.
        price_per_hour: dollars for one machine and hour; "dollars" needs it.
        billed_machines: see `MachineSeconds`; for "machine_seconds" and "dollars" only.

    Returns:
        The cost, which checks that what it returns is positive and finite, and the name of its unit.

    Raises:
        InvalidParameterError: the name is unknown, or a number that it needs is missing or cannot be.
    """
    if isinstance(cost, CheckedCost):
        return cost, cost.unit
    if callable(cost):
        unit = str(getattr(cost, "unit", "cost units"))
        return CheckedCost(cost, unit), unit
    if cost not in COST_UNITS:
        names = ", ".join(f'"{name}"' for name in COST_UNITS)
        raise InvalidParameterError(
            "cost", cost, "is not a known cost", remedy=f"Use one of {names}, or a function."
        )
    if cost == "relative_time":
        named: Cost = RelativeTime(run_overhead=run_overhead)
    else:
        guess = {
            "full_seconds_on_one_machine": _needed(
                cost,
                "full_seconds_on_one_machine",
                full_seconds_on_one_machine,
                "Give a rough guess of the whole input's seconds on one machine.",
            ),
            "run_overhead_seconds": run_overhead_seconds,
        }
        named = _cost_of_seconds(cost, guess, price_per_hour, billed_machines)
    return CheckedCost(named, COST_UNITS[cost]), COST_UNITS[cost]


def in_seconds(cost: Cost) -> ExpectedSeconds | None:
    """The cost without its checks, if it is made of expected seconds."""
    unchecked = cost.cost if isinstance(cost, CheckedCost) else cost
    return unchecked if isinstance(unchecked, ExpectedSeconds) else None


def _cost_of_seconds(
    cost: str, guess: dict[str, float], price: float | None, billed_machines: float
) -> ExpectedSeconds:
    if cost == "seconds":
        return ExpectedSeconds(**guess)
    if cost == "machine_seconds":
        return MachineSeconds(**guess, billed_machines=billed_machines)
    price = _needed(cost, "price_per_hour", price, "Give the dollars for one machine and hour.")
    return Dollars(**guess, billed_machines=billed_machines, price_per_hour=price)


def _needed(cost: str, parameter: str, value: float | None, remedy: str) -> float:
    if value is None:
        raise InvalidParameterError(
            parameter,
            value,
            f'is missing, and cost="{cost}" needs it',
            remedy=f'{remedy} Or use "relative_time".',
        )
    return value
