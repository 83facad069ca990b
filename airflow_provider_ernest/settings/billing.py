"""What a production run costs: all that is billed for it, not only its executors.

EC2 bills Linux instances by the second and at least a minute each ("On-Demand Pricing", Amazon EC2), from
their launch on; the paper's prices were by the hour begun (Ernest, section 6.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings.values import (
    Number,
    OptionalCount,
    OptionalNumber,
    count,
    line,
    not_negative,
    positive,
    price,
    setting,
    settings,
)

HOUR_SECONDS = 3600.0
MONTH_SECONDS = 730 * HOUR_SECONDS
"""AWS prices volumes by the month of 730 hours."""

TOLERANCE = 1e-9
"""Sums and products are not exact: a run of just one increment is not billed as two."""

ON_DEMAND = "on-demand"


@settings
class Billing:
    """How the executors on one type of machine are paid for, as users state it and decisions keep it.

    A decision takes what is None from the cluster and the models, see `completed`.
    """

    price_per_hour: OptionalNumber = setting(
        price, "dollars for one machine and hour; a goal states it beside its billing", default=None
    )
    increment_seconds: Number = setting(
        positive, "machines are billed in whole multiples of it, 3600 where by the hour", default=1.0
    )
    minimum_seconds: Number = setting(
        not_negative, "the least that is billed for a machine; AWS bills a minute", default=60.0
    )
    boot_seconds: Number = setting(
        not_negative,
        "from the launch of the machines to the submission, where the run gets machines of its own: billed, "
        "and part of what the deadline allows",
        default=0.0,
    )
    master_price_per_hour: OptionalNumber = setting(
        not_negative,
        "dollars for the machine of the master or driver; default: what the one of the training cluster "
        "costs, 0 where there is none",
        default=None,
    )
    volume_gigabytes: Number = setting(
        not_negative, "of the disks of each machine, the master's among them", default=0.0
    )
    volume_price_per_gigabyte_month: Number = setting(not_negative, "dollars for the disks", default=0.08)
    market: str | None = setting(
        line,
        "in which the machines are bought, in a word; default: that of the training cluster",
        default=None,
    )
    training_dollars: OptionalNumber = setting(
        not_negative,
        "what the sample runs of all types cost together; with a number of expected runs the default is "
        "their machines' price over their time, else nothing",
        default=None,
    )
    expected_runs: OptionalCount = setting(
        count, "production runs that share the cost of the sample runs; default: 1", default=None
    )

    def completed(
        self,
        *,
        price_per_hour: float | None,
        training_dollars: float | None,
        master_price_per_hour: float = 0.0,
        market: str | None = None,
    ) -> Billing:
        """The same with all that was left open, by a price, the cost of the training and its cluster."""
        known = 0.0 if self.expected_runs is None else training_dollars
        return replace(
            self,
            price_per_hour=price_per_hour,
            master_price_per_hour=_or(self.master_price_per_hour, master_price_per_hour),
            market=self.market or market or ON_DEMAND,
            training_dollars=_or(self.training_dollars, known),
            expected_runs=self.expected_runs or 1,
        )

    @property
    def training_share(self) -> float:
        """Dollars of the training that each production run bears."""
        share: float = (self.training_dollars or 0.0) / (self.expected_runs or 1)
        return share

    def cost(self, *, executors: float, seconds: float) -> BilledCost:
        """What a run costs; seconds count from its submission to its end, the boot comes on top."""
        increments = math.ceil((self.boot_seconds + seconds) / self.increment_seconds - TOLERANCE)
        billed = max(self.minimum_seconds, increments * self.increment_seconds)
        return BilledCost(
            executors=executors * self.price_per_hour / HOUR_SECONDS * billed,
            master=(self.master_price_per_hour or 0.0) / HOUR_SECONDS * billed,
            volumes=self._volumes_per_second(executors) * billed,
            training=self.training_share,
        )

    def most_seconds(self, *, executors: float, budget_dollars: float) -> float:
        """The longest run, from submission to end, within the budget; 0 where there is none, or infinite."""
        hourly = executors * self.price_per_hour + (self.master_price_per_hour or 0.0)
        per_second = hourly / HOUR_SECONDS + self._volumes_per_second(executors)
        left = budget_dollars - self.training_share
        # Of prices near 0 the rate per second is none.
        affordable = left / per_second if per_second > 0 else math.copysign(math.inf, left)
        if math.isinf(affordable) and affordable > 0:
            return math.inf
        if affordable < self.minimum_seconds * (1 - TOLERANCE):
            return 0.0
        increments = math.floor(affordable / self.increment_seconds + TOLERANCE)
        return float(max(0.0, increments * self.increment_seconds - self.boot_seconds))

    def _volumes_per_second(self, executors: float) -> float:
        with_disks = executors + (1 if self.master_price_per_hour else 0)
        monthly = with_disks * self.volume_gigabytes * self.volume_price_per_gigabyte_month
        return float(monthly / MONTH_SECONDS)


BESIDE_THE_PRICE = tuple(
    each.name for each in fields(Billing) if each.name not in ("price_per_hour", "market")
)
"""What the command line and the pages ask for; of the price there may be one for each type of machine."""


@dataclass(frozen=True, kw_only=True)
class BilledCost:
    """Dollars of one run, by what they are paid for."""

    executors: float
    master: float = 0.0  # the machine of the master or driver, if that has one of its own
    volumes: float = 0.0  # the disks of all of them
    training: float = 0.0  # this run's share of what the sample runs cost

    @property
    def of_the_run(self) -> float:
        """What the run itself costs: all but the training, which was paid before."""
        return self.executors + self.master + self.volumes

    @property
    def total(self) -> float:
        """All together."""
        return self.of_the_run + self.training


def _or(given: OptionalNumber, otherwise: OptionalNumber) -> OptionalNumber:
    return otherwise if given is None else given


def no_price(instance_type: str, stated: object = None) -> InvalidParameterError:
    """The error that the price of an executor is unknown."""
    return InvalidParameterError(
        "price_per_hour",
        stated,
        f"does not say what a machine of type {instance_type} costs",
        remedy="Give the dollars for one machine and hour, or a mapping of them by type.",
    )
