"""What the test bed knows about instances beyond moto, and the way their states change."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID

from tests.ec2_testbed.api_capacity import Capacity

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


@dataclass
class EC2State:
    """The state of the account.

    Attributes:
        managed: something boots and ends the machines, and moves them on from "pending", "shutting-down"
            and "stopping"; else they run, and are gone, at once.
        page_size: of DescribeInstances where the caller asks for none.
        tokens: client token -> (digest of the request, reservation id).
        consoles: instance id -> what its console said.
        read_console: asked first for an instance's console.
        notices: instance id -> spot/instance-action of its metadata.
    """

    managed: bool = False
    page_size: int = 1000
    lock: threading.RLock = field(default_factory=threading.RLock)
    capacity: Capacity = field(default_factory=Capacity)
    tokens: dict[str, tuple[str, str]] = field(default_factory=dict)
    consoles: dict[str, str] = field(default_factory=dict)
    read_console: Callable[[str], str | None] = lambda _: None
    notices: dict[str, dict[str, str]] = field(default_factory=dict)

    def backend(self, region: str = REGION) -> Any:
        """moto's EC2."""
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
        """Move an instance to a state.

        Args:
            instance_id: of the instance.
            name: of the state.
            reason: code of AWS for the change, such as "Server.SpotInstanceTermination".
        """
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

    def end(self, instance_id: str, reason: str) -> None:
        """Terminate an instance from inside the cloud; where it is managed, the booter does the rest."""
        with self.lock:
            if self.instance(instance_id).state not in ("terminated", "shutting-down"):
                self.set_state(instance_id, "shutting-down" if self.managed else "terminated", reason)

    def interrupt_spot(self, instance_id: str, notice_seconds: float) -> None:
        """Give notice to a spot instance, then end it.

        Raises:
            ValueError: it is none.
        """
        if self.instance(instance_id).lifecycle != "spot":
            raise ValueError(f"{instance_id} is no spot instance")
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + notice_seconds))
        self.notices[instance_id] = {"action": "terminate", "time": at}
        if notice_seconds <= 0:
            self.end(instance_id, SPOT_INTERRUPTION)
            return
        timer = threading.Timer(notice_seconds, self.end, (instance_id, SPOT_INTERRUPTION))
        timer.daemon = True
        timer.start()

    def console(self, instance_id: str) -> str:
        """What the instance's console said."""
        live = self.read_console(instance_id)
        return self.consoles.get(instance_id, "") if live is None else live
