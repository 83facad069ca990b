"""What a model is asked on its page, checked before anything is computed. Loads no mathematics."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from airflow_provider_ernest.billing import Billing
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.numbers import positive_number, whole_number
from airflow_provider_ernest.settings import CONFIDENCE

MOST_MACHINES = 1_000_000
WIDEST_SPAN = 1_000
MOST_RUNS = 1_000_000_000
"""So many runs may share the training."""

MOST_COMPUTED = 200
"""As many numbers of machines as a picture can tell apart."""

LARGEST = 1e9
"""No price, deadline, budget or scale above it, or below its inverse, is meant."""


def _sensible(name: str, value: float | None) -> None:
    """Refuse numbers with which nothing can be reckoned: none above 0, or beyond all measure."""
    if value is None:
        return
    positive_number(name, value)
    if not 1 / LARGEST <= value <= LARGEST:
        raise InvalidParameterError(
            name, value, "is beyond all measure", remedy=f"Give {1 / LARGEST:g} to {LARGEST:g}."
        )


BILLED_NUMBERS = (
    "minimum_seconds",
    "boot_seconds",
    "master_price_per_hour",
    "volume_gigabytes",
    "volume_price_per_gigabyte_month",
    "training_dollars",
)
"""What is billed besides the hours of the machines, and may be 0."""


@dataclass(frozen=True, kw_only=True)
class PredictionRequest:
    """What a model is asked.

    Attributes:
        scale: the production input relative to the one that was sampled.
        iterations: of the production run, for iterative jobs; None for those trained with.
        deadline_seconds: to be kept, or None.
        budget_dollars: to be kept, or None.
        confidence: with what probability.
        objective: "cheapest", "fastest" or "balanced"; None for the cheapest within the deadline or the
            fastest within the budget. A function's path is never taken from an address.
        price_per_hour: dollars for one machine of the model's type and hour; None where not known.
        billing: what is billed besides, for machines of any type.
        min_machines: the fewest machines.
        max_machines: the most, at most `WIDEST_SPAN` numbers of machines in all.

    Raises:
        InvalidParameterError: a number is not above 0, or beyond all measure.
    """

    scale: float = 1.0
    iterations: int | None = None
    deadline_seconds: float | None = None
    budget_dollars: float | None = None
    confidence: float = CONFIDENCE
    objective: str | None = None
    price_per_hour: float | None = None
    billing: Billing = field(default_factory=Billing)
    min_machines: int = 1
    max_machines: int = 1

    def __post_init__(self) -> None:
        """Refuse numbers with which nothing can be reckoned."""
        for name in ("scale", "deadline_seconds", "budget_dollars", "price_per_hour"):
            _sensible(name, getattr(self, name))
        if self.iterations is not None:
            whole_number("iterations", self.iterations)
        for name in ("increment_seconds", *BILLED_NUMBERS):
            _sensible(name, getattr(self.billing, name) or None)

    def billing_at(self, price_per_hour: float) -> Billing:
        """The billing of machines of a price; the training is left out where no runs are said to share it."""
        training = None if self.billing.expected_runs is None else self.billing.training_dollars
        asked = replace(self.billing, training_dollars=training)
        return asked.completed(price_per_hour=price_per_hour, training_dollars=0.0)

    def counts(self) -> list[int]:
        """The numbers of machines to compute: all, or at most `MOST_COMPUTED` of them.

        Then they are spread evenly by ratio, so that no small number is missed: from 12 to 16 machines a
        run changes as much as from 120 to 160.

        Raises:
            InvalidParameterError: they are not between 1 and `MOST_MACHINES`, in the wrong order, or more
                than `WIDEST_SPAN`.
        """
        least = whole_number("min_machines", self.min_machines)
        most = whole_number("max_machines", self.max_machines)
        if most > MOST_MACHINES:
            raise InvalidParameterError(
                "max_machines", most, "is no size of a cluster", remedy=f"Ask for {MOST_MACHINES:,} at most."
            )
        if most < least:
            raise InvalidParameterError(
                "max_machines", most, f"is less than min_machines={least}", remedy="Exchange the two."
            )
        span = most - least
        if span >= WIDEST_SPAN:
            raise InvalidParameterError(
                "max_machines",
                most,
                f"is {span + 1:,} numbers of machines with min_machines={least}",
                remedy=f"Ask for at most {WIDEST_SPAN:,}, up to {least + WIDEST_SPAN - 1:,} machines.",
            )
        if span < MOST_COMPUTED:
            return list(range(least, most + 1))
        steps = MOST_COMPUTED - 1
        return sorted({round(least * (most / least) ** (step / steps)) for step in range(steps + 1)})

    def left_out(self) -> str:
        """That not all numbers of machines were considered, in a sentence; empty where all were."""
        considered, allowed = len(self.counts()), self.max_machines - self.min_machines + 1
        if considered == allowed:
            return ""
        return f"Of {allowed:,} numbers of machines {considered:,} were considered, evenly spread by ratio."


def in_bounds(value: float | None) -> float | None:
    """The scale, price, deadline or budget where it may be asked for; None where not."""
    # What is no number is in no bounds.
    return value if value is not None and 1 / LARGEST <= value <= LARGEST else None


def machines_in_bounds(least: int, most: int) -> tuple[int, int]:
    """The fewest and the most machines, as near to these as may be asked for."""
    least = min(max(1, least), MOST_MACHINES)
    return least, min(max(least, most), least + WIDEST_SPAN - 1, MOST_MACHINES)
