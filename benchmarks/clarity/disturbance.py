"""How much of this machine others use meanwhile: what they take, no event log explains."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil

ALLOWED_CORES = 0.25
"""That others may use, on average, for a run to count as undisturbed."""

_WINDOW_SECONDS = 2.0


@dataclass
class Meter:
    """Measures from when it is made."""

    _started: float = field(default_factory=time.monotonic)
    _all: float = field(default_factory=lambda: _busy_seconds())
    _own: float = field(default_factory=lambda: _own_seconds())

    def cores_of_others(self) -> float:
        """What processes other than this one and its children have used, on average."""
        others = (_busy_seconds() - self._all) - (_own_seconds() - self._own)
        return max(0.0, others / max(1e-3, time.monotonic() - self._started))


def wait_for_quiet(*, seconds: float) -> None:
    """Wait until others use no more than `ALLOWED_CORES`, or for so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        meter = Meter()
        time.sleep(_WINDOW_SECONDS)
        if meter.cores_of_others() <= ALLOWED_CORES:
            return


def least_disturbed(
    make: Callable[[int], None], *, attempts: int, patience_seconds: float
) -> tuple[int, float]:
    """Make a run until it is undisturbed; returns the number of the best attempt and its others' cores.

    Args:
        make: makes the run; is given the number of the attempt, from 0.
        attempts: how many there may be.
        patience_seconds: to wait for quiet before each.
    """
    found: list[float] = []
    for attempt in range(attempts):
        wait_for_quiet(seconds=patience_seconds)
        meter = Meter()
        make(attempt)
        found.append(meter.cores_of_others())
        if found[-1] <= ALLOWED_CORES:
            break
    best = min(found)
    return found.index(best), best


def _busy_seconds() -> float:
    """CPU time of all processes; what the kernel does for networks is not told apart, and left out."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)


def _own_seconds() -> float:
    """CPU time of this process and its children, those that have ended among them."""
    process = psutil.Process()
    total = 0.0
    for each in [process, *process.children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            times = each.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total
