"""What other machines a run is imagined on, as factors and as words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.documents import run_profile

Capacity = run_profile.Capacity


@dataclass(frozen=True, kw_only=True)
class Change:
    """Other machines than those of the run; what is not told stays as it was.

    Attributes:
        cpu: how many times as fast a core is.
        network: how many times as fast the network of a machine is.
        disk: how many times as fast the disks of a machine are together.
        machines: how many there are; None for as many as there were.
        cores: tasks that a machine runs at once; None for as many as it did.
        name: what to call it; made of the rest where it is empty.
    """

    cpu: float = 1.0
    network: float = 1.0
    disk: float = 1.0
    machines: int | None = None
    cores: int | None = None
    name: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no machine."""
        for name in ("cpu", "network", "disk"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise InvalidParameterError(
                    name, value, "is not a finite number above 0", remedy="Give how many times as fast it is."
                )
        for name in ("machines", "cores"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value == int(value) >= 1):
                raise InvalidParameterError(name, value, "is not a whole number of at least 1")

    @property
    def words(self) -> str:
        """The change in words, such as "half the network, 8 cores a machine"."""
        if self.name:
            return self.name
        parts = [
            f"{_times(factor)}{thing}"
            for factor, thing in (
                (self.cpu, "the speed of a core"),
                (self.network, "the network"),
                (self.disk, "the disks"),
            )
            if factor != 1.0
        ]
        if self.cores is not None:
            parts.append(f"{self.cores} cores a machine" if self.cores > 1 else "1 core a machine")
        if self.machines is not None:
            parts.append(f"{self.machines} machines" if self.machines > 1 else "1 machine")
        return ", ".join(parts) or "the same machines"


def to_machines(
    capacity: Capacity,
    other: Capacity,
    *,
    cpu: float = 1.0,
    machines: int | None = None,
    name: str = "",
) -> Change:
    """The change from machines of one capacity to those of another.

    Args:
        capacity: of the run's machines.
        other: of those imagined. Where one of the two does not tell of the network or the disks, these
            count as the same.
        cpu: how many times as fast a core of theirs is.
        machines: how many; None for as many.
        name: of the instance type, say.
    """
    return Change(
        cpu=cpu,
        network=_ratio(other.network_gigabytes_per_second, capacity.network_gigabytes_per_second),
        disk=_ratio(other.disk_gigabytes_per_second, capacity.disk_gigabytes_per_second),
        cores=None if other.cores == capacity.cores else other.cores,
        machines=machines,
        name=name,
    )


def _ratio(new: float | None, old: float | None) -> float:
    return new / old if new and old else 1.0


def _times(factor: float) -> str:
    named = {2.0: "twice ", 0.5: "half "}
    return named.get(factor, f"{factor:g} times ")
