"""How machines are billed: what the user says of it, completed by what their cluster tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.model.billing import Billing
from airflow_provider_ernest.sizing_goal import BILLING_READERS
from airflow_provider_ernest.stated import read_fields, refuse_unknown

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.base import ClusterHandle

ON_DEMAND = "on-demand"


class Terms:
    """The fields of `BillingTerms`, read and checked.

    Args:
        given: by name; those that are left out have their defaults.

    Raises:
        InvalidParameterError: one is unknown or cannot be.

    Attributes:
        expected_runs: production runs that share the cost of the sample runs; None to leave that out.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        refuse_unknown("billing", given, BILLING_READERS)
        read = read_fields(given, BILLING_READERS)
        self._master: float | None = read.pop("master_price_per_hour", None)
        self._market: str | None = read.pop("market", None)
        self.expected_runs: int | None = read.pop("expected_runs", None)
        self._numbers = read

    def billing(
        self, *, price_per_hour: float, handle: ClusterHandle | None, training_dollars: float
    ) -> Billing:
        """How the machines of a type are paid for.

        Args:
            price_per_hour: dollars for one of them and hour.
            handle: of the cluster of that type that the sample runs were made on, or that production has.
            training_dollars: what all sample runs cost.
        """
        return Billing(
            price_per_hour=price_per_hour,
            master_price_per_hour=self._master_price(handle),
            market=self._market or _market(handle),
            training_dollars=0.0 if self.expected_runs is None else training_dollars,
            expected_runs=1 if self.expected_runs is None else self.expected_runs,
            **self._numbers,
        )

    def _master_price(self, handle: ClusterHandle | None) -> float:
        if self._master is not None:
            return self._master
        return (handle.master.price_per_hour or 0.0) if handle and handle.master else 0.0


def _market(handle: ClusterHandle | None) -> str:
    """In which the machines were bought; a cluster may hold some of each."""
    markets = {machine.market for machine in handle.machines if machine.market} if handle else set()
    return " and ".join(sorted(markets)) or ON_DEMAND
