"""Faults on order: which calls fail, how, and how often."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass
from typing import Any

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
        """Forget all."""
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

    def pending(self) -> list[dict[str, Any]]:
        """The faults that have not hit yet."""
        with self._lock:
            return [asdict(fault) for fault in self._faults if fault.times > 0]
