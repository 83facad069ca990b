"""A cluster as far as it is paid for, of its handle or of what a model keeps of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from airflow_provider_ernest.exceptions import InvalidDocumentError
from airflow_provider_ernest.model.documents import Document
from airflow_provider_ernest.model.training_cluster import TrainedMachine, TrainingCluster


@dataclass(frozen=True, kw_only=True)
class PaidMachine(Document):
    """A machine of a cluster, as far as it is paid for."""

    is_part: ClassVar[bool] = True

    price_per_hour: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be a price."""
        price = self.price_per_hour
        if not _is_price(price):
            raise InvalidDocumentError(f"price_per_hour={price!r} is not a finite number of at least 0.")


@dataclass(frozen=True, kw_only=True)
class PaidCluster(Document):
    """A cluster as its pages tell of it: the part of a cluster's handle that has to do with money.

    Attributes:
        machines: its workers.
        master: the machine of the master, where it is one of its own.
        culled: what was launched and ended again, each a mapping with a ``machine``.
    """

    is_part: ClassVar[bool] = True

    kind: str
    name: str
    instance_type: str = "local"
    machines: tuple[PaidMachine, ...] = ()
    master: PaidMachine | None = None
    culled: tuple[dict[str, Any], ...] = ()

    @property
    def price_per_hour(self) -> float | None:
        """Dollars for one worker and hour, the mean; None where one is unknown."""
        prices = [machine.price_per_hour for machine in self.machines]
        known = [price for price in prices if price is not None]
        return sum(known) / len(known) if known and len(known) == len(prices) else None

    @property
    def culled_machines(self) -> tuple[PaidMachine, ...]:
        """The machines that were ended before any job ran on them."""
        return tuple(PaidMachine.from_dict(one.get("machine") or {}) for one in self.culled)

    def __post_init__(self) -> None:
        """Refuse culled machines that are none."""
        _ = self.culled_machines


def paid_cluster(cluster: TrainingCluster) -> PaidCluster:
    """A cluster of what a model keeps of it; a model of an earlier version does not know the master."""

    def paid(machine: TrainedMachine) -> PaidMachine:
        price = machine.price_per_hour if machine.price_per_hour is not None else cluster.price_per_hour
        return PaidMachine(price_per_hour=price if _is_price(price) else None)

    kept = [machine for machine in cluster.machines if not machine.culled_because]
    return PaidCluster(
        kind=cluster.kind,
        name=cluster.name,
        instance_type=cluster.instance_type,
        machines=tuple(paid(machine) for machine in kept if not machine.is_master),
        master=next((paid(machine) for machine in kept if machine.is_master), None),
        culled=tuple(
            {"machine": paid(machine).to_dict()} for machine in cluster.machines if machine.culled_because
        ),
    )


def _is_price(price: float | None) -> bool:
    return price is None or (math.isfinite(price) and price >= 0)
