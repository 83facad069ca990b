"""How many machines the cloud still has to give."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """What a limit holds for; None holds for all.

    Attributes:
        instance_type: such as "m5.large".
        market: "spot" or "on-demand".
        zone: such as "us-east-1a".
    """

    instance_type: str
    market: str | None = None
    zone: str | None = None

    def covers(self, other: Kind) -> bool:
        """Whether the limit holds for machines of that kind."""
        return (
            self.instance_type == other.instance_type
            and self.market in (None, other.market)
            and self.zone in (None, other.zone)
        )


class Capacity:
    """Free places by kind of machine; what is not limited is endless. Ended machines free their place."""

    def __init__(self) -> None:
        self._free: dict[Kind, int] = {}
        self._holders: dict[str, list[Kind]] = {}

    def limit(self, kind: Kind, places: int | None) -> None:
        """Set how many more machines there are; None for no limit."""
        if places is None:
            self._free.pop(kind, None)
        else:
            self._free[kind] = places

    def available(self, kind: Kind, wanted: int) -> int:
        """How many of the wanted machines there are."""
        return max(0, min([wanted, *(free for limit, free in self._free.items() if limit.covers(kind))]))

    def occupy(self, instance_id: str, kind: Kind) -> None:
        """A machine takes a place."""
        limits = [limit for limit in self._free if limit.covers(kind)]
        self._holders[instance_id] = limits
        for limit in limits:
            self._free[limit] -= 1

    def release(self, instance_id: str) -> None:
        """A machine has ended."""
        for limit in self._holders.pop(instance_id, []):
            if limit in self._free:
                self._free[limit] += 1
