"""What a production run costs: all that is billed for it, not only its machines.

EC2 bills Linux instances by the second and at least a minute each ("On-Demand Pricing", Amazon EC2), from
their launch on; the paper's prices were by the hour begun (Ernest, section 6.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from airflow_provider_ernest.model.documents import Document
from airflow_provider_ernest.model.parameters import number_not_negative, positive_number, whole_number

HOUR_SECONDS = 3600.0
MONTH_SECONDS = 730 * HOUR_SECONDS
"""AWS prices volumes by the month of 730 hours."""

TOLERANCE = 1e-9
"""Sums and products are not exact: a run of just one increment is not billed as two."""


@dataclass(frozen=True, kw_only=True)
class BilledCost(Document):
    """Dollars of one run, by what they are paid for.

    Attributes:
        machines: the machines that work.
        master: the machine of the master or driver, where it is one of its own.
        volumes: the disks of all of them.
        training: this run's part of what the sample runs cost.
    """

    machines: float
    master: float = 0.0
    volumes: float = 0.0
    training: float = 0.0

    @property
    def of_the_run(self) -> float:
        """What the run itself costs: all but the training, which was paid before."""
        return self.machines + self.master + self.volumes

    @property
    def total(self) -> float:
        """All together."""
        return self.of_the_run + self.training


@dataclass(frozen=True, kw_only=True)
class Billing(Document):
    """How the machines of one type are paid for.

    Attributes:
        price_per_hour: dollars for one machine and hour.
        increment_seconds: machines are billed in whole multiples of it; 3600 where by the hour.
        minimum_seconds: the least that is billed for a machine.
        boot_seconds: from the launch of the machines to the submission, where the run gets machines of its
            own: billed, and part of what a deadline allows. 0 where the machines are there anyway.
        master_price_per_hour: dollars for the machine of the master or driver, where it is one of its own.
        volume_gigabytes: of the disks of each machine, the master's among them.
        volume_price_per_gigabyte_month: dollars.
        market: in which the machines are bought, in a word: "on-demand" or "spot".
        training_dollars: what the sample runs cost.
        expected_runs: production runs that share this.

    Raises:
        InvalidParameterError: a number cannot be.
    """

    price_per_hour: float
    increment_seconds: float = 1.0
    minimum_seconds: float = 60.0
    boot_seconds: float = 0.0
    master_price_per_hour: float = 0.0
    volume_gigabytes: float = 0.0
    volume_price_per_gigabyte_month: float = 0.08
    market: str = "on-demand"
    training_dollars: float = 0.0
    expected_runs: int = 1

    def __post_init__(self) -> None:
        """Refuse numbers by which nothing could be billed."""
        positive_number(
            "price_per_hour", self.price_per_hour, remedy="Give the dollars for one machine and hour."
        )
        positive_number("increment_seconds", self.increment_seconds)
        for name in (
            "minimum_seconds",
            "boot_seconds",
            "master_price_per_hour",
            "volume_gigabytes",
            "volume_price_per_gigabyte_month",
            "training_dollars",
        ):
            number_not_negative(name, getattr(self, name))
        whole_number("expected_runs", self.expected_runs)

    @property
    def training_share(self) -> float:
        """Dollars of the training that each production run bears."""
        return self.training_dollars / self.expected_runs

    def cost(self, *, machines: int, seconds: float) -> BilledCost:
        """What a run costs.

        Args:
            machines: that it has.
            seconds: from its submission to its end; the boot comes on top.
        """
        increments = math.ceil((self.boot_seconds + seconds) / self.increment_seconds - TOLERANCE)
        billed = max(self.minimum_seconds, increments * self.increment_seconds)
        return BilledCost(
            machines=machines * self.price_per_hour / HOUR_SECONDS * billed,
            master=self.master_price_per_hour / HOUR_SECONDS * billed,
            volumes=self._volumes_per_second(machines) * billed,
            training=self.training_share,
        )

    def most_seconds(self, *, machines: int, budget_dollars: float) -> float:
        """The longest run, from submission to end, that costs no more; 0 where none does, or endless.

        Args:
            machines: that it has.
            budget_dollars: what it may cost.
        """
        hourly = machines * self.price_per_hour + self.master_price_per_hour
        per_second = hourly / HOUR_SECONDS + self._volumes_per_second(machines)
        left = budget_dollars - self.training_share
        # Of prices near 0 the rate per second is none.
        affordable = left / per_second if per_second > 0 else math.copysign(math.inf, left)
        if math.isinf(affordable) and affordable > 0:
            return math.inf
        if affordable < self.minimum_seconds * (1 - TOLERANCE):
            return 0.0
        increments = math.floor(affordable / self.increment_seconds + TOLERANCE)
        return max(0.0, increments * self.increment_seconds - self.boot_seconds)

    def _volumes_per_second(self, machines: int) -> float:
        with_disks = machines + (1 if self.master_price_per_hour else 0)
        monthly = with_disks * self.volume_gigabytes * self.volume_price_per_gigabyte_month
        return monthly / MONTH_SECONDS
