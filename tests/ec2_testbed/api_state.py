"""What the test bed knows beyond moto: states of instances, how many there are to have, faults on order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID

REGION = "us-east-1"

STATE_CODES = {
    "pending": 0,
    "running": 16,
    "shutting-down": 32,
    "terminated": 48,
    "stopping": 64,
    "stopped": 80,
}

SPOT_INTERRUPTION = "Server.SpotInstanceTermination"
INSTANCE_INITIATED = "Client.InstanceInitiatedShutdown"


@dataclass(frozen=True)
class Kind:
    """What a limit holds for; None holds for all."""

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
        limits = [limit for limit in self._free if limit.covers(kind)]
        self._holders[instance_id] = limits
        for limit in limits:
            self._free[limit] -= 1

    def release(self, instance_id: str) -> None:
        for limit in self._holders.pop(instance_id, []):
            if limit in self._free:
                self._free[limit] += 1


WAYS = ("before", "after", "drop", "hang")


@dataclass
class Fault:
    """A fault of an action.

    Attributes:
        action: such as "RunInstances"; "*" for every action.
        when: "before": error without effect; "after": effect, then an error; "drop": effect, then the
            connection breaks; "hang": effect, then a late answer.
        code: of the error, such as "RequestLimitExceeded".
        message: of the error.
        status: of HTTP.
        times: how many calls it hits.
        skip: how many calls pass before.
        seconds: how late the answer is.
    """

    action: str
    when: str = "before"
    code: str = "InternalError"
    message: str = "A fault of the test bed."
    status: int = 500
    times: int = 1
    skip: int = 0
    seconds: float = 3.0

    def __post_init__(self) -> None:
        if self.when not in WAYS:
            raise ValueError(f"when={self.when!r} is none of {', '.join(WAYS)}")


class FaultPlan:
    """The faults that are to come."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Order a fault; earlier ones of the same action come first."""
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        with self._lock:
            self._faults.clear()

    def take(self, action: str) -> Fault | None:
        """The fault that hits this call, if any."""
        with self._lock:
            for fault in self._faults:
                if fault.action not in (action, "*") or fault.times <= 0:
                    continue
                if fault.skip > 0:
                    fault.skip -= 1
                    return None
                fault.times -= 1
                return Fault(**asdict(fault))
        return None


@dataclass
class EC2State:
    """The state of the account.

    Attributes:
        managed: something boots and ends the machines, and moves them on from "pending", "shutting-down"
            and "stopping"; else they run, and are gone, at once.
        tokens: client token -> (digest of the request, reservation id).
        consoles: instance id -> what its console said.
        read_console: asked first for an instance's console.
    """

    managed: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)
    capacity: Capacity = field(default_factory=Capacity)
    tokens: dict[str, tuple[str, str]] = field(default_factory=dict)
    consoles: dict[str, str] = field(default_factory=dict)
    read_console: Callable[[str], str | None] = lambda _: None

    def backend(self, region: str = REGION) -> Any:
        return get_backend("ec2")[DEFAULT_ACCOUNT_ID][region]

    def instances(self, region: str = REGION) -> list[Any]:
        """moto's instances in the order of their launch."""
        reservations = list(self.backend(region).reservations.values())
        return [instance for reservation in reservations for instance in reservation.instances]

    def instance(self, instance_id: str) -> Any:
        """moto's instance; KeyError for an unknown one."""
        for instance in self.instances():
            if instance.id == instance_id:
                return instance
        raise KeyError(instance_id)

    def set_state(self, instance_id: str, name: str, reason: str = "") -> None:
        with self.lock:
            instance = self.instance(instance_id)
            if name in ("terminated", "shutting-down"):
                if instance.state not in ("terminated", "shutting-down"):
                    instance.terminate()
                self.capacity.release(instance_id)
            instance._state.name, instance._state.code = name, STATE_CODES[name]
            if reason:
                stamp = time.strftime("%Y-%m-%d %H:%M:%S GMT", time.gmtime())
                instance._reason = f"{reason} ({stamp})"
                instance.state_reason.code = reason
                instance.state_reason.message = f"{reason}: {stamp}"

    def interrupt_spot(self, instance_id: str) -> None:
        """Take a spot instance back."""
        if self.instance(instance_id).lifecycle != "spot":
            raise ValueError(f"{instance_id} is no spot instance")
        if self.instance(instance_id).state not in ("terminated", "shutting-down"):
            passing = "shutting-down" if self.managed else "terminated"
            self.set_state(instance_id, passing, SPOT_INTERRUPTION)

    def console(self, instance_id: str) -> str:
        live = self.read_console(instance_id)
        return self.consoles.get(instance_id, "") if live is None else live
