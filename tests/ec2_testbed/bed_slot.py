"""Several beds on one machine: each takes a slot, which gives it a network and names of its own.

The slot's lock is held by the bed and by its warden, so that a slot is free only when all is cleared away.
"""

from __future__ import annotations

import fcntl
import ipaddress
import json
import os
from dataclasses import dataclass
from pathlib import Path

from tests.ec2_testbed.bed_limits import remove_groups
from tests.ec2_testbed.bed_network import run

SLOTS = 64
_LOCKS = Path("/run/lock/ernest-testbed")


@dataclass(frozen=True)
class Slot:
    """A place for a bed."""

    number: int
    lock: int

    @property
    def name(self) -> str:
        """What the names of all that belongs to the bed begin with."""
        return _name(self.number)

    @property
    def network(self) -> ipaddress.IPv4Network:
        """Of the bed's VPC: room for two subnets of 256 addresses."""
        return _network(self.number)


def take_slot() -> Slot:
    """Take the first free slot, and clear away what killed beds have left in free ones."""
    _LOCKS.mkdir(parents=True, exist_ok=True)
    used = _networks_in_use()
    taken: Slot | None = None
    for number in range(SLOTS):
        if (lock := _try_lock(number)) is None:
            continue
        remove_groups(_name(number))
        if taken is None and not any(_network(number).overlaps(other) for other in used):
            taken = Slot(number, lock)
        else:
            os.close(lock)
    if taken is None:
        raise RuntimeError(f"all {SLOTS} slots for test beds are taken; their locks are in {_LOCKS}")
    return taken


def _name(number: int) -> str:
    return f"ernest-testbed-{number:02d}-"


def _network(number: int) -> ipaddress.IPv4Network:
    return ipaddress.IPv4Network((int(ipaddress.IPv4Address("10.77.0.0")) + 512 * number, 23))


def _try_lock(number: int) -> int | None:
    lock = os.open(_LOCKS / f"{number:02d}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _networks_in_use() -> list[ipaddress.IPv4Network]:
    routes = json.loads(run("ip", "-json", "-4", "route", "show") or "[]")
    return [
        ipaddress.IPv4Network(route["dst"], strict=False) for route in routes if route["dst"] != "default"
    ]
