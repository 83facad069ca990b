"""What the machines of the traces cost."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_ernest.settings import Billing

PRICES_PER_HOUR: Mapping[str, float] = {
    "c4.2xlarge": 0.398,
    "m4.2xlarge": 0.400,
    "r4.2xlarge": 0.532,
    "r4.xlarge": 0.266,
}
"""Dollars for a machine and hour: Amazon EC2, on-demand, Linux, US East (N. Virginia), as listed on
aws.amazon.com/ec2/pricing/on-demand. What EMR asks besides for each of them is left out."""

OTHERS_PER_CORE_HOUR = 0.05
"""Dollars for machines of any other type: what a core of m4 costs. Where the type is the same whatever is
chosen, its price is in the regret of no decision."""


def billing_of(
    instance_type: str, *, cores: int, prices_per_hour: Mapping[str, float] = PRICES_PER_HOUR
) -> Billing:
    """How a type is paid for: by the second, and at least for a minute.

    Args:
        instance_type: its name.
        cores: of a machine.
        prices_per_hour: dollars by type.
    """
    price = prices_per_hour.get(instance_type, OTHERS_PER_CORE_HOUR * cores)
    return Billing(price_per_hour=price, increment_seconds=1.0, minimum_seconds=60.0)
