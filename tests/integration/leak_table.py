"""The table of leak cases: what died, what ended the machines, and that none was left."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from tests.ec2_testbed import Testbed
from tests.integration.conftest import wait_until

ROWS: list[LeakCase] = []
"""All cases that ran in this process, in order."""


@dataclass
class LeakCase:
    """One case: watches the machines of a cluster from a mishap until the last has ended.

    Attributes:
        mishap: what happened.
        ended_by: the layer that is to end the machines.
        bed: where.
        most: the largest number of machines that may ever live at once; more are duplicates.
        launched: machines that were ever launched in it.
        seen: the largest number of machines seen alive at once.
        seconds: from the mishap (or the order to end them) until none lived.
    """

    mishap: str
    ended_by: str
    bed: Testbed
    most: int
    launched: int = 0
    seen: int = 0
    seconds: float | None = None
    _before: set[str] = field(default_factory=set)
    _struck_at: float | None = None

    def __post_init__(self) -> None:
        assert not self.bed.live_instances(), "an earlier case has left machines"
        self._before = {machine.instance_id for machine in self.bed.instances()}
        ROWS.append(self)

    def strikes(self) -> None:
        """Now the mishap comes, or what is to end the machines: time runs from here."""
        self._struck_at = time.monotonic()

    def alive(self) -> int:
        """How many machines live now."""
        alive = len(self.bed.live_instances())
        self.seen = max(self.seen, alive)
        return alive

    def wait_for_machines(self, count: int, *, seconds: float = 60) -> None:
        """Wait until so many machines live."""
        wait_until(lambda: self.alive() == count, seconds=seconds, what=f"{count} machines")

    def none_within(self, seconds: float) -> None:
        """No machine may live after so long, there may never have been too many, and none may come back."""
        began = time.monotonic()
        wait_until(
            lambda: self.alive() == 0, seconds=seconds, what=f"the end of all machines ({self.mishap})"
        )
        self.seconds = time.monotonic() - began
        self._count()
        assert self.seen <= self.most, f"{self.seen} machines at once, where {self.most} were wanted"
        wait_until(lambda: not self.bed.hosts(), seconds=20, what="the end of their processes")

    def _count(self) -> None:
        now = {machine.instance_id for machine in self.bed.instances()}
        self.launched = len(now - self._before)


HEADING = f"{'what happened':66s} {'ended by':34s} {'launched':>8s} {'at once':>8s} {'gone after':>10s}"


def lines() -> list[str]:
    """The table of the cases that ran in this process, without its heading."""
    return [
        f"{row.mishap:66s} {row.ended_by:34s} {row.launched:8d} {row.seen:8d} {_gone(row):>10s}"
        for row in ROWS
    ]


def _gone(row: LeakCase) -> str:
    return "STILL ALIVE" if row.seconds is None else f"{row.seconds:8.1f} s"
